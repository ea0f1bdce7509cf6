// Package flowindex navigates the flows in a trace: an Index finds them by input id, by time and by slice, and follows the
// connections between them.
//
// What does not live here: determining the slices that a flow connects (package flowbind), and the public API of the index
// (package flow).
package flowindex

import (
	"cmp"
	"context"
	"errors"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/flowbind"
	"github.com/weft-trace/weft/internal/timeline"
)

// Index finds the flows in a trace by input id (which the output replaces), by time and by slice, and the flows connected to a
// flow. Its flows are the flows in the input. If the output must write a flow with several ids, because one slice leads to
// several others, it is still one flow here. Flows with a single slice are included.
//
// An Index needs about 200 bytes for each flow end, and uses temporary files beyond the timeline's memory budget. It must be
// closed before the trace is, and is not safe for concurrent use.
type Index struct {
	t           *timeline.Timeline
	flows       *extsort.Sorted[flowRow]
	members     *extsort.Sorted[Member]     // by flow
	memberships *extsort.Sorted[membership] // by slice
	inner       *extsort.Sorted[nesting]
	outer       *extsort.Sorted[nesting]
}

// Flow is one flow in the input: from the start of its id to its end, or to the next start with the same id.
type Flow struct {
	Number int    // index in its Index
	Kind   string // kind of the id: "event" or "bind_id" (both from Chrome), "perfetto", "firefox" or "link"
	ID     string // id in the input, in the form that Index.Find accepts; ids can be reused

	// Name and Category come from the flow's events. Only flows of kind "event" have them; for such flows, they are part of the
	// id.
	Name, Category string

	Start   timeline.Nanos // start of the id
	End     timeline.Nanos // latest end among the members that end
	Ended   bool           // the input ends the flow; otherwise, the id is active to the end of the trace
	Members int            // number of slices and instants, at least 1; repeated visits count again
	Threads int            // number of the members' threads or other tracks

	Processes int // number of the members' processes; all members without a process count as one

	first int // index of the first member in Index.members
}

// flowKinds maps flow spaces to the names of id kinds.
var flowKinds = map[timeline.FlowSpace]string{
	timeline.FlowV1: "event", timeline.FlowV2: "bind_id", timeline.FlowNative: "perfetto", timeline.FlowFirefox: "firefox",
	timeline.FlowLink: "link",
}

// Member is a slice or instant as a member of a flow.
type Member struct {
	Flow     int // number of the flow
	N        int // index in the flow, from 0, in flow order
	Previous int // N of the member that the flow comes from; -1 for the first

	Ordinal uint64         // of the slice or instant, see timeline.Item
	Event   uint32         // index of the member's event in the input
	TS, End timeline.Nanos // of the slice; equal for an instant. End is NoTime if the slice never ends
	At      timeline.Nanos // time at which the flow passes: for Chrome's s, t and f, it can be inside the slice
	Track   timeline.TrackID
	Lane    uint32
}

// flowRow is a stored Flow; its number is its index.
type flowRow struct {
	flowbind.Key
	start, end     timeline.Nanos
	first          uint64
	count, threads uint32
	processes      uint32
	ended          bool
}

// membership is a slice's membership in a flow.
type membership struct {
	ordinal uint64
	ts, end timeline.Nanos
	flow    uint64
	track   timeline.TrackID
	lane, n uint32
}

// NewIndex creates the index of a resolved timeline. Flows can always be found by text id, but Flow.ID contains that text only if
// convert.Options.KeepFlowIDs was set.
func NewIndex(ctx context.Context, t *timeline.Timeline) (*Index, error) {
	x := newIndexer(t)
	defer x.close()
	if err := flowbind.Visit(ctx, t, x); err != nil {
		return nil, err
	}
	if x.err != nil {
		return nil, x.err
	}
	return x.finish(ctx)
}

// Close frees the index's memory and removes its temporary files.
func (x *Index) Close() error {
	return errors.Join(x.flows.Close(), x.members.Close(), x.memberships.Close(), x.inner.Close(), x.outer.Close())
}

// indexer is the flowbind.Visitor that collects the flows.
type indexer struct {
	t           *timeline.Timeline
	flows       *extsort.Sorter[flowRow]
	members     *extsort.Sorter[Member]
	memberships *extsort.Sorter[membership]
	inner       *extsort.Sorter[nesting]
	outer       *extsort.Sorter[nesting]
	err         error

	number    int    // of the current flow
	total     uint64 // number of members so far
	row       flowRow
	last      Member
	producer  Member
	threads   map[timeline.TrackID]bool
	processes map[timeline.TrackID]bool
}

// inOrder returns the order for values that are added in sorted order.
func inOrder[T any]() extsort.Order[T] {
	return extsort.Order[T]{Compare: func(_, _ *T) int { return 0 }}
}

func newIndexer(t *timeline.Timeline) *indexer {
	memory, dir := t.Memory()/16, t.TempDir()
	return &indexer{
		t:           t,
		flows:       extsort.New(inOrder[flowRow](), memory, dir),
		members:     extsort.New(inOrder[Member](), memory, dir),
		memberships: extsort.New(membershipOrder, memory, dir),
		inner:       extsort.New(inOrder[nesting](), memory, dir),
		outer:       extsort.New(extsort.Order[nesting]{Compare: compareOuter}, memory, dir),
		threads:     map[timeline.TrackID]bool{}, processes: map[timeline.TrackID]bool{},
	}
}

// Begin implements flowbind.Visitor.
func (x *indexer) Begin(key flowbind.Key, at timeline.Nanos, s *flowbind.Slice) {
	x.row = flowRow{Key: key, start: at, end: s.TS, first: x.total}
	clear(x.threads)
	clear(x.processes)
	x.last = Member{N: -1}
	x.add(at, s, -1)
	x.producer = x.last
}

// Follow implements flowbind.Visitor.
func (x *indexer) Follow(at timeline.Nanos, s *flowbind.Slice, from uint64) {
	if from == x.last.Ordinal {
		x.producer = x.last
	}
	x.add(at, s, x.producer.N)
}

// Join implements flowbind.Visitor.
func (x *indexer) Join(at timeline.Nanos, s *flowbind.Slice) {
	if x.last.Ordinal != s.Ordinal {
		x.add(at, s, x.last.N)
	}
}

func (x *indexer) add(at timeline.Nanos, s *flowbind.Slice, previous int) {
	x.last = Member{
		Flow: x.number, N: x.last.N + 1, Previous: previous, Ordinal: s.Ordinal, Event: s.Event,
		TS: s.TS, End: s.End, At: at, Track: s.Track, Lane: s.Lane,
	}
	x.total++
	x.row.count++
	x.row.end = max(x.row.end, s.TS, s.End) // NoTime is less than any other time
	x.threads[cmp.Or(x.t.Above(s.Track, timeline.ThreadTrack), s.Track)] = true
	x.processes[x.t.Above(s.Track, timeline.ProcessTrack)] = true
	x.fail(x.members.Add(x.last))
	x.fail(x.memberships.Add(membership{
		ordinal: s.Ordinal, ts: s.TS, end: s.End, flow: uint64(x.number), track: s.Track, lane: s.Lane, n: uint32(x.last.N),
	}))
}

// End implements flowbind.Visitor.
func (x *indexer) End(ended bool) {
	x.row.threads, x.row.processes, x.row.ended = uint32(len(x.threads)), uint32(len(x.processes)), ended
	x.fail(x.flows.Add(x.row))
	x.number++
}

// fail records the first error.
func (x *indexer) fail(err error) {
	if x.err == nil {
		x.err = err
	}
}

// finish sorts the collected flows, determines the nesting of their slices and returns the Index.
func (x *indexer) finish(ctx context.Context) (_ *Index, err error) {
	out := &Index{t: x.t}
	defer func() {
		if err != nil {
			err = errors.Join(err, out.Close())
		}
	}()
	if out.flows, err = x.flows.Sort(); err != nil {
		return nil, err
	}
	if out.members, err = x.members.Sort(); err != nil {
		return nil, err
	}
	if out.memberships, err = x.memberships.Sort(); err != nil {
		return nil, err
	}
	if err = x.nest(ctx, out.memberships); err != nil {
		return nil, err
	}
	if out.inner, err = x.inner.Sort(); err != nil {
		return nil, err
	}
	out.outer, err = x.outer.Sort()
	return out, err
}

// close frees everything that finish has not moved to the Index.
func (x *indexer) close() {
	x.flows.Close()
	x.members.Close()
	x.memberships.Close()
	x.inner.Close()
	x.outer.Close()
}

var membershipOrder = extsort.Order[membership]{Compare: compareMemberships}

func compareMemberships(a, b *membership) int {
	return cmp.Or(cmp.Compare(a.ordinal, b.ordinal), cmp.Compare(a.flow, b.flow), cmp.Compare(a.n, b.n))
}
