package convert

import (
	"bytes"
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/tracegen"
	"github.com/weft-trace/weft/pftrace"
)

// BenchmarkOpen opens traces and loops over their events. The traces are the Perfetto trace that weft converts from a JSON trace,
// as a file and without compression. x-json is the CPU time, including system time, relative to the JSON trace. Both are measured
// alternately, and the fastest of each counts. To measure one core:
//
//	go test -run '^$' -bench Open -benchtime 5x -cpu 1 ./convert
func BenchmarkOpen(b *testing.B) {
	for _, name := range []string{
		"traces/chrome/chrome-devtools-small.json", "traces/chrome/chrome-devtools-medium.json", "traces/chrome/chrome-devtools-long.json",
	} {
		path, ok := recording.Locate(name)
		if !ok {
			b.Logf("%s is not in testdata and there is no folder shared: left out", name)
			continue
		}
		b.Run(recording.Name(path), func(b *testing.B) { benchmarkOpen(b, recording.Read(b, path)) })
	}
	b.Run("pytorch", func(b *testing.B) {
		var input bytes.Buffer
		if err := tracegen.WritePyTorch(&input, tracegen.PyTorch{Seed: 1, Bytes: 100e6}); err != nil {
			b.Fatal(err)
		}
		benchmarkOpen(b, input.Bytes())
	})
}

func benchmarkOpen(b *testing.B, input []byte) {
	for _, form := range []struct {
		name string
		opts Options
	}{
		{"compact,zlib", Options{Packets: pftrace.Compact, Compression: pftrace.Zlib, NoLongTasks: true}},
		{"plain", Options{NoLongTasks: true}},
	} {
		b.Run(form.name, func(b *testing.B) {
			var out bytes.Buffer
			if _, err := Convert(context.Background(), &out, bytes.NewReader(input), form.opts); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(out.Len()))
			b.ReportAllocs()
			ofJSON, ofTrace, events := time.Duration(0), time.Duration(0), 0
			for b.Loop() {
				t, n := timeOpen(b, out.Bytes())
				ofTrace = fastest(ofTrace, t)
				b.StopTimer()
				t, events = timeOpen(b, input)
				ofJSON = fastest(ofJSON, t)
				if n != events {
					b.Fatalf("%d events, and %d in the JSON", n, events)
				}
				b.StartTimer()
			}
			if ofJSON > 0 {
				b.ReportMetric(float64(ofTrace)/float64(ofJSON), "x-json")
			}
			b.ReportMetric(float64(ofTrace.Nanoseconds())/float64(events), "cpu-ns/event")
		})
	}
}

// fastest returns the shorter of two times, where 0 means unknown.
func fastest(a, b time.Duration) time.Duration {
	if a == 0 {
		return b
	}
	return min(a, b)
}

// timeOpen returns the CPU time for opening a trace and looping over its events once, and the number of events.
func timeOpen(b *testing.B, input []byte) (cpu time.Duration, events int) {
	runtime.GC() // exclude earlier garbage
	start := cpuTime()
	t, err := Open(context.Background(), bytes.NewReader(input), Options{Workers: runtime.GOMAXPROCS(0)})
	if err != nil {
		b.Fatal(err)
	}
	defer t.Close()
	for _, err := range t.Events() {
		if err != nil {
			b.Fatal(err)
		}
		events++
	}
	return cpuTime() - start, events
}
