package main

import (
	"errors"
	"io"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"
)

// jsonFlag is --json of all commands that have an output for programs.
func jsonFlag(usage string) cli.Flag {
	return &cli.BoolFlag{Name: "json", Aliases: []string{"j"}, Usage: usage, DisableDefaultText: true}
}

// failedInput is the JSON line for an input that failed or lacks what was requested. Each input has a line, so that none is missed.
type failedInput struct {
	Input string `json:"input"`
	Error string `json:"error"`
}

// writeFailed writes the line of an input that failed. The message of the error begins with its name, which the line has already.
func writeFailed(w io.Writer, input string, err error) error {
	failed := newFailed(input, err)
	return writeJSON(w, &failed)
}

func newFailed(input string, err error) failedInput {
	name := inputName(input)
	return failedInput{name, strings.TrimPrefix(message(err), name+": ")}
}

// withJSONErrors lets a command about one input write its JSON line if it fails. at is the index of the argument that names the input.
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
