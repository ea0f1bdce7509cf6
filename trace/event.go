package trace

import (
	"iter"
	"slices"
	"strings"

	"github.com/weft-trace/weft/timeline"
)

// Kind says what an Event is.
type Kind uint8

// The kinds of events.
const (
	Slice   Kind = iota + 1 // an interval, from Time to Time plus Duration
	Instant                 // a point in time
	Counter                 // a counter has Value from now on
	Sample                  // a call stack was seen; Value is what the sample counts
)

var kindNames = [...]string{Slice: "slice", Instant: "instant", Counter: "counter", Sample: "sample"}

// String returns "slice", "instant", "counter" or "sample".
func (k Kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return "unknown"
}

// EventID identifies an event of its trace. Ids ascend in the order of Trace.Events, with gaps, but for slices of one
// time that a flow orders. Samples may have none, 0.
type EventID uint64

// Event is something that happened on a track. It is what Trace.Events gives and what Builder.Add takes; the fields that
// say where an event stands among others are filled in by Trace.Events and ignored by Builder.Add.
type Event struct {
	Kind  Kind
	Track TrackID
	Time  Nanos

	// Duration is the length of a slice. A slice that never ends has none, and Unfinished set.
	Duration   Nanos
	Unfinished bool

	Name     string
	Category string // as the input writes it, see Categories
	Args     Args
	Value    Value // of a counter or sample: an integer or a double

	// CPUTime is the CPU time that the thread had used at Time, CPUDuration what it used during the slice.
	CPUTime, CPUDuration CPUTime

	// FlowsIn are the arrows that lead to this event, FlowsOut the flows that lead on from it.
	FlowsIn  []FlowIn
	FlowsOut []FlowID

	// The place of the event among others. Parent is the slice around the event on its track, Depth the number of slices
	// around it.
	ID     EventID
	Parent EventID
	Depth  int

	InputEvent uint32 // index of the event in the input
	InputByte  int64  // where the event is in the unpacked input, in bytes

	frames []Frame // set by SetStack
	stack  timeline.CallstackID
	of     *Trace
}

// CPUTime is CPU time of a thread; the zero CPUTime is not given.
type CPUTime struct {
	nanos Nanos
	given bool
}

// NewCPUTime returns a CPU time that is given.
func NewCPUTime(t Nanos) CPUTime { return CPUTime{t, true} }

// Nanos returns the time; false if it is not given.
func (t CPUTime) Nanos() (Nanos, bool) { return t.nanos, t.given }

// FlowID identifies a flow of the trace.
type FlowID uint64

// FlowIn is an arrow: flow ID leads from the event From to this one.
type FlowIn struct {
	ID   FlowID
	From EventID
}

// End returns the time at which a slice ends, and the time of any other event.
func (e *Event) End() Nanos { return e.Time + e.Duration }

// Categories returns the categories of the event: the input separates them by commas.
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

// Stack returns the call stack at the begin of the event, the innermost function first; nil if it is not known.
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

// SetStack sets the call stack of an event for Builder.Add, the innermost function first.
func (e *Event) SetStack(frames []Frame) { e.frames = frames }

// Clone returns an event that stays valid while the trace is open.
func (e *Event) Clone() *Event {
	c := *e
	c.Args = e.Args.clone()
	c.FlowsIn, c.FlowsOut = slices.Clone(e.FlowsIn), slices.Clone(e.FlowsOut)
	return &c
}
