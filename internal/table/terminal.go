package table

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/words"
)

// Terminal is the destination of text. The zero Terminal is a pipe or file, which gets unwrapped lines without color.
type Terminal struct {
	Columns int  // 0: unknown, or no terminal
	Color   bool // text may be bold and colored
}

// Escape sequences for emphasis.
const (
	beginBold   = "\x1b[1m"
	beginRed    = "\x1b[31m"
	beginYellow = "\x1b[33m"
	beginDim    = "\x1b[2m"
	endEmphasis = "\x1b[0m"
)

// Heading formats a title, or the names of columns.
func (t Terminal) Heading(text string) string { return t.emphasize(beginBold, text) }

// Severe formats a severe problem.
func (t Terminal) Severe(text string) string { return t.emphasize(beginRed, text) }

// Warning formats a warning.
func (t Terminal) Warning(text string) string { return t.emphasize(beginYellow, text) }

// DimIDs dims the ids of processes and threads in a line.
func (t Terminal) DimIDs(line string) string {
	if !t.Color {
		return line
	}
	return ids.ReplaceAllStringFunc(line, func(id string) string { return t.emphasize(beginDim, id) })
}

// ids matches the ids of processes and threads in titles.
var ids = regexp.MustCompile(`\[[pt]id [^\]\[]*\]`)

// barCells is the width of the bars of shares.
const barCells = 8

// bar draws a share as a bar of barCells cells, to an eighth of a cell.
func bar(part, all float64) string {
	eighths := int(min(max(part/all, 0), 1)*barCells*8 + 0.5)
	text := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		text += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return words.PadRight(text, barCells)
}

// Spark draws values as a line of bars, one cell each, scaled to the largest. It returns "" if Color is not set or all values are
// 0.
func (t Terminal) Spark(values []timeline.Nanos) string {
	largest := slices.Max(append([]timeline.Nanos{0}, values...))
	if !t.Color || largest == 0 {
		return ""
	}
	var b strings.Builder
	for _, v := range values {
		b.WriteRune([]rune(" ▁▂▃▄▅▆▇█")[int(math.Ceil(float64(v)/float64(largest)*8))])
	}
	return b.String()
}

func (t Terminal) emphasize(begin, text string) string {
	if !t.Color || text == "" {
		return text
	}
	return begin + text + endEmphasis
}

// minWrapped is the width of the narrowest terminal for which Wrap wraps lines; narrower terminals wrap them themselves.
const minWrapped = 30

// Wrap wraps a line at the width of the terminal, but not between a number and its unit. Further lines start at the column hang.
// A word that is longer than a line is shortened in the middle.
func (t Terminal) Wrap(line string, hang int) string {
	if t.Columns < minWrapped || words.Width(line) <= t.Columns {
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
		width := words.Width(word)
		if column > hang && column+blanks+width > t.Columns {
			b.WriteString("\n" + strings.Repeat(" ", hang))
			column, blanks = hang, 0
		}
		if blanks+column+width > t.Columns {
			word = Elide(word, t.Columns-column-blanks)
			width = words.Width(word)
		}
		b.WriteString(strings.Repeat(" ", blanks) + word)
		column += blanks + width
	}
	return b.String()
}

// oneWord matches the first word of a text, including the unit of a number and the number of an id.
var oneWord = regexp.MustCompile(`^(?:[^ ]*\[[pt]id [^ ]+|[^ ]*[0-9] (?:ms|%)[^ ]*|[^ ]+)`)
