package selection

import (
	"path"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestGlob(t *testing.T) {
	for _, test := range []struct {
		glob, text string
		want       bool
	}{
		{"a", "a", true}, {"a", "b", false}, {"", "", true}, {"*", "", true}, {"?", "", false},
		{"a*", "abc", true}, {"*c", "abc", true}, {"a*c", "abcbc", true}, {"a*d", "abc", false},
		{"*b*", "abc", true}, {"**", "abc", true}, {"a?c", "abc", true}, {"a?c", "ac", false},
		{"?", "é", true}, {"??", "é", false}, {"*é?", "caféx", true}, {"[a]*", "[a]b", true}, {"[a]*", "ab", false},
		{`a\*`, "a*", false}, {`a\*`, `a\b`, true}, {"https://*/x", "https://a/b/x", true},
	} {
		if got := pattern(test.glob).matches(test.text); got != test.want {
			t.Errorf("%s matches %s: %v", test.glob, test.text, got)
		}
	}
}

// FuzzGlob compares matches with the results of path.Match for patterns that have the same meaning in both.
func FuzzGlob(f *testing.F) {
	f.Add("a*b?c", "aXXbXc")
	f.Add("*é", "é")
	f.Add(strings.Repeat("a*", 20)+"b", strings.Repeat("a", 50))
	f.Fuzz(func(t *testing.T, glob, text string) {
		got := pattern(glob).matches(text)
		if !strings.ContainsAny(glob, "*?") {
			if got != (glob == text) {
				t.Fatalf("%q matches %q: %v", glob, text, got)
			}
			return
		}
		if !utf8.ValidString(glob) || !utf8.ValidString(text) {
			return // path.Match accepts a part of a character
		}
		if strings.ContainsAny(glob, `[]\/`) || strings.Contains(text, "/") || len(glob) > 100 || len(text) > 100 {
			return
		}
		if want, err := path.Match(glob, text); err == nil && got != want {
			t.Fatalf("%q matches %q: %v; want %v", glob, text, got, want)
		}
	})
}
