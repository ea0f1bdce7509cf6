package trace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/trace"
)

// events returns the events of a trace as lines. It calls within for each event.
func events(t *testing.T, tr *trace.Trace, within func(n int)) (lines []string) {
	t.Helper()
	for ev, err := range tr.Events() {
		if err != nil {
			t.Fatal(err)
		}
		within(len(lines))
		cpu := trace.Nanos(-1)
		if ev.CPUDuration != nil {
			cpu = *ev.CPUDuration
		}
		lines = append(lines, fmt.Sprintf("%v %s %s %v %v %v %v", ev.Kind, strings.Join(tr.Track(ev.Track).Path, "/"), ev.Name, cpu,
			ev.Args, ev.Value, ev.Stack))
	}
	return lines
}

func nothing(int) {}

func openRecording(t *testing.T, name string) *trace.Trace {
	t.Helper()
	f, err := os.Open(filepath.Join(recording.Testdata(t), "traces", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tr, err := convert.Open(t.Context(), f, convert.Options{TempDir: t.TempDir()})
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

// A nested loop over the events does not affect the outer one, even if it ends early.
func TestEventsInEvents(t *testing.T) {
	tr := openRecording(t, "chrome/chrome-devtools-tiny.json.gz")
	want := events(t, tr, nothing)
	got := events(t, tr, func(n int) {
		if n != 100 && n != 200 {
			return
		}
		inner := 0
		for range tr.Events() {
			if inner++; n == 200 && inner == 50 {
				break
			}
		}
	})
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Fatalf("event %d of %d:\n%s, without the inner loop\n%s", i, len(got), got[i], want[i])
		}
	}
}

// Each track appears exactly once, after its parent.
func TestTracksParentsFirst(t *testing.T) {
	tr := openRecording(t, "perfetto/chrome-paired-tiny.pftrace.gz")
	given := map[trace.TrackID]bool{0: true}
	later := 0 // number of tracks whose parent has a higher id
	for track := range tr.Tracks() {
		if !given[track.Parent] || given[track.ID] {
			t.Errorf("%+v comes before its parent, or again", track)
		}
		given[track.ID] = true
		if track.Parent > track.ID {
			later++
		}
	}
	if later == 0 {
		t.Error("the recording has no track whose parent was described later")
	}
}
