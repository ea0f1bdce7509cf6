package selection_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/internal/timeline"
)

// input has two processes. Its clock starts at 1 s.
const input = `[
{"ph":"M","pid":7,"tid":1,"name":"process_name","args":{"name":"Renderer"}},
{"ph":"M","pid":7,"tid":1,"name":"thread_name","args":{"name":"CrRendererMain"}},
{"ph":"M","pid":7,"tid":2,"name":"thread_name","args":{"name":"Pool/2"}},
{"ph":"M","pid":8,"tid":1,"name":"process_name","args":{"name":"Browser"}},
{"ph":"M","pid":8,"tid":3,"name":"thread_name","args":{"name":"CrBrowserMain"}},
{"ph":"X","pid":7,"tid":1,"ts":1000000,"dur":1000,"name":"Task","cat":"toplevel"},
{"ph":"X","pid":7,"tid":1,"ts":1000100,"dur":100,"name":"Layout","cat":"blink, devtools.timeline","args":{"data":{"frame":"F1"}}},
{"ph":"X","pid":7,"tid":2,"ts":1000500,"dur":500,"name":"Task","cat":"toplevel"},
{"ph":"I","pid":8,"tid":3,"ts":1001000,"s":"t","name":"Mark*","cat":"blink"},
{"ph":"C","pid":8,"tid":3,"ts":1001500,"name":"Memory","args":{"used":5}},
{"ph":"X","pid":8,"tid":3,"ts":1002000,"dur":0,"name":"Last","cat":"toplevel"}
]`

func open(t *testing.T, text string) *timeline.Timeline {
	t.Helper()
	tr, err := convert.Open(context.Background(), strings.NewReader(text), convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
	})
	return timeline.Of(tr)
}

// selected returns the events that a query selects, without end events.
func selected(t *testing.T, tl *timeline.Timeline, q selection.Query) ([]string, error) {
	t.Helper()
	f, err := selection.Parse(q)
	if err != nil {
		return nil, err
	}
	s, err := f.Bind(t.Context(), tl)
	if err != nil {
		return nil, err
	}
	var found []string
	begins, ends := 0, 0
	err = s.Walk(t.Context(), tl, func(it *timeline.Item) error {
		switch it.Kind {
		case timeline.ItemEnd:
			ends++
			return nil
		case timeline.ItemBegin:
			begins++
		}
		name := string(it.Name)
		if it.Kind == timeline.ItemCounter {
			name = tl.Track(it.Track).Name
		}
		found = append(found, fmt.Sprintf("%s@%d", name, (it.TS-1e9)/1000))
		return nil
	})
	if err == nil && begins != ends {
		t.Errorf("%+v: %d begins and %d ends", q, begins, ends)
	}
	return found, err
}

func TestSelection(t *testing.T) {
	tl := open(t, input)
	main := []string{"Task@0", "Layout@100"}
	all := slices.Concat(main, []string{"Task@500", "Mark*@1000", "Memory used@1500", "Last@2000"})
	counter, err := selected(t, tl, selection.Query{Names: []string{"Memory*"}})
	if err != nil || len(counter) != 1 {
		t.Fatalf("%v, %v", counter, err)
	}
	all[4] = counter[0]
	for _, test := range []struct {
		q    selection.Query
		want []string
	}{
		{selection.Query{}, all},
		{selection.Query{Processes: []string{"7"}}, all[:3]},
		{selection.Query{Processes: []string{"Renderer"}}, all[:3]},
		{selection.Query{Processes: []string{"*er"}}, all},
		{selection.Query{Processes: []string{"Bro?ser"}}, all[3:]},
		{selection.Query{Threads: []string{"1"}}, main},
		{selection.Query{Threads: []string{"CrRendererMain"}}, main},
		{selection.Query{Threads: []string{"CrRendererMain [tid 1]"}}, main},
		{selection.Query{Threads: []string{"Cr*Main"}, Names: []string{"L*"}}, []string{"Layout@100", "Last@2000"}},
		{selection.Query{Threads: []string{"7/2"}}, all[2:3]},
		{selection.Query{Threads: []string{"Renderer/Pool/2"}}, all[2:3]},
		{selection.Query{Threads: []string{"Pool/2"}}, all[2:3]},
		{selection.Query{Threads: []string{"1", "2"}}, all[:3]},
		{selection.Query{Names: []string{"Task"}}, []string{"Task@0", "Task@500"}},
		{selection.Query{Names: []string{"Mark*"}}, all[3:4]},
		{selection.Query{Names: []string{"Task", "Last"}}, []string{"Task@0", "Task@500", "Last@2000"}},
		{selection.Query{Names: []string{"*a*"}, Processes: []string{"7"}}, all[:3]},
		{selection.Query{Categories: []string{"blink"}}, []string{"Layout@100", "Mark*@1000"}},
		{selection.Query{Categories: []string{"*.timeline"}}, all[1:2]},
		{selection.Query{Categories: []string{"blink, devtools.timeline"}}, all[1:2]},
		{selection.Query{From: "0.2ms"}, slices.Concat(all[:1], all[2:])}, // the layout ends then
		{selection.Query{From: "150us", To: "0.4ms"}, main},
		{selection.Query{To: "100us"}, all[:1]}, // the layout starts then
		{selection.Query{From: "@1.0005s", To: "@1.0006s"}, []string{"Task@0", "Task@500"}},
		{selection.Query{From: "1ms"}, all[3:]}, // tasks have ended
		{selection.Query{From: "1ms", To: "1.5ms"}, all[3:4]},
		{selection.Query{From: "2ms"}, all[5:]},
		{selection.Query{From: "1.5ms", To: "2ms"}, all[4:]}, // to the end
		{selection.Query{Contexts: []string{"frame=F1"}}, all[:2]},
		{selection.Query{Contexts: []string{"Frame=frame/F*"}, Names: []string{"Layout"}}, all[1:2]},
		{selection.Query{Contexts: []string{"page=F1"}, Names: []string{"Layout"}}, all[1:2]},
	} {
		found, err := selected(t, tl, test.q)
		if err != nil || !slices.Equal(found, test.want) {
			t.Errorf("%+v: %q, %v; want %q", test.q, found, err, test.want)
		}
	}
}

func TestErrors(t *testing.T) {
	tl := open(t, input)
	for _, test := range []struct {
		q    selection.Query
		want string
	}{
		{selection.Query{Processes: []string{"Rendere"}}, `there is no process Rendere; did you mean "Renderer"?`},
		{selection.Query{Processes: []string{"9"}}, `there is no process 9; use Renderer or Browser`},
		{selection.Query{Threads: []string{"crrenderermain"}}, `there is no thread crrenderermain; did you mean "CrRendererMain"?`},
		{selection.Query{Threads: []string{"renderer"}}, `there is no thread renderer; did you mean "CrRendererMain"?`},
		{selection.Query{Threads: []string{"CrBrowserMain"}, Processes: []string{"7"}}, `there is no thread CrBrowserMain in this process; use CrRendererMain or Pool/2`},
		{selection.Query{Threads: []string{"x*"}, Processes: []string{"7", "8"}}, `there is no thread x* in these processes`},
		{selection.Query{Names: []string{"Layuot"}}, `no event, counter or function is called "Layuot"; did you mean "Layout"?`},
		{selection.Query{Names: []string{"Task", "Zzz*"}}, `no event, counter or function is called "Zzz*"; use`},
		{selection.Query{Categories: []string{"topleval"}}, `the trace has no category "topleval"; did you mean "toplevel"?`},
		{selection.Query{Contexts: []string{"frame=F2"}}, `the trace has no context frame=F2; use frame F1`},
		{selection.Query{Contexts: []string{"fram=F1"}}, `--context: there are no contexts of type fram; did you mean "frame"?`},
		{selection.Query{Contexts: []string{"frame"}}, `--context: "frame" is not TYPE=ID or TYPE=NAME`},
		{selection.Query{Contexts: []string{"=F1"}}, `--context: "=F1" is not TYPE=ID`},
		{selection.Query{Names: []string{""}}, `--name: the text is empty`},
		{selection.Query{Names: []string{strings.Repeat("*a", 5000)}}, `--name: the text is longer than 4096 bytes`},
		{selection.Query{From: "3s"}, `--from: 3s is outside the trace, which lasts 2ms (from @1000ms to @1002ms)`},
		{selection.Query{From: "1.001s"}, `did you mean @1.001s?`},
		{selection.Query{To: "5"}, `--to: 5 has no unit`},
	} {
		if _, err := selected(t, tl, test.q); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v; want %s", test.q, err, test.want)
		}
	}
}

// In a trace without events, unknown names are not errors.
func TestEmpty(t *testing.T) {
	tl := open(t, "[]")
	found, err := selected(t, tl, selection.Query{Threads: []string{"x"}, From: "5s"})
	if err != nil || len(found) > 0 {
		t.Errorf("%q, %v", found, err)
	}
}

// Samples are selected by their functions.
func TestSamples(t *testing.T) {
	tl := open(t, `{"nodes":[{"id":1,"callFrame":{"functionName":"(root)","scriptId":"0","url":"","lineNumber":-1,"columnNumber":-1},"children":[2]},
		{"id":2,"callFrame":{"functionName":"outer","scriptId":"1","url":"a.js","lineNumber":0,"columnNumber":0},"children":[3]},
		{"id":3,"callFrame":{"functionName":"inner","scriptId":"1","url":"a.js","lineNumber":1,"columnNumber":0}}],
		"startTime":1000000,"endTime":1004000,"samples":[2,3,3,2],"timeDeltas":[0,1000,1000,1000]}`)
	for name, want := range map[string]int{"outer": 4, "inner": 2, "in*": 2} {
		f, err := selection.Parse(selection.Query{Names: []string{name}})
		if err != nil {
			t.Fatal(err)
		}
		s, err := f.Bind(t.Context(), tl)
		if err != nil {
			t.Fatal(err)
		}
		samples := 0
		err = s.Walk(t.Context(), tl, func(it *timeline.Item) error {
			if it.Kind == timeline.ItemSample {
				samples++
			}
			return nil
		})
		if err != nil || samples != want {
			t.Errorf("%s: %d samples, %v; want %d", name, samples, err, want)
		}
	}
}

func TestClip(t *testing.T) {
	tl := open(t, input)
	f, err := selection.Parse(selection.Query{From: "100us", To: "200us"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := f.Bind(t.Context(), tl)
	if err != nil {
		t.Fatal(err)
	}
	const start = timeline.Nanos(1e9)
	for _, test := range [][4]timeline.Nanos{
		{start, start + 1e6, start + 1e5, start + 2e5},
		{start + 150_000, start + 160_000, start + 150_000, start + 160_000},
		{start + 3e5, start + 4e5, start + 3e5, start + 3e5},
		{start, start + 1, start + 1e5, start + 1e5},
	} {
		if from, to := s.Clip(test[0], test[1]); from != test[2] || to != test[3] {
			t.Errorf("%d to %d: %d to %d; want %d to %d", test[0], test[1], from, to, test[2], test[3])
		}
	}
	var whole *selection.Selection
	if from, to := whole.Window(); from != math.MinInt64 || to != math.MaxInt64 || !whole.Track(5) || !whole.SelectsUnnamed() || !whole.Overlaps(5, 0) {
		t.Error("no selection is not the whole trace")
	}
}
