package collections

import (
	"math"
	"math/bits"
	"slices"
)

// RadixOrder orders many items by number. A key is the number of an item followed by the item's index; keys are sorted by their
// bits, and then contain the indexes in order. Nothing is compared, and no item is moved. Items with equal numbers stay in index
// order. The memory, RadixKeySize bytes per item, is reused for the next sort.
type RadixOrder struct {
	keys, other []uint64
	low         int // number of bits in an index
}

// RadixKeySize is the memory per item in a RadixOrder, in bytes.
const RadixKeySize = 16

// RadixKey converts a signed number to an unsigned number with the same order.
func RadixKey(v int64) uint64 { return uint64(v) ^ 1<<63 }

// Numbers returns a slice for the numbers of n items, which the caller must fill before Sort.
func (o *RadixOrder) Numbers(n int) []uint64 {
	o.keys = slices.Grow(o.keys[:0], n)[:n]
	return o.keys
}

// Sort sorts the items by number, using only the bits in which the numbers differ: 36 for the times in a one-minute trace. It
// returns false if the number and index do not fit into 64 bits; the order is then invalid.
func (o *RadixOrder) Sort() bool {
	n := len(o.keys)
	if n == 0 {
		return true
	}
	least, most := uint64(math.MaxUint64), uint64(0)
	for _, k := range o.keys {
		least, most = min(least, k), max(most, k)
	}
	o.low = bits.Len(uint(n - 1))
	high := o.low + bits.Len64(most-least)
	if high > 64 {
		return false
	}
	for i := range o.keys {
		o.keys[i] = (o.keys[i]-least)<<o.low | uint64(i)
	}
	o.other = slices.Grow(o.other[:0], n)[:n]
	o.keys, o.other = sortBits(o.keys, o.other, o.low, high)
	return true
}

// Len returns the number of items.
func (o *RadixOrder) Len() int { return len(o.keys) }

// Place returns the index of the i-th item in the order.
func (o *RadixOrder) Place(i int) int { return int(o.keys[i] & (1<<o.low - 1)) }

// Same reports whether the i-th and j-th items in the order have equal numbers.
func (o *RadixOrder) Same(i, j int) bool { return o.keys[i]>>o.low == o.keys[j]>>o.low }

const digitBits = 11

// sortBits sorts keys by their bits from low up to but not including high, keeping the order of keys that are equal in these
// bits. It needs other, which has the same length as keys, and returns both slices, the sorted one first.
func sortBits(keys, other []uint64, low, high int) (sorted, rest []uint64) {
	for shift := low; shift < high; shift += digitBits {
		var counts [1 << digitBits]uint32
		mask := uint64(1)<<min(digitBits, high-shift) - 1
		for _, k := range keys {
			counts[k>>shift&mask]++
		}
		sum := uint32(0)
		for i, n := range counts {
			counts[i], sum = sum, sum+n
		}
		for _, k := range keys {
			d := k >> shift & mask
			other[counts[d]] = k
			counts[d]++
		}
		keys, other = other, keys
	}
	return keys, other
}
