// Package resolved turns the items of a walk over a timeline into self-contained events. Each slice is one event, at its start,
// and includes the data from its end. Events have their nesting position, the names and ids of their track, arrows from and to
// other events, and stable numbers. trace.Events, the streams of package eventstream and weft export use its rows.
//
// What does not live here: output formats for events, and the selection of events (package selection).
package resolved

import (
	"context"
	"slices"
	"strconv"

	"github.com/weft-trace/weft/internal/timeline"
)

// Kind is the kind of an event, numbered as in weft.v1.
type Kind uint8

const (
	Slice   Kind = iota + 1 // an interval
	Instant                 // a point in time
	Counter                 // a value of a counter
	Sample                  // a call stack at a point in time
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

// ParseKind is the inverse of String; it returns false if there is no such kind.
func ParseKind(name string) (Kind, bool) {
	i := slices.Index(kindNames[:], name)
	return Kind(max(i, 0)), i > 0
}

// Row is one event. The row and all data that it refers to are valid only during the callback.
type Row struct {
	Kind Kind
	// Item is the item from the walk: times (Dur is timeline.NoTime for a slice without an end), name, category, value, stack,
	// position in the input, and the arguments and CPU time of the start.
	Item *timeline.Item

	// ID is the number of the event, from 1. Slices, instants and counter values are numbered first, in the order of the walk,
	// followed by samples in their order, and then by events that attribution added.
	ID     uint64
	Parent uint64 // ID of the enclosing slice on its track; 0: none
	Depth  int    // number of enclosing slices on its track

	Track *Track

	// EndArgs holds the arguments of a slice's end. They replace arguments of Item with the same key; Args merges both.
	EndArgs timeline.Args
	// ThreadDuration is the CPU time that the thread used during a slice.
	ThreadDuration timeline.CPUTime

	FlowsIn  []FlowIn // incoming arrows
	FlowsOut []uint64 // ids of the flows that continue from the event

	Contexts []Context // contexts in effect at the start of the event, if Options.Contexts is set

	tl *timeline.Timeline

	endArgs []timeline.Arg // buffers for Args
	endUsed []bool
}

// FlowIn is an incoming arrow.
type FlowIn struct {
	ID   uint64 // of the flow
	From uint64 // ID of the row where the arrow starts; that row comes earlier unless simultaneous events form a cycle
}

// Via is the source of an event's context, numbered as in weft.v1: 1 is "explicit".
type Via uint8

var viaNames = [...]string{"", "explicit", "args", "async", "flow", "request", "isolate", "descendants"}

// ParseVia returns the Via with the given name, or 0 if there is none.
func ParseVia(name string) Via { return Via(max(slices.Index(viaNames[:], name), 0)) }

// String returns the same name as attribution.Via.
func (v Via) String() string {
	if int(v) < len(viaNames) {
		return viaNames[v]
	}
	return "via " + strconv.Itoa(int(v))
}

// Context is a context for which an event worked; see attribution.Context.
type Context struct {
	Type       string
	ID         string // scope/id, with @pid if it is local; "" if several apply and have no common ancestor
	Name       string
	Via        Via
	Hops       int      // number of flow arrows along which the context was propagated
	Candidates []string // the identities to choose from, if there were several
}

// Options selects events and their data.
type Options struct {
	Kinds       []Kind                                  // nil: all
	Selected    func(*timeline.Item) bool               // nil: everything
	Contexts    func(ordinal uint64) ([]Context, error) // returns the contexts of slices and instants; nil: rows have none
	NoPositions bool                                    // omit the positions of events in the input
}

// Reader returns the rows of a timeline. It caches the data from the ends of slices for the next walk. It is not safe for
// concurrent use, but walks may be nested.
type Reader struct {
	tl     *timeline.Timeline
	ends   *sliceEnds // nil until the ends are collected, and while a walk uses them
	closed bool
}

// NewReader returns a reader for a nested timeline with resolved flows.
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

// Walk calls fn for the events that opts selects, in the order of timeline.Walk, and returns the number of events skipped. An
// error from fn stops the walk and is returned.
func (r *Reader) Walk(ctx context.Context, opts Options, fn func(*Row) error) (skipped uint64, err error) {
	if err := r.tl.NumberEvents(ctx); err != nil {
		return 0, err
	}
	ends, err := r.acquireEnds(ctx)
	if err != nil {
		return 0, err
	}
	defer r.releaseEnds(ends)
	w := walk{tl: r.tl, ends: ends, tracks: newTracks(r.tl), opts: opts, row: Row{tl: r.tl}, fn: fn}
	for kind := range w.wanted {
		w.wanted[kind] = opts.Kinds == nil || slices.Contains(opts.Kinds, Kind(kind))
	}
	w.nextSample = r.tl.EventCount() + 1
	w.nextAdded = w.nextSample + uint64(r.tl.Totals().Samples)
	err = timeline.WalkNested(ctx, r.tl, w.item)
	return w.skipped, err
}

// walk converts items to rows.
type walk struct {
	tl         *timeline.Timeline
	ends       *sliceEnds
	tracks     *tracks
	opts       Options
	wanted     [KindCount + 1]bool // by Kind
	skipped    uint64
	last       uint64 // ID of the last event that is neither a sample nor from an overlay; equals timeline.EventID, which is slower
	nextSample uint64 // ID of the next sample
	nextAdded  uint64 // ID of the next overlay event
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
		w.skipped++
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

// attach adds the data from the slice end, the flows and the contexts to a row.
func (w *walk) attach(row *Row) (err error) {
	if row.Kind == Slice {
		if err := w.ends.apply(row); err != nil {
			return err
		}
	}
	if w.opts.NoPositions {
		row.Item.Event, row.Item.Offset = 0, -1
	}
	row.setFlows(row.Item.Flows)
	row.Contexts = nil
	if w.opts.Contexts != nil && (row.Kind == Slice || row.Kind == Instant) && !row.Item.Added {
		row.Contexts, err = w.opts.Contexts(row.Item.Ordinal)
	}
	return err
}

// number returns the next ID for an event; samples and overlay events have sequences of their own.
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

// setFlows sets the arrows of an event.
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
