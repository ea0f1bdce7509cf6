package blocks

import (
	"runtime"
	"testing"
)

func TestList(t *testing.T) {
	var l List[int]
	for _, n := range []int{0, 1, firstBlock, firstBlock + 1, blockLen - 1, blockLen, blockLen + 1, 3*blockLen + 7} {
		for l.Len() < n {
			l.Append(l.Len() * 3)
		}
		next := 0
		for i, v := range l.All() {
			if i != next || *v != i*3 {
				t.Fatalf("of %d values, %d comes at place %d with %d", n, next, i, *v)
			}
			next++
		}
		if next != n {
			t.Fatalf("%d values of %d", next, n)
		}
	}
	for i := range l.All() {
		if i == 5 {
			break
		}
	}
	l.Truncate(2)
	l.Append(-1)
	*l.At(0) = 7
	if l.Len() != 3 || *l.At(0) != 7 || *l.At(1) != 3 || *l.At(2) != -1 {
		t.Errorf("%d values: %d, %d, %d", l.Len(), *l.At(0), *l.At(1), *l.At(2))
	}
}

// What a list allocates is what it holds.
func TestListIsNotHeldTwice(t *testing.T) {
	const n = 1 << 20
	var before, after runtime.MemStats
	var l List[int64]
	runtime.ReadMemStats(&before)
	for i := range n {
		l.Append(int64(i))
	}
	runtime.ReadMemStats(&after)
	const held = n * 8
	if got := after.TotalAlloc - before.TotalAlloc; got > held+held/50 {
		t.Errorf("%d bytes were allocated for %d", got, held)
	}
	runtime.KeepAlive(&l)
}
