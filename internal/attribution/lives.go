package attribution

import (
	"cmp"
	"container/heap"
	"math"
	"slices"

	"github.com/weft-trace/weft/internal/timeline"
)

// enteredAs is the type and category of the event that first entered a context.
type enteredAs struct {
	Type     string
	Category string
}

// enteredSize is the size of an enteredAs, with its map entry.
const enteredSize = 80

// life is one of the objects that shared an identity, from its creation to its deletion.
type life struct {
	alive     bool
	class     bool // its class is the type of the context
	category  bool // it has the category of the event that first entered the context
	began     int  // order of first occurrence
	snapshot  SnapshotID
	heapIndex int
}

// lifeEvent is a creation, snapshot or deletion of an object.
type lifeEvent struct {
	ts       timeline.Nanos
	life     *life
	snapshot SnapshotID // 0: creation or deletion
	alive    bool
}

// objectStates returns the states of an identity over time. If several objects share the identity at the same time, it prefers
// the object whose class is the type of the context, then the object with the category of the event that first entered
// the context, then the object created last (attribution.md, rule 3).
func (c *Catalogue) objectStates(changes []SnapshotID) []state {
	first := &c.Snapshots[changes[0]]
	if !slices.ContainsFunc(changes, func(id SnapshotID) bool { return c.Snapshots[id].Class != first.Class }) {
		return c.lives(changes)
	}
	events := c.lifeEvents(changes)
	var alive lifeHeap
	var out []state
	for i := 0; i < len(events); {
		ts := events[i].ts
		for ; i < len(events) && events[i].ts == ts; i++ {
			e := &events[i]
			e.life.snapshot = e.snapshot
			switch {
			case e.alive && !e.life.alive:
				heap.Push(&alive, e.life)
			case !e.alive && e.life.alive:
				heap.Remove(&alive, e.life.heapIndex)
			}
			e.life.alive = e.alive
		}
		current := SnapshotID(0)
		if len(alive) > 0 {
			current = alive[0].snapshot
		}
		if n := len(out); n == 0 || out[n-1].Snapshot != current {
			out = append(out, state{ts, current})
		}
	}
	return out
}

// lifeEvents separates objects with the same identity by their classes, and their lives by creation and deletion. An object whose
// creation is not in the trace exists from the end of the previous life.
func (c *Catalogue) lifeEvents(changes []SnapshotID) []lifeEvent {
	type open struct {
		life   *life
		before timeline.Nanos
	}
	byClass := map[string]*open{}
	var events []lifeEvent
	for i, id := range changes {
		s := &c.Snapshots[id]
		o := byClass[s.Class]
		if o == nil {
			o = &open{before: math.MinInt64}
			byClass[s.Class] = o
		}
		from := s.TS
		if o.life == nil || s.change == created {
			if o.life != nil {
				events = append(events, lifeEvent{ts: s.TS, life: o.life})
			} else if s.change != created {
				from = o.before
			}
			as := c.Entered[s.Node]
			o.life = &life{class: s.Class == as.Type, category: s.Category == as.Category, began: i}
		}
		switch s.change {
		case created:
			events = append(events, lifeEvent{ts: s.TS, life: o.life, alive: true})
		case deleted:
			events = append(events, lifeEvent{ts: s.TS, life: o.life})
			o.life, o.before = nil, s.TS
		default:
			events = append(events, lifeEvent{ts: from, life: o.life, snapshot: id, alive: true})
		}
	}
	slices.SortStableFunc(events, func(a, b lifeEvent) int { return cmp.Compare(a.ts, b.ts) })
	return events
}

// lifeHeap is a heap.Interface with the preferred object first.
type lifeHeap []*life

func (h lifeHeap) Len() int { return len(h) }

func (h lifeHeap) Less(i, j int) bool {
	a, b := h[i], h[j]
	switch {
	case a.class != b.class:
		return a.class
	case a.category != b.category:
		return a.category
	}
	return a.began > b.began
}

func (h lifeHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].heapIndex, h[j].heapIndex = i, j
}

func (h *lifeHeap) Push(x any) {
	l := x.(*life)
	l.heapIndex = len(*h)
	*h = append(*h, l)
}

func (h *lifeHeap) Pop() any {
	n := len(*h) - 1
	l := (*h)[n]
	*h = (*h)[:n]
	return l
}
