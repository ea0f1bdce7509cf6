package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A second input's events on a thread are in no sum over the thread, neither as busy time nor as asynchronous slices. The reports
// state the name of this input and the number of these events, and list the slices separately.
func TestReportsOfSharedThreads(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"a.json", "b.json"} {
		text := fmt.Sprintf(`[{"ph":"X","name":"task","pid":5,"tid":5,"ts":1%d00,"dur":100},{"ph":"X","name":"of %[2]s","pid":5,"tid":5,"ts":3%[1]d00,"dur":100},`+
			`{"ph":"I","s":"t","name":"i","pid":5,"tid":5,"ts":50}]`, i, name)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, out := merged(t, filepath.Join(dir, "a.json"), filepath.Join(dir, "b.json"), "--same", "a,b", "--offset", "b=0s")
	const note = "b also recorded 1 thread of another input; its 3 slices and instants there are not counted for the thread, because that would count its time twice"
	report := func(args ...string) string {
		t.Helper()
		c := newConsole(strings.NewReader(""), false)
		if code := run(t.Context(), append([]string{"weft", "report"}, append(args, out)...), &c.environment); code != exitOK {
			t.Fatalf("exit code %d: %s", code, c.err.String())
		}
		want := out + ": " + note + "\n"
		if args[0] == "samples" || args[0] == "gc" { // these count no slices
			want = ""
		}
		if got := c.err.String(); got != want {
			t.Errorf("%q: %q, want %q", args, got, want)
		}
		return c.out.String()
	}
	var tables []struct {
		Busy       int64 `json:"busy_ns"`
		NotCounted []struct {
			Input           string
			Threads, Events int
		} `json:"not_counted"`
		Rows []struct {
			Slices int
			Async  int64 `json:"async_ns"`
		}
	}
	if err := json.Unmarshal([]byte(report("cost", "--json", "--type", "thread")), &tables); err != nil {
		t.Fatal(err)
	}
	costs := tables[0]
	if fmt.Sprint(costs.NotCounted) != "[{b 1 3}]" || len(costs.Rows) == 0 || costs.Busy != 200_000 || costs.Rows[0].Slices != 2 || costs.Rows[0].Async != 0 {
		t.Errorf("%+v", costs)
	}
	text := report("slices")
	_, own, ok := strings.Cut(text, "slices that further inputs have of the same threads")
	if !ok || strings.Count(own, "of b.json") != 1 || strings.Contains(own, "of a.json") || strings.Contains(text, "asynchronous") {
		t.Error(text)
	}
	for _, name := range []string{"tasks", "samples", "gc", "layout-thrashing"} {
		report(name)
	}
	if text := report("slices", filepath.Join(dir, "a.json")); !strings.Contains(text, "2 recordings") { // including the merged one
		t.Error(text)
	}
	if text := report("all", "--json"); !strings.Contains(text, `"not_counted":[{"input":"b","threads":1,"events":3}]`) {
		t.Error(text)
	}
	page := filepath.Join(dir, "page.html")
	for _, name := range []string{"all", "tasks"} {
		c := newConsole(strings.NewReader(""), false)
		if code := run(t.Context(), []string{"weft", "report", name, "--html", page, "--force", out}, &c.environment); code != exitOK {
			t.Fatalf("exit code %d: %s", code, c.err.String())
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), note+".") || strings.Contains(string(text), "every event of the file was read") || strings.Contains(string(text), "nothing is missing") {
			t.Errorf("the page of %s does not say what is not counted", name)
		}
	}
}

// Long tasks that only a further input recorded on a thread do not count for the thread, in reports or as marks, even if they
// overlap other long tasks or the thread has no long tasks of its own.
func TestLongTasksOfSharedThreads(t *testing.T) {
	const first, further = `{"ph":"X","name":"RunTask","cat":"toplevel","pid":5,"tid":5,"ts":1000,"dur":%d},` +
		`{"ph":"X","name":"detail","pid":5,"tid":5,"ts":1000,"dur":1},{"ph":"X","name":"detail","pid":5,"tid":5,"ts":1001,"dur":1}`,
		`{"ph":"X","name":"RunTask","cat":"toplevel","pid":5,"tid":5,"ts":200000,"dur":70000},{"ph":"X","name":"RunTask","cat":"toplevel","pid":5,"tid":5,"ts":260000,"dur":80000}`
	for _, test := range []struct {
		own   int // microseconds
		marks int
		want  string
	}{{90_000, 1, "[{RunTask 90000000}] 40000000"}, {1000, 0, "[] 0"}} {
		dir := t.TempDir()
		a, b := filepath.Join(dir, "a.json"), filepath.Join(dir, "b.json")
		for path, events := range map[string]string{a: fmt.Sprintf(first, test.own), b: further} {
			if err := os.WriteFile(path, []byte("["+events+"]"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, out := merged(t, a, b, "--same", "a,b", "--offset", "b=0s")
		c := newConsole(strings.NewReader(""), false)
		if code := run(t.Context(), []string{"weft", "report", "all", "--json", out}, &c.environment); code != exitOK {
			t.Fatalf("exit code %d: %s", code, c.err.String())
		}
		var all struct {
			Long struct {
				Blocking int64 `json:"blocking_ns"`
				Tasks    []struct {
					Name string
					Dur  int64 `json:"dur_ns"`
				}
			} `json:"long_tasks"`
		}
		if err := json.Unmarshal(c.out.Bytes(), &all); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(all.Long.Tasks, all.Long.Blocking); got != test.want {
			t.Errorf("own task of %d µs: %s, want %s", test.own, got, test.want)
		}
		c = newConsole(strings.NewReader(""), false)
		run(t.Context(), []string{"weft", "dump", out}, &c.environment)
		if got := strings.Count(c.out.String(), "Long task "); got != test.marks {
			t.Errorf("own task of %d µs: %d marks, want %d: %s", test.own, got, test.marks, c.out.String())
		}
	}
}

// If two recorders recorded a thread, only the recorder with more slices and instants counts, whichever comes first. The same
// applies to reports on layout and calls.
func TestMostDetailCounts(t *testing.T) {
	dir := t.TempDir()
	for name, n := range map[string]int{"less.json": 1, "more.json": 2} {
		text := "["
		for i := range n {
			text += fmt.Sprintf(`{"ph":"X","name":"Layout","cat":"devtools.timeline","pid":5,"tid":5,"ts":%d00,"dur":10},`+
				`{"ph":"X","name":"FunctionCall","cat":"devtools.timeline","pid":5,"tid":5,"ts":%[1]d50,"dur":20,"args":{"data":{"functionName":"of %[2]s","url":"u"}}},`, i+1, name)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text+`{"ph":"M"}]`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, order := range [][]string{{"less", "more"}, {"more", "less"}} {
		_, out := merged(t, filepath.Join(dir, order[0]+".json"), filepath.Join(dir, order[1]+".json"), "--same", "less,more", "--offset", order[1]+"=0s")
		for report, want := range map[string]string{"layout-count": "Layout", "js-funcalls": "of more.json", "cost --type thread --csv": ""} {
			c := newConsole(strings.NewReader(""), false)
			if code := run(t.Context(), append(append([]string{"weft", "report"}, strings.Fields(report)...), out), &c.environment); code != exitOK {
				t.Fatalf("exit code %d: %s", code, c.err.String())
			}
			const note = "less also recorded 1 thread of another input; its 2 slices and instants there are not counted"
			if text := c.out.String(); !strings.Contains(text, want) || !strings.Contains(c.err.String(), note) || strings.Contains(text, "of less.json") {
				t.Errorf("%v: %s: %s%s", order, report, text, c.err.String())
			} else if report == "layout-count" && (!strings.Contains(text, "2") || strings.Contains(text, "3")) {
				t.Errorf("%v: %s", order, text)
			}
		}
	}
}

// Two profilers of a thread are not added up: the one with more samples counts, whichever comes first.
func TestTwoProfilersOfAThread(t *testing.T) {
	trace, profile := recordingNamed(t, "chrome/chrome-with-selfprof-and-inspector.json"), recordingNamed(t, "cpuprofile/cdp-matching-trace.cpuprofile")
	type thread struct {
		Thread  string
		Samples int
		Busy    int64 `json:"busy_ns"`
	}
	threadsOf := func(path string) (threads []thread, notes string) {
		t.Helper()
		c := newConsole(strings.NewReader(""), false)
		if code := run(t.Context(), []string{"weft", "report", "samples", "--json", path}, &c.environment); code != exitOK {
			t.Fatalf("exit code %d: %s", code, c.err.String())
		}
		var report struct{ Threads []thread }
		if err := json.Unmarshal(c.out.Bytes(), &report); err != nil {
			t.Fatal(err)
		}
		return report.Threads, c.err.String()
	}
	alone, _ := threadsOf(trace)
	for _, order := range [][]string{{"trace=" + trace, "cpu=" + profile}, {"cpu=" + profile, "trace=" + trace}} {
		_, out := merged(t, append(order, "--reference", "trace")...)
		got, notes := threadsOf(out)
		if len(got) != len(alone) {
			t.Errorf("%v: %+v, alone %+v", order, got, alone)
			continue
		}
		for i := range got {
			if got[i].Samples != alone[i].Samples || got[i].Busy != alone[i].Busy {
				t.Errorf("%v: %+v, alone %+v", order, got[i], alone[i])
			}
		}
		if !strings.Contains(notes, "also recorded 1 thread of another input; its 2,326 samples there are not counted for the thread") {
			t.Errorf("%v: %q", order, notes)
		}
	}
}

// Messages about inputs that are left out, hosts that contradict --same, and processes with the same name.
func TestMergeMessages(t *testing.T) {
	dir := t.TempDir()
	path := func(name, events string) string {
		path := filepath.Join(dir, name)
		text := `{"metadata":{"clock-domain":"LINUX_CLOCK_MONOTONIC"},"traceEvents":[` + events + `]}`
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	named := func(pid int, label string) string {
		return fmt.Sprintf(`{"ph":"M","name":"process_name","pid":%d,"tid":1,"args":{"name":"Renderer"}},{"ph":"M","name":"process_labels","pid":%[1]d,"tid":1,"args":{"labels":"%s"}},`+
			`{"ph":"X","name":"task","pid":%[1]d,"tid":1,"ts":100,"dur":100}`, pid, label)
	}
	a, b := path("a.json", named(5, "")+","+named(6, "a page")), path("b.json", named(7, ""))
	if text := refused(t, exitFailed, a, b, "--host", "a=x", "--host", "b=y", "--same", "a,b", "--offset", "b=0"); !strings.Contains(text, "of one host by --same") || !strings.Contains(text, "leave out --same") {
		t.Error(text)
	}
	out := filepath.Join(dir, "out.pftrace")
	c := newConsole(strings.NewReader(""), false)
	run(t.Context(), []string{"weft", "merge", "-o", out, "--keep-going", "--offset", "b=0", a, b, filepath.Join(dir, "c.json")}, &c.environment)
	if text := c.out.String() + c.err.String(); !strings.Contains(text, "out.pftrace: 2 of 3 inputs on the clock of a") {
		t.Error(text)
	}
	c = newConsole(strings.NewReader(""), false)
	run(t.Context(), []string{"weft", "dump", out}, &c.environment)
	for _, want := range []string{"Renderer (a)", "Renderer (a) (a page)", "Renderer (b)"} {
		if text := c.out.String() + c.err.String(); !strings.Contains(text, want) || strings.Contains(text, "(input ") {
			t.Errorf("%s: %s", want, text)
		}
	}
}
