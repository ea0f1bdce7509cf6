package trace

import "slices"

// Kind is the kind of an Event.
type Kind string

// The kinds of events.
const (
	Slice   Kind = "slice"   // an interval, from Time to Time plus Duration
	Instant Kind = "instant" // a point in time
	Counter Kind = "counter" // the new value of a counter: Value
	Sample  Kind = "sample"  // a call stack was sampled; Value is its weight, such as the time that the sample represents
)

// EventID identifies an event of its trace. Ids count from 1 in the order of Trace.Events, except for samples, whose ids follow the ids
// of all other events. 0 means no event.
type EventID uint64

// Event is something that happened on a track. Trace.Events yields events, and Builder.Add accepts them, even from another trace if
// Track is set to a track of the Builder. Builder.Add ignores ID and the fields below it.
type Event struct {
	Kind  Kind
	Track TrackID
	Time  Nanos

	// Duration is the length of a slice. A slice with Unfinished set never ends, and has no duration.
	Duration   Nanos
	Unfinished bool

	Name     string
	Category string // as in the input; several are separated by commas
	Args     Value  // a dictionary; members weft and weft.… are added by weft, and other programs should only copy them
	Value    Value  // of a counter or sample: an IntKind or FloatKind

	// CPUTime is the CPU time of the thread at Time, CPUDuration the CPU time used during the slice; nil if unknown.
	CPUTime, CPUDuration *Nanos

	// Stack is the call stack at the time of a sample, slice or instant, innermost function first.
	Stack []Frame

	// FlowsIn are the arrows to this event, FlowsOut the flows that continue from it.
	FlowsIn  []FlowIn
	FlowsOut []FlowID

	ID     EventID
	Parent EventID // the slice around the event on its track; 0: none
	Depth  int     // number of slices around the event on its track

	InputEvent uint32 // index of the event in the input
	// InputByte is the position of the event in the unpacked input, in bytes; -1 if it has none, like a sample of a profile.
	InputByte int64
}

// FlowID identifies a flow of its trace: a chain of arrows from event to event. For a Builder it may be any number.
type FlowID uint64

// FlowIn is an arrow to an event.
type FlowIn struct {
	ID   FlowID
	From EventID // the event at the start of the arrow; it comes first in Trace.Events. Builder.Add ignores this field
}

// Frame is one function on a call stack. Line and Column count from 1; 0 is unknown.
type Frame struct {
	Function string
	File     string // the source; if unknown, the binary
	Line     int64
	Column   int64

	// Binary is the path of the file with the function's native code, Address the position in it.
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
