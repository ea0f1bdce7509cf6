package convert_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/pftrace"
	"github.com/weft-trace/weft/trace"
)

// shortInput is the maximum size of recordings that tests use in several forms.
const shortInput = 128 << 10

// forEachRecording runs a test on every undamaged recording.
func forEachRecording(t *testing.T, fn func(t *testing.T, data []byte)) {
	for _, f := range recordings(t) {
		if !f.Damaged() {
			runRecording(t, f, fn)
		}
	}
}

// forEachInput runs a test on every recording, including damaged ones.
func forEachInput(t *testing.T, fn func(t *testing.T, data []byte)) {
	for _, f := range recordings(t) {
		runRecording(t, f, fn)
	}
}

// damaged reports whether a test, given by name, uses a damaged recording.
func damaged(name string) bool {
	return strings.Contains(name, "damaged") || strings.Contains(name, "cut60pct")
}

func recordings(t *testing.T) []recording.File {
	t.Helper()
	return slices.DeleteFunc(recording.In(t, "."), func(f recording.File) bool {
		info, err := os.Stat(f.Path)
		return err != nil || info.Size() > 8<<20 || strings.HasPrefix(f.Name, "probes/scripts") || strings.HasPrefix(f.Name, "probes/src") ||
			strings.HasSuffix(f.Name, ".expected.json") ||
			!slices.Contains([]string{".json", ".cpuprofile", ".probelines", ".pftrace"}, path.Ext(f.Name))
	})
}

func runRecording(t *testing.T, f recording.File, fn func(t *testing.T, data []byte)) {
	t.Run(f.Name, func(t *testing.T) {
		t.Parallel()
		data, err := os.ReadFile(f.Path)
		if err != nil {
			t.Fatal(err)
		}
		fn(t, data)
	})
}

func openTrace(t *testing.T, data []byte) *trace.Trace {
	t.Helper()
	tr, err := convert.Open(context.Background(), bytes.NewReader(data), convert.Options{TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
	})
	return tr
}

// TestEventsNest checks the nesting that Trace.Events promises: parents come first and contain their children, which are one
// level deeper on the same track and lane. The summary counts the same events.
func TestEventsNest(t *testing.T) {
	forEachRecording(t, func(t *testing.T, data []byte) {
		tr := openTrace(t, data)
		open := map[trace.EventID]trace.Event{}
		var n trace.Summary
		for ev, err := range tr.Events() {
			if err != nil {
				t.Fatal(err)
			}
			switch ev.Kind {
			case trace.Slice:
				n.Slices++
				if ev.Unfinished {
					n.Unfinished++
				}
				open[ev.ID] = *ev
			case trace.Instant:
				n.Instants++
			case trace.Counter:
				n.CounterValues++
			case trace.Sample:
				n.Samples++
			}
			n.Flows += int64(len(ev.FlowsIn))
			if ev.Parent == 0 {
				if ev.Depth != 0 {
					t.Fatalf("event %d has depth %d and no parent", ev.ID, ev.Depth)
				}
				continue
			}
			p, ok := open[ev.Parent]
			if !ok || p.Track != ev.Track || p.Depth+1 != ev.Depth {
				t.Fatalf("event %d: parent %d is not the enclosing slice", ev.ID, ev.Parent)
			}
			if ev.Time < p.Time || !p.Unfinished && ev.Time+ev.Duration > p.Time+p.Duration {
				t.Fatalf("event %d is outside of its parent %d", ev.ID, ev.Parent)
			}
		}
		n.Start, n.End = tr.Summary().Start, tr.Summary().End
		if diff := cmp.Diff(tr.Summary(), n); diff != "" {
			t.Errorf("summary (-) and events (+) differ:\n%s", diff)
		}
	})
}

// TestReadBack converts recordings, both intact and damaged, and reads the result back: it is the same trace. Marks for long
// tasks are excluded because, like attribution's notes, a conversion adds them (TestLongTasks).
func TestReadBack(t *testing.T) {
	forEachInput(t, func(t *testing.T, data []byte) {
		var out bytes.Buffer
		_, err := convert.Convert(context.Background(), &out, bytes.NewReader(data), convert.Options{TempDir: t.TempDir(), NoLongTasks: true})
		if err != nil && damaged(t.Name()) {
			t.Skip(err) // too little of the recording remains
		}
		if err != nil {
			t.Fatal(err)
		}
		was, is := openTrace(t, data), openTrace(t, out.Bytes())
		for _, of := range []struct {
			what  string
			lines func(*testing.T, *trace.Trace) []string
		}{{"attribute", attributeLines}, {"fact", factLines}, {"track", trackLines}, {"event", eventLines}} {
			if diff := firstDifference(of.what, of.lines(t, was), of.lines(t, is)); diff != "" {
				t.Error(diff)
			}
		}
		if diff := cmp.Diff(was.Summary(), is.Summary()); diff != "" {
			t.Errorf("summaries (-) before and (+) after differ:\n%s", diff)
		}
	})
}

// attributeLines returns the attributes of a trace, except those that a conversion adds.
func attributeLines(_ *testing.T, tr *trace.Trace) (all []string) {
	for a := range tr.Attributes() {
		if a.Key == "weft.version" || a.Key == "weft.input_format" || strings.HasPrefix(a.Key, "weft.problem.") {
			continue
		}
		all = append(all, fmt.Sprintf("%q %v %v", a.Key, a.Value.Kind(), a.Value))
	}
	return all
}

// factLines returns the pages in a trace and the facts about its threads.
func factLines(_ *testing.T, tr *trace.Trace) (all []string) {
	tl := timeline.Of(tr)
	for id := range timeline.TrackID(tl.TrackCount()) {
		if thread := tl.Track(id); thread.Used {
			for _, f := range thread.Facts {
				all = append(all, fmt.Sprintf("%v %v %v: %+v", tl.Track(thread.Parent).InputID, thread.InputID, f.Kind, f))
			}
		}
	}
	slices.Sort(all)
	for _, p := range tl.Pages() {
		all = append(all, fmt.Sprintf("%+v", p))
	}
	return all
}

// trackLines returns the tracks of a trace as text.
func trackLines(_ *testing.T, tr *trace.Trace) (all []string) {
	for track := range tr.Tracks() {
		all = append(all, trackLine(track))
	}
	slices.Sort(all)
	return all
}

// trackLine formats all properties of a track that do not depend on ids.
func trackLine(track trace.Track) string {
	track.ID, track.Parent = 0, 0
	return fmt.Sprintf("%#v", track)
}

// eventLines returns the events of a trace in a form for comparing traces: without ids and positions in the input, and sorted if
// simultaneous. Flow ids are numbered in order of appearance.
func eventLines(t *testing.T, tr *trace.Trace) []string {
	t.Helper()
	texts := map[trace.EventID]string{}
	tracks := map[trace.TrackID]string{}
	for track := range tr.Tracks() {
		tracks[track.ID] = trackLine(track)
	}
	var all []string
	first := 0 // index of the first event at the current time
	var now trace.Nanos
	for ev, err := range tr.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Time != now {
			slices.Sort(all[first:])
			first, now = len(all), ev.Time
		}
		text := fmt.Sprintf("%d %d %v %s %q %q depth=%d unfinished=%v", ev.Time, ev.Duration, ev.Kind, tracks[ev.Track],
			ev.Name, ev.Category, ev.Depth, ev.Unfinished)
		if ev.ID != 0 {
			texts[ev.ID] = text
		}
		var from []string
		for _, in := range ev.FlowsIn {
			from = append(from, fmt.Sprint(in.ID, " from ", texts[in.From]))
		}
		slices.Sort(from)
		all = append(all, fmt.Sprintf("%s cpu=%v/%v value=%v %v args=%v in=%q out=%d stack=%+v", text, known(ev.CPUTime), known(ev.CPUDuration),
			ev.Value.Kind(), ev.Value, ev.Args, from, ev.FlowsOut, ev.Stack))
	}
	slices.Sort(all[first:])
	return all
}

// known formats a time that may be unknown.
func known(t *trace.Nanos) string {
	if t == nil {
		return "unknown"
	}
	return fmt.Sprint(*t)
}

func firstDifference(what string, was, is []string) string {
	for i := range min(len(was), len(is)) {
		if was[i] != is[i] {
			return fmt.Sprintf("%s %d of %d and %d:\n- %.2000s\n+ %.2000s", what, i, len(was), len(is), was[i], is[i])
		}
	}
	if len(was) != len(is) {
		return fmt.Sprintf("%d and %d %ss", len(was), len(is), what)
	}
	return ""
}

// TestOpenLeavesSamples opens a trace with options for the output, which do not affect reading.
func TestOpenLeavesSamples(t *testing.T) {
	data := recording.Bytes(t, "traces/chrome/chrome-devtools-tiny.json")
	want := openTrace(t, data).Summary()
	opts := convert.Options{Samples: pftrace.NoSamples, Packets: pftrace.Compact, Compression: pftrace.Zstd, JSCalls: convert.JSCallsOff}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tr, err := convert.Open(ctx, bytes.NewReader(data), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	if got := tr.Summary().Samples; got == 0 || got != want.Samples {
		t.Errorf("%d samples, want %d", got, want.Samples)
	}
	cancel()
	for _, err = range tr.Events() {
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a loop after the end of the context: %v", err)
	}
}
