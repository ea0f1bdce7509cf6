package attribution

import (
	"cmp"
	"slices"
	"sort"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// history records the active contexts of a thread after each explicit event of one timestamp, for lookup by event
// number, in any order.
type history struct {
	types []typeHistory // sorted by type
}

// typeHistory is the history of one type. The first change applies from the start.
type typeHistory struct {
	typ     TypeID
	changes []topAt
}

// topAt is the active context after an event; node 0: none.
type topAt struct {
	event uint32
	top   Entered
}

// Begin sets the state before the first event.
func (h *history) Begin(a *active) {
	for i := range a.stacks {
		if s := &a.stacks[i]; len(s.entered) > 0 {
			h.types = append(h.types, typeHistory{s.typ, []topAt{{top: s.entered[len(s.entered)-1]}}})
		}
	}
}

// Apply applies an explicit event and records the changes.
func (h *history) Apply(a *active, c *Catalogue, e *Evidence, o *explicitAt, log *problem.Log) {
	a.apply(c, e, o, log)
	if e.kind != destroys {
		h.record(a, e.Type, o.Event)
		return
	}
	for i := range a.stacks {
		h.record(a, a.stacks[i].typ, o.Event)
	}
}

// record records the active context of a type after an event, if the context has changed.
func (h *history) record(a *active, typ TypeID, event uint32) {
	change := topAt{event: event}
	if e := a.current(typ); e != nil {
		change.top = *e
	}
	i, ok := slices.BinarySearchFunc(h.types, typ, func(t typeHistory, typ TypeID) int { return cmp.Compare(t.typ, typ) })
	if !ok {
		h.types = slices.Insert(h.types, i, typeHistory{typ, []topAt{{}}})
	}
	t := &h.types[i]
	if t.changes[len(t.changes)-1].top != change.top {
		t.changes = append(t.changes, change)
	}
}

// appendInnermost appends the active contexts before an event, by type.
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

// explicitAt is the position of an explicit event.
type explicitAt struct {
	TS     timeline.Nanos
	offset int64
	Event  uint32
	Thread timeline.TrackID
}
