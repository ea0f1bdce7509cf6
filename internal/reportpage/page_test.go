package reportpage

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/compare"
	"github.com/weft-trace/weft/internal/load"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/trace"
)

var update = flag.Bool("update", false, "write the pages in testdata")

// pageOf makes the page of an input.
func pageOf(t testing.TB, name string, src io.Reader, opts Options) string {
	t.Helper()
	loaded, err := load.One(t.Context(), src, load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer loaded.Close()
	all, err := report.CollectAll(t.Context(), loaded.Timeline, attribution.Rules{}, report.AllOptions{})
	if err != nil {
		t.Fatal(err)
	}
	loaded.Count()
	said := loaded.Report
	source := &Source{Name: name, Format: string(said.Format), Bytes: said.BytesIn, Unpacked: said.BytesUnpacked, Problems: said.Problems, Usual: said.Usual}
	return write(t, source, all, opts)
}

func write(t testing.TB, src *Source, all *report.All, opts Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, src, all, opts); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The pages of the inputs in testdata, without style and script, equal the golden files, which -update writes.
func TestPages(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*.json")
	if err != nil || len(inputs) == 0 {
		t.Fatal(inputs, err)
	}
	for _, input := range inputs {
		text, err := os.ReadFile(input)
		if err != nil {
			t.Fatal(err)
		}
		page := pageOf(t, filepath.Base(input), bytes.NewReader(text), Options{})
		check(t, page)
		if again := pageOf(t, filepath.Base(input), bytes.NewReader(text), Options{}); again != page {
			t.Errorf("%s: another page the second time", input)
		}
		got := strings.NewReplacer(css, "STYLE", script, "SCRIPT", string(hashOf(css)), "HASH", string(hashOf(script)), "HASH").Replace(page)
		golden := strings.TrimSuffix(input, ".json") + ".html"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o666); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
			t.Errorf("%s:\n%s", input, diff)
		}
	}
}

// Elements and attributes that pages may have. There are no others, whatever the input: no links except to sections, no event
// handlers, no style attributes, nothing that is loaded.
var (
	elements = strings.Fields(`html head meta title style body header div h1 h2 h3 button p main dl dt dd b small section ol ul li a nav figure svg g rect path line text
		circle desc details summary table caption thead tbody tr th td span label select option input code script footer defs pattern canvas tspan output img`)
	attributes = strings.Fields(`lang charset http-equiv content name type id hidden class href aria-label aria-labelledby aria-live aria-hidden role tabindex scope width height
		viewbox preserveaspectratio x y x1 x2 y1 y2 cx cy r d dx text-anchor value autocomplete spellcheck data-at data-line title aria-pressed patternunits patterntransform alt`)
)

// check reports forbidden content in a page.
func check(t testing.TB, page string) {
	t.Helper()
	if len(page) > maxPage {
		t.Errorf("the page has %d bytes", len(page))
	}
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	scripts, ids := 0, map[string]bool{}
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if !slices.Contains(elements, n.Data) {
			t.Errorf("element <%s>", n.Data)
		}
		if n.Data == "script" {
			scripts++
		}
		for _, a := range n.Attr {
			if key := strings.ToLower(a.Key); key == "src" && n.Data == "img" && regexp.MustCompile(`^data:image/jpeg;base64,[A-Za-z0-9+/=]+$`).MatchString(a.Val) {
				continue
			} else if !slices.Contains(attributes, key) {
				t.Errorf("attribute %s=%q of <%s>", a.Key, a.Val, n.Data)
			} else if key == "href" && !regexp.MustCompile(`^#([a-z-]+|t=[0-9.]+s\+[0-9.]+s(&row=[0-9]+)?)$`).MatchString(a.Val) {
				t.Errorf("link to %q", a.Val)
			} else if key == "id" && ids[a.Val] {
				t.Errorf("id %q twice", a.Val)
			} else if key == "id" {
				ids[a.Val] = true
			}
		}
	}
	if scripts > 2 {
		t.Errorf("%d scripts", scripts)
	}
	if i := strings.IndexFunc(page, func(r rune) bool {
		return r < ' ' && r != '\n' || r == 0x7f || r >= 0x80 && r < 0xa0 || slices.Contains(bidi, r) || r == '\ufffd'
	}); i >= 0 {
		t.Errorf("character %+q at byte %d", page[i:i+1], i)
	}
}

// bidi lists the characters that change the direction of text.
var bidi = []rune("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")

// hostile lists names that try to break out of the place where they are shown.
var hostile = []string{
	`</script><script>alert(1)</script>`, `</title></style><img src=x onerror=alert(1)>`, `"><svg onload=alert(1)>`, `' onmouseover='alert(1)`, `<!--`, `]]>`, "&lt;script&gt;&#0;",
	"a\x00b\x1b[31mc\x7f\u0085", "exe\u202egnp.txt", "\u2066\u2067x\u2069", "\u2028\u2029", "\xff\xfe\xc3", strings.Repeat("W", 5000), strings.Repeat("𝕎<", 5000),
	`%s%d%n`, `javascript:alert(1)`, `</svg></table></details>`,
}

// Data that attribution could not use also counts as missing, because a page shows the costs of contexts.
func TestMissingContexts(t *testing.T) {
	const trace = `{"traceEvents": [
		{"ph": "(", "name": "type", "ts": 10, "pid": 1, "tid": 1, "cat": "c"},
		{"ph": "X", "name": "slice", "ts": 11, "pid": 1, "tid": 1, "cat": "c", "dur": 1}
	]}`
	page := pageOf(t, "x", strings.NewReader(trace), Options{})
	if !strings.Contains(page, "context_without_id") {
		t.Error("the page does not say that an event enters a context without an id")
	}
}

// A page claims that nothing is missing only if that is true; it distinguishes what most recordings of a format lack.
func TestMissing(t *testing.T) {
	lost := []trace.Problem{{Name: "flow_end_without_start", Severity: "lost", Count: 3, Sentence: "Flows end."}}
	info := []trace.Problem{{Name: "flow_fan_out", Severity: "info", Count: 3, Sentence: "Flows fork."}}
	const nothing, usual, something, harmless = "every event of the file was read", "what recordings of this format usually lack", "could not be read as intended",
		"No data was lost"
	for _, test := range []struct {
		problems []trace.Problem
		usual    []string
		want     []string
		not      []string
	}{
		{nil, nil, []string{nothing, harmless}, []string{usual, something}},
		{info, []string{"flow_fan_out"}, []string{nothing, harmless}, []string{usual, something}},
		{lost, []string{"flow_end_without_start"}, []string{usual, "Flows end.", harmless}, []string{nothing, something}},
		{lost, nil, []string{something, "Flows end.", "Data was lost in <span class=num>3 cases</span>"}, []string{nothing, usual, harmless}},
	} {
		page := write(t, &Source{Name: "x", Problems: test.problems, Usual: test.usual}, nastyReport("a", 1), Options{})
		check(t, page)
		for _, want := range test.want {
			if !strings.Contains(page, want) {
				t.Errorf("%v, usual %v: no %q", test.problems, test.usual, want)
			}
		}
		for _, not := range test.not {
			if strings.Contains(page, not) {
				t.Errorf("%v, usual %v: %q", test.problems, test.usual, not)
			}
		}
	}
}

// Names from the input are shown only as text, wherever they occur.
func TestHostileNames(t *testing.T) {
	for _, name := range hostile {
		page := write(t, &Source{Name: name, Format: name, Containers: []string{name}, Selected: name, Bytes: 1,
			Problems: []trace.Problem{{Name: name, Severity: "lost", Count: 1, Sentence: "Bad & <b>."}}}, nastyReport(name, 3), Options{})
		check(t, page)
		if strings.Contains(page, strings.Repeat("W", 250)) {
			t.Error("a name is not cut")
		}
	}
	// Cleaned names remain readable.
	page := write(t, &Source{Name: "x"}, nastyReport("exe\u202egnp.txt <b>", 1), Options{})
	if !strings.Contains(page, `exe\u202egnp.txt &lt;b&gt;`) {
		t.Error("a name with a mark of direction is not shown as it is")
	}
}

// nastyReport returns a report with the same name everywhere, and n of everything.
func nastyReport(name string, n int) *report.All {
	thread := report.ThreadID{Process: name, PID: timeline.InputID{Text: name}, Thread: name, TID: timeline.InputID{Text: name}}
	frame := report.Frame{Function: name, URL: "http://x/" + name, Line: 1}
	work := report.Work{Self: 1000, Parts: []report.WorkPart{{Name: name, Location: name, Self: 10, Count: 2}}, ByCategory: []report.CategoryTime{{Category: "script", Time: 100}}}
	a := &report.All{Recording: report.Recording{Producer: name, Version: name, System: name, Recorded: name}, End: timeline.Nanos(n) * 1e9, Counts: report.EventCounts{Slices: 1}}
	a.Utilisation = &report.Utilisation{End: a.End, Step: a.End/240 + 1, By: report.KindsByName, Kinds: []string{name, "other"}}
	a.Inputs, a.Tasks = &report.AllInputs{Inputs: &report.Inputs{}}, &report.AllTasks{Tasks: &report.Tasks{Min: 50e6}, Count: n}
	a.Forced, a.GC = &report.LayoutThrashing{}, &report.GC{}
	a.Slices, a.FlowPairs = &report.AllSlices{Slices: &report.Slices{}}, &report.FlowPairs{Arrows: int64(n)}
	tree := report.StackTree{ThreadID: thread, Shows: name, From: report.TreeOfSamples, LeftOut: []report.StateTime{{State: name, Time: 5}}}
	for i := range n {
		distinct := fmt.Sprintf("%s %d", name, i)
		tree.Total += timeline.Nanos(1000 + i)
		tree.Nodes = append(tree.Nodes, report.TreeNode{Frame: report.Frame{Function: distinct, URL: distinct}, Total: timeline.Nanos(1000 + i), Self: 10, Kind: name})
		a.Inputs.List = append(a.Inputs.List, report.Interaction{Kind: report.ClickInput, Type: name, Latency: 300e6, Start: timeline.Nanos(i) * 1e6, Work: &work})
	}
	for i := range min(n, 20) {
		use := report.ThreadUse{ThreadID: thread, Shows: name, Busy: a.End, ByKind: []timeline.Nanos{a.End / 2, 0}, Steps: [][]timeline.Nanos{make([]timeline.Nanos, 240), make([]timeline.Nanos, 240)}}
		for k := range use.Steps[0] {
			use.Steps[0][k] = a.Utilisation.Step / timeline.Nanos(k%7+1)
		}
		a.Utilisation.Threads = append(a.Utilisation.Threads, use)
		a.Tasks.List = append(a.Tasks.List, report.Task{ThreadID: thread, Name: name, Duration: 80e6, Start: timeline.Nanos(i), Work: work, Split: &report.TaskSplit{PathStep: report.PathStep{Name: name}, Inside: true}})
		a.Forced.Threads = append(a.Forced.Threads, report.ThreadForced{ThreadID: thread, ForcedTime: report.ForcedTime{Count: 1, Total: 1e9},
			ByStack: []report.StackForced{{Frames: []report.Frame{frame, frame}, ForcedTime: report.ForcedTime{Count: 1, Total: 1e9}, Thrashing: true}}})
		a.GC.Threads = append(a.GC.Threads, report.ThreadGC{ThreadID: thread, Time: 1e9, Covered: 2e9, ByFunction: []report.FunctionGC{{Frame: frame, GCTime: report.GCTime{GC: 1e9}}}})
		a.Slices.Groups = append(a.Slices.Groups, report.SliceGroup{Kind: report.ThreadSlices, Name: name, Count: 1, Self: 10})
		a.Slices.Devices = append(a.Slices.Devices, report.Device{Name: name, Window: 100, Busy: 10, Idle: 90})
		a.FlowPairs.Pairs = append(a.FlowPairs.Pairs, report.FlowPair{From: thread, To: thread, Arrows: 20, P95: 1e9})
	}
	a.Tasks.Tasks.Tasks = a.Tasks.List
	a.Chart = &report.Chart{Least: 10, Step: a.End/500 + 1, Names: []string{name}, Rows: make([]report.ChartRow, len(a.Utilisation.Threads))}
	a.Waterfall = &report.Waterfall{End: a.End, Traces: 1}
	for i := range min(n, 200) {
		a.Waterfall.Spans = append(a.Waterfall.Spans, report.WaterfallSpan{Start: timeline.Nanos(i), Duration: 1e6, Name: name, Service: name, Failed: i%2 == 0, Message: name, Depth: i % 30,
			Phases: []report.SpanPhase{{Name: name, Duration: 5}}})
	}
	for i := range 2 * n {
		row := &a.Chart.Rows[i%len(a.Chart.Rows)]
		row.Depths = 1
		row.Slices = append(row.Slices, report.ChartSlice{Start: timeline.Nanos(i) * a.End / timeline.Nanos(2*n), Duration: timeline.Nanos(10 + i), CPU: 5})
	}
	a.Loads = &report.Loads{Pages: []report.Load{{URL: name, Loaded: new(timeline.Nanos(5)), Archive: n%2 == 0}}, Shift: &report.LayoutShift{ThreadID: thread, Score: 1}}
	a.Network = &report.Network{Requests: 1, Slowest: []report.SpanRow{{Service: name, Operation: name, URL: name, Message: name}}}
	a.Heaps = []report.Heap{{ThreadID: thread, Step: 1, Sizes: []int64{1}, Max: 1}}
	a.Functions = []report.ThreadFunctions{{ThreadID: thread, Functions: []report.Function{{Frame: frame}}, Count: 1}}
	for range min(n, 8) {
		a.StackTrees = append(a.StackTrees, tree)
	}
	return a
}

// The script is not too long, and its source contains nothing that the removal of comments and spaces would damage.
func TestScript(t *testing.T) {
	if len(script) > maxScript {
		t.Errorf("%d bytes, more than %d", len(script), maxScript)
	}
	for _, bad := range []string{"`", `\"`, "- -", "+ +", "/ /"} {
		if strings.Contains(baseScript+timelineScript+waterfallScript+flameScript, bad) {
			t.Errorf("%s may not survive the removal of spaces", bad)
		}
	}
}

// comparison returns a result with rows of the given name.
func comparison(name string, rows int) *Comparison {
	ratio, p := 0.25, 0.002
	r := &compare.Result{Base: []compare.Recording{{Name: name, Length: 1e9}}, New: []compare.Recording{{Name: name, Length: 1e9}, {Name: name, Length: 2e9}}, Testable: true, Tested: rows, Enough: 5}
	for i := range rows {
		verdict, change := compare.Slower, timeline.Nanos(1e6)
		if i%2 == 1 {
			verdict, change = compare.Faster, -2e6
		}
		kind := "slices"
		if i%3 == 2 {
			kind = report.AsyncSlices.String()
		}
		r.Counts[verdict]++
		r.Rows = append(r.Rows, compare.Row{
			Kind: kind, Name: name, Location: name, Base: []timeline.Nanos{4e6, 5e6}, New: []timeline.Nanos{5e6 + change}, BaseCounts: []int64{1, 1}, NewCounts: []int64{1}, BaseMedian: 4e6, NewMedian: 4e6 + change, Change: change, Ratio: &ratio, P: &p, Q: &p, Verdict: verdict,
		})
	}
	return &Comparison{Title: name, Per: "recording", Selected: name, Result: r, Stacks: new(compare.Result)}
}

func writeComparison(t testing.TB, c *Comparison) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteComparison(&b, c); err != nil {
		t.Fatal(err)
	}
	check(t, b.String())
	return b.String()
}

func TestComparison(t *testing.T) {
	for _, name := range hostile {
		writeComparison(t, comparison(name, 7))
	}
	writeComparison(t, comparison(strings.Repeat("<𝕎", 200), 5000))
	page := writeComparison(t, comparison("f", 3))
	for _, want := range []string{
		`<b>2 slower</b> and <b>1 faster</b>, of 3 rows`, `<td class=n>4.000</td><td class=n>5.000</td><td class=n>+1.000</td><td class=n>+25.0 %</td>`,
		`<rect class=gc x=500 width=250 height=10 />`, `<h2 id=async-title>`, `base: f, 1.00 s · new: 2 recordings, 1.00 s to 2.00 s`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %s", want)
		}
	}
	few := comparison("f", 1)
	if strings.Contains(page, "Record each version") {
		t.Error("the page wants more recordings than it needs")
	}
	few.Result.Testable, few.Result.Few = false, true
	if page := writeComparison(t, few); !strings.Contains(page, "a change cannot be told from noise") || !strings.Contains(page, few.Result.Advice()) {
		t.Error("the page does not say that noise is unknown")
	}
}

// However much there is to show, a page stays small: the smallest boxes and dots are left out, and the page states how
// many.
func TestSizeIsBounded(t *testing.T) {
	page := write(t, &Source{Name: "x"}, nastyReport(strings.Repeat("<&𝕎\"", 100), 20_000), Options{})
	check(t, page)
	if !strings.Contains(page, "left out") || !strings.Contains(page, "are not drawn") {
		t.Error("the page does not say what is left out")
	}
	t.Logf("%d bytes", len(page))
}

func TestHideQueries(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "",
		"plain ? text # 1":                   "plain ? text # 1",
		"https://a.example/x.js?v=1&token=s": "https://a.example/x.js?…",
		"https://a.example/x.js?v=1:12:5":    "https://a.example/x.js?…:12:5",
		"https://a.example/x.js:12:5":        "https://a.example/x.js:12:5",
		"https://a.example:8080/#/user/7":    "https://a.example:8080/?…",
		"https://me:secret@a.example/":       "https://…@a.example/",
		"POST https://a.example/?q=1 by https://b.example/p#f": "POST https://a.example/?… by https://b.example/p?…",
		"data:text/html,<b>secret</b>":                         "data:text/html,…",
		"data:image/png;base64,AAAA:3:4":                       "data:image/png;base64,…:3:4",
		"metadata:x,y":                                         "metadata:x,y",
		"metadata:x, data:text/html,secret":                    "metadata:x, data:text/html,…",
		"https://a.example/?":                                  "https://a.example/?",
		"chrome-extension://abc/a.js?x":                        "chrome-extension://abc/a.js?…",
		"https://a.example/Products('abc')?token=s":            "https://a.example/Products('abc')?…",
		"'https://a.example/it's?k=s' failed":                  "'https://a.example/it's?… failed",
		"GET //a.example/x?k=s":                                "GET //a.example/x?…",
		"//me:secret@a.example/x":                              "//…@a.example/x",
		"GET /path/x?s (200)":                                  "GET /path/x?… (200)",
		"/path#access_token=s":                                 "/path?…",
		"path/x?k=s:3":                                         "path/x?…:3",
		"(/a?s)":                                               "(/a?…",
		"a ? b : c == d":                                       "a ? b : c == d",
		"vector<int>::operator==":                              "vector<int>::operator==",
		"CSS/selector#id":                                      "CSS/selector#id",
	} {
		if got := hideQueries(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// Secrets in urls are not in the page unless requested.
func TestKeepURLs(t *testing.T) {
	text, err := os.ReadFile("testdata/browser.json")
	if err != nil {
		t.Fatal(err)
	}
	if page := pageOf(t, "x", bytes.NewReader(text), Options{}); strings.Contains(page, "secret") {
		t.Error("the page holds the query of a url")
	}
	if page := pageOf(t, "x", bytes.NewReader(text), Options{KeepURLs: true}); !strings.Contains(page, "secret") {
		t.Error("the query of a url is missing though it was asked for")
	}
}

// Pages of recordings in all formats pass check, and stay small.
func TestRecordings(t *testing.T) {
	for _, f := range recording.Some(recording.In(t, ".")) {
		t.Run(f.Name, func(t *testing.T) {
			text := recording.Read(t, f.Path)
			if _, err := convert.Convert(t.Context(), io.Discard, bytes.NewReader(text), convert.Options{}); err != nil {
				t.Skip(err)
			}
			page := pageOf(t, path.Base(f.Name), bytes.NewReader(text), Options{})
			check(t, page)
			t.Logf("%d KB", len(page)/1000)
		})
	}
}

// Pages of large recordings stay within the promised sizes.
func TestSizesOfPages(t *testing.T) {
	for name, limit := range map[string]int{"chrome-devtools-medium.json.gz": 600_000, "chrome-devtools-long.json.gz": 720_000} {
		t.Run(name, func(t *testing.T) {
			page := pageOf(t, name, bytes.NewReader(recording.Read(t, recording.Large(t, "traces/chrome/"+name))), Options{})
			if check(t, page); len(page) > limit {
				t.Errorf("%d bytes, more than %d", len(page), limit)
			}
		})
	}
}

// A page shows the screenshots of its recording, up to a limit.
func TestScreenshotsOfPages(t *testing.T) {
	page := pageOf(t, "x.json", bytes.NewReader(recording.Bytes(t, "traces/chrome/chrome-devtools-ui-saved-small.json.gz")), Options{})
	check(t, page)
	if n := strings.Count(page, `<img alt="The page at `); n < 4 || n > 10 {
		t.Errorf("%d screenshots", n)
	}
}
