package conformance

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/tracegen"
)

const (
	randomTraces    = 60
	randomTraceSize = 200
)

// smallestMemory is a budget with which everything that can be spilled is spilled.
const smallestMemory = 1

// A trace with nested slices keeps its slices and their depths.
func TestNestedTracesKeepTheirStructure(t *testing.T) {
	for seed := range uint64(randomTraces) {
		trace := tracegen.Nested(seed, randomTraceSize)
		p, report := mustProject(t, trace.JSON, convert.Options{})
		missing, extra := multisetDifference(wantSlices(trace, true), gotSlices(p, true))
		if len(missing)+len(extra) > 0 {
			t.Errorf("seed %d: %d slices are missing, %d are too many", seed, len(missing), len(extra))
			show(t, "missing", missing)
			show(t, "extra", extra)
		}
		if len(report.Problems) > 0 {
			t.Errorf("seed %d: problems %+v", seed, report.Problems)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// Slices that overlap, cross or coincide keep their starts, durations, names and threads.
func TestMisnestedTracesLoseNothing(t *testing.T) {
	for seed := range uint64(randomTraces) {
		trace := tracegen.Misnested(seed, randomTraceSize)
		p, report := mustProject(t, trace.JSON, convert.Options{})
		missing, extra := multisetDifference(wantSlices(trace, false), gotSlices(p, false))
		if len(missing)+len(extra) > 0 {
			t.Errorf("seed %d: %d slices are missing, %d are too many", seed, len(missing), len(extra))
			show(t, "missing", missing)
			show(t, "extra", extra)
		}
		if report.Lost() > 0 {
			t.Errorf("seed %d: problems %+v", seed, report.Problems)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// wantSlices and gotSlices format slices, with their depth only if it is determined.
func wantSlices(trace tracegen.Trace, withDepth bool) []string {
	var all []string
	for _, s := range trace.Slices {
		tid := ""
		if s.TID != 0 {
			tid = strconv.Itoa(s.TID)
		}
		all = append(all, sliceText(tid, s.TS, s.Dur, s.Name, s.Depth, withDepth))
	}
	return all
}

func gotSlices(p *projection, withDepth bool) []string {
	var all []string
	for _, s := range p.shown() {
		all = append(all, sliceText(s.track.tid, s.ts, s.dur, s.name, s.depth(), withDepth))
	}
	return all
}

func sliceText(tid string, ts, dur int64, name string, depth int, withDepth bool) string {
	text := fmt.Sprintf("%s on thread %q [%d, +%d]", name, tid, ts, dur)
	if withDepth {
		text += fmt.Sprintf(" depth %d", depth)
	}
	return text
}

// inputs returns traces with different contents, for tests of how they are processed.
func inputs(t *testing.T) map[string][]byte {
	t.Helper()
	var pytorch bytes.Buffer
	if err := tracegen.WritePyTorch(&pytorch, tracegen.PyTorch{Seed: 3, Bytes: 2 << 20}); err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{
		"pytorch":   pytorch.Bytes(),
		"misnested": tracegen.Misnested(4, 5000).JSON,
	}
	for _, name := range []string{"traces/chrome/chrome-devtools-tiny.json", "traces/node/node-v24-small-1-node_trace.json"} {
		path := recording.Path(t, name)
		all[recording.Name(path)] = recording.Read(t, path)
	}
	return all
}

// With any memory budget, data that is spilled to disk and merged gives the same bytes. Without a temporary folder, the
// smallest budget fails, which shows that it spills.
func TestSpillingGivesTheSameBytes(t *testing.T) {
	for name, input := range inputs(t) {
		t.Run(name, func(t *testing.T) {
			want, _ := convertTrace(t, input, convert.Options{})
			for _, memory := range []int64{smallestMemory, 300_000, 2_000_000} {
				dir := t.TempDir()
				got, _ := convertTrace(t, input, convert.Options{Memory: memory, TempDir: dir})
				if !bytes.Equal(want, got) {
					t.Errorf("%d bytes with the default budget, %d other bytes with %d bytes of memory", len(want), len(got), memory)
				}
				folderIsEmpty(t, dir)
			}
			nowhere := filepath.Join(t.TempDir(), "missing")
			convertTrace(t, input, convert.Options{TempDir: nowhere}) // the default budget needs no folder
			opts := convert.Options{Memory: smallestMemory, TempDir: nowhere}
			if _, err := convert.Convert(context.Background(), io.Discard, bytes.NewReader(input), opts); err == nil {
				t.Error("the smallest budget needs no folder: nothing was spilled")
			}
		})
	}
}

// The same input and options give the same bytes, whatever the number of workers.
func TestDeterminism(t *testing.T) {
	for name, input := range inputs(t) {
		t.Run(name, func(t *testing.T) {
			for _, opts := range outputForms {
				opts.Workers = 1
				want, _ := convertTrace(t, input, opts)
				for _, opts.Workers = range []int{1, 2, 7} {
					got, _ := convertTrace(t, input, opts)
					if !bytes.Equal(want, got) {
						t.Errorf("%v, %v: %d workers give other bytes than one", opts.Compression, opts.Packets, opts.Workers)
					}
				}
			}
		})
	}
}

func folderIsEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("%s was left behind", e.Name())
	}
}
