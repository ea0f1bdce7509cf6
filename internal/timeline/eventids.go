package timeline

import (
	"context"
	"math/bits"
	"slices"
	"sort"

	"github.com/weft-trace/weft/internal/problem"
)

// eventIDs numbers the events of a timeline from 1 without gaps, in the order of Walk. Unlike ordinals, which also count ends and
// flow steps, these numbers are the same in every form of a trace.
//
// The numbers take one bit per record, plus eight bytes for each record at a timestamp at which a flow changes the order.
type eventIDs struct {
	events ordinalSet
	before []uint64 // number of events before each block
	moved  []movedGroup
	total  uint64
}

// ordinalSet is a set of ordinals: bit i%64 of word i/64 is ordinal i.
type ordinalSet []uint64

func (s ordinalSet) add(ordinal uint64)    { s[ordinal/64] |= 1 << (ordinal % 64) }
func (s ordinalSet) remove(ordinal uint64) { s[ordinal/64] &^= 1 << (ordinal % 64) }

// idBlock is the number of words that are counted together.
const idBlock = 8

// movedGroup holds the records of a timestamp at which flows move events out of ordinal order.
type movedGroup struct {
	first  uint64   // ordinal of the first record
	ids    uint64   // number of events before the group
	order  []uint32 // the events in the order of Walk, as ordinals relative to first
	places []uint32 // by record: the index of its event in order
}

// NumberEvents computes the numbers that EventID returns, for all events that are not hidden. It requires Nest, and AttachFlows
// if there are flows.
func (t *Timeline) NumberEvents(ctx context.Context) error {
	if t.ids != nil {
		return nil
	}
	if t.hides {
		if err := t.forgetHidden(ctx); err != nil {
			return err
		}
	}
	n := idCounter{t: t, ids: &eventIDs{events: t.events}}
	segments, err := n.flows()
	if err != nil {
		return err
	}
	n.ids.sum()
	for _, i := range segments {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := n.segment(i); err != nil {
			return err
		}
	}
	t.ids = n.ids
	return nil
}

// forgetHidden excludes the events on hidden tracks from the numbering.
func (t *Timeline) forgetHidden(ctx context.Context) error {
	ordinal := uint64(0)
	return t.groups(ctx, false, func(g *group) error {
		for i := range g.len() {
			if t.table.tracks[g.at(i).track].hidden {
				t.events.remove(ordinal + uint64(i))
			}
		}
		ordinal += uint64(g.len())
		return nil
	})
}

// idCounter determines how flows change the numbers of events.
type idCounter struct {
	t     *Timeline
	ids   *eventIDs
	w     walker   // for the current segment
	order []uint32 // the events of the current group
}

// flows adds to the events the flow ends that are shown as instants, and returns the segments in which a flow leads to a lower
// ordinal.
func (n *idCounter) flows() (segments []int, err error) {
	var all attachedCursor[FlowRef]
	if err := all.open(n.t.flows, 0); err != nil {
		return nil, err
	}
	for {
		f, err := all.ahead.peek()
		if err != nil || f == nil {
			return segments, err
		}
		all.ahead.have = false
		switch {
		case f.ID == 0:
			n.ids.events.add(f.Ordinal)
		case f.Previous != NoOrdinal && f.Previous > f.Ordinal:
			if i := n.t.SegmentOf(f.Ordinal); len(segments) == 0 || segments[len(segments)-1] != i {
				segments = append(segments, i)
			}
		}
	}
}

// segment finds the groups that flows reorder in a segment.
func (n *idCounter) segment(i int) error {
	first, end := n.t.segments[i].first, uint64(n.t.store.len())
	if i+1 < len(n.t.segments) {
		end = n.t.segments[i+1].first
	}
	sampled, err := n.t.sampled.cursor(0, 0)
	if err != nil {
		return err
	}
	n.w = walker{t: n.t, sampled: sampled, problems: new(problem.Log), ordinal: first, numbered: n.next}
	if err := n.w.flows.open(n.t.flows, first); err != nil {
		return err
	}
	return n.t.section(int(first), int(end-first), n.group)
}

func (n *idCounter) group(g *group) error {
	w := &n.w
	defer func() { w.ordinal += uint64(g.len()) }()
	if err := w.flows.read(w.ordinal + uint64(g.len())); err != nil || w.ordered() {
		return err
	}
	n.order = n.order[:0]
	if err := w.reorder(g); err != nil || slices.IsSorted(n.order) {
		return err
	}
	moved := movedGroup{first: w.ordinal, ids: n.ids.rank(w.ordinal), order: slices.Clone(n.order), places: make([]uint32, g.len())}
	for place, i := range moved.order {
		moved.places[i] = uint32(place)
	}
	n.ids.moved = append(n.ids.moved, moved)
	return nil
}

// next adds the next record of a reordered group, if it is an event.
func (n *idCounter) next(ordinal uint64) {
	if n.ids.events[ordinal/64]>>(ordinal%64)&1 != 0 {
		n.order = append(n.order, uint32(ordinal-n.w.ordinal))
	}
}

// sum computes the number of events before each block.
func (ids *eventIDs) sum() {
	sum := uint64(0)
	for i, word := range ids.events {
		if i%idBlock == 0 {
			ids.before = append(ids.before, sum)
		}
		sum += uint64(bits.OnesCount64(word))
	}
	ids.total = sum
}

// rank returns the number of events before an ordinal.
func (ids *eventIDs) rank(ordinal uint64) uint64 {
	word := ordinal / 64
	n := ids.before[word/idBlock]
	for _, w := range ids.events[word/idBlock*idBlock : word] {
		n += uint64(bits.OnesCount64(w))
	}
	return n + uint64(bits.OnesCount64(ids.events[word]&(1<<(ordinal%64)-1)))
}

// EventCount returns the number of events other than samples. It requires NumberEvents.
func (t *Timeline) EventCount() uint64 { return t.ids.total }

// EventID returns the number of the slice, instant or counter value with the given ordinal: 1 for the first event of Walk.
// Samples have no numbers. It requires NumberEvents.
func (t *Timeline) EventID(ordinal uint64) uint64 {
	ids := t.ids
	if g := ids.movedBefore(func(g *movedGroup) bool { return g.first <= ordinal }); g != nil && ordinal-g.first < uint64(len(g.places)) {
		return g.ids + 1 + uint64(g.places[ordinal-g.first])
	}
	return ids.rank(ordinal) + 1
}

// EventOrdinal returns the ordinal of the event with the given number. It returns false if there is none. It requires
// NumberEvents.
func (t *Timeline) EventOrdinal(id uint64) (ordinal uint64, ok bool) {
	ids := t.ids
	if id == 0 || ids == nil || id > ids.total {
		return 0, false
	}
	if g := ids.movedBefore(func(g *movedGroup) bool { return g.ids < id }); g != nil && id-g.ids <= uint64(len(g.order)) {
		return g.first + uint64(g.order[id-g.ids-1]), true
	}
	block := sort.Search(len(ids.before), func(i int) bool { return ids.before[i] >= id }) - 1
	rest := id - ids.before[block]
	for i := block * idBlock; ; i++ {
		word := ids.events[i]
		n := uint64(bits.OnesCount64(word))
		if rest > n {
			rest -= n
			continue
		}
		for ; rest > 1; rest-- {
			word &= word - 1
		}
		return uint64(i)*64 + uint64(bits.TrailingZeros64(word)), true
	}
}

// movedBefore returns the last group for which reached is true, or nil.
func (ids *eventIDs) movedBefore(reached func(*movedGroup) bool) *movedGroup {
	i := sort.Search(len(ids.moved), func(i int) bool { return !reached(&ids.moved[i]) })
	if i == 0 {
		return nil
	}
	return &ids.moved[i-1]
}
