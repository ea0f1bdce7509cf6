package attribution_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/flowbind"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/readers/chromejson"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/timeline"
)

// expected is the expected result of a case in conformance/contexts; see the README there.
type expected struct {
	Options struct {
		Sources      []string `json:"sources"`
		FlowConflict string   `json:"flow_conflict"`
	} `json:"options"`
	Stamps   [][2]json.RawMessage `json:"stamps"`
	Bindings []struct {
		Event         int    `json:"event"`
		Type          string `json:"type"`
		SnapshotEvent *int   `json:"snapshotEvent"`
	} `json:"bindings"`
	Tree []struct {
		Node    string   `json:"node"`
		Members []string `json:"members"`
		Parent  *string  `json:"parent"`
	} `json:"tree"`
	Cost   []expectedCost `json:"cost"`
	CPU    []expectedCPU  `json:"cpu"`
	Totals []struct {
		Type    string           `json:"type"`
		TotalUs map[string]int64 `json:"totalUs"`
	} `json:"totals"`
	Requests []struct {
		ID       string     `json:"id"`
		Contexts [][]string `json:"contexts"`
		Bytes    int64      `json:"bytes"`
		StartUs  int64      `json:"startUs"`
		EndUs    int64      `json:"endUs"`
	} `json:"requests"`
	Inputs []struct {
		ID        string `json:"id"`
		Type      string `json:"type"`
		StartUs   int64  `json:"startUs"`
		LatencyUs int64  `json:"latencyUs"`
	} `json:"inputs"`
	Rows       *int `json:"rows"`
	Identities []struct {
		Event int    `json:"event"`
		Scope string `json:"scope"`
		ID    string `json:"id"`
		PID   *int64 `json:"pid"`
	} `json:"identities"`
	Selection []struct {
		Row       string `json:"row"`
		Snapshots []int  `json:"snapshots"`
		Slices    []int  `json:"slices"`
	} `json:"selection"`
	Counters map[string]uint64 `json:"counters"`
}

type expectedCost struct {
	Type    string `json:"type"`
	PID     int64  `json:"pid"`
	TID     int64  `json:"tid"`
	Options struct {
		From int64  `json:"from"`
		To   int64  `json:"to"`
		Cost string `json:"cost"`
	} `json:"options"`
	SelfUs map[string]int64 `json:"selfUs"`
}

type expectedCPU struct {
	Type             string           `json:"type"`
	PID              int64            `json:"pid"`
	TID              int64            `json:"tid"`
	CPUNs            map[string]int64 `json:"cpuNs"`
	WallWithoutCPUUs int64            `json:"wallWithoutCpuUs"`
}

// attributed is an input after all passes.
type attributed struct {
	*attribution.Result
	t        *timeline.Timeline
	problems *problem.Log
}

// prepared is a nested timeline with resolved flows, the input of attribution. It is closed when the test ends.
type prepared struct {
	t        *timeline.Timeline
	problems *problem.Log
}

// prepare finishes a Builder.
func prepare(tb testing.TB, b *timeline.Builder, log *problem.Log) *prepared {
	tb.Helper()
	t, err := b.Finish(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { t.Close() })
	if err := flowbind.NestAndTrace(context.Background(), t); err != nil {
		tb.Fatal(err)
	}
	return &prepared{t, log}
}

// readChrome reads a Chrome JSON trace with a memory budget in bytes. Errors come from the input.
func readChrome(tb testing.TB, input []byte, memory int64) (*prepared, error) {
	tb.Helper()
	log := new(problem.Log)
	b := timeline.NewBuilder(timeline.Options{Problems: log, TempDir: tb.TempDir(), Memory: memory})
	if err := chromejson.Read(context.Background(), bytes.NewReader(input), b, chromejson.Options{Options: readers.Options{Problems: log}}); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return prepare(tb, b, log), nil
}

// attribute attributes a timeline.
func (p *prepared) attribute(tb testing.TB, opts attribution.Rules) *attributed {
	tb.Helper()
	r, err := attribution.Run(context.Background(), p.t, opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { r.Close() })
	return &attributed{r, p.t, p.problems}
}

// attribute reads a Chrome JSON trace and attributes it.
func attribute(tb testing.TB, input []byte, opts attribution.Rules) *attributed {
	tb.Helper()
	return attributeIn(tb, input, opts, timeline.DefaultMemory)
}

// attributeIn is like attribute, with a memory budget in bytes.
func attributeIn(tb testing.TB, input []byte, opts attribution.Rules, memory int64) *attributed {
	tb.Helper()
	l, err := readChrome(tb, input, memory)
	if err != nil {
		tb.Fatal(err)
	}
	return l.attribute(tb, opts)
}

// Table is like Result.Table, without the error, which only a disk could cause.
func (a *attributed) Table(opts tables.TableOptions) *tables.Table {
	t, err := tables.Of(a.Result).Table(opts)
	if err != nil {
		panic(err)
	}
	return t
}

// options returns the options of a case.
func (e *expected) options(tb testing.TB) (opts attribution.Rules) {
	for _, name := range e.Options.Sources {
		i := slices.Index(attribution.ViaNames[:], name)
		if i < 0 {
			tb.Fatalf("source %q", name)
		}
		opts.Sources = append(opts.Sources, attribution.Via(i))
	}
	switch e.Options.FlowConflict {
	case "keep":
		opts.FlowConflict = attribution.KeepActive
	case "lca":
		opts.FlowConflict = attribution.CommonAncestor
	}
	return opts
}

// identity returns the name of a context in the cases: scope/id, with @pid if it is local.
func (a *attributed) identity(n attribution.NodeID) string {
	if n == 0 {
		return "(unattributed)"
	}
	return a.Contexts.Nodes[n].Identity.String()
}

// intervals returns the intervals for the tracks, in order. It may be called only once.
func (a *attributed) intervals(t *testing.T) (list []attribution.Interval) {
	t.Helper()
	for {
		var i attribution.Interval
		ok, err := a.Intervals.Sorted.Next(&i)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return list
		}
		list = append(list, i)
	}
}

// stampsByEvent returns the sets of all slices and instants, by the event that began them.
func (a *attributed) stampsByEvent(tb testing.TB) map[int]attribution.SetID {
	tb.Helper()
	out := map[int]attribution.SetID{}
	var s attribution.EventSet
	for c := a.EventSets.From(0); ; {
		ok, err := c.Next(&s)
		if err != nil {
			tb.Fatal(err)
		}
		if !ok {
			return out
		}
		out[int(s.Event)] = s.Set
	}
}

// show formats a set as in the cases.
func (a *attributed) show(set attribution.SetID, full bool) []string {
	var out []string
	for _, id := range a.Sets.Lists.At(uint32(set)) {
		e := a.Sets.Members[id]
		n := a.Contexts.Nodes[e.Node]
		line := fmt.Sprintf("%s %s %s", a.Contexts.Types[e.Type], n.Scope, n.ID)
		if e.Node == 0 {
			line = a.Contexts.Types[e.Type] + " null null"
		}
		if full {
			line += fmt.Sprintf(" %v %d", e.Via, e.Hops)
			var candidates []string
			for _, c := range a.Sets.Candidates.At(uint32(e.Candidates)) {
				candidates = append(candidates, a.Contexts.Nodes[c].Scope+"/"+a.Contexts.Nodes[c].ID)
			}
			slices.Sort(candidates)
			line += " " + strings.Join(candidates, ",")
		}
		out = append(out, strings.TrimSpace(line))
	}
	slices.Sort(out)
	return out
}

func wantedSet(tb testing.TB, raw json.RawMessage, full bool) []string {
	tb.Helper()
	var list [][]json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		tb.Fatal(err)
	}
	var out []string
	for _, c := range list {
		var parts []string
		for i, p := range c {
			if i == 5 {
				var candidates [][]string
				if err := json.Unmarshal(p, &candidates); err != nil {
					tb.Fatal(err)
				}
				var names []string
				for _, c := range candidates {
					names = append(names, strings.Join(c, "/"))
				}
				slices.Sort(names)
				parts = append(parts, strings.Join(names, ","))
				continue
			}
			parts = append(parts, strings.Trim(string(p), `"`))
		}
		out = append(out, strings.Join(parts, " "))
	}
	slices.Sort(out)
	return out
}

func TestCases(t *testing.T) {
	root := recording.Path(t, "conformance/contexts/README.md")
	paths, err := filepath.Glob(filepath.Join(filepath.Dir(root), "*", "*.expected.json"))
	if err != nil || len(paths) < 50 {
		t.Fatalf("%d cases: %v", len(paths), err)
	}
	sort.Strings(paths)
	for _, path := range paths {
		folder := filepath.Base(filepath.Dir(path))
		if folder == "real" || folder == "fuzz" {
			continue
		}
		name := strings.TrimSuffix(filepath.Base(path), ".expected.json")
		t.Run(folder+"/"+name, func(t *testing.T) {
			var want expected
			readJSON(t, path, &want)
			input, err := os.ReadFile(strings.TrimSuffix(path, ".expected.json") + ".json")
			if err != nil {
				t.Fatal(err)
			}
			checkCase(t, input, &want)
		})
	}
}

func readJSON(tb testing.TB, path string, v any) {
	tb.Helper()
	if err := json.Unmarshal(recording.Read(tb, path), v); err != nil {
		tb.Fatalf("%s: %v", path, err)
	}
}

func checkCase(t *testing.T, input []byte, want *expected) {
	opts := want.options(t)
	a := attribute(t, input, opts)
	stamps := a.stampsByEvent(t)
	for _, s := range want.Stamps {
		var event int
		if err := json.Unmarshal(s[0], &event); err != nil {
			t.Fatal(err)
		}
		if got, want := a.show(stamps[event], true), wantedSet(t, s[1], true); !slices.Equal(got, want) {
			t.Errorf("event %d: contexts\n %q, want\n %q", event, got, want)
		}
	}
	a.checkBindings(t, want, stamps)
	a.checkTree(t, want)
	a.checkTable(t, want)
	a.checkSelection(t, want, stamps)
	for i := range want.Cost {
		c := &want.Cost[i]
		o := opts
		o.Cost = attribution.CostOptions{
			Window:  attribution.Window{From: timeline.Nanos(c.Options.From) * 1000, To: timeline.Nanos(c.Options.To) * 1000},
			AtBegin: c.Options.Cost == "begin",
		}
		b := a
		if o.Cost.Window != opts.Cost.Window || o.Cost.AtBegin != opts.Cost.AtBegin {
			b = attribute(t, input, o)
		}
		got := map[string]int64{}
		for node, row := range b.selfOf(c.Type, c.PID, c.TID) {
			if row.wall != 0 {
				got[node] = int64(row.wall) / 1000
			}
		}
		if !maps.Equal(got, c.SelfUs) {
			t.Errorf("cost of %s on %d/%d with %+v: %v, want %v", c.Type, c.PID, c.TID, c.Options, got, c.SelfUs)
		}
	}
	for _, c := range want.CPU {
		got, without := map[string]int64{}, int64(0)
		for node, row := range a.selfOf(c.Type, c.PID, c.TID) {
			got[node] = int64(row.cpu)
			without += int64(row.withoutCPU) / 1000
		}
		if !maps.Equal(got, c.CPUNs) || without != c.WallWithoutCPUUs {
			t.Errorf("CPU time of %s: %v and %d µs without, want %v and %d", c.Type, got, without, c.CPUNs, c.WallWithoutCPUUs)
		}
	}
	a.checkLists(t, want)
	for name, n := range want.Counters {
		if got := countOf(t, a.problems, name); got != n {
			t.Errorf("%s: counted %d times, want %d", name, got, n)
		}
	}
}

func countOf(tb testing.TB, log *problem.Log, name string) uint64 {
	for _, k := range problem.Kinds() {
		if k.Name() == name {
			return log.Count(k)
		}
	}
	tb.Fatalf("no problem is named %s", name)
	return 0
}

// checkBindings compares the snapshots to which entries are bound.
func (a *attributed) checkBindings(t *testing.T, want *expected, stamps map[int]attribution.SetID) {
	for _, b := range want.Bindings {
		e := a.Sets.Of(stamps[b.Event], a.Contexts.TypeOf([]byte(b.Type)))
		if e == 0 {
			t.Errorf("event %d has no %s", b.Event, b.Type)
			continue
		}
		snapshot := a.Sets.Members[e].Snapshot
		switch {
		case b.SnapshotEvent == nil:
			if snapshot != 0 {
				t.Errorf("event %d is bound to the snapshot of event %d, want none", b.Event, a.Contexts.Snapshots[snapshot].Event)
			}
		case snapshot == 0:
			t.Errorf("event %d is bound to no snapshot, want that of event %d", b.Event, *b.SnapshotEvent)
		case int(a.Contexts.Snapshots[snapshot].Event) != *b.SnapshotEvent:
			t.Errorf("event %d is bound to the snapshot of event %d, want %d", b.Event, a.Contexts.Snapshots[snapshot].Event, *b.SnapshotEvent)
		}
	}
}

// checkTree compares the logical nodes at the end of the trace.
func (a *attributed) checkTree(t *testing.T, want *expected) {
	if want.Tree == nil {
		return
	}
	got := map[string]string{}
	for n := range a.Contexts.Nodes {
		if node := attribution.NodeID(n); node != 0 && a.Contexts.Nodes[n].Context && a.Contexts.LogicalOf(node) == node {
			var members []string
			for _, m := range a.Contexts.MembersOf(node) {
				members = append(members, a.identity(m))
			}
			parent := "none"
			if p := a.Contexts.Parent(node, attribution.LastTime); p != 0 {
				parent = a.identity(p)
			}
			got[a.identity(node)] = fmt.Sprint(members, " below ", parent)
		}
	}
	wanted := map[string]string{}
	for _, n := range want.Tree {
		parent := "none"
		if n.Parent != nil {
			parent = *n.Parent
		}
		wanted[n.Node] = fmt.Sprint(n.Members, " below ", parent)
	}
	if !maps.Equal(got, wanted) {
		t.Errorf("tree\n %v, want\n %v", got, wanted)
	}
}

// checkTable compares totals and the number of rows.
func (a *attributed) checkTable(t *testing.T, want *expected) {
	for _, w := range want.Totals {
		got := map[string]int64{}
		for _, row := range a.Table(tables.TableOptions{Type: w.Type}).Rows {
			if row.Total != 0 {
				got[row.ID] = int64(row.Total) / 1000
			}
		}
		if !maps.Equal(got, w.TotalUs) {
			t.Errorf("totals of %s: %v, want %v", w.Type, got, w.TotalUs)
		}
	}
	if want.Rows != nil {
		rows := a.Table(tables.TableOptions{Type: want.Cost[0].Type}).Rows
		rows = slices.DeleteFunc(rows, func(r tables.Row) bool { return r.ID == attribution.Unattributed })
		if len(rows) != *want.Rows {
			t.Errorf("%d rows, want %d: %+v", len(rows), *want.Rows, rows)
		}
	}
}

// checkSelection compares the snapshots and slices of a context.
func (a *attributed) checkSelection(t *testing.T, want *expected, stamps map[int]attribution.SetID) {
	for _, w := range want.Selection {
		var snapshots, events []int
		for i := range a.Contexts.Snapshots[1:] {
			if s := &a.Contexts.Snapshots[i+1]; a.identity(a.Contexts.LogicalOf(s.Node)) == w.Row {
				snapshots = append(snapshots, int(s.Event))
			}
		}
		for event, set := range stamps {
			for _, id := range a.Sets.Lists.At(uint32(set)) {
				if a.identity(a.Contexts.LogicalOf(a.Sets.Members[id].Node)) == w.Row {
					events = append(events, event)
				}
			}
		}
		slices.Sort(snapshots)
		slices.Sort(events)
		if !slices.Equal(snapshots, w.Snapshots) || !slices.Equal(events, w.Slices) {
			t.Errorf("%s selects snapshots %v and slices %v, want %v and %v", w.Row, snapshots, events, w.Snapshots, w.Slices)
		}
	}
	for _, w := range want.Identities {
		pid := attribution.Global
		if w.PID != nil {
			pid = *w.PID
		}
		// Asynchronous slices, which are also in the table, have ids from package timeline.
		if _, ok := a.Contexts.Find(w.Scope, w.ID, pid); !ok && w.Event != 0 && w.Event != 2 {
			t.Errorf("event %d: there is no %s/%s of process %d", w.Event, w.Scope, w.ID, pid)
		}
	}
}

// checkLists compares requests and inputs.
func (a *attributed) checkLists(t *testing.T, want *expected) {
	for _, w := range want.Requests {
		i := slices.IndexFunc(a.Requests, func(r attribution.Request) bool { return r.ID == w.ID })
		if i < 0 {
			t.Errorf("no request %s", w.ID)
			continue
		}
		r := &a.Requests[i]
		var contexts []string
		for _, c := range w.Contexts {
			contexts = append(contexts, strings.Join(c, " "))
		}
		slices.Sort(contexts)
		if got := a.show(r.Set, false); !slices.Equal(got, contexts) || r.Bytes != w.Bytes || int64(r.Start) != w.StartUs*1000 || int64(r.End) != w.EndUs*1000 {
			t.Errorf("request %s: %v, %d bytes, %d to %d; want %+v", r.ID, got, r.Bytes, r.Start, r.End, w)
		}
	}
	for _, w := range want.Inputs {
		i := slices.IndexFunc(a.Inputs, func(in attribution.Input) bool { return in.ID.ID == w.ID })
		if i < 0 {
			t.Errorf("no input %s", w.ID)
			continue
		}
		if in := &a.Inputs[i]; in.Type != w.Type || int64(in.Start) != w.StartUs*1000 || int64(in.Latency) != w.LatencyUs*1000 {
			t.Errorf("input %s: %+v, want %+v", w.ID, in, w)
		}
	}
}

// selfCost is the cost of a context on one thread.
type selfCost struct{ wall, cpu, withoutCPU timeline.Nanos }

// selfOf returns the costs of the contexts of a type on a thread, by logical node.
func (a *attributed) selfOf(typ string, pid, tid int64) map[string]selfCost {
	out := map[string]selfCost{}
	id := a.Contexts.ByType[typ]
	err := a.Costs.Cells.Each(func(c *attribution.Cell) {
		thread := a.t.Track(c.Thread)
		if int64(thread.PID) != pid || thread.TID != tid {
			return
		}
		node := attribution.NodeID(0)
		if e := a.Sets.Of(c.Set, id); e != 0 {
			node = a.Contexts.LogicalOf(a.Sets.Members[e].Node)
		}
		sum := out[a.identity(node)]
		sum.wall += c.Wall
		sum.cpu += c.Cpu
		sum.withoutCPU += c.WithoutCPU
		out[a.identity(node)] = sum
	})
	if err != nil {
		panic(err) // only the disk can fail
	}
	return out
}
