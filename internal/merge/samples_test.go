package merge

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/readers/jsprofile"
	"github.com/weft-trace/weft/internal/timeline"
)

// pagesOf returns a trace with the navigations to two pages, and an input with the profiles of two pages.
func pagesOf(t *testing.T, first, second string) []Input {
	t.Helper()
	const trace = `[{"name":"navigationStart","pid":5,"tid":6,"ts":1000000,"args":{"data":{"documentLoaderURL":"p"}}},
		{"name":"navigationStart","pid":7,"tid":8,"ts":1500000,"args":{"data":{"documentLoaderURL":"q"}}},{"name":"end","ts":9000000}]`
	traced, err := jsprofile.ReadClues(context.Background(), strings.NewReader(trace))
	if err != nil {
		t.Fatal(err)
	}
	profiles := (&Clues{Pages: []jsprofile.Times{
		{Times: []timeline.Nanos{100_000_000}, Resources: []string{first}}, {Times: []timeline.Nanos{20_000_000}, Resources: []string{second}, Offset: 300},
	}}).WithProcesses()
	return []Input{
		{Name: "trace", Clues: (&Clues{Clock: ClockMonotonic, Monotonic: true, Traced: traced}).WithProcesses()}, {Name: "profiles", Clues: profiles},
	}
}

// Each profile of a file has its own page; the first one in the trace tells the offset of the file, whichever of the two is the reference.
func TestPages(t *testing.T) {
	for _, c := range []struct {
		first, second string
		given         []GivenOffset
		offset        Nanos
		shifts        [2]Nanos
		pids          [2]int64 // 0: not found
		evidence      string
	}{
		{"p", "q", nil, 1_000_000_000, [2]Nanos{0, 500_000_000}, [2]int64{5, 7}, "navigation to its page; 2 of 2 profiles of the file found"},
		{"q", "p", nil, 1_500_000_000, [2]Nanos{0, -500_000_000}, [2]int64{7, 5}, "navigation to its page; 2 of 2 profiles of the file found"},
		{"x", "q", nil, 1_500_000_000, [2]Nanos{}, [2]int64{0, 7}, "navigation to its page; 1 of 2 profiles of the file found"},
		{"p", "q", []GivenOffset{{Input: 1, Offset: 3}}, 3, [2]Nanos{}, [2]int64{5, 7}, ""},
	} {
		plan, err := Solve(pagesOf(t, c.first, c.second), Options{Reference: 0, Offsets: c.given})
		if err != nil {
			t.Errorf("%s, %s: %v", c.first, c.second, err)
			continue
		}
		p := &plan.Inputs[1]
		if p.Offset != c.offset || p.Evidence != c.evidence || len(p.Pages) != 2 {
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
	if !errors.Is(err, jsprofile.ErrNoCommonClock) || !strings.Contains(err.Error(), "the profile at byte 0: no common clock") {
		t.Errorf("no page: %v", err)
	}
}

// Comparing many profiles with a large trace ends.
func TestTooManyPages(t *testing.T) {
	in := pagesOf(t, "p", "q")
	s := newSolver(in, Options{})
	s.plan.Reference = 0
	s.sameSpaces()
	s.matched = maxMatched - in[0].Clues.Traced.Len() - 2
	s.samples(0, 1)
	if len(s.ties[1]) != 1 || s.ties[1][0].pages[0].Match == nil || !errors.Is(s.ties[1][0].pages[1].Err, errManyPages) {
		t.Errorf("%+v", s.ties[1])
	}
}
