package merge

// meeting is a collective that inputs took part in, each once: none leaves it before the last one has entered. A process group may have
// thousands of members, so nothing here compares all pairs of them.
type meeting []linked

// meetingOf returns a meeting without inputs that took part more than once: which of their events belong together is not known.
func meetingOf(members []linked) (m meeting) {
	for i, l := range members { // of one input after the other
		if i > 0 && members[i-1].input == l.input || i+1 < len(members) && members[i+1].input == l.input {
			continue
		}
		m = append(m, l)
	}
	return m
}

// meet is rule R6 for collectives. Those that meet directly or over others are related to one of them, the hub: first by the meetings that both
// attend, then over all of their meetings.
func (s *solver) meet(all map[pair]*bounds, meetings []meeting) {
	hubs, attended := s.hubs(meetings)
	for _, m := range meetings {
		for _, at := range m {
			if at.input == hubs[at.input] {
				s.meetHub(all, m, at)
				break
			}
		}
	}
	at := make([]interval, len(s.in)) // the offsets to the hub
	drifts := make([]bool, len(s.in))
	for i, hub := range hubs {
		at[i] = everywhere
		if hub == i {
			at[i] = interval{}
		} else if b := all[pair{min(i, hub), max(i, hub)}]; b != nil && attended[i] > 0 {
			at[i] = b.causal.seenFrom(hub < i)
			drifts[i] = !at[i].fits()
		}
	}
	if !tighten(at, drifts, meetings) {
		return
	}
	for i, hub := range hubs {
		if hub == i || attended[i] == 0 || drifts[i] || at[i] == everywhere {
			continue
		}
		b := boundsOf(all, min(i, hub), max(i, hub))
		b.causal, b.meetings = at[i].seenFrom(hub < i), attended[i]
	}
}

// hubs returns the hub of each input, and how many meetings it attends: the reference for all who meet it, directly or over others, else
// the first of them.
func (s *solver) hubs(meetings []meeting) (hubs groups, attended []int) {
	sets, attended := newGroups(len(s.in)), make([]int, len(s.in))
	for _, m := range meetings {
		for _, at := range m {
			if len(m) > 1 {
				sets.join(m[0].input, at.input)
				attended[at.input]++
			}
		}
	}
	hubs = make(groups, len(s.in))
	ofReference := sets.find(s.plan.Reference)
	for i := range hubs {
		if hubs[i] = sets.find(i); hubs[i] == ofReference {
			hubs[i] = s.plan.Reference
		}
	}
	return hubs, attended
}

// meetHub takes over a meeting between its members and the hub, which is one of them.
func (s *solver) meetHub(all map[pair]*bounds, m meeting, hub linked) {
	for _, at := range m {
		x, y := hub, at
		if x.input == y.input {
			continue
		}
		if x.input > y.input {
			x, y = y, x
		}
		b := boundsOf(all, x.input, y.input)
		b.take(&x.linkClue, &y.linkClue, s.half(x))
		b.meetings++
	}
}

// seenFrom returns an interval of offsets as it is from the one input of a pair, or from the other one.
func (i interval) seenFrom(first bool) interval {
	if first {
		return i
	}
	return interval{-i.high, -i.low}
}

// tighten narrows offsets over all meetings: on the clock of the hub each has a moment when all were there, which is after every entry and before
// every leaving. Not ok: no offsets suit all meetings.
func tighten(at []interval, drifts []bool, meetings []meeting) (ok bool) {
	for range maxSettling {
		moved := false
		for _, m := range meetings {
			all := everywhere // when all were there
			for _, l := range m {
				if i := at[l.input]; !drifts[l.input] {
					if i.low > -unbounded {
						all.atLeast(plus(i.low, l.ts))
					}
					if i.high < unbounded {
						all.atMost(plus(i.high, l.end))
					}
				}
			}
			for _, l := range m {
				i := &at[l.input]
				if drifts[l.input] {
					continue
				}
				was := *i
				if all.low > -unbounded {
					i.atLeast(minus(all.low, l.end))
				}
				if all.high < unbounded {
					i.atMost(minus(all.high, l.ts))
				}
				if !i.fits() {
					return false
				}
				moved = moved || was != *i
			}
		}
		if !moved {
			break
		}
	}
	return true
}
