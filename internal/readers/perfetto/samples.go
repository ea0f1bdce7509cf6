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
)

// sequenceStacks caches a sequence's interned call stacks, frames and mappings, as converted for the timeline.
type sequenceStacks struct {
	interned *pfwire.Interned // the interned data that defines the ids
	stacks   map[uint64]timeline.CallstackID
	frames   map[uint64]timeline.FrameID
	mappings map[uint64]mappedFile
	list     []timeline.FrameID // scratch
	iids     []uint64           // scratch
}

// sequenceStacks returns the cache of the current sequence, which is new after a restart of the sequence.
func (r *reader) sequenceStacks() *sequenceStacks {
	s := r.seqInfo.stacks
	if s == nil || s.interned != r.seq.Interned {
		s = &sequenceStacks{
			interned: r.seq.Interned,
			stacks:   make(map[uint64]timeline.CallstackID),
			frames:   make(map[uint64]timeline.FrameID),
			mappings: make(map[uint64]mappedFile),
		}
		r.seqInfo.stacks = s
	}
	return s
}

// maxFrames limits the depth of call stacks.
const maxFrames = 4096

// callstack returns an interned call stack, or 0 if it is unknown or empty.
func (r *reader) callstack(iid uint64) timeline.CallstackID {
	if iid == 0 || r.seq == nil {
		return 0
	}
	s := r.sequenceStacks()
	if id, ok := s.stacks[iid]; ok {
		return id
	}
	msg, ok := r.interned(message.InternedCallstacks, iid)
	if !ok {
		return 0
	}
	id := r.framesOf(s, msg)
	s.stacks[iid] = id
	return id
}

// framesOf reads a Callstack message, which refers to interned frames.
func (r *reader) framesOf(s *sequenceStacks, msg []byte) timeline.CallstackID {
	var c message.Callstack
	if err := c.Parse(msg); err != nil {
		r.malformed("callstack", err)
	}
	r.fieldsNotConverted("Callstack", c.Mistyped())
	s.list, s.iids = s.list[:0], c.AppendFrameIIDs(s.iids[:0])
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

// frame returns an interned frame. Its file is the source path or, if unknown, the mapped binary.
func (r *reader) frame(s *sequenceStacks, iid uint64) timeline.FrameID {
	if id, ok := s.frames[iid]; ok {
		return id
	}
	var m message.Frame
	msg, _ := r.interned(message.InternedFrames, iid)
	if err := m.Parse(msg); err != nil {
		r.malformed("frame", err)
	}
	r.fieldsNotConverted("Frame", m.Mistyped())
	if m.HasKind() {
		r.notConverted("Frame field 7")
	}
	if m.HasKindText() {
		r.notConverted("Frame field 8")
	}
	f := timeline.Frame{
		Function: string(r.internedText(message.InternedFunctionNames, m.FunctionIID())),
		File:     string(r.internedText(message.InternedSourcePaths, m.SourcePathIID())),
		Line:     int64(m.Line()), Column: int64(m.Column()), Address: m.RelPC(),
	}
	mapped := r.mapping(s, m.MappingIID())
	// In weft's streaming profiles the mapping repeats the file, and the address only distinguishes frames.
	repeats := m.MappingIID() != 0 && !mapped.hasAddresses && (mapped.path == "" || mapped.path == "/"+f.File)
	if f.File == "" {
		f.File = mapped.path
	}
	switch {
	case m.MappingIID() != 0 && m.HasRelPC() && !repeats:
		f.Mapping = r.b.Mapping(timeline.Mapping{Path: mapped.path, BuildID: mapped.buildID})
	case m.MappingIID() != 0 && !repeats && f.File != mapped.path:
		r.notConverted("Frame field 3")
	case m.MappingIID() == 0 && m.HasRelPC():
		r.notConverted("Frame field 4")
	}
	if f.Mapping == 0 {
		f.Address = 0
	}
	id := r.b.Frame(f)
	s.frames[iid] = id
	return id
}

// mappedFile is the relevant part of a mapping.
type mappedFile struct {
	path         string
	buildID      string // hexadecimal digits
	hasAddresses bool   // it identifies the build of a binary, or a memory range
}

// maxMappingPath limits the path of a mapping, which can consist of many long interned texts.
const maxMappingPath = 64 << 10

// mapping returns an interned mapping. The parts of its path are interned too.
func (r *reader) mapping(s *sequenceStacks, iid uint64) (f mappedFile) {
	msg, ok := r.interned(message.InternedMappings, iid)
	if !ok {
		return f
	}
	if f, ok := s.mappings[iid]; ok {
		return f
	}
	var m message.Mapping
	if err := m.Parse(msg); err != nil {
		r.malformed("mapping", err)
	}
	r.fieldsNotConverted("Mapping", m.Mistyped())
	id, _ := r.interned(message.InternedBuildIDs, m.BuildIDIID())
	f.buildID, f.hasAddresses = hex.EncodeToString(id), m.HasPlace() || m.BuildIDIID() != 0
	var path []byte
	for _, iid := range m.AppendPathIIDs(nil) {
		part := r.internedText(message.InternedMappingPaths, iid)
		if len(path)+1+len(part) > maxMappingPath {
			r.notConverted("Mapping field 7")
			break
		}
		path = append(append(path, '/'), part...)
	}
	f.path = string(path)
	if m.IsRelative() {
		f.path = strings.TrimPrefix(f.path, "/")
	}
	s.mappings[iid] = f
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
	frames := message.InlineFrames(msg)
	for frames.Next() {
		var f message.InlineFrame
		if err := f.Parse(frames.Bytes()); err != nil {
			r.malformed("callstack", err)
		}
		r.fieldsNotConverted("TrackEvent.Callstack.Frame", f.Mistyped())
		list = append(list, r.b.Frame(timeline.Frame{
			Function: string(r.validText(f.Function())), File: string(r.validText(f.File())), Line: int64(f.Line()),
		}))
	}
	if err := frames.Err(); err != nil {
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
	idle     bool
}

func (r *reader) addSample(s *sample) error {
	r.out = timeline.Event{
		Kind: timeline.Sample, Track: r.thread(r.process(s.pid), s.tid),
		Event: r.nextIndex(), Offset: r.sampleOffset(),
		TS:   s.ts,
		Name: r.describeSample(&s.kind), CPU: s.cpu, Callstack: s.stack, Value: timeline.Int(s.weight), Idle: s.idle,
	}
	return r.b.Add(&r.out)
}

// sampleOffset returns the offset of a sample: the current packet's, or -1 in weft's traces, as for samples from
// profiles.
func (r *reader) sampleOffset() int64 {
	if r.seqInfo.byWeft {
		return -1
	}
	return r.offset
}

// stackSample converts a StackSample (perfetto.md 2, 10).
func (r *reader) stackSample(msg []byte, stamp pfwire.Stamp, stampErr error) error {
	if r.seq == nil {
		r.add(problem.PacketInvalidState, "a sample without sequence id")
		return nil
	}
	var s message.StackSample
	if err := s.Parse(msg); err != nil {
		r.malformed("stack_sample", err)
		return nil
	}
	r.fieldsNotConverted("StackSample", s.Other())
	out := sample{weight: 1, kind: *r.sampleDefaults(), idle: r.fields.Idle}
	if s.HasWeight() {
		out.weight = int64(s.Weight())
	}
	if execution := r.referred(s.Execution(), message.InternedExecutionContexts); execution != nil {
		out.cpu = r.sampleCPU(execution)
	}
	if stack := s.Callstack(); stack.Msg != nil {
		out.stack = r.framesOf(r.sequenceStacks(), stack.Msg)
	} else {
		out.stack = r.callstack(stack.IID)
	}
	if counter := r.referred(s.Counter(), message.InternedSampleCounters); counter != nil {
		r.sampleCounter(&out.kind, counter)
	}
	var ok bool
	if out.ts, ok = r.traceTime(stamp, stampErr); !ok {
		return nil
	}
	var task message.TaskContext
	taskMsg := r.referred(s.Task(), message.InternedTaskContexts)
	taskErr := task.Parse(taskMsg)
	if taskErr != nil {
		r.malformed("task_context", taskErr)
	}
	r.fieldsNotConverted("TaskContext", task.Mistyped())
	if task.HasAsyncID() {
		r.notConverted("TaskContext field 4")
	}
	out.pid, out.tid = int64(uint32(task.PID())), int64(uint32(task.TID()))
	return r.addSample(&out)
}

// referred returns a message given inline or by iid, or nil.
func (r *reader) referred(m message.Ref, kind message.InternedKind) []byte {
	if m.Msg != nil {
		return m.Msg
	}
	msg, _ := r.interned(kind, m.IID)
	return msg
}

// fieldsNotConverted counts fields of a message as not converted.
func (r *reader) fieldsNotConverted(message string, numbers []int) {
	for _, n := range numbers {
		r.notConverted(fmt.Sprintf("%s field %d", message, n))
	}
}

// sampleCPU reads an ExecutionContext.
func (r *reader) sampleCPU(msg []byte) (cpu timeline.CPU) {
	var c message.ExecutionContext
	if err := c.Parse(msg); err != nil {
		r.malformed("execution_context", err)
	}
	r.fieldsNotConverted("ExecutionContext", c.Mistyped())
	if c.HasCPU() {
		cpu = timeline.NewCPU(c.CPU())
	}
	if c.HasMode() {
		r.notConverted("ExecutionContext field 3")
	}
	return cpu
}

// sampleDefaults caches the decoded defaults of a sequence's samples.
type sampleDefaults struct {
	encoded     []byte // refers to the sequence's message until its defaults change
	description timeline.SampleDescription
}

// isOf reports whether the defaults were decoded from msg.
func (d *sampleDefaults) isOf(msg []byte) bool {
	return len(d.encoded) == len(msg) && (len(msg) == 0 || &d.encoded[0] == &msg[0])
}

// sampleDefaults returns the sequence's default description of its samples.
func (r *reader) sampleDefaults() *timeline.SampleDescription {
	msg, d := r.seq.Defaults.StackSample, r.seqInfo.sampledAs
	if d != nil && d.isOf(msg) {
		return &d.description
	}
	d = &sampleDefaults{encoded: msg}
	r.seqInfo.sampledAs = d
	var m message.StackSampleDefaults
	if err := m.Parse(msg); err != nil {
		r.malformed("defaults of samples", err)
	}
	r.fieldsNotConverted("StackSampleDefaults", m.Other())
	d.description.Source = string(r.validText(m.Source()))
	if counter := m.Counter(); counter != nil {
		r.sampleCounter(&d.description, counter)
	}
	return &d.description
}

// sampleCounter reads the CounterDescriptor of samples.
func (r *reader) sampleCounter(d *timeline.SampleDescription, msg []byte) {
	var c message.SampleCounter
	if err := c.Parse(msg); err != nil {
		r.malformed("counter descriptor of a sample", err)
	}
	r.fieldsNotConverted("StackSample.CounterDescriptor", c.Other())
	unit, text := c.Unit()
	*d = timeline.SampleDescription{
		Source: d.Source, Counter: string(r.validText(c.Name())), Unit: timeline.SampleUnit(unit), UnitName: string(r.validText(text)),
	}
}

// describeSample compares the description of a sample with the description of the first sample, which applies to all
// samples. It returns the counter name if the name differs; a different source or unit cannot be represented. A sample
// that only counts itself fits any unit.
func (r *reader) describeSample(d *timeline.SampleDescription) (counter []byte) {
	counts := d.Counter == "samples" && d.Unit == schema.StackSample_UnitCount && d.UnitName == ""
	if r.samples == nil {
		first := *d
		if counts && r.seq != nil {
			if defaults := r.sampleDefaults(); defaults.Source == d.Source && defaults.Counter != "" {
				first = *defaults
			}
		}
		r.samples = &first
		r.b.DescribeSamples(first)
	}
	if d.Source != r.samples.Source {
		r.notConverted("samples of a second source: " + d.Source)
	}
	if !counts && (d.Unit != r.samples.Unit || d.UnitName != r.samples.UnitName) {
		r.notConverted("samples with a second unit")
	}
	if d.Counter == r.samples.Counter {
		return nil
	}
	return []byte(cmp.Or(d.Counter, "samples"))
}

// perfSample converts a PerfSample from linux.perf.
func (r *reader) perfSample(msg []byte, stamp pfwire.Stamp, stampErr error) error {
	var s message.PerfSample
	if err := s.Parse(msg); err != nil {
		r.malformed("perf_sample", err)
		return nil
	}
	r.fieldsNotConverted("PerfSample", s.Other())
	out := sample{pid: int64(s.PID()), tid: int64(s.TID()), stack: r.callstack(s.CallstackIID()), weight: 1}
	out.kind.Source = "linux.perf"
	if s.HasCPU() {
		out.cpu = timeline.NewCPU(s.CPU())
	}
	var ok bool
	if out.ts, ok = r.traceTime(stamp, stampErr); !ok {
		return nil
	}
	return r.addSample(&out)
}

// streamingProfile converts a StreamingProfilePacket: samples of the sequence's thread, with times in microseconds that
// continue from the reference time in the thread's descriptor.
func (r *reader) streamingProfile(msg []byte) error {
	if r.seq == nil || !r.seq.Thread.Known {
		r.add(problem.PacketInvalidState, "a streaming profile without thread descriptor")
		return nil
	}
	var p message.StreamingProfile
	if err := p.Parse(msg); err != nil {
		r.malformed("streaming_profile_packet", err)
		return nil
	}
	r.fieldsNotConverted("StreamingProfilePacket", p.Mistyped())
	thread, deltas := &r.seq.Thread, p.AppendTimeDeltasUS(nil)
	for i, iid := range p.AppendCallstackIIDs(nil) {
		if i < len(deltas) {
			thread.SampleUS += int64(deltas[i])
		}
		at := pfwire.Stamp{Clock: pfwire.Clock{ID: pfwire.ClockMonotonic, Machine: r.fields.Sequence.Machine}, Nanos: thread.SampleUS * 1000}
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
