package v8profile

import (
	"math"
	"slices"

	"github.com/weft-trace/weft/internal/timeline"
)

// This file turns the times of samples into intervals: the intended interval between samples, and the duration of each
// sample. The rules are C2 and C3 of docs/formats/jsprofile.md; reports apply them to every thread whose samples have no
// duration.

const (
	// DefaultInterval is used where the gaps between samples are too short. It is the shortest interval in browsers.
	DefaultInterval timeline.Nanos = 10_000_000

	minGap   timeline.Nanos = 1_000_000 // shorter gaps come from extra samples
	binWidth timeline.Nanos = 500_000

	// maxIntervals is the maximum number of intervals that a sample may represent.
	maxIntervals = 5
)

// SampleInterval returns the interval between samples. It divides the gaps between consecutive samples into bins of half a
// millisecond, and returns the median of the fullest bin or, of equally full bins, the one with the longest gaps (C2). It returns
// false if no gap is long enough. It reorders gaps.
//
// The median of all gaps would be wrong: browsers take extra samples when the code of a page changes; in a busy page
// these can be the majority.
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

// bin returns the number of the bin whose middle is nearest to a gap.
func bin(gap timeline.Nanos) timeline.Nanos {
	return gap/binWidth + (gap%binWidth+binWidth/2)/binWidth // in two parts, which cannot overflow
}

// median returns the median of sorted values. For an even count it is the mean of the middle two, rounded half up.
func median(sorted []timeline.Nanos) timeline.Nanos {
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	low, high := sorted[middle-1], sorted[middle]
	return low + (high-low+1)/2
}

// SampleLength returns the duration of a sample, given the gap before the next sample. It is the gap, but one interval if the gap
// exceeds five intervals; the rest of the gap is then uncovered (C3).
func SampleLength(gap, interval timeline.Nanos) (length, uncovered timeline.Nanos) {
	if interval <= math.MaxInt64/maxIntervals && gap > maxIntervals*interval {
		return interval, gap - interval
	}
	return gap, 0
}
