package collections

import (
	"math"
	"math/bits"
	"slices"
)

// RadixOrder is the order of many things by numbers. It packs the number of a thing above its place, sorts these keys by their bits, and
// reads the places in the order of the things: no comparison is called, and no thing is moved. Things of one number stay in the order of
// their places. Its memory serves one sort after the other, RadixKeySize bytes for each thing of the longest one.
type RadixOrder struct {
	keys, other []uint64
	low         int // bits of a place
}

// RadixKeySize is what a thing takes in an RadixOrder, in bytes.
const RadixKeySize = 16

// RadixKey returns the number by which signed numbers are in their order.
func RadixKey(v int64) uint64 { return uint64(v) ^ 1<<63 }

// Numbers returns room for the numbers of n things, which are to be filled in before Sort.
func (o *RadixOrder) Numbers(n int) []uint64 {
	o.keys = slices.Grow(o.keys[:0], n)[:n]
	return o.keys
}

// Sort sorts the things by their numbers. Only the bits in which these differ count: for the times of a trace of a minute,
// 36. It reports false if a number and a place do not fit in 64 bits together; then there is no order.
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

// Len returns the number of things.
func (o *RadixOrder) Len() int { return len(o.keys) }

// Place returns the place of the thing that is the i-th in the order.
func (o *RadixOrder) Place(i int) int { return int(o.keys[i] & (1<<o.low - 1)) }

// Same reports whether the i-th and j-th thing in the order have one number.
func (o *RadixOrder) Same(i, j int) bool { return o.keys[i]>>o.low == o.keys[j]>>o.low }

const digitBits = 11

// sortBits sorts keys by their bits from low up to high, not including it, and keeps the order of keys that are equal in these: the
// order of the places, with places from 0 on below low. It needs other, which has the same length as keys, and returns both, the
// sorted one first.
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
