package chromejson

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/timeline"
)

// BenchmarkRead reads a Chrome recording into a timeline, and compares that with encoding/json decoding the same bytes
// into structs with typed header fields and raw args.
func BenchmarkRead(b *testing.B) {
	path := recording.Large(b, "traces/chrome/chrome-devtools-medium.json", "traces/chrome/chrome-devtools-small.json")
	data := recording.Read(b, path)
	reference := measureJSON(b, data)
	for _, c := range []struct {
		name string
		args timeline.ArgFilter
	}{{"args=all", timeline.ArgFilter{}}, {"args=some", timeline.OnlyArgs("data")}, {"args=none", timeline.NoArgs()}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				log := new(problem.Log)
				builder := timeline.NewBuilder(timeline.Options{Problems: log, Memory: 4 << 30})
				if err := Read(context.Background(), bytes.NewReader(data), builder, Options{Options: readers.Options{Problems: log, Args: c.args}}); err != nil {
					b.Fatal(err)
				}
				if err := builder.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(reference.Seconds()/(b.Elapsed().Seconds()/float64(b.N)), "x-encoding/json")
		})
	}
}

// measureJSON returns the shortest of three decoding times of encoding/json for data.
func measureJSON(b *testing.B, data []byte) time.Duration {
	best := time.Hour
	for range 3 {
		var trace struct {
			TraceEvents []struct {
				Ph, Name, Cat      string
				Ts, Dur, Tts, Tdur float64
				Pid, Tid           int
				Args               json.RawMessage
			}
		}
		began := time.Now()
		if err := json.NewDecoder(bytes.NewReader(data)).Decode(&trace); err != nil {
			b.Fatal(err)
		}
		best = min(best, time.Since(began))
	}
	return best
}
