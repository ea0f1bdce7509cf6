package perfetto

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/pfwire/message"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/wire"
)

// sequenceStacks remembers what the interned call stacks and frames of a sequence are in the timeline.
type sequenceStacks struct {
	of     *pfwire.Interned // the interned data that the ids belong to
	stacks map[uint64]timeline.CallstackID
	frames map[uint64]timeline.FrameID
	list   []timeline.FrameID // scratch
	iids   []uint64           // scratch
}

// sequenceStacks returns the memory of the current sequence, emptied if the sequence has started anew.
func (r *reader) sequenceStacks() *sequenceStacks {
	s := r.stacks[r.seq]
	if s == nil || s.of != r.seq.Interned {
		s = &sequenceStacks{
			of:     r.seq.Interned,
			stacks: make(map[uint64]timeline.CallstackID),
			frames: make(map[uint64]timeline.FrameID),
		}
		r.stacks[r.seq] = s
	}
	return s
}

// maxFrames bounds the depth of a call stack that is kept.
const maxFrames = 4096

// callstack returns an interned call stack, 0 if it is unknown or empty.
func (r *reader) callstack(iid uint64) timeline.CallstackID {
	if iid == 0 || r.seq == nil {
		return 0
	}
	s := r.sequenceStacks()
	if id, ok := s.stacks[iid]; ok {
		return id
	}
	msg, ok := r.interned(pfwire.InternedCallstacks, iid)
	if !ok {
		return 0
	}
	id := r.framesOf(s, msg)
	s.stacks[iid] = id
	return id
}

// framesOf reads a Callstack message, which names interned frames.
func (r *reader) framesOf(s *sequenceStacks, msg []byte) timeline.CallstackID {
	s.list, s.iids = s.list[:0], s.iids[:0]
	w := wire.NewReader(msg)
	for w.Next() {
		if w.Field() == schema.Callstack_FrameIDs {
			s.iids = message.AppendVarints(s.iids, &w)
		}
	}
	if err := w.Err(); err != nil {
		r.malformed("callstack", err)
	}
	for _, frame := range s.iids {
		s.list = append(s.list, r.frame(s, frame))
	}
	return r.makeCallstack(s.list)
}

func (r *reader) makeCallstack(outermostFirst []timeline.FrameID) timeline.CallstackID {
	if len(outermostFirst) == 0 {
		return 0
	}
	if n := len(outermostFirst); n > maxFrames {
		r.notConverted("frames of call stacks deeper than 4096")
		outermostFirst = outermostFirst[n-maxFrames:]
	}
	return r.b.Callstack(outermostFirst)
}

// frame returns an interned frame. Its file is the source path, else the binary that it was mapped from.
func (r *reader) frame(s *sequenceStacks, iid uint64) timeline.FrameID {
	if id, ok := s.frames[iid]; ok {
		return id
	}
	var f timeline.Frame
	var mapping uint64
	hasAddress := false
	msg, _ := r.interned(pfwire.InternedFrames, iid)
	w := wire.NewReader(msg)
	for w.Next() {
		switch w.Field() {
		case schema.Frame_FunctionNameID:
			f.Function = string(r.internedText(pfwire.InternedFunctionNames, w.Uint()))
		case schema.Frame_MappingID:
			mapping = w.Uint()
		case schema.Frame_SourcePathIID:
			f.File = string(r.internedText(pfwire.InternedSourcePaths, w.Uint()))
		case schema.Frame_LineNumber:
			f.Line = int64(uint32(w.Uint()))
		case schema.Frame_WeftColumn:
			f.Column = int64(uint32(w.Uint()))
		case schema.Frame_RelPC:
			f.Address, hasAddress = w.Uint(), true
		case schema.Frame_Kind, schema.Frame_KindStr:
			r.notConverted(fmt.Sprintf("Frame field %d", w.Field()))
		}
	}
	if err := w.Err(); err != nil {
		r.malformed("frame", err)
	}
	mapped := r.mapping(mapping)
	// In streaming profiles of weft the mapping repeats the file, and the address tells frames apart only.
	repeats := mapping != 0 && !mapped.hasAddresses && (mapped.path == "" || mapped.path == "/"+f.File)
	if f.File == "" {
		f.File = mapped.path
	}
	switch {
	case mapping != 0 && hasAddress && !repeats:
		f.Mapping = r.b.Mapping(timeline.Mapping{Path: mapped.path, BuildID: mapped.buildID})
	case mapping != 0 && !repeats && f.File != mapped.path:
		r.notConverted("Frame field 3")
	case mapping == 0 && hasAddress:
		r.notConverted("Frame field 4")
	}
	if f.Mapping == 0 {
		f.Address = 0
	}
	id := r.b.Frame(f)
	s.frames[iid] = id
	return id
}

// mappedFile is what is kept of a mapping.
type mappedFile struct {
	path         string
	buildID      string // hexadecimal digits
	hasAddresses bool   // it is one build of a binary, or has a place in memory
}

// mapping returns an interned mapping. Its path is interned part by part.
func (r *reader) mapping(iid uint64) (f mappedFile) {
	if iid == 0 {
		return f
	}
	msg, _ := r.interned(pfwire.InternedMappings, iid)
	relative := false
	for w := wire.NewReader(msg); w.Next(); {
		switch w.Field() {
		case schema.Mapping_IID:
		case schema.Mapping_BuildID:
			id, _ := r.interned(pfwire.InternedBuildIDs, w.Uint())
			f.buildID = hex.EncodeToString(id)
			f.hasAddresses = true
		case schema.Mapping_PathStringIDs:
			for _, part := range message.AppendVarints(nil, &w) {
				f.path += "/" + string(r.internedText(pfwire.InternedMappingPaths, part))
			}
		case schema.Mapping_WeftRelative:
			relative = w.Uint() != 0
		default:
			f.hasAddresses = true
		}
	}
	if relative {
		f.path = strings.TrimPrefix(f.path, "/")
	}
	return f
}

// eventCallstack returns the call stack of the current event, inline or interned.
func (r *reader) eventCallstack() timeline.CallstackID {
	e := &r.ev
	if e.Callstack == nil {
		return r.callstack(e.CallstackIID)
	}
	return r.inlineCallstack(e.Callstack)
}

// inlineCallstack reads a TrackEvent.Callstack.
func (r *reader) inlineCallstack(msg []byte) timeline.CallstackID {
	var list []timeline.FrameID
	w := wire.NewReader(msg)
	for w.Next() {
		if w.Field() != schema.TrackEventCallstack_Frames {
			continue
		}
		var f timeline.Frame
		fr := wire.NewReader(w.Bytes())
		for fr.Next() {
			switch fr.Field() {
			case schema.TrackEventCallstackFrame_FunctionName:
				f.Function = string(r.validText(fr.Bytes()))
			case schema.TrackEventCallstackFrame_SourceFile:
				f.File = string(r.validText(fr.Bytes()))
			case schema.TrackEventCallstackFrame_LineNumber:
				f.Line = int64(uint32(fr.Uint()))
			}
		}
		if err := fr.Err(); err != nil {
			r.malformed("callstack", err)
		}
		list = append(list, r.b.Frame(f))
	}
	if err := w.Err(); err != nil {
		r.malformed("callstack", err)
	}
	return r.makeCallstack(list)
}

// sample is a sample of a thread.
type sample struct {
	pid, tid int64
	ts       timeline.Nanos
	stack    timeline.CallstackID
	weight   int64
	kind     timeline.SampleDescription
	cpu      timeline.CPU
}

// addSample adds a sample.
func (r *reader) addSample(s *sample) error {
	r.out = timeline.Event{
		Kind: timeline.Sample, Track: r.thread(r.process(s.pid), s.tid),
		Event: r.nextIndex(), Offset: r.offset,
		TS:   s.ts,
		Name: r.describeSample(&s.kind), CPU: s.cpu, Callstack: s.stack, Value: timeline.Int(s.weight),
	}
	return r.b.Add(&r.out)
}

// stackSample translates a StackSample (perfetto.md 2, 10).
func (r *reader) stackSample(msg []byte, stamp pfwire.Stamp, stampErr error) error {
	if r.seq == nil {
		r.add(problem.PacketInvalidState, "a sample without sequence id")
		return nil
	}
	var task []byte
	var taskIID uint64
	out := sample{weight: 1, kind: r.sampleDefaults()}
	w := wire.NewReader(msg)
	for w.Next() {
		switch w.Field() {
		case schema.StackSample_TaskContext:
			task = w.Bytes()
		case schema.StackSample_TaskContextIID:
			taskIID = w.Uint()
		case schema.StackSample_ExecutionContext:
			out.cpu = r.sampleCPU(w.Bytes())
		case schema.StackSample_ExecutionContextIID:
			if context, ok := r.interned(pfwire.InternedExecutionContexts, w.Uint()); ok {
				out.cpu = r.sampleCPU(context)
			}
		case schema.StackSample_Callstack:
			out.stack = r.framesOf(r.sequenceStacks(), w.Bytes())
		case schema.StackSample_CallstackIID:
			out.stack = r.callstack(w.Uint())
		case schema.StackSample_PrimaryDescriptor:
			r.sampleCounter(&out.kind, w.Bytes())
		case schema.StackSample_PrimaryDescriptorIID:
			if descriptor, ok := r.interned(pfwire.InternedSampleCounters, w.Uint()); ok {
				r.sampleCounter(&out.kind, descriptor)
			}
		case schema.StackSample_PrimaryWeight:
			out.weight = int64(w.Uint())
		default:
			r.notConverted(fmt.Sprintf("StackSample field %d", w.Field()))
		}
	}
	if err := w.Err(); err != nil {
		r.malformed("stack_sample", err)
		return nil
	}
	var ok bool
	if out.ts, ok = r.traceTime(stamp, stampErr); !ok {
		return nil
	}
	if taskIID != 0 {
		task, _ = r.interned(pfwire.InternedTaskContexts, taskIID)
	}
	for t := wire.NewReader(task); t.Next(); {
		switch t.Field() {
		case schema.StackSampleTaskContext_PID:
			out.pid = int64(uint32(t.Uint()))
		case schema.StackSampleTaskContext_TID:
			out.tid = int64(uint32(t.Uint()))
		case schema.StackSampleTaskContext_AsyncID:
			r.notConverted("TaskContext field 4")
		}
	}
	return r.addSample(&out)
}

// sampleCPU reads an ExecutionContext.
func (r *reader) sampleCPU(msg []byte) (cpu timeline.CPU) {
	w := wire.NewReader(msg)
	for w.Next() {
		if w.Field() == schema.StackSampleExecutionContext_CPU {
			cpu = timeline.NewCPU(uint32(w.Uint()))
		}
		if w.Field() == schema.StackSampleExecutionContext_Mode {
			r.notConverted("ExecutionContext field 3")
		}
	}
	if err := w.Err(); err != nil {
		r.malformed("execution_context", err)
	}
	return cpu
}

// sampleDefaults returns what the defaults of the sequence say of its samples.
func (r *reader) sampleDefaults() (d timeline.SampleDescription) {
	w := wire.NewReader(r.seq.Defaults.StackSample)
	for w.Next() {
		switch w.Field() {
		case schema.StackSampleDefaults_Source:
			d.Source = string(r.validText(w.Bytes()))
		case schema.StackSampleDefaults_PrimaryDescriptor:
			r.sampleCounter(&d, w.Bytes())
		default:
			r.notConverted(fmt.Sprintf("StackSampleDefaults field %d", w.Field()))
		}
	}
	if err := w.Err(); err != nil {
		r.malformed("defaults of samples", err)
	}
	return d
}

// sampleCounter reads a CounterDescriptor of samples.
func (r *reader) sampleCounter(d *timeline.SampleDescription, msg []byte) {
	*d = timeline.SampleDescription{Source: d.Source}
	w := wire.NewReader(msg)
	for w.Next() {
		switch w.Field() {
		case schema.StackSampleCounterDescriptor_IID:
		case schema.StackSampleCounterDescriptor_Name:
			d.Counter = string(r.validText(w.Bytes()))
		case schema.StackSampleCounterDescriptor_Unit:
			d.Unit, d.UnitName = timeline.SampleUnit(w.Uint()), ""
		case schema.StackSampleCounterDescriptor_UnitStr:
			d.Unit, d.UnitName = 0, string(r.validText(w.Bytes()))
		default:
			r.notConverted(fmt.Sprintf("StackSample.CounterDescriptor field %d", w.Field()))
		}
	}
	if err := w.Err(); err != nil {
		r.malformed("counter descriptor of a sample", err)
	}
}

// describeSample compares a sample with the first one, which says what all are. It returns the name of another counter;
// another source or unit has no place.
func (r *reader) describeSample(d *timeline.SampleDescription) (counter []byte) {
	if r.samples == nil {
		first := *d
		r.samples = &first
		r.b.DescribeSamples(first)
		return nil
	}
	if d.Source != r.samples.Source {
		r.notConverted("samples of a second source: " + d.Source)
	}
	if d.Unit != r.samples.Unit || d.UnitName != r.samples.UnitName {
		r.notConverted("samples with a second unit")
	}
	if d.Counter == r.samples.Counter {
		return nil
	}
	return []byte(cmp.Or(d.Counter, "samples"))
}

// perfSample translates a PerfSample of linux.perf.
func (r *reader) perfSample(msg []byte, stamp pfwire.Stamp, stampErr error) error {
	var pid, tid int64
	var stack timeline.CallstackID
	var cpu timeline.CPU
	w := wire.NewReader(msg)
	for w.Next() {
		switch w.Field() {
		case schema.PerfSample_CPU:
			cpu = timeline.NewCPU(uint32(w.Uint()))
		case schema.PerfSample_PID:
			pid = int64(uint32(w.Uint()))
		case schema.PerfSample_TID:
			tid = int64(uint32(w.Uint()))
		case schema.PerfSample_CallstackIID:
			stack = r.callstack(w.Uint())
		default:
			r.notConverted(fmt.Sprintf("PerfSample field %d", w.Field()))
		}
	}
	if err := w.Err(); err != nil {
		r.malformed("perf_sample", err)
		return nil
	}
	ts, ok := r.traceTime(stamp, stampErr)
	if !ok {
		return nil
	}
	kind := timeline.SampleDescription{Source: "linux.perf"}
	return r.addSample(&sample{pid: pid, tid: tid, ts: ts, stack: stack, weight: 1, kind: kind, cpu: cpu})
}

// streamingProfile translates a StreamingProfilePacket: samples of the thread that writes the sequence, at times in
// microseconds that go on from the reference time of its descriptor.
func (r *reader) streamingProfile(msg []byte) error {
	if r.seq == nil || !r.seq.Thread.Known {
		r.add(problem.PacketInvalidState, "a streaming profile without thread descriptor")
		return nil
	}
	var stacks []uint64
	var deltas []uint64
	w := wire.NewReader(msg)
	for w.Next() {
		switch w.Field() {
		case schema.StreamingProfilePacket_CallstackIID:
			stacks = message.AppendVarints(stacks, &w)
		case schema.StreamingProfilePacket_TimestampDeltaUS:
			deltas = message.AppendVarints(deltas, &w)
		}
	}
	if err := w.Err(); err != nil {
		r.malformed("streaming_profile_packet", err)
		return nil
	}
	thread := &r.seq.Thread
	for i, iid := range stacks {
		if i < len(deltas) {
			thread.SampleUS += int64(deltas[i])
		}
		at := pfwire.Stamp{Clock: pfwire.Clock{ID: pfwire.ClockMonotonic}, Nanos: thread.SampleUS * 1000}
		ts, ok := r.traceTime(at, nil)
		if !ok {
			continue
		}
		out := sample{pid: int64(thread.PID), tid: thread.TID, ts: ts, stack: r.callstack(iid), weight: 1}
		out.kind.Source = "chrome"
		if err := r.addSample(&out); err != nil {
			return err
		}
	}
	return nil
}
