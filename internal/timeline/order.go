package timeline

import (
	"cmp"
	"slices"

	"github.com/weft-trace/weft/internal/collections"
)

// timeOrder sorts items by time. Items are numbered from 0 in the order of addition, which simultaneous items keep. Items added
// in time order need no sorting.
type timeOrder struct {
	last  Nanos // of the last item added
	jumps bool  // times decreased at least once
	times collections.RadixOrder
}

// bytesPerPlace is the memory for an item's position in the order; sorting needs another collections.RadixKeySize bytes.
const bytesPerPlace = 4

// add adds item i, the next one.
func (o *timeOrder) add(i int, ts Nanos) {
	o.jumps = o.jumps || ts < o.last && i > 0
	o.last = ts
}

// size returns the maximum memory per item, in bytes.
func (o *timeOrder) size() int64 {
	if o.jumps {
		return bytesPerPlace + collections.RadixKeySize
	}
	return bytesPerPlace
}

// reset removes all items but keeps the memory.
func (o *timeOrder) reset() { o.jumps = false }

// appendTo appends the numbers of all n items in time order. The function at returns the times of the items.
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
	if !sorted { // beyond the range of the radix sort: at least an hour and a million items
		slices.SortStableFunc(order[len(order)-n:], func(i, j uint32) int { return cmp.Compare(at(i), at(j)) })
	}
	return order
}
