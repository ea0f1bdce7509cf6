//go:build unix

package view

import (
	"os/exec"
	"syscall"
)

// detach keeps Ctrl-C in the terminal from ending a browser that was started there.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
