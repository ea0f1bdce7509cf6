package timeline

import (
	"encoding/binary"
	"unsafe"
)

// record is one event in the form in which the passes see it. Everything of variable size is in its payload.
type record struct {
	ts       Nanos
	dur      Nanos // slices: NoTime as long as the end is not known; a matched End: that of its slice
	offset   int64 // in the input, for messages
	a        int64 // thread time at ts, as in CPUTime | counter value or weight | flow id | by kind, and see flagTemplate
	b        int64 // thread time used (Slice) | index of the event that began the slice (End)
	payload  uint64
	event    uint32
	track    TrackID
	name     NameID
	category CategoryID
	lane     uint32 // FlowStep: the track where it shows unbound. Sample: its call stack
	flags    recordFlags
	kind     Kind
	flow     flowEnd // FlowStep
}

// flowEnd is the space and the role of a FlowStep, in a byte.
type flowEnd uint8

func flowEndOf(f *FlowEvent) flowEnd { return flowEnd(f.Space) | flowEnd(f.Role)<<4 }

func (e flowEnd) space() FlowSpace { return FlowSpace(e & 15) }
func (e flowEnd) role() FlowRole   { return FlowRole(e >> 4) }

type recordFlags uint16

const (
	flagArgs           recordFlags = 1 << iota // the payload holds arguments
	flagInlineName                             // … a name that is not interned; name is a hash of it
	flagInlineCategory                         // … a category that is not interned; category is a hash of it
	flagCallstack                              // … a call stack
	flagMatched                                // Begin: its End was found, or the next task. End: its Begin was found
	flagOutermost                              // slice on an async track that no other slice encloses
	flagFloat                                  // a is the bits of a double
	flagNext                                   // FlowStep: BindNext, or BindNothing with flagCarrier
	flagCarrier                                // FlowStep: BindCarrier
	flagTextID                                 // FlowStep: a is a hash of a text
	flagClosed                                 // Begin without End that ends with its parent, or where the next task begins
	flagKeepEnd                                // End: becomes an instant without a Begin
	flagSampling                               // the payload holds a Sampling
	flagSkip                                   // Sampling.Skip
	flagDerived                                // added by Extend
	flagInOrder                                // Slice: Event.InOrder

	// flagTemplate says of a Slice that payload is a TemplateID, a and b the numbers. It is a flag of flow steps elsewhere.
	flagTemplate = flagNext
	// flagTask is Event.Task. It is a flag of flow steps elsewhere.
	flagTask = flagTextID

	// flagLoopTask says of a Slice or Begin: Event.LoopTask. It is a flag of ends elsewhere.
	flagLoopTask = flagKeepEnd

	// flagIdle says of a Slice or Begin: Event.Idle. It is a flag of flow steps elsewhere.
	flagIdle = flagCarrier
	// flagDidNotEnd is Event.DidNotEnd. It is a flag of counters and samples elsewhere.
	flagDidNotEnd = flagFloat
)

// flagPayload are the flags of what a payload may hold.
const flagPayload = flagArgs | flagInlineName | flagInlineCategory | flagCallstack | flagSampling

// inlineBit marks names and categories that are hashes of a text that is not interned.
const inlineBit = 1 << 31

// starts reports whether the record puts a slice or an instant on a track.
func (r *record) starts() bool { return r.kind == Slice || r.kind == Begin || r.kind == Instant }

// sharesPlace reports whether what two records start is on one lane of a track.
func (r *record) sharesPlace(other *record) bool {
	return r.lane == other.lane && r.track == other.track && r.starts()
}

// end is the time at which the record's slice ends; ok is false if it never does.
func (r *record) end() (end Nanos, ok bool) {
	if r.kind == Instant {
		return r.ts, true
	}
	if r.dur == NoTime {
		return 0, false
	}
	return r.ts + r.dur, true
}

// didNotEnd is Head.DidNotEnd.
func (r *record) didNotEnd() bool {
	return r.flags&flagClosed != 0 || r.kind == Begin && r.flags&flagDidNotEnd != 0 && r.dur != NoTime
}

// recordSize is the size of a record in memory.
const recordSize = int64(unsafe.Sizeof(record{}))

// threadTimes returns the CPU time of the thread at the begin of a Slice, Begin, End or Instant, and what a Slice used of it.
func (r *record) threadTimes() (at, used CPUTime) {
	if r.hasTemplate() {
		return CPUTime{}, CPUTime{}
	}
	return CPUTime{Nanos(r.a)}, CPUTime{Nanos(r.b)}
}

// payload is what a record holds beside its fixed part, decoded.
type payload struct {
	name, category []byte
	callstack      CallstackID
	sampling       Sampling // without Skip
	args           Args
}

// appendPayload encodes a payload: its length, then what the flags say is there.
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
