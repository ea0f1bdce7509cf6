package report

import (
	"math"

	"github.com/weft-trace/weft/internal/timeline"
)

// hasEnd reports whether the input has an end for a slice: others have none: weft closed them, or they never end.
func hasEnd(it *timeline.Head) bool { return it.Dur != timeline.NoTime && !it.DidNotEnd }

// endOf returns when a slice ends that does.
func endOf(it *timeline.Head) timeline.Nanos { return it.TS + min(it.Dur, math.MaxInt64-max(it.TS, 0)) }
