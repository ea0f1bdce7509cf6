package main

import (
	"fmt"

	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

// Names in text output are cut to maxName columns or, where there is little room, to no less than minTextWidth.
const (
	maxName      = report.MaxName
	minTextWidth = 16
)

// rounded returns a duration as a number of units, rounded to the nearest integer.
func rounded(t timeline.Nanos, unit int64) int64 {
	n := int64(t) / unit
	if int64(t)%unit >= unit/2 {
		n++
	}
	return n
}

// milliText formats a duration in milliseconds with one decimal, or three below 10 ms.
func milliText(t timeline.Nanos) string {
	if t < 10*1000*1000 {
		return fmt.Sprintf("%.3f ms", float64(t)/1e6)
	}
	tenths := rounded(t, 1e5)
	return fmt.Sprintf("%s.%d ms", table.Thousands(tenths/10), tenths%10)
}

// lengthText formats a duration in a suitable unit.
func lengthText(t timeline.Nanos) string {
	switch {
	case t >= 100*1000*1000*1000:
		return table.Thousands(rounded(t, 1e9)) + " s"
	case t >= 1000*1000*1000:
		return fmt.Sprintf("%.3g s", float64(t)/1e9)
	}
	return milliText(t)
}
