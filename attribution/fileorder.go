package attribution

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"sort"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// history says which contexts are entered on a thread when the events of the input come, whatever the order in which they
// are asked for. Each type has the events that have changed its active context.
type history struct {
	types []typeHistory // sorted by type
}

// typeHistory is a history of one type. The first change counts from the begin.
type typeHistory struct {
	typ     TypeID
	changes []topAt
}

// topAt is the active context behind an event; node 0: none.
type topAt struct {
	event uint32
	top   entered
}

// begin makes the history begin with what is entered now.
func (h *history) begin(a *active) {
	for i := range a.stacks {
		if s := &a.stacks[i]; len(s.entered) > 0 {
			h.types = append(h.types, typeHistory{s.typ, []topAt{{top: s.entered[len(s.entered)-1]}}})
		}
	}
}

// apply carries out an explicit event and notes what that has changed.
func (h *history) apply(a *active, c *catalogue, e *evidence, o *explicitAt, log *problem.Log) {
	a.apply(c, e, o, log)
	if e.kind != destroys {
		h.note(a, e.typ, o.event)
		return
	}
	for i := range a.stacks {
		h.note(a, a.stacks[i].typ, o.event)
	}
}

// note notes the active context of a type behind an event if it is another one than before.
func (h *history) note(a *active, typ TypeID, event uint32) {
	now := topAt{event: event}
	if e := a.of(typ); e != nil {
		now.top = *e
	}
	i, ok := slices.BinarySearchFunc(h.types, typ, func(t typeHistory, typ TypeID) int { return cmp.Compare(t.typ, typ) })
	if !ok {
		h.types = slices.Insert(h.types, i, typeHistory{typ, []topAt{{}}})
	}
	t := &h.types[i]
	if t.changes[len(t.changes)-1].top != now.top {
		t.changes = append(t.changes, now)
	}
}

// appendTops appends what is entered when an event comes, by type.
func (h *history) appendTops(tops []top, event uint32) []top {
	if h == nil {
		return tops
	}
	for i := range h.types {
		t := &h.types[i]
		later := t.changes[1:]
		k := sort.Search(len(later), func(k int) bool { return later[k].event >= event })
		if e := t.changes[k].top; e.node != 0 {
			tops = append(tops, top{t.typ, e})
		}
	}
	return tops
}

// fileOrder holds what was entered on each thread as the input goes on, whatever the times say: explicit events and
// slices are then taken in the order of the input, as catapult's importer did (attribution.md, rule 1).
type fileOrder struct {
	threads map[timeline.TrackID]*history
}

// maxExplicit bounds the explicit events that are carried out in the order of the input: each takes about 24 bytes.
const maxExplicit = 1 << 20

// explicitAt is where an explicit event stands.
type explicitAt struct {
	ts     timeline.Nanos
	offset int64
	event  uint32
	thread timeline.TrackID
}

// explicitEvent is an explicit event to be carried out.
type explicitEvent struct {
	explicitAt
	evidence evidence
}

var explicitCodec = extsort.Codec[explicitEvent]{
	Size: 24 + evidenceSize,
	Put: func(b []byte, e *explicitEvent) {
		le := binary.LittleEndian
		le.PutUint64(b, uint64(e.ts))
		le.PutUint64(b[8:], uint64(e.offset))
		le.PutUint32(b[16:], e.event)
		le.PutUint32(b[20:], uint32(e.thread))
		evidenceCodec.Put(b[24:], &e.evidence)
	},
	Get: func(b []byte, e *explicitEvent) {
		le := binary.LittleEndian
		e.ts, e.offset = timeline.Nanos(le.Uint64(b)), int64(le.Uint64(b[8:]))
		e.event, e.thread = le.Uint32(b[16:]), timeline.TrackID(le.Uint32(b[20:]))
		evidenceCodec.Get(b[24:], &e.evidence)
	},
}

func compareExplicit(a, b *explicitEvent) int {
	return cmp.Or(cmp.Compare(a.thread, b.thread), cmp.Compare(a.event, b.event))
}

// newFileOrder carries out all explicit events in the order of the input. The evidence is rewound before and after.
func newFileOrder(ctx context.Context, c *collector) (*fileOrder, error) {
	if err := c.evidence.Rewind(); err != nil {
		return nil, err
	}
	sorted := extsort.New(explicitCodec, compareExplicit, c.t.Memory()/16, c.t.TempDir())
	defer sorted.Close()
	found := cursor[evidence]{next: c.evidence.Next, ordinal: evidenceOrdinal}
	n := 0
	err := c.occurrences(ctx, func(group []timeline.Occurrence) error {
		for i := range group {
			o := &group[i]
			list, err := found.of(o.Ordinal)
			if err != nil {
				return err
			}
			at := explicitAt{o.TS, o.Offset, o.Event, cmp.Or(o.Thread, c.places[o.Track].thread)}
			for k := range list {
				if !list[k].isExplicit() || at.thread == 0 {
					continue
				}
				if n++; n > c.most.explicit {
					c.dropped++
				} else if err := sorted.Add(explicitEvent{at, list[k]}); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	f := &fileOrder{threads: map[timeline.TrackID]*history{}}
	if err := f.replay(c, sorted.Next); err != nil {
		return nil, err
	}
	return f, c.evidence.Rewind()
}

// replay carries out the explicit events of one thread after the other.
func (f *fileOrder) replay(c *collector, next func(*explicitEvent) (bool, error)) error {
	var a *active
	var h *history
	end := func() {
		if a != nil && a.entered > 0 {
			c.problems.AddN(problem.NeverLeft, uint64(a.entered), problem.NoPosition, "")
		}
	}
	defer end()
	for thread, e := timeline.TrackID(0), (explicitEvent{}); ; {
		ok, err := next(&e)
		if err != nil || !ok {
			return err
		}
		if e.thread != thread {
			end()
			thread, a, h = e.thread, &active{}, &history{}
			f.threads[thread] = h
		}
		h.apply(a, c.catalogue, &e.evidence, &e.explicitAt, c.problems)
	}
}

// appendTops appends what is entered on a thread when an event comes.
func (f *fileOrder) appendTops(tops []top, thread timeline.TrackID, event uint32) []top {
	return f.threads[thread].appendTops(tops, event)
}

// enterOnly makes the given contexts the ones that are entered.
func (a *active) enterOnly(tops []top) {
	for i := range a.stacks {
		a.stacks[i].entered = a.stacks[i].entered[:0]
	}
	a.entered = 0
	for i := range tops {
		a.enter(tops[i].typ, tops[i].entered)
	}
}
