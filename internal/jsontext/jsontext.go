// Package jsontext appends values as JSON text. What JSON cannot say becomes a text, so that the result is always valid.
package jsontext

import (
	"math"
	"strconv"
	"unicode/utf8"
)

const hex = "0123456789abcdef"

// AppendString appends a text as a JSON string. Bytes that are not UTF-8 become U+FFFD.
func AppendString[T string | []byte](b []byte, text T) []byte {
	b = append(b, '"')
	start := 0 // of what is copied as it is
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

// AppendDouble appends the shortest text that gives v back; what JSON has no number for becomes a text.
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
