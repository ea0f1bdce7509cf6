package merge

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/readers/jsprofile"
)

// Match is the position of a page's time origin in a Chrome trace, and how it was found.
type Match struct {
	Origin      Nanos
	Uncertainty Nanos  // the largest error
	PID, TID    int64  // of the thread in the trace
	By          string // BySamples or ByNavigation

	Profile  string // the id of the trace's profile with the same samples; "" if found otherwise
	Same, Of int    // how many samples are the same, and how many the shorter list has
	Headed   bool   // the trace has that profile's start

	URL string // the address of a navigation's page
	At  Nanos  // the time of the navigation on the trace's clock
	Own bool   // the navigation is a tab's, to a page that contains scripts of the profile
}

// Values of Match.By.
const (
	BySamples    = "samples"    // the trace has the same samples
	ByNavigation = "navigation" // the trace has the navigation to the page
)

// ErrNoCommonClock means that nothing in a trace places a self-profile.
var ErrNoCommonClock = errors.New("no common clock")

// ErrNoSamples and ErrOtherClock explain why SelfProfiling profiles in a trace are of no use.
var (
	ErrNoSamples  = errors.New("it names one, but has none of its samples: merge the recording itself, or what --profile all makes of it")
	ErrOtherClock = errors.New("it has one, whose start is on another clock than the trace")
)

// ClockError is an ErrNoCommonClock with its reason.
type ClockError struct {
	Places []Match // equally good places; empty: none fits
	Why    error   // ErrNoSamples, ErrOtherClock, or nil
}

// maxNamed is the maximum number of places named in an error.
const maxNamed = 4

func (e *ClockError) Error() string {
	if len(e.Places) > 0 {
		text := fmt.Sprintf("%v: %d places in the trace fit equally well", ErrNoCommonClock, len(e.Places))
		for i, m := range e.Places[:min(len(e.Places), maxNamed)] {
			if m.By == ByNavigation {
				text += fmt.Sprintf("%s to %s at %.6f s", [...]string{": the navigations", ","}[min(i, 1)], m.URL, float64(m.At)/1e9)
			}
		}
		return text
	}
	why := ""
	if e.Why != nil {
		why = "; " + e.Why.Error()
	}
	return fmt.Sprintf("%v: the trace has neither the samples of this profile (as a profile of the source SelfProfiling%s) "+
		"nor the navigation to one of its pages", ErrNoCommonClock, why)
}

// Is reports whether an error is ErrNoCommonClock.
func (e *ClockError) Is(err error) bool { return err == ErrNoCommonClock }

// Unwrap returns why no place fits.
func (e *ClockError) Unwrap() error { return e.Why }

// Places finds where the time origin of a page may be: where the trace has the same samples, otherwise at navigations. The
// address of a navigation need not be among the profile's scripts, because a profile lists the scripts of all frames of its
// origin, but nothing for a page without inline scripts. The error is a *ClockError.
func (c *Traced) Places(page *jsprofile.Times) ([]Match, error) {
	found := c.matchSamples(page)
	if len(found) > 1 {
		return nil, &ClockError{Places: found}
	}
	if len(found) == 0 {
		if found = c.matchNavigation(page); len(found) == 0 {
			return nil, &ClockError{Why: c.missing()}
		}
	}
	return found, nil
}

// ErrOtherSamples means that a trace has self-profiles of the page's thread, but not this one.
var ErrOtherSamples = errors.New("the trace has a self-profile of this page and time, with other samples: the two do not seem to be of one recording")

// Len returns how many samples and navigations Places looks at.
func (c *Traced) Len() int {
	n := len(c.navigations)
	for i := range c.profiles {
		n += len(c.profiles[i].times)
	}
	return n
}

// missing explains why the trace's SelfProfiling profiles are of no use.
func (c *Traced) missing() error {
	for i := range c.profiles {
		p := &c.profiles[i]
		switch {
		case !p.selfMade:
		case p.otherClock:
			return ErrOtherClock
		case len(p.times) == 0:
			return ErrNoSamples
		}
	}
	return nil
}

// traceStep is the resolution of times in traces.
const traceStep Nanos = 1_000

// matchSamples finds where a profile's sample times match profiles in the trace.
func (c *Traced) matchSamples(page *jsprofile.Times) (found []Match) {
	m := matcher{times: page.Times, step: page.Step, budget: maxComparisons}
	for i := range c.profiles {
		p := &c.profiles[i]
		if !p.selfMade || p.otherClock {
			continue
		}
		for _, o := range m.offsets(p.times) {
			found = append(found, Match{
				Origin: o.low + (o.high-o.low)/2, Uncertainty: (o.high-o.low)/2 + traceStep + p.slack, PID: p.pid, TID: p.tid, By: BySamples,
				Profile: p.id, Same: o.same, Of: min(len(page.Times), len(p.times)), Headed: p.headed,
			})
		}
	}
	return found
}

const (
	// minMatched is the smallest number of equal samples that cannot be chance.
	minMatched = 16
	// maxComparisons bounds the search, which is slow if all samples are evenly spaced. Such samples prove nothing.
	maxComparisons = 1 << 26
)

// matcher compares a profile's times with other profiles.
type matcher struct {
	times  []Nanos
	step   Nanos
	budget int
}

// offsets is a range of distances between two clocks.
type offsets struct {
	low, high Nanos
	same      int // how many times coincide with others
}

// offsets returns the distances at which all times coincide with others where the two lists overlap: a trace may start later
// than the profile, or end earlier. If two lists of equal length match from end to end, other matches do not count.
func (m *matcher) offsets(others []Nanos) (found []offsets) {
	if len(m.times) == len(others) && len(others) >= minMatched {
		if o, ok := m.compare(m.times, others); ok {
			return []offsets{o}
		}
	}
	least := max(minMatched, min(len(m.times), len(others))*9/10)
	for skip := 0; len(m.times)-skip >= least; skip++ {
		if o, ok := m.compare(m.times[skip:], others); ok {
			found = append(found, o)
		}
	}
	for skip := 1; len(others)-skip >= least; skip++ {
		if o, ok := m.compare(m.times, others[skip:]); ok {
			found = append(found, o)
		}
	}
	return found
}

// compare reports whether two lists, as far as both reach, differ by one constant distance.
func (m *matcher) compare(times, others []Nanos) (o offsets, ok bool) {
	n := min(len(times), len(others))
	if n < minMatched {
		return o, false
	}
	for i := range n {
		if m.budget--; m.budget < 0 {
			return o, false
		}
		d := others[i] - times[i]
		if i == 0 {
			o = offsets{d, d, n}
		}
		o.low, o.high = min(o.low, d), max(o.high, d)
		if o.high-o.low > 2*m.step+2*traceStep {
			return o, false
		}
	}
	return o, true
}

// MatchSame finds the profile in the trace that matches the sample times of another recorder of the same engine: all times are
// at the same distance from the profile's. If several profiles match, it returns the first.
func (c *Traced) MatchSame(times []Nanos) (Match, bool) {
	m := matcher{times: times, step: 0, budget: maxComparisons}
	for i := range c.profiles {
		p := &c.profiles[i]
		for _, o := range m.offsets(p.times) {
			tid := p.tid
			if !p.headed { // chunks come from the thread that writes them
				tid = p.pid
			}
			return Match{
				Origin: o.low + (o.high-o.low)/2, Uncertainty: (o.high-o.low)/2 + traceStep, PID: p.pid, TID: tid, By: BySamples,
				Profile: p.id, Same: o.same, Of: min(len(times), len(p.times)), Headed: p.headed,
			}, true
		}
	}
	return Match{}, false
}

// matchNavigation finds navigations to pages that are among the profile's scripts, and others on the same thread and to the
// same origin.
func (c *Traced) matchNavigation(page *jsprofile.Times) (found []Match) {
	type owner struct {
		pid, tid int64
		origin   string
	}
	scripts, owners := map[string]bool{}, map[owner]bool{}
	for _, resource := range page.Resources {
		scripts[withoutFragment(resource)] = true
	}
	for i := range c.navigations {
		if n := &c.navigations[i]; scripts[withoutFragment(n.url)] {
			owners[owner{n.pid, n.tid, originOf(n.url)}] = true
		}
	}
	for i := range c.navigations {
		n := &c.navigations[i]
		if !owners[owner{n.pid, n.tid, originOf(n.url)}] {
			continue
		}
		m := Match{
			Origin: n.ts, Uncertainty: page.Step + traceStep, PID: n.pid, TID: n.tid, By: ByNavigation,
			URL: n.url, At: n.ts, Own: !n.inFrame && scripts[withoutFragment(n.url)],
		}
		if page.Origin != nil {
			m.Origin = minus(n.ts, *page.Origin)
		}
		if span, ok := spanAt(page, m.Origin); ok && span.From <= c.end && span.To >= c.start {
			found = append(found, m)
		}
	}
	return found
}

// spanAt returns the time span of a page's samples, moved by an offset. It returns false if there are no samples.
func spanAt(t *jsprofile.Times, by Nanos) (span Range, ok bool) {
	if len(t.Times) == 0 {
		return span, false
	}
	return Range{plus(t.Times[0], by), plus(t.Times[len(t.Times)-1], by)}, true
}

// HasOthers reports whether the trace has other self-profile samples of the thread at a possible place of a page. A trace of
// that recording would contain the page's samples too.
func (c *Traced) HasOthers(page *jsprofile.Times, at *Match) bool {
	span, ok := spanAt(page, at.Origin)
	for i := range c.profiles {
		p := &c.profiles[i]
		if !ok || !p.selfMade || p.otherClock || p.mixed || p.pid != at.PID || p.tid != at.TID || len(p.times) < minMatched {
			continue
		}
		theirs := between(p.times, span.From, span.To)
		ours := between(page.Times, p.times[0]-at.Origin, p.times[len(p.times)-1]-at.Origin)
		if theirs >= minMatched && ours >= minMatched {
			return true
		}
	}
	return false
}

// between counts the sorted times in a range.
func between(times []Nanos, first, last Nanos) int {
	from, _ := slices.BinarySearch(times, first)
	to, _ := slices.BinarySearch(times, last+1)
	return max(to-from, 0)
}

func withoutFragment(url string) string {
	before, _, _ := strings.Cut(url, "#")
	return before
}

// originOf returns the scheme and authority of an address.
func originOf(url string) string {
	if at := strings.Index(url, "://"); at >= 0 {
		if path := strings.IndexAny(url[at+3:], "/?#"); path >= 0 {
			return url[:at+3+path]
		}
	}
	return url
}
