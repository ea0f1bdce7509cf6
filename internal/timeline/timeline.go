// Package timeline holds a trace in memory or on disk, independent of any file format: tracks, interned text, and
// records in time order.
//
// A reader fills a Builder, in whatever order its input has. Builder.Finish sorts the records by time (records that do
// not fit the memory budget are sorted in runs on disk and merged) and gives a Timeline. Timeline.Nest pairs begins
// with ends and finds the lane of every slice; package flowbind binds flow steps to slices. After that Timeline.Walk gives
// the resolved events in the order in which a Perfetto trace must hold them: ends before begins, parents before
// children, producers of flows before their consumers.
//
// What does not live here: several inputs on one timeline (package merge), anything that knows an input format (package load and below) or Perfetto's packets
// (package pfwire). The one exception are arguments: they are encoded once, by the reader, in the form in which they
// stay up to the output (see Args).
package timeline

import (
	"math"
	"time"
)

// Nanos is a point in time or a duration in nanoseconds. Points in time count from whatever the input counts from.
type Nanos int64

// Duration returns a duration as Go's.
func (n Nanos) Duration() time.Duration { return time.Duration(n) }

// String returns the number as a duration is written in Go: 4ms, 1.5µs.
func (n Nanos) String() string { return n.Duration().String() }

// Microsecond is the unit in which many formats give times.
const Microsecond Nanos = 1000

// NoTime means that a time is not known: a slice that never ends, an event without thread time.
const NoTime Nanos = math.MinInt64

// NameID identifies an interned event name; 0 is "no name".
type NameID uint32

// CategoryID identifies an interned category text, as written in the input ("a, b"); 0 is "no category".
type CategoryID uint32

// KeyID identifies an interned argument name.
type KeyID uint32

// TrackID identifies a track; 0 is the root, the whole trace.
type TrackID uint32

// CallstackID identifies an interned call stack; 0 is "no stack".
type CallstackID uint32

// FrameID identifies an interned stack frame; 0 is "no frame".
type FrameID uint32

// Kind says what an event given to Builder.Add is.
type Kind uint8

// The kinds of events.
const (
	// Slice is an interval whose end is known: TS and Dur.
	Slice Kind = iota + 1
	// Begin opens a slice on its track; an End of the same track closes it. On an async track the End may come from
	// another process, see AsyncID.
	Begin
	// End closes the innermost open Begin of its track with the same name and category. An empty Name or Category
	// matches any.
	End
	// Instant is a point in time.
	Instant
	// Counter gives the value of a counter track.
	Counter
	// Sample is a call stack seen at a point in time on a thread.
	Sample

	// FlowStep is one end of a flow, made by AddFlow and never handed to Add.
	FlowStep
	dropped // by a pass
)

// Event is what a reader hands to Builder.Add. Its byte slices are not kept.
type Event struct {
	Kind  Kind
	Track TrackID

	// Event and Offset are the event's index in the input's event list and its byte offset in the unpacked input. The
	// index decides the order of events at one time, so it must never decrease from call to call; only slices of one track
	// may come in any order, as they do that are added when they end. Records of one event share it.
	Event  uint32
	Offset int64

	TS  Nanos // at least 0
	Dur Nanos // Slice only; at least 0. A slice that would end after the last Nanos ends there

	// ThreadTS is the CPU time of the thread at TS (Slice, Begin, End, Instant), ThreadDur the CPU time that a Slice
	// used. They are used on tracks of threads only.
	ThreadTS, ThreadDur CPUTime

	Name     []byte // UTF-8; empty: no name. Sample: what the weight counts, "cycles" for instance
	Category []byte // the category list as written in the input
	Args     Args   // made by the Builder's ArgsEncoder

	Screenshot []byte // a picture that shows what was seen at TS, as JPEG; of a Slice, Begin or Instant

	// Template has the rest of a Slice, see Builder.Template: there are no Name, Category, Args and CPU times then, and Numbers
	// are the values of the keys of the template.
	Template TemplateID
	Numbers  [2]int64

	// Sampling is for Timeline.Extend. It concerns slices, begins and instants.
	Sampling Sampling

	// InOrder marks a Slice that keeps its place among what begins with it on its track: what has no length and comes earlier is
	// not moved after it. So it is with a Begin, but no End has to be paired.
	InOrder bool

	// Task marks a Slice or Begin of a thread as one of the tasks that the thread runs one after the other. A Begin
	// without End ends where the next task of its name begins, or with the last slice in it.
	Task bool

	// LoopTask marks a Slice or Begin as one task of the event loop of its thread, or of the thread that its track is
	// below: until it ends, whatever else waits for the thread is late. See Timeline.LongTasks.
	LoopTask bool

	// Idle marks a Slice or Begin on a track of states in which nothing was going on, and a Sample of a thread that waited for
	// work: files have them in a form that only weft reads, so that viewers show a gap, and flame graphs show work.
	Idle bool
	// DidNotEnd marks a Begin whose End the recording did not have: see Head.DidNotEnd. Only traces of weft have it.
	DidNotEnd bool

	// KeepEnd marks an End that deletes an object (chrome-json.md 17): without its Begin it is kept, as an instant, and its
	// category may differ from the Begin's.
	KeepEnd bool

	Value     Number      // Counter: the value. Sample: the weight
	CPU       CPU         // Sample: where the thread was running
	Callstack CallstackID // Slice, Begin, Instant: the stack at its start; End: at its end; Sample: the sample
}

// CPUTime is CPU time of a thread, which may be 0; the zero CPUTime is not given.
type CPUTime struct{ sinceNoTime Nanos }

// NewCPUTime returns a CPU time. NoTime is the one that is not given.
func NewCPUTime(t Nanos) CPUTime { return CPUTime{t - NoTime} }

// Nanos returns the time; NoTime and false if it is not given.
func (t CPUTime) Nanos() (ns Nanos, ok bool) { return t.sinceNoTime + NoTime, t.sinceNoTime != 0 }

// CPU is a processor; the zero CPU is unknown.
type CPU struct{ plusOne int64 }

// NewCPU returns the processor with a number.
func NewCPU(number uint32) CPU { return CPU{int64(number) + 1} }

// Number returns the number of the processor; false if it is unknown.
func (c CPU) Number() (n uint32, ok bool) { return uint32(c.plusOne - 1), c.plusOne > 0 }

// Number is the value of a counter: an integer if it is one, otherwise a double. The zero Number is the integer 0.
type Number struct {
	bits    uint64
	decimal bool
}

// Int returns an integer Number.
func Int(v int64) Number { return Number{bits: uint64(v)} }

// Float returns a double Number.
func Float(v float64) Number { return Number{bits: math.Float64bits(v), decimal: true} }

// IsInt reports whether the number is an integer.
func (n Number) IsInt() bool { return !n.decimal }

// Int returns the integer; a double is truncated.
func (n Number) Int() int64 {
	if n.decimal {
		return int64(math.Float64frombits(n.bits))
	}
	return int64(n.bits)
}

// Float returns the value as a double.
func (n Number) Float() float64 {
	if n.decimal {
		return math.Float64frombits(n.bits)
	}
	return float64(int64(n.bits))
}

// FlowSpace separates ids that look alike but mean different flows. It also says by which rules a flow is closed.
type FlowSpace uint8

const (
	// FlowV1 are Chrome's s, t and f events: identified by id, category and name, bound to a slice by time.
	FlowV1 FlowSpace = iota + 1
	// FlowV2 are Chrome's bind_id, flow_in and flow_out: identified by the id alone, bound to the event that carries them.
	FlowV2
	// FlowNative are Perfetto's flow ids: bound to the event that carries them, the latest slice of an id is the producer.
	FlowNative
	// FlowFirefox are the flow ids of Firefox's markers: bound to the marker that carries them. A flow is active from the
	// first marker with its id, whatever its role, to the first one that is a FlowEnd, its start counting; the next
	// marker with this id begins another flow. At one time the order of Event decides.
	FlowFirefox

	// FlowLink are the keys of links (AddLink): bound to the event that carries them, of several inputs, the earlier member leads
	// to the later one. A FlowEnd is a child of the span that the key names, and no arrow leads on from it.
	FlowLink

	// LastFlowSpace is the largest FlowSpace.
	LastFlowSpace = FlowLink
)

// FlowRole is the part that one end plays in its flow.
type FlowRole uint8

const (
	// FlowStart begins a flow (s, flow_out).
	FlowStart FlowRole = iota + 1
	// FlowContinue is the end of one arrow and the start of the next (t, flow_in and flow_out, Perfetto's flow_ids).
	FlowContinue
	// FlowEnd ends a flow (f, flow_in, Perfetto's terminating_flow_ids).
	FlowEnd
	// FlowServe is a child in FlowLink that serves a request: an answer comes from it.
	FlowServe
	// FlowReference is like FlowEnd in FlowLink, of an event that refers to the span that the key names.
	FlowReference
)

// FlowBinding says to which slice an end attaches.
type FlowBinding uint8

const (
	// BindCarrier attaches to the slice or instant of the same event (same Event index and Track).
	BindCarrier FlowBinding = iota + 1
	// BindEnclosing attaches to the innermost slice of the thread that contains the time (bp:"e").
	BindEnclosing
	// BindNext attaches to the next slice that starts on the thread.
	BindNext
	// BindNothing attaches to nothing, because the event that would carry the end was dropped or cannot carry one. Such a
	// start still ends the flow that had its id before.
	BindNothing
)

// FlowEvent is one end of a flow, handed to Builder.AddFlow. Its byte slices are not kept.
type FlowEvent struct {
	Space    FlowSpace
	Role     FlowRole
	Binding  FlowBinding
	Track    TrackID // the thread; for BindCarrier the track of the carrier
	Event    uint32  // as in Event
	Offset   int64
	TS       Nanos
	After    Nanos   // FlowNative: the flow passes its carrier at TS+After
	Fallback TrackID // FlowV1: where it shows if it binds to nothing; 0: on the track of RoleOther of Track

	ID       uint64 // numeric id
	IDText   []byte // an id that is not a number; ID is not used then
	Name     []byte // FlowV1 only
	Category []byte // FlowV1 only
}
