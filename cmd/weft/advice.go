package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/weft-trace/weft/internal/collections"
	"github.com/weft-trace/weft/internal/merge"
	"github.com/weft-trace/weft/internal/probescripts"
	"github.com/weft-trace/weft/internal/readers/jsprofile"
	"github.com/weft-trace/weft/internal/tracer"
	"github.com/weft-trace/weft/internal/v8profile"
)

// advised returns the text of an error, and after what the library says the flags and commands that help.
func advised(err error) string {
	text := err.Error()
	advise := func(about error, advice string) {
		text = strings.Replace(text, about.Error(), about.Error()+advice, 1)
	}
	if full := (*collections.RoomError)(nil); errors.As(err, &full) {
		advice := "; allow more with --memory"
		if trace := (*v8profile.AssemblyError)(nil); errors.As(err, &trace) {
			advice += "; --js-calls off and --samples none leave them out"
		}
		advise(full, advice)
	}
	if unplaced := (*merge.UnplacedError)(nil); errors.As(err, &unplaced) {
		text += fmt.Sprintf(". --offset %s=DUR says what to add to its times", unplaced.Input)
	}
	if hosts := (*merge.HostsError)(nil); errors.As(err, &hosts) {
		if advice := fmt.Sprintf(". --host %s=HOST says where that was recorded", hosts.A); hosts.By != "--same" {
			text += advice
		} else {
			text += advice + "; leave out --same if they are of two hosts"
		}
	}
	if contradiction := (*merge.ContradictionError)(nil); errors.As(err, &contradiction) {
		text += fmt.Sprintf(". --offset %s=DUR decides", contradiction.B)
	}
	if zero := (*merge.BeforeZeroError)(nil); errors.As(err, &zero) {
		text += fmt.Sprintf(". Try --reference %s", zero.Input)
	}
	if beyond := (*merge.RangeError)(nil); errors.As(err, &beyond) {
		text += fmt.Sprintf(". Try --reference %s, and check --offset", beyond.Input)
	}
	if uncertain := (*merge.UncertainError)(nil); errors.As(err, &uncertain) {
		text += fmt.Sprintf(" by --max-uncertainty. If you know the offset, give it with --offset %s=DUR", uncertain.Input)
	}
	if errors.Is(err, merge.ErrNoSamples) {
		advise(merge.ErrNoSamples, ": merge the recording itself, or what --profile all makes of it")
	}
	if unknown := (*v8profile.NotFoundError)(nil); errors.As(err, &unknown) && len(unknown.Has) > 0 {
		advise(unknown, " (weft info --details lists them with their threads)")
	}
	if missing := (*tracer.NotInstalledError)(nil); errors.As(err, &missing) {
		if missing.Tracer == probescripts.DTrace {
			advise(missing, ": install it (the package dtrace of Debian and Ubuntu puts it into /usr/sbin) or use --tracer bpftrace")
		} else {
			advise(missing, "; install it (apt install bpftrace, dnf install bpftrace). It only traces Linux")
		}
	}
	if errors.Is(err, jsprofile.ErrListsMissing) {
		text = strings.Replace(text, "the format has to be named", "--format jsprofile reads them", 1)
	}
	return text
}

// tracerAdvice returns what can be done about a tracer that failed, judging by what it said and by who runs it; "" if that is
// not clear.
func tracerAdvice(tracer probescripts.Tracer, said []string) string {
	text := strings.Join(said, "\n")
	for _, a := range tracerMessages {
		if a.matches.MatchString(text) && (a.tracer == "" || a.tracer == tracer) && (!a.forUsers || os.Geteuid() != 0) {
			return a.advice
		}
	}
	return ""
}

// tracerMessages are what tracers say, and what to do then. The first that fits counts.
var tracerMessages = []struct {
	matches  *regexp.Regexp
	tracer   probescripts.Tracer
	forUsers bool // not for root
	advice   string
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
