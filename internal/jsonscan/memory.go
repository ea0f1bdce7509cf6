package jsonscan

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// The functions here read without a check of bounds: a check for each of several overlapping words takes the same time as what
// is done with them. Their callers see to it that all they read is inside of the window.

// load returns the first eight bytes of b, the first one in the lowest byte.
func load(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// peek returns the eight bytes from i on after p.
func peek(p unsafe.Pointer, i int) uint64 {
	return binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(p, i))[:])
}

// peekByte returns the byte i after p.
func peekByte(p unsafe.Pointer, i int) byte { return *(*byte)(unsafe.Add(p, i)) }

// piece returns the bytes from i to end after p.
func piece(p unsafe.Pointer, i, end int) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(p, i)), end-i)
}

// plainUntil returns the index of the first byte after p, from i on, that is not plain; if there is none before last, a
// place up to seven bytes after last. It reads less than eight bytes from last on.
func plainUntil(p unsafe.Pointer, i, last int) int {
	for ; i < last; i += 8 {
		if hits := special(peek(p, i)); hits != 0 {
			return i + bits.TrailingZeros64(hits)/8
		}
	}
	return i
}
