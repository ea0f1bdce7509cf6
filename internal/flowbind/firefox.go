package flowbind

import (
	"cmp"
	"slices"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// firefox applies the rule of the active flow to a marker (firefox.md 7). An id without an active flow starts a flow, whatever
// the marker's role. A terminating id ends the flow, but the marker with that id still belongs to the flow.
//
// All members of a flow form one chain with one id. A flow's only member also has an id, so that the output shows which markers
// belong to a flow. Members that start at the same time are chained in output order, which differs from the rule if one member
// contains another.
func (l *linker) firefox(e *end) {
	l.lastFirefox = e
	if l.state == none {
		l.state = open
		l.lastID++
		l.visitor.Begin(e.Key, e.ts, &e.slice)
	} else {
		l.visitor.Join(e.ts, &e.slice)
	}
	if len(l.tied) > 0 && l.tied[0].TS != e.slice.TS {
		l.joinTied()
	}
	if n := len(l.tied); n == 0 || l.tied[n-1] != e.slice { // a marker may contain the same id twice
		l.tied = append(l.tied, e.slice)
	}
	if e.role == timeline.FlowEnd {
		l.visitor.End(true)
		l.finishFirefox()
	}
}

// joinTied adds the members that start at the same time to the chain.
func (l *linker) joinTied() {
	slices.SortFunc(l.tied, func(a, b Slice) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	for _, member := range l.tied {
		next := timeline.FlowRef{Ordinal: member.Ordinal, ID: l.lastID, Previous: timeline.NoOrdinal}
		if l.chain && l.timeline.Machine(l.tail.Track) != l.timeline.Machine(member.Track) {
			l.count(problem.FlowAcrossMachines, l.lastFirefox)
			l.endTied()
			l.lastID++
			next.ID = l.lastID
		} else if l.chain {
			l.write(l.last)
			l.total++
			next.Previous = l.tail.Ordinal
		}
		l.chain, l.tail, l.last = true, member, next
	}
	l.tied = l.tied[:0]
}

// finishFirefox ends the current Firefox flow.
func (l *linker) finishFirefox() {
	l.joinTied()
	l.endTied()
	l.state = none
}

// endTied ends the chain of a Firefox flow. The last member is terminating only if the chain has several members.
func (l *linker) endTied() {
	if l.chain {
		l.last.Terminating = l.last.Previous != timeline.NoOrdinal
		l.write(l.last)
	}
	l.chain = false
}
