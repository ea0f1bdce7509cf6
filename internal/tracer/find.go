package tracer

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"github.com/weft-trace/weft/internal/probescripts"
)

// NotInstalledError means that the program of a tracer is not there.
type NotInstalledError struct {
	Tracer probescripts.Tracer
	Other  string // the path of a program that only has the name
}

// Error implements error.
func (e *NotInstalledError) Error() string {
	if e.Other != "" {
		return e.Other + " is SystemTap's dtrace, which only generates headers; DTrace is not installed"
	}
	return string(e.Tracer) + " is not installed or not in PATH"
}

// Hint says how to get a tracer.
func (e *NotInstalledError) Hint() string {
	if e.Tracer == probescripts.DTrace {
		return ": install it (the package dtrace of Debian and Ubuntu puts it into /usr/sbin) or use --tracer bpftrace"
	}
	return "; install it (apt install bpftrace, dnf install bpftrace). It only traces Linux"
}

// Find returns the path of a tracer's program. An error is a NotInstalledError.
func Find(tracer probescripts.Tracer) (string, error) {
	if tracer == probescripts.DTrace {
		return findDTrace()
	}
	path, err := exec.LookPath(string(tracer))
	if err != nil {
		return "", &NotInstalledError{Tracer: tracer}
	}
	return filepath.Abs(path)
}

// findDTrace looks for DTrace among the programs of that name: SystemTap has one that makes headers of probes.
func findDTrace() (string, error) {
	other := ""
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin", "/sbin") {
		path, err := exec.LookPath(filepath.Join(dir, string(probescripts.DTrace)))
		if err != nil || !filepath.IsAbs(path) {
			continue
		}
		if isDTrace(path) {
			return path, nil
		}
		other = path
	}
	return "", &NotInstalledError{probescripts.DTrace, other}
}

// dtraceVersion matches what DTrace prints for -V, such as "dtrace: Sun D 2.0".
var dtraceVersion = regexp.MustCompile(`\bD \d+\.\d`)

func isDTrace(path string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	said, err := exec.CommandContext(ctx, path, "-V").CombinedOutput()
	return err == nil && dtraceVersion.Match(said)
}
