package merge

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/flowbind"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// inputs returns a job with two inputs, one and two; the second is 1 µs late. If shared is set, equal pids are one process; if
// flows is set, equal flow ids are one flow.
func inputs(shared, flows bool) *Job {
	plan := &Plan{
		Inputs: []Placed{{}, {Offset: 1000}}, spaces: newGroups(2), ids: newGroups(2), requests: make([]map[string]string, 2), threads: make([]map[threadKey]uint64, 2),
	}
	if shared {
		plan.spaces.join(0, 1)
		plan.ids.join(0, 1)
	}
	return &Job{Sources: []Source{{Name: "one"}, {Name: "two"}}, Inputs: []Input{{Name: "one"}, {Name: "two"}}, Plan: plan, LinkFlows: flows}
}

// several reads the inputs of a job one after another, and returns the timeline.
func several(t *testing.T, job *Job, add func(b *timeline.Builder, input int)) *timeline.Timeline {
	t.Helper()
	b := timeline.NewBuilder(timeline.Options{Problems: new(problem.Log), TempDir: t.TempDir()})
	s := NewStage(job, b, make([]bool, 2), nil)
	for i := range job.Sources {
		add(s.Next(i, job.Plan.Inputs[i].Offset, nil), i)
		s.End()
	}
	s.Finish()
	tl, err := b.Finish(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tl.Close() })
	return tl
}

// shown is like several, but also returns the items of a walk.
func shown(t *testing.T, job *Job, add func(b *timeline.Builder, input int)) (*timeline.Timeline, []string) {
	t.Helper()
	tl := several(t, job, add)
	if err := flowbind.NestAndResolve(context.Background(), tl); err != nil {
		t.Fatal(err)
	}
	var out []string
	err := tl.Walk(context.Background(), func(it *timeline.Item) error {
		if it.Kind != timeline.ItemEnd {
			tr := tl.Track(it.Track)
			line := fmt.Sprintf("%d %s on %s", it.TS, it.Name, tr.Name)
			for _, f := range it.Flows {
				line += fmt.Sprintf(" flow %d", f.ID)
			}
			out = append(out, line)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tl, out
}

// task adds a slice on thread 7 of process 7, with one end of a flow.
func task(b *timeline.Builder, event uint32, ts timeline.Nanos, name string, role timeline.FlowRole) {
	process := b.Process(timeline.ProcessKey{Num: 7})
	b.SetProcessName(process, 0, []byte("worker"))
	thread := b.Thread(process, timeline.ThreadKey{Num: 7})
	b.SetThreadName(thread, 0, []byte("main"))
	must(b.Add(&timeline.Event{Kind: timeline.Slice, Track: thread, Event: event, TS: ts, Dur: 100, Name: []byte(name)}))
	must(b.AddFlow(&timeline.FlowEvent{Space: timeline.FlowV2, Role: role, Binding: timeline.BindCarrier, Track: thread, Event: event, TS: ts, ID: 5}))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// TestInputsAreApart: equal pids and equal flow ids in two inputs are unrelated.
func TestInputsAreApart(t *testing.T) {
	tl, got := shown(t, inputs(false, false), func(b *timeline.Builder, input int) {
		if input == 0 {
			task(b, 0, 10, "send", timeline.FlowStart)
		} else {
			task(b, 0, 10, "receive", timeline.FlowEnd)
		}
	})
	want := []string{"10 send on main", "1010 receive on main"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var processes []string
	for id := range timeline.TrackID(tl.TrackCount()) {
		if tr := tl.Track(id); tr.Kind == timeline.ProcessTrack {
			processes = append(processes, fmt.Sprintf("%d %s: %s", tr.PID, tr.Name, strings.Join(tr.Labels, ", ")))
		}
	}
	want = []string{"7 worker (one): input one", "10000007 worker (two): input two"}
	if diff := cmp.Diff(want, processes); diff != "" {
		t.Error(diff)
	}
}

// TestInputsWithTextIDs: processes whose ids are texts, or numbers beyond 64 bits, have unique ids in the output, whether
// their names start with ranks or not, and even if the name of one is the new id of another.
func TestInputsWithTextIDs(t *testing.T) {
	const huge = "18446744073709551616"
	for _, c := range []struct {
		ranked bool
		want   []string
	}{
		{false, []string{
			"A (one)", "A (two)", huge + " (a number)", "A (two) #2", "pid " + huge, "B",
		}},
		{true, []string{
			"[rank 0] A", "[rank 0] A (two)", huge + " (a number)", "[rank 0] A (two) #2", "pid " + huge, "[rank 0] B",
		}},
	} {
		job := inputs(false, false)
		job.Plan.Ranked, job.Plan.ranks = c.ranked, make([]int64, 2)
		tl := several(t, job, func(b *timeline.Builder, input int) {
			names := [][]string{{"A", "A (two)"}, {"A", "B"}}[input]
			keys := []timeline.ProcessKey{{Text: names[0]}, {Text: names[1]}, {Text: huge, IsNumber: true}}
			if input == 1 {
				keys[1], keys[2] = keys[2], keys[1]
			}
			for i, key := range keys {
				must(b.Add(&timeline.Event{Kind: timeline.Instant, Track: b.Process(key), Event: uint32(i), Name: []byte("x")}))
			}
		})
		var got []string
		for id := range timeline.TrackID(tl.TrackCount()) {
			tr := tl.Track(id)
			switch {
			case tr.Kind != timeline.ProcessTrack:
			case tr.InputID.HasNumber():
				got = append(got, tr.InputID.Text+" (a number)")
			default:
				got = append(got, tr.InputID.Text)
				if tr.Name != tr.InputID.Text {
					t.Errorf("%q is shown as %q", tr.InputID.Text, tr.Name)
				}
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// TestThreadsOfInput: a reader that looks for a thread by its tid must not find threads of other inputs.
func TestThreadsOfInput(t *testing.T) {
	for _, shared := range []bool{false, true} {
		var found [2][]timeline.ThreadUse
		several(t, inputs(shared, false), func(b *timeline.Builder, input int) {
			task(b, 0, 10, "work", timeline.FlowStart)
			b.Thread(b.Process(timeline.ProcessKey{Num: int64(100 + input)}), timeline.ThreadKey{Num: 1}) // without events
			found[input] = b.Threads()
		})
		for input, threads := range found {
			if len(threads) != 2 || !threads[0].Used || !threads[0].Main || threads[1].Used || threads[1].Process <= threads[0].Process {
				t.Errorf("shared %t: input %d has the threads %+v, want 7 with events and 1 without", shared, input, threads)
			}
		}
		if same := found[0][0].Track == found[1][0].Track; same != shared {
			t.Errorf("shared %t: both inputs have the thread %d", shared, found[0][0].Track)
		}
	}
}

// TestInputsShareProcess: the second input's events on a thread are on a separate track below it, because slices from two
// recorders do not nest; equal flow ids mean the same flow if the job says so.
func TestInputsShareProcess(t *testing.T) {
	_, got := shown(t, inputs(true, true), func(b *timeline.Builder, input int) {
		if input == 0 {
			task(b, 0, 960, "send", timeline.FlowStart)
		} else {
			task(b, 0, 10, "receive", timeline.FlowEnd) // overlaps the slice of the first input
		}
	})
	want := []string{"960 send on main flow 1", "1010 receive on two flow 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestLinks: events with the same key in several inputs become a flow, in time order; events in only one input do not.
func TestLinks(t *testing.T) {
	_, got := shown(t, inputs(false, false), func(b *timeline.Builder, input int) {
		process := b.Process(timeline.ProcessKey{Num: 7})
		thread := b.Thread(process, timeline.ThreadKey{Num: int64(7)})
		add := func(event uint32, ts timeline.Nanos, name, key string) {
			ev := timeline.Event{Kind: timeline.Slice, Track: thread, Event: event, TS: ts, Dur: 10, Name: []byte(name)}
			must(b.Add(&ev))
			must(b.AddLink(&timeline.Link{Key: key, Track: thread, Event: event, TS: ts}))
		}
		if input == 0 {
			add(0, 10, "request", "id:1")
			add(1, 2000, "response", "id:1")
			add(2, 3000, "alone", "id:2")
			add(3, 4000, "alone", "id:2")
		} else {
			add(0, 500, "work", "id:1")
		}
	})
	want := []string{"10 request on  flow 1", "1500 work on  flow 1", "2000 response on  flow 1", "3000 alone on ", "4000 alone on "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestLinkAmbiguous: a key that too many events carry links none of them.
func TestLinkAmbiguous(t *testing.T) {
	tl, got := shown(t, inputs(false, false), func(b *timeline.Builder, input int) {
		thread := b.Thread(b.Process(timeline.ProcessKey{Num: 7}), timeline.ThreadKey{Num: 7})
		for i := range uint32(33) {
			must(b.Add(&timeline.Event{Kind: timeline.Instant, Track: thread, Event: i, TS: timeline.Nanos(i), Name: []byte("x")}))
			must(b.AddLink(&timeline.Link{Key: "link:all", Track: thread, Event: i, TS: timeline.Nanos(i)}))
		}
	})
	if n := tl.Problems().Count(problem.LinkAmbiguous); n != 1 {
		t.Errorf("counted %d times", n)
	}
	for _, line := range got {
		if strings.Contains(line, "flow") {
			t.Errorf("%s", line)
		}
	}
}

// TestLinksToParents: flows lead from a span to each of its children in another input, however many there are, and the response
// comes from the child that serves. Links within one input are left to its reader.
func TestLinksToParents(t *testing.T) {
	type member struct {
		input int
		ts    timeline.Nanos // on the timeline, from 1000 on
		to    timeline.LinkReference
	}
	many := []member{{0, 1000, timeline.LinkOwn}}
	for i := range 20_000 {
		many = append(many, member{1, timeline.Nanos(1001 + i), timeline.LinkToParent})
	}
	early := append(slices.Clone(many[1:]), member{0, 30_000, timeline.LinkOwn}) // the clocks differ
	ambiguous := slices.Clone(many[1:16_321])                                    // all of them lie between its 64th and 65th span
	for i := range 65 {
		ambiguous = append(ambiguous, member{0, 900 + timeline.Nanos(i/64)*30_000, timeline.LinkOwn})
	}
	for name, c := range map[string]struct {
		members         []member
		want            []string
		unknown, linked uint64
	}{
		"children between two spans": {
			[]member{{0, 1000, timeline.LinkOwn}, {0, 1010, timeline.LinkToParent}, {1, 1020, timeline.LinkToParent}, {0, 1030, timeline.LinkOwn}, {1, 1040, timeline.LinkToParent}},
			[]string{"1000 → 1020", "1000 → 1030 → 1040"}, 0, 0,
		},
		"children": {
			[]member{{0, 1000, timeline.LinkOwn}, {1, 1010, timeline.LinkToParent}, {1, 1020, timeline.LinkToParent}, {0, 1030, timeline.LinkToParent}},
			[]string{"1000 → 1010", "1000 → 1020"}, 0, 0,
		},
		"answer": {
			[]member{{0, 1000, timeline.LinkOwn}, {1, 1010, timeline.LinkToCaller}, {0, 1020, timeline.LinkOwn}},
			[]string{"1000 → 1010 → 1020"}, 0, 0,
		},
		"answer that no child gives": {
			[]member{{0, 1000, timeline.LinkOwn}, {1, 1010, timeline.LinkToParent}, {0, 1020, timeline.LinkOwn}},
			[]string{"1000 → 1010", "1000 → 1020"}, 0, 0,
		},
		"child before its parent": {
			[]member{{1, 1000, timeline.LinkToCaller}, {0, 1010, timeline.LinkOwn}},
			[]string{"1000 → 1010"}, 0, 0,
		},
		"children in one input": {
			[]member{{0, 1000, timeline.LinkOwn}, {0, 1010, timeline.LinkToCaller}, {0, 1020, timeline.LinkOwn}}, nil, 0, 0,
		},
		"links": {
			[]member{{0, 1000, timeline.LinkOwn}, {1, 1010, timeline.LinkToLinked}, {1, 1020, timeline.LinkToLinked}},
			[]string{"1000 → 1010", "1000 → 1020"}, 0, 0,
		},
		"nobody's": {
			[]member{{0, 1000, timeline.LinkToParent}, {1, 1010, timeline.LinkToCaller}, {1, 1020, timeline.LinkToLinked}}, nil, 2, 1,
		},
		"many children":                     {many, nil, 0, 0},
		"many children before their parent": {early, nil, 0, 0},
		"many children of many spans":       {ambiguous, nil, 0, 0},
	} {
		var tl *timeline.Timeline
		tl, _ = shown(t, inputs(false, false), func(b *timeline.Builder, input int) {
			thread := b.Thread(b.Process(timeline.ProcessKey{Num: 7}), timeline.ThreadKey{Num: 7})
			event := uint32(0)
			for _, m := range c.members {
				if m.input != input {
					continue
				}
				ts := m.ts - timeline.Nanos(1000*input)
				must(b.Add(&timeline.Event{Kind: timeline.Instant, Track: thread, Event: event, TS: ts, Name: []byte("x")}))
				must(b.AddLink(&timeline.Link{Key: "w3c:1", To: m.to, Track: thread, Event: event, TS: ts}))
				event++
			}
		})
		chains := map[uint64][]string{}
		must(tl.Walk(context.Background(), func(it *timeline.Item) error {
			for _, f := range it.Flows {
				chains[f.ID] = append(chains[f.ID], fmt.Sprintf("%d", it.TS))
			}
			return nil
		}))
		if len(c.members) > 10_000 {
			want, manySpans := 20_000, uint64(0)
			if name == "many children of many spans" {
				want, manySpans = 0, 1
			}
			if n := tl.Problems().Count(problem.LinkAmbiguous); len(chains) != want || n != manySpans {
				t.Errorf("%s: %d arrows, want %d; %d ambiguous keys, want %d", name, len(chains), want, n, manySpans)
			}
			if n := tl.Problems().Count(problem.SpanParentUnknown); n > 0 {
				t.Errorf("%s: %d parents are unknown", name, n)
			}
			continue
		}
		var got []string
		for _, id := range slices.Sorted(maps.Keys(chains)) {
			got = append(got, strings.Join(chains[id], " → "))
		}
		slices.Sort(got)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if n, m := tl.Problems().Count(problem.SpanParentUnknown), tl.Problems().Count(problem.SpanLinkUnknown); n != c.unknown || m != c.linked {
			t.Errorf("%s: %d parents and %d linked spans are unknown, want %d and %d", name, n, m, c.unknown, c.linked)
		}
	}
}

// TestInputEndsWithFlows: flow events after the last slice of an input do not belong to the next input.
func TestInputEndsWithFlows(t *testing.T) {
	_, got := shown(t, inputs(false, false), func(b *timeline.Builder, input int) {
		thread := b.Thread(b.Process(timeline.ProcessKey{Num: 7}), timeline.ThreadKey{Num: 7})
		must(b.Add(&timeline.Event{Kind: timeline.Slice, Track: thread, Event: 0, TS: 0, Dur: 10, Name: []byte("work")}))
		role := [...]timeline.FlowRole{timeline.FlowStart, timeline.FlowEnd}[input]
		must(b.AddFlow(&timeline.FlowEvent{
			Space: timeline.FlowV1, Role: role, Binding: timeline.BindEnclosing, Track: thread, Event: 1, TS: 5, ID: 1, Name: []byte("f"),
		}))
	})
	if diff := cmp.Diff([]string{"0 work on ", "1000 work on "}, got); diff != "" {
		t.Error(diff)
	}
}
