package main

import (
	"io"
	"os"
	"runtime"

	"github.com/weft-trace/weft/internal/table"
)

// terminal describes the terminal that w writes to. It alone decides about color.
func (env *environment) terminal(w io.Writer) table.Terminal {
	if !env.isTerminal(w) {
		return table.Terminal{}
	}
	return table.Terminal{Columns: env.width(w), Color: wantsColor()}
}

// wantsColor reports whether a terminal should show color: not with NO_COLOR (no-color.org), not on a dumb terminal, and on
// Windows only if the terminal program declares that it supports escape sequences.
func wantsColor() bool {
	kind := os.Getenv("TERM")
	if os.Getenv("NO_COLOR") != "" || kind == "dumb" {
		return false
	}
	return runtime.GOOS != "windows" || kind != "" || os.Getenv("WT_SESSION") != ""
}
