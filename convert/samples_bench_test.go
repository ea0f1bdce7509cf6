package convert

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/tracegen"
)

// sampledInputs lists the forms and shapes of generated profiles. Most of the conversion time is spent on calls, so the number of
// calls per sample matters:
//
//   - recorded: as many as real recordings have. Chrome's DevTools recordings repeat the previous stack in 82 to 85 of
//     100 samples and have stacks of 4 to 5 frames on average; chrome-devtools-long, the densest one, gives 0.35 calls
//     per sample, and the generator 0.40. Among .cpuprofile files with more than a thousand samples, cdp-page-medium is
//     the densest: 1.3.
//   - dense: nearly every sample has its own stack, 20 frames deep, which gives 1.6 calls per sample, or 2.2 where events
//     cut them.
//
// The calls in a recording are the slices that weft info counts, minus those with --js-calls off.
var sampledInputs = []struct {
	name    string
	write   func(io.Writer, tracegen.CPUProfile) error
	profile tracegen.CPUProfile
}{
	{"cpuprofile/recorded", tracegen.WriteCPUProfile, tracegen.CPUProfile{Seed: 1, Depth: 20, Repeat: 19}},
	{"cpuprofile/dense", tracegen.WriteCPUProfile, tracegen.CPUProfile{Seed: 1, Depth: 20}},
	{"chrome/recorded", tracegen.WriteSampledTrace, tracegen.CPUProfile{Seed: 1, Depth: 5, Repeat: 84}},
	{"chrome/dense", tracegen.WriteSampledTrace, tracegen.CPUProfile{Seed: 1, Depth: 20}},
}

// BenchmarkSamples converts V8 CPU profiles, as files and in Chrome traces, on one core: the time per sample must not grow with
// the number of samples. samples/s uses wall-clock time, samples/cpu-s the CPU time of the process.
func BenchmarkSamples(b *testing.B) {
	for _, in := range sampledInputs {
		for _, samples := range []int{100_000, 300_000, 1_000_000} {
			b.Run(fmt.Sprintf("%s/samples=%d", in.name, samples), func(b *testing.B) {
				profile := in.profile
				profile.Samples = samples
				var input bytes.Buffer
				if err := in.write(&input, profile); err != nil {
					b.Fatal(err)
				}
				convertBytes := func(opts Options) *Report {
					report, err := Convert(context.Background(), io.Discard, bytes.NewReader(input.Bytes()), opts)
					if err != nil {
						b.Fatal(err)
					}
					return report
				}
				calls := convertBytes(Options{Workers: 1}).Events.Slices - convertBytes(Options{Workers: 1, JSCalls: JSCallsOff}).Events.Slices
				b.SetBytes(int64(input.Len()))
				b.ReportAllocs()
				cpu := cpuTime()
				for b.Loop() {
					convertBytes(Options{Workers: 1})
				}
				cpu = (cpuTime() - cpu) / time.Duration(b.N)
				seconds := b.Elapsed().Seconds() / float64(b.N)
				b.ReportMetric(float64(samples)/seconds, "samples/s")
				b.ReportMetric(float64(calls)/seconds, "calls/s")
				if cpu > 0 {
					b.ReportMetric(float64(samples)/cpu.Seconds(), "samples/cpu-s")
				}
			})
		}
	}
}

// TestSampleAllocations checks that samples and calls need no allocations except for memory blocks shared by thousands of them.
func TestSampleAllocations(t *testing.T) {
	recording.NeedAll(t, "counts allocations")
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
