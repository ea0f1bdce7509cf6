package compare

import (
	"math"
	"testing"

	"github.com/weft-trace/weft/internal/timeline"
)

// Values computed by hand, from the number of ways to choose the first group.
func TestExact(t *testing.T) {
	for _, test := range []struct {
		name          string
		first, second []timeline.Nanos
		want          float64
	}{
		{"one against one says nothing", []timeline.Nanos{1}, []timeline.Nanos{2}, 1},
		{"two apart of two: 2 of 6 divisions", []timeline.Nanos{1, 2}, []timeline.Nanos{3, 4}, 2.0 / 6},
		{"three apart of three: 2 of 20", []timeline.Nanos{1, 2, 3}, []timeline.Nanos{10, 11, 12}, 2.0 / 20},
		{"four apart of four: 2 of 70", []timeline.Nanos{9, 8, 7, 6}, []timeline.Nanos{1, 2, 3, 4}, 2.0 / 70},
		{"five apart of five: 2 of 252", []timeline.Nanos{1, 2, 3, 4, 5}, []timeline.Nanos{6, 7, 8, 9, 10}, 2.0 / 252},
		// Rank sums of 3 of 1…6 are 6, 7, 8, 8, 9, 9, 9, 10, 10, 10 and these mirrored at 10.5: U = 1 has 2 of each side.
		{"one pair swapped: 4 of 20", []timeline.Nanos{1, 2, 4}, []timeline.Nanos{3, 5, 6}, 4.0 / 20},
		{"the middle: all of 20", []timeline.Nanos{1, 4, 5}, []timeline.Nanos{2, 3, 6}, 1},
		{"all are equal", []timeline.Nanos{5, 5, 5, 5}, []timeline.Nanos{5, 5, 5, 5}, 1},
		// Midranks 1.5, 1.5, 3.5, 3.5: of 6 pairs one has the sum 3, four have 5, one has 7.
		{"ties within groups", []timeline.Nanos{1, 1}, []timeline.Nanos{2, 2}, 2.0 / 6},
		// Midranks 1, 3, 3, 3, 5, 6 with the sum 7, which is 3.5 from the mean. Among the sums of three midranks, 7 occurs three
		// times (1 3 3) and 14 three times (3 5 6); the sums between these are 9 (four times), 10 (3), 11 (3) and 12 (4).
		{"ties across groups", []timeline.Nanos{1, 3, 3}, []timeline.Nanos{3, 4, 5}, 6.0 / 20},
		{"zeros where a function did not run", []timeline.Nanos{0, 0, 0, 0}, []timeline.Nanos{1, 2, 3, 4}, 2.0 / 70},
		{"sizes that differ: 2 of 9", []timeline.Nanos{1}, []timeline.Nanos{2, 3, 4, 5, 6, 7, 8, 9}, 2.0 / 9},
		{"extremes do not overflow", []timeline.Nanos{math.MinInt64, -1}, []timeline.Nanos{1, math.MaxInt64}, 2.0 / 6},
	} {
		tester := newRankTester(len(test.first), len(test.second))
		for range 2 { // the second time from the cache
			if got := tester.P(test.first, test.second); math.Abs(got-test.want) > 1e-12 {
				t.Errorf("%s: p = %v, want %v", test.name, got, test.want)
			}
		}
		if got := newRankTester(len(test.second), len(test.first)).P(test.second, test.first); math.Abs(got-test.want) > 1e-12 {
			t.Errorf("%s, groups swapped: p = %v, want %v", test.name, got, test.want)
		}
	}
}

// The p-value equals the result of an exhaustive search.
func TestAllDivisions(t *testing.T) {
	for _, values := range [][]timeline.Nanos{
		{3, 1, 4, 1, 5, 9, 2, 6}, {0, 0, 0, 7, 0, 0, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}, {2, 2, 2, 1, 1, 1, 3},
	} {
		for n := 1; n < len(values); n++ {
			got := newRankTester(n, len(values)-n).P(values[:n], values[n:])
			if want := tryAll(values, n); math.Abs(got-want) > 1e-12 {
				t.Errorf("%v, the first %d: p = %v, want %v", values, n, got, want)
			}
		}
	}
}

// tryAll counts divisions whose U is at least as far from its mean as the U of the first n values. It counts pairs and does not
// use ranks.
func tryAll(values []timeline.Nanos, n int) float64 {
	distance := func(chosen uint) int {
		u := 0 // twice U minus its mean
		for i, a := range values {
			for k, b := range values {
				if chosen>>i&1 == 1 && chosen>>k&1 == 0 {
					switch {
					case a > b:
						u++
					case a < b:
						u--
					}
				}
			}
		}
		return max(u, -u)
	}
	observed, as, all := distance(1<<n-1), 0, 0
	for chosen := range uint(1) << len(values) {
		size := 0
		for i := range values {
			size += int(chosen >> i & 1)
		}
		if size != n {
			continue
		}
		all++
		if distance(chosen) >= observed {
			as++
		}
	}
	return float64(as) / float64(all)
}

// For more measurements, a normal distribution is used, which is close to the exact distribution at the transition.
func TestApproximate(t *testing.T) {
	first, second := make([]timeline.Nanos, 20), make([]timeline.Nanos, 21)
	for i := range first {
		first[i] = timeline.Nanos(2 * i)
	}
	for i := range second {
		second[i] = timeline.Nanos(2*i + 9)
	}
	approximate := newRankTester(20, 21).P(first, second)
	exact := newRankTester(20, 20).P(first, second[:20])
	if approximate >= exact || approximate < exact/2 {
		t.Errorf("p of 41 values is %v, that of 40 is %v", approximate, exact)
	}
	// 50 against 50, separated: U = 0, mean 1250, variance 50·50·101/12, so z = 1249.5/145.057… = 8.6138…
	for i := range first {
		first[i] = 0
	}
	tester := newRankTester(50, 50)
	if got, want := tester.Smallest(), math.Erfc(1249.5/math.Sqrt(2500*101.0/12)/math.Sqrt2); math.Abs(got/want-1) > 1e-9 {
		t.Errorf("smallest p of 50 against 50 is %v, want %v", got, want)
	}
	equal := make([]timeline.Nanos, 50)
	if got := tester.P(equal, equal); got != 1 {
		t.Errorf("equal values have p = %v", got)
	}
}

func TestSmallest(t *testing.T) {
	for _, test := range []struct {
		first, second int
		want          float64
	}{{1, 1, 1}, {3, 3, 0.1}, {4, 4, 2.0 / 70}, {2, 8, 2.0 / 45}, {1, 39, 2.0 / 40}} {
		if got := newRankTester(test.first, test.second).Smallest(); math.Abs(got-test.want) > 1e-12 {
			t.Errorf("%d against %d: %v, want %v", test.first, test.second, got, test.want)
		}
	}
}
