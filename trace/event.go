package trace

import (
	"iter"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/timeline"
)

// Kind says what an Event is.
type Kind uint8

// The kinds of events.
const (
	Slice   Kind = iota + 1 // an interval, from Time to Time plus Duration
	Instant                 // a point in time
	Counter                 // a counter has Value from now on
	Sample                  // a call stack was seen; Value is its weight, such as the time that it stands for
)

var kindNames = [...]string{Slice: "slice", Instant: "instant", Counter: "counter", Sample: "sample"}

// String returns "slice", "instant", "counter" or "sample".
func (k Kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return "unknown"
}

// EventID identifies an event of its trace. The ids of a trace ascend in the order of Trace.Events, with gaps; only
// among slices that begin at the same time may a flow change that order. 0 is no event; samples may have it as their id.
type EventID uint64

// Event is something that happened on a track. Trace.Events gives events, Builder.Add takes them: also those of another
// trace, once Track is one of the Builder. Builder.Add ignores ID and the fields below it.
type Event struct {
	Kind  Kind
	Track TrackID
	Time  Nanos

	// Duration is the length of a slice. A slice with Unfinished set never ends, and has none.
	Duration   Nanos
	Unfinished bool

	Name     string
	Category string // as the input writes it, see Categories
	Args     Args
	Value    Value // of a counter or sample: an IntKind or FloatKind

	// CPUTime is the CPU time that the thread had used at Time, CPUDuration what it used during the slice.
	CPUTime, CPUDuration CPUTime

	// FlowsIn are the arrows that lead to this event, FlowsOut the flows that lead on from it.
	FlowsIn  []FlowIn
	FlowsOut []FlowID

	ID     EventID
	Parent EventID // the slice around the event on its track; 0 if there is none
	Depth  int     // the number of slices around the event on its track

	InputEvent uint32 // index of the event in the input
	InputByte  int64  // where the event is in the unpacked input, in bytes

	frames []Frame // set by SetStack; else stack is an id of the trace
	stack  timeline.CallstackID
	of     *Trace
}

// CPUTime is an amount of CPU time, or none: the zero CPUTime says that it is not known.
type CPUTime struct {
	nanos Nanos
	given bool
}

// NewCPUTime returns a CPU time that is known.
func NewCPUTime(t Nanos) CPUTime { return CPUTime{t, true} }

// Nanos returns the time, and whether it is known.
func (t CPUTime) Nanos() (Nanos, bool) { return t.nanos, t.given }

// FlowID identifies a flow of its trace: a chain of arrows from event to event. For a Builder it may be any number.
type FlowID uint64

// FlowIn is an arrow that leads to an event.
type FlowIn struct {
	ID   FlowID
	From EventID // where the arrow comes from; Trace.Events gives that event first, Builder.Add ignores this field
}

// End returns the time at which a slice ends. For an unfinished slice, and for an event of another kind, it is Time.
func (e *Event) End() Nanos { return e.Time + e.Duration }

// Categories returns the single categories of Category, which separates them by commas.
func (e *Event) Categories() iter.Seq[string] {
	return func(yield func(string) bool) {
		if e.Category == "" {
			return
		}
		for c := range strings.SplitSeq(e.Category, ",") {
			if !yield(strings.TrimSpace(c)) {
				return
			}
		}
	}
}

// Frame is one function on a call stack. Line and Column count from 1; 0 is unknown.
type Frame struct {
	Function string
	File     string // the source; if that is not known, the binary
	Line     int64
	Column   int64
	Address  uint64 // in native code; 0 is unknown
}

// Stack returns the call stack at the time of the event, the innermost function first; nil if it is not known.
func (e *Event) Stack() []Frame {
	if e.frames != nil {
		return e.frames
	}
	if e.of == nil || e.stack == 0 {
		return nil
	}
	tl := e.of.tl
	ids := tl.Callstack(e.stack) // the outermost first
	frames := make([]Frame, 0, len(ids))
	for _, id := range slices.Backward(ids) {
		f := tl.Frame(id)
		frames = append(frames, Frame{Function: f.Function, File: f.File, Line: f.Line, Column: f.Column, Address: f.Address})
	}
	return frames
}

// SetStack sets the call stack of an event for Builder.Add, the innermost function first. Samples, slices and instants
// can have one.
func (e *Event) SetStack(frames []Frame) { e.frames, e.stack = frames, 0 }

// Clone returns a copy of the event that stays valid until the trace is closed.
func (e *Event) Clone() *Event {
	c := *e
	c.Args = e.Args.clone()
	c.FlowsIn, c.FlowsOut = slices.Clone(e.FlowsIn), slices.Clone(e.FlowsOut)
	return &c
}
