package merge

import (
	"cmp"
	"slices"
)

// rounds compare two boots by the rounds of a relay service: how much the monotonic clock of the one is ahead of the other's.
type rounds struct {
	both, hull interval
	count      int
}

// hostSyncs is rule R4 by the rounds of a relay service, which some input holds: they tell the two hosts by what their wall clocks say, so
// that they hold for all inputs that were recorded there. Of many inputs one of each host is related to one of the other.
func (s *solver) hostSyncs() {
	of := map[pair]*rounds{} // by the boots of the host and of the machine that asks
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

// hostSync relates b, on the machine that asks, to a, on the host.
func (s *solver) hostSync(a, b int, r *rounds) Relation {
	ahead := r.both
	if !ahead.fits() { // the clocks drift: one offset is as uncertain as they are apart
		ahead = r.hull
	}
	to := minus(s.in[b].Clues.ToMonotonic, s.in[a].Clues.ToMonotonic)
	return Relation{
		A: a, B: b, Rule: ClockSync, Low: plus(to, ahead.low), High: plus(to, ahead.high), Evidence: plural(r.count, "round") + " of a relay service",
	}
}
