//go:build !unix

package view

import "os/exec"

// detach does nothing: Ctrl-C does not reach programs without a console.
func detach(*exec.Cmd) {}
