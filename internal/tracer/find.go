package tracer

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/weft-trace/weft/internal/probescripts"
)

// Find returns the path of a tracer's program. The error says what to install.
func Find(tracer probescripts.Tracer) (string, error) {
	if tracer == probescripts.DTrace {
		return findDTrace()
	}
	path, err := exec.LookPath(string(tracer))
	if err != nil {
		return "", fmt.Errorf("%s is not installed or not in PATH; install it (apt install bpftrace, dnf install bpftrace). It only traces Linux", tracer)
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
	const install = "install it (the package dtrace of Debian and Ubuntu puts it into /usr/sbin) or use --tracer bpftrace"
	if other != "" {
		return "", fmt.Errorf("%s is SystemTap's dtrace, which only generates headers; DTrace is not installed: %s", other, install)
	}
	return "", fmt.Errorf("dtrace is not installed or not in PATH: %s", install)
}

// dtraceVersion matches what DTrace prints for -V, such as "dtrace: Sun D 2.0".
var dtraceVersion = regexp.MustCompile(`\bD \d+\.\d`)

func isDTrace(path string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	said, err := exec.CommandContext(ctx, path, "-V").CombinedOutput()
	return err == nil && dtraceVersion.Match(said)
}

// Advice returns what can be done about a tracer that failed, judging by what it said and by who runs it; "" if that is
// not clear.
func Advice(tracer probescripts.Tracer, said []string) string {
	text := strings.Join(said, "\n")
	for _, a := range advice {
		if a.matches.MatchString(text) && (a.tracer == "" || a.tracer == tracer) && (!a.forUsers || os.Geteuid() != 0) {
			return a.text
		}
	}
	return ""
}

// advice is what to do when a tracer says something that matches. The first that fits counts.
var advice = []struct {
	matches  *regexp.Regexp
	tracer   probescripts.Tracer
	forUsers bool // not for root
	text     string
}{
	{regexp.MustCompile(`(?i)root user|permission|not permitted|denied|privilege|CAP_`), "", true,
		"tracing needs root: run weft with sudo"},
	{regexp.MustCompile(`(?i)not permitted|required permissions|denied|lockdown`), probescripts.Bpftrace, false,
		"the kernel does not allow tracing even for root: in a container, add the capabilities CAP_BPF and CAP_PERFMON (or --privileged); otherwise turn kernel lockdown off"},
	{regexp.MustCompile(`(?i)not permitted|privilege|denied`), probescripts.DTrace, false,
		"the system does not allow tracing even for root: run the container with --privileged; on macOS, enable DTrace in System Integrity Protection"},
	{regexp.MustCompile(`(?i)tracepoint not found|tracefs|debugfs|kernel/tracing`), probescripts.Bpftrace, false,
		"the kernel's tracepoints are not mounted: run mount -t tracefs tracefs /sys/kernel/tracing && mount -t debugfs debugfs /sys/kernel/debug"},
	{regexp.MustCompile(`(?i)couldn't get argument|finding location for probe|no probes to attach|usdt probe`), probescripts.Bpftrace, false,
		"the program does not have the probes of the script; bpftrace -l 'usdt:PROGRAM:*' lists its probes, and --program names another program or library"},
	{regexp.MustCompile(`(?i)does not match any probes|invalid probe specifier`), probescripts.DTrace, false,
		"the program does not have the probes of the script; dtrace -l -p PID lists its probes"},
	{regexp.MustCompile(`(?i)unknown function|syntax error|unexpected`), "", false,
		"the script does not suit this version of the tracer; its head (weft probes scripts) names the versions it was run with"},
}
