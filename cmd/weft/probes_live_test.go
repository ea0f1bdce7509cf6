//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/tracer"
)

// The tests in this file record programs with the tracers on this machine, as root. If they cannot, they report what is missing;
// .ci/run and make check print that line.

// missingForPrograms returns what is missing to compile the programs in testdata and trace them; "" if nothing is.
func missingForPrograms() string {
	if !recording.All() {
		return "WEFT_TESTS=all"
	}
	if os.Geteuid() != 0 {
		return "not root"
	}
	for _, program := range []string{"gcc", "g++"} {
		if _, err := exec.LookPath(program); err != nil {
			return program + " is not installed"
		}
	}
	if err := exec.Command("gcc", "-E", "-include", "sys/sdt.h", "-x", "c", "/dev/null").Run(); err != nil {
		return "<sys/sdt.h> is not there (systemtap-sdt-dev)"
	}
	return ""
}

func missingForBpftrace() string {
	if missing := missingForPrograms(); missing != "" {
		return missing
	}
	if _, err := exec.LookPath("bpftrace"); err != nil {
		return "bpftrace is not installed"
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if said, err := exec.CommandContext(ctx, "bpftrace", "-q", "-e", "BEGIN { exit(); }").CombinedOutput(); err != nil {
		return fmt.Sprintf("bpftrace cannot run here: %v: %s", err, bytes.TrimSpace(said))
	}
	return ""
}

// needTracepoints skips a test if the kernel's tracepoints are not visible.
func needTracepoints(t *testing.T) {
	t.Helper()
	listed, _ := exec.Command("bpftrace", "-l", "tracepoint:sched:sched_switch").Output()
	if !bytes.Contains(listed, []byte("sched_switch")) {
		t.Skip("bpftrace live: skipped: no tracepoints (mount -t debugfs debugfs /sys/kernel/debug)")
	}
}

// compile compiles a program in testdata and returns its path.
func compile(t *testing.T, compiler, source string, flags ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), strings.TrimSuffix(source, filepath.Ext(source)))
	args := append([]string{"-O2", "-pthread", "-o", program, filepath.Join("testdata", "probes", source)}, flags...)
	if said, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", compiler, err, said)
	}
	return program
}

// record records a program and returns the trace. If a recording has lost events, record repeats the recording with larger
// buffers.
func record(t *testing.T, args ...string) string {
	t.Helper()
	trace := filepath.Join(t.TempDir(), "out.pftrace")
	for _, pages := range []string{"256", "1024", "4096"} {
		t.Setenv("BPFTRACE_PERF_RB_PAGES", pages)
		code, _, said := weft(t, append([]string{"probes", "record", "--strict", "--force", "-o", trace}, args...)...)
		switch {
		case code == exitOK:
			if err := verifyOutputs(filepath.Dir(trace)); err != nil {
				t.Fatal(err)
			}
			return trace
		case code != exitStrict || !strings.Contains(said, "BPFTRACE_PERF_RB_PAGES"):
			t.Fatalf("weft probes record: exit code %d\n%s", code, said)
		}
		t.Logf("events were lost with buffers of %s pages", pages)
	}
	t.Fatal("every recording has lost events")
	return ""
}

// weft runs weft and returns its exit code, standard output and standard error.
func weft(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(t.Context(), append([]string{"weft"}, args...), &environment{
		stdin: strings.NewReader(""), stdout: &out, stderr: &err,
		isTerminal: func(io.Writer) bool { return false },
	})
	return code, out.String(), err.String()
}

// A dumpedEvent is a line in the output of weft dump --json.
type dumpedEvent struct {
	Time     int64          `json:"ts_ns"`
	Duration *int64         `json:"dur_ns"`
	Kind     string         `json:"kind"`
	Name     string         `json:"name"`
	PID      int            `json:"pid"`
	TID      int            `json:"tid"`
	Args     map[string]any `json:"args"`
}

func (e *dumpedEvent) probe() string { return fmt.Sprint(e.Args["weft.probe"]) }

func (e *dumpedEvent) flagged(flag string) bool {
	flags, _ := e.Args["weft.flags"].([]any)
	return slices.Contains(flags, any(flag))
}

// dumped returns the events of a trace.
func dumped(t *testing.T, trace string) (events []dumpedEvent) {
	t.Helper()
	code, lines, said := weft(t, "dump", "--json", trace)
	if code != exitOK {
		t.Fatalf("weft dump: %s", said)
	}
	decoder := json.NewDecoder(strings.NewReader(lines))
	decoder.UseNumber()
	for decoder.More() {
		var e dumpedEvent
		if err := decoder.Decode(&e); err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}

// A firing is one firing of a probe, as reported by the program.
type firing struct {
	before, after int64 // times before and after it, on the program's clock
	probe         string
	args          []string // numbers, or texts in hex after a colon; - and ! for missing and unreadable texts
}

// truthOf reads the firings that mozsim itself has recorded, by thread.
func truthOf(t *testing.T, file string) map[int][]firing {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	threads := map[int][]firing{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		before, err1 := strconv.ParseInt(fields[1], 10, 64)
		after, err2 := strconv.ParseInt(fields[2], 10, 64)
		tid, err3 := strconv.Atoi(fields[4])
		if err1 != nil || err2 != nil || err3 != nil {
			t.Fatalf("%s: bad line %q", file, line)
		}
		threads[tid] = append(threads[tid], firing{before, after, fields[5], fields[6:]})
	}
	return threads
}

// A recorded is one firing of a probe, as found in the trace.
type recorded struct {
	time  int64
	probe string
	args  map[string]string
	depth int // number of open slices around it; -1 for ends
	flags string
}

// partners replaces the suffix of a start with the suffix of its end.
var partners = strings.NewReplacer("-start", "-end", "-entry", "-return")

// recordedOf rebuilds the firings of each thread from the slices and instants in a trace: the start of each slice, its end if the
// slice has an end of its own, and the instants.
func recordedOf(t *testing.T, trace string) map[int][]recorded {
	t.Helper()
	threads := map[int][]recorded{}
	open := map[int][]int64{} // end times of open slices, by thread
	for _, e := range dumped(t, trace) {
		probe := strings.TrimPrefix(e.probe(), "trace_mozilla:")
		args, ends := map[string]string{}, map[string]string{}
		for name, value := range e.Args {
			if strings.HasPrefix(name, "weft.") {
				continue
			}
			if end, ok := strings.CutPrefix(name, "end."); ok {
				ends[end] = fmt.Sprint(value)
				continue
			}
			args[name] = fmt.Sprint(value)
		}
		stack := slices.DeleteFunc(open[e.TID], func(end int64) bool { return end <= e.Time })
		r := recorded{time: e.Time, probe: probe, args: args, depth: len(stack)}
		for _, flag := range []string{"unbalanced", "never_ended", "end_without_start"} {
			if e.flagged(flag) {
				r.flags += flag
			}
		}
		threads[e.TID] = append(threads[e.TID], r)
		if e.Kind == "slice" {
			if r.flags == "never_ended" {
				stack = append(stack, math.MaxInt64) // still open when the recording ends
			} else {
				stack = append(stack, e.Time+*e.Duration)
			}
			if r.flags == "" {
				end := recorded{time: e.Time + *e.Duration, probe: partners.Replace(probe), args: map[string]string{}, depth: -1}
				if probe == "js_execute-start" || probe == "js_object-create-start" {
					end.probe = strings.TrimSuffix(probe, "start") + "done"
				}
				for name, value := range args {
					end.args[name] = value
				}
				for name, value := range ends {
					end.args[name] = value
				}
				threads[e.TID] = append(threads[e.TID], end)
			}
		}
		open[e.TID] = stack
	}
	for _, records := range threads {
		slices.SortStableFunc(records, func(a, b recorded) int { return int(a.time - b.time) })
	}
	return threads
}

// argumentsOf holds the names of the arguments of mozsim's probes, by the base of the probe's name.
var argumentsOf = map[string][]string{
	"layout": {"presctx", "phase"}, "js_function": {"file", "class", "function"}, "js_execute": {"file", "line"},
	"js_object-create": {"class", "object"}, "js_object-create-start": {"file", "class"}, "js_object-finalize": {"class", "object"},
}

// keysOf holds the indexes of the arguments that an end shares with its start.
var keysOf = map[string][]int{"layout": {0, 1}, "js_function": {0, 2}, "js_execute": {0}, "js_object-create-start": nil}

func baseOf(probe string) string {
	switch probe {
	case "js_object-create-start", "js_object-create-done":
		return "js_object-create-start"
	}
	return regexp.MustCompile(`-(start|end|done|entry|return)$`).ReplaceAllString(probe, "")
}

// nesting returns the depth and the flags of each firing of a thread, by rule D2 of docs/formats/probes.md. Ends of slices have
// depth -1.
func nesting(firings []firing) (depths []int, flags []string) {
	depths, flags = make([]int, len(firings)), make([]string, len(firings))
	var open []int // indexes of starts in firings
	for i, f := range firings {
		base := baseOf(f.probe)
		key := func(f firing) (key string) {
			for _, n := range keysOf[base] {
				key += f.args[n] + "\t"
			}
			return key
		}
		switch {
		case f.probe == "js_object-create" || f.probe == "js_object-finalize":
			depths[i] = len(open)
		case strings.HasSuffix(f.probe, "-start") || strings.HasSuffix(f.probe, "-entry"):
			depths[i] = len(open)
			open = append(open, i)
		default:
			at := len(open) - 1
			for ; at >= 0; at-- {
				if s := firings[open[at]]; baseOf(s.probe) == base && key(s) == key(f) {
					break
				}
			}
			if at < 0 {
				depths[i], flags[i] = len(open), "end_without_start"
				continue
			}
			depths[i] = -1
			for _, inner := range open[at+1:] {
				flags[inner] = "unbalanced"
			}
			open = open[:at]
		}
	}
	for _, start := range open {
		flags[start] = "never_ended"
	}
	return depths, flags
}

// textLimit is the length at which texts are cut by the version of bpftrace with the shortest texts.
const textLimit = 63

// sameArgument compares an argument in a trace with the value that the program passed.
func sameArgument(name, got, truth string) bool {
	switch {
	case truth == "-" || truth == "!": // missing or unreadable
		return got == ""
	case strings.HasPrefix(truth, ":"):
		text, err := hex.DecodeString(truth[1:])
		if err != nil {
			return false
		}
		if got == shownText(text) {
			return true
		}
		for n := textLimit; n < len(text); n++ {
			if cut := shownText(text[:n]); got == cut || got == cut+".." {
				return true
			}
		}
		return false
	case name == "phase":
		for n, label := range []string{"paint", "reflow", "frameCon"} {
			if truth == strconv.Itoa(n) {
				return got == label
			}
		}
	}
	return got == truth
}

// shownText formats text, with bytes that are not UTF-8 as \xHH.
func shownText(text []byte) string {
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&b, `\x%02x`, text[0])
		} else {
			b.Write(text[:size])
		}
		text = text[size:]
	}
	return b.String()
}

func TestLive(t *testing.T) {
	if missing := missingForBpftrace(); missing != "" {
		t.Skipf("bpftrace live: skipped: %s", missing)
	}
	mozsim := compile(t, "g++", "mozsim.cc", "-DNOSEM")
	t.Run("Firings", func(t *testing.T) { testFirings(t, mozsim, "mozilla", "all") })
	t.Run("FiringsAsText", func(t *testing.T) {
		testFirings(t, mozsim, "mozilla-text", "-n 2 -w 2 layout throw unbalanced renames")
	})
	t.Run("TextCut", func(t *testing.T) { testTextCut(t, mozsim) })
	t.Run("System", testSystem)
	t.Run("Interrupt", func(t *testing.T) { testInterrupt(t, mozsim) })
	t.Run("DryRun", func(t *testing.T) { testDryRun(t, mozsim) })
}

// Firings recorded with DTrace match those reported by the program, if DTrace is available.
func TestLiveDTrace(t *testing.T) {
	missing := missingForPrograms()
	if missing == "" {
		if _, err := tracer.FindProgram(tracer.DTrace); err != nil {
			missing = err.Error()
		}
	}
	if missing != "" {
		t.Skipf("DTrace live: skipped: %s", missing)
	}
	mozsim := compile(t, "g++", "mozsim.cc", "-DNOSEM")
	testFirings(t, mozsim, "layout.d", "-n 14 -w 1 layout unbalanced throw")
}

// A tracer records the same as the program itself reports: every firing of every thread in order, with its arguments, at a time
// between the program's own clock readings, and nested according to the rules.
func testFirings(t *testing.T, mozsim, file, scenario string) {
	script, err := tracer.FindScript("", file)
	if err != nil {
		t.Fatal(err)
	}
	truthFile := filepath.Join(t.TempDir(), "truth")
	trace := record(t, "--tracer", string(script.Tracer), "--script", file, "-c", fmt.Sprintf("%s -t %s %s", mozsim, truthFile, scenario))
	truth, got := truthOf(t, truthFile), recordedOf(t, trace)
	clock := clockOffset{lowest: math.MinInt64, highest: math.MaxInt64}
	firings := 0
	for tid, all := range truth {
		want := slices.DeleteFunc(all, func(f firing) bool { return !recordedBy(script, f.probe) })
		firings += len(want)
		compareThread(t, tid, got[tid], want, &clock)
	}
	if len(got) != len(truth) || firings < 100 {
		t.Errorf("%d threads were recorded, of %d; %d firings", len(got), len(truth), firings)
	}
	t.Logf("%d firings of %d threads are as the program says", firings, len(truth))
}

// recordedBy reports whether a script declares a probe or, for an end, its start.
func recordedBy(script *tracer.Script, probe string) bool {
	return slices.ContainsFunc(script.Probes(), func(p tracer.Probe) bool {
		return baseOf(strings.TrimPrefix(p.Name, "trace_mozilla:")) == baseOf(probe)
	})
}

// A clockOffset bounds how far bpftrace's clock, whose times are relative to the start of the machine, can be ahead of the
// program's clock, which stops while the machine is suspended.
type clockOffset struct{ lowest, highest int64 }

// fits reports whether an event at a time on bpftrace's clock can be between two times on the program's clock, in agreement with
// all earlier calls.
func (c *clockOffset) fits(time, before, after int64) bool {
	c.lowest, c.highest = max(c.lowest, time-after), min(c.highest, time-before)
	return c.lowest <= c.highest
}

// compareThread compares the firings of one thread.
func compareThread(t *testing.T, tid int, got []recorded, want []firing, clock *clockOffset) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("thread %d: %d firings; the program says %d", tid, len(got), len(want))
		return
	}
	depths, flags := nesting(want)
	faults := 0
	fault := func(i int, format string, args ...any) {
		if faults++; faults <= 5 {
			t.Errorf("thread %d, firing %d, %s %q: %s", tid, i, want[i].probe, want[i].args, fmt.Sprintf(format, args...))
		}
	}
	for i, r := range got {
		w := want[i]
		if r.probe != w.probe {
			fault(i, "is %s in the trace", r.probe)
			continue
		}
		if !clock.fits(r.time, w.before, w.after) {
			fault(i, "at %d, which is not between %d and %d on the program's clock", r.time, w.before, w.after)
		}
		for n, name := range argumentsOf[strings.Replace(baseOf(w.probe), "-done", "-start", 1)] {
			if !sameArgument(name, r.args[name], w.args[n]) {
				fault(i, "%s is %q", name, r.args[name])
			}
		}
		if r.depth != depths[i] || r.flags != flags[i] {
			fault(i, "at depth %d with flags %q; want %d, %q", r.depth, r.flags, depths[i], flags[i])
		}
	}
}

// The script for plain lines reveals where bpftrace cuts texts, so that only texts of that length are flagged.
func testTextCut(t *testing.T, mozsim string) {
	cuts, whole := 0, 0
	for _, e := range dumped(t, record(t, "--script", "mozilla-text", "-c", mozsim+" -n 1 -w 1 texts")) {
		file, function := fmt.Sprint(e.Args["file"]), fmt.Sprint(e.Args["function"])
		if e.probe() != "trace_mozilla:js_function-entry" || strings.Contains(file+function, `\x`) { // texts that are shown escaped
			continue
		}
		cut := max(len(file), len(function)) >= textLimit
		if cut {
			cuts++
		} else {
			whole++
		}
		if e.flagged("text_cut") != cut {
			t.Errorf("texts %q and %q: flags %v", file, function, e.Args["weft.flags"])
		}
	}
	if cuts == 0 || whole == 0 {
		t.Errorf("%d slices with texts that may be cut, %d others", cuts, whole)
	}
}

// The script with system calls shows what a function waits for: the slice of the call is inside the function's slice, and the
// time off the processor is inside the slice of the call.
func testSystem(t *testing.T) {
	needTracepoints(t)
	trace := record(t, "--script", "system", "-c", compile(t, "gcc", "example.c"))
	var path []string
	var ends []int64
	counts := map[string]int{}
	waits := 0
	for _, e := range dumped(t, trace) {
		for len(ends) > 0 && ends[len(ends)-1] <= e.Time {
			path, ends = path[:len(path)-1], ends[:len(ends)-1]
		}
		path, ends = append(path, e.probe()), append(ends, e.Time+*e.Duration)
		counts[e.probe()]++
		if strings.Join(path, " ") == "trace_mozilla:js_function-entry syscall:clock_nanosleep-entry sched:off_cpu-begin" && e.Args["state"] == "sleeping" {
			waits++
		}
	}
	if waits == 0 || counts["trace_mozilla:layout-start"] != 24 || counts["trace_mozilla:js_function-entry"] != 14 || counts["syscall:write-entry"] < 1 {
		t.Errorf("%d waits in the sleep of a function; slices %v", waits, counts)
	}
}

// A running process is recorded until Ctrl-C.
func testInterrupt(t *testing.T, mozsim string) {
	process := exec.Command(mozsim, "-n", "100000000", "-w", "0", "-s", "1000", "layout")
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		process.Process.Kill()
		process.Wait()
	}()
	dir := t.TempDir()
	ctx, interrupt := context.WithTimeout(context.Background(), 2*time.Minute)
	defer interrupt()
	go func() {
		for ctx.Err() == nil { // until the first lines have been written
			names, _ := filepath.Glob(filepath.Join(dir, ".lines.*"))
			for _, name := range names {
				if info, err := os.Stat(name); err == nil && info.Size() > 0 {
					interrupt()
				}
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	var said bytes.Buffer
	trace := filepath.Join(dir, "out.pftrace")
	code := run(ctx, []string{"weft", "probes", "record", "--script", "layout", "-p", strconv.Itoa(process.Process.Pid),
		"--lines", filepath.Join(dir, "lines"), "-o", trace}, &environment{
		stdin: strings.NewReader(""), stdout: &said, stderr: &said, isTerminal: func(io.Writer) bool { return false },
	})
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, said.String())
	}
	if events := dumped(t, trace); len(events) < 10 || !strings.HasPrefix(events[0].probe(), "trace_mozilla:layout-") {
		t.Errorf("%d events", len(events))
	}
}

// The bpftrace on this machine accepts every script for bpftrace, if the programs named in the script are installed. Scripts that
// other tests run are skipped, because each takes seconds.
func testDryRun(t *testing.T, mozsim string) {
	help, _ := exec.Command("bpftrace", "--help").CombinedOutput()
	dry := "-d"
	if bytes.Contains(help, []byte("--dry-run")) {
		dry = "--dry-run"
	}
	scripts, err := tracer.Scripts()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scripts {
		if s.Tracer != tracer.Bpftrace || slices.Contains([]string{"mozilla", "mozilla-text", "layout", "system"}, s.Name) {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			needPrograms(t, &s)
			if strings.Contains(s.Text, "tracepoint:") {
				needTracepoints(t)
			}
			file := filepath.Join(t.TempDir(), s.File())
			if err := os.WriteFile(file, []byte(s.Text), 0o666); err != nil {
				t.Fatal(err)
			}
			said, err := exec.Command("bpftrace", dry, file, mozsim, "-c", mozsim+" -n 1 -w 0 objects").CombinedOutput()
			if err != nil {
				t.Errorf("bpftrace %s: %v\n%s", dry, err, said)
			}
		})
	}
}

// fixedProbe matches a clause for a static probe in a program that the script names.
var fixedProbe = regexp.MustCompile(`(?m)^usdt:"?(/[^":]+)"?:(\w+:\w+)`)

// needPrograms skips the test of a script if its program is missing or lacks some of the probes.
func needPrograms(t *testing.T, s *tracer.Script) {
	t.Helper()
	if _, _, wanted := s.WithoutMissingProbes(nil); len(wanted) > 0 && !strings.HasPrefix(wanted[0], "trace_mozilla:") {
		t.Skipf("bpftrace live: skipped: no program with %s", wanted[0])
	}
	for _, clause := range fixedProbe.FindAllStringSubmatch(s.Text, -1) {
		probes, err := tracer.StaticProbes(clause[1])
		if err != nil || !slices.Contains(probes, clause[2]) {
			t.Skipf("bpftrace live: skipped: no %s with %s", clause[1], clause[2])
		}
	}
}
