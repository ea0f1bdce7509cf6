package attribution

import (
	"encoding/binary"
	"slices"
)

// Lists interns lists of numbers: equal lists have equal numbers, and the empty one is 0. All lists lie one
// after the other.
type Lists[E ~uint32] struct {
	Values   []E
	ends     []uint32 // by number; a list begins where the one before it ends
	index    Index
	key      []byte
	MaxCount int // lists
	MaxTotal int // values
}

func NewLists[E ~uint32](maxCount, maxTotal int) Lists[E] {
	return Lists[E]{ends: make([]uint32, 1), MaxCount: maxCount, MaxTotal: maxTotal}
}

// Len returns the number of lists, with the empty one.
func (l *Lists[E]) Len() int { return len(l.ends) }

// At returns the list with a number. It must not be changed.
func (l *Lists[E]) At(number uint32) []E {
	if number == 0 {
		return nil
	}
	return l.Values[l.ends[number-1]:l.ends[number]:l.ends[number]]
}

// Intern returns the number of a list; 0 and false if there is no room for it.
func (l *Lists[E]) Intern(list []E) (uint32, bool) {
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
	if len(l.ends) >= l.MaxCount || len(l.Values)+len(list) > l.MaxTotal {
		return 0, false
	}
	number := uint32(len(l.ends))
	l.Values = append(l.Values, list...)
	l.ends = append(l.ends, uint32(len(l.Values)))
	l.index.Add(hash, number)
	return number, true
}
