package trace

import "slices"

// Kind is the kind of an Event.
type Kind string

// The kinds of events.
const (
	Slice   Kind = "slice"   // an interval, from Time to Time plus Duration
	Instant Kind = "instant" // a point in time
	Counter Kind = "counter" // a new value for a counter: Value
	Sample  Kind = "sample"  // a sampled call stack; Value is its weight, such as the time that the sample represents
)

// EventID identifies an event within its trace. Ids count from 1 in the order of Trace.Events, except that the ids of samples
// follow the ids of all other events. 0 means no event.
type EventID uint64

// Event is something that happened on a track. Trace.Events yields events. Builder.Add accepts events, even from another trace if
// Track is changed to a track of the Builder; it ignores ID and the fields declared after ID.
type Event struct {
	Kind  Kind
	Track TrackID
	Time  Nanos

	// Duration is the length of a slice. A slice with Unfinished set never ends, and has no duration.
	Duration   Nanos
	Unfinished bool

	Name     string
	Category string // as in the input; commas separate several
	Args     Value  // a dictionary; weft adds the members weft and weft.…, which other programs should only copy
	Value    Value  // of a counter or sample: an IntKind or FloatKind

	// CPUTime is the CPU time of the thread at Time, and CPUDuration the CPU time used during the slice; nil if unknown.
	CPUTime, CPUDuration *Nanos

	// Stack is the call stack at the time of a sample, slice or instant, innermost function first.
	Stack []Frame

	// FlowsIn holds the arrows to this event, FlowsOut the flows that continue from it.
	FlowsIn  []FlowIn
	FlowsOut []FlowID

	ID     EventID
	Parent EventID // the slice around the event on its track; 0: none
	Depth  int     // number of slices around the event on its track

	InputEvent uint32 // index of the event in the input
	// InputByte is the byte position of the event in the unpacked input; -1 if it has none, like a sample in a profile.
	InputByte int64
}

// FlowID identifies a flow within its trace: a chain of arrows from event to event. For a Builder, it can be any number.
type FlowID uint64

// FlowIn is an arrow to an event.
type FlowIn struct {
	ID   FlowID
	From EventID // the event at the start of the arrow, which precedes this event in Trace.Events; Builder.Add ignores it
}

// Frame is one function on a call stack. Line and Column count from 1; 0 means unknown.
type Frame struct {
	Function string
	File     string // the source; if unknown, the binary
	Line     int64
	Column   int64

	// Binary is the path of the file with the function's native code, and Address the position in that file.
	Binary  string
	Address uint64
}

// Clone returns a copy of the event that stays valid until the trace is closed.
func (e *Event) Clone() *Event {
	c := *e
	c.Args, c.Stack = e.Args.clone(), slices.Clone(e.Stack)
	if e.CPUTime != nil {
		c.CPUTime = new(*e.CPUTime)
	}
	if e.CPUDuration != nil {
		c.CPUDuration = new(*e.CPUDuration)
	}
	c.FlowsIn, c.FlowsOut = slices.Clone(e.FlowsIn), slices.Clone(e.FlowsOut)
	return &c
}
