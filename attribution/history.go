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

// explicitAt is where an explicit event stands.
type explicitAt struct {
	ts     timeline.Nanos
	offset int64
	event  uint32
	thread timeline.TrackID
}
