package main

import (
	"context"
	"errors"
)

// run fails: a program in WebAssembly cannot listen, and a browser has its own way to open what weft converts.
func (j *viewJob) run(context.Context) error {
	return errors.New("view needs a network, which a program in WebAssembly does not have; weft convert writes a file that Perfetto opens")
}
