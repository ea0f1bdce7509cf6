package main

import (
	"io"
	"os"
	"regexp"
	"runtime"
	"strings"

	"github.com/weft-trace/weft/internal/cellwidth"
)

// terminal is what text for people is written to. The zero terminal is none: a pipe and a file get lines whole and without color.
type terminal struct {
	columns int  // 0: not known, or no terminal
	color   bool // text may be bold and colored
}

// terminal returns what w shows its text on. Nothing else decides about color.
func (env *environment) terminal(w io.Writer) terminal {
	if !env.isTerminal(w) {
		return terminal{}
	}
	return terminal{columns: env.width(w), color: wantsColor()}
}

// wantsColor reports whether a terminal should show color: not with NO_COLOR (no-color.org), not on one that says that it is dumb, and
// on Windows only where the program that shows the text says that it knows the sequences.
func wantsColor() bool {
	kind := os.Getenv("TERM")
	if os.Getenv("NO_COLOR") != "" || kind == "dumb" {
		return false
	}
	return runtime.GOOS != "windows" || kind != "" || os.Getenv("WT_SESSION") != ""
}

// The sequences of terminals that begin and end emphasis.
const (
	beginBold   = "\x1b[1m"
	beginRed    = "\x1b[31m"
	beginYellow = "\x1b[33m"
	endEmphasis = "\x1b[0m"
)

// heading is a text that leads people: a title, or the names of columns.
func (t terminal) heading(text string) string { return t.emphasize(beginBold, text) }

// severe is a text that people must not miss.
func (t terminal) severe(text string) string { return t.emphasize(beginRed, text) }

// warning is a text that people should not miss.
func (t terminal) warning(text string) string { return t.emphasize(beginYellow, text) }

func (t terminal) emphasize(begin, text string) string {
	if !t.color || text == "" {
		return text
	}
	return begin + text + endEmphasis
}

// minWrapped is the width of the narrowest terminal for which lines are divided: narrower ones do it themselves.
const minWrapped = 30

// wrap divides a line that is longer than the terminal is wide between words, of which a number and its unit are one. What does not fit
// the first line begins below its column hang. A word that has no room in a line is shortened in the middle.
func (t terminal) wrap(line string, hang int) string {
	if t.columns < minWrapped || cellwidth.Of(line) <= t.columns {
		return line
	}
	hang = min(hang, t.columns/2)
	var b strings.Builder
	column, rest := 0, line
	for rest != "" {
		word := strings.TrimLeft(rest, " ")
		blanks := len(rest) - len(word)
		end := len(oneWord.FindString(word))
		word, rest = word[:end], word[end:]
		width := cellwidth.Of(word)
		if column > hang && column+blanks+width > t.columns {
			b.WriteString("\n" + strings.Repeat(" ", hang))
			column, blanks = hang, 0
		}
		if blanks+column+width > t.columns {
			word = elideTo(word, t.columns-column-blanks)
			width = cellwidth.Of(word)
		}
		b.WriteString(strings.Repeat(" ", blanks) + word)
		column += blanks + width
	}
	return b.String()
}

// oneWord matches the first word of a text: with its unit if it is a number, and with its number if it is a kind of id.
var oneWord = regexp.MustCompile(`^(?:[^ ]*\[[pt]id [^ ]+|[^ ]*[0-9] (?:ms|%)[^ ]*|[^ ]+)`)
