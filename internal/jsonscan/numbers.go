package jsonscan

import "math"

// Int32s reads list elements, after the opening bracket or a comma, while they are small nonnegative integers, -1 or null, and
// appends them to dst. For -1 and for a JSON null, it appends the value of the parameter null. It stops before any other element
// and at the end of the window; the caller then continues with other methods. Each element ends a unit: the mark advances.
//
// Profiles contain lists of millions of indexes; reading them token by token takes four times as long.
func (s *Scanner) Int32s(dst []int32, null int32) []int32 {
	b, i := s.buf, s.pos
	for {
		v, j := uint64(0), i
		for j < len(b) && b[j]-'0' <= 9 && j-i < 10 {
			v = v*10 + uint64(b[j]-'0')
			j++
		}
		value := int32(v)
		if j == i || v > math.MaxInt32 || b[i] == '0' && j > i+1 {
			switch word := b[i:]; {
			case hasPrefix(word, "null"):
				j = i + 4
			case hasPrefix(word, "-1"):
				j = i + 2
			default:
				return dst
			}
			value = null
		}
		if j >= len(b) || b[j] != ',' && b[j] != ']' {
			return dst
		}
		dst = append(dst, value)
		s.pos = j
		s.Mark()
		if b[j] == ']' {
			return dst
		}
		i = j + 1
	}
}

// Float64s is Int32s for numbers of at most 15 digits, with or without a fraction; null becomes NaN. The conversion is correctly
// rounded: an integer divided by a power of ten, both exact as doubles, yields the nearest double.
func (s *Scanner) Float64s(dst []float64) []float64 {
	b, i := s.buf, s.pos
	for {
		f, j := shortFloat(b, i)
		if j == i {
			if !hasPrefix(b[i:], "null") {
				return dst
			}
			f, j = math.NaN(), i+4
		}
		if j >= len(b) || b[j] != ',' && b[j] != ']' {
			return dst
		}
		dst = append(dst, f)
		s.pos = j
		s.Mark()
		if b[j] == ']' {
			return dst
		}
		i = j + 1
	}
}

func hasPrefix(b []byte, prefix string) bool {
	return len(b) >= len(prefix) && string(b[:len(prefix)]) == prefix
}

// maxExactDigits is the number of decimal digits that a double always represents exactly.
const maxExactDigits = 15

// powersOfTen contains powers of ten, all exact as doubles.
var powersOfTen = [maxExactDigits + 1]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// shortFloat converts the number at i, up to any exponent, if it has at most maxExactDigits digits, and returns the index after
// the number. For anything else, it returns i.
func shortFloat(b []byte, i int) (float64, int) {
	j := i
	negative := j < len(b) && b[j] == '-'
	if negative {
		j++
	}
	first := j
	v := uint64(0)
	for j < len(b) && b[j]-'0' <= 9 {
		v = v*10 + uint64(b[j]-'0')
		j++
	}
	if j == first || b[first] == '0' && j > first+1 {
		return 0, i
	}
	count, fraction := j-first, 0
	if j < len(b) && b[j] == '.' {
		point := j
		for j++; j < len(b) && b[j]-'0' <= 9; j++ {
			v = v*10 + uint64(b[j]-'0')
		}
		if fraction = j - point - 1; fraction == 0 {
			return 0, i
		}
		count += fraction
	}
	if count > maxExactDigits { // v may have overflowed
		return 0, i
	}
	f := float64(v) / powersOfTen[fraction]
	if negative {
		f = -f
	}
	return f, j
}
