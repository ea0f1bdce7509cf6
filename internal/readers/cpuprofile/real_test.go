package cpuprofile

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/tracegen"
)

// row is a call in the tables of the conformance data, in microseconds; lines and columns count from 0, −1 is unknown.
type row struct {
	Name         string
	TS, Dur      int64
	NodeID       int64
	ScriptID     string
	Line, Column int64
	SampleIndex  int64
	Depth        int
}

// UnmarshalJSON reads the first columns of a row.
func (r *row) UnmarshalJSON(data []byte) error {
	columns := []any{&r.Name, &r.TS, &r.Dur, &r.NodeID, &r.ScriptID, &r.Line, &r.Column, &r.SampleIndex, &r.Depth}
	return json.Unmarshal(data, &columns)
}

// rowOf returns the row of a slice.
func rowOf(tl *timeline.Timeline, it *timeline.Item, depth int) row {
	r := row{Name: string(it.Name), TS: int64(it.TS) / 1000, Dur: int64(it.Dur) / 1000, Line: -1, Column: -1, Depth: depth}
	if r.Name == anonymous {
		r.Name = ""
	}
	for a := range tl.ArgList(it.Args) {
		switch string(a.Key) {
		case "line":
			r.Line = a.Int() - 1
		case "column":
			r.Column = a.Int() - 1
		case "weft":
			for m := range tl.Members(a) {
				switch string(m.Key) {
				case "nodeId":
					r.NodeID = m.Int()
				case "scriptId":
					r.ScriptID = string(m.Text())
				case "sampleIndex":
					r.SampleIndex = m.Int()
				}
			}
		}
	}
	return r
}

// isMeta reports whether the tables have a call that is a state.
func isMeta(name string) bool {
	return name == "(program)" || name == "(idle)" || name == "(garbage collector)"
}

// compare holds the slices of a timeline equal to the calls of a table, and that states and samples cover all time.
func compare(t *testing.T, tl *timeline.Timeline, expected []byte) {
	t.Helper()
	var table struct{ Calls []row }
	if err := json.Unmarshal(expected, &table); err != nil {
		t.Fatal(err)
	}
	var want, got []row
	for _, r := range table.Calls {
		if !isMeta(r.Name) {
			want = append(want, r)
		}
	}
	depth := 0
	var states, weights timeline.Nanos
	err := tl.Walk(context.Background(), func(it *timeline.Item) error {
		onThread := tl.TrackKind(it.Track) == timeline.ThreadTrack
		switch {
		case it.Lane != 0:
			t.Errorf("%s at %d does not nest", it.Name, it.TS)
		case it.Kind == timeline.ItemSample:
			weights += timeline.Nanos(it.Value.Int())
		case it.Kind == timeline.ItemBegin && onThread:
			got = append(got, rowOf(tl, it, depth))
			depth++
		case it.Kind == timeline.ItemEnd && onThread:
			depth--
		case it.Kind == timeline.ItemBegin:
			states += it.Dur
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if totals := tl.Totals(); states != weights || states != totals.End-totals.Start {
		t.Errorf("states last %d, samples weigh %d, in %d", states, weights, totals.End-totals.Start)
	}
}

// TestTables holds what is read of hand-made and recorded profiles equal to the calls that DevTools makes of them.
func TestTables(t *testing.T) {
	dir := filepath.Join(recording.Testdata(t), "conformance", "profile-calls")
	inputs, err := filepath.Glob(filepath.Join(dir, "model", "*.cpuprofile"))
	if err != nil || len(inputs) == 0 {
		t.Fatal("no models", err)
	}
	recorded, err := filepath.Glob(filepath.Join(recording.Testdata(t), "traces", "cpuprofile", "*.cpuprofile.gz"))
	if err != nil || len(recorded) == 0 {
		t.Fatal("no recordings", err)
	}
	for _, path := range append(inputs, recorded...) {
		name := strings.TrimSuffix(recording.Name(path), ".cpuprofile")
		t.Run(name, func(t *testing.T) {
			tl, _, err := suite.Load(t, bytes.NewReader(recording.Read(t, path)), Options{})
			if err != nil {
				t.Fatal(err)
			}
			folder := filepath.Base(filepath.Dir(path)) // of the tables: model or cpuprofile
			compare(t, tl, recording.Bytes(t, "conformance/profile-calls/"+folder+"/"+name+".expected.json"))
		})
	}
}

// TestFrames holds that frames have the place of their function, with line and column from 1.
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

// BenchmarkRead shows the time for a sample up to the timeline with all calls, which must not grow with the number of
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
