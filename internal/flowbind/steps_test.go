package flowbind_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/weft-trace/weft/internal/flowbind"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/testkit"
	"github.com/weft-trace/weft/internal/timeline"
)

// Steps are in time order and then in input order. They state the time and direction in which a flow passes a slice, and mark
// the flow's last step. Ignored starts, starts outside slices, and ends without a flow are not steps.
func TestSteps(t *testing.T) {
	const text = `
# Chrome's own flows, bound by time: one that comes back to its slice, and an id that is used again.
X 1/1 a 0 100
s 1/1 #1 5
X 1/2 b 20 10
t 1/2 #1 20
t 1/1 #1 50
s 1/1 #1 60
X 1/2 c 70 10
f 1/2 #1 70 bp=e
X 1/3 d 80 10
s 1/3 #1 80
X 1/2 e 90 10
f 1/2 #1 95 bp=e
f 1/2 #9 96 bp=e
# Flows that are carried by slices.
X 2/1 out 200 10 out=7
X 2/2 step 220 10 step=7
X 2/3 in 240 10 in=7
X 3/1 first 300 10 flow=5
X 3/2 second 320 10 flow=5
X 3/3 last 340 10 end=5
X 3/4 nothing 360 10 end=6
# Starts of ended flows that lie in no slice: what comes then has no start.
s 1/3 #1 400
X 1/2 later 410 10
f 1/2 #1 415 bp=e
D 2/1 dropped 420 out=7
X 2/3 later 440 10 in=7
`
	want := []string{
		// time, event of the step, in, out, last; flows are numbered by their start
		"5 by 1 on a: flow A out",
		"20 by 3 on b: flow A in out",
		"50 by 4 on a: flow A in out",
		"70 by 7 on c: flow A in last",
		"80 by 9 on d: flow B out",
		"95 by 11 on e: flow B in last",
		"200 by 13 on out: flow C out",
		"220 by 14 on step: flow C in out",
		"240 by 15 on in: flow C in last",
		"300 by 16 on first: flow D out",
		"320 by 17 on second: flow D in out",
		"340 by 18 on last: flow D in last",
	}
	for _, memory := range []int64{largeMemory, smallMemory} {
		b := timeline.NewBuilder(timeline.Options{Memory: memory, TempDir: t.TempDir(), Problems: new(problem.Log)})
		if err := testkit.Add(b, text); err != nil {
			t.Fatal(err)
		}
		tl, err := b.Finish(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		defer tl.Close()
		steps, err := nestAndTake(tl)
		if err != nil {
			t.Fatal(err)
		}
		defer steps.Close()
		names := map[uint64]string{}
		err = tl.Walk(context.Background(), func(it *timeline.Item) error {
			if it.Kind == timeline.ItemBegin {
				names[it.Ordinal] = string(it.Name)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := describeSteps(t, steps, names); !slices.Equal(got, want) {
			t.Errorf("with %d bytes of memory\n%q, want\n%q", memory, got, want)
		}
	}
}

func describeSteps(t *testing.T, steps *flowbind.Steps, names map[uint64]string) (lines []string) {
	t.Helper()
	letters := map[uint64]string{}
	var s flowbind.Step
	for {
		ok, err := steps.Next(&s)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return lines
		}
		if letters[s.Flow] == "" {
			letters[s.Flow] = string(rune('A' + len(letters)))
		}
		line := fmt.Sprintf("%d by %d on %s: flow %s", s.At, s.Event, names[s.Ordinal], letters[s.Flow])
		for i, flag := range []bool{s.In, s.Out, s.Last} {
			if flag {
				line += " " + []string{"in", "out", "last"}[i]
			}
		}
		lines = append(lines, line)
	}
}

// A timeline without flows has no steps.
func TestNoSteps(t *testing.T) {
	b := timeline.NewBuilder(timeline.Options{Problems: new(problem.Log)})
	if err := testkit.Add(b, "X 1/1 a 0 100"); err != nil {
		t.Fatal(err)
	}
	tl, err := b.Finish(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer tl.Close()
	steps, err := nestAndTake(tl)
	if err != nil {
		t.Fatal(err)
	}
	var s flowbind.Step
	if ok, err := steps.Next(&s); ok || err != nil {
		t.Errorf("a step %+v, %v", s, err)
	}
	if err := steps.Close(); err != nil {
		t.Error(err)
	}
}

// nestAndTake returns the steps collected while a timeline is nested.
func nestAndTake(tl *timeline.Timeline) (*flowbind.Steps, error) {
	if err := flowbind.NestAndTrace(context.Background(), tl); err != nil {
		return nil, err
	}
	return flowbind.TakeSteps(context.Background(), tl)
}

func unnested(t *testing.T, memory int64, text string) *timeline.Timeline {
	t.Helper()
	b := timeline.NewBuilder(timeline.Options{Memory: memory, TempDir: t.TempDir(), Problems: new(problem.Log)})
	if err := testkit.Add(b, text); err != nil {
		t.Fatal(err)
	}
	tl, err := b.Finish(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tl.Close() })
	return tl
}

// Steps are the same whether they were collected while the timeline was nested, later, or while the flows were visited; a visit
// also reports the same flows.
func TestTakeStepsAgain(t *testing.T) {
	total := 0
	for seed := range uint64(100) {
		tl := unnested(t, []int64{largeMemory, smallMemory}[seed%2], randomFlows(seed, 60, 50))
		if err := flowbind.NestAndTrace(context.Background(), tl); err != nil {
			t.Fatal(err)
		}
		var visits [2]visits
		if err := flowbind.Visit(context.Background(), tl, &visits[0]); err != nil {
			t.Fatal(err)
		}
		var got [3][]flowbind.Step
		for i := range got {
			if i == 2 {
				if err := flowbind.VisitAndTrace(context.Background(), tl, &visits[1]); err != nil {
					t.Fatal(err)
				}
			}
			got[i] = takeSteps(t, tl)
		}
		total += len(got[0])
		if !slices.Equal(got[0], got[1]) || !slices.Equal(got[0], got[2]) {
			t.Errorf("seed %d: steps %v, then %v, when visited %v", seed, got[0], got[1], got[2])
		}
		if !slices.Equal(visits[0], visits[1]) {
			t.Errorf("seed %d: visits %v, with steps %v", seed, visits[0], visits[1])
		}
	}
	if total < 500 {
		t.Errorf("%d steps: too few to show something", total)
	}
}

// takeSteps returns all steps of a timeline.
func takeSteps(t *testing.T, tl *timeline.Timeline) (all []flowbind.Step) {
	t.Helper()
	steps, err := flowbind.TakeSteps(context.Background(), tl)
	if err != nil {
		t.Fatal(err)
	}
	for {
		var s flowbind.Step
		ok, err := steps.Next(&s)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		all = append(all, s)
	}
	if err := steps.Close(); err != nil {
		t.Fatal(err)
	}
	return all
}

// visits is a flowbind.Visitor that records its calls.
type visits []string

func (v *visits) Begin(key flowbind.Key, at timeline.Nanos, s *flowbind.Slice) {
	*v = append(*v, fmt.Sprint("begin ", key, at, s.Ordinal))
}
func (v *visits) Follow(at timeline.Nanos, s *flowbind.Slice, from uint64) {
	*v = append(*v, fmt.Sprint("follow ", at, s.Ordinal, from))
}
func (v *visits) Join(at timeline.Nanos, s *flowbind.Slice) {
	*v = append(*v, fmt.Sprint("join ", at, s.Ordinal))
}
func (v *visits) End(ended bool) { *v = append(*v, fmt.Sprint("end ", ended)) }
