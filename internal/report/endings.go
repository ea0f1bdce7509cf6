package report

import (
	"math"

	"github.com/weft-trace/weft/internal/timeline"
)

// hasEnd reports whether the input records the end of a slice. Other slices never end, or weft closed them.
func hasEnd(it *timeline.Head) bool { return it.Dur != timeline.NoTime && !it.DidNotEnd }

// endOf returns the end of a slice for which hasEnd is true.
func endOf(it *timeline.Head) timeline.Nanos { return it.TS + min(it.Dur, math.MaxInt64-max(it.TS, 0)) }
