package pfwire

import (
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// BenchmarkWriteSamples writes 100,000 samples of one thread, which have 200 stacks of 20 frames, in the forms that there
// are. It reports the time for one sample, the walk over the timeline included.
func BenchmarkWriteSamples(b *testing.B) {
	const samples, stacks, depth = 100_000, 200, 20
	builder := timeline.NewBuilder(timeline.Options{Problems: new(problem.Log)})
	thread := builder.Thread(builder.Process(timeline.ProcessKey{Num: 1}), timeline.ThreadKey{Num: 2})
	var ids []timeline.CallstackID
	for i := range stacks {
		var stack timeline.CallstackID
		for d := range depth {
			frame := timeline.Frame{Function: fmt.Sprint("f", d), File: "https://example.org/app.js", Line: int64(i*d + 1), Column: 7}
			stack = builder.PushFrame(stack, builder.Frame(frame))
		}
		ids = append(ids, stack)
	}
	for i := range samples {
		err := builder.Add(&timeline.Event{
			Kind: timeline.Sample, Track: thread, Event: uint32(i), TS: timeline.Nanos(i) * 100_000, Callstack: ids[i*7919%stacks],
			Value: timeline.Int(1),
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	tl := finishTimeline(b, builder)
	for form, name := range []string{StackSamples: "stack-sample", NoSamples: "none"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := Write(context.Background(), io.Discard, tl, Options{Samples: SampleForm(form), Workers: 1}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/samples, "ns/sample")
		})
	}
}
