package verdict

import "github.com/weft-trace/weft/internal/timeline"

// Rating grades a number by a public threshold.
type Rating string

// The ratings; "" for numbers without a threshold.
const (
	Good Rating = "good"
	Fair Rating = "fair"
	Poor Rating = "poor"
)

const millisecond = 1000 * timeline.Microsecond

// thresholds holds the longest good time and the longest time that is not poor.
type thresholds struct{ good, poor timeline.Nanos }

// The thresholds of Core Web Vitals, and of Lighthouse for the blocking time.
var (
	largestPaint = thresholds{2500 * millisecond, 4000 * millisecond}
	firstPaint   = thresholds{1800 * millisecond, 3000 * millisecond}
	interaction  = thresholds{200 * millisecond, 500 * millisecond}
	blocking     = thresholds{200 * millisecond, 600 * millisecond}
)

// The thresholds of the cumulative layout shift.
const (
	goodShift = 0.1
	poorShift = 0.25
)

func (t thresholds) rate(v timeline.Nanos) Rating {
	switch {
	case v <= t.good:
		return Good
	case v <= t.poor:
		return Fair
	}
	return Poor
}

func rateShift(score float64) Rating {
	switch {
	case score <= goodShift:
		return Good
	case score <= poorShift:
		return Fair
	}
	return Poor
}
