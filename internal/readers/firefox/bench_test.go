package firefox

import (
	"bytes"
	"context"
	"testing"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/timeline"
)

// benchmarked holds profiles in both forms; the larger ones are in the folder "shared".
var benchmarked = []string{
	"traces/firefox/gecko/ff-gecko-tiny.json", "traces/firefox/processed/ff-processed-tiny.json",
	"traces/firefox/gecko/ff-gecko-flows-medium.json", "traces/firefox/processed/ff-processed-flows-medium.json",
}

func eachProfile(b *testing.B, fn func(b *testing.B, input []byte)) {
	for _, name := range benchmarked {
		path, ok := recording.Locate(name)
		if !ok {
			continue
		}
		input := recording.Read(b, path)
		b.Run(recording.Name(path), func(b *testing.B) {
			b.SetBytes(int64(len(input)))
			b.ReportAllocs()
			fn(b, input)
		})
	}
}

// BenchmarkRead reads profiles into timeline records.
func BenchmarkRead(b *testing.B) {
	eachProfile(b, func(b *testing.B, input []byte) {
		for b.Loop() {
			log := new(problem.Log)
			builder := timeline.NewBuilder(timeline.Options{Problems: log, TempDir: b.TempDir()})
			if err := Read(context.Background(), bytes.NewReader(input), builder, Options{Options: readers.Options{Problems: log}}); err != nil {
				b.Fatal(err)
			}
			builder.Close()
		}
	})
}

// BenchmarkDecode reads profiles into columns, for comparison with BenchmarkEncodingJSON.
func BenchmarkDecode(b *testing.B) {
	eachProfile(b, func(b *testing.B, input []byte) {
		for b.Loop() {
			if _, err := decode(b.Context(), bytes.NewReader(input), Options{Options: readers.Options{Problems: new(problem.Log)}}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
