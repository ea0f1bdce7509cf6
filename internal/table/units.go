package table

import (
	"fmt"
	"strconv"

	"github.com/weft-trace/weft/internal/timeline"
)

const (
	microsecond = timeline.Microsecond
	millisecond = 1000 * microsecond
	second      = 1000 * millisecond
)

// Length formats a length of time for a sentence: with a suitable unit and three digits.
func Length(t timeline.Nanos) string {
	switch {
	case t < 0:
		return "−" + Length(-t)
	case t < microsecond:
		return fmt.Sprintf("%d ns", int64(t))
	case t < millisecond:
		return digits(float64(t)/1e3) + " µs"
	case t < second:
		return digits(float64(t)/1e6) + " ms"
	case t < 600*second:
		return digits(float64(t)/1e9) + " s"
	case t < 36000*second:
		return fmt.Sprintf("%d min %d s", t/(60*second), t/second%60)
	}
	return fmt.Sprintf("%s h %d min", Thousands(int64(t/(3600*second))), t/(60*second)%60)
}

// digits formats a number with three digits.
func digits(v float64) string {
	switch {
	case v < 9.995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 99.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return Separated(strconv.FormatFloat(v, 'f', 0, 64))
}

// Percent formats a share as a percentage, for a sentence.
func Percent(part, whole timeline.Nanos) string {
	if whole <= 0 {
		return "–"
	}
	switch v := float64(part) / float64(whole) * 100; {
	case part <= 0:
		return "0 %"
	case v < 0.1:
		return "< 0.1 %"
	case v < 9.95:
		return strconv.FormatFloat(v, 'f', 1, 64) + " %"
	default:
		return strconv.FormatFloat(v, 'f', 0, 64) + " %"
	}
}

// Size formats a number of bytes, for a sentence.
func Size(n int64) string {
	if n < 1<<10 {
		return Count(n, "byte")
	}
	v, units := float64(n)/(1<<10), []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	for v >= 1000 && len(units) > 1 {
		v, units = v/(1<<10), units[1:]
	}
	return digits(v) + " " + units[0]
}
