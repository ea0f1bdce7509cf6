// Package printable makes texts of an input safe to show. Names and addresses may hold control characters, which terminals obey, and
// marks of direction, which change the order in which terminals and browsers show the text around them.
package printable

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Text returns a text for people, in a message or a table, with escapes as in Go for the characters of Special and for bytes that are not
// UTF-8. What is escaped stays as it is when it is escaped once more.
func Text(text string) string { return escape(text, Special) }

// Line returns a text for programs that read line by line: only control characters and bytes that are not UTF-8 are escaped.
func Line(text string) string { return escape(text, unicode.IsControl) }

// Lines returns the fields of a line of comma-separated values, each as Line. A text that a spreadsheet would take for a formula, because
// it begins with =, +, - or @, gets a leading apostrophe; numbers stay.
func Lines(fields []string) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = Line(f)
		if f != "" && strings.IndexByte("=+-@", f[0]) >= 0 && !number.MatchString(f) {
			out[i] = "'" + out[i]
		}
	}
	return out
}

var number = regexp.MustCompile(`^[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// Special reports whether a character acts on what shows a text instead of being shown: control characters (C0, DEL and C1), and marks
// that are not seen and may change how the text around them is shown, such as marks of direction. The joiners of scripts and of emoji
// are part of how words are written, and so are not special.
func Special(r rune) bool {
	switch {
	case r < 0xA0:
		return r < ' ' || r >= 0x7F
	case r < 0x600: // most writing systems are here and in the next range; the tables take twenty times as long
		return r == '\u00ad'
	case 0x2E80 <= r && r <= 0xD7FF:
		return false
	}
	return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r) && r != '\u200c' && r != '\u200d'
}

// Plain returns the length of the prefix of a text that is ASCII without control characters: there is nothing in it to escape.
func Plain(text []byte) int {
	for i, c := range text {
		if c < ' ' || c >= 0x7F {
			return i
		}
	}
	return len(text)
}

// JSON returns JSON text with the characters of Special as escapes, which mean the same to whoever reads it as JSON. The text must be
// of one line, so that these characters are only in its strings.
func JSON(text []byte) []byte {
	plain := Plain(text)
	if plain == len(text) || !bytes.ContainsFunc(text[plain:], Special) {
		return text
	}
	out := make([]byte, 0, len(text)+len(text)/4)
	for _, r := range string(text) {
		switch {
		case !Special(r):
			out = utf8.AppendRune(out, r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

func escape(text string, special func(rune) bool) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r == utf8.RuneError || special(r) }) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		if special(r) || r == utf8.RuneError && size == 1 {
			quoted := strconv.QuoteToASCII(text[:size])
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteString(text[:size])
		}
		text = text[size:]
	}
	return b.String()
}
