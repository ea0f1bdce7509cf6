package collections

import (
	"iter"
	"slices"
)

// List is a list of values in blocks, for data that grows while an input is read. A growing slice is copied, and briefly needs
// twice its memory; a List does not move its values and needs no more memory than its values. The zero List is empty.
type List[T any] struct {
	blocks [][]T // blocks of blockLen values each; the first grows to that size
	n      int
}

const (
	blockBits  = 12
	blockLen   = 1 << blockBits
	firstBlock = 64
)

// Len returns the number of values.
func (l *List[T]) Len() int { return l.n }

// At returns the value at index i, which must be in range, for reading or writing.
func (l *List[T]) At(i int) *T { return &l.blocks[i>>blockBits][i&(blockLen-1)] }

// Append adds a value.
func (l *List[T]) Append(v T) { *l.Next() = v }

// Next adds a value with unspecified contents and returns it.
func (l *List[T]) Next() *T {
	i, k := l.n>>blockBits, l.n&(blockLen-1)
	switch {
	case i < len(l.blocks) && k < len(l.blocks[i]):
	case k > 0:
		l.blocks[i] = append(l.blocks[i], make([]T, k)...)
	case i == 0:
		l.blocks = append(l.blocks, make([]T, firstBlock))
	default:
		l.blocks = append(l.blocks, make([]T, blockLen))
	}
	l.n++
	return &l.blocks[i][k]
}

// Join moves the values of other to the end of l and empties other. Their indexes increase by shift; the values in the gap are
// unspecified.
func (l *List[T]) Join(other *List[T]) (shift int) {
	shift = len(l.blocks) << blockBits
	l.blocks, l.n = append(l.blocks, other.blocks...), shift+other.n
	*other = List[T]{}
	return shift
}

// Truncate keeps the first n values, where n is at most Len. The memory of the other values is kept for reuse.
func (l *List[T]) Truncate(n int) { l.n = n }

// Clip frees memory that was kept for reuse.
func (l *List[T]) Clip() { l.blocks = slices.Clone(l.blocks[:(l.n+blockLen-1)>>blockBits]) }

// All iterates over the indexes and values in order.
func (l *List[T]) All() iter.Seq2[int, *T] {
	return func(yield func(int, *T) bool) {
		for i := range l.n {
			if !yield(i, l.At(i)) {
				return
			}
		}
	}
}
