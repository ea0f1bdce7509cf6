package browsertest

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// hostileTrace returns a trace whose names try to break out of the places where a report shows them.
func hostileTrace() string {
	var b strings.Builder
	b.WriteString(`{"traceEvents":[{"ph":"X","cat":"toplevel","pid":1,"tid":1,"name":"RunTask","ts":0,"dur":100000}`)
	for i, name := range []string{
		`</script><script>alert(1)</script>`, `\"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `<!--`, `\u202egnp.exe`, `a\u0000\u001b[31m`, `</title><svg onload=alert(1)>`,
	} {
		fmt.Fprintf(&b, `,{"ph":"M","pid":1,"tid":%d,"name":"thread_name","args":{"name":"%s"}}`, i+1, name)
		fmt.Fprintf(&b, `,{"ph":"X","cat":"devtools.timeline","pid":1,"tid":1,"name":"FunctionCall","ts":%d,"dur":9000,"args":{"data":{"frame":"F","url":"http://x/%s","functionName":"%[2]s"}}}`, i*10000, name)
		fmt.Fprintf(&b, `,{"ph":"X","cat":"x","pid":1,"tid":%d,"name":"%s","ts":0,"dur":50000}`, i+2, name)
	}
	return b.String() + "]}"
}

// reportOf writes the report on a file as a page into a folder and returns its address.
func reportOf(t *testing.T, dir, input string) string {
	t.Helper()
	out := filepath.Join(dir, "report.html")
	if text, err := exec.Command(program(t), "report", "all", "--html", out, "--force", input).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return "file://" + out
}

// A report requests nothing, writes nothing to the console and does not violate its policy, whatever the names in the trace.
func TestReportPage(t *testing.T) {
	b, dir := Start(t, NewStub(t)), t.TempDir()
	hostile := filepath.Join(dir, "<b>&\u202e.json")
	if err := os.WriteFile(hostile, []byte(hostileTrace()), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, input := range []string{recording, hostile} {
		p := b.Open(reportOf(t, dir, input), Look(1280, 900, false)...)
		p.Await(`document.querySelectorAll("section").length > 3`)
		if requests := p.Requests(); len(requests) != 1 {
			t.Errorf("%s: requests %q", input, requests)
		}
		if n := Eval[int](p, `document.querySelectorAll("img, iframe, object, [style], [onload], [onerror]").length`); n != 0 {
			t.Errorf("%s: %d elements that no page has", input, n)
		}
		p.Calm()
	}
}

// In a flame graph, a click or Enter zooms in, arrow keys move between boxes, Escape zooms out, and the search shows the share of
// matches.
func TestFlameGraph(t *testing.T) {
	b := Start(t, NewStub(t))
	p := b.Open(reportOf(t, t.TempDir(), recording), Look(1280, 900, false)...)
	p.Await(`document.querySelectorAll("#flame-0 .flame rect").length > 10`)
	if n := Eval[int](p, `[...document.querySelectorAll(".thread")].filter((e) => !e.hidden).length`); n != 1 {
		t.Errorf("%d threads are shown", n)
	}
	const (
		width = `+document.querySelector("#flame-0 .flame rect[data-i='%d']").getAttribute("width")`
		box   = `document.querySelector("#flame-0 .flame")`
	)
	key := func(name string) {
		Eval[chromedp.Void](p, fmt.Sprintf(`void `+box+`.dispatchEvent(new KeyboardEvent("keydown", {key: %q, bubbles: true}))`, name))
	}
	before := Eval[float64](p, fmt.Sprintf(width, 0))
	key("ArrowDown")
	key("Enter")
	if zoomed := Eval[float64](p, fmt.Sprintf(width, 0)); zoomed <= before {
		t.Errorf("Enter makes the box %v wide, %v before", zoomed, before)
	}
	said := Eval[string](p, `document.querySelector("#flame-0 .live").textContent`)
	if !regexp.MustCompile(`: [0-9.]+ (ms|µs|s), [0-9.]+ %`).MatchString(said) {
		t.Errorf("the line below says %q", said)
	}
	key("Escape")
	if again := Eval[float64](p, fmt.Sprintf(width, 0)); again != before {
		t.Errorf("Escape makes the box %v wide, %v before", again, before)
	}
	name, _, _ := strings.Cut(said, ":")
	search := fmt.Sprintf(`(() => { const s = document.getElementById("flame-search"); s.value = %q; s.dispatchEvent(new Event("input")); return document.getElementById("flame-matches").textContent; })()`, name)
	if matches := Eval[string](p, search); !regexp.MustCompile(`^[0-9.]+ % matches$`).MatchString(matches) {
		t.Errorf("the search for %q says %q", name, matches)
	}
	took := Eval[float64](p, `(() => { const r = document.querySelectorAll("#flame-0 .flame rect"), n = 20, from = performance.now();
		for (let i = 0; i < n; i++) { r[i % r.length].dispatchEvent(new MouseEvent("click", {bubbles: true})); void r[0].getBoundingClientRect(); }
		return (performance.now() - from) / n; })()`)
	t.Logf("zooming %d boxes takes %.1f ms", Eval[int](p, `document.querySelectorAll("#flame-0 .flame rect").length`), took)
	p.Calm()
}

// Bottom-up, the innermost functions of the samples come first, with the same total time as top-down; in time order, the boxes
// of the thread follow each other as in the timeline.
func TestFlameModes(t *testing.T) {
	p := Start(t, NewStub(t)).Open(reportOf(t, t.TempDir(), "../testdata/traces/cpuprofile/cdp-page-small.cpuprofile.gz"), Look(1280, 900, false)...)
	p.Await(`document.querySelectorAll("#flame-0 .flame rect").length > 10`)
	order := func(mode string) {
		Eval[chromedp.Void](p, fmt.Sprintf(`(() => { const m = document.getElementById("flame-mode"); m.value = %q; m.dispatchEvent(new Event("change")); })()`, mode))
	}
	// outermost returns the descriptions of the boxes in the first row, from left to right, and the sum of their widths.
	const outermost = `(() => {
		const boxes = [...document.querySelectorAll("#flame-0 .flame rect")].filter((r) => r.getAttribute("y") === "0" && +r.getAttribute("width") > 0).sort((a, b) => a.getAttribute("x") - b.getAttribute("x"));
		return [boxes.map((r) => { r.dispatchEvent(new PointerEvent("pointermove", {bubbles: true})); return document.querySelector("#flame-0 .live").textContent; }),
			boxes.reduce((sum, r) => sum + +r.getAttribute("width"), 0) / document.querySelector("#flame-0 .flame svg").clientWidth];
	})()`
	first := func() (names []string, covered float64) {
		pair := Eval[[]any](p, outermost)
		for _, name := range pair[0].([]any) {
			before, _, _ := strings.Cut(name.(string), ":")
			names = append(names, before)
		}
		return names, pair[1].(float64)
	}
	_, down := first()
	order("up")
	names, up := first()
	if up > down+0.01 || up < down-0.05 {
		t.Errorf("bottom-up covers %.3f of the width, top-down %.3f", up, down)
	}
	most := Eval[string](p, `(() => {
		const data = JSON.parse(document.getElementById("data").textContent), self = new Map();
		for (const b of data.trees[0].boxes) self.set(b[0], (self.get(b[0]) || 0) + b[5]);
		return data.names[[...self].sort((a, b) => b[1] - a[1])[0][0]];
	})()`)
	if len(names) == 0 || names[0] != most {
		t.Errorf("bottom-up begins with %q, most self time has %q", names, most)
	}
	order("time")
	if names, _ := first(); len(names) == 0 {
		t.Error("nothing is drawn in the order of time")
	}
	p.Calm()
}

// A click or key on a column title sorts a table; a second click or key reverses the order. Eight rows are shown until the user
// expands the table.
func TestSortedTables(t *testing.T) {
	p := Start(t, NewStub(t)).Open(reportOf(t, t.TempDir(), "../testdata/traces/pytorch/pytorch-small.json.gz"), Look(1280, 900, false)...)
	p.Await(`document.querySelectorAll("#slices .rest").length > 0`)
	const (
		table = `[...document.querySelectorAll("#slices .rows")].find((r) => r.querySelector(".rest") && !r.parentNode.closest("details"))`
		rows  = `[...` + table + `.querySelectorAll("tbody tr")]`
		title = `[...` + table + `.querySelectorAll("th")].find((h) => h.textContent === "count")`
	)
	counts := func() []float64 {
		return Eval[[]float64](p, `(() => { const at = `+title+`.cellIndex; return `+rows+`.map((r) => +r.cells[at].textContent.replace(/,/g, "")); })()`)
	}
	shown := func() int { return Eval[int](p, rows+`.filter((r) => r.checkVisibility()).length`) }
	if n := shown(); n != 8 {
		t.Errorf("%d rows are shown", n)
	}
	before := counts()
	want := slices.Clone(before)
	slices.Sort(want)
	Eval[chromedp.Void](p, title+`.querySelector("button").focus()`)
	p.do(chromedp.KeyEvent("\r"))
	slices.Reverse(want)
	if got := counts(); !slices.Equal(got, want) || slices.Equal(before, want) {
		t.Errorf("sorted: %v", got)
	}
	if got := Eval[string](p, title+`.ariaSort`); got != "descending" {
		t.Errorf("the title says %q", got)
	}
	p.do(chromedp.KeyEvent("\r"))
	slices.Reverse(want)
	if !slices.Equal(counts(), want) {
		t.Errorf("the other way round: %v", counts())
	}
	if n := shown(); n != 8 {
		t.Errorf("%d sorted rows are shown", n)
	}
	Eval[chromedp.Void](p, table+`.querySelector(".rest summary").click()`)
	if n := shown(); n != len(before) || n <= 8 {
		t.Errorf("%d of %d rows are shown when all are asked for", n, len(before))
	}
	p.Calm()
}

// Reports follow the accessibility rules in light and dark, wide and narrow looks, and never scroll sideways.
func TestReportAccessibility(t *testing.T) {
	needsAxe(t)
	b, dir := Start(t, NewStub(t)), t.TempDir()
	long := longNames(t, dir)
	for _, input := range []string{recording, "../testdata/clocks/node/page.har.gz", "../testdata/traces/pytorch/pytorch-small.json.gz", "../testdata/traces/cpuprofile/cdp-page-small.cpuprofile.gz", long} {
		address := reportOf(t, dir, input)
		for name, look := range looks() {
			p := b.Open(address, look...)
			p.Await(`document.readyState === "complete"`)
			Eval[chromedp.Void](p, `document.querySelectorAll("details").forEach((d) => { d.open = true; })`)
			p.Accessible(filepath.Base(input) + ", " + name)
			p.Screenshot("report-" + strings.ReplaceAll(name, " ", "-"))
		}
	}
}

// longNames writes a trace with all kinds of names, each one long word.
func longNames(t *testing.T, dir string) string {
	t.Helper()
	inputs, err := os.ReadFile("../cmd/weft/testdata/hostile/names.txtar")
	if err != nil {
		t.Fatal(err)
	}
	_, trace, _ := strings.Cut(string(inputs), "-- chrome.json --\n")
	trace, _, found := strings.Cut(trace, "\n-- ")
	if !found {
		t.Fatal("there is no trace in names.txtar")
	}
	name := filepath.Join(dir, "long.json")
	if err := os.WriteFile(name, []byte(strings.ReplaceAll(trace, "☠", strings.Repeat("word", 40))), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// Without JavaScript, everything can be read, and controls that would not work are hidden.
func TestReportWithoutScript(t *testing.T) {
	b := Start(t, NewStub(t))
	off := func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return chromedp.Void{}, err
	}
	p := b.Open(reportOf(t, t.TempDir(), recording), off)
	for _, hidden := range []string{"#theme", "#flame-controls", "#chart"} {
		if Eval[bool](p, `document.querySelector("`+hidden+`").checkVisibility()`) {
			t.Errorf("%s is shown", hidden)
		}
	}
	if n := Eval[int](p, `[...document.querySelectorAll(".flame path")].filter((e) => e.checkVisibility()).length`); n == 0 {
		t.Error("no flame graph is shown")
	}
	if !Eval[bool](p, `document.querySelector("svg.busy .area path").checkVisibility()`) {
		t.Error("no plot of threads is shown")
	}
}

// On paper, a report has few pages, even if parts of it are collapsed on screen.
func TestReportOnPaper(t *testing.T) {
	b := Start(t, NewStub(t))
	p := b.Open(reportOf(t, t.TempDir(), "../testdata/traces/chrome/chrome-devtools-small.json.gz"), Look(1280, 900, true)...)
	p.Await(`document.readyState === "complete"`)
	yes := true
	printed, err := chromedp.Call(p.ctx, page.PrintToPDF, page.PrintToPDFParams{PreferCSSPageSize: &yes, PrintBackground: &yes})
	if err != nil {
		t.Fatal(err)
	}
	pdf, err := base64.StdEncoding.DecodeString(string(printed.Data))
	if err != nil {
		pdf = []byte(printed.Data)
	}
	mustHaveNames(t, p)
	if n := len(regexp.MustCompile(`/Type /Page\b`).FindAll(pdf, -1)); n == 0 || n > 12 || !bytes.HasPrefix(pdf, []byte("%PDF")) {
		t.Errorf("%d pages", n)
	}
}

// mustHaveNames fails the test if a thread's name is not visible on paper, which is 180 mm wide between its margins.
func mustHaveNames(t *testing.T, p *Page) {
	t.Helper()
	onPaper := func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
		return chromedp.Void{}, err
	}
	if _, err := onPaper(p.ctx, nil); err != nil {
		t.Fatal(err)
	}
	names := Eval[[]string](p, `[...document.querySelectorAll(".lanes svg.busy svg.names text")].map((e) => {
		const box = e.getBoundingClientRect();
		return (e.checkVisibility() && box.width > 10 && box.height > 5 && box.left > -4 ? "" : "hidden: ") + e.textContent;
	})`)
	if len(names) == 0 {
		t.Error("no names of threads")
	}
	for _, name := range names {
		if strings.HasPrefix(name, "hidden: ") {
			t.Errorf("on paper the name of a thread is %s", name)
		}
	}
}

// The line below a flame graph formats durations as the rest of the page does: here, the name of every box is its duration.
func TestLengthsInFlameGraph(t *testing.T) {
	lengths := []struct {
		micros string
		want   string
	}{
		{"43210000000", "12 h 0 min"}, {"12345000000", "205 min 45 s"}, {"7205000000", "120 min 5 s"}, {"599400000", "599 s"}, {"12340000", "12.3 s"},
		{"999600", "1,000 ms"}, {"99949", "99.9 ms"}, {"9994", "9.99 ms"}, {"999.6", "1,000 µs"}, {"12.345", "12.3 µs"}, {"0.999", "999 ns"},
	}
	var b strings.Builder
	for i, l := range lengths {
		fmt.Fprintf(&b, `%s{"ph":"X","pid":1,"tid":1,"ts":0,"dur":%s,"name":%q}`, map[bool]string{true: "[", false: ","}[i == 0], l.micros, l.want)
	}
	input := filepath.Join(t.TempDir(), "lengths.json")
	if err := os.WriteFile(input, []byte(b.String()+"]"), 0o644); err != nil {
		t.Fatal(err)
	}
	p := Start(t, NewStub(t)).Open(reportOf(t, t.TempDir(), input), Look(1280, 900, false)...)
	p.Await(`document.querySelectorAll("#flame-0 .flame rect").length > 0`)
	said := Eval[[]string](p, `[...document.querySelectorAll("#flame-0 .flame rect")].map((r) => {
		r.dispatchEvent(new PointerEvent("pointermove", {bubbles: true}));
		return document.querySelector("#flame-0 .live").textContent;
	})`)
	if len(said) < 2 {
		t.Errorf("%d boxes", len(said))
	}
	for _, line := range said {
		if name, rest, _ := strings.Cut(line, ": "); !strings.HasPrefix(rest, name+", ") {
			t.Errorf("a box of %s says %q", name, line)
		}
	}
}
