package reportpage

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

const (
	microsecond = timeline.Microsecond
	millisecond = 1000 * microsecond
	second      = 1000 * millisecond
)

// length writes a length of time with the unit that suits it, to three digits.
func length(t timeline.Nanos) string {
	switch {
	case t < 0:
		return "−" + length(-t)
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
	return fmt.Sprintf("%s h %d min", table.Thousands(int64(t/(3600*second))), t/(60*second)%60)
}

// digits writes a number to three digits.
func digits(v float64) string {
	switch {
	case v < 9.995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 99.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return table.Separated(strconv.FormatFloat(v, 'f', 0, 64))
}

// moment writes a time since the start of a trace, as --from reads it without the space: in seconds, or milliseconds if the trace is short.
func (p *page) moment(t timeline.Nanos) string {
	unit, name := float64(second), " s"
	if p.all.End-p.all.Start < second {
		unit, name = float64(millisecond), " ms"
	}
	return table.Separated(strconv.FormatFloat(float64(t)/unit, 'f', 3, 64)) + name
}

// share writes a part of a whole as a percentage.
func share(part, whole timeline.Nanos) string {
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

// size writes a number of bytes.
func size(n int64) string {
	if n < 1<<10 {
		return table.Count(n, "byte")
	}
	v, units := float64(n)/(1<<10), []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	for v >= 1000 && len(units) > 1 {
		v, units = v/(1<<10), units[1:]
	}
	return digits(v) + " " + units[0]
}

// permille returns a part of a whole in thousandths, between 0 and 1000.
func permille(part, whole timeline.Nanos) int { return scaled(part, whole, 1000) }

// scaled returns which part of n a part of a whole is.
func scaled(part, whole timeline.Nanos, n int) int {
	if whole <= 0 {
		return 0
	}
	return int(min(max(float64(part)/float64(whole)*float64(n)+0.5, 0), float64(n)))
}

// percent writes a place in a whole for an attribute, with two decimals.
func percent(part, whole timeline.Nanos) markup {
	n := scaled(part, whole, 10000)
	text := strconv.Itoa(n/100) + "." + fmt.Sprintf("%02d", n%100)
	return markup(cmp.Or(strings.TrimRight(strings.TrimRight(text, "0"), "."), "0") + "%")
}
