package convert

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"testing"

	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/tracegen"
)

// sampledTrace returns a generated Chrome trace with a profile.
func sampledTrace(tb testing.TB, samples int) []byte {
	tb.Helper()
	var input bytes.Buffer
	if err := tracegen.WriteSampledTrace(&input, tracegen.CPUProfile{Seed: 1, Samples: samples, Depth: 20}); err != nil {
		tb.Fatal(err)
	}
	return input.Bytes()
}

// TestMemoryOfSamples checks that the memory for V8 samples, and for the calls derived from them, does not grow beyond the
// budget: with four times as many samples, each additional one needs less than 8 bytes. The index of the sample
// and call files needs about half a byte per sample, measurements vary by a megabyte or two, and a sample in memory needs 24 bytes
// in its table alone.
func TestMemoryOfSamples(t *testing.T) {
	recording.NeedAll(t, "measures memory")
	peak := func(samples int) int64 {
		input := sampledTrace(t, samples)
		w := &recording.MemoryWatch{Input: bytes.NewReader(input)}
		opts := Options{Workers: 1, Memory: 2 << 20, TempDir: t.TempDir()}
		if _, err := Convert(context.Background(), w, w, opts); err != nil {
			t.Fatal(err)
		}
		return w.Peak - int64(cap(input))
	}
	const few, many = 150_000, 600_000
	first, second := peak(few), peak(many)
	t.Logf("%d samples: %d KiB, %d: %d KiB", few, first>>10, many, second>>10)
	if added := second - first; added > 8*(many-few) {
		t.Errorf("%d samples more take %d bytes more", many-few, added)
	}
}

// TestSamplesWithinMemory checks that samples and calls do not depend on the budget or the number of workers, and that no
// temporary file remains.
func TestSamplesWithinMemory(t *testing.T) {
	recording.NeedAll(t, "converts 20 times")
	input := sampledTrace(t, 100_000)
	var want [sha256.Size]byte
	for _, memory := range []int64{1 << 30, 256 << 20, 32 << 20, 1 << 20, 1} {
		for _, workers := range []int{1, 2} {
			for _, calls := range []JSCalls{JSCallsRefined, JSCallsDevTools} {
				dir := t.TempDir()
				var out bytes.Buffer
				opts := Options{Workers: workers, Memory: memory, TempDir: dir, JSCalls: calls}
				if _, err := Convert(context.Background(), &out, bytes.NewReader(input), opts); err != nil {
					t.Fatal(err)
				}
				name := fmt.Sprintf("%d bytes, %d workers, %s", memory, workers, calls)
				got := sha256.Sum256(out.Bytes())
				if memory == 1<<30 && workers == 1 && calls == JSCallsRefined {
					want = got
				}
				if calls == JSCallsRefined && got != want {
					t.Errorf("%s: other bytes", name)
				}
				if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
					t.Errorf("%s: %d files are left, %v", name, len(files), err)
				}
			}
		}
	}
}
