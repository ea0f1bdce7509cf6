package words

import (
	"fmt"
	"testing"
	"unicode"
)

// The widths are from Unicode's EastAsianWidth.txt (W, F: 2); marks have width 0.
func TestWidth(t *testing.T) {
	for _, c := range []struct {
		text string
		want int
	}{
		{"", 0},
		{"layout", 6},
		{"計算量", 6},
		{"テスト.js", 9},
		{"ﾃｽﾄ", 3}, // halfwidth
		{"Ａ", 2},   // fullwidth
		{"한국어", 6},
		{"\u1112\u1161\u11ab", 2}, // the same syllable as its three parts
		{"größe", 5},
		{"gro\u0308ße", 5}, // the mark is a separate character
		{"\u20dd", 0},      // enclosing mark
		{"a\u200bb", 2},    // no width
		{"co\u00adop", 5},  // soft hyphen
		{"🔥", 2},
		{"✅ ok", 5},
		{"✂", 1}, // a picture, but a text by default
		{"…→№", 3},
		{"α", 1}, // ambiguous
		{"𠀀", 2}, // beyond 16 bits
		{"\xff", 1},
	} {
		if got := Width(c.text); got != c.want {
			t.Errorf("%q has %d columns, want %d", c.text, got, c.want)
		}
	}
}

func TestPad(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{PadRight("計算", 6), "計算  "},
		{PadLeft("計算", 6), "  計算"},
		{PadRight("e\u0301", 2), "e\u0301 "},
		{PadRight("too long", 3), "too long"},
		{PadLeft("", 2), "  "},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

// This test checks whole scripts, to detect ranges that are missing from the table.
func TestScripts(t *testing.T) {
	for name, columns := range map[string]int{"Han": 2, "Hiragana": 2, "Yi": 2, "Bopomofo": 2, "Tangut": 2, "Latin": 1, "Cyrillic": 1, "Arabic": 1} {
		table := unicode.Scripts[name]
		for _, r := range table.R16 {
			checkRange(t, name, rune(r.Lo), rune(r.Hi), rune(r.Stride), columns)
		}
		for _, r := range table.R32 {
			checkRange(t, name, rune(r.Lo), rune(r.Hi), rune(r.Stride), columns)
		}
	}
}

// checkRange checks the letters and numbers of a range.
func checkRange(t *testing.T, script string, low, high, stride rune, columns int) {
	t.Helper()
	for r := low; r <= high; r += stride {
		fullwidth := 0xFF00 < r && r <= 0xFF60
		if got := ofRune(r); unicode.In(r, unicode.L, unicode.N) && got != columns && !fullwidth {
			t.Error(script, fmt.Sprintf("%U has %d columns, want %d", r, got, columns))
		}
	}
}
