package timeline

import (
	"cmp"
	"slices"

	"github.com/weft-trace/weft/internal/collections"
)

// timeOrder finds the order of time of things that are numbered from 0 in the order in which they came. Those of one time
// stay in that order.
//
// Most inputs are in the order of time, or a few sequences one after the other that are, such as the samples of one thread
// after those of another. Such sequences are merged, which takes no memory. Only where there are many of them are things
// sorted.
type timeOrder struct {
	last   Nanos    // of the things so far
	starts []uint32 // where the sequences after the first one start, up to maxAscents
	many   bool     // there are more sequences than that

	times collections.RadixOrder
}

const (
	// maxAscents is the number of sequences that are merged: the times of all are compared for each thing.
	maxAscents = 8
	// bytesPerPlace is what the order of a thing takes. It takes collections.RadixKeySize more while it is sorted.
	bytesPerPlace = 4
)

// add says the time of the next thing, which has the given number.
func (o *timeOrder) add(i int, ts Nanos) {
	if ts < o.last && i > 0 {
		o.descent(i)
	}
	o.last = ts
}

func (o *timeOrder) descent(i int) {
	if len(o.starts) == maxAscents-1 {
		o.many = true
		return
	}
	o.starts = append(o.starts, uint32(i))
}

// sorted reports whether all came in the order of time.
func (o *timeOrder) sorted() bool { return len(o.starts) == 0 }

// size returns how many bytes the order of a thing takes at most.
func (o *timeOrder) size() int64 {
	if o.many {
		return bytesPerPlace + collections.RadixKeySize
	}
	return bytesPerPlace
}

// reset forgets all things, and keeps the memory.
func (o *timeOrder) reset() { o.starts, o.many = o.starts[:0], false }

// appendTo appends the numbers of n things, all that were added, in their order. at gives their times.
func (o *timeOrder) appendTo(order []uint32, n int, at func(i uint32) Nanos) []uint32 {
	order = slices.Grow(order, n)
	switch {
	case o.many:
		return o.sortTo(order, n, at)
	case !o.sorted():
		return o.mergeTo(order, n, at)
	}
	for i := range n {
		order = append(order, uint32(i))
	}
	return order
}

// ascent is what is left of a sequence in the order of time.
type ascent struct {
	ts        Nanos // of next
	next, end uint32
}

// mergeTo appends the numbers of things that are few sequences.
func (o *timeOrder) mergeTo(order []uint32, n int, at func(i uint32) Nanos) []uint32 {
	var buf [maxAscents]ascent
	heads := buf[:0]
	for i, end := range append(slices.Clone(o.starts), uint32(n)) {
		start := uint32(0)
		if i > 0 {
			start = o.starts[i-1]
		}
		heads = append(heads, ascent{at(start), start, end})
	}
	for len(heads) > 1 {
		least := 0
		for i := 1; i < len(heads); i++ {
			if heads[i].ts < heads[least].ts {
				least = i
			}
		}
		h := &heads[least]
		order = append(order, h.next)
		if h.next++; h.next < h.end {
			h.ts = at(h.next)
		} else {
			heads = slices.Delete(heads, least, least+1)
		}
	}
	for i := heads[0].next; i < heads[0].end; i++ {
		order = append(order, i)
	}
	return order
}

// sortTo appends the numbers of things in any order.
func (o *timeOrder) sortTo(order []uint32, n int, at func(i uint32) Nanos) []uint32 {
	times := o.times.Numbers(n)
	for i := range times {
		times[i] = collections.RadixKey(int64(at(uint32(i))))
	}
	sorted := o.times.Sort()
	for i := range n {
		place := i
		if sorted {
			place = o.times.Place(i)
		}
		order = append(order, uint32(place))
	}
	if !sorted { // more than an hour and a million things, at least
		slices.SortStableFunc(order[len(order)-n:], func(i, j uint32) int { return cmp.Compare(at(i), at(j)) })
	}
	return order
}
