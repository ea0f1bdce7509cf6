package attribution

import (
	"cmp"
	"container/heap"
	"math"
	"slices"

	"github.com/weft-trace/weft/internal/timeline"
)

// enteredAs is how a context was entered first: by an event of a type and category.
type enteredAs struct {
	Type     string
	Category string
}

// enteredSize is what an enteredAs takes, with its place.
const enteredSize = 80

// life is one of the objects that had an identity, from its start to its end.
type life struct {
	alive     bool
	class     bool // its class is the type of the context
	category  bool // it has the category of the events that enter the context
	began     int  // in the order in which the objects were seen
	snapshot  SnapshotID
	heapIndex int
}

// lifeEvent is something that happens to an object.
type lifeEvent struct {
	ts       timeline.Nanos
	life     *life
	snapshot SnapshotID // 0: its start or end
	alive    bool
}

// objectStates returns the states that an identity has over time, in which the changes come. Several objects can have one
// identity at a time: then the one counts whose class is the type of the context, then the one of the same category, then
// the one created last (attribution.md, rule 3).
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
		now := SnapshotID(0)
		if len(alive) > 0 {
			now = alive[0].snapshot
		}
		if n := len(out); n == 0 || out[n-1].Snapshot != now {
			out = append(out, state{ts, now})
		}
	}
	return out
}

// lifeEvents tells objects of one identity apart by their classes, and their lives by creation and deletion. An object whose
// creation is not in the trace existed from the end of the life before.
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

// lifeHeap has the object that counts on top.
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

// Push implements heap.Interface.
func (h *lifeHeap) Push(x any) {
	l := x.(*life)
	l.heapIndex = len(*h)
	*h = append(*h, l)
}

// Pop implements heap.Interface.
func (h *lifeHeap) Pop() any {
	n := len(*h) - 1
	l := (*h)[n]
	*h = (*h)[:n]
	return l
}
