package flowbind_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// This file contains a second implementation of flows: a direct translation of the specification, which examines all slices for
// every end. Package flowbind must produce the same results.

// step is a copy of a record.
type step struct {
	Ordinal        uint64
	Event          uint32
	Track          timeline.TrackID
	Lane           uint32
	TS, End        timeline.Nanos
	Complete       bool
	Space          timeline.FlowSpace
	Role           timeline.FlowRole
	Binding        timeline.FlowBinding
	ID             uint64
	Name, Category uint32
}

// naive is the second implementation.
type naive struct {
	starts []step
	ends   map[uint32]step // end events of slices, by the event that began the slice
	steps  []step          // flow ends, in file order at each time

	arrows   []arrow
	problems map[problem.Kind]int
}

func newNaive(t *testing.T, tl *timeline.Timeline) *naive {
	n := &naive{ends: map[uint32]step{}, problems: map[problem.Kind]int{}}
	err := tl.Scan(context.Background(), func(group []timeline.Record) error {
		for _, r := range group {
			s := step{Ordinal: r.Ordinal, Event: r.Event(), Track: r.Track(), Lane: r.Lane(), TS: r.TS()}
			switch r.Kind() {
			case timeline.FlowStep:
				s.Space, s.Role, s.Binding = r.Space(), r.Role(), r.Binding()
				s.ID, _ = r.FlowID()
				s.Name, s.Category = r.FlowName()
				n.steps = append(n.steps, s)
			case timeline.End:
				n.ends[r.BeginEvent()] = s
			default:
				s.End, s.Complete = r.End(), r.Kind() == timeline.Slice
				n.starts = append(n.starts, s)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// target returns the slice to which an end binds, or nil.
func (n *naive) target(s *step) *step {
	switch s.Binding {
	case timeline.BindNothing:
		return nil
	case timeline.BindCarrier:
		return n.carrier(s)
	case timeline.BindNext:
		for i := range n.starts { // in order
			st := &n.starts[i]
			now := st.TS == s.TS && st.Event > s.Event && (!st.Complete || st.End == st.TS)
			if st.Track == s.Track && (st.TS > s.TS || now) {
				return st
			}
		}
		return nil
	}
	for i := range slices.Backward(n.starts) {
		st := &n.starts[i]
		if st.Track != s.Track || st.TS > s.TS || st.End != timeline.NoTime && st.End < s.TS {
			continue
		}
		if st.TS == s.TS && st.Event > s.Event && (!st.Complete || st.End == st.TS) {
			continue
		}
		if end, ok := n.ends[st.Event]; ok && end.TS == s.TS && end.Event < s.Event {
			continue
		}
		return st
	}
	return nil
}

func (n *naive) carrier(s *step) *step {
	for i := range n.starts {
		st := &n.starts[i]
		if end, ok := n.ends[st.Event]; st.Event == s.Event || ok && end.Event == s.Event && s.Space == timeline.FlowNative {
			return st
		}
	}
	return nil
}

// bound is an end with its slice, or nil if the end binds to none.
type bound struct {
	step, slice *step
}

// place returns the position of an end among simultaneous ends: its slice's position or, without a slice, the position after the
// starts that precede the end in the input.
func (n *naive) place(b bound) uint64 {
	if b.slice != nil {
		return b.slice.Ordinal
	}
	var last uint64
	for _, st := range n.starts {
		if st.TS == b.step.TS && st.Event < b.step.Event {
			last = max(last, st.Ordinal)
		}
	}
	return last
}

// resolve finds all arrows.
func (n *naive) resolve() {
	byKey := map[string][]bound{}
	for i := range n.steps {
		s := &n.steps[i]
		slice := n.target(s)
		chrome := s.Space == timeline.FlowV1 || s.Space == timeline.FlowV2
		if slice != nil || chrome && s.Role != timeline.FlowEnd {
			key := fmt.Sprint(s.Space, s.ID, s.Name, s.Category)
			byKey[key] = append(byKey[key], bound{s, slice})
		}
		switch {
		case slice != nil || s.Binding == timeline.BindNothing:
		case s.Binding == timeline.BindNext:
			n.problems[problem.FlowNoNextSlice]++
		default:
			n.problems[problem.FlowNoEnclosingSlice]++
		}
	}
	for _, all := range byKey {
		slices.SortStableFunc(all, func(a, b bound) int {
			if c := cmp.Compare(a.step.TS, b.step.TS); c != 0 {
				return c
			}
			if a.step.Space == timeline.FlowV2 {
				if c := cmp.Compare(n.place(a), n.place(b)); c != 0 {
					return c
				}
			}
			return cmp.Compare(a.step.Event, b.step.Event)
		})
		n.key(all)
	}
}

// key applies the table in chrome-json.md 15, or perfetto.md 8, to the ends with one key.
func (n *naive) key(all []bound) {
	var producer *step
	closed, used := false, false
	finish := func() {
		if producer != nil && !closed && !used {
			n.problems[problem.FlowUnfinished]++
		}
		producer, closed, used = nil, false, false
	}
	for _, b := range all {
		native := b.step.Space == timeline.FlowNative
		role := b.step.Role
		switch {
		case b.slice == nil:
			if closed {
				finish()
			}
		case producer == nil && role == timeline.FlowEnd:
			n.problems[problem.FlowEndWithoutStart]++
		case producer == nil && role == timeline.FlowContinue && !native:
			n.problems[problem.FlowStepWithoutStart]++
		case producer == nil:
			producer = b.slice
		case role == timeline.FlowStart && !closed:
			n.problems[problem.FlowDuplicateStart]++
		case role == timeline.FlowStart:
			finish()
			producer = b.slice
		case role == timeline.FlowContinue:
			used = n.arrow(producer, b.slice) || used
			producer = b.slice
		default:
			drawn := n.arrow(producer, b.slice)
			if closed && drawn {
				n.problems[problem.FlowFanOut]++
			}
			closed = true
			if native {
				finish()
			}
		}
	}
	finish()
}

func (n *naive) arrow(from, to *step) bool {
	if from == to {
		n.problems[problem.FlowSelf]++
		return false
	}
	if to.TS < from.TS || to.TS == from.TS && to.Track == from.Track && to.Lane == from.Lane && to.Ordinal < from.Ordinal {
		n.problems[problem.FlowBackwards]++
		from, to = to, from
	}
	n.arrows = append(n.arrows, arrow{from.Event, to.Event})
	return true
}

// randomFlows returns random slices and flows on a few threads. The parameter span is the range of their times: the smaller it
// is, the more events share a time.
func randomFlows(seed uint64, n, span int) string {
	r := rand.New(rand.NewPCG(seed, 9))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	var text strings.Builder
	for range n {
		ts, thread := r.IntN(span), pick("1/1", "1/2", "2/1", "2/2")
		carries := ""
		if r.IntN(3) == 0 {
			carries = fmt.Sprintf(" %s=%d", pick("out", "step", "in", "flow", "end"), r.IntN(4))
		}
		switch r.IntN(10) {
		case 0, 1, 2:
			fmt.Fprintf(&text, "X %s x %d %d%s\n", thread, ts, r.IntN(1+span/2), carries)
		case 3:
			fmt.Fprintf(&text, "B %s b %d%s\n", thread, ts, carries)
		case 4:
			if !strings.HasPrefix(carries, " flow") && !strings.HasPrefix(carries, " end") {
				carries = ""
			}
			fmt.Fprintf(&text, "E %s b %d%s\n", thread, ts, carries)
		case 5:
			if r.IntN(3) == 0 {
				fmt.Fprintf(&text, "D global d %d%s\n", ts, carries)
				break
			}
			fmt.Fprintf(&text, "I %s i %d%s\n", pick(thread, "global", "1/id:0x1"), ts, carries)
		default:
			fmt.Fprintf(&text, "%s %s %d %d%s\n", pick("s", "t", "f", "f"), thread, r.IntN(4), ts, pick("", " bp=e", " name=n"))
		}
	}
	return text.String()
}

func sorted(arrows []arrow) []arrow {
	return slices.SortedFunc(slices.Values(arrows), func(a, b arrow) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
}

// undirected returns the arrows with the smaller event first in each.
func undirected(arrows []arrow) []arrow {
	var out []arrow
	for _, a := range arrows {
		out = append(out, arrow{min(a.from, a.to), max(a.from, a.to)})
	}
	return out
}

// flowKinds lists the problems that package flowbind counts.
var flowKinds = []problem.Kind{
	problem.FlowNoEnclosingSlice, problem.FlowNoNextSlice, problem.FlowDuplicateStart, problem.FlowStepWithoutStart,
	problem.FlowEndWithoutStart, problem.FlowSelf, problem.FlowFanOut, problem.FlowUnfinished,
}

// On random inputs, Perfetto draws the arrows that the second implementation finds, and the same problems are counted. If flows
// form a cycle at one time, which requires many events at that time, an arrow may be reversed; the test counts such cases.
func TestAgainstNaiveImplementation(t *testing.T) {
	circles := 0
	const inputs = 600
	for seed := range uint64(inputs) {
		text := randomFlows(seed, 10+int(seed%80), []int{1, 2, 5, 20, 500}[seed%5])
		tl, log := resolve(t, []int64{largeMemory, smallMemory}[seed%2], text)
		n := newNaive(t, tl)
		n.resolve()
		d := draw(t, tl)
		want, got := sorted(n.arrows), sorted(d.arrows)
		if turned := int(log.Count(problem.FlowBackwards)) - n.problems[problem.FlowBackwards]; turned > 0 {
			circles++
			want, got = sorted(undirected(n.arrows)), sorted(undirected(d.arrows))
		} else if turned < 0 {
			t.Errorf("%d flows are counted as backwards, want %d", log.Count(problem.FlowBackwards), n.problems[problem.FlowBackwards])
		}
		if !slices.Equal(got, want) {
			t.Errorf("arrows %v, want %v", got, want)
		}
		for _, kind := range flowKinds {
			if got, want := int(log.Count(kind)), n.problems[kind]; got != want {
				t.Errorf("%s is counted %d times, want %d", kind, got, want)
			}
		}
		if len(d.ignored) > 0 || len(d.twice) > 0 {
			t.Errorf("ends of events %v are ignored, ids of events %v are there twice", d.ignored, d.twice)
		}
		if t.Failed() {
			t.Fatalf("seed %d, input:\n%s", seed, text)
		}
	}
	if circles == 0 || circles > inputs/10 {
		t.Errorf("%d of %d inputs have circles: too few or too many to show something", circles, inputs)
	}
}
