package attribution

import (
	"cmp"

	"github.com/weft-trace/weft/internal/collections"
	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/timeline"
)

// Interval is a period in which one context of a type is in effect on a busy thread.
type Interval struct {
	From, To timeline.Nanos
	Thread   timeline.TrackID
	Node     NodeID
	Snapshot SnapshotID // the state of the context
	Type     TypeID
}

var intervalOrder = extsort.Order[Interval]{
	Compare: compareIntervals,
	Key:     func(i *Interval) uint64 { return collections.RadixKey(int64(i.From)) },
}

// compareIntervals sorts by start, then by thread and type.
func compareIntervals(a, b *Interval) int {
	return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.Type, b.Type))
}

// intervals collects the intervals of all threads and types. It joins neighbours with the same context and name.
type intervals struct {
	c       *Catalogue
	sets    *Sets
	Sorted  *extsort.Sorter[Interval]
	Used    map[IntervalTrack]bool
	free    int    // number of intervals that can still be added, see MaxIntervals
	dropped uint64 // number of intervals beyond the limit
	err     error
}

// Limits on the number of intervals: IntervalsPerSlice for each slice of a thread, plus MaxIntervals. Long recordings have
// one interval per five slices. Without a limit, a thread that pauses between slices, with contexts of many types always in
// effect, would add an interval of each type for every slice. Among simultaneous types, the last ones are dropped; costs
// still count them.
const (
	MaxIntervals      = 1 << 16
	IntervalsPerSlice = 4
)

// IntervalTrack is a thread and a type.
type IntervalTrack struct {
	Thread timeline.TrackID
	Type   TypeID
}

// threadIntervals holds the latest interval of every type on a thread.
type threadIntervals struct {
	open  []Interval // by type
	last  []Interval // the previous intervals; their memory is reused
	set   SetID      // set of the open intervals
	until timeline.Nanos
	valid bool
}

func newIntervals(c *Catalogue, s *Sets, memory int64, dir string) *intervals {
	return &intervals{
		c: c, sets: s, Sorted: extsort.New(intervalOrder, memory, dir), Used: map[IntervalTrack]bool{},
		free: MaxIntervals,
	}
}

// raiseLimit raises the limit for a slice.
func (v *intervals) raiseLimit() { v.free += IntervalsPerSlice }

// extend extends the intervals of a thread by a period in which a set is in effect.
func (v *intervals) extend(w *thread, set SetID, from, to timeline.Nanos) {
	th := &w.account.intervals
	if th.valid && th.set == set && th.until == from {
		th.until = to
		return
	}
	open, members := th.last[:0], v.sets.Lists.At(uint32(set))
	for _, i := range th.open {
		for len(members) > 0 && v.sets.Members[members[0]].Type < i.Type {
			open, members = v.appendInterval(open, members[0], w.id, from), members[1:]
		}
		if len(members) > 0 && v.sets.Members[members[0]].Type == i.Type {
			if th.until == from && v.continues(&v.sets.Members[members[0]], &i) {
				open, members = append(open, i), members[1:]
				continue
			}
			open, members = v.appendInterval(open, members[0], w.id, from), members[1:]
		}
		i.To = th.until
		v.write(i)
	}
	for _, id := range members {
		open = v.appendInterval(open, id, w.id, from)
	}
	th.open, th.last = open, th.open
	th.set, th.until, th.valid = set, to, true
}

// appendInterval appends an interval that starts with an entry, unless the entry has no context.
func (v *intervals) appendInterval(open []Interval, id memberID, thread timeline.TrackID, from timeline.Nanos) []Interval {
	e := &v.sets.Members[id]
	if e.Node == 0 {
		return open
	}
	return append(open, Interval{From: from, Thread: thread, Node: e.Node, Snapshot: e.Snapshot, Type: e.Type})
}

// continues reports whether an entry has the same context and name as an interval.
func (v *intervals) continues(e *Member, i *Interval) bool {
	if v.c.LogicalOf(e.Node) != v.c.LogicalOf(i.Node) {
		return false
	}
	return e.Node == i.Node && e.Snapshot == i.Snapshot || v.c.LabelOf(e.Node, e.Snapshot) == v.c.LabelOf(i.Node, i.Snapshot)
}

// finish writes the open intervals of a thread at the end of the trace.
func (v *intervals) finish(w *thread) {
	for _, i := range w.account.intervals.open {
		i.To = w.account.intervals.until
		v.write(i)
	}
}

func (v *intervals) write(i Interval) {
	switch {
	case v.err != nil || i.To <= i.From:
	case v.free == 0:
		v.dropped++
	default:
		v.free--
		v.Used[IntervalTrack{i.Thread, i.Type}] = true
		v.err = v.Sorted.Add(i)
	}
}
