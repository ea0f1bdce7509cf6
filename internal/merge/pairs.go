package merge

import (
	"cmp"
	"slices"
)

// manyInputs is the largest number of inputs for which all pairs are compared.
const manyInputs = 128

// findPairs chooses the pairs of inputs to compare. Up to manyInputs inputs are compared in all pairs. If there are more, each
// input is compared with the reference, with the previous input, and with the first input from its boot, from its host, from
// its pid space, and with a known wall clock. Inputs that would otherwise be related directly are then related through others.
func (s *solver) findPairs() {
	s.findBoots()
	known := map[pair]bool{}
	add := func(a, b int) {
		p := pair{min(a, b), max(a, b)}
		if a >= 0 && a != b && !known[p] {
			known[p] = true
			s.pairs = append(s.pairs, p)
		}
	}
	before, walled := -1, -1
	ofHost, ofSpace := map[string]int{}, map[int]int{}
	for b := range s.in {
		c := s.in[b].Clues
		switch {
		case c == nil:
			continue
		case len(s.in) <= manyInputs:
			for a := range b {
				if s.in[a].Clues != nil {
					add(a, b)
				}
			}
			continue
		}
		add(s.plan.Reference, b)
		add(before, b)
		if boot := s.bootOf[b]; boot >= 0 {
			add(s.boots[boot].first, b)
		}
		if host := s.host(b); host != "" {
			add(firstOf(ofHost, host, b), b)
		}
		add(firstOf(ofSpace, s.plan.spaces.find(b), b), b)
		if c.Wall != nil {
			if walled < 0 {
				walled = b
			}
			add(walled, b)
		}
		before = b
	}
	slices.SortFunc(s.pairs, compareLater)
}

// firstOf returns the value stored for a key. If there is none, it stores and returns b.
func firstOf[K comparable](first map[K]int, key K, b int) int {
	a, ok := first[key]
	if !ok {
		first[key], a = b, b
	}
	return a
}

// boot holds the inputs from one boot of a host. REALTIME − MONOTONIC identifies it.
type boot struct {
	from, to Nanos
	first    int
	inputs   []int
}

// findBoots finds the boot of each input; -1: unknown.
func (s *solver) findBoots() {
	type print struct {
		at    Nanos
		input int
	}
	var all []print
	s.bootOf = make([]int, len(s.in))
	for i := range s.in {
		s.bootOf[i] = -1
		if c := s.in[i].Clues; c != nil {
			if at, ok := c.fingerprint(); ok {
				all = append(all, print{at, i})
			}
		}
	}
	slices.SortFunc(all, func(x, y print) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.input, y.input)) })
	for _, p := range all {
		last := len(s.boots) - 1
		if last < 0 || p.at-s.boots[last].from > sameBoot {
			s.boots = append(s.boots, boot{from: p.at, first: p.input})
			last++
		}
		b := &s.boots[last]
		b.to, b.first, b.inputs = p.at, min(b.first, p.input), append(b.inputs, p.input)
		s.bootOf[p.input] = last
	}
}

// bootAt returns the index of the boot with a given REALTIME − MONOTONIC, or -1 if there is none.
func (s *solver) bootAt(print Nanos) int {
	after, _ := slices.BinarySearchFunc(s.boots, print, func(b boot, at Nanos) int { return cmp.Compare(b.from, at) })
	best, off := -1, sameBoot+1
	for _, i := range [...]int{after - 1, after} {
		if i < 0 || i >= len(s.boots) {
			continue
		}
		if d := max(minus(s.boots[i].from, print), minus(print, s.boots[i].to), 0); d < off {
			best, off = i, d
		}
	}
	return best
}
