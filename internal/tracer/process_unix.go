//go:build unix

package tracer

import (
	"os"
	"os/exec"
	"syscall"
)

// setProcessGroup puts a tracer and its children into a separate process group, so that Ctrl-C reaches it only once, through
// Interrupt: a second SIGINT would end bpftrace before it has written everything.
func setProcessGroup(tracer *exec.Cmd) { tracer.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func interruptProcess(tracer *exec.Cmd) { _ = tracer.Process.Signal(os.Interrupt) }

// killProcesses kills the tracer and its children.
func killProcesses(tracer *exec.Cmd) {
	if syscall.Kill(-tracer.Process.Pid, syscall.SIGKILL) != nil {
		_ = tracer.Process.Kill()
	}
}
