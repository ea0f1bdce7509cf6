package timeline

import (
	"encoding/binary"
	"unsafe"
)

// record is one event in the form that passes process. All variable-size data is in its payload. The meaning of a, b and lane
// depends on the kind; only the accessors below, which are named after that meaning, use these fields.
type record struct {
	ts       Nanos
	dur      Nanos // for slices: NoTime until the end is known; for a matched End: the length of its slice
	offset   int64 // in the input, for messages
	a, b     int64
	payload  uint64 // position of the payload, or the id of a template
	event    uint32
	track    TrackID
	name     NameID
	category CategoryID
	lane     uint32
	flags    recordFlags
}

// recordFlags holds the kind of a record in its lowest bits, then flags, then the properties of a FlowStep.
type recordFlags uint32

const (
	kindBits = 4 // Kind
	kindMask = 1<<kindBits - 1

	flagArgs           recordFlags = 1 << (kindBits + iota - 2) // the payload has arguments
	flagInlineName                                              // … a name that is not interned; name is a hash of it
	flagInlineCategory                                          // … a category that is not interned; category is a hash of it
	flagCallstack                                               // … a call stack
	flagMatched                                                 // Begin: its End or the next task was found. End: its Begin was found
	flagOutermost                                               // slice that no other slice on its async track encloses
	flagTemplate                                                // Slice: a template provides its name, category and arguments
	flagInOrder                                                 // Slice: Event.InOrder
	flagTask                                                    // Event.Task
	flagLoopTask                                                // Slice, Begin: Event.LoopTask
	flagIdle                                                    // Event.Idle
	flagDerived                                                 // added by Extend
	flagClosed                                                  // Begin without an End that ends with its parent, or where the next task begins
	flagDidNotEnd                                               // Begin: Event.DidNotEnd
	flagKeepEnd                                                 // End: becomes an instant if it has no Begin
	flagFloat                                                   // Counter, Sample: the value is a double
	flagSampling                                                // the payload has a Sampling
	flagSkip                                                    // Sampling.Skip

	flowShift                   = kindBits + 18
	flowSpaceBits               = 3       // FlowSpace
	flowRoleBits                = 3       // FlowRole
	flowBindingBits             = 3       // FlowBinding
	flagTextID      recordFlags = 1 << 31 // FlowStep: the id is a hash of text
)

// flagsOf returns the flags for a record kind.
func flagsOf(k Kind) recordFlags { return recordFlags(k) }

// Kind returns the kind of the record: Slice or Begin for a slice, End for a slice's end event, Instant, Counter, Sample or
// FlowStep.
func (r *record) Kind() Kind { return Kind(r.flags & kindMask) }

func (r *record) setKind(k Kind) { r.flags = r.flags&^kindMask | recordFlags(k) }

// setThreadTimes sets the CPU time of the thread at a Slice, Begin, End or Instant, and the CPU time that a Slice used.
func (r *record) setThreadTimes(at, used CPUTime) {
	r.a, r.b = int64(at.sinceNoTime), int64(used.sinceNoTime)
}

// threadTimes returns the values from setThreadTimes.
func (r *record) threadTimes() (at, used CPUTime) {
	if r.hasTemplate() {
		return CPUTime{}, CPUTime{}
	}
	return CPUTime{Nanos(r.a)}, CPUTime{Nanos(r.b)}
}

// setTemplate makes the record a Slice with a template and the two numbers for it.
func (r *record) setTemplate(id TemplateID, numbers [2]int64) {
	r.flags |= flagTemplate
	r.payload, r.a, r.b = uint64(id), numbers[0], numbers[1]
}

func (r *record) hasTemplate() bool { return r.flags&flagTemplate != 0 }

// template returns the values from setTemplate.
func (r *record) template() (id TemplateID, numbers [2]int64) {
	return TemplateID(r.payload), [2]int64{r.a, r.b}
}

// setBegin sets the index of the event that began the slice of an End.
func (r *record) setBegin(event uint32) { r.b = int64(event) }

// BeginEvent returns the index of the event that began the slice of an End.
func (r *record) BeginEvent() uint32 { return uint32(r.b) }

// setValue sets the value of a Counter or Sample, and the processor of a Sample.
func (r *record) setValue(v Number, on CPU) {
	r.a, r.b = int64(v.bits), on.plusOne
	if v.decimal {
		r.flags |= flagFloat
	}
}

func (r *record) value() Number  { return Number{bits: uint64(r.a), decimal: r.flags&flagFloat != 0} }
func (r *record) sampledOn() CPU { return CPU{r.b} }

// setSampledStack sets the call stack of a Sample. It uses the lane, which samples do not need, so that most samples need no
// payload.
func (r *record) setSampledStack(id CallstackID) { r.lane = uint32(id) }
func (r *record) sampledStack() CallstackID      { return CallstackID(r.lane) }

// setFlow sets the properties of a FlowStep.
func (r *record) setFlow(f *FlowEvent, id uint64) {
	r.a = int64(id)
	flow := uint32(f.Space) | uint32(f.Role)<<flowSpaceBits | uint32(f.Binding)<<(flowSpaceBits+flowRoleBits)
	r.flags |= recordFlags(flow << flowShift)
	if f.IDText != nil {
		r.flags |= flagTextID
	}
	if f.Space == FlowNative {
		r.b = int64(f.After)
	}
}

// Space returns the space of a FlowStep, or 0 for any other record.
func (r *record) Space() FlowSpace { return FlowSpace(r.flags >> flowShift & (1<<flowSpaceBits - 1)) }

// Role returns the role of a FlowStep.
func (r *record) Role() FlowRole {
	return FlowRole(r.flags >> (flowShift + flowSpaceBits) & (1<<flowRoleBits - 1))
}

// Binding returns the binding of a FlowStep.
func (r *record) Binding() FlowBinding {
	return FlowBinding(r.flags >> (flowShift + flowSpaceBits + flowRoleBits) & (1<<flowBindingBits - 1))
}

// FlowID returns the id of a FlowStep; text reports whether the id is a hash of text.
func (r *record) FlowID() (id uint64, text bool) { return uint64(r.a), r.flags&flagTextID != 0 }

// FlowName returns the name and category of a FlowStep as numbers that can be compared.
func (r *record) FlowName() (name, category uint32) { return uint32(r.name), uint32(r.category) }

// setFallbackTrack and setFallbackLane set where to show a FlowStep of FlowV1 if it binds to nothing.
func (r *record) setFallbackTrack(track TrackID) { r.lane = uint32(track) }
func (r *record) setFallbackLane(lane uint32)    { r.b = int64(lane) }

// Fallback returns where to show a FlowStep if it binds to nothing.
func (r *record) Fallback() (track TrackID, lane uint32) { return TrackID(r.lane), uint32(r.b) }

// After returns FlowEvent.After.
func (r *record) After() Nanos {
	if r.Space() != FlowNative {
		return 0
	}
	return Nanos(r.b)
}

// flagPayload combines the flags for data in a payload.
const flagPayload = flagArgs | flagInlineName | flagInlineCategory | flagCallstack | flagSampling

// inlineBit marks names and categories that are hashes of uninterned text.
const inlineBit = 1 << 31

// starts reports whether the record starts a slice or an instant.
func (r *record) starts() bool { return r.Kind() == Slice || r.Kind() == Begin || r.Kind() == Instant }

// sharesLane reports whether the starts of two records are on the same lane of a track.
func (r *record) sharesLane(other *record) bool {
	return r.lane == other.lane && r.track == other.track && r.starts()
}

// end returns the end of the record's slice; ok is false if the slice never ends.
func (r *record) end() (end Nanos, ok bool) {
	if r.Kind() == Instant {
		return r.ts, true
	}
	if r.dur == NoTime {
		return 0, false
	}
	return r.ts + r.dur, true
}

// whole implements Head.Whole.
func (r *record) whole() bool {
	at, used := r.threadTimes()
	return r.Kind() == Slice && (at == CPUTime{}) == (used == CPUTime{})
}

// didNotEnd implements Head.DidNotEnd.
func (r *record) didNotEnd() bool {
	return r.flags&flagClosed != 0 || r.Kind() == Begin && r.flags&flagDidNotEnd != 0 && r.dur != NoTime
}

// recordSize is the in-memory size of a record.
const recordSize = int64(unsafe.Sizeof(record{}))

// payload is a record's decoded variable-size data.
type payload struct {
	name, category []byte
	callstack      CallstackID
	sampling       Sampling // Skip is in the record's flags
	args           Args
}

// appendPayload encodes the parts of a payload that flags indicates.
func appendPayload(b []byte, flags recordFlags, p *payload) []byte {
	if flags&flagInlineName != 0 {
		b = binary.AppendUvarint(b, uint64(len(p.name)))
		b = append(b, p.name...)
	}
	if flags&flagInlineCategory != 0 {
		b = binary.AppendUvarint(b, uint64(len(p.category)))
		b = append(b, p.category...)
	}
	if flags&flagCallstack != 0 {
		b = binary.AppendUvarint(b, uint64(p.callstack))
	}
	if flags&flagSampling != 0 {
		b = binary.AppendUvarint(b, p.sampling.TraceID)
		b = binary.AppendUvarint(b, uint64(p.sampling.Thread))
	}
	return append(b, p.args...)
}

// decodePayload is the inverse of appendPayload. The result points into b.
func decodePayload(b []byte, flags recordFlags) (p payload) {
	number := func() uint64 {
		n, w := binary.Uvarint(b)
		b = b[w:]
		return n
	}
	text := func() []byte {
		n := number()
		t := b[:n]
		b = b[n:]
		return t
	}
	if flags&flagInlineName != 0 {
		p.name = text()
	}
	if flags&flagInlineCategory != 0 {
		p.category = text()
	}
	if flags&flagCallstack != 0 {
		p.callstack = CallstackID(number())
	}
	if flags&flagSampling != 0 {
		p.sampling = Sampling{TraceID: number(), Thread: TrackID(number())}
	}
	p.args = Args(b)
	return p
}
