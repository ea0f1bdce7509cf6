package jsonscan

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// The functions with an unsafe.Pointer read without bounds checks: checking each of several overlapping words takes as long as
// processing them. Callers must ensure that all reads are inside the window.

// load returns the first eight bytes of b, little-endian.
func load(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// peek returns the eight bytes at p+i, little-endian.
func peek(p unsafe.Pointer, i int) uint64 {
	return binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(p, i))[:])
}

// peekByte returns the byte at p+i.
func peekByte(p unsafe.Pointer, i int) byte { return *(*byte)(unsafe.Add(p, i)) }

// piece returns the bytes from p+i to p+end.
func piece(p unsafe.Pointer, i, end int) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(p, i)), end-i)
}

// plainUntil returns the index of the first byte of p, from i on, that is not plain. If there is none before last, the result is
// at most last+7. It reads at most seven bytes from last on.
func plainUntil(p unsafe.Pointer, i, last int) int {
	for ; i < last; i += 8 {
		if hits := special(peek(p, i)); hits != 0 {
			return i + bits.TrailingZeros64(hits)/8
		}
	}
	return i
}
