package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/moment"
	"github.com/weft-trace/weft/internal/timeline"
)

// integer is what people count with.
type integer interface {
	~int | ~int64 | ~uint64
}

// thousands writes a number with commas between thousands, as text for people has all its numbers; JSON and CSV have none.
func thousands[N integer](n N) string { return separated(fmt.Sprint(n)) }

// separated puts commas between the thousands of a decimal number, which may have a sign and decimals.
func separated(number string) string {
	whole, decimals := number, ""
	if at := strings.IndexByte(number, '.'); at >= 0 {
		whole, decimals = number[:at], number[at:]
	}
	sign := len(whole) - len(strings.TrimLeft(whole, "+-"))
	for i := len(whole) - 3; i > sign; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	return whole + decimals
}

// countText says how many there are of what has a name for one and a name for many.
func countText[N integer](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return thousands(n) + " " + many
}

// count says how many there are of what has a regular plural.
func count[N integer](n N, what string) string { return countText(n, what, what+"s") }

// millis writes a time as milliseconds with three decimals and without unit, for columns that name it.
func millis(t timeline.Nanos) string {
	return separated(strconv.FormatFloat(float64(t)/1e6, 'f', 3, 64))
}

// rounded returns how many units a length of time is.
func rounded(t timeline.Nanos, unit int64) int64 {
	n := int64(t) / unit
	if int64(t)%unit >= unit/2 {
		n++
	}
	return n
}

// milliText writes milliseconds with one decimal, three where that would be nothing.
func milliText(t timeline.Nanos) string {
	if t < 10*1000*1000 {
		return fmt.Sprintf("%.3f ms", float64(t)/1e6)
	}
	tenths := rounded(t, 1e5)
	return fmt.Sprintf("%s.%d ms", thousands(tenths/10), tenths%10)
}

// lengthText writes a length of time with a unit that suits it.
func lengthText(t timeline.Nanos) string {
	switch {
	case t >= 100*1000*1000*1000:
		return thousands(rounded(t, 1e9)) + " s"
	case t >= 1000*1000*1000:
		return fmt.Sprintf("%.3g s", float64(t)/1e9)
	}
	return milliText(t)
}

// momentText writes a time since the start of a trace, for columns of them, as --from and --to read it.
func momentText(t timeline.Nanos) string { return separated(moment.Column(t)) }
