package v8profile

import (
	"math"
	"testing"

	"github.com/weft-trace/weft/internal/timeline"
)

func TestInterval(t *testing.T) {
	const ms = timeline.Nanos(1_000_000)
	tests := []struct {
		name string
		gaps []timeline.Nanos
		want timeline.Nanos
	}{
		{"regular", []timeline.Nanos{10 * ms, 10 * ms, 10 * ms}, 10 * ms},
		{"extra_samples_do_not_count", []timeline.Nanos{0, 5, ms - 1, ms - 1, ms - 1, 9 * ms}, 9 * ms},
		{"one_millisecond_counts", []timeline.Nanos{ms}, ms},
		// 9.75 ms and 10.25 ms - 1 ns are the limits of the bin around 10 ms.
		{"fullest_bin", []timeline.Nanos{4 * ms, 4 * ms, 9_750_000, 10 * ms, 10_249_999}, 10 * ms},
		{"bin_ends", []timeline.Nanos{9_749_999, 10_250_000, 20 * ms, 20 * ms}, 20 * ms},
		{"tie_takes_the_later", []timeline.Nanos{30 * ms, 20 * ms, 20 * ms, 30 * ms, 40 * ms}, 30 * ms},
		{"even_count_rounds_half_up", []timeline.Nanos{10 * ms, 10*ms + 5}, 10*ms + 3},
		{"longest", []timeline.Nanos{math.MaxInt64, math.MaxInt64}, math.MaxInt64},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got, ok := SampleInterval(test.gaps); !ok || got != test.want {
				t.Errorf("Interval = %d, %v; want %d", got, ok, test.want)
			}
		})
	}
	for _, gaps := range [][]timeline.Nanos{nil, {0, ms - 1}} {
		if got, ok := SampleInterval(gaps); ok {
			t.Errorf("Interval(%v) = %d; want none", gaps, got)
		}
	}
}

func TestLength(t *testing.T) {
	tests := []struct{ gap, interval, length, uncovered timeline.Nanos }{
		{0, 10, 0, 0},
		{7, 10, 7, 0},
		{50, 10, 50, 0},
		{51, 10, 10, 41},
		{math.MaxInt64, 10, 10, math.MaxInt64 - 10},
		{math.MaxInt64, math.MaxInt64 / 2, math.MaxInt64, 0}, // five of these overflow
	}
	for _, test := range tests {
		length, uncovered := SampleLength(test.gap, test.interval)
		if length != test.length || uncovered != test.uncovered {
			t.Errorf("Length(%d, %d) = %d, %d; want %d, %d", test.gap, test.interval, length, uncovered, test.length, test.uncovered)
		}
	}
}
