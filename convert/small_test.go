package convert_test

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/tracegen"
	"github.com/weft-trace/weft/pftrace"
)

// The fixed cost per small file matters because many tools write thousands of them.

const (
	smallBytes = 100_000
	smallFiles = 16 // different files
)

// smallTraces returns traces of about smallBytes each.
func smallTraces(tb testing.TB) (traces [][]byte) {
	tb.Helper()
	for i := range smallFiles {
		var b bytes.Buffer
		if err := tracegen.WritePyTorch(&b, tracegen.PyTorch{Seed: uint64(i), Bytes: smallBytes}); err != nil {
			tb.Fatal(err)
		}
		traces = append(traces, b.Bytes())
	}
	return traces
}

var smallOptions = convert.Options{Workers: 1, Compression: pftrace.Zlib}

func BenchmarkManySmallFiles(b *testing.B) {
	traces := smallTraces(b)
	total := 0
	for _, trace := range traces {
		total += len(trace)
	}
	b.SetBytes(int64(total / len(traces)))
	b.ReportAllocs()
	var c convert.Converter
	i := 0
	for b.Loop() {
		if _, err := c.Convert(b.Context(), io.Discard, bytes.NewReader(traces[i%len(traces)]), smallOptions); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

// Memory that every conversion allocates anew must be cleared and collected. Most of the remaining allocations are a window of
// 128 KiB and data that grows with the trace: records, arguments and flows. Before memory was reused, a conversion of any
// of these files allocated 7 MB. The limits are at most twice the values measured when they were set.
func TestAllocationsPerFile(t *testing.T) {
	recording.NeedAll(t, "counts allocations")
	const maxBytes, maxAllocations = 1_000_000, 1000
	traces := smallTraces(t)
	var c convert.Converter
	convertAll := func() {
		for _, trace := range traces {
			if _, err := c.Convert(context.Background(), io.Discard, bytes.NewReader(trace), smallOptions); err != nil {
				t.Fatal(err)
			}
		}
	}
	convertAll() // fills the caches
	size, count := recording.Allocated(convertAll)
	size, count = size/smallFiles, count/smallFiles
	t.Logf("%d bytes in %d allocations for a file", size, count)
	if size > maxBytes {
		t.Errorf("%d bytes for a file; want at most %d", size, maxBytes)
	}
	if count > maxAllocations {
		t.Errorf("%d allocations for a file; want at most %d", count, maxAllocations)
	}
}

// A Converter that has been used before, even with another compression or for a failed conversion, produces the same bytes as a
// new one.
func TestConverterIsAsNew(t *testing.T) {
	traces := smallTraces(t)
	var used convert.Converter
	for _, trace := range traces[:4] {
		for _, compression := range []pftrace.Compression{pftrace.Uncompressed, pftrace.Zlib, pftrace.Zstd} {
			if _, err := used.Convert(t.Context(), io.Discard, bytes.NewReader([]byte("no trace")), smallOptions); err == nil {
				t.Fatal("no error")
			}
			var want, got bytes.Buffer
			opts := convert.Options{Workers: 1, Compression: compression}
			if _, err := convert.Convert(t.Context(), &want, bytes.NewReader(trace), opts); err != nil {
				t.Fatal(err)
			}
			if _, err := used.Convert(t.Context(), &got, io.MultiReader(bytes.NewReader(trace)), opts); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Bytes(), want.Bytes()) {
				t.Errorf("%v: other bytes", compression)
			}
		}
	}
}
