package producers

import (
	"math"
	"testing"

	"github.com/weft-trace/weft/internal/timeline"
)

// A number that is out of range yields no time rather than 0.
func TestNanos(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want timeline.Nanos
		ok   bool
	}{
		{1.5, 1_500_000, true}, {0, 0, true}, {1_789_999_000_123.25, 1_789_999_000_123_250_000, true},
		{1e300, 0, false}, {-1e300, 0, false}, {math.Inf(1), 0, false}, {math.NaN(), 0, false}, {3e12, 0, false},
	} {
		if got, ok := nanos(c.v, 1e6); got != c.want || ok != c.ok {
			t.Errorf("%v: %d, %v", c.v, got, ok)
		}
	}
}
