package collections

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestHeap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	h := NewHeap(func(a, b *int) bool { return *a < *b })
	var want []int
	for range 2000 {
		switch n := r.IntN(100); {
		case h.Len() > 0 && r.IntN(4) == 0:
			if got := h.Pop(); got != want[0] {
				t.Fatalf("Pop() = %d, want %d", got, want[0])
			}
			want = want[1:]
		case h.Len() > 0 && r.IntN(4) == 0:
			*h.Top(), want[0] = n, n
			h.Fix()
		default:
			h.Push(n)
			want = append(want, n)
		}
		slices.Sort(want)
		if h.Len() != len(want) || h.Len() > 0 && *h.Top() != want[0] {
			t.Fatalf("%d items, want %d", h.Len(), len(want))
		}
	}
}
