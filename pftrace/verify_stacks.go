package pftrace

import (
	"math"

	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/pfwire/message"
	"github.com/weft-trace/weft/internal/schema"
)

// useCallstack checks an interned call stack that an event or sample uses: everything that the stack refers to must already be
// defined. Each stack, frame and mapping is checked only once.
func (v *verifier) useCallstack(seq *verifySequence, iid uint64) {
	stack, ok := v.useInterned(seq, message.InternedCallstacks, iid)
	if !ok || !firstUse(&seq.checkedStacks, iid) {
		return
	}
	for _, frame := range v.frameIIDs(stack) {
		v.useFrame(seq, frame)
	}
}

// firstUse adds an id to a set and reports whether it is new.
func firstUse(set *map[uint64]bool, iid uint64) bool {
	if *set == nil {
		*set = map[uint64]bool{}
	}
	isNew := !(*set)[iid]
	(*set)[iid] = true
	return isNew
}

// frameIIDs returns the frame ids of an encoded Callstack. They are valid until the next call.
func (v *verifier) frameIIDs(stack []byte) []uint64 {
	var c message.Callstack
	v.parsed(c.Parse(stack))
	v.iids = c.AppendFrameIIDs(v.iids[:0])
	return v.iids
}

func (v *verifier) useFrame(seq *verifySequence, iid uint64) {
	frame, ok := v.useInterned(seq, message.InternedFrames, iid)
	if !ok || !firstUse(&seq.checkedFrames, iid) {
		return
	}
	var f message.Frame
	v.parsed(f.Parse(frame))
	v.useInterned(seq, message.InternedFunctionNames, f.FunctionIID())
	v.useMapping(seq, f.MappingIID())
	v.useInterned(seq, message.InternedSourcePaths, f.SourcePathIID())
}

func (v *verifier) useMapping(seq *verifySequence, iid uint64) {
	mapping, ok := v.useInterned(seq, message.InternedMappings, iid)
	if !ok || !firstUse(&seq.checkedMappings, iid) {
		return
	}
	var m message.Mapping
	v.parsed(m.Parse(mapping))
	v.useInterned(seq, message.InternedBuildIDs, m.BuildIDIID())
	for _, part := range m.AppendPathIIDs(nil) {
		v.useInterned(seq, message.InternedMappingPaths, part)
	}
}

// checkCallstackMessage checks an encoded Callstack and, if seq is not nil, its frames.
func (v *verifier) checkCallstackMessage(seq *verifySequence, stack []byte) {
	frames := v.frameIIDs(stack)
	if len(frames) == 0 {
		v.found(ruleCallstackEmpty, "a call stack of %d bytes", len(stack))
	}
	if seq == nil {
		return
	}
	for _, frame := range frames {
		v.useFrame(seq, frame)
	}
}

// checkInlineCallstack checks TrackEvent.callstack, whose frames are encoded inline.
func (v *verifier) checkInlineCallstack(stack []byte) {
	if frames := message.InlineFrames(stack); !frames.Next() {
		v.found(ruleCallstackEmpty, "the call stack of an event")
	}
}

func (v *verifier) checkFrameMessage(frame []byte) {
	var f message.Frame
	if v.parsed(f.Parse(frame)); f.MappingIID() != 0 && !f.HasRelPC() {
		v.found(ruleFrameAddress, "a frame with mapping %d", f.MappingIID())
	}
}

// sample checks a packet with call stack samples. The parameter at is the time of the packet if ok is true.
func (v *verifier) sample(seq *verifySequence, at int64, ok bool) {
	f := &v.fields
	v.report.Events++
	if !f.HasTimestamp && f.Payload != schema.TracePacket_StreamingProfilePacket { // a streaming profile has its own times
		v.found(ruleTimestampMissing, "a sample")
	}
	if ok {
		v.checkTimeOrder(at)
	}
	switch f.Payload {
	case schema.TracePacket_StackSample:
		v.needsVersion(v.at, "stack_sample: v58")
		v.stackSample(seq)
	case schema.TracePacket_PerfSample:
		var p message.PerfSample
		v.parsed(p.Parse(f.Data))
		v.useCallstack(seq, p.CallstackIID())
	case schema.TracePacket_StreamingProfilePacket:
		v.streamingProfile(seq)
	}
}

// streamingProfile checks that the sequence provides what a streaming profile needs: thread, clock and call stacks.
func (v *verifier) streamingProfile(seq *verifySequence) {
	if seq != nil && !seq.Thread.Known {
		v.found(ruleProfileThread, "sequence %d", seq.Key.ID)
	}
	if monotonic := (pfwire.Clock{ID: pfwire.ClockMonotonic, Machine: v.fields.Sequence.Machine}); !v.state.Clocks.Knows(monotonic) {
		v.found(ruleClockLate, "clock %d", monotonic.ID)
	}
	var p message.StreamingProfile
	v.parsed(p.Parse(v.fields.Data))
	stacks, times := p.AppendCallstackIIDs(nil), p.AppendTimeDeltasUS(nil)
	for _, iid := range stacks {
		v.useCallstack(seq, iid)
	}
	if len(times) < len(stacks) {
		v.found(ruleProfileTimes, "%d call stacks, %d times", len(stacks), len(times))
	}
}

func (v *verifier) stackSample(seq *verifySequence) {
	var s message.StackSample
	v.parsed(s.Parse(v.fields.Data))
	task := s.Task()
	if task.Msg == nil {
		task.Msg, _ = v.useInterned(seq, message.InternedTaskContexts, task.IID)
	}
	v.taskContext(task.Msg)
	v.useInterned(seq, message.InternedExecutionContexts, s.Execution().IID)
	if stack := s.Callstack(); stack.Msg != nil {
		v.checkCallstackMessage(seq, stack.Msg)
	} else {
		v.useCallstack(seq, stack.IID)
	}
	v.useInterned(seq, message.InternedSampleCounters, s.Counter().IID)
	for _, iid := range s.AppendFollowerIIDs(nil) {
		v.useInterned(seq, message.InternedSampleCounters, iid)
	}
}

// taskContext checks that the ids fit into uint32. Negative int32 values, for example, do not.
func (v *verifier) taskContext(msg []byte) {
	var c message.TaskContext
	v.parsed(c.Parse(msg))
	if c.PID() > math.MaxUint32 {
		v.found(ruleSampleID, "field %d of the task context is %d", schema.StackSampleTaskContext_PID, int64(c.PID()))
	}
	if c.TID() > math.MaxUint32 {
		v.found(ruleSampleID, "field %d of the task context is %d", schema.StackSampleTaskContext_TID, int64(c.TID()))
	}
}
