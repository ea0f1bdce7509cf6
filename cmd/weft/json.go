package main

import (
	"errors"
	"io"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"
)

// jsonFlag returns the --json flag of commands with JSON output.
func jsonFlag(usage string) cli.Flag {
	return &cli.BoolFlag{Name: "json", Aliases: []string{"j"}, Usage: usage, DisableDefaultText: true}
}

// failedInput is the JSON line for an input that failed or lacks the requested data. Every input has a line, so that none is
// missed.
type failedInput struct {
	Input string `json:"input"`
	Error string `json:"error"`
}

// writeFailed writes the line for an input that failed. It strips the name from the error message, because the line has it
// already.
func writeFailed(w io.Writer, input string, err error) error {
	failed := newFailed(input, err)
	return writeJSON(w, &failed)
}

func newFailed(input string, err error) failedInput {
	name := inputName(input)
	return failedInput{name, strings.TrimPrefix(message(err), name+": ")}
}

// withJSONErrors makes a command with one input write the JSON line if the command fails. The parameter at is the index of the
// argument that names the input.
func withJSONErrors(env *environment, at int, action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		err := action(c)
		usage := (*usageError)(nil)
		if err == nil || !c.Bool("json") || err == errReported || c.Context.Err() != nil || errors.As(err, &usage) || errors.Is(err, syscall.EPIPE) {
			return err
		}
		return errors.Join(err, writeFailed(env.stdout, c.Args().Get(at), err))
	}
}
