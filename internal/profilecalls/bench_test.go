package profilecalls

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/tracegen"
	"github.com/weft-trace/weft/internal/v8profile"
)

// generated returns a generated profile.
func generated(tb testing.TB, samples, depth int) *v8profile.Profile {
	tb.Helper()
	var doc bytes.Buffer
	if err := tracegen.WriteCPUProfile(&doc, tracegen.CPUProfile{Seed: 1, Samples: samples, Depth: depth}); err != nil {
		tb.Fatal(err)
	}
	p, err := v8profile.Read(&doc, new(problem.Log))
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// generatedEvents returns events for the whole duration of a profile: tasks of 10 ms, each with a JavaScript call that contains
// a layout.
func generatedEvents(p *v8profile.Profile) []Event {
	const task = 10_000_000
	var events []Event
	for ts := p.Start; ts < p.Closing; ts += task {
		events = append(events,
			Event{TS: ts, End: ts + task, Class: producers.Task},
			Event{TS: ts + task/10, End: ts + task, Class: producers.Invocation},
			Event{TS: ts + task/2, End: ts + task/2 + task/20})
	}
	return events
}

func run(f *Frames, mode Mode, events []Event, emit func(*Call)) Stats {
	b := NewBuilder(f, mode, emit)
	for i := range events {
		b.Event(&events[i])
	}
	stats, err := b.Finish()
	if err != nil {
		panic(err) // profiles in tests are in memory
	}
	return stats
}

// BenchmarkBuilder measures the time per sample, which must not grow with the number of samples.
func BenchmarkBuilder(b *testing.B) {
	for _, depth := range []int{20, 200} {
		for _, samples := range []int{100_000, 300_000, 1_000_000} {
			b.Run(fmt.Sprintf("depth=%d/samples=%d", depth, samples), func(b *testing.B) {
				p := generated(b, samples, depth)
				events := generatedEvents(p)
				calls := 0
				b.ReportAllocs()
				b.ResetTimer()
				for b.Loop() {
					run(NewFrames(p), DevTools, events, func(*Call) { calls++ })
				}
				report(b, samples, calls)
			})
		}
	}
}

// BenchmarkRefined is BenchmarkBuilder with the refined rules.
func BenchmarkRefined(b *testing.B) {
	const samples = 1_000_000
	p := generated(b, samples, 20)
	events := generatedEvents(p)
	calls := 0
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		run(NewFrames(p), Refined, events, func(*Call) { calls++ })
	}
	report(b, samples, calls)
}

// BenchmarkAlone is BenchmarkBuilder for a profile without a trace.
func BenchmarkAlone(b *testing.B) {
	for _, samples := range []int{100_000, 300_000, 1_000_000} {
		b.Run(fmt.Sprintf("samples=%d", samples), func(b *testing.B) {
			p := generated(b, samples, 20)
			calls := 0
			b.ReportAllocs()
			b.ResetTimer()
			for b.Loop() {
				_, _ = Alone(p, 0, func(*AloneCall) error { calls++; return nil })
			}
			report(b, samples, calls)
		})
	}
}

func report(b *testing.B, samples, calls int) {
	b.ReportMetric(float64(b.N)*float64(samples)/b.Elapsed().Seconds(), "samples/s")
	b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(samples), "ns/sample")
	b.ReportMetric(float64(calls)/float64(b.N)/float64(samples), "calls/sample")
}

// TestAllocations checks that neither samples nor calls need an allocation.
func TestAllocations(t *testing.T) {
	const samples = 50_000
	p := generated(t, samples, 20)
	events := generatedEvents(p)
	f := NewFrames(p)
	for _, c := range []struct {
		name string
		fn   func()
	}{
		{"devtools", func() { run(f, DevTools, events, func(*Call) {}) }},
		{"refined", func() { run(f, Refined, events, func(*Call) {}) }},
		{"alone", func() { _, _ = Alone(p, 0, func(*AloneCall) error { return nil }) }},
	} {
		if n := testing.AllocsPerRun(1, c.fn); n > 100 {
			t.Errorf("%s: %v allocations for %d samples", c.name, n, samples)
		}
	}
}

// TestDeepStacks checks that hostile profiles, whose stacks of a hundred thousand frames alternate with short ones, do not need
// quadratic time, and that the outermost frames become calls.
func TestDeepStacks(t *testing.T) {
	const depth, samples = 100_000, 2_000
	var doc bytes.Buffer
	doc.WriteString(`{"nodes":[{"id":0}`)
	for i := 1; i <= depth; i++ {
		fmt.Fprintf(&doc, `,{"id":%d,"parent":%d}`, i, i-1)
	}
	doc.WriteString(`],"samples":[1`)
	for i := range samples - 1 {
		fmt.Fprintf(&doc, ",%d", 1+(i+1)%2*(depth-1))
	}
	doc.WriteString(`],"timeDeltas":[1`)
	for range samples - 1 {
		doc.WriteString(",1")
	}
	doc.WriteString("]}")
	p := readProfile(t, doc.Bytes())

	calls, deepest := 0, v8profile.NodeIndex(0)
	count := func(c *Call) {
		calls++
		deepest = max(deepest, c.Node)
	}
	f := NewFrames(p)
	made := run(f, DevTools, nil, count)
	// Half of the 2,000 samples are deep. Each opens all but the first of the MaxStack outermost frames; the first frame stays open.
	if want := 1 + samples/2*(MaxStack-1); calls != want || deepest != MaxStack || made.TooDeep != samples/2 {
		t.Errorf("%d calls down to node %d, %d samples too deep; want %d, %d, %d", calls, deepest, made.TooDeep, want, MaxStack, samples/2)
	}
	calls, deepest = 0, 0
	stats, _ := Alone(p, 0, func(c *AloneCall) error {
		count(&c.Call)
		return nil
	})
	if want := 1 + samples/2*(MaxStack-1); calls != want || deepest != MaxStack || stats.TooDeep != samples/2 {
		t.Errorf("alone: %d calls down to node %d, %d samples too deep; want %d, %d, %d", calls, deepest, stats.TooDeep, want, MaxStack, samples/2)
	}
}

// TestMemory checks that a Builder stores only open calls.
func TestMemory(t *testing.T) {
	p := generated(t, 300_000, 20)
	f, events := NewFrames(p), generatedEvents(p)
	if bytes, _ := recording.Allocated(func() { run(f, DevTools, events, func(*Call) {}) }); bytes > 1<<20 {
		t.Errorf("%d bytes were allocated", bytes)
	}
}
