package main

import (
	"fmt"

	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

// Names in lines for people have at most maxName characters of the terminal; where there is little room, at least minTextWidth.
const (
	maxName      = report.MaxName
	minTextWidth = 16
)

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
	return fmt.Sprintf("%s.%d ms", table.Thousands(tenths/10), tenths%10)
}

// lengthText writes a length of time with a unit that suits it.
func lengthText(t timeline.Nanos) string {
	switch {
	case t >= 100*1000*1000*1000:
		return table.Thousands(rounded(t, 1e9)) + " s"
	case t >= 1000*1000*1000:
		return fmt.Sprintf("%.3g s", float64(t)/1e9)
	}
	return milliText(t)
}
