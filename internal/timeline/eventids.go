package timeline

import (
	"context"
	"math/bits"
	"slices"
	"sort"

	"github.com/weft-trace/weft/internal/problem"
)

// eventIDs numbers the events of a timeline, from 1 on and without gaps, in the order in which Walk gives them. Ordinals also count ends
// and the steps of flows, of which other forms of the same trace have others: these numbers are the same in all of them.
//
// They take a bit for each record, and eight bytes for each record of a time at which a flow changes the order.
type eventIDs struct {
	events []uint64 // bit i of word i/64: the record of ordinal i is an event
	before []uint64 // by block: the events before it
	moved  []movedGroup
	total  uint64
}

// idBlock is how many words are counted together.
const idBlock = 8

// movedGroup are the records of one time whose events do not come in the order of their ordinals, because of flows.
type movedGroup struct {
	first  uint64   // ordinal of the first record
	ids    uint64   // the events before it
	order  []uint32 // the events in the order of Walk: their ordinals, from first on
	places []uint32 // by record: the place of an event in order
}

// NumberEvents finds the numbers of events, for EventID: of all that are not hidden. Nest comes first, and AttachFlows if there are
// flows.
func (t *Timeline) NumberEvents(ctx context.Context) error {
	if t.ids != nil {
		return nil
	}
	sampled, err := t.sampled.cursor(0, 0)
	if err != nil {
		return err
	}
	n := idCounter{
		ids: &eventIDs{events: make([]uint64, t.store.len()/64+1)},
		w:   walker{t: t, sampled: sampled, problems: new(problem.Log)},
	}
	n.w.numbered = n.next
	if err := n.w.flows.open(t.flows, 0); err != nil {
		return err
	}
	groups := 0
	err = t.groups(false, func(g *group) error {
		if groups++; groups%(1<<12) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		return n.group(g)
	})
	if err != nil {
		return err
	}
	n.ids.sum()
	t.ids = n.ids
	return nil
}

// idCounter goes through the records in the order of Walk.
type idCounter struct {
	ids   *eventIDs
	w     walker   // for its order
	order []uint32 // of the events of a group that flows reorder
}

func (n *idCounter) group(g *group) error {
	w := &n.w
	if err := w.flows.read(w.ordinal + uint64(g.len())); err != nil {
		return err
	}
	if len(w.flows.group) == 0 || w.ordered() {
		for i := range g.len() {
			n.add(g.at(i), w.ordinal+uint64(i))
		}
	} else if err := n.reordered(g); err != nil {
		return err
	}
	w.ordinal += uint64(g.len())
	return nil
}

// reordered numbers the events of a group that flows reorder.
func (n *idCounter) reordered(g *group) error {
	moved := movedGroup{first: n.w.ordinal, ids: n.ids.total, places: make([]uint32, g.len())}
	n.order = n.order[:0]
	if err := n.w.reorder(g); err != nil || slices.IsSorted(n.order) {
		return err
	}
	moved.order = slices.Clone(n.order)
	for place, i := range moved.order {
		moved.places[i] = uint32(place)
	}
	n.ids.moved = append(n.ids.moved, moved)
	return nil
}

// next numbers the next record of a group that flows reorder.
func (n *idCounter) next(r *record, ordinal uint64) {
	if n.add(r, ordinal) {
		n.order = append(n.order, uint32(ordinal-n.w.ordinal))
	}
}

// add counts a record if Walk gives it as an event that is no sample.
func (n *idCounter) add(r *record, ordinal uint64) bool {
	event := r.starts() || r.kind == Counter ||
		r.kind == FlowStep && n.w.flows.of(ordinal) != nil // shows as an instant
	if event = event && !n.w.t.table.tracks[r.track].hidden; event {
		n.ids.total++
		n.ids.events[ordinal/64] |= 1 << (ordinal % 64)
	}
	return event
}

// sum counts the events before each block.
func (ids *eventIDs) sum() {
	sum := uint64(0)
	for i, word := range ids.events {
		if i%idBlock == 0 {
			ids.before = append(ids.before, sum)
		}
		sum += uint64(bits.OnesCount64(word))
	}
}

// EventCount returns the number of events that are no samples. NumberEvents comes first.
func (t *Timeline) EventCount() uint64 { return t.ids.total }

// EventID returns the number of a slice, an instant or a counter value, by its ordinal: 1 for the first event that Walk gives.
// Samples have no numbers. NumberEvents comes first.
func (t *Timeline) EventID(ordinal uint64) uint64 {
	ids := t.ids
	if g := ids.movedBefore(func(g *movedGroup) bool { return g.first <= ordinal }); g != nil && ordinal-g.first < uint64(len(g.places)) {
		return g.ids + 1 + uint64(g.places[ordinal-g.first])
	}
	word := ordinal / 64
	id := ids.before[word/idBlock]
	for _, w := range ids.events[word/idBlock*idBlock : word] {
		id += uint64(bits.OnesCount64(w))
	}
	return id + uint64(bits.OnesCount64(ids.events[word]&(1<<(ordinal%64)-1))) + 1
}

// EventOrdinal returns the ordinal of the event of a number; false if there is none. NumberEvents comes first.
func (t *Timeline) EventOrdinal(id uint64) (ordinal uint64, ok bool) {
	ids := t.ids
	if id == 0 || ids == nil || id > ids.total {
		return 0, false
	}
	if g := ids.movedBefore(func(g *movedGroup) bool { return g.ids < id }); g != nil && id-g.ids <= uint64(len(g.order)) {
		return g.first + uint64(g.order[id-g.ids-1]), true
	}
	block := sort.Search(len(ids.before), func(i int) bool { return ids.before[i] >= id }) - 1
	left := id - ids.before[block]
	for i := block * idBlock; ; i++ {
		word := ids.events[i]
		n := uint64(bits.OnesCount64(word))
		if left > n {
			left -= n
			continue
		}
		for ; left > 1; left-- {
			word &= word - 1
		}
		return uint64(i)*64 + uint64(bits.TrailingZeros64(word)), true
	}
}

// movedBefore returns the last group of which is says that it is at or before what is looked for; nil if there is none.
func (ids *eventIDs) movedBefore(is func(*movedGroup) bool) *movedGroup {
	i := sort.Search(len(ids.moved), func(i int) bool { return !is(&ids.moved[i]) })
	if i == 0 {
		return nil
	}
	return &ids.moved[i-1]
}
