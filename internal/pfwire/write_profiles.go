package pfwire

import (
	"math"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/wire"
)

// A streaming profile holds the samples of the thread that its packet sequence describes, so that every thread with
// samples has a sequence of its own, beside that of all events. A sequence begins anew in every segment: thread
// descriptor, then packets of samples that also define the call stacks used for the first time. That makes segments
// independent of each other, as they are on the sequence of events, for the price of defining a stack once for each
// segment and thread that uses it.

const (
	// maxProfileSamples is the number of samples in one packet.
	maxProfileSamples = 512
	// The stacks that a segment defines have maxProfileFrames frames together. Further ones have their innermost
	// shortProfileStack frames only, so that few deep stacks, used in every segment, cannot become a huge output.
	maxProfileFrames  = 1 << 22
	shortProfileStack = 64
)

// profileWriter writes the streaming profiles of one segment.
type profileWriter struct {
	w       *writer
	threads map[timeline.TrackID]*threadProfile
	order   []*threadProfile // by first sample
	defined int              // frames of the stacks defined so far
	frames  []timeline.FrameID
}

// threadProfile is the profile of one thread in one segment. Ids of frames are those of the timeline, the same in all
// segments and threads; an id of paths stands for a source path and for a mapping.
type threadProfile struct {
	sequence  uint64
	machineID []byte
	functions map[string]uint64
	paths     map[string]uint64
	frames    map[timeline.FrameID]bool
	stacks    map[timeline.CallstackID]definedStack

	// Of the next packet:
	interned []byte
	iids     []byte
	deltas   []byte
	samples  int
	lastUS   int64
}

type definedStack struct {
	iid       uint64
	truncated bool // the outermost frames are missing
}

func newProfileWriter(w *writer) *profileWriter {
	return &profileWriter{w: w, threads: map[timeline.TrackID]*threadProfile{}}
}

// add adds a sample to the profile of its thread.
func (p *profileWriter) add(it *timeline.Item) error {
	if it.Callstack == 0 {
		p.w.count(problem.SampleWithoutStack, it)
		return nil
	}
	_, hasCPU := it.CPU.Number()
	if len(it.Name) > 0 || hasCPU || it.Value != timeline.Int(1) {
		p.w.count(problem.SampleDetailDropped, it)
	}
	us := microseconds(it.TS, p.w.monotonic)
	th := p.threads[it.Track]
	if th == nil {
		th = &threadProfile{
			sequence: 1 + uint64(it.Track), machineID: p.w.machineID, lastUS: us, // 1 is that of the events
			functions: map[string]uint64{}, paths: map[string]uint64{},
			frames: map[timeline.FrameID]bool{}, stacks: map[timeline.CallstackID]definedStack{},
		}
		p.threads[it.Track] = th
		p.order = append(p.order, th)
		if err := p.begin(th, it.Track); err != nil {
			return err
		}
	}
	stack := p.define(th, it.Callstack)
	if stack.truncated {
		p.w.count(problem.StackLimit, it)
	}
	th.iids = wire.AppendUint(th.iids, schema.StreamingProfilePacket_CallstackIID, stack.iid)
	th.deltas = wire.AppendInt(th.deltas, schema.StreamingProfilePacket_TimestampDeltaUS, us-th.lastUS)
	th.lastUS = us
	if th.samples++; th.samples == maxProfileSamples || len(th.interned) >= maxInternedPacket {
		return p.flush(th)
	}
	return nil
}

// begin writes the packet with which a sequence starts anew: whose samples follow, and from when their times count.
func (p *profileWriter) begin(th *threadProfile, thread timeline.TrackID) error {
	tr := p.w.t.Track(thread)
	b, packet := wire.BeginMessage(p.w.out.buf, schema.Trace_Packet)
	b = wire.AppendUint(append(b, th.machineID...), schema.TracePacket_TrustedPacketSequenceID, th.sequence)
	b = wire.AppendUint(b, schema.TracePacket_SequenceFlags, schema.TracePacket_SeqIncrementalStateCleared)
	b, d := wire.BeginMessage(b, schema.TracePacket_ThreadDescriptor)
	b = wire.AppendInt(b, schema.ThreadDescriptor_PID, int64(tr.PID))
	b = wire.AppendInt(b, schema.ThreadDescriptor_TID, tr.TID)
	b = wire.AppendInt(b, schema.ThreadDescriptor_ReferenceTimestampUS, th.lastUS)
	p.w.out.buf = wire.EndMessage(wire.EndMessage(b, d), packet)
	return p.w.out.packetDone()
}

// finish writes what is left at the end of the segment.
func (p *profileWriter) finish() error {
	for _, th := range p.order {
		if err := p.flush(th); err != nil {
			return err
		}
	}
	return nil
}

// flush writes the samples that a thread has collected, and the stacks that they are the first to use.
func (p *profileWriter) flush(th *threadProfile) error {
	if th.samples == 0 {
		return nil
	}
	b, packet := wire.BeginMessage(p.w.out.buf, schema.Trace_Packet)
	b = wire.AppendUint(append(b, th.machineID...), schema.TracePacket_TrustedPacketSequenceID, th.sequence)
	b = wire.AppendUint(b, schema.TracePacket_SequenceFlags, schema.TracePacket_SeqNeedsIncrementalState)
	if len(th.interned) > 0 {
		b = wire.AppendBytes(b, schema.TracePacket_InternedData, th.interned)
	}
	b, profile := wire.BeginMessage(b, schema.TracePacket_StreamingProfilePacket)
	b = append(append(b, th.iids...), th.deltas...)
	p.w.out.buf = wire.EndMessage(wire.EndMessage(b, profile), packet)
	th.interned, th.iids, th.deltas, th.samples = th.interned[:0], th.iids[:0], th.deltas[:0], 0
	return p.w.out.packetDone()
}

// define returns a call stack as the sequence knows it, and defines it if it does not.
func (p *profileWriter) define(th *threadProfile, id timeline.CallstackID) definedStack {
	if stack, ok := th.stacks[id]; ok {
		return stack
	}
	stack := definedStack{iid: uint64(len(th.stacks) + 1)}
	p.frames = p.w.t.AppendCallstack(p.frames[:0], id)
	frames := p.frames
	if n := len(frames) - shortProfileStack; n > 0 && p.defined+len(frames) > maxProfileFrames {
		frames, stack.truncated = frames[n:], true
	}
	p.defined += len(frames)
	for _, f := range frames {
		th.defineFrame(p.w.t, f)
	}
	b, m := wire.BeginMessage(th.interned, schema.InternedData_Callstacks)
	b = wire.AppendUint(b, schema.Callstack_IID, stack.iid)
	for _, f := range frames {
		b = wire.AppendUint(b, schema.Callstack_FrameIDs, uint64(f))
	}
	th.interned = wire.EndMessage(b, m)
	th.stacks[id] = stack
	return stack
}

// defineFrame defines a frame once. Versions of Perfetto before v53 drop samples with frames that have no mapping, and
// know files by the paths of mappings only. So each file is a mapping here, and the id of a frame its address in it:
// only by this address they tell frames apart.
func (th *threadProfile) defineFrame(t *timeline.Timeline, id timeline.FrameID) {
	if th.frames[id] {
		return
	}
	th.frames[id] = true
	f := t.Frame(id)
	function := th.defineFunction(f.Function)
	path := th.definePath(f.File)
	b, m := wire.BeginMessage(th.interned, schema.InternedData_Frames)
	b = wire.AppendUint(b, schema.Frame_IID, uint64(id))
	if function != 0 {
		b = wire.AppendUint(b, schema.Frame_FunctionNameID, function)
	}
	b = wire.AppendUint(b, schema.Frame_MappingID, path)
	b = wire.AppendUint(b, schema.Frame_RelPC, uint64(id))
	if f.File != "" {
		b = wire.AppendUint(b, schema.Frame_SourcePathIID, path)
	}
	th.interned = wire.EndMessage(appendPosition(b, &f), m)
}

// defineFunction returns the id of a function's name, 0 for the empty one.
func (th *threadProfile) defineFunction(name string) uint64 {
	id, ok := th.functions[name]
	if ok || name == "" {
		return id
	}
	id = uint64(len(th.functions) + 1)
	th.functions[name] = id
	th.text(schema.InternedData_FunctionNames, id, name)
	return id
}

// definePath returns the id of a source path and of the mapping of that path. There is a mapping without path as well.
func (th *threadProfile) definePath(path string) uint64 {
	if id, ok := th.paths[path]; ok {
		return id
	}
	id := uint64(len(th.paths) + 1)
	th.paths[path] = id
	if path != "" {
		th.text(schema.InternedData_SourcePaths, id, path)
		th.text(schema.InternedData_MappingPaths, id, path)
	}
	b, m := wire.BeginMessage(th.interned, schema.InternedData_Mappings)
	b = wire.AppendUint(b, schema.Mapping_IID, id)
	if path != "" {
		b = wire.AppendUint(b, schema.Mapping_PathStringIDs, id)
	}
	th.interned = wire.EndMessage(b, m)
	return id
}

// text defines a text of one of the tables.
func (th *threadProfile) text(table int, id uint64, text string) {
	b, m := wire.BeginMessage(th.interned, table)
	b = wire.AppendUint(b, schema.InternedString_IID, id)
	th.interned = wire.EndMessage(wire.AppendString(b, schema.InternedString_Str, text), m)
}

// microseconds returns ts+offset in microseconds, rounded to the nearest that is a time in nanoseconds as well.
func microseconds(ts, offset timeline.Nanos) int64 {
	if offset > 0 && ts > math.MaxInt64-offset {
		ts = math.MaxInt64 - offset
	}
	ns := int64(ts + offset)
	us, rest := ns/1000, ns%1000
	switch {
	case rest >= 500 && us < math.MaxInt64/1000:
		us++
	case rest < -500:
		us--
	}
	return us
}
