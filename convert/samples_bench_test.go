package convert

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/weft-trace/weft/internal/tracegen"
)

// BenchmarkSamples converts V8 CPU profiles, as files and in Chrome traces, on one core: the time for a sample must not
// grow with their number.
func BenchmarkSamples(b *testing.B) {
	for _, form := range []struct {
		name  string
		write func(io.Writer, tracegen.CPUProfile) error
	}{{"cpuprofile", tracegen.WriteCPUProfile}, {"chrome", tracegen.WriteSampledTrace}} {
		for _, samples := range []int{100_000, 300_000, 1_000_000} {
			b.Run(fmt.Sprintf("%s/samples=%d", form.name, samples), func(b *testing.B) {
				var input bytes.Buffer
				if err := form.write(&input, tracegen.CPUProfile{Seed: 1, Samples: samples, Depth: 20}); err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(input.Len()))
				b.ReportAllocs()
				for b.Loop() {
					_, err := Convert(context.Background(), io.Discard, bytes.NewReader(input.Bytes()), Options{Workers: 1})
					if err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N)*float64(samples)/b.Elapsed().Seconds(), "samples/s")
			})
		}
	}
}

// TestSampleAllocations holds that neither samples nor calls cost allocations of their own, but for the blocks of memory
// that thousands of them share.
func TestSampleAllocations(t *testing.T) {
	for name, write := range map[string]func(io.Writer, tracegen.CPUProfile) error{
		"cpuprofile": tracegen.WriteCPUProfile, "chrome": tracegen.WriteSampledTrace,
	} {
		count := func(samples int) float64 {
			var input bytes.Buffer
			if err := write(&input, tracegen.CPUProfile{Seed: 1, Samples: samples, Depth: 5}); err != nil {
				t.Fatal(err)
			}
			return testing.AllocsPerRun(1, func() {
				_, err := Convert(context.Background(), io.Discard, bytes.NewReader(input.Bytes()), Options{Workers: 1})
				if err != nil {
					t.Fatal(err)
				}
			})
		}
		few, many := count(20_000), count(60_000)
		if per := (many - few) / 40_000; per > 0.02 {
			t.Errorf("%s: %.3f allocations for a sample (%v for 20,000, %v for 60,000)", name, per, few, many)
		}
	}
}
