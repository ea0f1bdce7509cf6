// Package radix sorts numbers by their bits. Whoever has many things to sort by a number packs that number above the
// place of the thing, sorts these keys, and reads the places in the order of the things.
package radix

const digitBits = 11

// Sort sorts keys by their bits from low up to high, not including it, and keeps the order of those that are equal in these:
// with places from 0 on below low, that of the places. It needs other, which is as long as keys, and returns both, the
// sorted one first.
func Sort(keys, other []uint64, low, high int) (sorted, rest []uint64) {
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
