package timeline

import (
	"cmp"
	"slices"

	"github.com/weft-trace/weft/internal/collections"
)

// timeOrder finds the order of time of things that are numbered from 0 as they came. Simultaneous things stay in that order. What
// came in the order of time is not sorted.
type timeOrder struct {
	last  Nanos // of the things so far
	jumps bool  // some came before an earlier one
	times collections.RadixOrder
}

// bytesPerPlace is what the order of a thing takes. It takes collections.RadixKeySize more while it is sorted.
const bytesPerPlace = 4

// add says the time of the next thing, which has the given number.
func (o *timeOrder) add(i int, ts Nanos) {
	o.jumps = o.jumps || ts < o.last && i > 0
	o.last = ts
}

// size returns how many bytes the order of a thing takes at most.
func (o *timeOrder) size() int64 {
	if o.jumps {
		return bytesPerPlace + collections.RadixKeySize
	}
	return bytesPerPlace
}

// reset forgets all things, and keeps the memory.
func (o *timeOrder) reset() { o.jumps = false }

// appendTo appends the numbers of n things, all that were added, in their order. at gives their times.
func (o *timeOrder) appendTo(order []uint32, n int, at func(i uint32) Nanos) []uint32 {
	order = slices.Grow(order, n)
	if !o.jumps {
		for i := range n {
			order = append(order, uint32(i))
		}
		return order
	}
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
