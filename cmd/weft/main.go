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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal ends the work in order; after that a second one ends the program at once.
	context.AfterFunc(ctx, stop)
	// A reader of our output that goes away is an error like any other: temporary files are still removed.
	signal.Ignore(syscall.SIGPIPE)

	os.Exit(run(ctx, os.Args, &environment{
		stdin:      os.Stdin,
		stdout:     os.Stdout,
		stderr:     os.Stderr,
		isTerminal: isTerminal,
	}))
}

// environment is what the program uses of the outside, beside files.
type environment struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	isTerminal     func(io.Writer) bool
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
