package outside_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/weft-trace/weft/attribution"
	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/flow"
	"github.com/weft-trace/weft/pftrace"
	"github.com/weft-trace/weft/trace"
)

// Another module creates a trace, writes it, and reads it back.
func TestMakeWriteRead(t *testing.T) {
	b := &trace.Builder{TempDir: t.TempDir()}
	build := b.Process(100, "build")
	main := b.Thread(build, 100, "main")
	add := func(ev trace.Event) {
		t.Helper()
		if err := b.Add(ev); err != nil {
			t.Fatal(err)
		}
	}
	add(trace.Event{
		Kind: trace.Slice, Track: main, Time: 1 * trace.Second, Duration: 5 * trace.Second, Name: "compile",
		Args: trace.NewDict(trace.NewArg("file", "a.go"), trace.NewArg("lines", 120)), FlowsOut: []trace.FlowID{7},
	})
	add(trace.Event{Kind: trace.Instant, Track: main, Time: 2 * trace.Second, Name: "cache miss"})
	add(trace.Event{
		Kind: trace.Slice, Track: main, Time: 7 * trace.Second, Duration: 1 * trace.Second, Name: "link", FlowsIn: []trace.FlowIn{{ID: 7}},
	})
	made, err := b.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer made.Close()
	var out bytes.Buffer
	if err := pftrace.Write(t.Context(), &out, made, pftrace.Options{}); err != nil {
		t.Fatal(err)
	}
	checked, err := pftrace.Verify(t.Context(), bytes.NewReader(out.Bytes()), pftrace.VerifyOptions{Strict: true})
	if err != nil || !checked.OK() {
		t.Fatalf("findings %+v, error %v", checked.Findings, err)
	}

	tr, err := convert.Open(t.Context(), &out, convert.Options{TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	var got []string
	names := map[trace.EventID]string{}
	for ev, err := range tr.Events() {
		if err != nil {
			t.Fatal(err)
		}
		names[ev.ID] = ev.Name
		line := fmt.Sprintf("%v %s on %s, depth %d, %v", ev.Kind, ev.Name, strings.Join(tr.Track(ev.Track).Path, "/"), ev.Depth, ev.Args)
		for _, in := range ev.FlowsIn {
			line += " after " + names[in.From]
		}
		got = append(got, line)
	}
	want := []string{
		`slice compile on build/main, depth 0, {"file":"a.go","lines":120}`,
		`instant cache miss on build/main, depth 1, {}`,
		`slice link on build/main, depth 0, {} after compile`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A Builder rejects input that it cannot use.
func TestBuilderRefuses(t *testing.T) {
	b := new(trace.Builder)
	thread := b.Thread(b.Process(1, ""), 2, "")
	counter := b.Counter(0, "queue", "count")
	for name, ev := range map[string]trace.Event{
		"no track":            {Kind: trace.Slice, Name: "a"},
		"unknown track":       {Kind: trace.Slice, Track: 99},
		"no kind":             {Track: thread},
		"before 0":            {Kind: trace.Instant, Track: thread, Time: -1},
		"negative duration":   {Kind: trace.Slice, Track: thread, Duration: -1},
		"slice on a counter":  {Kind: trace.Slice, Track: counter},
		"counter on a thread": {Kind: trace.Counter, Track: thread, Value: trace.NewValue(1)},
		"counter of text":     {Kind: trace.Counter, Track: counter, Value: trace.NewValue("1")},
	} {
		if err := b.Add(ev); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if tr, err := b.Finish(t.Context()); err == nil {
		tr.Close()
		t.Error("Finish does not return the first error of Add")
	}
}

// Another module follows a flow in a trace that it read, and attributes the work.
func TestFlowsAndContexts(t *testing.T) {
	const input = `[
{"ph":"X","pid":1,"tid":2,"ts":10,"dur":50,"name":"FunctionCall","args":{"data":{"frame":"F"}},"bind_id":"0x7","flow_out":true},
{"ph":"X","pid":1,"tid":3,"ts":70,"dur":5,"name":"reply","bind_id":"0x7","flow_in":true}]`
	tr, err := convert.Open(t.Context(), strings.NewReader(input), convert.Options{TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	result, err := attribution.Run(t.Context(), tr, attribution.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer result.Close()
	index, err := flow.NewIndex(t.Context(), tr)
	if err != nil {
		t.Fatal(err)
	}
	defer index.Close()

	names := map[trace.EventID]string{}
	var got []string
	for ev, err := range tr.Events() {
		if err != nil {
			t.Fatal(err)
		}
		names[ev.ID] = ev.Name
		contexts, err := result.ContextsOf(ev.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range contexts {
			got = append(got, fmt.Sprintf("%s: %s %v, %v", ev.Name, c.Type, c.ID, c.Via))
		}
	}
	flows, err := index.Find("0x7", 20_000)
	if err != nil || len(flows) != 1 {
		t.Fatalf("%d flows, want 1; error %v", len(flows), err)
	}
	for m, err := range index.Members(flows[0]) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("member %d: %s", m.N, names[m.Event]))
	}
	want := []string{
		"FunctionCall: Frame frame/F, args", "reply: Frame frame/F, flow", "member 1: FunctionCall", "member 2: reply",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	table, err := result.Table(attribution.TableOptions{Type: "Frame"})
	if err != nil || len(table.Rows) == 0 || table.Rows[0].Self != 55*trace.Microsecond {
		t.Errorf("table %+v, error %v; want 55 us of the frame", table, err)
	}
}

// Another module copies a trace of several recordings: contexts with the same id in different recordings stay separate.
func TestCopyOfSeveralRecordings(t *testing.T) {
	b := &trace.Builder{TempDir: t.TempDir()}
	for pid, recording := range []string{"", "b.json", "c.json"} {
		b.IDSpace = recording
		main := b.Thread(b.Process(int64(pid+1), "Renderer"), 10, "main")
		if err := b.Add(trace.Event{
			Kind: trace.Slice, Track: main, Time: trace.Second, Duration: trace.Second, Name: "FunctionCall",
			Args: trace.NewDict(trace.NewArg("data", trace.NewDict(trace.NewArg("frame", "F")))),
		}); err != nil {
			t.Fatal(err)
		}
	}
	first, err := b.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	var written bytes.Buffer
	if err := pftrace.Write(t.Context(), &written, first, pftrace.Options{}); err != nil {
		t.Fatal(err)
	}
	read, err := convert.Open(t.Context(), &written, convert.Options{TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()

	b = &trace.Builder{TempDir: t.TempDir()}
	copies := map[trace.TrackID]trace.TrackID{}
	for tr := range read.Tracks() {
		switch b.IDSpace = tr.IDSpace; tr.Kind {
		case trace.ProcessTrack:
			copies[tr.ID] = b.Process(tr.PID, tr.Name)
		case trace.ThreadTrack:
			copies[tr.ID] = b.Thread(copies[tr.Parent], tr.TID, tr.Name)
		}
	}
	for ev, err := range read.Events() {
		if err != nil {
			t.Fatal(err)
		}
		out := *ev
		out.Track = copies[ev.Track]
		if err := b.Add(out); err != nil {
			t.Fatal(err)
		}
	}
	second, err := b.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	for i, tr := range []*trace.Trace{first, read, second} {
		result, err := attribution.Run(t.Context(), tr, attribution.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for ev, err := range tr.Events() {
			if err != nil {
				t.Fatal(err)
			}
			contexts, err := result.ContextsOf(ev.ID)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range contexts {
				got = append(got, fmt.Sprint(c.ID))
			}
		}
		result.Close()
		if want := "frame/F frame/F@b.json frame/F@c.json"; strings.Join(got, " ") != want {
			t.Errorf("trace %d: %q, want %q", i, got, want)
		}
	}
}
