package attribution

import (
	"context"
	"testing"

	"github.com/weft-trace/weft/flow"
	"github.com/weft-trace/weft/problem"
	"github.com/weft-trace/weft/timeline"
)

// firefoxTimeline is what the reader of Firefox profiles makes of a few markers: windows 3 in 2, tab 7, and a window 9 of
// which nothing is known.
func firefoxTimeline(t *testing.T) (*timeline.Timeline, *flow.Steps) {
	t.Helper()
	b := timeline.NewBuilder(timeline.Options{Problems: new(problem.Log), TempDir: t.TempDir()})
	b.SetAttribute("firefox.page.2", `{"tabID":7,"embedderInnerWindowID":0,"isPrivateBrowsing":false,"url":"https://a.test/"}`)
	b.SetAttribute("firefox.page.3", `{"tabID":7,"embedderInnerWindowID":2,"isPrivateBrowsing":false,"url":"https://b.test/frame"}`)
	b.SetAttribute("firefox.page.4", `no JSON`)
	process := b.Process(timeline.ProcessKey{Num: 100})
	thread := b.Thread(process, timeline.ThreadKey{Num: 100})
	b.SetThreadName(thread, 0, []byte("GeckoMain"))
	marker := func(event uint32, name, category string, ts, dur timeline.Nanos, args func(e *timeline.ArgsEncoder)) {
		e := b.Args()
		e.Reset()
		args(e)
		err := b.Add(&timeline.Event{
			Kind: timeline.Slice, Track: thread, Event: event, TS: ts, Dur: dur, Name: []byte(name), Category: []byte(category),
			Args: e.Args(), ThreadTS: timeline.NoTime, ThreadDur: timeline.NoTime,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	window := func(id int64, more func(e *timeline.ArgsEncoder)) func(e *timeline.ArgsEncoder) {
		return func(e *timeline.ArgsEncoder) {
			e.Key([]byte("innerWindowID"))
			e.Int(id)
			if more != nil {
				more(e)
			}
			if id == 9 {
				return
			}
			e.Key([]byte("weft"))
			e.BeginDict()
			e.Key([]byte("tab"))
			e.Int(7)
			e.EndDict()
		}
	}
	none := func(*timeline.ArgsEncoder) {}
	marker(0, "Runnable", "Other", 0, 1000_000, none)
	marker(1, "RefreshDriverTick", "Graphics", 100_000, 100_000, window(2, nil))
	marker(2, "Styles", "Layout", 110_000, 10_000, window(3, nil))
	marker(3, "DOMEvent", "DOM", 300_000, 200_000, window(3, func(e *timeline.ArgsEncoder) {
		e.Key([]byte("eventType"))
		e.String([]byte("click"))
		e.Key([]byte("latency"))
		e.Double(0.25)
	}))
	marker(4, "DOMEvent", "DOM", 600_000, 10_000, window(2, func(e *timeline.ArgsEncoder) {
		e.Key([]byte("eventType"))
		e.String([]byte("MozAfterPaint"))
		e.Key([]byte("latency"))
		e.Double(0.25)
	}))
	marker(5, "GCMinor", "GC / CC", 310_000, 20_000, none)
	marker(6, "Perform microtasks", "JavaScript", 350_000, 50_000, none)
	marker(7, "Image Load", "Other", 700_000, 10_000, window(9, nil))
	tl, err := b.Finish(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tl.Close() })
	steps, err := flow.NestAndTrace(context.Background(), tl)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { steps.Close() })
	return tl, steps
}

// Windows are frames with the tree of the pages, tabs are a type of their own, and what people do is an input.
func TestFirefox(t *testing.T) {
	tl, steps := firefoxTimeline(t)
	r, err := Run(context.Background(), tl, steps, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	a := &attributed{r, tl, tl.Problems()}
	// The windows name three frames, of which one is unknown: nobody is above all of them.
	a.want(t, 0, "Frame null null descendants 0 window/2,window/3,window/9")
	a.want(t, 1, "Frame window 2 args 0", "Tab tab 7 args 0")
	a.want(t, 2, "Frame window 3 args 0", "Tab tab 7 args 0")
	a.want(t, 3, "Frame window 3 args 0", "Tab tab 7 args 0", "InputEvent domevent 50 args 0")
	a.want(t, 4, "Frame window 2 args 0", "Tab tab 7 args 0")
	a.want(t, 5, "Frame isolate thread:100/100 isolate 0", "Trigger window 3 args 0", "Tab tab 7 args 0", "InputEvent domevent 50 args 0")
	a.want(t, 6, "Frame window 3 args 0", "Tab tab 7 args 0", "InputEvent domevent 50 args 0")
	a.want(t, 7, "Frame window 9 args 0")

	inner, _ := a.c.find(ScopeWindow, "3", Global)
	outer, _ := a.c.find(ScopeWindow, "2", Global)
	if parent := a.c.parent(inner, lastTime); parent != outer || a.c.label(inner, lastTime) != "https://b.test/frame" {
		t.Errorf("window 3 is %s below %s", a.c.label(inner, lastTime), a.identity(parent))
	}
	if len(a.inputs) != 1 || a.inputs[0].Type != "click" || a.inputs[0].Start != 50_000 || a.inputs[0].Latency != 450_000 {
		t.Errorf("inputs %+v", a.inputs)
	}
	for _, row := range a.Table(TableOptions{Type: "Page"}).Rows {
		if row.ID == "window/2" && (row.Name != "https://a.test/" || row.Self != 290_000 || row.SelfByCategory[CategoryScript] != 190_000 || row.SelfByCategory[CategoryStyle] != 10_000) {
			t.Errorf("page %+v", row)
		}
	}
}
