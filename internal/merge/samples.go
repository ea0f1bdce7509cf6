package merge

import (
	"fmt"
)

// tie is the thread in another input that a profile belongs to.
type tie struct {
	input  int
	thread Thread
}

// samples applies rule R1: it looks for the profiles of input b in the traces.
func (s *solver) samples(b int) {
	switch p := s.in[b].Clues; {
	case p == nil:
	case p.CPUProfile && len(p.Samples) > 0:
		for a := range s.in {
			if s.mayHave(a, b) {
				s.cpuProfile(a, b)
			}
		}
	case len(p.Pages) > 0:
		s.selfProfiles(b)
	}
}

// mayHave reports whether input a is a trace that may contain the profiles of input b.
func (s *solver) mayHave(a, b int) bool {
	c := s.in[a].Clues
	return a != b && c != nil && c.Traced != nil && !s.apart(a, b)
}

// sameStart is how far the start of a profile in a trace may be from the start of a .cpuprofile with the same samples, if both use
// the same clock.
const sameStart Nanos = 10_000_000

// cpuProfile applies rule R1 to a .cpuprofile.
func (s *solver) cpuProfile(a, b int) {
	m, ok := s.in[a].Clues.Traced.MatchSame(s.in[b].Clues.Samples)
	if !ok {
		return
	}
	r := Relation{A: a, B: b, Rule: SameSamples, Evidence: evidenceOf(&m)}
	if m.Headed && (m.Origin > sameStart || m.Origin < -sameStart) {
		r.Low, r.High = m.Origin-m.Uncertainty, m.Origin+m.Uncertainty
	}
	s.add(r)
	s.ties[b] = append(s.ties[b], tie{a, Thread{m.PID, m.TID}})
}

// evidenceOf describes how a profile was found.
func evidenceOf(m *Match) string {
	if m.By == ByNavigation {
		return "navigation to its page"
	}
	return fmt.Sprintf("profile %s, %d of %d", m.Profile, m.Same, m.Of)
}
