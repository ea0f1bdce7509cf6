package main

import (
	"math"
	"testing"

	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

func TestThousands(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 7: "7", 999: "999", 1000: "1,000", -999: "-999", -1000: "-1,000", 123456: "123,456", 1234567: "1,234,567",
		math.MinInt64: "-9,223,372,036,854,775,808",
	} {
		if got := table.Thousands(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	if got := table.Thousands(uint64(math.MaxUint64)); got != "18,446,744,073,709,551,615" {
		t.Error(got)
	}
	for number, want := range map[string]string{"+1234.5678": "+1,234.5678", "0.001": "0.001", "-1000000.0": "-1,000,000.0", "123.456789": "123.456789"} {
		if got := table.Separated(number); got != want {
			t.Errorf("%s: %s, want %s", number, got, want)
		}
	}
	if got := table.Millis(1234567890123); got != "1,234,567.890" {
		t.Error(got)
	}
	if got := table.Count(1, "row") + ", " + table.Count(1000, "row"); got != "1 row, 1,000 rows" {
		t.Error(got)
	}
}

// --from and --to accept the times printed in columns.
func TestMomentText(t *testing.T) {
	for at, want := range map[timeline.Nanos]string{0: "0.000ms", 1: "0.000001ms", 250_000: "0.250ms", 1210997123: "1,210.997123ms", 3600 * 1e9: "3,600,000.000ms"} {
		if got := table.MomentText(at); got != want {
			t.Errorf("%d: %s, want %s", at, got, want)
		}
		read, err := selection.ParseMoment(want)
		if err != nil {
			t.Error(err)
		}
		if got, err := read.In(selection.Span{End: 3600 * 1e9}); got != at || err != nil {
			t.Errorf("%s is read as %d: %v", want, got, err)
		}
	}
	if got := table.MomentText(-1_000_000); got != "-1.000ms" {
		t.Error(got)
	}
}
