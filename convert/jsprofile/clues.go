package jsprofile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/jsoninput"
	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/timeline"
)

// Clues are what a Chrome trace says about the clocks of the pages in it. Two things tell where the time origin of a page
// lies in the trace:
//
//   - Chrome records the self-profiles of pages in its own way too, as profiles of the source SelfProfiling. One whose
//     samples are those of the self-profile, all at one distance, gives the time origin to within a few microseconds.
//   - navigationStart is the time origin of the page that was navigated to. The page is the one of the self-profile if it
//     is among its scripts, as a page with a script in it is, and if no other navigation led there.
//
// Everything else, such as where in a trace a function runs that is in the profile too, would be guessing.
type Clues struct {
	profiles    []tracedProfile
	byID        map[tracedID]int // index in profiles
	navigations []navigation
	start, end  timeline.Nanos // of the trace
	any         bool           // start and end are known
}

// tracedID is what identifies a profile in a trace.
type tracedID struct {
	pid int64
	id  string
}

// tracedProfile is a profile in a trace.
type tracedProfile struct {
	pid, tid int64
	selfMade bool // of the source SelfProfiling
	now      timeline.Nanos
	times    []timeline.Nanos // of its samples
}

// navigation is a navigationStart.
type navigation struct {
	pid, tid int64
	ts       timeline.Nanos
	url      string
}

// ReadClues reads the clues of a Chrome JSON trace, which is unpacked. The error is one of r, or ctx's; what is no JSON ends
// the reading.
func ReadClues(ctx context.Context, r io.Reader) (*Clues, error) {
	c := &clueReader{
		s:     jsonscan.New(jsoninput.Cancelled(ctx, r)),
		clues: &Clues{byID: map[tracedID]int{}},
	}
	first, err := c.s.Peek()
	if err == nil && first == '{' {
		err = c.object()
	} else if err == nil && first == '[' {
		err = c.events()
	}
	if err != nil && err != io.EOF && err != jsonscan.ErrMalformed {
		return nil, fmt.Errorf("byte %d: %w", c.s.Offset(), err)
	}
	return c.clues, nil
}

// clueReader reads the events of a trace, as far as they are clues.
type clueReader struct {
	s     *jsonscan.Scanner
	sub   jsonscan.Scanner // reads arguments
	clues *Clues
}

// object reads the object form of a trace.
func (c *clueReader) object() error {
	c.s.Advance(1)
	for {
		first, err := c.s.Peek()
		switch {
		case err != nil || first == '}':
			return err
		case first == ',':
			c.s.Advance(1)
			continue
		}
		var key string
		err = c.unit(func() {
			if text, ok := c.s.Key(); ok {
				key = string(text)
			}
		})
		if err == nil {
			first, err = c.s.Peek()
		}
		switch {
		case err != nil:
			return err
		case key == "traceEvents" && first == '[':
			err = c.events()
		default:
			err = c.s.Discard()
		}
		if err != nil {
			return err
		}
	}
}

// events reads a list of events.
func (c *clueReader) events() error {
	c.s.Advance(1)
	for {
		first, err := c.s.Peek()
		switch {
		case err != nil:
			return err
		case first == ',':
			c.s.Advance(1)
			continue
		case first == ']':
			c.s.Advance(1)
			return nil
		case first != '{':
			err = c.s.Discard()
		default:
			var e clueEvent
			if err = c.unit(func() { e = c.event() }); err == nil {
				c.take(&e)
			}
		}
		if err != nil {
			return err
		}
	}
}

// unit reads one unit of the input with parse, which is called again whenever the window has to grow.
func (c *clueReader) unit(parse func()) error {
	for {
		parse()
		err := c.s.Err()
		if err != jsonscan.ErrShort {
			return err
		}
		if err := c.s.Fill(); err != nil {
			return err
		}
	}
}

// clueEvent is an event of a trace. Its texts are pieces of the scanner's window.
type clueEvent struct {
	name, id, args []byte
	pid, tid       int64
	ts, dur        timeline.Nanos
	timed          bool
}

// event reads an event.
func (c *clueReader) event() (e clueEvent) {
	c.s.Value()
	for key, ok := c.s.Key(); ok; key, ok = c.s.Key() {
		switch string(key) {
		case "name":
			_, e.name = c.s.Scalar()
		case "id":
			_, e.id = c.s.Scalar()
		case "args":
			_, e.args = c.s.Scalar()
		case "pid":
			e.pid = c.integer(c.s)
		case "tid":
			e.tid = c.integer(c.s)
		case "ts":
			_, text := c.s.Scalar()
			ts, ok := jsonscan.Decimal(text, 3)
			e.ts, e.timed = timeline.Nanos(ts), ok
		case "dur":
			_, text := c.s.Scalar()
			dur, _ := jsonscan.Decimal(text, 3)
			e.dur = timeline.Nanos(dur)
		default:
			c.s.Skip()
		}
	}
	return e
}

// integer reads an integer; 0 if the value is none.
func (c *clueReader) integer(s *jsonscan.Scanner) int64 {
	_, text := s.Scalar()
	n, _ := jsonscan.Int64(text)
	return n
}

// take looks at an event. Events at time 0 are metadata.
func (c *clueReader) take(e *clueEvent) {
	all := c.clues
	if !e.timed {
		return
	}
	if e.ts > 0 {
		if end, ok := shift(e.ts, max(e.dur, 0)); ok {
			all.end = max(all.end, end)
		}
		if !all.any || e.ts < all.start {
			all.start, all.any = e.ts, true
		}
	}
	switch string(e.name) {
	case "navigationStart":
		if url := c.navigationURL(e.args); url != "" {
			all.navigations = append(all.navigations, navigation{e.pid, e.tid, e.ts, url})
		}
	case "Profile", "ProfileChunk":
		c.profile(e)
	}
}

// data goes through the members of args.data.
func (c *clueReader) data(args []byte, member func(key []byte)) {
	c.sub.Reset(args)
	if kind, _ := c.sub.Value(); kind != jsonscan.Object {
		return
	}
	for key, ok := c.sub.Key(); ok; key, ok = c.sub.Key() {
		if string(key) != "data" {
			c.sub.Skip()
			continue
		}
		if kind, _ := c.sub.Value(); kind != jsonscan.Object {
			return
		}
		for key, ok := c.sub.Key(); ok; key, ok = c.sub.Key() {
			member(key)
		}
	}
}

func (c *clueReader) navigationURL(args []byte) (url string) {
	c.data(args, func(key []byte) {
		if string(key) != "documentLoaderURL" {
			c.sub.Skip()
			return
		}
		if kind, text := c.sub.Scalar(); kind == jsonscan.String {
			url = string(text)
		}
	})
	return url
}

// profile takes in the head of a profile, or a chunk of its samples.
func (c *clueReader) profile(e *clueEvent) {
	all := c.clues
	id := tracedID{e.pid, string(e.id)}
	at, ok := all.byID[id]
	if !ok {
		at = len(all.profiles)
		all.byID[id] = at
		all.profiles = append(all.profiles, tracedProfile{pid: e.pid, tid: e.tid})
	}
	p := &all.profiles[at]
	isHead := string(e.name) == "Profile"
	if isHead {
		p.tid = e.tid // chunks come from the thread that writes them
	}
	c.data(e.args, func(key []byte) {
		switch {
		case string(key) == "source":
			_, text := c.sub.Scalar()
			p.selfMade = string(text) == "SelfProfiling"
		case string(key) == "startTime" && isHead:
			_, text := c.sub.Scalar()
			start, _ := jsonscan.Decimal(text, 3)
			p.now = timeline.Nanos(start)
		case string(key) == "timeDeltas":
			c.deltas(p)
		default:
			c.sub.Skip()
		}
	})
}

// deltas reads a list of the times between samples.
func (c *clueReader) deltas(p *tracedProfile) {
	if kind, _ := c.sub.Value(); kind != jsonscan.Array {
		return
	}
	for c.sub.Elem() {
		_, text := c.sub.Scalar()
		delta, _ := jsonscan.Decimal(text, 3)
		p.now, _ = shift(p.now, timeline.Nanos(delta))
		p.times = append(p.times, p.now)
	}
}

// Match says where the time origin of a page lies in a Chrome trace, and how that is known.
type Match struct {
	Origin      timeline.Nanos
	Uncertainty timeline.Nanos // at most so far from the truth
	PID, TID    int64          // of the thread in the trace
	By          string         // BySamples or ByNavigation
}

// How a Match was found.
const (
	BySamples    = "samples"    // the trace has the same samples
	ByNavigation = "navigation" // the trace has the navigation to the page
)

// ErrNoCommonClock says that nothing in a Chrome trace tells where a self-profile belongs.
var ErrNoCommonClock = errors.New("no common clock")

// match finds the time origin of a profile.
func (c *Clues) match(p *profile) (Match, error) {
	times := make([]timeline.Nanos, len(p.samples))
	for i := range p.samples {
		times[i] = p.samples[i].ts
	}
	slices.Sort(times)
	found := c.matchSamples(times)
	if len(found) == 0 {
		found = c.matchNavigation(p, times)
	}
	switch {
	case len(found) == 0:
		return Match{}, fmt.Errorf("%w: the trace has neither the samples of this profile (as a profile of the source SelfProfiling) "+
			"nor the navigation to one of its pages; --time-origin can say where it belongs", ErrNoCommonClock)
	case len(found) > 1:
		return Match{}, fmt.Errorf("%w: %d places in the trace fit equally well; --time-origin can say which", ErrNoCommonClock, len(found))
	}
	return found[0], nil
}

// The steps in which browsers let pages see times: finer ones for pages that are isolated from others.
const (
	fineStep   timeline.Nanos = 5_000
	coarseStep timeline.Nanos = 100_000
	traceStep  timeline.Nanos = 1_000 // of the times in traces
)

// stepOf returns the step of a page's times.
func stepOf(times []timeline.Nanos) timeline.Nanos {
	for _, ts := range times {
		if ts%coarseStep != 0 {
			return fineStep
		}
	}
	return coarseStep
}

// matchSamples compares the times of a profile, sorted, with those of the profiles in the trace.
func (c *Clues) matchSamples(times []timeline.Nanos) (found []Match) {
	m := matcher{times: times, step: stepOf(times), budget: maxComparisons}
	for i := range c.profiles {
		p := &c.profiles[i]
		if !p.selfMade {
			continue
		}
		slices.Sort(p.times)
		for _, o := range m.offsets(p.times) {
			found = append(found, Match{
				Origin: o.low + (o.high-o.low)/2, Uncertainty: (o.high-o.low)/2 + traceStep, PID: p.pid, TID: p.tid, By: BySamples,
			})
		}
	}
	return found
}

const (
	// minMatched is the least number of samples that must be the same: so many cannot be by chance.
	minMatched = 16
	// maxComparisons bounds the search, which takes long if all samples are equally far apart. Then they tell nothing.
	maxComparisons = 1 << 26
)

// matcher compares the times of a profile with those of others.
type matcher struct {
	times  []timeline.Nanos
	step   timeline.Nanos
	budget int
}

// offsets is a range of distances between two clocks.
type offsets struct{ low, high timeline.Nanos }

// offsets returns the distances at which all times lie on others, one by one, where the two lists overlap: a trace may have
// begun later than the profile, or ended earlier. Of lists of one length that fit as they are, other fits do not count.
func (m *matcher) offsets(others []timeline.Nanos) (found []offsets) {
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

// compare reports whether two lists are the same at one distance, as far as both reach.
func (m *matcher) compare(times, others []timeline.Nanos) (o offsets, ok bool) {
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
			o = offsets{d, d}
		}
		o.low, o.high = min(o.low, d), max(o.high, d)
		if o.high-o.low > 2*m.step+2*traceStep {
			return o, false
		}
	}
	return o, true
}

// matchNavigation looks for the navigation to a page that is among the scripts of the profile.
func (c *Clues) matchNavigation(p *profile, times []timeline.Nanos) (found []Match) {
	if len(times) == 0 {
		return nil
	}
	pages := map[string]bool{}
	for _, resource := range p.resources {
		pages[withoutFragment(resource)] = true
	}
	for _, n := range c.navigations {
		first, ok1 := shift(times[0], n.ts)
		last, ok2 := shift(times[len(times)-1], n.ts)
		if pages[withoutFragment(n.url)] && ok1 && ok2 && first <= c.end && last >= c.start {
			found = append(found, Match{Origin: n.ts, Uncertainty: stepOf(times) + traceStep, PID: n.pid, TID: n.tid, By: ByNavigation})
		}
	}
	return found
}

func withoutFragment(url string) string {
	before, _, _ := strings.Cut(url, "#")
	return before
}
