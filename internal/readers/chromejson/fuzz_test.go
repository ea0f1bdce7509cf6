package chromejson

import (
	"bytes"
	"context"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/readertest"
	"github.com/weft-trace/weft/internal/timeline"
)

// FuzzRead checks that no input makes the reader or the passes after it panic or hang, that the result does not depend
// on how the input arrives, and that no event is invented.
func FuzzRead(f *testing.F) {
	for _, c := range readertest.Cases(f) {
		f.Add([]byte(c.Input))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		tl, log, err := suite.Load(t, bytes.NewReader(input), Options{Options: readers.Options{Window: 1 << 16}})
		small, smallLog, smallErr := suite.LoadWithin(t, 1, iotest.OneByteReader(bytes.NewReader(input)), Options{Options: readers.Options{Window: 16}})
		if (err == nil) != (smallErr == nil) {
			t.Fatalf("large window: %v; small window: %v", err, smallErr)
		}
		if err != nil {
			return
		}
		if tl.Len() != small.Len() || len(log.Totals()) != len(smallLog.Totals()) {
			t.Fatalf("large window: %d records, %v; small window: %d records, %v", tl.Len(), log.Totals(), small.Len(), smallLog.Totals())
		}
		blocks, blocksLog, blocksErr := suite.Load(t, bytes.NewReader(input), Options{Options: readers.Options{Window: 64}, Workers: 2, block: 50})
		if blocksErr != nil || tl.Len() != blocks.Len() || !slices.EqualFunc(log.Totals(), blocksLog.Totals(), sameTotal) {
			t.Fatalf("at once: %d records, %v; in blocks: %d records, %v, %v", tl.Len(), log.Totals(), blocks.Len(), blocksLog.Totals(), blocksErr)
		}
		last := timeline.Nanos(0)
		err = tl.Walk(context.Background(), func(it *timeline.Item) error {
			if it.TS < last || it.Offset < 0 || it.Offset >= int64(len(input)) {
				t.Fatalf("an item at %d after %d, of byte %d", it.TS, last, it.Offset)
			}
			last = it.TS
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		readertest.Verify(t, tl)
	})
}

func sameTotal(a, b problem.Total) bool {
	return a.Kind == b.Kind && a.Count == b.Count && slices.Equal(a.Cases, b.Cases)
}
