package eventstream_test

import (
	"bytes"
	"testing"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/resolved"
	"github.com/weft-trace/weft/internal/timeline"
)

// The number of events of the long recording, including DevTools' calls, and the total time of its slices with ends in the input
// are as counted for the specification of streams. Since then, slices that did not end have received a length.
func TestLongRecording(t *testing.T) {
	data := recording.Read(t, recording.Large(t, "traces/chrome/chrome-devtools-long.json"))
	tr, err := convert.Open(t.Context(), bytes.NewReader(data), convert.Options{TempDir: t.TempDir(), JSCalls: convert.JSCallsDevTools})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	var counts [resolved.KindCount + 1]int
	var sum timeline.Nanos
	eachRow(t, timeline.Of(tr), func(row *resolved.Row) {
		counts[row.Kind]++
		if row.Kind == resolved.Slice && row.Item.Dur != timeline.NoTime && !row.Item.DidNotEnd {
			sum += row.Item.Dur
		}
	})
	want := [...]int{resolved.Slice: 747_427, resolved.Instant: 111_203, resolved.Counter: 0, resolved.Sample: 446_325}
	if counts != want || sum != 1_961_327_938_000 {
		t.Errorf("events %v of %d ns, want %v of 1,961,327,938,000", counts, sum, want)
	}
}
