package collections

import (
	"iter"
	"slices"
)

// List is a list of values in blocks, for what grows while an input is read. A slice that grows moves, and is held twice for that
// moment; a List stays where it is, so that it takes no more memory than its values. The zero List is empty.
type List[T any] struct {
	blocks [][]T // of blockLen values each; the first grows up to that
	n      int
}

const (
	blockBits  = 12
	blockLen   = 1 << blockBits
	firstBlock = 64
)

// Len returns the number of values.
func (l *List[T]) Len() int { return l.n }

// At returns the value at a place, which has to be there. It may be changed.
func (l *List[T]) At(i int) *T { return &l.blocks[i>>blockBits][i&(blockLen-1)] }

// Append adds a value.
func (l *List[T]) Append(v T) { *l.Next() = v }

// Next adds a value and returns its place, which may hold anything.
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

// Join takes over the values of another list, which is empty then. They are at their places plus shift: those in between,
// after the values that l had, hold nothing.
func (l *List[T]) Join(other *List[T]) (shift int) {
	shift = len(l.blocks) << blockBits
	l.blocks, l.n = append(l.blocks, other.blocks...), shift+other.n
	*other = List[T]{}
	return shift
}

// Truncate keeps the first n values, of which there have to be so many. The memory of the others is kept for more.
func (l *List[T]) Truncate(n int) { l.n = n }

// Clip frees the memory that is kept for more values.
func (l *List[T]) Clip() { l.blocks = slices.Clone(l.blocks[:(l.n+blockLen-1)>>blockBits]) }

// All goes through the places and values of the list in order.
func (l *List[T]) All() iter.Seq2[int, *T] {
	return func(yield func(int, *T) bool) {
		for i := range l.n {
			if !yield(i, l.At(i)) {
				return
			}
		}
	}
}
