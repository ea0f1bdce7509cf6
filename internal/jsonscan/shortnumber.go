package jsonscan

import (
	"math/bits"
	"unsafe"
)

// numberForm is the form in which the value of a parsed number is stored.
type numberForm uint8

const (
	noNumber    numberForm = iota // not stored
	asInteger                     // the number itself
	thousandths                   // the number times 1000
)

// shortNumber reads the number at p+i if it has at most 16 digits before the point and at most 7 after it. It returns the end
// of the number, or i and Invalid for any other number or text. At least numberRoom bytes must be readable from i on.
//
// It scans and converts up to eight digits at a time.
func shortNumber(p unsafe.Pointer, i int) (end int, kind Kind, form numberForm, number int64) {
	j := i
	negative := peekByte(p, i) == '-'
	if negative {
		j++
	}
	t := peek(p, j) ^ '0'*ones
	n := digitRun(t)
	if n == 0 || t&0xff == 0 && n > 1 { // no digits, or a leading zero
		return i, Invalid, noNumber, 0
	}
	v := eightDigits(t << ((64 - 8*n) & 63))
	j += n
	if n == 8 {
		t = peek(p, j) ^ '0'*ones
		n = digitRun(t)
		h := (32 - 4*n) & 63
		v = v*powers[n&15] + eightDigits(t<<h<<h) // unchanged if n is 0
		j += n
	}
	kind, form = Integer, asInteger
	if c := peekByte(p, j); c == '.' {
		t = peek(p, j+1) ^ '0'*ones
		n = digitRun(t)
		j += 1 + n
		if n == 0 || n == 8 || isWord[peekByte(p, j)] {
			return i, Invalid, noNumber, 0
		}
		kind, form = Number, noNumber
		if n <= 3 && v < 1<<53 {
			form = thousandths
			h := (64 - 8*n) & 63
			v = v*1000 + eightDigits(t<<h>>h<<40)
		}
	} else if isWord[c] {
		return i, Invalid, noNumber, 0
	}
	if negative {
		return j, kind, form, -int64(v)
	}
	return j, kind, form, int64(v)
}

// numberRoom is an upper limit for the bytes read by shortNumber: a sign, 16 digits, a point and the 8 bytes after it.
const numberRoom = 32

// digitRun returns the number of digits at the start of t, whose bytes were XORed with '0'.
func digitRun(t uint64) int {
	// The high bit of a byte above 9 is set in t or in the sum. A carry out of a byte affects only later bytes.
	return bits.TrailingZeros64((t|(t+(0x80-10)*ones))&highs) / 8
}

// eightDigits returns the number whose decimal digits are the bytes of t, the first digit in the lowest byte.
func eightDigits(t uint64) uint64 {
	t = t*10 + t>>8 // now every other byte is a two-digit number
	const mask = 0xff | 0xff<<32
	return (t&mask*(100+1000000<<32) + t>>16&mask*(1+10000<<32)) >> 32
}

// powers are the powers of ten for up to eight digits.
var powers = [16]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8}
