package convert_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
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

func open(t *testing.T, data []byte) *trace.Trace {
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
		tr := open(t, data)
		slices := map[trace.EventID]trace.Event{}
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
				slices[ev.ID] = *ev
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
			p, ok := slices[ev.Parent]
			if !ok || p.Track != ev.Track || p.Lane != ev.Lane || p.Depth+1 != ev.Depth {
				t.Fatalf("event %d: parent %d is not the slice around it", ev.ID, ev.Parent)
			}
			if ev.Time < p.Time || !p.Unfinished && ev.End() > p.End() {
				t.Fatalf("event %d is outside of its parent %d", ev.ID, ev.Parent)
			}
		}
		n.Start, n.End = tr.Summary().Start, tr.Summary().End
		if diff := cmp.Diff(tr.Summary(), n); diff != "" {
			t.Errorf("summary (-) and events (+) differ:\n%s", diff)
		}
	})
}
