package conformance

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"testing"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/tracegen"
	"github.com/weft-trace/weft/pftrace"
)

// Budgets and numbers of workers that use different code paths. 0 is the default budget, with which these inputs stay
// in memory.
var (
	pathBudgets = []int64{0, 2_000_000, smallestMemory}
	pathWorkers = []int{1, 2, 3}
	pathCodecs  = []pftrace.Compression{pftrace.Uncompressed, pftrace.Zlib, pftrace.Zstd}
)

// pathInputs returns traces that are read in blocks (of 1 MiB) and written in several segments (of 32,768 records).
// Package chromejson tests that they are read in blocks.
func pathInputs(t *testing.T) map[string][]byte {
	t.Helper()
	path := recording.Path(t, "traces/node/node-v24-all-node_trace.json")
	var pytorch bytes.Buffer
	if err := tracegen.WritePyTorch(&pytorch, tracegen.PyTorch{Seed: 5, Bytes: 9 << 20}); err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{recording.Name(path): recording.Read(t, path), "pytorch": pytorch.Bytes()}
}

// However the work is divided between goroutines, and between memory and disk, the bytes are the same as from one
// goroutine that keeps everything in memory. Each pair of budget and workers, budget and codec, and workers and codec
// occurs.
func TestAllPathsGiveTheSameBytes(t *testing.T) {
	recording.NeedAll(t, "converts large traces in many ways")
	for name, input := range pathInputs(t) {
		t.Run(name, func(t *testing.T) {
			const blocks = 8
			if len(input) < blocks<<20 {
				t.Errorf("%d bytes are fewer than %d blocks", len(input), blocks)
			}
			hasSegments(t, input)
			for c, codec := range pathCodecs {
				plain := convert.Options{Workers: 1, Compression: codec}
				want, _ := convertTrace(t, input, plain)
				for i, memory := range pathBudgets {
					for j, workers := range pathWorkers {
						if (i+j)%len(pathCodecs) != c {
							continue
						}
						opts := convert.Options{Memory: memory, Workers: workers, Compression: codec, TempDir: t.TempDir()}
						t.Run(fmt.Sprintf("%v,%d bytes,%d workers", codec, memory, workers), func(t *testing.T) {
							sameBytes(t, input, want, opts)
						})
					}
				}
			}
		})
	}
}

// hasSegments fails the test if there is only one segment, or if the smaller budgets keep everything in memory.
func hasSegments(t *testing.T, input []byte) {
	t.Helper()
	tl, err := loadTimeline(t.Context(), bytes.NewReader(input), convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer tl.Close()
	if n := tl.SegmentCount(); n < 2 {
		t.Errorf("%d segments", n)
	}
	nowhere := filepath.Join(t.TempDir(), "missing")
	for _, memory := range pathBudgets[1:] {
		opts := convert.Options{Memory: memory, TempDir: nowhere}
		if _, err := convert.Convert(context.Background(), io.Discard, bytes.NewReader(input), opts); err == nil {
			t.Errorf("a budget of %d bytes needs no disk", memory)
		}
	}
}

func sameBytes(t *testing.T, input, want []byte, opts convert.Options) {
	t.Helper()
	var got bytes.Buffer
	if _, err := convert.Convert(t.Context(), &got, bytes.NewReader(input), opts); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		at := 0
		for at < min(got.Len(), len(want)) && got.Bytes()[at] == want[at] {
			at++
		}
		t.Errorf("%d bytes, want %d; they differ from byte %d on", got.Len(), len(want), at)
	}
	folderIsEmpty(t, opts.TempDir)
}

// A trace of compact packets is smaller than one of plain packets and equivalent: read again, both give the same bytes.
func TestCompactPacketsSayTheSame(t *testing.T) {
	for name, input := range pathInputs(t) {
		t.Run(name, func(t *testing.T) {
			plain, _ := convertTrace(t, input, convert.Options{})
			compact, _ := convertTrace(t, input, convert.Options{Packets: pftrace.Compact})
			if len(compact) >= len(plain) {
				t.Errorf("%d bytes of compact packets, %d of plain ones", len(compact), len(plain))
			}
			want, _ := convertTrace(t, plain, convert.Options{})
			sameBytes(t, compact, want, convert.Options{TempDir: t.TempDir()})
		})
	}
}
