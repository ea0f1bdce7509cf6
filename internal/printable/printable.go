// Package printable makes texts of an input safe to print: names and addresses may hold control characters, which terminals
// obey and other programs do not expect in a line.
package printable

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns a text with control characters (C0, DEL and C1) and bytes that are not UTF-8 as escapes.
func Text(text string) string {
	special := func(r rune) bool { return unicode.IsControl(r) || r == utf8.RuneError }
	if !strings.ContainsFunc(text, special) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		if special(r) {
			quoted := strconv.Quote(text[:size])
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteString(text[:size])
		}
		text = text[size:]
	}
	return b.String()
}

// Marks returns a text with characters as escapes that are not seen and may change how the text around them is shown, such as marks of
// direction. The joiners of scripts and of emoji stay, and so do control characters, see Text.
func Marks(text string) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) && r != '\u200c' && r != '\u200d' {
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Record returns the fields of a line of comma-separated values, each as Text.
func Record(fields []string) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = Text(f)
	}
	return out
}
