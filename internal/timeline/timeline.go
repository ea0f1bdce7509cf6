// Package timeline stores a trace in memory or on disk, independently of any file format: tracks, interned text, and records in
// time order.
//
// A reader fills a Builder in input order. Builder.Finish sorts the records by time (those beyond the memory budget are sorted in
// runs on disk and merged) and returns a Timeline. Timeline.Nest pairs begins with ends and assigns a lane to every slice;
// package flowbind binds flow steps to slices. Timeline.Walk then returns the resolved events in the order that Perfetto traces
// require: ends before begins, parents before children, producers of flows before their consumers.
//
// What does not live here: several inputs in one timeline (package merge), and anything specific to an input format (package load
// and below) or to Perfetto packets (package pfwire). The only exception is arguments: the reader encodes them once, in the form
// that they keep up to the output (see Args).
package timeline

import (
	"math"
	"time"
)

// Nanos is a point in time or a duration in nanoseconds. The input defines the origin of time.
type Nanos int64

// Duration converts n to a time.Duration.
func (n Nanos) Duration() time.Duration { return time.Duration(n) }

// String formats n like a time.Duration: 4ms, 1.5µs.
func (n Nanos) String() string { return n.Duration().String() }

// Microsecond is the time unit of many formats.
const Microsecond Nanos = 1000

// NoTime means an unknown time: the end of a slice that never ends, or the thread time of an event without one.
const NoTime Nanos = math.MinInt64

// NameID identifies an interned event name; 0: no name.
type NameID uint32

// CategoryID identifies an interned category text, as written in the input ("a, b"); 0: no category.
type CategoryID uint32

// KeyID identifies an interned argument name.
type KeyID uint32

// TrackID identifies a track; 0 is the root, which represents the whole trace.
type TrackID uint32

// CallstackID identifies an interned call stack; 0: no stack.
type CallstackID uint32

// FrameID identifies an interned stack frame; 0: no frame.
type FrameID uint32

// Kind is the kind of an event passed to Builder.Add.
type Kind uint8

// The kinds of events.
const (
	// Slice is an interval with a known end: TS and Dur.
	Slice Kind = iota + 1
	// Begin opens a slice on its track; an End on the same track closes it. On an async track, the End may come from another
	// process, see AsyncID.
	Begin
	// End closes the innermost open Begin on its track with the same name and category. An empty Name or Category matches any.
	End
	// Instant is a point in time.
	Instant
	// Counter is a value on a counter track.
	Counter
	// Sample is a call stack sampled at a point in time on a thread.
	Sample

	// FlowStep is one end of a flow. AddFlow creates it; it is never passed to Add.
	FlowStep
	dropped // by a pass
)

// Event is an event for Builder.Add, which does not retain its byte slices.
type Event struct {
	Kind  Kind
	Track TrackID

	// Event is the event's index in the input's event list, and Offset its byte offset in the unpacked input. The index orders
	// simultaneous events, so it must never decrease from call to call, except that slices on one track may be added in the order
	// in which they end. Records from the same event share the index.
	Event  uint32
	Offset int64

	TS  Nanos // at least 0
	Dur Nanos // Slice only; at least 0. The end is limited to the maximum Nanos

	// ThreadTS is the CPU time of the thread at TS (Slice, Begin, End, Instant), and ThreadDur the CPU time that a Slice used.
	// Both are for thread tracks only.
	ThreadTS, ThreadDur CPUTime

	Name     []byte // UTF-8; empty: no name. Sample: what the weight counts, such as "cycles"
	Category []byte // the category list as written in the input
	Args     Args   // encoded by the Builder's ArgsEncoder

	Screenshot []byte // a picture of the screen at TS, as a JPEG; for a Slice, Begin or Instant

	// Template, if not 0, replaces the Name, Category, Args and CPU times of a Slice, see Builder.Template. Numbers holds the
	// values for the template's keys.
	Template TemplateID
	Numbers  [2]int64

	// Sampling is for Timeline.Extend; it applies to slices, begins and instants.
	Sampling Sampling

	// InOrder keeps a Slice at its position among simultaneous starts on its track: earlier starts without length are not moved
	// after it. The Slice behaves like a Begin that needs no End.
	InOrder bool

	// Task marks a Slice or Begin as one of the tasks that a thread runs one after another. A Begin without an End ends where the
	// next task of the same name begins, or with the last slice inside it.
	Task bool

	// LoopTask marks a Slice or Begin as an event-loop task of its thread, or of the thread above its track: until the task ends,
	// it delays everything else that waits for the thread. See Timeline.LongTasks.
	LoopTask bool

	// Idle marks an inactive Slice or Begin on a track of states, or a Sample of a thread that was waiting for work. Files store
	// these in a form that only weft reads, so that viewers show a gap and flame graphs show only work.
	Idle bool
	// DidNotEnd marks a Begin without an End in the original recording: see Head.DidNotEnd. Only traces written by weft use it.
	DidNotEnd bool

	// KeepEnd marks an End that deletes an object (chrome-json.md 17). If the End has no Begin, it becomes an instant; its
	// category may differ from the Begin's category.
	KeepEnd bool

	Value     Number      // Counter: the value. Sample: the weight
	CPU       CPU         // Sample: the processor that ran the thread
	Callstack CallstackID // Slice, Begin, Instant: the stack at its start; End: at its end; Sample: the sample
}

// CPUTime is a thread's CPU time, which can be 0. The zero CPUTime means unknown.
type CPUTime struct{ sinceNoTime Nanos }

// NewCPUTime converts a time to a CPUTime; NoTime becomes the unknown CPUTime.
func NewCPUTime(t Nanos) CPUTime { return CPUTime{t - NoTime} }

// Nanos returns the time, or NoTime and false if it is unknown.
func (t CPUTime) Nanos() (ns Nanos, ok bool) { return t.sinceNoTime + NoTime, t.sinceNoTime != 0 }

// CPU is a processor. The zero CPU means unknown.
type CPU struct{ plusOne int64 }

// NewCPU returns the processor with the given number.
func NewCPU(number uint32) CPU { return CPU{int64(number) + 1} }

// Number returns the number of the processor, or false if it is unknown.
func (c CPU) Number() (n uint32, ok bool) { return uint32(c.plusOne - 1), c.plusOne > 0 }

// Number is the value of a counter: an integer or a double. The zero Number is the integer 0.
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

// FlowSpace separates equal ids of unrelated flows. It also determines how a flow ends.
type FlowSpace uint8

const (
	// FlowV1 is for Chrome's s, t and f events, which are identified by id, category and name, and bound to a slice by time.
	FlowV1 FlowSpace = iota + 1
	// FlowV2 is for Chrome's bind_id, flow_in and flow_out, which are identified by the id alone and bound to the event with the
	// id.
	FlowV2
	// FlowNative is for Perfetto flow ids, which are bound to the event with the id; the latest slice with an id is the producer.
	FlowNative
	// FlowFirefox is for the flow ids of Firefox markers, which are bound to the marker with the id. In the order of start times,
	// a flow extends from the first marker with its id, whatever that marker's role, to the first FlowEnd. The next marker with
	// this id starts another flow. Event orders simultaneous markers.
	FlowFirefox

	// FlowLink is for the keys of links (AddLink) between inputs, which are bound to the event with the key; the earlier member
	// leads to the later one. A FlowEnd is a child of the span that the key names, and starts no arrow.
	FlowLink

	// LastFlowSpace is the largest FlowSpace.
	LastFlowSpace = FlowLink
)

// FlowRole is the role of a flow end in its flow.
type FlowRole uint8

const (
	// FlowStart begins a flow (s, flow_out).
	FlowStart FlowRole = iota + 1
	// FlowContinue is the end of one arrow and the start of the next (t, flow_in with flow_out, Perfetto's flow_ids).
	FlowContinue
	// FlowEnd ends a flow (f, flow_in, Perfetto's terminating_flow_ids).
	FlowEnd
	// FlowServe is, in FlowLink, a child that serves a request: the response comes from it.
	FlowServe
	// FlowReference is, in FlowLink, like FlowEnd but for an event that refers to the span named by the key.
	FlowReference
)

// FlowBinding determines to which slice a flow end is bound.
type FlowBinding uint8

const (
	// BindCarrier binds to the slice or instant of the same event (same Event index and Track).
	BindCarrier FlowBinding = iota + 1
	// BindEnclosing binds to the innermost of the thread's slices that contain the time (bp:"e").
	BindEnclosing
	// BindNext binds to the next slice that starts on the thread.
	BindNext
	// BindNothing binds to nothing, because the carrier was dropped or cannot carry a flow end. A start with this binding still
	// ends the earlier flow with the same id.
	BindNothing
)

// FlowEvent is one end of a flow for Builder.AddFlow, which does not retain its byte slices.
type FlowEvent struct {
	Space    FlowSpace
	Role     FlowRole
	Binding  FlowBinding
	Track    TrackID // the thread; for BindCarrier, the carrier's track
	Event    uint32  // as in Event
	Offset   int64
	TS       Nanos
	After    Nanos   // FlowNative: the flow passes its carrier at TS+After
	Fallback TrackID // FlowV1: the track to use if the flow end binds to nothing; 0: the track with RoleOther below Track

	ID       uint64 // numeric id
	IDText   []byte // an id that is not a number; replaces ID
	Name     []byte // FlowV1 only
	Category []byte // FlowV1 only
}
