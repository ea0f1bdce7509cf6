package v8profile

import (
	"math"
	"slices"

	"github.com/weft-trace/weft/internal/timeline"
)

// This file turns points in time at which something was sampled into intervals: how far apart samples were meant to be, and how long
// each one stands for. The rules are C2 and C3 of docs/formats/jsprofile.md; reports apply them to every thread whose samples do not say
// how long they last.

const (
	// DefaultInterval is taken where no two samples are far enough apart to tell: what browsers take at the least.
	DefaultInterval timeline.Nanos = 10_000_000

	minGap   timeline.Nanos = 1_000_000 // shorter gaps are not a clock's, they come from extra samples
	binWidth timeline.Nanos = 500_000

	// maxIntervals is the number of intervals that a sample may represent.
	maxIntervals = 5
)

// SampleInterval returns the interval at which samples were taken, from the gaps between one and the next in time: the median
// of the fullest bin of half a millisecond, of equally full ones the later (C2). It is false if no gap is long enough.
// The gaps are reordered.
//
// The median of all gaps would be wrong: browsers take extra samples when the code of a page changes, which in a busy
// page are most of all samples.
func SampleInterval(gaps []timeline.Nanos) (timeline.Nanos, bool) {
	gaps = slices.DeleteFunc(gaps, func(g timeline.Nanos) bool { return g < minGap })
	if len(gaps) == 0 {
		return 0, false
	}
	slices.Sort(gaps)
	first, last := 0, 0
	for i := 0; i < len(gaps); {
		j := i + 1
		for j < len(gaps) && bin(gaps[j]) == bin(gaps[i]) {
			j++
		}
		if j-i >= last-first {
			first, last = i, j
		}
		i = j
	}
	return median(gaps[first:last]), true
}

// bin returns the number of the bin whose middle is nearest.
func bin(gap timeline.Nanos) timeline.Nanos {
	return gap/binWidth + (gap%binWidth+binWidth/2)/binWidth // in two parts, which cannot overflow
}

// median returns the median of sorted values, of an even number the mean of the middle two, rounded half up.
func median(sorted []timeline.Nanos) timeline.Nanos {
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	low, high := sorted[middle-1], sorted[middle]
	return low + (high-low+1)/2
}

// SampleLength returns how long a sample stands for what it saw, if the next one follows after gap: until then, or one
// interval if gap is more than five of them; the rest of it is not covered (C3).
func SampleLength(gap, interval timeline.Nanos) (length, uncovered timeline.Nanos) {
	if interval <= math.MaxInt64/maxIntervals && gap > maxIntervals*interval {
		return interval, gap - interval
	}
	return gap, 0
}
