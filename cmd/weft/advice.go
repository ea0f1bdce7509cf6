package main

import (
	"os"
	"regexp"
	"strings"

	"github.com/weft-trace/weft/internal/tracer"
)

// tracerAdvice returns advice about a failed tracer, based on its messages and on the current user; "" if no advice applies.
func tracerAdvice(tracer tracer.Tracer, messages []string) string {
	text := strings.Join(messages, "\n")
	for _, a := range tracerMessages {
		if a.matches.MatchString(text) && (a.tracer == "" || a.tracer == tracer) && (!a.forUsers || os.Geteuid() != 0) {
			return a.advice
		}
	}
	return ""
}

// tracerMessages maps tracer messages to advice. The first match counts.
var tracerMessages = []struct {
	matches  *regexp.Regexp
	tracer   tracer.Tracer
	forUsers bool // only if the user is not root
	advice   string
}{
	{regexp.MustCompile(`(?i)root user|permission|not permitted|denied|privilege|CAP_`), "", true,
		"tracing needs root: run weft with sudo"},
	{regexp.MustCompile(`(?i)not permitted|required permissions|denied|lockdown`), tracer.Bpftrace, false,
		"the kernel does not allow tracing even for root: in a container, add the capabilities CAP_BPF and CAP_PERFMON (or --privileged); otherwise turn kernel lockdown off"},
	{regexp.MustCompile(`(?i)not permitted|privilege|denied`), tracer.DTrace, false,
		"the system does not allow tracing even for root: run the container with --privileged; on macOS, enable DTrace in System Integrity Protection"},
	{regexp.MustCompile(`(?i)tracepoint not found|tracefs|debugfs|kernel/tracing`), tracer.Bpftrace, false,
		"the kernel's tracepoints are not mounted: run mount -t tracefs tracefs /sys/kernel/tracing && mount -t debugfs debugfs /sys/kernel/debug"},
	{regexp.MustCompile(`(?i)couldn't get argument|finding location for probe|no probes to attach|usdt probe`), tracer.Bpftrace, false,
		"the program does not have the probes of the script; bpftrace -l 'usdt:PROGRAM:*' lists its probes, and --program names another program or library"},
	{regexp.MustCompile(`(?i)does not match any probes|invalid probe specifier`), tracer.DTrace, false,
		"the program does not have the probes of the script; dtrace -l -p PID lists its probes"},
	{regexp.MustCompile(`(?i)unknown function|syntax error|unexpected`), "", false,
		"the script does not suit this version of the tracer; its head (weft probes scripts) names the versions it was run with"},
}
