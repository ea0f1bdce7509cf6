package convert_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/gen/perfetto/protos"
	engine "github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/flowindex"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/timeline"
)

// renamings returns the renamings to test: random names, all different names, and the names of weft's tracks.
func renamings() map[string]func(old string) string {
	r := rand.New(rand.NewPCG(1, 2))
	n := 0
	return map[string]func(string) string{
		"random":      func(string) string { return fmt.Sprintf("%x", r.Uint64()) },
		"like weft's": func(string) string { n++; return weftNames[n%len(weftNames)] },
	}
}

// weftNames lists names of weft's own tracks.
var weftNames = []string{
	"Overlapping slices", "GPU objects", "Global instants", "Process instants", "Other events", "Clock sync", "Thread state", "JS samples",
	"V8 state", "Browser activity", "Sample category", "Sample page", "Network", "Allocations", "JS Tracer", "Profiler paused",
	"Context: Frame", "Contexts", "(contexts and states)",
}

// meanings lists names that have a meaning in the specifications and that tests therefore keep: they identify Chrome's main
// process and threads (profile-calls.md 2), and Firefox's main threads name their process (firefox.md 2).
var meanings = []string{"Browser", "CrBrowserMain", "CrRendererMain", "GeckoMain"}

// unlessMeaning returns a renaming that keeps empty names and names with a meaning.
func unlessMeaning(give func(string) string) func(string) string {
	return func(old string) string {
		if old == "" || slices.Contains(meanings, old) {
			return old
		}
		return give(old)
	}
}

// TestRenamed renames every track, process and thread in converted recordings: attribution, reports and flows stay the same
// except for these names. In weft's own traces, marks carry the meaning, so all names are changed.
func TestRenamed(t *testing.T) {
	forEachRecording(t, func(t *testing.T, data []byte) {
		checkRenamed(t, converted(t, data), renamedTrace)
	})
}

// TestRenamedForeign is like TestRenamed, for traces from another producer that uses weft's track names: without weft's marks,
// they are treated like any other names.
func TestRenamedForeign(t *testing.T) {
	forEachRecording(t, func(t *testing.T, data []byte) {
		foreign := withoutMarks(t, converted(t, data))
		checkRenamed(t, foreign, func(t *testing.T, data []byte, give func(string) string) []byte {
			return renamedTrace(t, data, unlessMeaning(give))
		})
	})
}

func unpacked(t *testing.T, data []byte) []byte {
	t.Helper()
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return data
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if data, err = io.ReadAll(r); err != nil {
		t.Fatal(err)
	}
	return data
}

// checkRenamed compares the answers about a trace before and after each renaming.
func checkRenamed(t *testing.T, data []byte, rename func(*testing.T, []byte, func(string) string) []byte) {
	t.Helper()
	if bytes.Equal(data, rename(t, data, func(string) string { return "?" })) {
		t.Skip("nothing has a name")
	}
	want := answersOf(t, data)
	for name, give := range renamings() {
		if diff := cmp.Diff(want, answersOf(t, rename(t, data, give))); diff != "" {
			t.Errorf("%s: answers with old names (-) and new ones (+) differ:\n%.3000s", name, diff)
		}
	}
}

func converted(t *testing.T, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	if _, err := convert.Convert(context.Background(), &out, bytes.NewReader(data), convert.Options{TempDir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// editTrace changes the packets of a Perfetto trace.
func editTrace(t *testing.T, trace []byte, edit func(p *protos.TracePacket)) []byte {
	t.Helper()
	var all protos.Trace
	if err := proto.Unmarshal(trace, &all); err != nil {
		t.Fatal(err)
	}
	for _, p := range all.Packet {
		edit(p)
	}
	out, err := proto.Marshal(&all)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// renamedTrace renames all tracks, processes and threads in a Perfetto trace, and replaces the texts of attributes that describe
// Firefox's pages and threads.
func renamedTrace(t *testing.T, trace []byte, name func(string) string) []byte {
	t.Helper()
	return editTrace(t, trace, func(p *protos.TracePacket) {
		for _, a := range p.GetTraceAttributes().GetAttribute() {
			if strings.HasPrefix(a.GetKey(), "firefox.") {
				a.Value = &protos.TraceAttributes_Attribute_StringValue{StringValue: name(a.GetStringValue())}
			}
		}
		d := p.GetTrackDescriptor()
		if d == nil || d.Counter != nil { // only the names of counters identify their values
			return
		}
		if d.Process != nil && d.Process.ProcessName != nil {
			d.Process.ProcessName = proto.String(name(d.Process.GetProcessName()))
		}
		if d.Thread != nil && d.Thread.ThreadName != nil {
			d.Thread.ThreadName = proto.String(name(d.Thread.GetThreadName()))
		}
		if d.Thread != nil && d.Description != nil { // facts for viewers
			d.Description = proto.String(name(d.GetDescription()))
		}
		if d.GetName() != "" {
			d.StaticOrDynamicName = &protos.TrackDescriptor_Name{Name: name(d.GetName())}
		}
	})
}

// withoutMarks removes the marks from a trace written by weft.
func withoutMarks(t *testing.T, trace []byte) []byte {
	t.Helper()
	return editTrace(t, trace, func(p *protos.TracePacket) {
		if d := p.GetTrackDescriptor(); d != nil {
			d.WeftMark = nil
		}
		if a := p.GetTraceAttributes(); a != nil {
			a.WeftPages = nil
			a.Attribute = slices.DeleteFunc(a.Attribute, func(a *protos.TraceAttributes_Attribute) bool { return strings.HasPrefix(a.GetKey(), "weft.") })
		}
	})
}

// answers holds weft's answers about a trace, without the names of tracks, processes and threads; rows that are ordered by these
// names are sorted.
type answers struct {
	Contexts  []string // contexts of slices and instants, by ordinal
	Costs     map[string][]string
	Inputs    []string
	Requests  []string
	LongTasks []engine.LongTask
	Reports   map[string][]string
	Flows     []string
}

func answersOf(t *testing.T, data []byte) (a answers) {
	t.Helper()
	ctx := context.Background()
	tr, err := convert.Open(ctx, bytes.NewReader(data), convert.Options{TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	tl := timeline.Of(tr)
	rules, err := engine.RulesOf(&engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	res, err := engine.Run(ctx, tl, rules)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Close()
	err = tl.Walk(ctx, func(it *timeline.Item) error {
		if it.Kind != timeline.ItemBegin && it.Kind != timeline.ItemInstant {
			return nil
		}
		set, err := res.Of(it.Ordinal)
		if err != nil || set == 0 {
			return err
		}
		contexts := res.Set(set)
		for i := range contexts {
			if contexts[i].ID.Scope == engine.ScopeIsolate {
				contexts[i].Name = "" // a process or thread name
			}
		}
		a.Contexts = append(a.Contexts, fmt.Sprintf("%d %d %s: %v", it.Ordinal, it.TS, it.Name, contexts))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	a.LongTasks = res.LongTasks()
	for _, in := range res.Inputs {
		a.Inputs = append(a.Inputs, fmt.Sprintf("%+v", in))
	}
	for _, q := range res.Requests {
		a.Requests = append(a.Requests, fmt.Sprintf("%+v", q))
	}
	a.Costs = costsOf(t, res)
	a.Reports = reportsOf(t, tl)
	index, err := flowindex.NewIndex(ctx, tl)
	if err != nil {
		t.Fatal(err)
	}
	defer index.Close()
	err = index.Walk(ctx, func(f flowindex.Flow, first flowindex.Member, label flowindex.Label) error {
		a.Flows = append(a.Flows, fmt.Sprintf("%+v %+v %+v", f, first, label))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// costsOf returns the rows of all cost tables.
func costsOf(t *testing.T, res *engine.Result) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	made := tables.Of(res)
	for _, typ := range slices.Concat(made.Types(), made.TrackTypes()) {
		for _, by := range []string{"context", "page", "class", "entity", "type", "process", "thread", "category"} {
			group, split, err := tables.ParseBy(by)
			if err != nil {
				t.Fatal(err)
			}
			if !made.CanGroup(typ, group) {
				continue
			}
			table, err := made.Table(tables.TableOptions{Type: typ, Group: group, Split: split})
			if err != nil {
				continue // tracks cannot be divided by track
			}
			var rows []string
			for _, row := range table.Rows {
				if slices.Contains(made.TrackTypes(), typ) {
					row.ID, row.Name = idsOf(row.ID), idsOf(row.Name)
				}
				if strings.HasPrefix(row.ID, engine.ScopeIsolate+"/") {
					row.Name = ""
				}
				if by == "process" || by == "thread" {
					row.Part = idsOf(row.Part)
				}
				rows = append(rows, jsonText(t, row))
			}
			slices.Sort(rows)
			all[typ+" by "+by] = append(rows, fmt.Sprint(table.Busy, table.Unattributed, table.Omitted, table.Limited))
		}
	}
	return all
}

// idsOf returns the ids of a process or thread, which follow its name.
func idsOf(name string) string { return name[strings.LastIndexByte(name, ' ')+1:] }

// reportsOf returns the rows of all reports.
func reportsOf(t *testing.T, tl *timeline.Timeline) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	profiles, err := report.Collect(t.Context(), tl, nil)
	if err != nil {
		t.Fatal(err)
	}
	samples, err := profiles.Samples(report.Options{Bucket: 100_000_000})
	if err != nil {
		t.Fatal(err)
	}
	for _, th := range samples.Threads {
		th.Process, th.Thread = "", ""
		all["samples"] = append(all["samples"], jsonText(t, th))
	}
	gc, err := profiles.GC(report.Options{Bucket: 100_000_000})
	if err != nil {
		t.Fatal(err)
	}
	for _, th := range gc.Threads {
		th.Process, th.Thread = "", ""
		all["gc"] = append(all["gc"], jsonText(t, th))
	}
	for _, th := range profiles.LayoutThrashing(report.Options{}).Threads {
		th.Process, th.Thread = "", ""
		all["layout-thrashing"] = append(all["layout-thrashing"], jsonText(t, th))
	}
	layout, err := report.CollectLayout(t.Context(), tl, report.LayoutOptions{Paint: report.PaintOptions()})
	if err != nil {
		t.Fatal(err)
	}
	all["layout-count"] = []string{jsonText(t, layout.Counts())}
	all["layout-time"] = []string{jsonText(t, layout.Times(layout.DefaultMode()))}
	all["layout-phases"] = []string{jsonText(t, layout.Phases()), jsonText(t, layout.Nesting())}
	for _, sampled := range []bool{false, true} {
		calls, err := report.CountCalls(t.Context(), tl, report.CallOptions{Sampled: sampled})
		if err != nil {
			t.Fatal(err)
		}
		all["js-funcalls"] = append(all["js-funcalls"], jsonText(t, calls))
	}
	for _, rows := range all {
		slices.Sort(rows)
	}
	return all
}

func jsonText(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
