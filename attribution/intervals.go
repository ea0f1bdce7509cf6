package attribution

import (
	"cmp"
	"encoding/binary"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/radix"
	"github.com/weft-trace/weft/internal/timeline"
)

// interval is a time in which one context of a type is in effect on a busy thread.
type interval struct {
	from, to timeline.Nanos
	thread   timeline.TrackID
	node     NodeID
	snapshot snapshotID // the state in which it is meant
	typ      TypeID
}

var intervalCodec = extsort.Codec[interval]{
	Size: 30,
	Key:  func(i *interval) uint64 { return radix.KeyOf(int64(i.from)) },
	Put: func(b []byte, i *interval) {
		le := binary.LittleEndian
		_ = b[29]
		le.PutUint64(b, uint64(i.from))
		le.PutUint64(b[8:], uint64(i.to))
		le.PutUint32(b[16:], uint32(i.thread))
		le.PutUint32(b[20:], uint32(i.node))
		le.PutUint16(b[24:], uint16(i.typ))
		le.PutUint32(b[26:], uint32(i.snapshot))
	},
	Get: func(b []byte, i *interval) {
		le := binary.LittleEndian
		_ = b[29]
		*i = interval{
			from: timeline.Nanos(le.Uint64(b)), to: timeline.Nanos(le.Uint64(b[8:])),
			thread: timeline.TrackID(le.Uint32(b[16:])), node: NodeID(le.Uint32(b[20:])), typ: TypeID(le.Uint16(b[24:])),
			snapshot: snapshotID(le.Uint32(b[26:])),
		}
	},
}

// compareIntervals sorts by begin, then by thread and type.
func compareIntervals(a, b *interval) int {
	return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.thread, b.thread), cmp.Compare(a.typ, b.typ))
}

// intervals collects the intervals of all threads and types; neighbours with the same context are one, unless it is called
// something else.
type intervals struct {
	c      *catalogue
	sets   *sets
	sorted *extsort.Sorter[interval]
	used   map[intervalTrack]bool
	room   int    // for how many more there is, see maxIntervals
	full   uint64 // how many had none
	err    error
}

// Limits of intervals: so many for each slice of a thread, and some more. Long recordings have one for every five slices.
// Where many contexts hold all the time and a thread rests between its slices, every slice would make one of each type. What
// is left out at one time are those of the types that came last; costs count them.
const (
	maxIntervals      = 1 << 16
	intervalsPerSlice = 4
)

// intervalTrack is a thread and a type.
type intervalTrack struct {
	thread timeline.TrackID
	typ    TypeID
}

// shownThread is the latest interval of every type on a thread.
type shownThread struct {
	open  []interval // by type
	last  []interval // the ones before, whose memory is used again
	set   SetID      // that they are of
	until timeline.Nanos
	valid bool
}

func newIntervals(c *catalogue, s *sets, memory int64, dir string) *intervals {
	return &intervals{
		c: c, sets: s, sorted: extsort.New(intervalCodec, compareIntervals, memory, dir), used: map[intervalTrack]bool{},
		room: maxIntervals,
	}
}

// slice makes room for what a slice may add.
func (v *intervals) slice() { v.room += intervalsPerSlice }

// extend says that a set is in effect on a thread.
func (v *intervals) extend(w *worker, set SetID, from, to timeline.Nanos) {
	sh := &w.account.shown
	if sh.valid && sh.set == set && sh.until == from {
		sh.until = to
		return
	}
	open, now := sh.last[:0], v.sets.sets.at(uint32(set))
	for _, i := range sh.open {
		for len(now) > 0 && v.sets.entries[now[0]].typ < i.typ {
			open, now = v.appendShown(open, now[0], w.id, from), now[1:]
		}
		if len(now) > 0 && v.sets.entries[now[0]].typ == i.typ {
			if sh.until == from && v.sameShown(&v.sets.entries[now[0]], &i) {
				open, now = append(open, i), now[1:]
				continue
			}
			open, now = v.appendShown(open, now[0], w.id, from), now[1:]
		}
		i.to = sh.until
		v.write(i)
	}
	for _, id := range now {
		open = v.appendShown(open, id, w.id, from)
	}
	sh.open, sh.last = open, sh.open
	sh.set, sh.until, sh.valid = set, to, true
}

// appendShown appends an interval that begins with an entry, unless that is nobody's.
func (v *intervals) appendShown(open []interval, id entryID, thread timeline.TrackID, from timeline.Nanos) []interval {
	e := &v.sets.entries[id]
	if e.node == 0 {
		return open
	}
	return append(open, interval{from: from, thread: thread, node: e.node, snapshot: e.snapshot, typ: e.typ})
}

// sameShown reports whether an entry is of the context of an interval, under the same name.
func (v *intervals) sameShown(e *entry, i *interval) bool {
	if v.c.logicalOf(e.node) != v.c.logicalOf(i.node) {
		return false
	}
	return e.node == i.node && e.snapshot == i.snapshot || v.c.labelOf(e.node, e.snapshot) == v.c.labelOf(i.node, i.snapshot)
}

// finish writes what is open on a thread at the end.
func (v *intervals) finish(w *worker) {
	for _, i := range w.account.shown.open {
		i.to = w.account.shown.until
		v.write(i)
	}
}

func (v *intervals) write(i interval) {
	switch {
	case v.err != nil || i.to <= i.from:
	case v.room == 0:
		v.full++
	default:
		v.room--
		v.used[intervalTrack{i.thread, i.typ}] = true
		v.err = v.sorted.Add(i)
	}
}
