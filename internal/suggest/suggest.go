// Package suggest makes the message about a name that does not exist: with the name that was meant, or all there are.
//
// It does not know what the names are names of.
package suggest

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Unknown returns the error for a name that is not among names: `unknown format "word"; did you mean ward?`, or if nothing is near,
// `unknown format "word"; use ward, wort or wirt`.
func Unknown(what, asked string, names []string) error {
	return fmt.Errorf("unknown %s %q%s", what, asked, Instead(asked, names))
}

// Instead returns what a message about a name that does not exist ends with: "; did you mean NAME?", or if nothing is
// near, "; use A, B or C".
func Instead(asked string, names []string) string {
	if near := Near(asked, names); near != "" {
		return "; did you mean " + near + "?"
	}
	return "; use " + List(names)
}

// List writes names as "a, b or c".
func List(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// maxLength is the number of bytes of a name beyond which nothing is near to it.
const maxLength = 64

// Near returns the one of names that asked most likely means: another spelling, one that begins so, or one that differs
// by a slip or two. It is "" if no name does. Among equally near names one that begins so wins, otherwise the first.
func Near(asked string, names []string) string {
	if asked == "" || len(asked) > maxLength {
		return ""
	}
	asked = strings.ToLower(asked)
	best, nearest := 1+slips(asked), ""
	for _, name := range names {
		if len(name) > maxLength {
			continue
		}
		begins := strings.HasPrefix(strings.ToLower(name), asked) && !strings.HasPrefix(strings.ToLower(nearest), asked)
		if d := distance(asked, strings.ToLower(name)); d < best || d == best && nearest != "" && begins {
			best, nearest = d, name
		}
	}
	if nearest != "" || utf8.RuneCountInString(asked) < minPrefix {
		return nearest
	}
	for _, name := range names {
		if strings.HasPrefix(strings.ToLower(name), asked) {
			return name
		}
	}
	return ""
}

// minPrefix is the number of characters from which on the start of a name is enough.
const minPrefix = 3

// slips returns how many slips a name may have: one in three characters, two in six, and never more.
func slips(asked string) int { return min(utf8.RuneCountInString(asked)/3, 2) }

// distance returns by how many slips two words differ. A slip is a character too much or too few, another one, or two
// that changed places.
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
			other := 1
			if x[i] == y[j] {
				other = 0
			}
			row[j+1] = min(row[j]+1, last[j+1]+1, last[j]+other)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(y)]
}
