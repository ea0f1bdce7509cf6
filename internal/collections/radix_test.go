package collections

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSortBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ n, low, high int }{
		{0, 0, 64}, {1, 0, 64}, {5000, 0, 64}, {5000, 13, 64}, {5000, 13, 14}, {5000, 13, 24}, {5000, 13, 25}, {5000, 20, 20}, {3, 2, 47},
	} {
		t.Run(fmt.Sprintf("%d numbers, bits %d to %d", c.n, c.low, c.high), func(t *testing.T) {
			keys := make([]uint64, c.n)
			for i := range keys {
				keys[i] = rng.Uint64()
			}
			by := func(k uint64) uint64 { // the bits that are compared
				if c.high < 64 {
					k &= 1<<c.high - 1
				}
				return k >> c.low
			}
			want := slices.Clone(keys)
			slices.SortStableFunc(want, func(a, b uint64) int {
				switch x, y := by(a), by(b); {
				case x < y:
					return -1
				case x > y:
					return 1
				}
				return 0
			})
			if got, _ := sortBits(keys, make([]uint64, c.n), c.low, c.high); !slices.Equal(got, want) {
				t.Errorf("not the order of a stable sort by these bits")
			}
		})
	}
}

// Items are ordered by number, and items with equal numbers stay in index order; a RadixOrder can be reused.
func TestOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var o RadixOrder
	for _, c := range []struct {
		n    int
		span uint64 // range of the numbers
		fits bool
	}{
		{0, 1, true}, {1, math.MaxUint64, true}, {2, 1 << 63, true}, {2, math.MaxUint64, false}, {1000, 1, true}, {1000, 50, true}, {1000, 1 << 54, true},
		{1000, 1 << 55, false}, {3, 1 << 40, true}, {1024, 1 << 54, true}, {1025, 1 << 54, false},
	} {
		t.Run(fmt.Sprintf("%d of %d numbers", c.n, c.span), func(t *testing.T) {
			base := math.MaxUint64 - (c.span - 1) // far from 0: only the distance between the numbers matters
			numbers := make([]uint64, c.n)
			want := make([]int, c.n)
			for i := range numbers {
				numbers[i], want[i] = base+rng.Uint64N(c.span), i
			}
			if c.n > 1 {
				numbers[c.n/2], numbers[0] = base, base+c.span-1
			}
			slices.SortStableFunc(want, func(i, j int) int { return cmp.Compare(numbers[i], numbers[j]) })
			copy(o.Numbers(c.n), numbers)
			if ok := o.Sort(); ok != c.fits {
				t.Fatalf("sorted: %v, want %v", ok, c.fits)
			}
			if !c.fits {
				return
			}
			if o.Len() != c.n {
				t.Errorf("%d things, want %d", o.Len(), c.n)
			}
			for i := range o.Len() {
				if o.Place(i) != want[i] {
					t.Fatalf("%d. is %d, want %d", i, o.Place(i), want[i])
				}
				if i > 0 && o.Same(i-1, i) != (numbers[want[i-1]] == numbers[want[i]]) {
					t.Errorf("%d. and %d. have one number: %v", i-1, i, o.Same(i-1, i))
				}
			}
		})
	}
}

// RadixKey preserves the order of signed numbers.
func TestKeyOf(t *testing.T) {
	for _, n := range [][2]int64{{math.MinInt64, -1}, {-2, -1}, {-1, 0}, {0, 1}, {1, math.MaxInt64}} {
		if RadixKey(n[0]) >= RadixKey(n[1]) {
			t.Errorf("%d is not before %d", n[0], n[1])
		}
	}
}

// The numbers resemble the records of extsort and timeline: a mostly ascending key above an index.
func BenchmarkSortBits(b *testing.B) {
	const n, low = 1 << 19, 19
	rng := rand.New(rand.NewPCG(1, 2))
	from := make([]uint64, n)
	for i := range from {
		from[i] = uint64(i+rng.IntN(100))<<low | uint64(i)
	}
	keys, other := make([]uint64, n), make([]uint64, n)
	b.Run("radix", func(b *testing.B) {
		for b.Loop() {
			copy(keys, from)
			sortBits(keys, other, low, low+20)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/key")
	})
	b.Run("slices", func(b *testing.B) {
		for b.Loop() {
			copy(keys, from)
			slices.Sort(keys)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/key")
	})
}
