package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/collections"
	"github.com/weft-trace/weft/internal/merge"
	"github.com/weft-trace/weft/internal/readers/jsprofile"
	"github.com/weft-trace/weft/internal/tracer"
	"github.com/weft-trace/weft/internal/v8profile"
)

// Errors from the library come with the flags and commands that help.
func TestAdvice(t *testing.T) {
	full := &collections.MemoryLimitError{What: "profiles are held in memory while they are read", Limit: 256 << 20}
	const room = "profiles are held in memory while they are read, and this input needs more than their limit of 256 MiB; allow more with --memory"
	for _, c := range []struct {
		err  error
		want string
	}{
		{full, room},
		{&v8profile.AssemblyError{Err: full}, room + ", or skip the profiles with --js-calls off and --samples none"},
		{&merge.UnplacedError{Input: "a", Why: &merge.ClockError{Places: []merge.Match{
			{By: merge.ByNavigation, URL: "u", At: 1e9}, {By: merge.ByNavigation, URL: "v", At: 2e9},
		}}}, "nothing says where a belongs in time. a: . : ; no common clock: 2 places in the trace fit equally well: the navigations to u at 1.000000 s, " +
			"to v at 2.000000 s. --offset a=DUR says what to add to its times"},
		{&merge.ClockError{Why: merge.ErrNoSamples}, "no common clock: the trace has neither the samples of this profile (as a profile of the source " +
			"SelfProfiling; it names one, but has none of its samples: merge the recording itself, or what --profile all makes of it) " +
			"nor the navigation to one of its pages"},
		{&v8profile.NotFoundError{ID: "0x3", Has: []string{"0x1", "0x2"}}, "there is no V8 profile 0x3; the trace has 0x1, 0x2 (weft info --details lists them with their threads)"},
		{&v8profile.NotFoundError{ID: "0x3"}, "there is no V8 profile 0x3; the trace has none"},
		{&tracer.NotInstalledError{Tracer: tracer.Bpftrace}, "bpftrace is not installed or not in PATH; install it (apt install bpftrace, dnf install bpftrace). It only traces Linux"},
		{&tracer.NotInstalledError{Tracer: tracer.DTrace}, "dtrace is not installed or not in PATH: install it (the package dtrace of Debian and Ubuntu puts it into /usr/sbin) or use --tracer bpftrace"},
		{fmt.Errorf("%w: a JSON object; %w", convert.ErrUnknownFormat, jsprofile.ErrListsMissing), "unknown format: a JSON object; " +
			"if these are the samples of a JS self-profile without its other lists, the format jsprofile reads them"},
	} {
		if got := message(fmt.Errorf("a.json: %w", c.err)); got != "a.json: "+c.want {
			t.Errorf("got  %s\nwant a.json: %s", got, c.want)
		}
	}
}

// Messages of bpftrace 0.17 lead to advice. For missing rights the advice depends on the user.
func TestTracerAdvice(t *testing.T) {
	rights := "--privileged"
	if os.Geteuid() != 0 {
		rights = "sudo"
	}
	tests := []struct{ said, want string }{
		{"ERROR: failed to create  map: Operation not permitted\nCreation of the required BPF maps has failed.", rights},
		{"ERROR: couldn't get argument 0 for /bin/true:trace_mozilla:layout__start", "usdt:PROGRAM"},
		{"ERROR: Error finding location for probe: usdt:/usr/lib/libstdc++.so.6:libstdcxx:rethrow", "usdt:PROGRAM"},
		{"ERROR: tracepoint not found: syscalls:sys_enter_openat", "mount -t tracefs"},
		{"mozsim: cannot open display", ""},
	}
	for _, tt := range tests {
		got := tracerAdvice(tracer.Bpftrace, strings.Split(tt.said, "\n"))
		if !strings.Contains(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%q: advice %q; want %q in it", tt.said, got, tt.want)
		}
	}
}
