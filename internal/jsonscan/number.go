package jsonscan

import (
	"math"
	"strconv"
	"unsafe"
)

// Int64 converts the text of an Integer. It returns false if the value does not fit.
func Int64(text []byte) (int64, bool) {
	negative := len(text) > 0 && text[0] == '-'
	if negative {
		text = text[1:]
	}
	u, ok := Uint64(text)
	switch {
	case !ok:
		return 0, false
	case negative:
		return -int64(u), u <= 1<<63
	}
	return int64(u), u <= math.MaxInt64
}

// Uint64 converts the text of an Integer. It returns false if the value is negative or does not fit.
func Uint64(text []byte) (uint64, bool) {
	if len(text) == 0 || len(text) > 20 {
		return 0, false
	}
	var u uint64
	for _, c := range text {
		d := uint64(c - '0')
		if d > 9 {
			return 0, false
		}
		if u > math.MaxUint64/10 || u == math.MaxUint64/10 && d > math.MaxUint64%10 {
			return 0, false
		}
		u = u*10 + d
	}
	return u, true
}

// Float64 converts the text of an Integer or Number to the nearest double, and reports whether the result is finite.
func Float64(text []byte) (float64, bool) {
	if f, n := shortFloat(text, 0); n == len(text) && n > 0 {
		return f, true
	}
	// The string does not outlive the call: ParseFloat copies it into its errors.
	f, err := strconv.ParseFloat(unsafe.String(unsafe.SliceData(text), len(text)), 64)
	return f, err == nil
}

// Decimal converts the text of a JSON number, multiplied by ten to the power of scale, to an integer: exactly, or rounded half up if a
// fraction remains. It returns false if the text is not a JSON number or the result does not fit. A scale of 3 converts microseconds to
// nanoseconds.
func Decimal(text []byte, scale int) (int64, bool) {
	if v, ok := shortDecimal(text, scale); ok {
		return v, true
	}
	if _, ok := number(text); !ok {
		return 0, false
	}
	negative := text[0] == '-'
	if negative {
		text = text[1:]
	}
	whole, fraction, exponent := splitNumber(text)
	for len(whole) > 0 && whole[0] == '0' {
		whole = whole[1:]
	}
	// The result consists of the first p digits of whole and fraction.
	p := int64(len(whole)) + exponent + int64(scale)
	if len(whole) == 0 {
		zeros := 0
		for zeros < len(fraction) && fraction[zeros] == '0' {
			zeros++
		}
		fraction = fraction[zeros:]
		p -= int64(zeros)
	}
	n := int64(len(whole) + len(fraction))
	digit := func(i int64) uint64 {
		switch {
		case i < int64(len(whole)):
			return uint64(whole[i] - '0')
		case i < n:
			return uint64(fraction[i-int64(len(whole))] - '0')
		}
		return 0
	}
	if n == 0 || p < 0 {
		return 0, true
	}
	if p > 19 {
		return 0, false
	}
	var u uint64 // 19 digits always fit
	for i := range p {
		u = u*10 + digit(i)
	}
	if roundsUp(digit, p, n, negative) {
		u++
	}
	if negative {
		return -int64(u), u <= 1<<63
	}
	return int64(u), u <= math.MaxInt64
}

// roundsUp reports whether the digits from p on round the magnitude of a number up. A tie rounds the number itself up, so it
// rounds the magnitude of a negative number down.
func roundsUp(digit func(int64) uint64, p, n int64, negative bool) bool {
	if d := digit(p); d != 5 || !negative {
		return d >= 5
	}
	for i := p + 1; i < n; i++ {
		if digit(i) != 0 {
			return true
		}
	}
	return false
}

// shortDecimal is Decimal with a scale of 3 for integers of at most 15 digits and no sign, the form of nearly all times.
func shortDecimal(text []byte, scale int) (int64, bool) {
	if len(text) == 0 || len(text) > 15 || scale != 3 || text[0] == '0' && len(text) > 1 {
		return 0, false
	}
	var v int64
	for _, c := range text {
		if c-'0' > 9 {
			return 0, false
		}
		v = v*10 + int64(c-'0')
	}
	return v * 1000, true
}

// maxExponent caps the exponent of a number; no text that fits in memory has enough digits to offset it.
const maxExponent = 1 << 40

// splitNumber splits an unsigned JSON number.
func splitNumber(text []byte) (whole, fraction []byte, exponent int64) {
	n := digits(text)
	whole, text = text[:n], text[n:]
	if len(text) > 0 && text[0] == '.' {
		n = digits(text[1:])
		fraction, text = text[1:1+n], text[1+n:]
	}
	if len(text) == 0 {
		return whole, fraction, 0
	}
	text = text[1:] // e
	negative := text[0] == '-'
	for _, c := range text {
		if c-'0' <= 9 {
			exponent = min(exponent*10+int64(c-'0'), maxExponent)
		}
	}
	if negative {
		exponent = -exponent
	}
	return whole, fraction, exponent
}

// IsNumber reports whether text is exactly one JSON number. It is used for numbers in strings.
func IsNumber(text []byte) bool {
	_, ok := number(text)
	return ok
}
