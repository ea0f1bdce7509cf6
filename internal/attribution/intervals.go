package attribution

import (
	"cmp"

	"github.com/weft-trace/weft/internal/collections"
	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/timeline"
)

// Interval is a time in which one context of a type is in effect on a busy thread.
type Interval struct {
	From, To timeline.Nanos
	Thread   timeline.TrackID
	Node     NodeID
	Snapshot SnapshotID // the state in which it is meant
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

// intervals collects the intervals of all threads and types; neighbours with the same context are one, unless it is called
// something else.
type intervals struct {
	c      *Catalogue
	sets   *Sets
	Sorted *extsort.Sorter[Interval]
	Used   map[IntervalTrack]bool
	room   int    // for how many more there is, see maxIntervals
	full   uint64 // how many had none
	err    error
}

// Limits of intervals: so many for each slice of a thread, and some more. Long recordings have one for every five slices.
// Where many contexts hold all the time and a thread rests between its slices, every slice would make one of each type. Left out at
// one time are the types that came last; costs count them.
const (
	MaxIntervals      = 1 << 16
	IntervalsPerSlice = 4
)

// IntervalTrack is a thread and a type.
type IntervalTrack struct {
	Thread timeline.TrackID
	Type   TypeID
}

// shownThread is the latest interval of every type on a thread.
type shownThread struct {
	open  []Interval // by type
	last  []Interval // the ones before, whose memory is used again
	set   SetID      // that they are of
	until timeline.Nanos
	valid bool
}

func newIntervals(c *Catalogue, s *Sets, memory int64, dir string) *intervals {
	return &intervals{
		c: c, sets: s, Sorted: extsort.New(intervalOrder, memory, dir), Used: map[IntervalTrack]bool{},
		room: MaxIntervals,
	}
}

// slice makes room for what a slice may add.
func (v *intervals) slice() { v.room += IntervalsPerSlice }

// extend extends the intervals of a thread by a time in which a set is in effect.
func (v *intervals) extend(w *thread, set SetID, from, to timeline.Nanos) {
	sh := &w.account.shown
	if sh.valid && sh.set == set && sh.until == from {
		sh.until = to
		return
	}
	open, now := sh.last[:0], v.sets.Lists.At(uint32(set))
	for _, i := range sh.open {
		for len(now) > 0 && v.sets.Members[now[0]].Type < i.Type {
			open, now = v.appendShown(open, now[0], w.id, from), now[1:]
		}
		if len(now) > 0 && v.sets.Members[now[0]].Type == i.Type {
			if sh.until == from && v.sameShown(&v.sets.Members[now[0]], &i) {
				open, now = append(open, i), now[1:]
				continue
			}
			open, now = v.appendShown(open, now[0], w.id, from), now[1:]
		}
		i.To = sh.until
		v.write(i)
	}
	for _, id := range now {
		open = v.appendShown(open, id, w.id, from)
	}
	sh.open, sh.last = open, sh.open
	sh.set, sh.until, sh.valid = set, to, true
}

// appendShown appends an interval that begins with an entry, unless it has no context.
func (v *intervals) appendShown(open []Interval, id memberID, thread timeline.TrackID, from timeline.Nanos) []Interval {
	e := &v.sets.Members[id]
	if e.Node == 0 {
		return open
	}
	return append(open, Interval{From: from, Thread: thread, Node: e.Node, Snapshot: e.Snapshot, Type: e.Type})
}

// sameShown reports whether an entry is of the context of an interval, under the same name.
func (v *intervals) sameShown(e *Member, i *Interval) bool {
	if v.c.LogicalOf(e.Node) != v.c.LogicalOf(i.Node) {
		return false
	}
	return e.Node == i.Node && e.Snapshot == i.Snapshot || v.c.LabelOf(e.Node, e.Snapshot) == v.c.LabelOf(i.Node, i.Snapshot)
}

// finish writes what is open on a thread at the end.
func (v *intervals) finish(w *thread) {
	for _, i := range w.account.shown.open {
		i.To = w.account.shown.until
		v.write(i)
	}
}

func (v *intervals) write(i Interval) {
	switch {
	case v.err != nil || i.To <= i.From:
	case v.room == 0:
		v.full++
	default:
		v.room--
		v.Used[IntervalTrack{i.Thread, i.Type}] = true
		v.err = v.Sorted.Add(i)
	}
}
