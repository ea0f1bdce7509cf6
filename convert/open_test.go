package convert_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/trace"
)

// forEachRecording runs a test with every recording of testdata that is not damaged.
func forEachRecording(t *testing.T, fn func(t *testing.T, data []byte)) {
	root := filepath.Join(recording.Testdata(t), "traces")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(path, "damaged") || strings.HasSuffix(path, ".md") {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		t.Run(filepath.ToSlash(name), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			fn(t, data)
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
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

// TestEventsNest holds Trace.Events to what it says of nesting: parents come first, children lie in them on their track and
// lane, one deeper. The numbers of events are those of the summary.
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
				t.Fatalf("event %d: parent %d is not the slice around it", ev.ID, ev.Parent)
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

// TestReadBack converts recordings and reads the result: it is the same trace.
func TestReadBack(t *testing.T) {
	forEachRecording(t, func(t *testing.T, data []byte) {
		var out bytes.Buffer
		if _, err := convert.Convert(context.Background(), &out, bytes.NewReader(data), convert.Options{TempDir: t.TempDir()}); err != nil {
			t.Fatal(err)
		}
		was, is := lines(t, openTrace(t, data)), lines(t, openTrace(t, out.Bytes()))
		if diff := firstDifference(was, is); diff != "" {
			t.Error(diff)
		}
	})
}

// lines returns the events of a trace in a form in which those of two traces can be compared: without ids, without where they
// were in the input, and sorted where they are of one time.
func lines(t *testing.T, tr *trace.Trace) []string {
	t.Helper()
	texts := map[trace.EventID]string{}
	var all []string
	first := 0 // of the current time
	var now trace.Nanos
	for ev, err := range tr.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Time != now {
			slices.Sort(all[first:])
			first, now = len(all), ev.Time
		}
		text := fmt.Sprintf("%d %d %v %q %s %q %q depth=%d unfinished=%v", ev.Time, ev.Duration, ev.Kind, tr.Track(ev.Track).Path, roleOf(tr, ev.Track),
			ev.Name, ev.Category, ev.Depth, ev.Unfinished)
		if ev.ID != 0 {
			texts[ev.ID] = text
		}
		var from []string
		for _, in := range ev.FlowsIn {
			from = append(from, texts[in.From])
		}
		slices.Sort(from)
		all = append(all, fmt.Sprintf("%s cpu=%v/%v value=%v args=%v from=%q out=%d stack=%v", text, known(ev.CPUTime), known(ev.CPUDuration), ev.Value,
			ev.Args, from, len(ev.FlowsOut), ev.Stack))
	}
	slices.Sort(all[first:])
	return all
}

// known returns a time that may not be known, as text.
func known(t *trace.Nanos) string {
	if t == nil {
		return "unknown"
	}
	return fmt.Sprint(*t)
}

// roleOf says what a track is.
func roleOf(tr *trace.Trace, id trace.TrackID) string {
	track := tr.Track(id)
	return fmt.Sprintf("%v role=%s subject=%q unit=%q labels=%q", track.Kind, track.Role, track.Subject, track.Unit, track.Labels)
}

func firstDifference(was, is []string) string {
	for i := range min(len(was), len(is)) {
		if was[i] != is[i] {
			return fmt.Sprintf("event %d of %d and %d:\n- %.2000s\n+ %.2000s", i, len(was), len(is), was[i], is[i])
		}
	}
	if len(was) != len(is) {
		return fmt.Sprintf("%d and %d events", len(was), len(is))
	}
	return ""
}
