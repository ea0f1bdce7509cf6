package firefox

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
// on how the input arrives, and that the output follows all rules.
func FuzzRead(f *testing.F) {
	for _, c := range readertest.Cases(f) {
		f.Add([]byte(c.Input))
	}
	f.Add(jslb(jsonSlab(`{"meta":{"startTime":0,"preprocessedProfileVersion":70},"shared":{"stringArray":["a"]},"threads":[{"markers":{"name":{"$s":1},"startTime":[1]}}]}`),
		numberSlab(slabInt8, []int8{0})))
	f.Fuzz(func(t *testing.T, input []byte) {
		opts := Options{Options: readers.Options{Window: 1 << 16}, JSCalls: true}
		tl, log, err := suite.Load(t, bytes.NewReader(input), opts)
		opts.Window = 16
		small, smallLog, smallErr := suite.LoadWithin(t, 1, iotest.OneByteReader(bytes.NewReader(input)), opts)
		if (err == nil) != (smallErr == nil) {
			t.Fatalf("large window: %v; small window: %v", err, smallErr)
		}
		if err != nil {
			return
		}
		if tl.Len() != small.Len() || !slices.EqualFunc(log.Totals(), smallLog.Totals(), sameTotal) {
			t.Fatalf("large window: %d records, %v; small window: %d records, %v", tl.Len(), log.Totals(), small.Len(), smallLog.Totals())
		}
		last := timeline.Nanos(0)
		err = tl.Walk(context.Background(), func(it *timeline.Item) error {
			if it.TS < last {
				t.Fatalf("an item at %d after %d", it.TS, last)
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

func sameTotal(a, b problem.Total) bool { return a.Kind == b.Kind && a.Count == b.Count }
