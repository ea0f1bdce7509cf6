//go:build unix

package tracer

import (
	"os"
	"os/exec"
	"syscall"
)

// setProcessGroup gives a tracer and what it starts a process group of their own, so that Ctrl-C reaches it once, by
// Interrupt: a second SIGINT ends bpftrace before it has written everything.
func setProcessGroup(tracer *exec.Cmd) { tracer.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func interruptProcess(tracer *exec.Cmd) { _ = tracer.Process.Signal(os.Interrupt) }

// killProcesses ends the tracer and what it started.
func killProcesses(tracer *exec.Cmd) {
	if syscall.Kill(-tracer.Process.Pid, syscall.SIGKILL) != nil {
		_ = tracer.Process.Kill()
	}
}
