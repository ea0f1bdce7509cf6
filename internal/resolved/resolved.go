// Package resolved makes events that are complete in themselves of what a walk over a timeline gives: a slice once, at its start,
// with what its end brings; with its place in the nesting, its track as names and ids, its flows as arrows between events, and a
// number that is the same whoever asks. trace.Events, the streams of package eventstream and weft export are made of its rows.
//
// What does not live here: any form in which events are written, and what selects them (package selection).
package resolved

import (
	"context"
	"slices"
	"strconv"

	"github.com/weft-trace/weft/internal/timeline"
)

// Kind says what an event is, numbered as in weft.v1.
type Kind uint8

// The kinds of events.
const (
	Slice   Kind = iota + 1 // an interval
	Instant                 // a point in time
	Counter                 // a counter has a value
	Sample                  // a call stack was seen
)

// KindCount is the number of kinds; kinds count from 1.
const KindCount = 4

var kinds = [...]Kind{timeline.ItemBegin: Slice, timeline.ItemEnd: 0, timeline.ItemInstant: Instant, timeline.ItemCounter: Counter, timeline.ItemSample: Sample}

var kindNames = [...]string{Slice: "slice", Instant: "instant", Counter: "counter", Sample: "sample"}

// String returns "slice", "instant", "counter" or "sample".
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "kind " + strconv.Itoa(int(k))
}

// ParseKind is the inverse of String; false if there is no such kind.
func ParseKind(name string) (Kind, bool) {
	i := slices.Index(kindNames[:], name)
	return Kind(max(i, 0)), i > 0
}

// Row is one event. It and all that it points to are valid during the call that gets it.
type Row struct {
	Kind Kind
	// Item is the event as the walk gives it: its times (Dur is timeline.NoTime for a slice that never ends), name, category,
	// value, stack and place in the input, and the arguments and the CPU time of its start.
	Item *timeline.Item

	// ID is the number of the event, from 1 on: slices, instants and counter values are numbered in the order of the walk. Samples
	// are numbered after everything else, in their order, and what attribution added after these.
	ID     uint64
	Parent uint64 // ID of the slice around the event on its track; 0: there is none
	Depth  int    // the number of slices around the event on its track

	// Track is the track of the event.
	Track *Track

	// EndArgs are the arguments of the end of a slice: they replace the arguments of Item with the same key. Args gives
	// both together.
	EndArgs timeline.Args
	// ThreadDuration is the CPU time that the thread used during a slice.
	ThreadDuration timeline.CPUTime

	FlowsIn  []FlowIn // the arrows that lead to the event
	FlowsOut []uint64 // the ids of the flows that lead on from it

	Contexts []Context // in effect when the event began, if Options asks for them

	tl *timeline.Timeline

	endArgs []timeline.Arg // for Args
	endUsed []bool
}

// FlowIn is an arrow that leads to an event.
type FlowIn struct {
	ID   uint64 // of the flow
	From uint64 // ID of the row from which it comes; that row came before, unless flows lead in a circle at one time
}

// Via says how a context came to an event, numbered as in weft.v1: 1 is "explicit".
type Via uint8

var viaNames = [...]string{"", "explicit", "args", "async", "flow", "request", "isolate", "descendants"}

// ParseVia returns the Via with a name; 0 if there is none.
func ParseVia(name string) Via { return Via(max(slices.Index(viaNames[:], name), 0)) }

// String returns the name, as attribution.Via has it.
func (v Via) String() string {
	if int(v) < len(viaNames) {
		return viaNames[v]
	}
	return "via " + strconv.Itoa(int(v))
}

// Context is for whom an event worked, as attribution.Context has it.
type Context struct {
	Type       string
	ID         string // scope/id, with @pid if it is local; "" if several apply and have no common ancestor
	Name       string
	Via        Via
	Hops       int      // the number of arrows over which it came
	Candidates []string // the identities that applied at one level, if there was more than one
}

// Options say which events a walk gives and what is known of them. They change no event.
type Options struct {
	Kinds    []Kind                                  // nil: all
	Selected func(*timeline.Item) bool               // nil: everything
	Contexts func(ordinal uint64) ([]Context, error) // of slices and instants; nil: rows have none
	NoPlaces bool                                    // rows do not say where events are in the input
}

// Reader gives the rows of a timeline. What it finds out about the ends of slices is kept for the next walk. It is not safe for
// concurrent use, but a walk may run inside another one.
type Reader struct {
	tl     *timeline.Timeline
	ends   *sliceEnds // nil until they are collected, and while a walk reads them
	closed bool
}

// NewReader returns a reader of a timeline that is nested and has its flows.
func NewReader(tl *timeline.Timeline) *Reader { return &Reader{tl: tl} }

// Close removes temporary files, but does not close the timeline.
func (r *Reader) Close() error {
	r.closed = true
	if r.ends == nil {
		return nil
	}
	err := r.ends.close()
	r.ends = nil
	return err
}

// Walk calls fn for the events that opts select, in the order of timeline.Walk, and returns how many it left out. An error of fn
// ends the walk and is returned.
func (r *Reader) Walk(ctx context.Context, opts Options, fn func(*Row) error) (leftOut uint64, err error) {
	if err := r.tl.NumberEvents(ctx); err != nil {
		return 0, err
	}
	ends, err := r.takeEnds(ctx)
	if err != nil {
		return 0, err
	}
	defer r.putEnds(ends)
	w := walk{tl: r.tl, ends: ends, tracks: newTracks(r.tl), opts: opts, row: Row{tl: r.tl}, fn: fn}
	for kind := range w.wanted {
		w.wanted[kind] = opts.Kinds == nil || slices.Contains(opts.Kinds, Kind(kind))
	}
	w.nextSample = r.tl.EventCount() + 1
	w.nextAdded = w.nextSample + uint64(r.tl.Totals().Samples)
	err = timeline.WalkNested(ctx, r.tl, w.item)
	return w.leftOut, err
}

// walk makes rows of items.
type walk struct {
	tl         *timeline.Timeline
	ends       *sliceEnds
	tracks     *tracks
	opts       Options
	wanted     [KindCount + 1]bool // by Kind
	leftOut    uint64
	last       uint64 // ID of the last event that is neither a sample nor of an overlay: timeline.EventID, without asking for it
	nextSample uint64 // ID of the next sample
	nextAdded  uint64 // ID of the next event of an overlay
	row        Row
	fn         func(*Row) error
}

func (w *walk) item(it *timeline.Item, open *timeline.OpenSlices[uint64]) error {
	if it.Kind == timeline.ItemEnd {
		return nil
	}
	id, depth, kind := w.number(it), open.Len(), kinds[it.Kind]
	if kind == Slice {
		depth--
		*open.Innermost() = id
	}
	if !w.wanted[kind] || w.opts.Selected != nil && !w.opts.Selected(it) {
		w.leftOut++
		return nil
	}
	row := &w.row
	row.Item, row.Kind, row.ID, row.Parent, row.Depth = it, kind, id, 0, depth
	row.Track = w.tracks.at(it.Track, it.Lane)
	if depth > 0 {
		row.Parent = *open.At(depth - 1)
	}
	row.EndArgs, row.ThreadDuration = nil, it.ThreadDuration
	if err := w.attach(row); err != nil {
		return err
	}
	return w.fn(row)
}

// attach gives a row what is known of it elsewhere.
func (w *walk) attach(row *Row) (err error) {
	if row.Kind == Slice {
		if err := w.ends.apply(row); err != nil {
			return err
		}
	}
	if w.opts.NoPlaces {
		row.Item.Event, row.Item.Offset = 0, -1
	}
	row.setFlows(row.Item.Flows)
	row.Contexts = nil
	if w.opts.Contexts != nil && (row.Kind == Slice || row.Kind == Instant) && !row.Item.Added {
		row.Contexts, err = w.opts.Contexts(row.Item.Ordinal)
	}
	return err
}

// number returns the ID of an event.
func (w *walk) number(it *timeline.Item) uint64 {
	switch {
	case it.Kind == timeline.ItemSample:
		w.nextSample++
		return w.nextSample - 1
	case it.Added:
		w.nextAdded++
		return w.nextAdded - 1
	}
	w.last++
	return w.last
}

// setFlows makes arrows of the flows of an event.
func (r *Row) setFlows(flows []timeline.FlowRef) {
	r.FlowsIn, r.FlowsOut = r.FlowsIn[:0], r.FlowsOut[:0]
	for i := range flows {
		f := &flows[i]
		if f.Previous != timeline.NoOrdinal {
			r.FlowsIn = append(r.FlowsIn, FlowIn{ID: f.ID, From: r.tl.EventID(f.Previous)})
		}
		if !f.Terminating {
			r.FlowsOut = append(r.FlowsOut, f.ID)
		}
	}
}
