// Weft converts traces to Perfetto traces and tells what is in them.
//
// This program is flags, files and printing around package convert: docs/cli.md describes it, one file holds one
// command. Everything outside comes in through an environment, so that tests run it in process.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), endSignals()...)
	// The first signal ends the work in order; after that a second one ends the program at once.
	context.AfterFunc(ctx, stop)
	// A reader of our output that goes away is an error like any other: temporary files are still removed.
	signal.Ignore(syscall.SIGPIPE)

	os.Exit(run(ctx, os.Args, &environment{
		stdin:      os.Stdin,
		stdout:     os.Stdout,
		stderr:     os.Stderr,
		isTerminal: isTerminal,
		width:      terminalWidth,
	}))
}

// endSignals returns the signals that end a run in order: Ctrl-C, kill, and a terminal that goes away, unless whoever
// started weft wants it to survive that (nohup).
func endSignals() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
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
