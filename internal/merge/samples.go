package merge

import (
	"errors"
	"fmt"

	"github.com/weft-trace/weft/internal/readers/jsprofile"
)

// Page is the place of one profile of an input of JS self-profiles.
type Page struct {
	Match *jsprofile.Match // in a trace; nil: nothing there tells where it belongs
	Err   error            // why Match is nil
	Shift Nanos            // is added to its times, beside the offset of the input: each page counts from its own time origin
}

// Thread returns the thread of the page; nil if it is not known.
func (p *Page) Thread() *Thread {
	if p.Match == nil {
		return nil
	}
	return &Thread{p.Match.PID, p.Match.TID}
}

// tie says that a profile is of a thread of another input.
type tie struct {
	input  int
	thread Thread
	pages  []Page // of an input of self-profiles, which is of these threads
}

// samples is rule R1: the profile b is one of those in the trace a.
func (s *solver) samples(a, b int) {
	if s.in[a].Clues.Traced == nil || s.apart(a, b) {
		return
	}
	switch p := s.in[b].Clues; {
	case p.CPUProfile:
		s.cpuProfile(a, b)
	case len(p.Pages) > 0:
		s.selfProfiles(a, b)
	}
}

// sameStart is how far the start of a profile in a trace may be from that of a .cpuprofile with the same samples, if both are by one
// clock.
const sameStart Nanos = 10_000_000

// cpuProfile is rule R1 for a .cpuprofile.
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
	s.ties[b] = append(s.ties[b], tie{input: a, thread: Thread{m.PID, m.TID}})
}

// selfProfiles is rule R1 for the profiles that pages have made of themselves: the first one that is in the trace tells the offset, and the
// others are moved as far from it as the trace says.
func (s *solver) selfProfiles(a, b int) {
	traced, all := s.in[a].Clues.Traced, s.in[b].Clues.Pages
	pages, found := make([]Page, len(all)), 0
	var first *jsprofile.Match
	for i := range all {
		m, err := s.match(traced, &all[i])
		if err != nil {
			if len(all) > 1 {
				err = fmt.Errorf("the profile at byte %d: %w", all[i].Offset, err)
			}
			if pages[i].Err = err; s.why[b] == nil {
				s.why[b] = err
			}
			continue
		}
		if found++; found == 1 {
			first = &m
		}
		pages[i] = Page{Match: &m, Shift: minus(m.Origin, first.Origin)}
	}
	if first == nil {
		return
	}
	r := Relation{
		A: a, B: b, Rule: SameSamples, Low: first.Origin - first.Uncertainty, High: first.Origin + first.Uncertainty, Evidence: evidenceOf(first),
	}
	if len(all) > 1 {
		r.Evidence += fmt.Sprintf("; %d of %d profiles of the file found", found, len(all))
	}
	s.add(r)
	s.ties[b] = append(s.ties[b], tie{a, Thread{first.PID, first.TID}, pages})
}

// maxMatched bounds the comparing of self-profiles with traces: their samples, scripts and navigations, one by one.
const maxMatched = 1 << 28

// errManyPages says why a profile was not compared.
var errManyPages = errors.New("there are too many self-profiles to compare all of them with the traces")

// match finds a self-profile in a trace.
func (s *solver) match(traced *jsprofile.Clues, page *jsprofile.Times) (m jsprofile.Match, err error) {
	if s.matched += traced.Len() + len(page.Times) + len(page.Resources); s.matched > maxMatched {
		return m, errManyPages
	}
	return traced.MatchTimes(page.Times, page.Resources)
}

// evidenceOf says by what a profile was found.
func evidenceOf(m *jsprofile.Match) string {
	if m.By == jsprofile.ByNavigation {
		return "navigation to its page"
	}
	return fmt.Sprintf("profile %s, %d of %d", m.Profile, m.Same, m.Of)
}
