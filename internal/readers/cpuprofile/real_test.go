package cpuprofile

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/tracegen"
)

// States and sample weights cover the whole time of recorded profiles, and no call is in a lane. Package conformance
// compares the calls with DevTools'.
func TestAllTimeIsCovered(t *testing.T) {
	for _, f := range recording.In(t, "cpuprofile") {
		t.Run(f.Name, func(t *testing.T) {
			tl, _, err := suite.Load(t, bytes.NewReader(recording.Read(t, f.Path)), Options{})
			if err != nil {
				t.Fatal(err)
			}
			var states, weights timeline.Nanos
			err = tl.Walk(t.Context(), func(it *timeline.Item) error {
				switch {
				case it.Lane != 0:
					t.Errorf("%s at %d does not nest", it.Name, it.TS)
				case it.Kind == timeline.ItemSample:
					weights += timeline.Nanos(it.Value.Int())
				case it.Kind == timeline.ItemBegin && tl.TrackKind(it.Track) != timeline.ThreadTrack:
					states += it.Dur
				}
				return nil
			})
			if totals := tl.Totals(); err != nil || states != weights || states != totals.End-totals.Start {
				t.Errorf("states last %d, samples weigh %d, in %d; %v", states, weights, totals.End-totals.Start, err)
			}
		})
	}
}

// TestFrames checks that frames have the position of their function, with 1-based lines and columns.
func TestFrames(t *testing.T) {
	tl, _, err := suite.Load(t, strings.NewReader(`{"nodes":[{"id":1},
		{"id":2,"parent":1,"callFrame":{"functionName":"f","url":"u","lineNumber":9,"columnNumber":0}},
		{"id":3,"parent":2,"callFrame":{"functionName":""}}],"samples":[3],"timeDeltas":[1]}`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []timeline.Frame
	for stack := range tl.Callstacks() {
		for _, f := range tl.Callstack(stack) {
			got = append(got, tl.Frame(f))
		}
	}
	want := []timeline.Frame{{Function: "f", File: "u", Line: 10, Column: 1}, {Function: "(anonymous)"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// BenchmarkRead measures the time per sample up to the timeline with all calls, which must not grow with the number of
// samples.
func BenchmarkRead(b *testing.B) {
	for _, samples := range []int{100_000, 300_000, 1_000_000} {
		b.Run(fmt.Sprintf("samples=%d", samples), func(b *testing.B) {
			var doc bytes.Buffer
			if err := tracegen.WriteCPUProfile(&doc, tracegen.CPUProfile{Seed: 1, Samples: samples, Depth: 20}); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(doc.Len()))
			b.ReportAllocs()
			b.ResetTimer()
			for b.Loop() {
				if _, _, err := suite.Load(b, bytes.NewReader(doc.Bytes()), Options{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*float64(samples)/b.Elapsed().Seconds(), "samples/s")
		})
	}
}
