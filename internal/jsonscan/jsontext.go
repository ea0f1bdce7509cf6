package jsonscan

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf8"
)

const hex = "0123456789abcdef"

// AppendString appends text as a JSON string. It escapes all control characters, including DEL and C1, which JSON allows
// but terminals interpret. Invalid UTF-8 bytes become U+FFFD.
func AppendString[T string | []byte](b []byte, text T) []byte {
	b = append(b, '"')
	start := 0 // first byte that is not yet copied
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '"' || c == '\\':
			b = append(append(b, text[start:i]...), '\\', c)
		case c < ' ' || c == 0x7F:
			b = append(append(b, text[start:i]...), '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		case c < utf8.RuneSelf:
			i++
			continue
		default:
			r, size := utf8.DecodeRuneInString(string(text[i:min(i+utf8.UTFMax, len(text))]))
			if r <= lastC1 {
				b = append(append(b, text[start:i]...), '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
				i += size
				start = i
				continue
			}
			if r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
			b = utf8.AppendRune(append(b, text[start:i]...), r)
		}
		i++
		start = i
	}
	b = append(b, text[start:]...)
	return append(b, '"')
}

// lastC1 is the last C1 control character.
const lastC1 = 0x9F

// Escape escapes the control characters U+007F to U+009F in JSON text; encoding/json leaves them in strings.
func Escape(text []byte) []byte {
	isControl := func(r rune) bool { return 0x7F <= r && r <= lastC1 }
	if !bytes.ContainsFunc(text, isControl) {
		return text
	}
	out := make([]byte, 0, len(text)+len(text)/8)
	for i, size := 0, 0; i < len(text); i += size {
		r := rune(0)
		if r, size = utf8.DecodeRune(text[i:]); isControl(r) {
			out = append(out, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		} else {
			out = append(out, text[i:i+size]...)
		}
	}
	return out
}

// AppendDouble appends the shortest number that parses to v, or a string if JSON cannot represent v.
func AppendDouble(b []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return append(b, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(v, -1):
		return append(b, `"-Infinity"`...)
	}
	return strconv.AppendFloat(b, v, 'g', -1, 64)
}

// AppendDecimal appends the shortest readable text that parses to v: it has no exponent unless v is very large or very
// small.
func AppendDecimal(b []byte, v float64) []byte {
	format := byte('g')
	if abs := math.Abs(v); abs >= 1e6 && abs < 1e18 {
		format = 'f'
	}
	return strconv.AppendFloat(b, v, format, -1, 64)
}
