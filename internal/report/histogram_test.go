package report

import (
	"math"
	"testing"

	"github.com/weft-trace/weft/internal/timeline"
)

// Bins follow each other without gaps, and from 4 ns on, none is wider than a quarter of its start.
func TestHistogramBins(t *testing.T) {
	for bin := range BinOf(math.MaxInt64) {
		from, to := LeastOf(bin), LeastOf(bin+1)
		if to <= from || BinOf(from) != bin || BinOf(to-1) != bin || BinOf(to) != bin+1 || from >= 4 && to-from > from/4 {
			t.Errorf("bin %d is from %d to %d", bin, from, to)
		}
	}
	if got := BinOf(-1); got != 0 {
		t.Errorf("a negative length is in bin %d", got)
	}
	var h Histogram
	for _, length := range []timeline.Nanos{5, 1000, 1001, 1_000_000} {
		h.Add(length)
	}
	if len(h) != 3 || h[1].Count != 2 {
		t.Errorf("%v", h)
	}
}
