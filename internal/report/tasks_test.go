package report_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/timeline"
)

// collectTasks attributes a trace and returns the report on its tasks.
func collectTasks(t *testing.T, text string, opts report.TaskOptions) (r *report.Tasks) {
	t.Helper()
	attributed(t, text, func(tl *timeline.Timeline, result *attribution.Result) {
		var err error
		if r, err = report.CollectTasks(t.Context(), tl, result, opts); err != nil {
			t.Fatal(err)
		}
	})
	return r
}

// chromeTask is a Chrome task of 100 ms, in a period with tasks. Two functions run in it for 30 ms and 45 ms; the second one
// forces 5 ms of style and 10 ms of layout.
const chromeTask = `{"traceEvents":[
	{"ph":"X","pid":1,"tid":2,"cat":"base","name":"ThreadController active","ts":0,"dur":300000},
	{"ph":"X","pid":1,"tid":2,"cat":"toplevel","name":"RunTask","ts":1000,"dur":100000,"tts":500,"tdur":80000},
	{"ph":"X","pid":1,"tid":2,"cat":"devtools.timeline","name":"FunctionCall","ts":2000,"dur":30000,"args":{"data":{"frame":"F","functionName":"a","url":"http://x/a.js","lineNumber":3,"columnNumber":7}}},
	{"ph":"X","pid":1,"tid":2,"cat":"devtools.timeline","name":"FunctionCall","ts":40000,"dur":45000,"args":{"data":{"frame":"F","functionName":"b","url":"http://x/a.js"}}},
	{"ph":"X","pid":1,"tid":2,"cat":"devtools.timeline","name":"UpdateLayoutTree","ts":50000,"dur":5000},
	{"ph":"X","pid":1,"tid":2,"cat":"devtools.timeline","name":"Layout","ts":60000,"dur":10000},
	{"ph":"X","pid":1,"tid":2,"cat":"toplevel","name":"RunTask","ts":150000,"dur":49999},
	{"ph":"X","pid":1,"tid":2,"cat":"toplevel","name":"RunTask","ts":200000,"dur":50000}]}`

func TestTasksOfEventLoops(t *testing.T) {
	r := collectTasks(t, chromeTask, report.TaskOptions{})
	if len(r.Tasks) != 2 || r.Blocking != micros(50_000) || r.Min != timeline.LongTaskLength {
		t.Fatalf("%+v", r)
	}
	if empty := r.Tasks[1]; empty.Start != micros(200_000) || empty.Blocking != 0 || empty.Split != nil {
		t.Errorf("%+v", empty)
	}
	cpu := micros(80_000)
	step := report.PathStep{Name: "RunTask", Duration: micros(100_000), Self: micros(25_000), Parts: 2, Longest: micros(45_000)}
	want := report.Task{
		ThreadID: report.ThreadID{PID: timeline.InputID{Num: 1}, TID: timeline.InputID{Num: 2}}, Basis: report.LoopTasks, Name: "RunTask",
		Start: micros(1000), Duration: micros(100_000), Blocking: micros(50_000), CPU: &cpu,
		Work: report.Work{
			Self: micros(100_000), Forced: micros(15_000), ForcedCount: 2, PartCount: 5,
			ByCategory: []report.CategoryTime{{"script", micros(60_000)}, {"other", micros(25_000)}, {"layout", micros(10_000)}, {"style", micros(5000)}},
			Parts: []report.WorkPart{
				{Name: "FunctionCall a", Location: "http://x/a.js:3:7", Category: "script", Count: 1, Self: micros(30_000), Longest: micros(30_000)},
				{Name: "FunctionCall b", Location: "http://x/a.js", Category: "script", Count: 1, Self: micros(30_000), Longest: micros(30_000)},
				{Name: "RunTask", Count: 1, Self: micros(25_000), Longest: micros(25_000)},
				{Name: "Layout", Category: "layout", Count: 1, Self: micros(10_000), Longest: micros(10_000)},
				{Name: "UpdateLayoutTree", Category: "style", Count: 1, Self: micros(5000), Longest: micros(5000)},
			},
		},
		Path: []report.PathStep{
			step,
			{Name: "FunctionCall b", Location: "http://x/a.js", Duration: micros(45_000), Self: micros(30_000), Parts: 2, Longest: micros(10_000)},
			{Name: "Layout", Duration: micros(10_000), Self: micros(10_000)},
		},
		Split: &report.TaskSplit{PathStep: step},
	}
	got := r.Tasks[0]
	frames := got.Contexts
	got.Contexts = nil
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, c := range frames {
		if c.Type == "Frame" && c.Time != micros(100_000) {
			t.Errorf("%+v", c)
		}
	}
	if len(frames) == 0 {
		t.Error("no contexts")
	}
}

// Firefox marks long tasks on a track beside their thread. The marks count as tasks, and samples show the work in them.
func TestMarkedTasks(t *testing.T) {
	text, err := os.ReadFile("testdata/firefox-long-task.json")
	if err != nil {
		t.Fatal(err)
	}
	r := collectTasks(t, string(text), report.TaskOptions{})
	if len(r.Tasks) != 1 || r.Tasks[0].Basis != report.LoopTasks || r.Tasks[0].Duration != micros(60_000) || r.Tasks[0].Thread != "GeckoMain" {
		t.Fatalf("%+v", r.Tasks)
	}
	if w := r.Tasks[0].Work; len(w.Parts) != 1 || w.Parts[0].Name != "work" || w.Parts[0].Count != 3 {
		t.Errorf("%+v", w)
	}
}

// If there are too many tasks, the report keeps the longest.
func TestTooManyTasks(t *testing.T) {
	const all, kept = 9000, 4096
	var b strings.Builder
	for i := range all {
		fmt.Fprintf(&b, `{"ph":"X","pid":1,"tid":2,"name":"RunTask","ts":%d,"dur":%d},`, i*100_000, 50_001+i)
	}
	r := collectTasks(t, "["+strings.TrimSuffix(b.String(), ",")+"]", report.TaskOptions{})
	if len(r.Tasks) != kept || r.Uncounted != all-kept || r.Tasks[0].Duration != micros(50_000+all) || r.Tasks[kept-1].Blocking != micros(all-kept+1) {
		t.Errorf("%d tasks, %d uncounted", len(r.Tasks), r.Uncounted)
	}
	if r.Blocking != micros(all*(all+1)/2) {
		t.Errorf("blocking for %d ns", r.Blocking)
	}
}

// The place to split a task is where the longest slice no longer takes most of the time, or a slice that calls nothing
// else.
func TestPlaceToSplit(t *testing.T) {
	r := collectTasks(t, `[
		{"ph":"X","pid":1,"tid":2,"name":"job","ts":0,"dur":100000},
		{"ph":"X","pid":1,"tid":2,"name":"wrapper","ts":0,"dur":95000},
		{"ph":"X","pid":1,"tid":2,"name":"hot","ts":10000,"dur":80000},
		{"ph":"X","pid":1,"tid":2,"name":"small","ts":20000,"dur":1000}]`, report.TaskOptions{})
	if len(r.Tasks) != 1 || r.Tasks[0].Basis != report.OutermostWork {
		t.Fatalf("%+v", r.Tasks)
	}
	if s := r.Tasks[0].Split; s == nil || !s.Inside || s.Name != "hot" || s.Self != micros(79_000) {
		t.Errorf("%+v", s)
	}
}

// Slices that never end do not count as tasks, nor do tasks that the options exclude.
func TestWhatIsNoTask(t *testing.T) {
	const events = `[
		{"ph":"B","pid":1,"tid":2,"name":"endless","ts":0},
		{"ph":"X","pid":1,"tid":3,"name":"work","ts":0,"dur":60000},
		{"ph":"X","pid":1,"tid":4,"name":"work","ts":0,"dur":70000}]`
	if r := collectTasks(t, events, report.TaskOptions{}); len(r.Tasks) != 2 || r.Tasks[0].Duration != micros(70_000) {
		t.Errorf("%+v", r.Tasks)
	}
	only := func(name string) report.TaskOptions {
		return report.TaskOptions{Include: func(it *timeline.Item) bool { return string(it.Name) == name }}
	}
	if r := collectTasks(t, chromeTask, only("Layout")); len(r.Tasks) != 1 || r.Tasks[0].Start != micros(1000) {
		t.Errorf("%+v", r.Tasks)
	}
	none := func(*timeline.Item) bool { return false }
	if r := collectTasks(t, events, report.TaskOptions{Include: none}); len(r.Tasks) != 0 {
		t.Errorf("%+v", r.Tasks)
	}
}

// Where samples show when a thread was busy, tasks are busy runs: here 60 ms of the function a, including a collection of 20 ms,
// and 40 ms of the function b. The latter run is too short.
func TestSampledTasks(t *testing.T) {
	const profile = `{
		"resources": ["https://example.org/app.js"], "frames": [{"name": "a", "resourceId": 0, "line": 7, "column": 24}, {"name": "b"}],
		"stacks": [{"frameId": 0}, {"frameId": 1}],
		"samples": [{"timestamp": 10, "stackId": 0, "marker": "script"}, {"timestamp": 30, "stackId": 0, "marker": "gc"},
			{"timestamp": 50, "stackId": 0, "marker": "script"}, {"timestamp": 70}, {"timestamp": 90, "stackId": 1, "marker": "script"},
			{"timestamp": 110, "stackId": 1, "marker": "script"}, {"timestamp": 130}]}`
	r := collectTasks(t, profile, report.TaskOptions{})
	if len(r.Tasks) != 1 || r.Tasks[0].Basis != report.SampledTasks || r.Tasks[0].Duration != micros(60_000) {
		t.Fatalf("%+v", r.Tasks)
	}
	want := []report.WorkPart{
		{Name: "a", Location: "https://example.org/app.js:7:24", Category: "script", Count: 2, Self: micros(40_000), Longest: micros(20_000)},
		{Name: "a", Location: "https://example.org/app.js:7:24", Category: "gc", Count: 1, Self: micros(20_000), Longest: micros(20_000)},
	}
	if diff := gocmp.Diff(want, r.Tasks[0].Parts); diff != "" {
		t.Error(diff)
	}
}
