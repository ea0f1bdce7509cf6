package merge

import (
	"cmp"
	"slices"
)

// rounds holds how far one boot's monotonic clock is ahead of another's, as measured in rounds of a relay service.
type rounds struct {
	both, hull interval
	count      int
}

// hostSyncs applies rule R4 to the relay service rounds that some inputs contain. A round identifies both hosts by their wall
// clocks, so it applies to all inputs recorded there. Among more than manyInputs inputs, only the
// first input from each boot is related.
func (s *solver) hostSyncs() {
	of := map[pair]*rounds{} // by the boots of the host and of the machine that asked
	for i := range s.in {
		if s.in[i].Clues == nil {
			continue
		}
		for _, r := range s.in[i].Clues.syncs {
			p := pair{s.bootAt(r.Host), s.bootAt(r.Own)}
			if p.a < 0 || p.b < 0 || p.a == p.b {
				continue
			}
			if of[p] == nil {
				of[p] = &rounds{both: everywhere, hull: interval{unbounded, -unbounded}}
			}
			of[p].take(interval{-r.High, -r.Low})
		}
	}
	var related []Relation
	for p, r := range of {
		hosts, machines := s.boots[p.a], s.boots[p.b]
		if len(s.in) > manyInputs {
			hosts.inputs, machines.inputs = []int{hosts.first}, []int{machines.first}
		}
		for _, a := range hosts.inputs {
			for _, b := range machines.inputs {
				related = append(related, s.hostSync(a, b, r))
			}
		}
	}
	slices.SortFunc(related, func(x, y Relation) int { return cmp.Or(cmp.Compare(x.B, y.B), cmp.Compare(x.A, y.A)) })
	s.all = append(s.all, related...)
}

// take adds a round.
func (r *rounds) take(ahead interval) {
	r.both.atLeast(ahead.low)
	r.both.atMost(ahead.high)
	r.hull = interval{min(r.hull.low, ahead.low), max(r.hull.high, ahead.high)}
	r.count++
}

// hostSync relates b, on the machine that asked, to a, on the host.
func (s *solver) hostSync(a, b int, r *rounds) Relation {
	ahead := r.both
	if !ahead.fits() { // the clocks drift: one offset must cover all rounds
		ahead = r.hull
	}
	to := minus(s.in[b].Clues.ToMonotonic, s.in[a].Clues.ToMonotonic)
	return Relation{
		A: a, B: b, Rule: ClockSync, Low: plus(to, ahead.low), High: plus(to, ahead.high), Evidence: plural(r.count, "round") + " of a relay service",
	}
}
