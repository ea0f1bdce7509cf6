package attribution

import (
	"cmp"
	"slices"
	"sort"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// history says which contexts are entered on a thread when the events of the input come, whatever the order in which they
// are asked for. Each type has the events that have changed its active context.
type history struct {
	types []typeHistory // sorted by type
}

// typeHistory is a history of one type. The first change counts from the start.
type typeHistory struct {
	typ     TypeID
	changes []topAt
}

// topAt is the active context after an event; node 0: none.
type topAt struct {
	event uint32
	top   Entered
}

// Begin makes the history begin with what is entered now.
func (h *history) Begin(a *active) {
	for i := range a.stacks {
		if s := &a.stacks[i]; len(s.entered) > 0 {
			h.types = append(h.types, typeHistory{s.typ, []topAt{{top: s.entered[len(s.entered)-1]}}})
		}
	}
}

// Apply carries out an explicit event and records the changes.
func (h *history) Apply(a *active, c *Catalogue, e *Evidence, o *explicitAt, log *problem.Log) {
	a.apply(c, e, o, log)
	if e.kind != destroys {
		h.note(a, e.Type, o.Event)
		return
	}
	for i := range a.stacks {
		h.note(a, a.stacks[i].typ, o.Event)
	}
}

// note notes the active context of a type after an event if it is another one than before.
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

// appendInnermost appends what is entered when an event comes, by type.
func (h *history) appendInnermost(innermost []Explicit, event uint32) []Explicit {
	for i := range h.types {
		t := &h.types[i]
		later := t.changes[1:]
		k := sort.Search(len(later), func(k int) bool { return later[k].event >= event })
		if e := t.changes[k].top; e.Node != 0 {
			innermost = append(innermost, Explicit{t.typ, e})
		}
	}
	return innermost
}

// explicitAt is the place of an explicit event.
type explicitAt struct {
	TS     timeline.Nanos
	offset int64
	Event  uint32
	Thread timeline.TrackID
}
