package report_test

import (
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/internal/timeline"
)

// overviewOf makes the overview of the part of a trace that a query selects.
func overviewOf(t *testing.T, text string, query selection.Query) (o *report.Overview) {
	t.Helper()
	attributed(t, text, func(tl *timeline.Timeline, result *attribution.Result) {
		filter, err := selection.Parse(query)
		if err != nil {
			t.Fatal(err)
		}
		selected, err := filter.Bind(t.Context(), tl)
		if err != nil {
			t.Fatal(err)
		}
		if o, err = report.CollectOverview(t.Context(), tl, result, selected); err != nil {
			t.Fatal(err)
		}
	})
	return o
}

// browser is a trace of a renderer with a page that works for 60 ms, 10 ms of them in a frame from another site, and a worker
// that runs a script for 5 ms; another process works for 7 ms. One task is long, and one click is answered after 10 ms.
var browser = `{"metadata":{"user-agent":"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 HeadlessChrome/156.0.1.2 Safari/537.36",
	"trace-capture-datetime":"2026-11-20 4:31:12","command_line":"/usr/bin/chromium --headless"},"traceEvents":[
	{"ph":"M","pid":1,"name":"process_name","args":{"name":"Renderer"}},{"ph":"M","pid":9,"name":"process_name","args":{"name":"GPU"}},
	{"ph":"M","pid":1,"name":"process_labels","args":{"labels":"A title"}},
	{"ph":"M","pid":1,"tid":2,"name":"thread_name","args":{"name":"CrRendererMain"}},{"ph":"M","pid":1,"tid":3,"name":"thread_name","args":{"name":"Worker"}},
	{"ph":"I","s":"t","cat":"devtools.timeline","name":"FrameCommittedInBrowser","ts":0,"pid":9,"tid":9,"args":{"data":{"frame":"A","url":"http://a.test/","processId":1}}},
	{"ph":"I","s":"t","cat":"devtools.timeline","name":"FrameCommittedInBrowser","ts":1,"pid":9,"tid":9,"args":{"data":{"frame":"B","url":"http://b.test/","parent":"A","processId":1}}},
	{"ph":"X","cat":"devtools.timeline,disabled-by-default-x","name":"RunTask","ts":1000,"dur":60000,"pid":1,"tid":2},
	{"ph":"X","cat":"devtools.timeline","name":"FunctionCall","ts":1000,"dur":50000,"pid":1,"tid":2,"args":{"data":{"frame":"A","url":"http://a.test/a.js","functionName":"f"}}},
	{"ph":"X","cat":"devtools.timeline","name":"FunctionCall","ts":51000,"dur":10000,"pid":1,"tid":2,"args":{"data":{"frame":"B","url":"http://b.test/b.js"}}},
	{"ph":"X","cat":"devtools.timeline","name":"FunctionCall","ts":1000,"dur":5000,"pid":1,"tid":3,"args":{"data":{"url":"http://a.test/worker.js"}}},
	{"ph":"X","cat":"gpu","name":"Swap","ts":2000,"dur":7000,"pid":9,"tid":9},
	` + timing(1, "click", 70_000, 71_000, 72_000, 80_000, 7) + `]}`

// A device stream is busy while any of its kernels runs, including kernels that overlap others; in a window, only the parts
// inside it count.
func TestOverviewCountsSlicesThatOverlap(t *testing.T) {
	kernel := func(ts, dur int) string {
		return fmt.Sprintf(`{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":%d,"dur":%d,"args":{"device":0,"stream":7}}`, ts, dur)
	}
	trace := `{"traceEvents":[` + strings.Join([]string{kernel(1000, 10000), kernel(6000, 10000), kernel(20000, 5000), kernel(21000, 10000)}, ",") + `]}`
	for _, test := range []struct {
		query selection.Query
		want  timeline.Nanos
	}{
		{selection.Query{}, 26 * ms},
		{selection.Query{From: "10ms", To: "22ms"}, 8 * ms},
	} {
		o := overviewOf(t, trace, test.query)
		if len(o.Threads) != 1 || o.Threads[0].Busy != test.want || len(o.Processes) != 1 || o.Processes[0].Busy != test.want {
			t.Errorf("%+v: threads %+v, processes %+v; want %v busy", test.query, o.Threads, o.Processes, test.want)
		}
	}
}

func TestOverview(t *testing.T) {
	o := overviewOf(t, browser, selection.Query{})
	if diff := gocmp.Diff(report.Recording{
		Producer: "Chrome (headless)", Version: "156.0.1.2", System: "Linux x86_64", Recorded: "2026-11-20T04:31:12Z", Commands: []string{"/usr/bin/chromium --headless"},
	}, o.Recording); diff != "" {
		t.Error(diff)
	}
	if diff := gocmp.Diff([]report.PageTime{{URL: "http://a.test/", Busy: 60 * ms}}, o.Pages); diff != "" {
		t.Error(diff)
	}
	type busy struct {
		Name, Shows string
		Busy        timeline.Nanos
	}
	var processes, threads []busy
	for _, p := range o.Processes {
		processes = append(processes, busy{p.Process, p.Shows, p.Busy})
	}
	for _, th := range o.Threads {
		threads = append(threads, busy{th.Thread, th.Shows, th.Busy})
	}
	if diff := gocmp.Diff([]busy{{"Renderer", "http://a.test/", 65 * ms}, {"GPU", "", 7 * ms}}, processes); diff != "" {
		t.Error(diff)
	}
	if diff := gocmp.Diff([]busy{{"CrRendererMain", "http://a.test/", 60 * ms}, {"", "", 7 * ms}, {"Worker", "http://a.test/worker.js", 5 * ms}}, threads); diff != "" {
		t.Error(diff)
	}
	if p := o.Processes[0]; p.Threads != 2 || len(p.Labels) != 1 || p.Labels[0] != "A title" {
		t.Errorf("%+v", p)
	}
	if len(o.Categories) != 3 || o.Categories[0].Category != "devtools.timeline" || o.Categories[1] != (report.CategoryCount{Category: "disabled-by-default-x", Events: 1}) {
		t.Errorf("categories %+v", o.Categories)
	}
	if len(o.Tasks) != 1 || o.Tasks[0].Duration != 60*ms || o.Tasks[0].Start != 1*ms || o.Tasks[0].Thread != "CrRendererMain" {
		t.Errorf("long tasks %+v", o.Tasks)
	}
	if diff := gocmp.Diff([]report.OverviewInput{{Kind: report.ClickInput, Start: 70 * ms, Latency: 10 * ms}}, o.Inputs); diff != "" {
		t.Error(diff)
	}
	if len(o.Contexts) == 0 || o.Devices {
		t.Errorf("contexts %+v, devices %v", o.Contexts, o.Devices)
	}
}

const ms = 1000 * timeline.Microsecond

// The overview of a part of a trace contains only the threads, tasks and inputs in that part.
func TestOverviewOfAPart(t *testing.T) {
	o := overviewOf(t, browser, selection.Query{Processes: []string{"GPU"}})
	if len(o.Threads) != 1 || o.Threads[0].Busy != 7*ms || len(o.Processes) != 1 || len(o.Tasks) != 0 || len(o.Inputs) != 0 {
		t.Errorf("the GPU process: %+v", o)
	}
	if o.Recording.Producer != "Chrome (headless)" {
		t.Errorf("the recording is the same: %+v", o.Recording)
	}
}

// The lists of an empty trace are empty, not nil.
func TestOverviewOfNothing(t *testing.T) {
	o := overviewOf(t, `[]`, selection.Query{})
	if o.Pages == nil || o.Processes == nil || o.Threads == nil || o.Categories == nil || o.Tasks == nil || o.Inputs == nil || len(o.Threads) > 0 {
		t.Errorf("%+v", o)
	}
	if o.Recording.Producer+o.Recording.Version+o.Recording.Recorded != "" {
		t.Errorf("%+v", o.Recording)
	}
}

// The producer and time of a recording are read from facts whose names depend on the producer.
func TestRecording(t *testing.T) {
	event := `{"ph":"X","name":"a","cat":"%","ts":1000000,"dur":1,"pid":1,"tid":1}`
	for _, test := range []struct {
		name, text string
		want       report.Recording
	}{
		{"Edge calls itself Chrome as well", `{"metadata":{"user-agent":"Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/150.0 Edg/150.1"},"traceEvents":[` + event + `]}`,
			report.Recording{Producer: "Edge", Version: "150.1", System: "x64"}},
		{"PyTorch", `{"schemaVersion":1,"baseTimeNanoseconds":1759276800000000000,"traceEvents":[` + event + `]}`,
			report.Recording{Producer: "the PyTorch profiler", Recorded: "2025-10-01T00:00:01Z"}},
		{"times since 1970 already", `{"schemaVersion":1,"baseTimeNanoseconds":1,"traceEvents":[` + event + `]}`,
			report.Recording{Producer: "the PyTorch profiler", Recorded: "1970-01-01T00:00:01Z"}},
		{"a base that is not a number", `{"schemaVersion":1,"baseTimeNanoseconds":"x","traceEvents":[` + event + `]}`, report.Recording{Producer: "the PyTorch profiler"}},
		{"nothing known", `[` + event + `]`, report.Recording{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := gocmp.Diff(test.want, overviewOf(t, test.text, selection.Query{}).Recording); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// If a recording contains GPU work, the overview reports that devices worked.
func TestOverviewOfDevices(t *testing.T) {
	o := overviewOf(t, `[{"ph":"X","name":"gemm","cat":"kernel","ts":1,"dur":5,"pid":0,"tid":7,"args":{"device":0,"stream":7}}]`, selection.Query{})
	if !o.Devices {
		t.Errorf("%+v", o)
	}
}
