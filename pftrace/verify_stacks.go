package pftrace

import (
	"math"

	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/pfwire/message"
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/wire"
)

// useCallstack checks an interned call stack that an event or sample uses: everything that it refers to, through frames
// and mappings, must be defined by now. Each stack and each frame is looked through once.
func (v *verifier) useCallstack(seq *verifySequence, iid uint64) {
	stack, ok := v.useInterned(seq, pfwire.InternedCallstacks, iid)
	if !ok || seq.checkedStacks[iid] {
		return
	}
	if seq.checkedStacks == nil {
		seq.checkedStacks = make(map[uint64]bool)
		seq.checkedFrames = make(map[uint64]bool)
	}
	seq.checkedStacks[iid] = true
	v.eachFrame(stack, func(frame uint64) { v.useFrame(seq, frame) })
}

// eachFrame calls use for the frame ids of an encoded Callstack.
func (v *verifier) eachFrame(stack []byte, use func(frame uint64)) {
	for r := wire.NewReader(stack); r.Next(); {
		if r.Field() != schema.Callstack_FrameIDs {
			continue
		}
		if r.Type() != wire.Len {
			use(r.Uint())
			continue
		}
		for p := wire.NewPacked(r.Bytes()); p.Next(); {
			use(p.Uint())
		}
	}
}

func (v *verifier) useFrame(seq *verifySequence, iid uint64) {
	frame, ok := v.useInterned(seq, pfwire.InternedFrames, iid)
	if !ok || seq.checkedFrames[iid] {
		return
	}
	seq.checkedFrames[iid] = true
	for r := wire.NewReader(frame); r.Next(); {
		switch r.Field() {
		case schema.Frame_FunctionNameID:
			v.useInterned(seq, pfwire.InternedFunctionNames, r.Uint())
		case schema.Frame_MappingID:
			v.useMapping(seq, r.Uint())
		case schema.Frame_SourcePathIID:
			v.useInterned(seq, pfwire.InternedSourcePaths, r.Uint())
		}
	}
}

func (v *verifier) useMapping(seq *verifySequence, iid uint64) {
	mapping, _ := v.useInterned(seq, pfwire.InternedMappings, iid)
	for r := wire.NewReader(mapping); r.Next(); {
		switch r.Field() {
		case schema.Mapping_BuildID:
			v.useInterned(seq, pfwire.InternedBuildIDs, r.Uint())
		case schema.Mapping_PathStringIDs:
			if r.Type() != wire.Len {
				v.useInterned(seq, pfwire.InternedMappingPaths, r.Uint())
				continue
			}
			for p := wire.NewPacked(r.Bytes()); p.Next(); {
				v.useInterned(seq, pfwire.InternedMappingPaths, p.Uint())
			}
		}
	}
}

// checkCallstackMessage checks an encoded Callstack. With a sequence its frames are used where it stands.
func (v *verifier) checkCallstackMessage(seq *verifySequence, stack []byte) {
	frames := 0
	v.eachFrame(stack, func(frame uint64) {
		frames++
		if seq != nil {
			if seq.checkedFrames == nil {
				seq.checkedStacks = make(map[uint64]bool)
				seq.checkedFrames = make(map[uint64]bool)
			}
			v.useFrame(seq, frame)
		}
	})
	if frames == 0 {
		v.found(ruleCallstackEmpty, "a call stack of %d bytes", len(stack))
	}
}

// checkInlineCallstack checks TrackEvent.callstack, whose frames are messages.
func (v *verifier) checkInlineCallstack(stack []byte) {
	for r := wire.NewReader(stack); r.Next(); {
		if r.Field() == schema.TrackEventCallstack_Frames {
			return
		}
	}
	v.found(ruleCallstackEmpty, "the call stack of an event")
}

func (v *verifier) checkFrameMessage(frame []byte) {
	var mapping uint64
	address := false
	for r := wire.NewReader(frame); r.Next(); {
		switch r.Field() {
		case schema.Frame_MappingID:
			mapping = r.Uint()
		case schema.Frame_RelPC:
			address = true
		}
	}
	if mapping != 0 && !address {
		v.found(ruleFrameAddress, "a frame with mapping %d", mapping)
	}
}

// sample checks the packets that hold call stack samples. at is the time, if ok.
func (v *verifier) sample(seq *verifySequence, at int64, ok bool) {
	f := &v.fields
	v.report.Events++
	if !f.HasTimestamp && f.Payload != schema.TracePacket_StreamingProfilePacket { // which has its own times
		v.found(ruleTimestampMissing, "a sample")
	}
	if ok {
		v.checkTimeOrder(at)
	}
	switch f.Payload {
	case schema.TracePacket_StackSample:
		v.found(ruleNeedsVersion, "stack_sample: v58")
		v.stackSample(seq)
	case schema.TracePacket_PerfSample:
		for r := wire.NewReader(f.Data); r.Next(); {
			if r.Field() == schema.PerfSample_CallstackIID {
				v.useCallstack(seq, r.Uint())
			}
		}
	case schema.TracePacket_StreamingProfilePacket:
		v.streamingProfile(seq)
	}
}

// streamingProfile checks what a streaming profile takes from its sequence: thread, clock, call stacks.
func (v *verifier) streamingProfile(seq *verifySequence) {
	if seq != nil && !seq.Thread.Known {
		v.found(ruleProfileThread, "sequence %d", seq.Key.ID)
	}
	if monotonic := (pfwire.Clock{ID: pfwire.ClockMonotonic}); !v.state.Clocks.Knows(monotonic) {
		v.found(ruleClockLate, "clock %d", monotonic.ID)
	}
	stacks, times := 0, 0
	for r := wire.NewReader(v.fields.Data); r.Next(); {
		switch r.Field() {
		case schema.StreamingProfilePacket_CallstackIID:
			for _, iid := range message.AppendVarints(nil, &r) {
				v.useCallstack(seq, iid)
				stacks++
			}
		case schema.StreamingProfilePacket_TimestampDeltaUS:
			times += len(message.AppendVarints(nil, &r))
		}
	}
	if times < stacks {
		v.found(ruleProfileTimes, "%d call stacks, %d times", stacks, times)
	}
}

func (v *verifier) stackSample(seq *verifySequence) {
	for r := wire.NewReader(v.fields.Data); r.Next(); {
		switch r.Field() {
		case schema.StackSample_TaskContext:
			v.taskContext(r.Bytes())
		case schema.StackSample_TaskContextIID:
			if context, ok := v.useInterned(seq, pfwire.InternedTaskContexts, r.Uint()); ok {
				v.taskContext(context)
			}
		case schema.StackSample_ExecutionContextIID:
			v.useInterned(seq, pfwire.InternedExecutionContexts, r.Uint())
		case schema.StackSample_Callstack:
			v.checkCallstackMessage(seq, r.Bytes())
		case schema.StackSample_CallstackIID:
			v.useCallstack(seq, r.Uint())
		case schema.StackSample_PrimaryDescriptorIID:
			v.useInterned(seq, pfwire.InternedSampleCounters, r.Uint())
		case schema.StackSample_FollowerDescriptorIIDs:
			for _, iid := range message.AppendVarints(nil, &r) {
				v.useInterned(seq, pfwire.InternedSampleCounters, iid)
			}
		}
	}
}

// taskContext checks that the ids, which are uint32, were not written as something larger: a negative int32, say.
func (v *verifier) taskContext(msg []byte) {
	for r := wire.NewReader(msg); r.Next(); {
		if (r.Field() == schema.StackSampleTaskContext_PID || r.Field() == schema.StackSampleTaskContext_TID) && r.Uint() > math.MaxUint32 {
			v.found(ruleSampleID, "field %d of the task context is %d", r.Field(), int64(r.Uint()))
		}
	}
}
