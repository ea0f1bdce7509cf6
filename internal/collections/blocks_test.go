package collections

import (
	"runtime"
	"testing"

	"github.com/weft-trace/weft/internal/recording"
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

// A clipped list keeps its values, accepts more values, and has no more blocks than it needs.
func TestClip(t *testing.T) {
	for _, n := range []int{0, 1, firstBlock, blockLen - 1, blockLen, blockLen + 1} {
		var l List[int]
		for i := range 3 * blockLen {
			l.Append(i)
		}
		l.Truncate(n)
		l.Clip()
		if got, want := len(l.blocks), (n+blockLen-1)/blockLen; got != want {
			t.Errorf("%d blocks for %d values, want %d", got, n, want)
		}
		for l.Len() < 2*blockLen+1 {
			l.Append(l.Len())
		}
		for i, v := range l.All() {
			if *v != i {
				t.Fatalf("clipped to %d values: %d is at place %d", n, *v, i)
			}
		}
	}
}

// A list allocates no more memory than its values need.
func TestListIsNotHeldTwice(t *testing.T) {
	const n = 1 << 20
	var l List[int64]
	got, _ := recording.Allocated(func() {
		for i := range n {
			l.Append(int64(i))
		}
	})
	const size = n * 8
	if got > size+size/50 {
		t.Errorf("%d bytes were allocated for %d", got, size)
	}
	runtime.KeepAlive(&l)
}

// After Join, the values of the other list are in the blocks that follow the list's own.
func TestJoin(t *testing.T) {
	const added = blockLen + 3
	for _, n := range []int{0, 1, firstBlock, blockLen, blockLen + 1} {
		var l, other List[int]
		for i := range n {
			l.Append(i)
		}
		for i := range added {
			other.Append(-i)
		}
		shift := l.Join(&other)
		if shift < n || other.Len() != 0 {
			t.Fatalf("%d values: shift %d, %d values are left", n, shift, other.Len())
		}
		for i := range n {
			if *l.At(i) != i {
				t.Fatalf("%d values: %d at place %d", n, *l.At(i), i)
			}
		}
		for i := range added {
			if *l.At(i + shift) != -i {
				t.Fatalf("%d values: %d at place %d + %d", n, *l.At(i + shift), i, shift)
			}
		}
	}
}
