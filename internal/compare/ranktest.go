package compare

import (
	"cmp"
	"math"
	"slices"

	"github.com/weft-trace/weft/internal/timeline"
)

// maxExactRanks is the total number of measurements up to which p-values are exact.
const maxExactRanks = 40

// maxCached bounds the number of distributions that a rankTester caches.
const maxCached = 1024

// rankTester is the Mann–Whitney U test, also called the Wilcoxon rank-sum test: if measurements were assigned to two groups at
// random, how often would the groups differ at least as much as they do?
//
// It compares ranks, so it makes no assumption about the distribution of measurements and is robust against outliers. Equal values
// share the mean of their ranks (midranks).
//
// The p-value of up to maxExactRanks measurements is exact, also with ties. The measurements can be divided into two groups of
// these sizes in many ways; the p-value is the share of the divisions whose rank sum is at least as far from the mean rank sum as
// the observed rank sum, in either direction. Sums are counted as in B. Streitberg and J. Röhmel, "Exact distributions for
// permutation and rank tests", Statistical Software Newsletter 12 (1986): the number of ways to choose k of the first i ranks
// with sum s is the number without the i-th plus the number with it. For more measurements, the rank sum is compared with a
// normal distribution of the same mean and variance, with corrections for ties and continuity, as in E. L. Lehmann,
// "Nonparametrics: Statistical Methods Based on Ranks" (1975), section 1.4.
//
// A rankTester tests groups of two given sizes. The zero rankTester is not usable. It caches distributions and is not safe for
// concurrent use.
type rankTester struct {
	first, all int
	cache      map[string][]float64

	order []int // buffers
	ranks []int
}

// newRankTester returns a tester for groups of the given sizes, which must be at least 1.
func newRankTester(first, second int) *rankTester {
	return &rankTester{first: first, all: first + second, cache: map[string][]float64{}}
}

// Smallest returns the smallest p-value that is possible with these sizes. It occurs if the groups do not overlap.
func (t *rankTester) Smallest() float64 {
	values := make([]timeline.Nanos, t.all)
	for i := range values {
		values[i] = timeline.Nanos(i)
	}
	return t.P(values[:t.first], values[t.first:])
}

// P returns the two-sided p-value: the probability that a difference at least as large as the one between the groups occurs by
// chance. The groups must have the sizes passed to newRankTester.
func (t *rankTester) P(first, second []timeline.Nanos) float64 {
	sum, tied := t.rank(first, second)
	if tied == cube(t.all) {
		return 1 // all are equal
	}
	distance := math.Abs(float64(sum - t.first*(t.all+1)))
	if t.all > maxExactRanks {
		return t.approximate(distance, tied)
	}
	extreme, all := 0.0, 0.0 // integers
	for s, n := range t.distribution() {
		all += n
		if math.Abs(float64(s-t.first*(t.all+1))) >= distance {
			extreme += n
		}
	}
	return extreme / all
}

// rank computes the sorted ranks of all values, doubled so that midranks are integers. It returns the sum of the ranks of the first
// group, and the sum of n³−n over all sets of n equal values.
func (t *rankTester) rank(first, second []timeline.Nanos) (sum, tied int) {
	at := func(i int) timeline.Nanos {
		if i < len(first) {
			return first[i]
		}
		return second[i-len(first)]
	}
	t.order, t.ranks = t.order[:0], t.ranks[:0]
	for i := range t.all {
		t.order = append(t.order, i)
	}
	slices.SortFunc(t.order, func(a, b int) int { return cmp.Compare(at(a), at(b)) })
	for from := 0; from < t.all; {
		to := from + 1
		for to < t.all && at(t.order[to]) == at(t.order[from]) {
			to++
		}
		tied += cube(to - from)
		for _, i := range t.order[from:to] {
			rank := from + to + 1 // twice the mean of from+1 … to
			t.ranks = append(t.ranks, rank)
			if i < len(first) {
				sum += rank
			}
		}
		from = to
	}
	return sum, tied
}

func cube(n int) int { return n*n*n - n }

// distribution returns the number of ways in which the doubled ranks of the first group can add up to each sum.
func (t *rankTester) distribution() []float64 {
	key := make([]byte, 0, maxExactRanks)
	for _, rank := range t.ranks {
		key = append(key, byte(rank)) // at most 2·maxExactRanks
	}
	if ways, ok := t.cache[string(key)]; ok {
		return ways
	}
	largest := 0
	for _, rank := range t.ranks[t.all-t.first:] {
		largest += rank
	}
	// ways[k][s] is the number of choices of k ranks with the sum s, among the ranks already handled. The largest number, for 20
	// of 40 ranks, is below 2^38.
	ways := make([][]float64, t.first+1)
	for k := range ways {
		ways[k] = make([]float64, largest+1)
	}
	ways[0][0] = 1
	for _, rank := range t.ranks {
		for k := t.first; k > 0; k-- {
			for s := largest; s >= rank; s-- {
				ways[k][s] += ways[k-1][s-rank]
			}
		}
	}
	if len(t.cache) < maxCached {
		t.cache[string(key)] = ways[t.first]
	}
	return ways[t.first]
}

// approximate returns the p-value from a normal distribution; distance is the difference between the sum of doubled ranks and its
// mean.
func (t *rankTester) approximate(distance float64, tied int) float64 {
	n, m, all := float64(t.first), float64(t.all-t.first), float64(t.all)
	variance := n * m / 12 * (all + 1 - float64(tied)/(all*(all-1)))
	z := max(distance/2-0.5, 0) / math.Sqrt(variance)
	return math.Erfc(z / math.Sqrt2)
}
