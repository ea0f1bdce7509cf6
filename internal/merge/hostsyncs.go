package merge

import "github.com/weft-trace/weft/internal/timeline"

// hostSyncs is rule R4 by the rounds of a relay service, which some input holds: they tell the two hosts by what their wall clocks say, so
// that they hold for all inputs that were recorded there.
func (s *solver) hostSyncs() {
	var all []timeline.HostSync
	for i := range s.in {
		if c := s.in[i].Clues; c != nil {
			all = append(all, c.syncs...)
		}
	}
	if len(all) == 0 {
		return
	}
	for b := range s.in {
		for a := range s.in {
			if a != b {
				s.hostSync(a, b, all)
			}
		}
	}
}

// hostSync relates b, on the machine that asks, to a, on the host.
func (s *solver) hostSync(a, b int, all []timeline.HostSync) {
	x, y := s.in[a].Clues, s.in[b].Clues
	if x == nil || y == nil {
		return
	}
	host, ok := x.fingerprint()
	own, ok2 := y.fingerprint()
	if !ok || !ok2 || abs(host-own) <= sameBoot {
		return
	}
	var rounds int
	both, hull := everywhere, interval{unbounded, -unbounded}
	for i := range all {
		r := &all[i]
		if abs(r.Host-host) > sameBoot || abs(r.Own-own) > sameBoot {
			continue
		}
		low, high := y.ToMonotonic-x.ToMonotonic-r.High, y.ToMonotonic-x.ToMonotonic-r.Low
		both.atLeast(low)
		both.atMost(high)
		hull = interval{min(hull.low, low), max(hull.high, high)}
		rounds++
	}
	if rounds == 0 {
		return
	}
	if both.low > both.high { // the clocks drift: one offset is as uncertain as they are apart
		both = hull
	}
	s.add(Relation{A: a, B: b, Rule: ClockSync, Low: both.low, High: both.high, Evidence: plural(rounds, "round") + " of a relay service"})
}
