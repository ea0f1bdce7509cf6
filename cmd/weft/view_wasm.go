package main

import (
	"context"
	"errors"
)

// run fails: a WebAssembly program cannot listen, and a browser has its own way to open the converted trace.
func (j *viewJob) run(context.Context) error {
	return errors.New("view needs a network, which a program in WebAssembly does not have; weft convert writes a file that Perfetto opens")
}
