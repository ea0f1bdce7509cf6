package attribution

import (
	"cmp"
	"encoding/binary"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/radix"
	"github.com/weft-trace/weft/timeline"
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
	err    error
}

// intervalTrack is a thread and a type.
type intervalTrack struct {
	thread timeline.TrackID
	typ    TypeID
}

// shownThread is the latest interval of every type on a thread.
type shownThread struct {
	open  []interval
	set   SetID // that they are of
	until timeline.Nanos
	valid bool
}

func newIntervals(c *catalogue, s *sets, memory int64, dir string) *intervals {
	return &intervals{c: c, sets: s, sorted: extsort.New(intervalCodec, compareIntervals, memory, dir), used: map[intervalTrack]bool{}}
}

// extend says that a set is in effect on a thread.
func (v *intervals) extend(w *worker, set SetID, from, to timeline.Nanos) {
	sh := &w.account.shown
	if sh.valid && sh.set == set && sh.until == from {
		sh.until = to
		return
	}
	kept := sh.open[:0]
	for _, i := range sh.open {
		e := v.sets.of(set, i.typ)
		if sh.until == from && e != 0 && v.sameShown(&v.sets.entries[e], &i) {
			kept = append(kept, i)
			continue
		}
		i.to = sh.until
		v.write(i)
	}
	sh.open = kept
	for _, id := range v.sets.sets.at(uint32(set)) {
		e := &v.sets.entries[id]
		if e.node == 0 || sh.has(e.typ) {
			continue
		}
		sh.open = append(sh.open, interval{from: from, thread: w.id, node: e.node, snapshot: e.snapshot, typ: e.typ})
	}
	sh.set, sh.until, sh.valid = set, to, true
}

// sameShown reports whether an entry is of the context of an interval, under the same name.
func (v *intervals) sameShown(e *entry, i *interval) bool {
	if v.c.logicalOf(e.node) != v.c.logicalOf(i.node) {
		return false
	}
	return e.node == i.node && e.snapshot == i.snapshot || v.c.labelOf(e.node, e.snapshot) == v.c.labelOf(i.node, i.snapshot)
}

func (sh *shownThread) has(typ TypeID) bool {
	for i := range sh.open {
		if sh.open[i].typ == typ {
			return true
		}
	}
	return false
}

// finish writes what is open on a thread at the end.
func (v *intervals) finish(w *worker) {
	for _, i := range w.account.shown.open {
		i.to = w.account.shown.until
		v.write(i)
	}
}

func (v *intervals) write(i interval) {
	if v.err == nil && i.to > i.from {
		v.used[intervalTrack{i.thread, i.typ}] = true
		v.err = v.sorted.Add(i)
	}
}
