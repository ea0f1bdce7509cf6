package main

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"runtime"

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

// emphasis matches the sequences. No other text has any: control characters of names are escaped.
var emphasis = regexp.MustCompile("\x1b\\[[0-9]*m")

// cut cuts the lines of a text that are longer than the terminal is wide, which would break them.
func (t terminal) cut(text []byte) []byte {
	if t.columns <= 1 {
		return text
	}
	var out []byte
	for line := range bytes.Lines(text) {
		line = bytes.TrimSuffix(line, []byte{'\n'})
		plain := emphasis.ReplaceAll(line, nil)
		if cellwidth.Of(string(plain)) <= t.columns {
			out = append(append(out, line...), '\n')
			continue
		}
		begin := string(emphasis.Find(line)) // lines that are long are emphasized as a whole, or at their head
		short := cutLine(string(plain), t.columns)
		if begin != "" && bytes.HasPrefix(line, []byte(begin)) && bytes.HasSuffix(line, []byte(endEmphasis)) {
			short = t.emphasize(begin, short)
		}
		out = append(append(out, short...), '\n')
	}
	return out
}

// cutLine cuts a line that is too long.
func cutLine(line string, columns int) string {
	runes := []rune(line)
	runes = runes[:min(len(runes), columns)]
	for len(runes) > 0 && cellwidth.Of(string(runes)) > columns-1 {
		runes = runes[:len(runes)-1]
	}
	return string(runes) + "…"
}
