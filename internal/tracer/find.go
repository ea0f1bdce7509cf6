package tracer

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"
)

// NotInstalledError reports that a tracer's program was not found.
type NotInstalledError struct {
	Tracer Tracer
	Other  string // the path of another program with the same name
}

// Error implements error.
func (e *NotInstalledError) Error() string {
	if e.Other != "" {
		return e.Other + " is SystemTap's dtrace, which only generates headers; DTrace is not installed"
	}
	return string(e.Tracer) + " is not installed or not in PATH"
}

// Hint explains how to install the tracer.
func (e *NotInstalledError) Hint() string {
	if e.Tracer == DTrace {
		return ": install it (the package dtrace of Debian and Ubuntu puts it into /usr/sbin) or use --tracer bpftrace"
	}
	return "; install it (apt install bpftrace, dnf install bpftrace). It only traces Linux"
}

// FindProgram returns the path of a tracer's program. Errors are NotInstalledErrors.
func FindProgram(tracer Tracer) (string, error) {
	if tracer == DTrace {
		return findDTrace()
	}
	path, err := exec.LookPath(string(tracer))
	if err != nil {
		return "", &NotInstalledError{Tracer: tracer}
	}
	return filepath.Abs(path)
}

// findDTrace finds DTrace among the programs with that name: SystemTap's dtrace only generates headers.
func findDTrace() (string, error) {
	other := ""
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin", "/sbin") {
		path, err := exec.LookPath(filepath.Join(dir, string(DTrace)))
		if err != nil || !filepath.IsAbs(path) {
			continue
		}
		if isDTrace(path) {
			return path, nil
		}
		other = path
	}
	return "", &NotInstalledError{DTrace, other}
}

// dtraceVersion matches DTrace's output for -V, such as "dtrace: Sun D 2.0".
var dtraceVersion = regexp.MustCompile(`\bD \d+\.\d`)

func isDTrace(path string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	output, err := exec.CommandContext(ctx, path, "-V").CombinedOutput()
	return err == nil && dtraceVersion.Match(output)
}
