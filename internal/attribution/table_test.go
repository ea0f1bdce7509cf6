package attribution_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/attribution/writeback"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/timeline"
)

// rowOf returns the row of a context and, if rows are divided, of a part of it. It returns nil if there is none.
func rowOf(t *tables.Table, id, part string) *tables.Row {
	if i := slices.IndexFunc(t.Rows, func(r tables.Row) bool { return r.ID == id && r.Part == part }); i >= 0 {
		return &t.Rows[i]
	}
	return nil
}

// columnOf returns the nonzero values in a column, by the id and part of each row.
func columnOf(t *tables.Table, value func(*tables.Row) int64) map[string]int64 {
	out := map[string]int64{}
	for i := range t.Rows {
		r := &t.Rows[i]
		id := r.ID
		if r.Part != "" {
			id += " " + r.Part
		}
		if v := value(r); v != 0 {
			out[id] += v
		}
	}
	return out
}

func selfOf(r *tables.Row) int64 { return int64(r.Self) }

// Deleted objects keep their last name, class and parent; an object that has only a creation and a deletion has its class.
func TestDeletedObjects(t *testing.T) {
	a := attribute(t, events(
		`{"ph":"O","name":"RenderFrame","ts":0,"pid":1,"tid":1,"id":"0x1","args":{"snapshot":{"url":"http://old.test/"}}}`,
		`{"ph":"O","name":"RenderFrame","ts":0,"pid":1,"tid":1,"id":"0x2","args":{"snapshot":{"url":"http://outer.test/"}}}`,
		`{"ph":"N","name":"Worker","ts":0,"pid":1,"tid":1,"id":"0x3"}`,
		`{"ph":"O","name":"RenderFrame","ts":1,"pid":1,"tid":1,"id":"0x1","args":{"snapshot":{"url":"http://inner.test/","parent":{"id_ref":"0x2"}}}}`,
		`{"ph":"(","name":"C","ts":2,"pid":1,"tid":1,"id":"0x1"}`,
		x("work", 1, 3, ""),
		`{"ph":")","name":"C","ts":20,"pid":1,"tid":1,"id":"0x1"}`,
		`{"ph":"D","name":"RenderFrame","ts":21,"pid":1,"tid":1,"id":"0x1"}`,
		`{"ph":"D","name":"RenderFrame","ts":21,"pid":1,"tid":1,"id":"0x2"}`,
		`{"ph":"(","name":"C","ts":22,"pid":1,"tid":1,"id":"0x3"}`,
		x("work", 1, 23, ""),
		`{"ph":")","name":"C","ts":40,"pid":1,"tid":1,"id":"0x3"}`,
		`{"ph":"D","name":"Worker","ts":41,"pid":1,"tid":1,"id":"0x3"}`,
		`{"ph":"N","name":"TopLevel","ts":0,"pid":1,"tid":1,"id":"0x4"}`,
		`{"ph":"O","name":"RenderFrame","ts":0,"pid":1,"tid":1,"id":"0x5","args":{"snapshot":{"parent":{"id_ref":"0x4"}}}}`,
	), attribution.Rules{})
	table := a.Table(tables.TableOptions{Type: "C"})
	for _, want := range []tables.Amounts{
		{ID: "ptr/0x1@1", Name: "http://inner.test/", Class: "RenderFrame", Parent: "ptr/0x2@1", Self: 10_000, Total: 10_000},
		{ID: "ptr/0x2@1", Name: "http://outer.test/", Class: "RenderFrame", Total: 10_000},
		{ID: "ptr/0x3@1", Name: "Worker 0x3", Class: "Worker", Self: 10_000, Total: 10_000},
		{ID: "ptr/0x4@1", Name: "TopLevel 0x4", Class: "TopLevel"},
		{ID: "ptr/0x5@1", Name: "RenderFrame 0x5", Class: "RenderFrame", Parent: "ptr/0x4@1"},
	} {
		got := rowOf(table, want.ID, "")
		if got == nil {
			t.Errorf("no row of %s", want.ID)
			continue
		}
		if got.Name != want.Name || got.Class != want.Class || got.Parent != want.Parent || got.Self != want.Self || got.Total != want.Total {
			t.Errorf("row %+v, want %+v", *got, want)
		}
	}
}

// An object without cost has a row in the table of its type, and in the tables of all types if it was never entered.
func TestObjectsWithoutCost(t *testing.T) {
	object := func(id string) string {
		return `{"ph":"O","name":"o","ts":0,"pid":1,"tid":1,"id":"` + id + `","args":{"snapshot":{"url":"http://a.test/` + id + `"}}}`
	}
	a := attribute(t, events(
		object("0x1"), object("0x2"), object("0x3"),
		`{"ph":"(","name":"A","ts":0,"pid":1,"tid":1,"id":"0x1"}`,
		`{"ph":"(","name":"B","ts":0,"pid":1,"tid":1,"id":"0x2"}`,
		x("work", 1, 3, ""),
	), attribution.Rules{})
	for typ, want := range map[string][]string{
		"A": {"ptr/0x1@1", attribution.Unattributed, "ptr/0x3@1"},
		"B": {"ptr/0x2@1", attribution.Unattributed, "ptr/0x3@1"},
	} {
		var got []string
		for _, r := range a.Table(tables.TableOptions{Type: typ}).Rows {
			got = append(got, r.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("type %s has the rows %q, want %q", typ, got, want)
		}
	}
}

// inputWork returns an attributed trace with an input event that two frames of one page handle on two threads, and work without a
// context.
func inputWork(t *testing.T) *attributed {
	t.Helper()
	const input = `"chrome_latency_info":{"trace_id":5}`
	return attribute(t, events(
		`{"ph":"I","s":"t","name":"TracingStartedInBrowser","ts":0,"pid":9,"tid":9,"args":{"data":{"frames":[`+
			`{"frame":"F1","url":"http://www.a.test/"},{"frame":"F2","parent":"F1","url":"http://ads.b.test/"}]}}}`,
		`{"ph":"b","cat":"c","id":"0x1","name":"InputLatency::MouseDown","ts":0,"pid":9,"tid":9,"args":{`+input+`}}`,
		`{"ph":"e","cat":"c","id":"0x1","name":"InputLatency::MouseDown","ts":40,"pid":9,"tid":9}`,
		x("one", 1, 100, `,"args":{"frame":"F1",`+input+`}`),
		x("two", 1, 120, `,"args":{"frame":"F2",`+input+`}`),
		x("three", 2, 140, `,"args":{"frame":"F2",`+input+`}`),
		x("other", 2, 160, ""),
		`{"ph":"I","s":"t","name":"ResourceSendRequest","ts":105,"pid":1,"tid":1,"args":{"data":{"requestId":"r1","frame":"F1"}}}`,
		`{"ph":"I","s":"t","name":"ResourceFinish","ts":108,"pid":1,"tid":1,"args":{"data":{"requestId":"r1","encodedDataLength":700}}}`,
		`{"ph":"b","cat":"c","id":"0x9","name":"wait","ts":101,"pid":1,"tid":1}`,
		`{"ph":"e","cat":"c","id":"0x9","name":"wait","ts":107,"pid":1,"tid":1}`,
	), attribution.Rules{})
}

// Contexts can share a row by the root of their tree, class, registrable domain, or all together; anything that counts once for a
// context also counts once for a group.
func TestGroups(t *testing.T) {
	a := inputWork(t)
	for _, test := range []struct {
		typ    string
		group  tables.GroupBy
		self   map[string]int64
		total  map[string]int64
		inputs map[string]int64
	}{
		{
			"Frame", tables.GroupNone,
			map[string]int64{"frame/F1": 10_000, "frame/F2": 20_000, attribution.Unattributed: 10_000},
			map[string]int64{"frame/F1": 30_000, "frame/F2": 20_000, attribution.Unattributed: 10_000},
			map[string]int64{"frame/F1": 1, "frame/F2": 1},
		},
		{
			"Frame", tables.GroupPage,
			map[string]int64{"frame/F1": 30_000, attribution.Unattributed: 10_000},
			map[string]int64{"frame/F1": 30_000, attribution.Unattributed: 10_000},
			map[string]int64{"frame/F1": 1},
		},
		{
			"Frame", tables.GroupEntity,
			map[string]int64{"a.test": 10_000, "b.test": 20_000, attribution.Unattributed: 10_000},
			map[string]int64{"a.test": 30_000, "b.test": 20_000, attribution.Unattributed: 10_000},
			map[string]int64{"a.test": 1, "b.test": 1},
		},
		{
			"Frame", tables.GroupClass,
			map[string]int64{"frame": 30_000, attribution.Unattributed: 10_000},
			map[string]int64{"frame": 30_000, attribution.Unattributed: 10_000},
			map[string]int64{"frame": 1},
		},
		{
			"Frame", tables.GroupType,
			map[string]int64{tables.AllContexts: 30_000, attribution.Unattributed: 10_000},
			map[string]int64{tables.AllContexts: 30_000, attribution.Unattributed: 10_000},
			map[string]int64{tables.AllContexts: 1},
		},
		{
			"InputEvent", tables.GroupClass,
			map[string]int64{"MouseDown": 30_000, attribution.Unattributed: 10_000},
			map[string]int64{"MouseDown": 30_000, attribution.Unattributed: 10_000},
			map[string]int64{"MouseDown": 1},
		},
	} {
		table := a.Table(tables.TableOptions{Type: test.typ, Group: test.group})
		name := test.typ + " by " + test.group.String()
		if diff := cmp.Diff(test.self, columnOf(table, selfOf)); diff != "" {
			t.Errorf("%s: self times (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(test.total, columnOf(table, func(r *tables.Row) int64 { return int64(r.Total) })); diff != "" {
			t.Errorf("%s: total times (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(test.inputs, columnOf(table, func(r *tables.Row) int64 { return r.Inputs })); diff != "" {
			t.Errorf("%s: inputs (-want +got):\n%s", name, diff)
		}
		if r := rowOf(table, tables.AllContexts, ""); r != nil && (r.WorstLatency != 40_000 || r.Requests != 1 || r.NetworkBytes != 700) {
			t.Errorf("%s: row %+v", name, *r)
		}
	}
}

// A group counts the time below it once, even if its contexts are ancestors of each other.
func TestGroupTotals(t *testing.T) {
	object := func(id, class, parent string) string {
		return `{"ph":"O","name":"` + class + `","ts":0,"pid":1,"tid":1,"id":"` + id + `","args":{"snapshot":{` + parent + `}}}`
	}
	a := attribute(t, events(
		object("0x1", "A", `"url":"http://a.test/"`), object("0x2", "B", `"parent":{"id_ref":"0x1"}`), object("0x3", "A", `"parent":{"id_ref":"0x2"}`),
		`{"ph":"(","name":"C","ts":2,"pid":1,"tid":1,"id":"0x3"}`,
		x("work", 1, 3, ""),
	), attribution.Rules{})
	want := map[string]int64{"A": 10_000, "B": 10_000}
	if diff := cmp.Diff(want, columnOf(a.Table(tables.TableOptions{Type: "C", Group: tables.GroupClass}), func(r *tables.Row) int64 { return int64(r.Total) })); diff != "" {
		t.Errorf("total times (-want +got):\n%s", diff)
	}
	want = map[string]int64{"ptr/0x1@1": 10_000}
	if diff := cmp.Diff(want, columnOf(a.Table(tables.TableOptions{Type: "C", Group: tables.GroupPage}), selfOf)); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
}

// Divided rows keep the columns that can be divided; the others are missing instead of 0.
func TestDividedColumns(t *testing.T) {
	a := inputWork(t)
	for _, test := range []struct {
		split tables.SplitBy
		part  string // of frame F1
		want  map[string]any
		lacks []string
	}{
		{tables.SplitProcess, "pid 1", map[string]any{"inputs": 1, "worst_input_latency_ns": 40_000, "requests": 1, "network_bytes": 700, "request_ns": 3000, "async_ns": 6000, "long_tasks": 0}, nil},
		{tables.SplitThread, "1/1", map[string]any{"inputs": 1, "worst_input_latency_ns": 40_000, "requests": 1, "network_bytes": 700, "request_ns": 3000, "long_tasks": 0}, []string{"async_ns"}},
		{tables.SplitCategory, "other", map[string]any{"inputs": 1, "worst_input_latency_ns": 40_000}, []string{"requests", "network_bytes", "request_ns", "async_ns", "long_tasks"}},
	} {
		row := rowOf(a.Table(tables.TableOptions{Type: "Frame", Split: test.split}), "frame/F1", test.part)
		if row == nil {
			t.Errorf("by %s: no row of %s", test.split, test.part)
			continue
		}
		text, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		for name, want := range test.want {
			if n, ok := got[name].(float64); !ok || int(n) != want {
				t.Errorf("by %s: %s is %v, want %v", test.split, name, got[name], want)
			}
		}
		for _, name := range test.lacks {
			if v, ok := got[name]; ok {
				t.Errorf("by %s: %s is %v, want nothing", test.split, name, v)
			}
		}
	}
}

// The JSON form of a row can be parsed, and has all columns.
func TestRowJSON(t *testing.T) {
	row := tables.Row{Amounts: tables.Amounts{
		ID: "i", Name: "n", Part: "p", Class: "c", Parent: "q", Members: []string{"m"}, Self: 1, Total: 2, CPU: 3, WithoutCPU: 4, Slices: 5,
		Instants: 6, LongTasks: 7, GCProvoked: 8, Freed: 9, ForcedStyle: 10, ForcedLayout: 11, ForcedStyles: 12, ForcedLayouts: 13, Requests: 14,
		NetworkBytes: 15, RequestTime: 16, Async: 17, Inputs: 18, WorstLatency: 19,
	}, SelfByCategory: tables.ByCategory{producers.CategoryGC: 20, producers.CategoryOther: 21}}
	text, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	var read tables.Row
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(row, read, cmp.AllowUnexported(tables.Row{})); diff != "" {
		t.Errorf("%s is read as (-want +got):\n%s", text, diff)
	}
	for _, c := range tables.Columns {
		if !strings.Contains(string(text), `"`+c.Name+`":`) {
			t.Errorf("column %s is not in %s", c.Name, text)
		}
	}
}

// Every slice has a process and a thread, which have tables like contexts.
func TestTrackTypes(t *testing.T) {
	a := inputWork(t)
	processes := a.Table(tables.TableOptions{Type: tables.TypeProcess})
	if diff := cmp.Diff(map[string]int64{"process/1": 40_000}, columnOf(processes, selfOf)); diff != "" {
		t.Errorf("processes (-want +got):\n%s", diff)
	}
	if processes.Busy != 40_000 || processes.Unattributed != 0 {
		t.Errorf("busy %d, unattributed %d", processes.Busy, processes.Unattributed)
	}
	one := rowOf(processes, "process/1", "")
	if one == nil || one.Requests != 1 || one.NetworkBytes != 700 || one.Async != 6000 || one.Inputs != 1 || one.Total != 40_000 {
		t.Errorf("process 1: %+v", one)
	}
	threads := a.Table(tables.TableOptions{Type: tables.TypeThread})
	if diff := cmp.Diff(map[string]int64{"thread/1@1": 20_000, "thread/2@1": 20_000}, columnOf(threads, selfOf)); diff != "" {
		t.Errorf("threads (-want +got):\n%s", diff)
	}
	if r := rowOf(threads, "thread/2@1", ""); r == nil || r.Parent != "process/1" || r.Name != "1/2" || r.Inputs != 1 || r.Requests != 0 {
		t.Errorf("thread 2: %+v", r)
	}
}

// A type of the input with the name of a derived type has its own table, in addition to the derived type's.
func TestDerivedNames(t *testing.T) {
	a := attribute(t, events(
		`{"ph":"(","name":"Page","ts":0,"pid":1,"tid":1,"id":"0x1"}`,
		`{"ph":"(","name":"Process","ts":0,"pid":1,"tid":1,"id":"0x2"}`,
		`{"ph":"(","name":"Tab","ts":0,"pid":1,"tid":1,"id":"0x3"}`,
		x("work", 1, 0, `,"args":{"frame":"F1"}`),
	), attribution.Rules{})
	if want := []string{"Frame", "Page", "Page (derived)", "Process", "Tab"}; !slices.Equal(tables.Of(a.Result).Types(), want) {
		t.Errorf("types %q, want %q", tables.Of(a.Result).Types(), want)
	}
	if want := []string{"Process (derived)", "Thread"}; !slices.Equal(tables.Of(a.Result).TrackTypes(), want) {
		t.Errorf("types of tracks %q, want %q", tables.Of(a.Result).TrackTypes(), want)
	}
	for typ, id := range map[string]string{"Tab": "ptr/0x3@1", "Page": "ptr/0x1@1", "Page (derived)": "frame/F1", "Process": "ptr/0x2@1", "Process (derived)": "process/1"} {
		if diff := cmp.Diff(map[string]int64{id: 10_000}, columnOf(a.Table(tables.TableOptions{Type: typ}), selfOf)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", typ, diff)
		}
	}
}

// A long task belongs to the context with the most self time in it, or to the first of several that tie, however much of the task
// is unattributed. Groups are compared, not their members.
func TestLongTasks(t *testing.T) {
	ms := func(name string, tid, ts, dur int, frame string) string {
		args := ""
		if frame != "" {
			args = `,"args":{"frame":"` + frame + `"}`
		}
		return strings.Replace(x(name, tid, ts*1000, args), `"dur":10`, `"dur":`+string(rune('0'+dur/10))+string(rune('0'+dur%10))+`000`, 1)
	}
	a := attribute(t, events(
		`{"ph":"I","s":"t","name":"TracingStartedInBrowser","ts":0,"pid":9,"tid":9,"args":{"data":{"frames":[`+
			`{"frame":"A"},{"frame":"P"},{"frame":"P1","parent":"P"},{"frame":"P2","parent":"P"}]}}}`,
		ms("mostly nobody", 1, 0, 60, ""), ms("x", 1, 10, 10, "A"),
		ms("a tie", 1, 100, 60, ""), ms("x", 1, 110, 10, "P2"), ms("x", 1, 130, 10, "A"),
		ms("two of a page", 1, 200, 60, ""), ms("x", 1, 210, 20, "A"), ms("x", 1, 230, 15, "P1"), ms("x", 1, 245, 15, "P2"),
		ms("nobody", 1, 300, 60, ""),
		ms("short", 1, 400, 49, "A"),
	), attribution.Rules{Sources: []attribution.Via{attribution.ViaArgs}})
	tasks := func(r *tables.Row) int64 { return r.LongTasks }
	want := map[string]int64{"frame/A": 2, "frame/P2": 1, attribution.Unattributed: 1}
	if diff := cmp.Diff(want, columnOf(a.Table(tables.TableOptions{Type: "Frame"}), tasks)); diff != "" {
		t.Errorf("frames (-want +got):\n%s", diff)
	}
	want = map[string]int64{"frame/A": 1, "frame/P": 2, attribution.Unattributed: 1}
	if diff := cmp.Diff(want, columnOf(a.Table(tables.TableOptions{Type: tables.TypePage}), tasks)); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
	want = map[string]int64{"thread/1@1": 4}
	if diff := cmp.Diff(want, columnOf(a.Table(tables.TableOptions{Type: tables.TypeThread}), tasks)); diff != "" {
		t.Errorf("threads (-want +got):\n%s", diff)
	}
}

// The types of a trace do not depend on the window, and an empty window is recognized.
func TestEmptyWindow(t *testing.T) {
	input := events(x("work", 1, 0, `,"args":{"frame":"F1"}`), x("later", 1, 100, ""))
	for _, test := range []struct {
		from, to timeline.Nanos
		empty    bool
	}{{0, 0, false}, {10_000, 100_000, true}, {9_999, 10_000, false}, {110_000, 0, true}, {100_000, 0, false}} {
		a := attribute(t, input, attribution.Rules{Cost: attribution.CostOptions{Window: attribution.Window{From: test.from, To: test.to}, FromStart: true}})
		for _, when := range []string{"before", "after"} {
			if tables.Of(a.Result).Empty() != test.empty {
				t.Errorf("from %d to %d: empty is %v %s there is a table", test.from, test.to, tables.Of(a.Result).Empty(), when)
			}
			a.Table(tables.TableOptions{Type: "Frame"})
		}
		if want := []string{"Frame", "Page"}; !slices.Equal(tables.Of(a.Result).Types(), want) {
			t.Errorf("from %d to %d: types %q, want %q", test.from, test.to, tables.Of(a.Result).Types(), want)
		}
	}
}

func TestParseBy(t *testing.T) {
	for text, want := range map[string]string{
		"context": "context", "page": "page", "thread": "thread", "page,category": "page,category", "category,page": "page,category",
		"context,process": "process", "type": "type",
	} {
		group, split, err := tables.ParseBy(text)
		if err != nil || tables.ByText(group, split) != want {
			t.Errorf("%q is %s, %v; want %s", text, tables.ByText(group, split), err, want)
		}
	}
	for _, text := range []string{"", "moon", "page,", "page,class", "thread,process"} {
		if _, _, err := tables.ParseBy(text); err == nil {
			t.Errorf("%q gives no error", text)
		}
	}
}

// For every case and all kinds of tables, the self times add up to the busy time, and the JSON form has all rows.
func TestTablesOfCases(t *testing.T) {
	root := recording.Path(t, "conformance/contexts/README.md")
	paths, err := filepath.Glob(filepath.Join(filepath.Dir(root), "*", "*.expected.json"))
	if err != nil || len(paths) < 50 {
		t.Fatalf("%d cases: %v", len(paths), err)
	}
	for _, path := range paths {
		path = strings.TrimSuffix(path, ".expected.json") + ".json"
		if _, err := os.Stat(path); err != nil {
			continue // the results of a recording
		}
		a := attribute(t, recording.Read(t, path), attribution.Rules{})
		for _, typ := range slices.Concat(tables.Of(a.Result).Types(), tables.Of(a.Result).TrackTypes()) {
			for group := tables.GroupNone; group <= tables.GroupType; group++ {
				for split := tables.SplitNone; split <= tables.SplitCategory; split++ {
					table := a.Table(tables.TableOptions{Type: typ, Group: group, Split: split})
					if problem := brokenTable(table); problem != "" {
						t.Errorf("%s: %s by %s: %s", filepath.Base(path), typ, table.By, problem)
					}
				}
			}
		}
	}
}

// brokenTable describes an error in a table or its JSON form, or "" if it finds no error.
func brokenTable(table *tables.Table) string {
	sum, keys := timeline.Nanos(0), map[[2]string]bool{}
	for i := range table.Rows {
		r := &table.Rows[i]
		sum += r.Self
		key := [2]string{r.ID, r.Part}
		if keys[key] {
			return fmt.Sprintf("two rows are of %q", key)
		}
		keys[key] = true
		if r.Total < r.Self {
			return fmt.Sprintf("%s has more of its own than in all", r.ID)
		}
	}
	var read tables.Table
	line, err := table.JSON()
	if err == nil {
		err = json.Unmarshal(line, &read)
	}
	switch {
	case err != nil:
		return err.Error()
	case sum != table.Busy:
		return fmt.Sprintf("the rows add up to %d, the busy time is %d", sum, table.Busy)
	case len(read.Rows) != len(table.Rows):
		return fmt.Sprintf("%d rows, of which %d are in JSON", len(table.Rows), len(read.Rows))
	}
	return ""
}

// A table has no more rows than its limit: contexts beyond it share one row, and the sums are the same as without a limit. The rows
// do not depend on the memory.
func TestRowLimit(t *testing.T) {
	const objects, threads, most = 60, 50, 100
	list := []string{object("0x0", 0, "")}
	for i := 1; i < objects; i++ {
		list = append(list, object(fmt.Sprintf("0x%x", i), 0, fmt.Sprintf("0x%x", i-1)))
	}
	for i := range 3000 {
		tid := 1 + i%threads
		list = append(list, enter("C", fmt.Sprintf("0x%x", i%objects), tid, 20*i), x("work", tid, 20*i+1, ""),
			x("in", tid, 20*i+2, fmt.Sprintf(`,"args":{"chrome_latency_info":{"trace_id":%d}}`, i%7)))
	}
	input := events(list...)
	var before string
	for _, memory := range []int64{timeline.DefaultMemory, 1 << 20} {
		a := attributeIn(t, input, attribution.Rules{}, memory)
		all := a.Table(tables.TableOptions{Type: "C", Split: tables.SplitThread})
		b := tables.Of(a.Result).NewTabulator(tables.TableOptions{Type: "C", Split: tables.SplitThread})
		b.MaxRows = most
		table, err := b.Fill(0)
		if err != nil {
			t.Fatal(err)
		}
		if len(all.Rows) < 10*most || all.Limited != 0 || len(table.Rows) > most+threads+1 || table.Limited == 0 {
			t.Errorf("%d rows, %d costs limited; without limit %d and %d", len(table.Rows), table.Limited, len(all.Rows), all.Limited)
		}
		var self, slices timeline.Nanos
		for _, r := range table.Rows {
			self, slices = self+r.Self, slices+timeline.Nanos(r.Slices)
		}
		if self != table.Busy || table.Busy != all.Busy || table.Unattributed != all.Unattributed || slices != 6000 {
			t.Errorf("%d ns of %d in %d slices, %d unattributed; without limit %d and %d", self, table.Busy, slices, table.Unattributed, all.Busy, all.Unattributed)
		}
		if r := rowOf(table, tables.Others, ""); r == nil || r.Total < r.Self || r.Total > table.Busy || r.Inputs != 7 {
			t.Errorf("others: %+v", r)
		}
		text, err := table.JSON()
		if err != nil {
			t.Fatal(err)
		}
		if before != "" && before != string(text) {
			t.Errorf("with %d bytes of memory there are other rows", memory)
		}
		before = string(text)
	}
}

// Rows that look the same have a fixed order: unattributed work comes before a class of the same name.
func TestRowsThatLookTheSame(t *testing.T) {
	a := attribute(t, events(
		`{"ph":"N","name":"(unattributed)","ts":0,"pid":1,"tid":1,"id":"0x1"}`,
		enter("C", "0x1", 1, 0), x("work", 1, 10, ""), x("work", 2, 10, ""),
	), attribution.Rules{})
	for range 50 { // the order of maps is random
		rows := a.Table(tables.TableOptions{Type: "C", Group: tables.GroupClass}).Rows
		if len(rows) != 2 || rows[0].ID != rows[1].ID || rows[0].Self != rows[1].Self || !rows[0].None {
			t.Fatalf("rows %+v", rows)
		}
	}
}

// The choice of asynchronous slices with their own rows, if there are too many, is deterministic.
func TestRowLimitOfAsyncSlices(t *testing.T) {
	var list []string
	for i := range 20 {
		list = append(list, object(fmt.Sprintf("0x%x", i), 0, ""), enter("C", fmt.Sprintf("0x%x", i), 1, 20*i),
			fmt.Sprintf(`{"ph":"b","cat":"c","name":"a","id":%d,"ts":%d,"pid":1,"tid":1}`, i, 20*i+1),
			fmt.Sprintf(`{"ph":"e","cat":"c","name":"a","id":%d,"ts":%d,"pid":1,"tid":1}`, i, 20*i+10+i),
			fmt.Sprintf(`{"ph":")","name":"C","id":"0x%x","ts":%d,"pid":1,"tid":1}`, i, 20*i+2))
	}
	a := attribute(t, events(list...), attribution.Rules{})
	var before map[string]int64
	for range 20 {
		b := tables.Of(a.Result).NewTabulator(tables.TableOptions{Type: "C"})
		b.MaxRows = 5
		table, err := b.Fill(0)
		if err != nil {
			t.Fatal(err)
		}
		async := columnOf(table, func(r *tables.Row) int64 { return int64(r.Async) })
		if len(async) != 6 || before != nil && !maps.Equal(async, before) {
			t.Fatalf("asynchronous time %v, before %v", async, before)
		}
		before = async
	}
}

// Totals of pages need one or two walks up the tree for each cell, however deep the tree is.
func TestStepsOfTotals(t *testing.T) {
	const depth = 150
	var list []string
	for i := range depth {
		parent := ""
		if i > 0 {
			parent = fmt.Sprintf(`,"parent":"F%d"`, i-1)
		}
		list = append(list, fmt.Sprintf(
			`{"ph":"I","s":"t","name":"FrameCommittedInBrowser","ts":%d,"pid":1,"tid":1,"args":{"data":{"frame":"F%d","url":"http://a/%d","processId":1%s}}}`, i, i, i, parent))
	}
	for i := range depth {
		list = append(list, x("FunctionCall", 2, 1000+20*i, fmt.Sprintf(`,"args":{"data":{"frame":"F%d","isolate":"77"}}`, i)))
	}
	a := attribute(t, events(list...), attribution.Rules{})
	before := a.Contexts.Walks
	page := a.Table(tables.TableOptions{Type: tables.TypePage})
	if steps, cells := int(a.Contexts.Walks-before), a.countCells(t); steps > 5*cells {
		t.Errorf("%d walks for %d cells", steps, cells)
	}
	for id, want := range map[string][2]timeline.Nanos{"frame/F0": {depth, depth}} {
		if row := rowOf(page, id, ""); row == nil || row.Self != want[0]*10_000 || row.Total != want[1]*10_000 {
			t.Errorf("%s: %+v, want %v times 10 µs", id, row, want)
		}
	}
	frames := a.Table(tables.TableOptions{Type: "Frame"})
	for _, i := range []int{0, 1, 77, depth - 1} {
		if row := rowOf(frames, fmt.Sprintf("frame/F%d", i), ""); row.Self != 10_000 || row.Total != timeline.Nanos(depth-i)*10_000 {
			t.Errorf("frame %d: self %d, total %d", i, row.Self, row.Total)
		}
	}
}

// Shortening a table removes the rows that a limit would have removed.
func TestCutRows(t *testing.T) {
	var list []string
	for i := range 12 {
		list = append(list, x("work", 1, 100*i, fmt.Sprintf(`,"args":{"frame":"F%d"}`, i)))
	}
	list = append(list, x("work", 2, 0, ""))
	a := attribute(t, events(list...), attribution.Rules{})
	for _, limit := range []int{1, 3, 5, 11} {
		table := a.Table(tables.TableOptions{Type: "Frame", Limit: 10})
		table.Shorten(limit)
		want := a.Table(tables.TableOptions{Type: "Frame", Limit: min(limit, 10)})
		got, err := table.JSON()
		if err != nil {
			t.Fatal(err)
		}
		if wanted, err := want.JSON(); err != nil || string(got) != string(wanted) {
			t.Errorf("cut to %d rows: %s, want %s, %v", limit, got, wanted, err)
		}
	}
}

// The costs of a type in the attributes of a trace are computed once, however long their texts are.
func TestLongCostText(t *testing.T) {
	var list []string
	for i := range 30 {
		list = append(list, x("work", 1, 100*i, fmt.Sprintf(`,"args":{"frame":"F%d%s"}`, i, strings.Repeat("f", 3000))))
	}
	a := attribute(t, events(list...), attribution.Rules{})
	walks := a.Contexts.Walks
	a.Table(tables.TableOptions{Type: "Frame"})
	once := a.Contexts.Walks - walks
	text, err := writeback.CostText(tables.Of(a.Result), "Frame")
	if err != nil || len(text) > writeback.MaxAttribute {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	if again := a.Contexts.Walks - walks - once; again > once {
		t.Errorf("%d walks up the tree, %d for a table", again, once)
	}
}

// A task is long if it lasts 50 ms or more (attribution.md, Cost).
func TestLongTaskLength(t *testing.T) {
	task := func(ts, dur int, frame string) string {
		return fmt.Sprintf(`{"ph":"X","name":"RunTask","ts":%d,"dur":%d,"pid":1,"tid":1,"args":{"frame":%q}}`, ts, dur, frame)
	}
	a := attribute(t, events(task(0, 50_000, "long"), task(100_000, 49_999, "short")), attribution.Rules{})
	got := map[string]int64{}
	for _, r := range a.Table(tables.TableOptions{Type: "Frame"}).Rows {
		got[r.ID] = r.LongTasks
	}
	if got["frame/long"] != 1 || got["frame/short"] != 0 {
		t.Errorf("long tasks: %v, want one, of frame/long", got)
	}
}
