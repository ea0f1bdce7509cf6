package convert_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/timeline"
)

// Reconverting a conversion keeps the CPU times of overlapping slices, which then have separate tracks.
func TestThreadTimesOfOverlappingSlicesAgain(t *testing.T) {
	input := []byte(`[
		{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":10,"tts":100,"tdur":4},
		{"ph":"X","name":"b","pid":1,"tid":1,"ts":5,"dur":10,"tts":102,"tdur":6}]`)
	want := []string{"0: 100000", "5000: 102000", "10000: 104000", "15000: 108000"}
	for n := range 3 {
		tl, _, err := convert.Load(t.Context(), bytes.NewReader(input), convert.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer tl.Close()
		var got []string
		err = tl.Walk(t.Context(), func(it *timeline.Item) error {
			at, _ := it.ThreadTime.Nanos()
			got = append(got, fmt.Sprintf("%d: %d", it.TS, at))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("converted %d times, the trace has %q, want %q", n, got, want)
		}
		var out bytes.Buffer
		if _, err := convert.Convert(t.Context(), &out, bytes.NewReader(input), convert.Options{}); err != nil {
			t.Fatal(err)
		}
		input = out.Bytes()
	}
}
