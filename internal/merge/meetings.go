package merge

import (
	"cmp"
	"slices"
)

// meeting is a collective operation in which each input took part once: none leaves it before the last one has entered. A
// process group may have thousands of members, so nothing here compares all pairs.
type meeting []linked

// meetingOf returns the meeting of some events. It omits inputs that took part more than once, because which of their
// events belong together is unknown.
func meetingOf(members []linked) (m meeting) {
	for i, l := range members { // sorted by input
		if i > 0 && members[i-1].input == l.input || i+1 < len(members) && members[i+1].input == l.input {
			continue
		}
		m = append(m, l)
	}
	return m
}

// meet applies rule R6 to collectives. Inputs that meet directly or through others are related to one of them, the hub: first
// by the meetings that both attend, then through all of their meetings.
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
	apart, impossible := tighten(at, drifts, meetings)
	for p := range apart {
		s.meetApart(func(a, b int) *bounds { return boundsOf(all, a, b) }, p, meetings)
	}
	for _, m := range impossible {
		for _, at := range m {
			attended[at.input]--
		}
	}
	for i, hub := range hubs {
		if hub == i || attended[i] == 0 || drifts[i] || at[i] == everywhere {
			continue
		}
		b := boundsOf(all, min(i, hub), max(i, hub))
		b.causal, b.meetings = at[i].seenFrom(hub < i), attended[i]
	}
}

// hubs returns the hub of each input, and how many meetings the input attends. The hub is the reference for all inputs that
// meet it, directly or through others, and otherwise the first input of their set.
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

// meetHub adds a meeting between the hub and the other members.
func (s *solver) meetHub(all map[pair]*bounds, m meeting, hub linked) {
	for _, at := range m {
		x, y := hub, at
		if x.input == y.input {
			continue
		}
		if x.input > y.input {
			x, y = y, x
		}
		boundsOf(all, x.input, y.input).take(&x.linkClue, &y.linkClue, s.half(x))
	}
}

// seenFrom returns an interval of offsets from the point of view of the first or the second input of a pair.
func (i interval) seenFrom(first bool) interval {
	if first {
		return i
	}
	return interval{-i.high, -i.low}
}

// maxApart is the maximum number of inputs named as impossible to have met a given input.
const maxApart = 8

// tighten narrows offsets by all meetings: on the hub's clock, each meeting has a moment after every entry and before every
// exit, when all were there. A meeting without such a moment is impossible, and narrows nothing: apart holds the pairs of
// inputs in which one left such a meeting before the other entered it.
func tighten(at []interval, drifts []bool, meetings []meeting) (apart map[pair]bool, impossible []meeting) {
	apart = map[pair]bool{}
	named, skip := make([]int, len(at)), make([]bool, len(meetings))
	for range maxSettling {
		moved := false
		for k, m := range meetings {
			if skip[k] {
				continue
			}
			all, last, first := m.moment(at, drifts)
			if all.fits() {
				moved = m.narrow(at, drifts, all) || moved
				continue
			}
			skip[k], impossible = true, append(impossible, m)
			if p := (pair{min(last, first), max(last, first)}); !apart[p] && named[last] < maxApart && named[first] < maxApart {
				apart[p] = true
				named[last]++
				named[first]++
			}
		}
		if !moved {
			break
		}
	}
	return apart, impossible
}

// moment returns the time on the hub's clock when all were at a meeting, the input that entered last, and the one that left
// first.
func (m meeting) moment(at []interval, drifts []bool) (all interval, last, first int) {
	all = everywhere
	for _, l := range m {
		i := at[l.input]
		if drifts[l.input] {
			continue
		}
		if low := plus(i.low, l.ts); i.low > -unbounded && low > all.low {
			all.low, last = low, l.input
		}
		if high := plus(i.high, l.end); i.high < unbounded && high < all.high {
			all.high, first = high, l.input
		}
	}
	return all, last, first
}

// narrow narrows the offsets of a meeting's inputs by the time when all were there, and reports whether any changed.
func (m meeting) narrow(at []interval, drifts []bool, all interval) (moved bool) {
	for _, l := range m {
		if drifts[l.input] {
			continue
		}
		i := &at[l.input]
		was := *i
		if all.low > -unbounded {
			i.atLeast(minus(all.low, l.end))
		}
		if all.high < unbounded {
			i.atMost(minus(all.high, l.ts))
		}
		moved = moved || was != *i
	}
	return moved
}

// meetApart adds the bounds from all meetings between two inputs that cannot have met: these bounds contradict the places
// that other meetings give the inputs, or show that the clocks drift.
func (s *solver) meetApart(of func(a, b int) *bounds, p pair, meetings []meeting) {
	b := of(p.a, p.b)
	for _, m := range meetings {
		x, ok := m.member(p.a)
		y, ok2 := m.member(p.b)
		if ok && ok2 {
			b.take(&x.linkClue, &y.linkClue, s.half(x))
		}
	}
}

// member returns the event of an input at a meeting.
func (m meeting) member(input int) (l linked, ok bool) {
	k, ok := slices.BinarySearchFunc(m, input, func(l linked, input int) int { return cmp.Compare(l.input, input) })
	if ok {
		l = m[k]
	}
	return l, ok
}
