package attribution

import (
	"encoding/binary"
	"slices"
)

// lists interns lists of values: equal lists have the same number; the empty list has number 0.
type lists[E ~uint32] struct {
	values   []E      // of all lists, concatenated
	ends     []uint32 // by number
	index    index
	key      []byte
	maxCount int // lists
	maxTotal int // values
}

func newLists[E ~uint32](maxCount, maxTotal int) lists[E] {
	return lists[E]{ends: make([]uint32, 1), maxCount: maxCount, maxTotal: maxTotal}
}

// Len returns the number of lists, including the empty one.
func (l *lists[E]) Len() int { return len(l.ends) }

// At returns the list with the given number. It must not be changed.
func (l *lists[E]) At(number uint32) []E {
	if number == 0 {
		return nil
	}
	return l.values[l.ends[number-1]:l.ends[number]:l.ends[number]]
}

// Intern returns the number of a list, or 0 and false if the list exceeds the limits.
func (l *lists[E]) Intern(list []E) (uint32, bool) {
	if len(list) == 0 {
		return 0, true
	}
	l.key = l.key[:0]
	for _, e := range list {
		l.key = binary.LittleEndian.AppendUint32(l.key, uint32(e))
	}
	hash := l.index.Hash(l.key)
	if number := l.index.Find(hash, func(number uint32) bool { return slices.Equal(l.At(number), list) }); number != 0 {
		return number, true
	}
	if len(l.ends) >= l.maxCount || len(l.values)+len(list) > l.maxTotal {
		return 0, false
	}
	number := uint32(len(l.ends))
	l.values = append(l.values, list...)
	l.ends = append(l.ends, uint32(len(l.values)))
	l.index.Add(hash, number)
	return number, true
}
