package report_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/load"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/internal/timeline"
)

// allOf makes all reports on the part of a trace that a query selects.
func allOf(t *testing.T, text string, query selection.Query) (all *report.All) {
	t.Helper()
	attributed(t, text, func(tl *timeline.Timeline, _ *attribution.Result) {
		filter, err := selection.Parse(query)
		if err != nil {
			t.Fatal(err)
		}
		selected, err := filter.Bind(t.Context(), tl)
		if err != nil {
			t.Fatal(err)
		}
		if all, err = report.CollectAll(t.Context(), tl, attribution.Rules{}, report.AllOptions{Selected: selected}); err != nil {
			t.Fatal(err)
		}
	})
	return all
}

// kindTimes returns the times of the kinds of work that a thread did.
func kindTimes(u *report.Utilisation, row *report.ThreadUse) map[string]timeline.Nanos {
	times := map[string]timeline.Nanos{}
	for i, t := range row.ByKind {
		inSteps := timeline.Nanos(0)
		for _, step := range row.Steps[i] {
			inSteps += step
		}
		if t > 0 {
			times[u.Kinds[i]] = t
		}
		if inSteps != t {
			times["steps of "+u.Kinds[i]] = inSteps
		}
	}
	return times
}

func TestUtilisation(t *testing.T) {
	u := allOf(t, chromeTask, selection.Query{}).Utilisation
	if u.By != report.KindsOfWork || u.Start != 0 || u.End != micros(300_000) || len(u.Threads) != 1 || u.More != 0 {
		t.Fatalf("%+v", u)
	}
	row := &u.Threads[0]
	want := map[string]timeline.Nanos{"script": micros(60_000), "style": micros(5000), "layout": micros(10_000), "other": micros(225_000)}
	if diff := gocmp.Diff(want, kindTimes(u, row)); diff != "" || row.Busy != micros(300_000) || len(row.Steps[0]) != 240 {
		t.Errorf("busy %d, %d steps\n%s", row.Busy, len(row.Steps[0]), diff)
	}
	script := row.Steps[slices.Index(u.Kinds, "script")]
	if u.Step != 1_250_001 || script[0] != 0 || script[1] != 500_002 || script[2] != u.Step || script[30] != 0 {
		t.Errorf("step %d, script %d", u.Step, script[:40])
	}
}

// If a part of the trace is selected, only the time inside it counts.
func TestUtilisationOfPart(t *testing.T) {
	u := allOf(t, chromeTask, selection.Query{From: "40ms", To: "55ms"}).Utilisation
	want := map[string]timeline.Nanos{"script": micros(10_000), "style": micros(5000)}
	if diff := gocmp.Diff(want, kindTimes(u, &u.Threads[0])); diff != "" || u.Start != micros(40_000) || u.End != micros(55_000) {
		t.Errorf("from %d to %d\n%s", u.Start, u.End, diff)
	}
}

// If weft does not know the kinds of work, the categories in the input are the kinds or, without categories, the slice names.
func TestUtilisationOfOtherKinds(t *testing.T) {
	const text = `[{"ph":"X","pid":1,"tid":2,"cat":"cpu_op","name":"aten::add","ts":0,"dur":50},{"ph":"X","pid":1,"tid":2,"cat":"python","name":"inner","ts":10,"dur":20},
		{"ph":"X","pid":1,"tid":3,"cat":"cpu_op","name":"aten::mul","ts":100,"dur":40}]`
	u := allOf(t, text, selection.Query{}).Utilisation
	want := map[string]timeline.Nanos{"cpu_op": micros(30), "python": micros(20)}
	if diff := gocmp.Diff(want, kindTimes(u, &u.Threads[0])); diff != "" || u.By != report.KindsOfInput {
		t.Errorf("by %s\n%s", u.By, diff)
	}
	const named = `[{"ph":"X","pid":1,"tid":2,"name":"Source","ts":0,"dur":50},{"ph":"X","pid":1,"tid":2,"name":"ParseClass","ts":10,"dur":20}]`
	u = allOf(t, named, selection.Query{}).Utilisation
	want = map[string]timeline.Nanos{"Source": micros(30), "ParseClass": micros(20)}
	if diff := gocmp.Diff(want, kindTimes(u, &u.Threads[0])); diff != "" || u.By != report.KindsByName {
		t.Errorf("by %s\n%s", u.By, diff)
	}
}

// Slices directly inside a slice of the same name do not get a node of their own, and small slices are left out.
func TestTreeOfSlices(t *testing.T) {
	const text = `[{"ph":"X","pid":1,"tid":2,"name":"build","ts":0,"dur":10000},{"ph":"X","pid":1,"tid":2,"name":"compile","ts":0,"dur":4000},
		{"ph":"X","pid":1,"tid":2,"name":"compile","ts":1000,"dur":1000},{"ph":"X","pid":1,"tid":2,"name":"link","ts":5000,"dur":5000},
		{"ph":"X","pid":1,"tid":2,"name":"tiny","ts":6000,"dur":5},{"ph":"X","pid":1,"tid":2,"name":"compile","ts":4000,"dur":500}]`
	trees := allOf(t, text, selection.Query{}).StackTrees
	if len(trees) != 1 || trees[0].From != report.TreeOfSlices || trees[0].Total != micros(10_000) || trees[0].Small != 1 {
		t.Fatalf("%+v", trees)
	}
	want := []report.TreeNode{
		{Frame: report.Frame{Function: "build"}, Total: micros(10_000), Self: micros(500), Kind: "build"},
		{Frame: report.Frame{Function: "link"}, Depth: 1, Total: micros(5000), Self: micros(4995), Kind: "link"},
		{Frame: report.Frame{Function: "compile"}, Depth: 1, Total: micros(4500), Self: micros(4500), Kind: "compile"},
	}
	if diff := gocmp.Diff(want, trees[0].Nodes); diff != "" {
		t.Error(diff)
	}
}

// Steps whose names differ only in their numbers share a node.
func TestTreeOfSteps(t *testing.T) {
	const text = `[{"ph":"X","pid":1,"tid":2,"name":"Step#1","ts":0,"dur":1000},{"ph":"X","pid":1,"tid":2,"name":"add","ts":100,"dur":200},
		{"ph":"X","pid":1,"tid":2,"name":"Step#22","ts":2000,"dur":1000},{"ph":"X","pid":1,"tid":2,"name":"add","ts":2100,"dur":200},{"ph":"X","pid":1,"tid":2,"name":"#7","ts":4000,"dur":10}]`
	var got []string
	for _, n := range allOf(t, text, selection.Query{}).StackTrees[0].Nodes {
		got = append(got, fmt.Sprint(n.Depth, " ", n.Function, " ", int64(n.Total/timeline.Microsecond)))
	}
	if diff := gocmp.Diff([]string{"0 Step#… 2000", "1 add 400", "0 #7 10"}, got); diff != "" {
		t.Error(diff)
	}
}

// The profile has two functions, one of which calls itself. Samples without a function and collector samples are not in the tree;
// their times are in LeftOut.
func TestTreeOfSamples(t *testing.T) {
	const text = `{"nodes":[{"id":1,"callFrame":{"functionName":"(root)","url":"","lineNumber":-1,"columnNumber":-1},"children":[2,5,6]},
		{"id":2,"callFrame":{"functionName":"main","url":"http://a.example/x.js","lineNumber":0,"columnNumber":0},"children":[3]},
		{"id":3,"callFrame":{"functionName":"f","url":"http://b.example/y.js","lineNumber":9,"columnNumber":1},"children":[4]},
		{"id":4,"callFrame":{"functionName":"f","url":"http://b.example/y.js","lineNumber":9,"columnNumber":1}},
		{"id":5,"callFrame":{"functionName":"(program)","url":"","lineNumber":-1,"columnNumber":-1}},
		{"id":6,"callFrame":{"functionName":"(idle)","url":"","lineNumber":-1,"columnNumber":-1}}],
		"startTime":0,"endTime":6000,"samples":[2,3,4,5,6,2],"timeDeltas":[0,1000,1000,1000,1000,1000]}`
	trees := allOf(t, text, selection.Query{}).StackTrees
	if len(trees) != 1 {
		t.Fatalf("%+v", trees)
	}
	want := []report.TreeNode{
		{Frame: report.Frame{Function: "main", URL: "http://a.example/x.js", Line: 1, Column: 1}, Total: micros(4000), Self: micros(2000), Kind: "a.example"},
		{Frame: report.Frame{Function: "f", URL: "http://b.example/y.js", Line: 10, Column: 2}, Depth: 1, Total: micros(2000), Self: micros(2000), Kind: "b.example"},
	}
	if diff := gocmp.Diff(want, trees[0].Nodes); diff != "" || len(trees[0].LeftOut) != 2 {
		t.Errorf("left out %+v\n%s", trees[0].LeftOut, diff)
	}
}

// Arrows from thread 1 to 2 take 30 and 50 µs between their ends; the arrow from thread 2 to thread 1 takes 10 µs, and one more
// arrow stays on its thread.
func TestFlowPairs(t *testing.T) {
	const text = `[{"ph":"X","pid":1,"tid":1,"name":"a","ts":0,"dur":1000},{"ph":"X","pid":1,"tid":2,"name":"b","ts":0,"dur":1000},
		{"ph":"s","pid":1,"tid":1,"cat":"c","name":"n","id":1,"ts":10},{"ph":"f","bp":"e","pid":1,"tid":2,"cat":"c","name":"n","id":1,"ts":40},
		{"ph":"s","pid":1,"tid":1,"cat":"c","name":"n","id":2,"ts":100},{"ph":"t","pid":1,"tid":2,"cat":"c","name":"n","id":2,"ts":150},
		{"ph":"f","bp":"e","pid":1,"tid":1,"cat":"c","name":"n","id":2,"ts":160},
		{"ph":"s","pid":1,"tid":1,"cat":"c","name":"n","id":3,"ts":200},{"ph":"X","pid":1,"tid":1,"name":"later","ts":2000,"dur":10},{"ph":"f","bp":"e","pid":1,"tid":1,"cat":"c","name":"n","id":3,"ts":2001}]`
	f := allOf(t, text, selection.Query{}).FlowPairs
	one, two := report.ThreadID{PID: timeline.InputID{Num: 1}, TID: timeline.InputID{Num: 1}}, report.ThreadID{PID: timeline.InputID{Num: 1}, TID: timeline.InputID{Num: 2}}
	want := &report.FlowPairs{Arrows: 4, Within: 1, Pairs: []report.FlowPair{
		{From: one, To: two, Arrows: 2, Delay: micros(80), Median: micros(30), P95: micros(50), Max: micros(50), MaxAt: micros(100)},
		{From: two, To: one, Arrows: 1, Delay: micros(10), Median: micros(10), P95: micros(10), Max: micros(10), MaxAt: micros(150)},
	}}
	if diff := gocmp.Diff(want, f); diff != "" {
		t.Error(diff)
	}
}

// All contains the same numbers as the separate reports.
func TestAllAgrees(t *testing.T) {
	attributed(t, chromeTask, func(tl *timeline.Timeline, result *attribution.Result) {
		all, err := report.CollectAll(t.Context(), tl, attribution.Rules{}, report.AllOptions{Slices: true})
		if err != nil {
			t.Fatal(err)
		}
		tasks, err := report.CollectTasks(t.Context(), tl, result, report.TaskOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(tasks.Tasks, all.Tasks.List); diff != "" || all.Tasks.Blocking != tasks.Blocking {
			t.Error(diff)
		}
		sums, err := report.CollectSlices(t.Context(), tl, report.SliceOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(sums.Groups, all.Slices.Groups); diff != "" {
			t.Error(diff)
		}
		profiles, err := report.Collect(t.Context(), tl, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(profiles.LayoutThrashing(report.Options{}), all.Forced); diff != "" {
			t.Error(diff)
		}
	})
	inputs := collectInputs(t, browser, report.InputOptions{})
	if diff := gocmp.Diff(inputs.Inputs, allOf(t, browser, selection.Query{}).Inputs.List); diff != "" {
		t.Error(diff)
	}
}

func TestAllOfNothing(t *testing.T) {
	all := allOf(t, "[]", selection.Query{})
	if all.Utilisation != nil || all.Costs != nil || len(all.StackTrees) > 0 || all.Inputs != nil || all.Tasks != nil || all.Slices != nil || all.FlowPairs != nil {
		t.Errorf("%+v", all)
	}
}

// Layout phases from probes are kinds of work, as in costs.
func TestUtilisationOfProbes(t *testing.T) {
	text := recording.Read(t, filepath.Join(recording.Testdata(t), "traces", "probes", "bpftrace17-json.probelines.gz"))
	all := allOf(t, string(text), selection.Query{})
	layout := slices.Index(all.Utilisation.Kinds, "layout")
	if layout < 0 || slices.Index(all.Utilisation.Kinds, "paint") < 0 || slices.Index(all.Utilisation.Kinds, "style") < 0 {
		t.Fatalf("kinds %q", all.Utilisation.Kinds)
	}
	sum, want := timeline.Nanos(0), timeline.Nanos(0)
	for i := range all.Utilisation.Threads {
		sum += all.Utilisation.Threads[i].ByKind[layout]
	}
	for i := range all.Costs[0].Rows {
		want += all.Costs[0].Rows[i].SelfByCategory[producers.CategoryLayout]
	}
	if sum != want || sum == 0 {
		t.Errorf("layout took %d, by costs %d", sum, want)
	}
}

// If its context is done, CollectAll returns the context's error, whichever part notices that first.
func TestAllStopped(t *testing.T) {
	attributed(t, chromeTask, func(tl *timeline.Timeline, _ *attribution.Result) {
		ctx, stop := context.WithCancel(t.Context())
		stop()
		all, err := report.CollectAll(ctx, tl, attribution.Rules{}, report.AllOptions{})
		if all != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("%v, %v; want the error of the context", all, err)
		}
	})
}

// A report of everything makes two more passes over a trace than the attribution for the cost report: one over the slices of
// threads, and one over the work that inputs caused. Its first walk also finds the last problems of a trace, which therefore need
// no other walk. The pairs of threads that flows connect are found during the attribution.
func TestPassesOfAll(t *testing.T) {
	trace := recording.Read(t, filepath.Join(recording.Testdata(t), "traces", "chrome", "chrome-devtools-tiny.json.gz"))
	passes := func(use func(*timeline.Timeline) error) float64 {
		loaded, err := load.One(t.Context(), bytes.NewReader(trace), load.Options{JSCalls: load.JSCallsOff})
		if err != nil {
			t.Fatal(err)
		}
		defer loaded.Close()
		if err := use(loaded.Timeline); err != nil {
			t.Fatal(err)
		}
		return loaded.Timeline.Passes()
	}
	costs := passes(func(tl *timeline.Timeline) error {
		if err := tl.Walk(t.Context(), func(*timeline.Item) error { return nil }); err != nil {
			return err
		}
		result, err := attribution.Run(t.Context(), tl, attribution.Rules{})
		if err != nil {
			return err
		}
		return result.Close()
	})
	all := passes(func(tl *timeline.Timeline) error {
		all, err := report.CollectAll(t.Context(), tl, attribution.Rules{}, report.AllOptions{})
		if err == nil && (all.Inputs == nil || all.FlowPairs == nil) {
			t.Error("the recording has no inputs or no flows, so this shows too little")
		}
		return err
	})
	t.Logf("%.2f passes, %.2f for costs", all, costs)
	if all > costs+2.01 {
		t.Errorf("%.2f passes over each record, want two more than %.2f", all, costs)
	}
}
