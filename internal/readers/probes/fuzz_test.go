package probes

import (
	"bytes"
	"context"
	"testing"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/readertest"
	"github.com/weft-trace/weft/internal/timeline"
)

// FuzzRead checks that no input makes the reader panic, and that the result is a valid trace and the same when records
// are sorted on disk.
func FuzzRead(f *testing.F) {
	for _, c := range readertest.Cases(f) {
		f.Add([]byte(c.Input+"\n"), int64(0), uint8(0))
	}
	for _, input := range recordings(f) {
		if len(input) < 30_000 {
			f.Add(input, int64(-1000), uint8(3))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, offset int64, window uint8) {
		var counted [2]uint64
		dir := t.TempDir()
		for i, spool := range []int64{0, 4096} {
			log := new(problem.Log)
			b := timeline.NewBuilder(timeline.Options{Problems: log, TempDir: dir})
			opts := readers.Options{Problems: log, Offset: timeline.Nanos(offset), TempDir: dir, Window: int(window) * 16, Spool: spool}
			if err := Read(context.Background(), bytes.NewReader(data), b, opts); err != nil {
				t.Fatal(err)
			}
			tl, err := b.Finish(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			defer tl.Close()
			if err := tl.Nest(context.Background()); err != nil {
				t.Fatal(err)
			}
			readertest.Verify(t, tl)
			for _, total := range log.Totals() {
				counted[i] += total.Count
			}
			counted[i] += uint64(tl.Totals().Slices)<<40 + uint64(tl.Totals().Instants)<<20
		}
		if counted[0] != counted[1] {
			t.Errorf("sorting on disk gives something else: %x and %x", counted[0], counted[1])
		}
	})
}
