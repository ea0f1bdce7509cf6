package words

// This file makes texts from an input safe to display. They may contain control characters, which terminals interpret, and
// directional marks, which change the order of displayed text.

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

// Printable returns a text for people, in a message or a table, in which Special characters and bytes that are not UTF-8 are
// escaped as in Go. Escaping is idempotent.
func Printable(text string) string { return escape(text, Special) }

// PrintableLine returns a text for programs that read lines: only control characters and bytes that are not UTF-8 are escaped.
func PrintableLine(text string) string { return escape(text, unicode.IsControl) }

// PrintableFields applies PrintableLine to the fields of a line of comma-separated values. Fields that a spreadsheet would
// evaluate as a formula, because they start with =, +, - or @, get a leading apostrophe unless they are numbers.
func PrintableFields(fields []string) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = PrintableLine(f)
		if f != "" && strings.IndexByte("=+-@", f[0]) >= 0 && !number.MatchString(f) {
			out[i] = "'" + out[i]
		}
	}
	return out
}

var number = regexp.MustCompile(`^[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// Special reports whether a character controls the display of a text rather than being displayed: control characters (C0, DEL and
// C1), and invisible marks such as directional ones. The joiners of scripts and emoji are part of the spelling of words, so they
// are not special.
func Special(r rune) bool {
	switch {
	case r < 0xA0:
		return r < ' ' || r >= 0x7F
	case r < 0x600: // shortcut for most writing systems: the tables take twenty times as long
		return r == '\u00ad'
	case 0x2E80 <= r && r <= 0xD7FF:
		return false
	}
	return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r) && r != '\u200c' && r != '\u200d'
}

// PlainPrefix returns the length of a text's prefix of printable ASCII, in which nothing needs escaping.
func PlainPrefix(text []byte) int {
	for i, c := range text {
		if c < ' ' || c >= 0x7F {
			return i
		}
	}
	return len(text)
}

// PrintableJSON escapes Special characters in JSON text, without changing its meaning. The text must be a single line, so that
// these characters occur only in strings.
func PrintableJSON(text []byte) []byte {
	plain := PlainPrefix(text)
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
