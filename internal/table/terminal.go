package table

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/cellwidth"
	"github.com/weft-trace/weft/internal/timeline"
)

// Terminal is what text for people is written to. The zero Terminal means no terminal: a pipe and a file get whole lines without color.
type Terminal struct {
	Columns int  // 0: not known, or no terminal
	Color   bool // text may be bold and colored
}

// The sequences of terminals that begin and end emphasis.
const (
	beginBold   = "\x1b[1m"
	beginRed    = "\x1b[31m"
	beginYellow = "\x1b[33m"
	beginDim    = "\x1b[2m"
	endEmphasis = "\x1b[0m"
)

// Heading is a text that leads people: a title, or the names of columns.
func (t Terminal) Heading(text string) string { return t.emphasize(beginBold, text) }

// Severe is a text that people must not miss.
func (t Terminal) Severe(text string) string { return t.emphasize(beginRed, text) }

// Warning is a text that people should not miss.
func (t Terminal) Warning(text string) string { return t.emphasize(beginYellow, text) }

// Aside makes the ids of processes and threads in a line less conspicuous.
func (t Terminal) Aside(line string) string {
	if !t.Color {
		return line
	}
	return ids.ReplaceAllStringFunc(line, func(id string) string { return t.emphasize(beginDim, id) })
}

// ids matches the ids of processes and threads as titles have them.
var ids = regexp.MustCompile(`\[[pt]id [^\]\[]*\]`)

// barCells is the width of the bars of shares.
const barCells = 8

// bar draws a part of all in eighths of so many cells.
func bar(part, all float64) string {
	eighths := int(min(max(part/all, 0), 1)*barCells*8 + 0.5)
	text := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		text += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return cellwidth.Left(text, barCells)
}

// Spark draws values as a line of bars, one a cell, whose largest is the tallest; "": the terminal gets plain text, or all are 0.
func (t Terminal) Spark(values []timeline.Nanos) string {
	most := slices.Max(append([]timeline.Nanos{0}, values...))
	if !t.Color || most == 0 {
		return ""
	}
	var b strings.Builder
	for _, v := range values {
		b.WriteRune([]rune(" ▁▂▃▄▅▆▇█")[int(math.Ceil(float64(v)/float64(most)*8))])
	}
	return b.String()
}

func (t Terminal) emphasize(begin, text string) string {
	if !t.Color || text == "" {
		return text
	}
	return begin + text + endEmphasis
}

// minWrapped is the width of the narrowest terminal for which lines are divided: narrower ones do it themselves.
const minWrapped = 30

// Wrap divides a line that is longer than the terminal is wide between words, of which a number and its unit are one. What does not fit
// the first line begins below its column hang. A word that has no room in a line is shortened in the middle.
func (t Terminal) Wrap(line string, hang int) string {
	if t.Columns < minWrapped || cellwidth.Of(line) <= t.Columns {
		return line
	}
	hang = min(hang, t.Columns/2)
	var b strings.Builder
	column, rest := 0, line
	for rest != "" {
		word := strings.TrimLeft(rest, " ")
		blanks := len(rest) - len(word)
		end := len(oneWord.FindString(word))
		word, rest = word[:end], word[end:]
		width := cellwidth.Of(word)
		if column > hang && column+blanks+width > t.Columns {
			b.WriteString("\n" + strings.Repeat(" ", hang))
			column, blanks = hang, 0
		}
		if blanks+column+width > t.Columns {
			word = Elide(word, t.Columns-column-blanks)
			width = cellwidth.Of(word)
		}
		b.WriteString(strings.Repeat(" ", blanks) + word)
		column += blanks + width
	}
	return b.String()
}

// oneWord matches the first word of a text: with its unit if it is a number, and with its number if it is a kind of id.
var oneWord = regexp.MustCompile(`^(?:[^ ]*\[[pt]id [^ ]+|[^ ]*[0-9] (?:ms|%)[^ ]*|[^ ]+)`)
