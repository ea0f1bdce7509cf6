//go:build !unix

package tracer

import "os/exec"

func setProcessGroup(*exec.Cmd) {}

// interruptProcess kills the tracer, because there are no signals.
func interruptProcess(tracer *exec.Cmd) { _ = tracer.Process.Kill() }

func killProcesses(tracer *exec.Cmd) { _ = tracer.Process.Kill() }
