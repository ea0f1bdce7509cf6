package merge

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/readers/jsprofile"
	"github.com/weft-trace/weft/internal/timeline"
)

// Traces with the navigations to pages, at 1 s to p and at 1.5 s to q.
const (
	navigationP = `{"name":"navigationStart","ph":"P","pid":5,"tid":6,"ts":1000000,"args":{"data":{"documentLoaderURL":"p"}}}`
	navigationQ = `{"name":"navigationStart","ph":"P","pid":7,"tid":8,"ts":1500000,"args":{"data":{"documentLoaderURL":"q"}}}`
)

// tracedInput returns a trace with some events.
func tracedInput(t *testing.T, name string, events ...string) Input {
	t.Helper()
	text := "[" + strings.Join(append(events, `{"name":"end","ph":"i","pid":5,"tid":6,"ts":9000000}`), ",") + "]"
	c := &Clues{Clock: ClockMonotonic, Monotonic: true, Traced: tracedIn(t, text), Any: true, Start: 1_000_000_000, End: 9_000_000_000}
	return Input{Name: name, Clues: c.WithProcesses()}
}

// pageProfiles returns an input with the profiles of two pages, with samples at 100 ms and 120 ms on the first page's clock and
// at 20 ms on the second page's clock.
func pageProfiles(first, second string) Input {
	return Input{Name: "profiles", Clues: WithPages([]jsprofile.Times{
		{Times: []timeline.Nanos{100_000_000, 120_000_000}, Resources: []string{first}},
		{Times: []timeline.Nanos{20_000_000}, Resources: []string{second}, Offset: 300},
	})}
}

// pagesOf returns a trace with the navigations to two pages, and an input with the profiles of two pages.
func pagesOf(t *testing.T, first, second string) []Input {
	t.Helper()
	return []Input{tracedInput(t, "trace", navigationP, navigationQ), pageProfiles(first, second)}
}

// Each profile in a file has its own page; the first one found in the trace determines the offset of the file, whichever of
// the two is the reference.
func TestPages(t *testing.T) {
	for _, c := range []struct {
		first, second string
		given         []GivenOffset
		offset        Nanos
		shifts        [2]Nanos
		pids          [2]int64 // 0: not found
		evidence      string
		span          Range
	}{
		{"p", "q", nil, 1_000_000_000, [2]Nanos{0, 500_000_000}, [2]int64{5, 7}, "navigation to its page; 2 of 2 profiles of the file found", Range{1_100_000_000, 1_520_000_000}},
		{"q", "p", nil, 1_500_000_000, [2]Nanos{0, -500_000_000}, [2]int64{7, 5}, "navigation to its page; 2 of 2 profiles of the file found", Range{1_020_000_000, 1_620_000_000}},
		{"x", "q", nil, 1_500_000_000, [2]Nanos{}, [2]int64{0, 7}, "navigation to its page; 1 of 2 profiles of the file found", Range{1_520_000_000, 1_620_000_000}},
		{"p", "q", []GivenOffset{{Input: 1, Offset: 3}}, 3, [2]Nanos{}, [2]int64{5, 7}, "", Range{20_000_003, 120_000_003}},
	} {
		plan, err := Solve(pagesOf(t, c.first, c.second), Options{Reference: 0, Offsets: c.given})
		if err != nil {
			t.Errorf("%s, %s: %v", c.first, c.second, err)
			continue
		}
		p := &plan.Inputs[1]
		if p.Offset != c.offset || p.Evidence != c.evidence || len(p.Pages) != 2 || p.Span != c.span {
			t.Errorf("%s, %s: placed at %+v", c.first, c.second, p)
			continue
		}
		for i := range p.Pages {
			pid := int64(0)
			if thread := p.Pages[i].Thread(); thread != nil {
				pid = thread.PID
			}
			if p.Pages[i].Shift != c.shifts[i] || pid != c.pids[i] || (pid == 0) != (p.Pages[i].Err != nil) {
				t.Errorf("%s, %s: profile %d: %+v", c.first, c.second, i, p.Pages[i])
			}
			if pid != 0 && !plan.Shares(0, 1, timeline.ProcessKey{Num: pid}) {
				t.Errorf("%s, %s: the process %d is not that of the trace", c.first, c.second, pid)
			}
		}
	}
	plan, err := Solve(pagesOf(t, "p", "q"), Options{Reference: 1})
	if err != nil {
		t.Fatal(err)
	}
	if p := &plan.Inputs[1]; plan.Inputs[0].Offset != -1_000_000_000 || p.Offset != 0 || p.Pages[0].Shift != 0 || p.Pages[1].Shift != 500_000_000 {
		t.Errorf("on the clock of the profiles: %+v", plan.Inputs)
	}
	_, err = Solve(pagesOf(t, "x", "y"), Options{Reference: 0})
	if !errors.Is(err, ErrNoCommonClock) || !strings.Contains(err.Error(), "the profile at byte 0: no common clock") {
		t.Errorf("no page: %v", err)
	}
}

// Each trace may contain different pages of a file. All of them yield the offset of the file by the same page, directly or
// through traces with several pages.
func TestPagesOfSeveralTraces(t *testing.T) {
	const (
		latePage   = `{"name":"navigationStart","ph":"P","pid":7,"tid":8,"ts":3500000,"args":{"data":{"documentLoaderURL":"q"}}}`
		otherOwner = `{"name":"navigationStart","ph":"P","pid":5,"tid":8,"ts":1500000,"args":{"data":{"documentLoaderURL":"q"}}}`
	)
	for _, c := range []struct {
		name      string
		traces    [][]string
		reference int
		same      [][]int
		offsets   []Nanos // of the traces, and of the profiles
		rules     []Rule
		shifts    [2]Nanos
		pids      [2]int64
		span      Range
	}{
		{
			"a page each: the clocks of the traces tell how far the pages are apart", [][]string{{navigationP}, {navigationQ}}, 0, nil,
			[]Nanos{0, 0, 1_000_000_000}, []Rule{Given, Assumed, SameSamples}, [2]Nanos{0, 500_000_000}, [2]int64{5, 7},
			Range{1_100_000_000, 1_520_000_000},
		},
		{
			"a page each, and someone says that the clocks are one", [][]string{{navigationP}, {navigationQ}}, 0, [][]int{{0, 1}},
			[]Nanos{0, 0, 1_000_000_000}, []Rule{Given, SameBoot, SameSamples}, [2]Nanos{0, 500_000_000}, [2]int64{5, 7},
			Range{1_100_000_000, 1_520_000_000},
		},
		{
			"the page of the reference counts", [][]string{{navigationP}, {navigationQ}}, 1, nil,
			[]Nanos{0, 0, 1_500_000_000}, []Rule{Assumed, Given, SameSamples}, [2]Nanos{-500_000_000, 0}, [2]int64{5, 7},
			Range{1_100_000_000, 1_520_000_000},
		},
		{
			"a trace with both pages ties one with the second page", [][]string{{navigationP, navigationQ}, {latePage}}, 1, nil,
			[]Nanos{2_000_000_000, 0, 3_500_000_000}, []Rule{SameSamples, Given, SameSamples}, [2]Nanos{-500_000_000, 0}, [2]int64{5, 7},
			Range{3_100_000_000, 3_520_000_000},
		},
		{
			"two processes with one pid stay two", [][]string{{navigationP}, {otherOwner}}, 0, nil,
			[]Nanos{0, 0, 1_000_000_000}, []Rule{Given, Assumed, SameSamples}, [2]Nanos{0, 500_000_000}, [2]int64{5, 0},
			Range{1_100_000_000, 1_520_000_000},
		},
	} {
		var in []Input
		for i, events := range c.traces {
			in = append(in, tracedInput(t, string(rune('a'+i)), events...))
		}
		plan, err := Solve(append(in, pageProfiles("p", "q")), Options{Reference: c.reference, Same: c.same})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for i := range plan.Inputs {
			if p := &plan.Inputs[i]; p.Offset != c.offsets[i] || p.Rule != c.rules[i] {
				t.Errorf("%s: input %d at %d by %v, want %d by %v", c.name, i, p.Offset, p.Rule, c.offsets[i], c.rules[i])
			}
		}
		profiles := &plan.Inputs[len(plan.Inputs)-1]
		if profiles.Span != c.span {
			t.Errorf("%s: the profiles go from %d to %d", c.name, profiles.Span.From, profiles.Span.To)
		}
		for i := range profiles.Pages {
			pid := int64(0)
			if thread := profiles.Pages[i].Thread(); thread != nil {
				pid = thread.PID
			}
			if p := &profiles.Pages[i]; p.Match == nil || p.Shift != c.shifts[i] || pid != c.pids[i] {
				t.Errorf("%s: profile %d: %+v in process %d", c.name, i, p, pid)
			}
		}
		if c.same == nil && plan.Shares(0, 1, timeline.ProcessKey{Num: 5}) {
			t.Errorf("%s: the processes of the traces are one", c.name)
		}
	}
}

// If two traces are related through a shared page, the uncertainty of the relation includes the uncertainties of all pages on
// the path.
func TestPagesOnTheWay(t *testing.T) {
	plan, err := Solve([]Input{
		tracedInput(t, "a", navigationP, navigationQ), tracedInput(t, "b", navigationQ), pageProfiles("p", "q"),
	}, Options{Reference: 0})
	if err != nil {
		t.Fatal(err)
	}
	if got, one := plan.Inputs[1].Uncertainty(), plan.Inputs[2].Uncertainty(); one == 0 || got != 4*one {
		t.Errorf("± %d, and ± %d for one page", got, one)
	}
}

// A profile without a place starts with the earliest of the others, wherever they start.
func TestSpanOfPages(t *testing.T) {
	origin := Nanos(5_000)
	all := []jsprofile.Times{
		{Times: []timeline.Nanos{10, 20}}, {Times: []timeline.Nanos{5_300, 5_400}, Origin: &origin}, {}, {Times: []timeline.Nanos{7, 30}},
	}
	placed := &Match{}
	for _, c := range []struct {
		places []Page
		want   Range
	}{
		{nil, Range{5_007, 5_400}},
		{[]Page{{Match: placed, Shift: 100}, {}, {}, {}}, Range{107, 5_400}},
		{[]Page{{}, {Match: placed, Shift: -1_000}, {}, {Match: placed, Shift: 9_000}}, Range{4_010, 9_030}},
	} {
		if got, any := pagesSpan(all, c.places); !any || got != c.want {
			t.Errorf("%+v: %v, want %v", c.places, got, c.want)
		}
	}
	if span, any := pagesSpan([]jsprofile.Times{{}}, nil); any {
		t.Errorf("no samples: %v", span)
	}
}

// Comparing many profiles with a large trace stops at a limit.
func TestTooManyPages(t *testing.T) {
	in := pagesOf(t, "p", "q")
	s := newSolver(in, Options{})
	s.plan.Reference = 0
	s.sameSpaces()
	s.matched = maxMatched - 2*in[0].Clues.Traced.Len() - 3
	s.samples(1)
	if f := s.files[1]; f == nil || f.pages[0].Match == nil || !errors.Is(f.pages[1].Err, errManyPages) {
		t.Errorf("%+v", f)
	}
}

// Finds the document of a self-profile. Among several navigations that may be to its page, the wall clock at the time origin,
// the times when scripts ran, and the page with scripts of the profile decide. If nothing decides, the error names all of the
// navigations; a navigation that contradicts the samples is rejected.
func TestNavigations(t *testing.T) {
	const (
		tab   = `{"name":"navigationStart","ph":"P","pid":5,"tid":6,"ts":2000000,"args":{"data":{"documentLoaderURL":"http://a/tab","isOutermostMainFrame":true}}}`
		frame = `{"name":"navigationStart","ph":"P","pid":5,"tid":6,"ts":2100000,"args":{"data":{"documentLoaderURL":"http://a/frame","isOutermostMainFrame":false}}}`
		ms    = Nanos(1e6)
	)
	// A sample and a call of 1 ms, every 7 ms.
	page := jsprofile.Times{Step: 100_000}
	var calls []Range
	for i := range Nanos(200) {
		page.Times = append(page.Times, 100*ms+i*7*ms)
		calls = append(calls, Range{2100*ms + i*7*ms - ms/2, 2100*ms + i*7*ms + ms/2})
	}
	own := func(at Nanos) string { // a self-profile in the trace, with a sample every 3 ms
		deltas := strings.TrimSuffix(strings.Repeat("3000,", 300), ",")
		return fmt.Sprintf(`{"name":"Profile","ph":"P","pid":5,"tid":6,"id":"1","ts":%d,"args":{"data":{"source":"SelfProfiling","startTime":%[1]d}}},`+
			`{"name":"ProfileChunk","ph":"P","pid":5,"tid":7,"id":"1","ts":%[1]d,"args":{"data":{"timeDeltas":[%s]}}}`, at/1000, deltas)
	}
	script, few := page, page
	script.Script, few.Script = page.Times, page.Times[:minSame-1]
	origin := 1_790_000_000_000*ms + 2_000*ms + 60_000
	known := jsprofile.Times{Step: page.Step, Origin: &origin}
	for _, ts := range page.Times {
		known.Times = append(known.Times, ts+origin)
	}
	atSame := func(ts Nanos) string { return fmt.Sprint(ts) }
	for _, c := range []struct {
		name    string
		page    jsprofile.Times
		scripts []string
		events  []string
		calls   []Range
		want    string
	}{
		{"the page of the tab has scripts", page, []string{"http://a/tab"}, []string{tab, frame}, nil, atSame(2000 * ms)},
		{"nothing decides", page, []string{"http://a/frame"}, []string{tab, frame}, nil, "2 places in the trace fit equally well: the navigations to http://a/tab at 2.000000 s, to http://a/frame at 2.100000 s"},
		{"calls decide", script, []string{"http://a/frame"}, []string{tab, frame}, calls, atSame(2000 * ms)},
		{"and count more than scripts", script, []string{"http://a/tab"}, []string{tab, frame}, moved(calls, 100*ms), atSame(2100 * ms)},
		{"too few samples", few, []string{"http://a/frame"}, []string{tab, frame}, calls, "2 places"},
		{"of another recording", script, []string{"http://a/tab"}, []string{tab}, moved(calls, 3*ms), "only 0 of its 200 samples of JavaScript lie in calls"},
		{"the trace has others", page, []string{"http://a/tab"}, []string{tab, own(2200 * ms)}, nil, "with other samples"},
		{"others of another time", page, []string{"http://a/tab"}, []string{tab, own(6000 * ms)}, nil, atSame(2000 * ms)},
		{"the time origin decides", known, []string{"http://a/frame"}, []string{tab, frame}, nil, atSame(2000*ms - origin)},
	} {
		trace := tracedInput(t, "trace", c.events...)
		trace.Clues.Invocations = map[Thread][]Range{{5, 6}: c.calls, {5, 9}: calls}
		trace.Clues.Wall = &Wall{Low: 1_790_000_000_000*ms - 50_000, High: 1_790_000_000_000*ms + 50_000, By: "a response"}
		c.page.Resources = c.scripts
		plan, err := Solve([]Input{trace, {Name: "self", Clues: WithPages([]jsprofile.Times{c.page})}}, Options{Reference: 0})
		got := ""
		switch {
		case err != nil:
			got = err.Error()
		default:
			got = fmt.Sprint(plan.Inputs[1].Offset)
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// moved returns the ranges, shifted to later times.
func moved(list []Range, by Nanos) (later []Range) {
	for _, r := range list {
		later = append(later, Range{r.From + by, r.To + by})
	}
	return later
}
