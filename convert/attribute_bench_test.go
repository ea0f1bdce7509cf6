package convert_test

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/weft-trace/weft/attribution"
	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/pftrace"
)

// BenchmarkAttribute converts a recording as the command does, with and without attribution; the difference is the cost of
// attribution.
func BenchmarkAttribute(b *testing.B) {
	path := recording.Large(b, "traces/chrome/chrome-devtools-medium.json", "traces/chrome/chrome-devtools-small.json")
	input := recording.Read(b, path)
	for _, bench := range []struct {
		name string
		opts *attribution.Options
	}{{"plain", nil}, {"attributed", &attribution.Options{}}} {
		b.Run(bench.name, func(b *testing.B) {
			b.SetBytes(int64(len(input)))
			b.ReportAllocs()
			for b.Loop() {
				opts := convert.Options{Compression: pftrace.Zlib, Attribute: bench.opts}
				if _, err := convert.Convert(context.Background(), io.Discard, bytes.NewReader(input), opts); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
