package browsertest

import (
	"path/filepath"
	"regexp"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

const small = "../testdata/traces/chrome/chrome-devtools-small.json.gz"

// drag drags the mouse across an element with the left button pressed; from and to are fractions of its width.
func (p *Page) drag(css string, from, to float64) {
	p.t.Helper()
	box := Eval[[]float64](p, `(() => { const r = document.querySelector("`+css+`"); r.scrollIntoView({block: "center"}); const b = r.getBoundingClientRect(); return [b.left, b.width, b.top + b.height / 2]; })()`)
	at := func(part float64) float64 { return box[0] + part*box[1] }
	held := func(e *input.DispatchMouseEventParams) { e.Buttons = 1 }
	p.do(chromedp.MouseEvent(chromedp.MousePressed, at(from), box[2], chromedp.ButtonLeft), chromedp.MouseEvent(chromedp.MouseMoved, at((from+to)/2), box[2], chromedp.ButtonLeft, held),
		chromedp.MouseEvent(chromedp.MouseMoved, at(to), box[2], chromedp.ButtonLeft, held), chromedp.MouseEvent(chromedp.MouseReleased, at(to), box[2], chromedp.ButtonLeft))
}

const (
	selected = `document.getElementById("range").textContent`
	drawn    = `!document.getElementById("chart").hidden && ` + selected + ` !== ""`
)

// changes calls do, waits until the selected time range has changed, and returns the new one.
func (p *Page) changes(do func()) string {
	p.t.Helper()
	before := Eval[string](p, selected)
	do()
	p.Await(selected + ` !== "` + before + `"`)
	return Eval[string](p, selected)
}

// Dragging in the strip selects a time range. The address contains it, so that a link opens the same range; keys move it, and
// Escape shows everything.
func TestTimeline(t *testing.T) {
	b, address := Start(t, NewStub(t)), reportOf(t, t.TempDir(), small)
	p := b.Open(address, Look(1280, 900, false)...)
	p.Await(drawn)
	all := Eval[string](p, selected)
	brushed := p.changes(func() { p.drag("#strip", 0.25, 0.5) })
	p.Await(`location.hash !== ""`)
	hash := Eval[string](p, "location.hash")
	if !regexp.MustCompile(`^#t=[0-9.]+s\+[0-9.]+s$`).MatchString(hash) {
		t.Errorf("the address ends in %q", hash)
	}
	if n := Eval[int](p, `document.querySelectorAll("#inside tr").length`); n == 0 {
		t.Error("nothing is in the selection")
	}
	linked := b.Open(address+hash, Look(1280, 900, false)...)
	linked.Await(drawn + ` && ` + selected + ` !== "` + all + `"`)
	if got := Eval[string](linked, selected); got != brushed {
		t.Errorf("the link opens %q, not %q", got, brushed)
	}
	linked.Calm()

	Eval[chromedp.Void](p, `document.getElementById("flames").focus()`)
	key := func(k string) func() { return func() { p.do(chromedp.KeyEvent(k)) } }
	zoomed := p.changes(key("+"))
	moved := p.changes(key("\u0303")) // right
	back := p.changes(key("\u0302"))
	if back != zoomed || moved == zoomed {
		t.Errorf("from %q to the right %q, and back %q", zoomed, moved, back)
	}
	if wider := p.changes(key("-")); wider != brushed {
		t.Errorf("− shows %q, not %q", wider, brushed)
	}
	if got := p.changes(key("\u001b")); got != all {
		t.Errorf("Escape shows %q, not %q", got, all)
	}
	p.Await(`location.hash === ""`)
	if panned := p.changes(func() { p.changes(key("+")); p.drag("#canvas", 0.6, 0.5) }); panned == all {
		t.Error("dragging the chart does not move it")
	}
	p.Calm()
}

// A row in a table shows its time range in the timeline, and the tip at the pointer describes the slice.
func TestShowInTimeline(t *testing.T) {
	p := Start(t, NewStub(t)).Open(reportOf(t, t.TempDir(), "../testdata/traces/chrome/chrome-memory-infra.json.gz"), Look(1280, 900, false)...)
	p.Await(drawn)
	if n := Eval[int](p, `document.querySelectorAll("#tasks tr[data-at] button.show").length`); n == 0 {
		t.Fatal("no task can be shown")
	}
	p.changes(func() { p.Click("#tasks tr[data-at] button.show") })
	p.Await(`/&row=\d+$/.test(location.hash)`)
	wanted := Eval[[]float64](p, `document.querySelector("#tasks tr[data-at]").dataset.at.split(" ").map(Number)`)
	got := Eval[[]float64](p, `(() => { const m = /t=([\d.]+)s\+([\d.]+)s/.exec(location.hash), begin = JSON.parse(document.getElementById("data").textContent).chart.begin; return [begin + m[1] * 1e9, m[2] * 1e9]; })()`)
	if got[0] > wanted[0] || got[0]+got[1] < wanted[0]+wanted[1] || got[1] > 3*wanted[1] {
		t.Errorf("a task of %v shows %v", wanted, got)
	}
	Eval[bool](p, settled)
	box := Eval[[]float64](p, `(() => { const b = document.getElementById("flames").getBoundingClientRect(); return [b.left + b.width / 2, b.top]; })()`)
	for y := 0.0; y < 300; y += 7 {
		p.do(chromedp.MouseEvent(chromedp.MouseMoved, box[0], box[1]+y))
		if Eval[bool](p, `!document.querySelector(".tip").hidden`) {
			break
		}
	}
	if tip := Eval[string](p, `document.querySelector(".tip").textContent`); !regexp.MustCompile(`(?s)^.+\n[0-9.,]+ (ms|µs|s) at [0-9.]+ m?s`).MatchString(tip) {
		t.Errorf("the pointer says %q", tip)
	}
	p.Calm()
}

// Spans and requests can be found by name, and are also drawn without a script.
func TestWaterfall(t *testing.T) {
	p := Start(t, NewStub(t)).Open(reportOf(t, t.TempDir(), "../testdata/clocks/node/page.har.gz"), Look(1280, 900, false)...)
	p.Await(`document.querySelectorAll("g.span").length > 10`)
	found := Eval[string](p, `(() => { const s = document.querySelector(".waterfall input"); s.value = "page.html"; s.dispatchEvent(new Event("input")); return document.querySelector(".waterfall output").textContent; })()`)
	if all := Eval[int](p, `document.querySelectorAll("g.span").length`); !regexp.MustCompile(`^[1-9][0-9]* found$`).MatchString(found) || Eval[int](p, `document.querySelectorAll("g.span.out").length`) >= all {
		t.Errorf("%q", found)
	}
	if n := Eval[int](p, `document.querySelectorAll(".waterfall .tall > svg:first-child line.milestone").length`); n != 2 {
		t.Errorf("%d milestones", n)
	}
	p.Calm()
}

// No report is wider than a phone, whatever its input.
func TestReportsOnPhones(t *testing.T) {
	b, dir := Start(t, NewStub(t)), t.TempDir()
	for _, input := range []string{"otlp/server.otlp", "merge/rank0.json.gz", "probes/syscalls.probelines.gz", "perfetto/chrome-devtools-tiny.pftrace.gz", "../clocks/node/page.har.gz"} {
		p := b.Open(reportOf(t, dir, filepath.Join("../testdata/traces", input)), Look(390, 844, false)...)
		p.Await(`document.readyState === "complete"`)
		if n := Eval[int](p, `document.documentElement.scrollWidth`); n > 390 {
			t.Errorf("%s is %d pixels wide", input, n)
		}
		p.Calm()
	}
}
