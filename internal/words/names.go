// Package words prepares text for people: it suggests the name that was meant (names.go), escapes what a terminal would interpret
// (printable.go), and measures columns (width.go).
//
// What does not live here: numbers and times (package table), and help texts.
package words

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Unknown returns the error for a name that is not among names: `unknown format "word"; did you mean ward?`, or without a similar
// name `unknown format "word"; use ward, wort or wirt`. what is the noun.
func Unknown(what, name string, names []string) error {
	return fmt.Errorf("unknown %s %q%s", what, name, Instead(name, names))
}

// Instead returns the end of a message about an unknown name: "; did you mean NAME?", or without a similar name "; use A, B or C".
func Instead(name string, names []string) string {
	if near := Near(name, names); near != "" {
		return "; did you mean " + near + "?"
	}
	return "; use " + List(names)
}

// List formats names as "a, b or c".
func List(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// maxLength bounds the length in bytes of names that are compared.
const maxLength = 64

// Near returns the name that text most likely means: one that differs by at most maxTypos, or else one that starts with text.
// It returns "" if there is no such name. Among equally near names it prefers one that starts with text, then the first.
func Near(text string, names []string) string {
	if text == "" || len(text) > maxLength {
		return ""
	}
	text = strings.ToLower(text)
	best, nearest := 1+maxTypos(text), ""
	for _, name := range names {
		if len(name) > maxLength {
			continue
		}
		begins := strings.HasPrefix(strings.ToLower(name), text) && !strings.HasPrefix(strings.ToLower(nearest), text)
		if d := distance(text, strings.ToLower(name)); d < best || d == best && nearest != "" && begins {
			best, nearest = d, name
		}
	}
	if nearest != "" || utf8.RuneCountInString(text) < minPrefix {
		return nearest
	}
	for _, name := range names {
		if strings.HasPrefix(strings.ToLower(name), text) {
			return name
		}
	}
	return ""
}

// minPrefix is the minimum number of characters of a prefix that Near completes.
const minPrefix = 3

// maxTypos returns the number of typos that a text may have: one from three characters on, two from six on.
func maxTypos(text string) int { return min(utf8.RuneCountInString(text)/3, 2) }

// distance returns the number of typos by which two words differ: inserted, deleted or replaced characters, and transpositions of
// neighbours.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	var before []int // the row before the last one
	last := make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := range x {
		row := make([]int, len(y)+1)
		row[0] = i + 1
		for j := range y {
			replaced := 1
			if x[i] == y[j] {
				replaced = 0
			}
			row[j+1] = min(row[j]+1, last[j+1]+1, last[j]+replaced)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(y)]
}
