package report

import (
	"math/bits"

	"github.com/weft-trace/weft/internal/timeline"
)

// Histogram counts lengths in bins that are a quarter of a power of two wide: from 4 ns on, they start at 1, 1.25, 1.5 and 1.75
// times each power. It contains the nonempty bins, shortest lengths first.
type Histogram []HistogramBin

// HistogramBin counts the lengths from LeastOf(Bin) up to the start of the next bin.
type HistogramBin struct {
	Bin   int
	Count int64
}

// BinOf returns the number of the bin for a length.
func BinOf(length timeline.Nanos) int {
	if length < 4 {
		return int(max(length, 0))
	}
	shift := bits.Len64(uint64(length)) - 3
	return 4*shift + int(length>>shift)
}

// LeastOf returns the shortest length in a bin.
func LeastOf(bin int) timeline.Nanos {
	if bin < 8 {
		return timeline.Nanos(bin)
	}
	return timeline.Nanos(4+bin%4) << (bin/4 - 1)
}

// Add counts a length. Lengths must be added in ascending order.
func (h *Histogram) Add(length timeline.Nanos) {
	bin := BinOf(length)
	if n := len(*h); n > 0 && (*h)[n-1].Bin == bin {
		(*h)[n-1].Count++
		return
	}
	*h = append(*h, HistogramBin{bin, 1})
}
