package trace

import "slices"

// Kind says what an Event is.
type Kind string

// The kinds of events.
const (
	Slice   Kind = "slice"   // an interval, from Time to Time plus Duration
	Instant Kind = "instant" // a point in time
	Counter Kind = "counter" // a counter has Value from now on
	Sample  Kind = "sample"  // a call stack was seen; Value is its weight, such as the time that it stands for
)

// EventID identifies an event of its trace. Ids count from 1 in the order of Trace.Events. Samples have separate ids, after the ids
// of all other events. 0 is not an event.
type EventID uint64

// Event is something that happened on a track. Trace.Events yields events, Builder.Add takes them, also from another
// trace, once Track is one of the Builder. Builder.Add ignores ID and the fields below it.
type Event struct {
	Kind  Kind
	Track TrackID
	Time  Nanos

	// Duration is the length of a slice. A slice with Unfinished set never ends, and has none.
	Duration   Nanos
	Unfinished bool

	Name     string
	Category string // as the input writes it; several are separated by commas
	Args     Value  // a dictionary; weft and weft.… in it are weft's own statements, which a program only copies
	Value    Value  // of a counter or sample: an IntKind or FloatKind

	// CPUTime is the CPU time that the thread had used at Time, CPUDuration what it used during the slice; nil if that is not
	// known.
	CPUTime, CPUDuration *Nanos

	// Stack is the call stack at the time of the event, the innermost function first. Samples, slices and instants can have
	// one.
	Stack []Frame

	// FlowsIn are the arrows that lead to this event, FlowsOut the flows that lead on from it.
	FlowsIn  []FlowIn
	FlowsOut []FlowID

	ID     EventID
	Parent EventID // the slice around the event on its track; 0 if there is none
	Depth  int     // the number of slices around the event on its track

	InputEvent uint32 // index of the event in the input
	// InputByte is where the event is in the unpacked input, in bytes; -1 if it comes from no particular place, as a sample of a
	// profile does.
	InputByte int64
}

// FlowID identifies a flow of its trace: a chain of arrows from event to event. For a Builder it may be any number.
type FlowID uint64

// FlowIn is an arrow that leads to an event.
type FlowIn struct {
	ID   FlowID
	From EventID // where the arrow comes from; Trace.Events gives that event first, Builder.Add ignores this field
}

// Frame is one function on a call stack. Line and Column count from 1; 0 is unknown.
type Frame struct {
	Function string
	File     string // the source; if that is not known, the binary
	Line     int64
	Column   int64

	// Binary is the path of the file with the native code of the function, Address the place in it.
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
