package inputs

import (
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"
)

// EscapeName replaces invalid UTF-8 bytes with \xNN. A backslash before an x becomes \x5c, so that different names have different
// texts.
func EscapeName(name string) string {
	if utf8.ValidString(name) && !strings.Contains(name, `\x`) {
		return name
	}
	var b strings.Builder
	for i := 0; i < len(name); {
		r, n := utf8.DecodeRuneInString(name[i:])
		switch {
		case r == utf8.RuneError && n <= 1:
			fmt.Fprintf(&b, `\x%02x`, name[i])
		case r == '\\' && strings.HasPrefix(name[i:], `\x`):
			b.WriteString(`\x5c`)
		default:
			b.WriteString(name[i : i+n])
		}
		i += max(n, 1)
	}
	return b.String()
}

// UnescapeName is the inverse of EscapeName.
func UnescapeName(text string) string {
	if !strings.Contains(text, `\x`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		if strings.HasPrefix(text[i:], `\x`) && i+4 <= len(text) {
			if c, err := hex.DecodeString(text[i+2 : i+4]); err == nil {
				b.WriteByte(c[0])
				i += 4
				continue
			}
		}
		b.WriteByte(text[i])
		i++
	}
	return b.String()
}
