package eventstream_test

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/eventstream"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/resolved"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/trace"
)

// long returns the longest available Chrome recording.
func long(tb testing.TB) []byte {
	return recording.Read(tb, recording.Large(tb, "traces/chrome/chrome-devtools-long.json", "traces/chrome/chrome-devtools-small.json"))
}

// BenchmarkExport compares an export with reading the input and one walk, which is what convert.Open does: run it with -cpu 1. The
// target ratio is 1.35.
func BenchmarkExport(b *testing.B) {
	data := long(b)
	open := func(b *testing.B) *trace.Trace {
		tr, err := convert.Open(context.Background(), bytes.NewReader(data), convert.Options{TempDir: b.TempDir(), Workers: 1})
		if err != nil {
			b.Fatal(err)
		}
		return tr
	}
	b.Run("open", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			open(b).Close()
		}
	})
	for name, write := range map[string]func(*timeline.Timeline) error{
		"walk": func(tl *timeline.Timeline) error {
			return tl.Walk(context.Background(), func(*timeline.Item) error { return nil })
		},
		"rows": func(tl *timeline.Timeline) error {
			r := resolved.NewReader(tl)
			defer r.Close()
			_, err := r.Walk(context.Background(), resolved.Options{}, func(*resolved.Row) error { return nil })
			return err
		},
		"proto": func(tl *timeline.Timeline) error {
			return eventstream.Write(context.Background(), io.Discard, tl, &eventstream.Header{})
		},
		"points": func(tl *timeline.Timeline) error {
			r, enc := resolved.NewReader(tl), eventstream.NewEncoder(tl)
			defer r.Close()
			_, err := r.Walk(context.Background(), resolved.Options{Kinds: []resolved.Kind{resolved.Slice, resolved.Instant}}, func(row *resolved.Row) error {
				enc.Event(row)
				return nil
			})
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			tr := open(b)
			defer tr.Close()
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if err := write(timeline.Of(tr)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
