// Weft converts traces to Perfetto traces and shows what is in them.
//
// This program is flags, files and printing around package convert: docs/cli.md describes it, one file holds one
// command. Everything outside comes in through an environment, so that tests run it in process.
package main

import (
	"context"
	"io"
	"os"

	"golang.org/x/term"
)

func main() {
	os.Exit(run(signalContext(context.Background()), os.Args, &environment{
		stdin:      os.Stdin,
		stdout:     os.Stdout,
		stderr:     os.Stderr,
		isTerminal: isTerminal,
		width:      terminalWidth,
	}))
}

// environment is what the program uses of the outside, beside files.
type environment struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	isTerminal     func(io.Writer) bool
	width          func(io.Writer) int // of a terminal, in columns; 0 if unknown
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func terminalWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}
