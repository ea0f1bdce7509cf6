// Command weft converts traces to Perfetto traces, checks and attributes them, and shows their contents.
//
// Usage:
//
//	weft command [flags] file...
//
// The file docs/cli.md describes the commands. This package handles flags, files and printing, with one file for each
// command; package convert and the packages below internal do the work. A command reaches the outside through an environment,
// so that tests can run it in their own process.
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

// environment is the program's access to the outside world, apart from files.
type environment struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	isTerminal     func(io.Writer) bool
	width          func(io.Writer) int // width of a terminal in columns; 0 if unknown

	// beforeStep is called before output files are created, written, closed, renamed or removed; its error becomes the error of
	// the step. Tests use it to stop the program at any step. nil: no effect.
	beforeStep func() error

	files *usedFiles // set by run
}

// step calls beforeStep before a change to an output file.
func (e *environment) step() error {
	if e.beforeStep == nil {
		return nil
	}
	return e.beforeStep()
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
