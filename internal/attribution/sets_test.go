package attribution

import (
	"testing"
)

// A set keeps the old context of a type, or none, if the table of sets is full.
func TestSetLimits(t *testing.T) {
	most := LimitsFor(Full)
	s := newSets(most)
	s.Lists.maxCount = 3
	a, b := s.Member(Member{Type: 1, Node: 1}), s.Member(Member{Type: 2, Node: 2})
	one := s.With(0, a)
	two := s.With(one, b)
	if one == 0 || two == one || s.Full != 0 {
		t.Fatalf("sets %d and %d, %d had no room", one, two, s.Full)
	}
	if got := s.With(two, s.Member(Member{Type: 2, Node: 3})); got != two || s.Full != 1 {
		t.Errorf("set %d, %d had no room; want set %d, 1", got, s.Full, two)
	}
	if got := s.With(0, a); got != one {
		t.Errorf("set %d, want %d", got, one)
	}
	s.Lists.maxCount, s.Lists.maxTotal = 10, 4
	if got := s.With(0, b); got == 0 || len(s.Lists.values) != 4 {
		t.Errorf("set %d; %d entries in sets, want 4", got, len(s.Lists.values))
	}
	if got := s.With(0, s.Member(Member{Type: 5, Node: 1})); got != 0 {
		t.Errorf("set %d, want none", got)
	}
}
