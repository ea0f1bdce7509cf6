package radix

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSort(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ n, low, high int }{
		{0, 0, 64}, {1, 0, 64}, {5000, 0, 64}, {5000, 13, 64}, {5000, 13, 14}, {5000, 13, 24}, {5000, 13, 25}, {5000, 20, 20}, {3, 2, 47},
	} {
		t.Run(fmt.Sprintf("%d numbers, bits %d to %d", c.n, c.low, c.high), func(t *testing.T) {
			keys := make([]uint64, c.n)
			for i := range keys {
				keys[i] = rng.Uint64()
			}
			by := func(k uint64) uint64 { // the bits that count
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
			if got, _ := Sort(keys, make([]uint64, c.n), c.low, c.high); !slices.Equal(got, want) {
				t.Errorf("not the order of a stable sort by these bits")
			}
		})
	}
}

// Numbers as extsort and timeline have them: a key that mostly ascends above a place.
func BenchmarkSort(b *testing.B) {
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
			Sort(keys, other, low, low+20)
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
