package attribution_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/attribution/writeback"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
)

// events builds a Chrome JSON trace from events.
func events(list ...string) []byte {
	return []byte(`{"traceEvents":[` + strings.Join(list, ",\n") + `]}`)
}

// x returns a slice of 10 µs on a thread of process 1.
func x(name string, tid, ts int, rest string) string {
	return fmt.Sprintf(`{"ph":"X","name":%q,"ts":%d,"dur":10,"pid":1,"tid":%d%s}`, name, ts, tid, rest)
}

// want checks the set of the event with the given index.
func (a *attributed) want(t *testing.T, event int, contexts ...string) {
	t.Helper()
	slices.Sort(contexts)
	if got := a.show(a.stampsByEvent(t)[event], true); !slices.Equal(got, contexts) {
		t.Errorf("event %d has %q, want %q", event, got, contexts)
	}
}

// A context propagates along 64 arrows and no further.
func TestHopLimit(t *testing.T) {
	var list []string
	const slices = 400 // more than a byte can count
	for i := range slices {
		rest := fmt.Sprintf(`,"bind_id":"0x1","flow_in":%v,"flow_out":%v`, i > 0, i < slices-1)
		if i == 0 {
			rest += `,"args":{"data":{"frame":"F"}}`
		}
		list = append(list, x("work", i, 100*i, rest))
	}
	a := attribute(t, events(list...), attribution.Rules{})
	a.want(t, 0, "Frame frame F args 0")
	a.want(t, 1, "Frame frame F flow 1")
	a.want(t, 64, "Frame frame F flow 64")
	for i := 65; i < slices; i++ {
		a.want(t, i)
	}
	if n := a.problems.Count(problem.FlowHopLimit); n != slices-65 {
		t.Errorf("flow_hop_limit was counted %d times, want %d", n, slices-65)
	}
}

// The end of a flow without bp:"e" belongs to the next slice that starts, which then has the contexts of the flow. Two flows into
// one slice result in the common ancestor.
func TestFlowsIntoTheNextSlice(t *testing.T) {
	frames := `{"ph":"I","s":"t","name":"TracingStartedInBrowser","ts":0,"pid":9,"tid":9,"args":{"data":{"frames":[` +
		`{"frame":"P","url":"http://p.test/"},{"frame":"A","url":"http://a.test/","parent":"P"},{"frame":"B","url":"http://b.test/","parent":"P"}]}}}`
	a := attribute(t, events(frames,
		x("a", 1, 0, `,"args":{"frame":"A"}`),
		`{"ph":"s","name":"n","cat":"f","id":1,"ts":5,"pid":1,"tid":1}`,
		x("b", 2, 20, `,"args":{"frame":"B"}`),
		`{"ph":"s","name":"n","cat":"f","id":2,"ts":25,"pid":1,"tid":2}`,
		`{"ph":"f","name":"n","cat":"f","id":1,"ts":40,"pid":1,"tid":3}`,
		`{"ph":"f","name":"n","cat":"f","id":2,"ts":41,"pid":1,"tid":3}`,
		x("both", 3, 50, ""),
	), attribution.Rules{})
	a.want(t, 7, "Frame frame P flow 1 frame/A,frame/B")
}

// At the very end of a slice, a flow picks up the contexts of the slice, although the slice has ended, whether or not other
// events have the same time.
func TestFlowFromTheEndOfASlice(t *testing.T) {
	for _, other := range []int{9, 10} {
		a := attribute(t, events(
			x("a", 1, 0, `,"args":{"frame":"A"}`),
			`{"ph":"s","name":"n","cat":"f","id":1,"ts":10,"pid":1,"tid":1}`,
			x("elsewhere", 3, other, ``),
			x("target", 2, 20, ""),
			`{"ph":"f","bp":"e","name":"n","cat":"f","id":1,"ts":25,"pid":1,"tid":2}`,
			`{"ph":"X","name":"earlier inside","ts":21,"dur":2,"pid":1,"tid":2}`,
		), attribution.Rules{})
		a.want(t, 3, "Frame frame A flow 1")
		a.want(t, 5, "Frame frame A flow 1") // from the slice's start, though the flow came later
	}
}

// An asynchronous slice that starts in a garbage collection has the thread's set (attribution.md, rule 5): the isolate, and the
// frame that triggered the collection (rule 9). Flows do not propagate this frame (rule 6), and later slices do not have it.
func TestTriggerOfAsyncSlices(t *testing.T) {
	async := func(id string, ts int) string {
		return fmt.Sprintf(`{"ph":"b","name":"task","cat":"c","id":%q,"ts":%d,"pid":1,"tid":1},
			{"ph":"e","name":"task","cat":"c","id":%q,"ts":%d,"pid":1,"tid":1}`, id, ts, id, ts+30)
	}
	a := attribute(t, events(
		`{"ph":"X","name":"FunctionCall","ts":0,"dur":100,"pid":1,"tid":1,"args":{"data":{"frame":"F","isolate":"7"}}}`, // 0
		`{"ph":"X","name":"MajorGC","ts":20,"dur":50,"pid":1,"tid":1}`,
		`{"ph":"X","name":"V8.GC_MARK","ts":30,"dur":10,"pid":1,"tid":1}`,
		async("0x1", 25), // 3
		async("0x2", 35), // 5: in a slice inside the collection
		async("0x3", 80), // 7
		`{"ph":"X","name":"MinorGC","ts":200,"dur":50,"pid":1,"tid":1}`,
		async("0x4", 210), // 10: no event caused this one
	), attribution.Rules{})
	a.want(t, 1, "Frame isolate 7 isolate 0", "Trigger frame F args 0")
	a.want(t, 3, "Frame isolate 7 async 0", "Trigger frame F async 0")
	a.want(t, 5, "Frame isolate 7 async 0", "Trigger frame F async 0")
	a.want(t, 7, "Frame frame F async 0")
	a.want(t, 10, "Frame isolate 7 async 0")
}

// With EndWithSlice, a context that is entered inside a slice and never left ends with the slice.
func TestEndWithSlice(t *testing.T) {
	input := events(
		`{"ph":"(","name":"c","id":"0x1","ts":1,"pid":1,"tid":1}`,
		x("task", 1, 10, ""),
		`{"ph":"(","name":"c","id":"0x2","ts":12,"pid":1,"tid":1}`,
		`{"ph":"X","name":"inside","ts":13,"dur":2,"pid":1,"tid":1}`,
		x("after", 1, 30, ""),
	)
	for _, test := range []struct {
		opts attribution.Rules
		last string
		left uint64
	}{
		{attribution.Rules{}, "c ptr 0x2 explicit 0", 2},
		{attribution.Rules{EndWithSlice: true}, "c ptr 0x1 explicit 0", 1},
	} {
		a := attribute(t, input, test.opts)
		a.want(t, 1, "c ptr 0x1 explicit 0")
		a.want(t, 3, "c ptr 0x2 explicit 0")
		a.want(t, 4, test.last)
		if n := a.problems.Count(problem.NeverLeft); n != test.left {
			t.Errorf("never_left was counted %d times, want %d", n, test.left)
		}
		if self := a.selfOf("c", 1, 1); self["ptr/0x1@1"].wall != map[bool]timeline.Nanos{false: 2000, true: 12000}[test.opts.EndWithSlice] {
			t.Errorf("0x1 has %d ns", self["ptr/0x1@1"].wall)
		}
	}
}

// Snapshots contain snapshots of other objects, including in lists (attribution.md, rule 3): each is a state of its object at the
// time of the outer snapshot. A slice has the state that is valid at its start.
func TestNestedSnapshots(t *testing.T) {
	a := attribute(t, events(
		`{"ph":"O","name":"outer","id":"0x1000","ts":15,"pid":1,"tid":1,"args":{"snapshot":{"sub":{"id":"subObject/0x1","url":"http://one.test/"}}}}`,
		`{"ph":"O","name":"outer","id":"0x1000","ts":20,"pid":1,"tid":1,"args":{"snapshot":{"subs":[{"id":"subObject/0x1","url":"http://two.test/"},{"id":"subObject/0x2","base_type":"Base","sibling":{"id_ref":"0x1"}},[{"id":"deep/0x3"}]]}}}`,
		`{"ph":"(","name":"c","id":"0x1","ts":16,"pid":1,"tid":1}`,
		`{"ph":"X","name":"first","ts":17,"dur":1,"pid":1,"tid":1}`,
		`{"ph":"X","name":"second","ts":21,"dur":1,"pid":1,"tid":1}`,
		`{"ph":"O","name":"plain","id":"0x9","ts":25,"pid":1,"tid":1,"args":{"snapshot":{"url":"http://a.test/","id":"not one","x":{"id":"/0x5"},"y":{"id":"z/"}}}}`,
	), attribution.Rules{})
	states := map[string][]string{}
	for i := range a.Contexts.Snapshots[1:] {
		s := &a.Contexts.Snapshots[i+1]
		name := s.Class + " " + a.identity(s.Node)
		states[name] = append(states[name], fmt.Sprintf("%d", s.TS/1000))
	}
	want := map[string]string{
		"outer ptr/0x1000@1": "15 20", "subObject ptr/0x1@1": "15 20", "Base ptr/0x2@1": "20", "deep ptr/0x3@1": "20", "plain ptr/0x9@1": "25",
	}
	if len(states) != len(want) {
		t.Errorf("objects %v", states)
	}
	for name, times := range want {
		if got := strings.Join(states[name], " "); got != times {
			t.Errorf("%s has states at %s, want %s", name, got, times)
		}
	}
	for event, url := range map[int]string{3: "http://one.test/", 4: "http://two.test/"} {
		for _, c := range a.Set(a.stampsByEvent(t)[event]) {
			if c.Name != url {
				t.Errorf("event %d is bound to %s, want %s", event, c.Name, url)
			}
		}
	}
	if n, _ := a.Contexts.Find("ptr", "0x2", 1); a.Contexts.LogicalOf(n) == n {
		t.Error("the reference in a nested snapshot was not followed")
	}
}

// A slice without an end has no cost, but it encloses later slices up to the end of the enclosing slice or the thread, and the
// later slices have the contexts of the slice without an end (attribution.md, The model, Cost).
func TestSliceWithoutEnd(t *testing.T) {
	a := attribute(t, events(
		`{"ph":"B","name":"RunTask","ts":0,"pid":1,"tid":1}`,
		`{"ph":"B","name":"FunctionCall","ts":1,"pid":1,"tid":1,"args":{"data":{"frame":"A"}}}`,
		x("V8.StackGuard", 1, 5, ""),
		`{"ph":"i","s":"t","name":"instant","ts":17,"pid":1,"tid":1}`,
		`{"ph":"X","name":"outer","ts":100,"dur":100,"pid":1,"tid":2}`,
		`{"ph":"B","name":"open","ts":110,"pid":1,"tid":2,"args":{"frame":"B"}}`,
		`{"ph":"X","name":"UpdateLayoutTree","ts":120,"dur":30,"pid":1,"tid":2}`,
		x("after", 2, 200, ""),
	), attribution.Rules{Intervals: true})
	a.want(t, 0, "Frame frame A descendants 0")
	a.want(t, 1, "Frame frame A args 0")
	a.want(t, 2, "Frame frame A args 0")
	a.want(t, 3, "Frame frame A args 0")
	a.want(t, 4, "Frame frame B descendants 0")
	a.want(t, 6, "Frame frame B args 0")
	a.want(t, 7)
	if self := a.selfOf("Frame", 1, 1); self["frame/A"].wall != 10_000 || len(self) != 1 {
		t.Errorf("thread 1: %+v", self)
	}
	if self := a.selfOf("Frame", 1, 2); self["frame/B"].wall != 100_000 || self[attribution.Unattributed].wall != 10_000 {
		t.Errorf("thread 2: %+v", self)
	}
	// Without the frame of the inner slice, the outer one is charged the period in which only the open slice runs.
	a = attribute(t, events(
		`{"ph":"X","name":"outer","ts":100,"dur":100,"pid":1,"tid":2}`,
		`{"ph":"B","name":"open","ts":110,"pid":1,"tid":2,"args":{"frame":"B"}}`,
		`{"ph":"X","name":"inner","ts":120,"dur":30,"pid":1,"tid":2}`,
	), attribution.Rules{Sources: []attribution.Via{attribution.ViaArgs}})
	if self := a.selfOf("Frame", 1, 2); self["frame/B"].wall != 30_000 || self[attribution.Unattributed].wall != 70_000 {
		t.Errorf("outer 100 µs, inner 30 µs: %+v", self)
	}
	if n := a.problems.Count(problem.SlicesWithoutEnd); n != 1 {
		t.Errorf("slices_without_end was counted %d times, want 1", n)
	}
}

// Ids are treated as texts, however large the numbers, and objects with two kinds of id are ignored (attribution.md, The model).
func TestIDs(t *testing.T) {
	a := attribute(t, events(
		`{"ph":"(","name":"c","id":12345678901234567890123,"ts":1,"pid":1,"tid":1}`,
		x("big", 1, 2, ""),
		`{"ph":")","name":"c","id":12345678901234567890123,"ts":20,"pid":1,"tid":1}`,
		`{"ph":"O","name":"o","id":"0x6","id2":{"local":"0x7"},"ts":30,"pid":1,"tid":1,"args":{"snapshot":{"url":"http://a.test/"}}}`,
		`{"ph":"D","name":"o","id":"0x6","id2":{},"ts":31,"pid":1,"tid":1}`,
		`{"ph":"O","name":"o","id2":{"global":"0x8"},"ts":32,"pid":1,"tid":1,"args":{"snapshot":{"url":"http://b.test/"}}}`,
		`{"ph":"(","name":"c","id2":{"global":"0x8"},"ts":40,"pid":2,"tid":1}`,
		`{"ph":"X","name":"global","ts":41,"dur":1,"pid":2,"tid":1}`,
	), attribution.Rules{})
	a.want(t, 1, "c ptr 12345678901234567890123 explicit 0")
	if n := a.problems.Count(problem.ContextBadID); n != 2 {
		t.Errorf("context_bad_id was counted %d times, want 2", n)
	}
	if n, ok := a.Contexts.Find("ptr", "0x6", 1); ok && len(a.Contexts.States[n]) > 0 {
		t.Error("an object with two kinds of id has a state")
	}
	for _, c := range a.Set(a.stampsByEvent(t)[7]) {
		if c.Name != "http://b.test/" || c.ID.Process != attribution.Global {
			t.Errorf("the global context is %+v", c)
		}
	}
}

// Among several living objects with the same scope and id, the object whose class is the type of the context takes precedence,
// then the object of the same category, then the object created last (attribution.md, rule 3). Deleting one object does not
// affect the others.
func TestObjectsOfOneIdentity(t *testing.T) {
	object := func(phase, class, category string, ts int) string {
		return fmt.Sprintf(`{"ph":%q,"name":%q,"cat":%q,"id":"0x1","ts":%d,"pid":1,"tid":2,"args":{"snapshot":{"url":"http://%s.test/%d"}}}`, phase, class, category, ts, class, ts)
	}
	enter := func(typ, category string) string {
		return fmt.Sprintf(`{"ph":"(","name":%q,"cat":%q,"id":"0x1","ts":1,"pid":1,"tid":1}`, typ, category)
	}
	for name, test := range map[string]struct {
		list []string
		want string
	}{
		"class":    {[]string{enter("A", "y"), object("O", "A", "x", 10), object("O", "B", "y", 11)}, "http://A.test/10"},
		"category": {[]string{enter("T", "x"), object("O", "A", "x", 10), object("O", "B", "y", 11)}, "http://A.test/10"},
		"last":     {[]string{enter("T", "z"), object("O", "B", "y", 10), object("O", "A", "x", 11), object("O", "B", "y", 12)}, "http://A.test/11"},
		"end":      {[]string{enter("A", "x"), object("O", "A", "x", 10), object("O", "B", "y", 11), object("D", "A", "x", 12)}, "http://B.test/11"},
		"again": {[]string{enter("A", "x"), object("O", "A", "x", 10), object("O", "B", "y", 11), object("D", "A", "x", 12),
			object("N", "A", "x", 13), object("O", "A", "x", 14)}, "http://A.test/14"},
		"implicit": {[]string{enter("A", "x"), object("O", "B", "x", 10), object("O", "A", "x", 30)}, "http://A.test/30"},
		"none":     {[]string{enter("A", "x"), object("O", "B", "x", 10), object("N", "A", "x", 15), object("O", "A", "x", 30)}, ""},
	} {
		a := attribute(t, events(append(test.list, `{"ph":"X","name":"work","ts":20,"dur":1,"pid":1,"tid":1}`)...), attribution.Rules{})
		set := a.Sets.Lists.At(uint32(a.stampsByEvent(t)[len(test.list)]))
		if len(set) != 1 {
			t.Fatalf("%s: the slice has %d contexts, want 1", name, len(set))
		}
		if url := a.Contexts.Snapshots[a.Sets.Members[set[0]].Snapshot].Url; url != test.want {
			t.Errorf("%s: bound to %q, want %q", name, url, test.want)
		}
	}
}

// The number of explicit context types has a limit; types beyond it are counted.
func TestTypeLimit(t *testing.T) {
	var list []string
	for i := range attribution.MaxTypes + 10 {
		list = append(list, fmt.Sprintf(`{"ph":"(","name":"type %d","id":"0x1","ts":%d,"pid":1,"tid":1}`, i, i))
	}
	a := attribute(t, events(list...), attribution.Rules{})
	if n := a.problems.Count(problem.ContextLimit); n < 10 {
		t.Errorf("context_limit was counted %d times, want at least 10", n)
	}
}

// Each source of contexts can be disabled.
func TestSources(t *testing.T) {
	input := events(
		`{"ph":"(","name":"c","id":"0x1","ts":0,"pid":1,"tid":1}`,
		x("task", 1, 10, `,"bind_id":"0x1","flow_out":true`),
		`{"ph":"X","name":"script","ts":11,"dur":5,"pid":1,"tid":1,"args":{"data":{"frame":"F"}}}`,
		`{"ph":"X","name":"MinorGC","ts":12,"dur":1,"pid":1,"tid":2}`,
		`{"ph":"b","cat":"n","name":"async","id":"0x5","ts":14,"pid":1,"tid":1}`,
		x("target", 3, 30, `,"bind_id":"0x1","flow_in":true`),
		`{"ph":"e","cat":"n","name":"async","id":"0x5","ts":50,"pid":1,"tid":1}`,
	)
	for via, event := range map[attribution.Via]int{
		attribution.ViaExplicit: 1, attribution.ViaArgs: 2, attribution.ViaAsync: 4, attribution.ViaFlow: 5, attribution.ViaIsolate: 3, attribution.ViaDescendants: 1,
	} {
		with := attribute(t, input, attribution.Rules{})
		if got := strings.Join(with.show(with.stampsByEvent(t)[event], true), ";"); !strings.Contains(got, " "+via.String()+" ") {
			t.Errorf("%v: event %d has %s", via, event, got)
		}
		var others []attribution.Via
		for v := attribution.ViaExplicit; v < attribution.NumVia; v++ {
			if v != via {
				others = append(others, v)
			}
		}
		without := attribute(t, input, attribution.Rules{Sources: others})
		for event, set := range without.stampsByEvent(t) {
			if got := strings.Join(without.show(set, true), ";"); strings.Contains(got, " "+via.String()+" ") {
				t.Errorf("without %v event %d has %s", via, event, got)
			}
		}
	}
}

// The intervals of a type on a thread do not overlap, neighbours differ, and their total length equals the costs of the contexts.
func TestIntervals(t *testing.T) {
	a := attribute(t, events(
		x("task", 1, 0, ""),
		`{"ph":"X","name":"a","ts":1,"dur":3,"pid":1,"tid":1,"args":{"frame":"A"}}`,
		`{"ph":"X","name":"a again","ts":4,"dur":2,"pid":1,"tid":1,"args":{"frame":"A"}}`,
		`{"ph":"X","name":"b","ts":6,"dur":2,"pid":1,"tid":1,"args":{"frame":"B"}}`,
		x("a later", 1, 20, `,"args":{"frame":"A"}`),
	), attribution.Rules{Intervals: true, Sources: []attribution.Via{attribution.ViaArgs}})
	var got []string
	for _, i := range a.intervals(t) {
		got = append(got, fmt.Sprintf("%s %d-%d", a.identity(i.Node), i.From/1000, i.To/1000))
	}
	if want := []string{"frame/A 1-6", "frame/B 6-8", "frame/A 20-30"}; !slices.Equal(got, want) {
		t.Errorf("intervals %q, want %q", got, want)
	}
}

// Calls inside a script have its url, and scripts from one site share a row of the table by entity.
func TestScriptsAndEntities(t *testing.T) {
	a := attribute(t, events(
		x("EvaluateScript", 1, 0, `,"args":{"data":{"url":"https://static.example.co.uk/a.js"}}`),
		`{"ph":"X","name":"inner","ts":2,"dur":3,"pid":1,"tid":1}`,
		x("FunctionCall", 1, 20, `,"args":{"data":{"url":"https://www.example.co.uk/b.js"}}`),
		x("FunctionCall", 1, 40, `,"args":{"data":{"url":"chrome-extension://abcdef/c.js"}}`),
		x("Layout", 1, 60, `,"args":{"data":{"url":"https://not.a.script/"}}`),
	), attribution.Rules{})
	a.want(t, 1, "Script script https://static.example.co.uk/a.js args 0")
	a.want(t, 4)
	rows := map[string]timeline.Nanos{}
	for _, r := range a.Table(tables.TableOptions{Type: tables.TypeEntity}).Rows {
		rows[r.ID] = r.Self
	}
	if rows["example.co.uk"] != 20_000 || rows["extension abcdef"] != 10_000 || rows[attribution.Unattributed] != 10_000 || len(rows) != 3 {
		t.Errorf("rows %v", rows)
	}
}

// Long tasks, forced layouts and provoked collections are charged to the contexts that caused them.
func TestColumns(t *testing.T) {
	a := attribute(t, events(
		`{"ph":"X","name":"RunTask","ts":0,"dur":60000,"pid":1,"tid":1}`,
		`{"ph":"X","name":"FunctionCall","ts":100,"dur":40000,"pid":1,"tid":1,"args":{"data":{"frame":"A"}}}`,
		`{"ph":"X","name":"Layout","ts":200,"dur":700,"pid":1,"tid":1,"args":{"beginData":{"frame":"A"}}}`,
		`{"ph":"X","name":"MinorGC","ts":2000,"dur":3000,"pid":1,"tid":1,"args":{"usedHeapSizeBefore":5000,"usedHeapSizeAfter":1800}}`,
		`{"ph":"X","name":"UpdateLayoutTree","ts":50000,"dur":300,"pid":1,"tid":1,"args":{"beginData":{"frame":"A","stackTrace":[{"functionName":"f"}]}}}`,
		`{"ph":"X","name":"Layout","ts":51000,"dur":300,"pid":1,"tid":1,"args":{"beginData":{"frame":"A"}}}`,
	), attribution.Rules{})
	table := a.Table(tables.TableOptions{Type: "Frame"})
	if i := slices.IndexFunc(table.Rows, func(r tables.Row) bool { return r.Freed == 3200 }); i < 0 || table.Rows[i].ID != "isolate/thread:1/1@1" {
		t.Errorf("the isolate freed nothing: %+v", table.Rows)
	}
	for _, r := range table.Rows {
		if r.ID != "frame/A" {
			continue
		}
		if r.LongTasks != 1 || r.ForcedLayout != 700_000 || r.ForcedLayouts != 1 || r.ForcedStyle != 300_000 || r.ForcedStyles != 1 || r.GCProvoked != 3_000_000 {
			t.Errorf("row %+v", r)
		}
		if r.SelfByCategory[producers.CategoryLayout] != 1_000_000 || r.SelfByCategory[producers.CategoryStyle] != 300_000 || r.SelfByCategory[producers.CategoryScript] != 36_300_000 {
			t.Errorf("categories %v", r.SelfByCategory)
		}
		return
	}
	t.Errorf("no row of the frame in %+v", table.Rows)
}

// Current returns the contexts in effect on a thread at any time.
func TestCurrent(t *testing.T) {
	a := attribute(t, events(
		x("task", 1, 10, `,"args":{"frame":"A"}`),
		`{"ph":"(","name":"c","id":"0x1","ts":12,"pid":1,"tid":1}`,
		`{"ph":")","name":"c","id":"0x1","ts":15,"pid":1,"tid":1}`,
		x("other", 2, 10, `,"args":{"frame":"B"}`),
	), attribution.Rules{Intervals: true})
	thread := timeline.TrackID(0)
	for id := range timeline.TrackID(a.t.TrackCount()) {
		if tr := a.t.Track(id); tr.Kind == timeline.ThreadTrack && tr.TID == 1 {
			thread = id
		}
	}
	for ts, want := range map[timeline.Nanos]string{
		9_000: "map[]", 10_000: "map[Frame:frame/A]", 12_000: "map[Frame:frame/A c:ptr/0x1@1]", 15_000: "map[Frame:frame/A]", 20_000: "map[]",
	} {
		if got, err := a.Current(thread, ts); err != nil || fmt.Sprint(got) != want {
			t.Errorf("at %d: %v, %v; want %s", ts, got, err, want)
		}
	}
	if err := writeback.Of(a.Result, writeback.Parts{}).Attach(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Current(thread, 10_000); err == nil {
		t.Error("Current answers after Attach")
	}
	if _, err := a.Of(0); err == nil {
		t.Error("Of answers after Attach")
	}
}

// The work stays proportional to the input, even with unlimited nesting, the maximum number of types, one flow through
// everything, or one tree of all objects.
func TestHostileInput(t *testing.T) {
	const n = 20_000
	inputs := map[string]func(i int) string{
		"nested": func(i int) string {
			return fmt.Sprintf(`{"ph":"X","name":"x","ts":%d,"dur":%d,"pid":1,"tid":1,"bind_id":"0x1","flow_in":true,"flow_out":true,"args":{"frame":"F%d"}}`, i, 3*n-2*i, i%100)
		},
		"types": func(i int) string {
			if i%3 > 0 {
				return fmt.Sprintf(`{"ph":"(","name":"type %d","id":"0x%x","ts":%d,"pid":1,"tid":1}`, i%300, i, i)
			}
			return fmt.Sprintf(`{"ph":"X","name":"x","ts":%d,"dur":%d,"pid":1,"tid":1}`, i, 3*n-2*i)
		},
		"deletions": func(i int) string {
			if i%2 > 0 {
				return fmt.Sprintf(`{"ph":"(","name":"c","id":"0x%x","ts":%d,"pid":1,"tid":1}`, i, i)
			}
			return fmt.Sprintf(`{"ph":"D","name":"o","id":"0x%x","ts":%d,"pid":1,"tid":1}`, i/2, i)
		},
		"siblings": func(i int) string {
			return fmt.Sprintf(`{"ph":"O","name":"o","id":"%d","ts":%d,"pid":1,"tid":1,"args":{"snapshot":{"sibling":{"id_ref":"%d"},"parent":{"id_ref":"%d"}}}}`, i, i, i/2, i-1)
		},
		"asynchronous": func(i int) string {
			return fmt.Sprintf(`{"ph":"b","cat":"c","name":"a","id":"0x1","ts":%d,"pid":1,"tid":1,"args":{"frame":"F%d"}},{"ph":"e","cat":"c","name":"a","id":"0x1","ts":%d,"pid":1,"tid":1}`, i, i, 3*n-i)
		},
	}
	for name, event := range inputs {
		t.Run(name, func(t *testing.T) {
			var list []string
			for i := range n {
				list = append(list, event(i))
			}
			a := attribute(t, events(list...), attribution.Rules{Intervals: true, EndWithSlice: true})
			for _, typ := range tables.Of(a.Result).Types() {
				a.Table(tables.TableOptions{Type: typ})
			}
		})
	}
}

// A slice that handles a request has the contexts that the slice names, and the request's contexts for other types
// (attribution.md, rule 7).
func TestScriptOfARequest(t *testing.T) {
	const sent = `,"args":{"data":{"url":"http://a.test/a.js","frame":"F"}}`
	const received = `,"args":{"data":{"requestId":"1.1","url":"http://a.test/b.js"}}`
	a := attribute(t, events(
		x("EvaluateScript", 1, 0, sent),
		`{"ph":"I","s":"t","name":"ResourceSendRequest","ts":5,"pid":1,"tid":1,"args":{"data":{"requestId":"1.1","url":"http://a.test/b.js"}}}`,
		x("v8.compile", 2, 100, received),
		x("EvaluateScript", 1, 200, received),
		x("ParseHTML", 1, 300, received),
	), attribution.Rules{})
	for event := 2; event <= 3; event++ {
		a.want(t, event, "Frame frame F request 0", "Script script http://a.test/b.js args 0")
	}
	a.want(t, 4, "Frame frame F request 0", "Script script http://a.test/a.js request 0")
}

// A redirected request is sent again under the same id. It still belongs to the frame for which it was made, and lasts from the
// first sending to the finish.
func TestRedirectedRequest(t *testing.T) {
	at := func(name string, ts int, data string) string {
		return fmt.Sprintf(`{"ph":"I","s":"t","name":%q,"ts":%d,"pid":1,"tid":1,"args":{"data":{"requestId":"1.1"%s}}}`, name, ts, data)
	}
	a := attribute(t, events(
		at("ResourceSendRequest", 5, `,"frame":"F"`), at("ResourceSendRequest", 20, `,"frame":"G"`),
		at("ResourceReceivedData", 30, `,"encodedDataLength":7`), at("ResourceFinish", 40, `,"encodedDataLength":0`),
		x("ParseHTML", 2, 100, `,"args":{"data":{"requestId":"1.1"}}`),
	), attribution.Rules{})
	a.want(t, 4, "Frame frame F request 0")
	got := map[string]string{}
	for _, r := range a.Table(tables.TableOptions{Type: "Frame"}).Rows {
		got[r.ID] = fmt.Sprintf("%d requests, %d bytes, %d ns", r.Requests, r.NetworkBytes, r.RequestTime)
	}
	want := map[string]string{
		"frame/F": "1 requests, 7 bytes, 35000 ns", "frame/G": "0 requests, 0 bytes, 0 ns", "(unattributed)": "0 requests, 0 bytes, 0 ns",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got)\n%s", diff)
	}
}

// A flow that enters a slice after the enclosing slice has ended is treated like any other flow. Contexts named by the slice take
// precedence; two frames result in the common ancestor (attribution.md, rules 6 and 4).
func TestFlowsIntoTheRestOfASlice(t *testing.T) {
	flow := func(id, tid, ts int) string {
		return fmt.Sprintf(`{"ph":"s","name":"n","cat":"f","id":%d,"ts":%d,"pid":1,"tid":%d},`, id, ts, tid) +
			fmt.Sprintf(`{"ph":"f","bp":"e","name":"n","cat":"f","id":%d,"ts":13,"pid":1,"tid":1}`, id)
	}
	frame := func(id string) string { return fmt.Sprintf(`,"args":{"data":{"frame":%q}}`, id) }
	a := attribute(t, events(
		x("around", 1, 0, ""),
		x("own", 1, 5, frame("F")),
		x("other", 2, 0, frame("G")),
		flow(1, 2, 2),
	), attribution.Rules{})
	a.want(t, 1, "Frame frame F args 0")

	a = attribute(t, events(
		x("around", 1, 0, ""),
		x("none", 1, 5, ""),
		x("other", 2, 0, frame("G")),
		flow(1, 2, 2),
		x("another", 3, 0, frame("H")),
		flow(2, 3, 2),
	), attribution.Rules{})
	a.want(t, 1, "Frame null null flow 1 frame/G,frame/H")
}

// The contexts of an instant have the states that are valid at its time, inside and outside slices; a slice's contexts have the
// states at its start (attribution.md, rule 3).
func TestStatesAtInstants(t *testing.T) {
	instant := func(ts int) string {
		return fmt.Sprintf(`{"ph":"I","s":"t","name":"instant","ts":%d,"pid":1,"tid":1}`, ts)
	}
	input := events(
		object("0x1", 0, ""),    // event 0
		enter("C", "0x1", 1, 1), // 1
		instant(2),              // 2
		x("work", 1, 3, ""),     // 3
		object("0x1", 5, ""),    // 4
		instant(6),              // 5
		object("0x1", 20, ""),   // 6
		instant(25),             // 7
	)
	var want expected
	if err := json.Unmarshal([]byte(`{"bindings":[
		{"event":2,"type":"C","snapshotEvent":0},
		{"event":3,"type":"C","snapshotEvent":0},
		{"event":5,"type":"C","snapshotEvent":4},
		{"event":7,"type":"C","snapshotEvent":6}]}`), &want); err != nil {
		t.Fatal(err)
	}
	a := attribute(t, input, attribution.Rules{})
	a.checkBindings(t, &want, a.stampsByEvent(t))
}

// Among contexts of a type that start at the same time, the slice's own arguments take precedence over explicit contexts,
// explicit contexts over flows, and flows over requests. A later context takes precedence over all of them, and when it ends, the
// earlier one is in effect again (attribution.md, The model).
func TestEvidenceOfOneTime(t *testing.T) {
	const enter = `{"ph":"(","name":"Frame","id":"0x1","pid":1,"tid":1,"ts":%d}`
	const frame, request = `,"args":{"frame":"F"}`, `,"args":{"data":{"requestId":"1.7"}}`
	flow := func(id string, from, to int) string {
		return fmt.Sprintf(`{"ph":"s","name":"f","cat":"c","id":%q,"pid":1,"tid":9,"ts":%d},{"ph":"f","bp":"e","name":"f","cat":"c","id":%[1]q,"pid":1,"tid":1,"ts":%[3]d}`, id, from, to)
	}
	send := `{"ph":"I","s":"t","name":"ResourceSendRequest","ts":3,"pid":1,"tid":9,"args":{"data":{"requestId":"1.7","frame":"R"}}}`
	for name, c := range map[string]struct {
		events []string // the last one is checked
		want   string
	}{
		"arguments and entered": {[]string{fmt.Sprintf(enter, 100), x("both", 1, 100, frame)}, "Frame frame F args 0"},
		"entered and flow":      {[]string{x("out", 9, 0, frame), flow("1", 1, 101), fmt.Sprintf(enter, 100), x("both", 1, 100, "")}, "Frame ptr 0x1 explicit 0"},
		"flow later":            {[]string{x("out", 9, 0, frame), flow("1", 1, 101), fmt.Sprintf(enter, 99), x("both", 1, 100, "")}, "Frame frame F flow 1"},
		"flow and request":      {[]string{x("out", 9, 0, frame), send, flow("1", 1, 101), x("both", 1, 100, request)}, "Frame frame F flow 1"},
		"entered and request":   {[]string{x("out", 9, 0, ""), send, fmt.Sprintf(enter, 50), x("both", 1, 100, request)}, "Frame ptr 0x1 explicit 0"},
		"request alone":         {[]string{x("out", 9, 0, ""), send, x("both", 1, 100, request)}, "Frame frame R request 0"},
		"entered inside":        {[]string{x("around", 1, 100, frame), fmt.Sprintf(enter, 101), `{"ph":"X","name":"in","pid":1,"tid":1,"ts":102,"dur":2}`}, "Frame ptr 0x1 explicit 0"},
		"left inside": {[]string{x("around", 1, 100, frame), fmt.Sprintf(enter, 101), strings.Replace(fmt.Sprintf(enter, 103), "(", ")", 1),
			`{"ph":"X","name":"in","pid":1,"tid":1,"ts":104,"dur":2}`}, "Frame frame F args 0"},
	} {
		t.Run(name, func(t *testing.T) {
			all := strings.Join(c.events, ",")
			attribute(t, events(all), attribution.Rules{}).want(t, strings.Count(all, `"ph"`)-1, c.want)
		})
	}
}
