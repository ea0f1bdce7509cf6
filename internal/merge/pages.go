package merge

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/weft-trace/weft/internal/readers/jsprofile"
	"github.com/weft-trace/weft/internal/timeline"
)

// Page holds the place in a trace, and in time, of one profile from an input of JS self-profiles.
type Page struct {
	Match *Match // in the first trace that places it; nil: none does
	Err   error  // why Match is nil
	Shift Nanos  // added to its times together with the input's offset: the times of each page are relative to its own time origin

	trace  int   // the input that Match refers to
	tied   bool  // Shift is known from traces with several profiles of the file
	within Nanos // the uncertainty of Shift if tied
	alone  bool  // another page of the file is in another process with this pid
}

// Thread returns the page's thread. It returns nil if the thread is unknown, or if its pid belongs to another process in the
// file.
func (p *Page) Thread() *Thread {
	if p.Match == nil || p.alone {
		return nil
	}
	return &Thread{p.Match.PID, p.Match.TID}
}

// profileFile holds what traces reveal about the profiles in an input of JS self-profiles.
type profileFile struct {
	pages []Page
	first int                  // the page whose time origin the input's offset refers to
	found map[int][]tracedPage // by trace
	with  [][]int              // by page: the traces that contain it
}

// tracedPage is a profile that was found in a trace.
type tracedPage struct {
	page  int
	match *Match
}

// selfProfiles applies rule R1 to the profiles that pages record of themselves. Their times are relative to several time origins,
// so the input's offset refers to the same page in all traces. A trace without this page yields the offset through another page if
// other traces reveal the distance between the two.
func (s *solver) selfProfiles(b int) {
	f := s.findPages(b)
	if f == nil {
		return
	}
	s.files[b] = f
	f.pages[f.first].tied = true
	related := map[int]bool{}
	for queue := []int{f.first}; len(queue) > 0; queue = queue[1:] {
		for _, a := range f.with[queue[0]] {
			if !related[a] {
				related[a] = true
				r, tied := f.relate(a, b, queue[0])
				s.add(r)
				queue = append(queue, tied...)
			}
		}
	}
}

// findPages finds the pages of an input in the traces; nil: no trace has any of them.
func (s *solver) findPages(b int) *profileFile {
	all := s.in[b].Clues.Pages
	f := &profileFile{pages: make([]Page, len(all)), first: -1, found: map[int][]tracedPage{}, with: make([][]int, len(all))}
	for a := range s.in {
		if !s.mayHave(a, b) {
			continue
		}
		for i := range all {
			if err := s.findPage(f, a, i, &all[i]); err != nil && s.why[b] == nil {
				s.why[b] = err
			}
		}
		if found := f.found[a]; len(found) > 0 && (f.first < 0 || a == s.plan.Reference) {
			f.first = found[0].page
		}
	}
	if f.first < 0 {
		return nil
	}
	return f
}

// findPage finds a page in a trace. The error explains why it is not found.
func (s *solver) findPage(f *profileFile, trace, i int, times *jsprofile.Times) error {
	p := &f.pages[i]
	m, err := s.match(trace, times)
	if err != nil {
		if len(f.pages) > 1 {
			err = fmt.Errorf("the profile at byte %d: %w", times.Offset, err)
		}
		if p.Match == nil && p.Err == nil {
			p.Err = err
		}
		return err
	}
	if p.Match == nil {
		p.Match, p.Err, p.trace = &m, nil, trace
	}
	f.found[trace] = append(f.found[trace], tracedPage{i, &m})
	f.with[i] = append(f.with[i], trace)
	return nil
}

// maxMatched bounds the work of comparing self-profiles with traces: the number of samples, scripts and navigations.
const maxMatched = 1 << 28

// errManyPages means that a profile was not compared because of maxMatched.
var errManyPages = errors.New("there are too many self-profiles to compare all of them with the traces")

// match finds the place of a self-profile in a trace.
func (s *solver) match(trace int, page *jsprofile.Times) (m Match, err error) {
	c := s.in[trace].Clues
	if s.matched += c.Traced.Len() + len(page.Times) + len(page.Resources); s.matched > maxMatched {
		return m, errManyPages
	}
	places, err := c.Traced.Places(page)
	if err != nil {
		return m, err
	}
	if places[0].By == ByNavigation {
		if places, err = s.navigated(c, page, places); err != nil {
			return m, err
		}
	}
	return places[0], nil
}

// navigated finds the navigation to the page of a self-profile. It prefers the navigation at the page's time origin by the wall
// clock, then one that puts the samples into script calls, then the only one in a tab itself (not in a frame) to a page that
// contains scripts of the profile.
func (s *solver) navigated(c *Clues, page *jsprofile.Times, places []Match) ([]Match, error) {
	if c.Wall != nil && page.Origin != nil {
		places = chosen(places, func(m *Match) bool {
			return abs(minus(plus(m.At, c.Wall.Middle()), *page.Origin)) <= sameStart
		})
	}
	var why error
	var fitting, sure []Match
	for i := range places {
		m := &places[i]
		thread := Thread{m.PID, m.TID}
		if s.matched += c.Traced.Len() + len(page.Script) + len(c.Invocations[thread]); s.matched > maxMatched {
			return nil, errManyPages
		}
		if c.Traced.HasOthers(page, m) {
			why = ErrOtherSamples
			continue
		}
		switch found := c.scriptsIn(thread, c.scriptOf(page.Script, m.Origin), m.Origin, m.Uncertainty); {
		case found.of < minSame || len(c.Invocations[thread]) == 0:
			fitting = append(fitting, *m)
		case found.share() >= confirmed:
			sure = append(sure, *m)
		default:
			why = cmp.Or[error](why, &UnconfirmedError{In: found.in, Of: found.of, Needs: minSame})
		}
	}
	if len(sure) == 0 {
		sure = fitting
	}
	sure = chosen(sure, func(m *Match) bool { return m.Own })
	switch len(sure) {
	case 0:
		return nil, why
	case 1:
		return sure, nil
	}
	return nil, &ClockError{Places: sure}
}

// chosen returns the only place that meets a condition, or all places if none or several meet it.
func chosen(places []Match, holds func(m *Match) bool) []Match {
	var found []Match
	for i := range places {
		if holds(&places[i]) {
			found = append(found, places[i])
		}
	}
	if len(found) == 1 {
		return found
	}
	return places
}

// relate returns the relation between trace a and input b, found through the input's page by, which is already tied to the first
// page. It ties the remaining pages found in the trace to the first page too, and returns them.
func (f *profileFile) relate(a, b, by int) (r Relation, tied []int) {
	var m *Match
	for _, t := range f.found[a] {
		if t.page == by {
			m = t.match
		}
	}
	page := &f.pages[by]
	origin, within := minus(m.Origin, page.Shift), plus(m.Uncertainty, page.within) // time origin of the first page
	r = Relation{A: a, B: b, Rule: SameSamples, Low: minus(origin, within), High: plus(origin, within), Evidence: evidenceOf(m)}
	if len(f.pages) > 1 {
		r.Evidence += fmt.Sprintf("; %d of %d profiles of the file found", len(f.found[a]), len(f.pages))
	}
	for _, t := range f.found[a] {
		if p := &f.pages[t.page]; !p.tied {
			p.tied, p.Shift, p.within = true, minus(t.match.Origin, origin), plus(within, t.match.Uncertainty)
			tied = append(tied, t.page)
		}
	}
	return r, tied
}

// placePages places the pages of an input once all inputs are placed.
func (s *solver) placePages(i int, f *profileFile) {
	p := &s.plan.Inputs[i]
	p.Pages, p.Thread = f.pages, f.pages[f.first].Thread()
	given := i != s.plan.Reference && p.Rule == Given // one offset for all pages
	traces := map[int64]int{}                         // the trace of each process, by pid
	s.pageProcess(i, &f.pages[f.first], traces)
	for k := range f.pages {
		page := &f.pages[k]
		switch {
		case page.Match == nil:
			continue
		case given:
			page.Shift = 0
		case !page.tied: // its trace was placed without this page
			page.Shift = minus(plus(s.plan.Inputs[page.trace].Offset, page.Match.Origin), p.Offset)
		}
		s.pageProcess(i, page, traces)
	}
	if span, any := pagesSpan(s.in[i].Clues.Pages, f.pages); any {
		p.Span = Range{plus(span.From, p.Offset), plus(span.To, p.Offset)}
	}
}

// pageProcess records that the process of a page is a process of its trace, unless the pid belongs to another process of the
// input.
func (s *solver) pageProcess(i int, page *Page, traces map[int64]int) {
	thread := page.Thread()
	trace, known := traces[thread.PID]
	if known && trace != page.trace && !s.plan.Shares(trace, page.trace, timeline.ProcessKey{Num: thread.PID}) {
		page.alone = true
		return
	}
	traces[thread.PID] = page.trace
	s.shareProcess(i, page.trace, *thread)
}

// WithPages returns the clues of an input of JS self-profiles.
func WithPages(pages []jsprofile.Times) *Clues {
	c := &Clues{Pages: pages}
	var span Range
	span, c.Any = pagesSpan(pages, nil)
	c.Start, c.End = span.From, span.To
	return c.WithProcesses()
}

// pagesSpan returns the time span of the profiles' samples, moved to their places where these are known. A profile that has
// neither a time origin nor a place is assumed to start with the earliest of the others.
func pagesSpan(all []jsprofile.Times, places []Page) (span Range, any bool) {
	shifts, earliest, known := make([]Nanos, len(all)), Nanos(0), false
	lost := make([]bool, len(all))
	for i := range all {
		origin := all[i].Origin
		placed := i < len(places) && places[i].Match != nil
		if lost[i] = !placed && origin == nil; lost[i] {
			continue
		}
		if placed {
			shifts[i] = places[i].Shift
		}
		from := shifts[i]
		if origin != nil {
			from = plus(from, *origin)
		}
		if !known || from < earliest {
			earliest, known = from, true
		}
	}
	for i := range all {
		times := all[i].Times
		if lost[i] {
			shifts[i] = earliest
		}
		if len(times) == 0 {
			continue
		}
		from, to := plus(times[0], shifts[i]), plus(times[len(times)-1], shifts[i])
		if !any {
			span, any = Range{from, to}, true
		}
		span = Range{min(span.From, from), max(span.To, to)}
	}
	return span, any
}
