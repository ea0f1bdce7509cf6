package tracer

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func all(t *testing.T) []Script {
	t.Helper()
	scripts, err := Scripts()
	if err != nil {
		t.Fatal(err)
	}
	return scripts
}

func TestShipped(t *testing.T) {
	var names []string
	for _, s := range all(t) {
		names = append(names, s.File())
	}
	want := []string{
		"counts.bt", "exceptions.bt", "hotspot.bt", "layout.bt", "libc.bt", "mozilla-text.bt", "mozilla.bt", "postgres.bt",
		"raw-text.bt", "sched.bt", "syscalls.bt", "system.bt", "uprobe.bt", "usdt.bt",
		"js.d", "js_funcalls.d", "layout.d", "layout_count.d", "layout_time.d",
	}
	if !slices.Equal(names, want) {
		t.Errorf("scripts %q; want %q", names, want)
	}
	for _, tracer := range Tracers() {
		s, err := FindScript(tracer, tracer.Default())
		if err != nil || !s.Records() {
			t.Errorf("the script that %s records with by default: %v", tracer, err)
		}
	}
}

// The needs of a script follow from its text.
func TestNeeds(t *testing.T) {
	tests := []struct {
		file                            string
		records, json, program, command bool
	}{
		{"mozilla.bt", true, true, true, false},
		{"mozilla-text.bt", true, false, true, false},
		{"system.bt", true, true, true, false},
		{"sched.bt", true, false, false, true},
		{"syscalls.bt", true, true, false, true},
		{"postgres.bt", true, true, false, false},
		{"counts.bt", false, false, true, false},
		{"layout.d", true, false, false, false},
		{"layout_count.d", false, false, false, false},
	}
	for _, tt := range tests {
		s, err := FindScript("", tt.file)
		if err != nil {
			t.Error(err)
			continue
		}
		if s.Records() != tt.records || s.JSON() != tt.json || s.NeedsProgram() != tt.program || s.NeedsCommand() != tt.command {
			t.Errorf("%s: records %t, JSON %t, program %t, command %t; want %+v", tt.file, s.Records(), s.JSON(), s.NeedsProgram(), s.NeedsCommand(), tt)
		}
	}
}

func TestFindScript(t *testing.T) {
	tests := []struct {
		tracer     Tracer
		name, want string
	}{
		{Bpftrace, "layout", "layout.bt"},
		{DTrace, "layout", "layout.d"},
		{DTrace, "layout.d", "layout.d"},
		{"", "layout.d", "layout.d"},
		{"", "system", "system.bt"},
	}
	for _, tt := range tests {
		if s, err := FindScript(tt.tracer, tt.name); err != nil || s.File() != tt.want {
			t.Errorf("FindScript(%q, %q) = %v, %v; want %s", tt.tracer, tt.name, s, err, tt.want)
		}
	}
	if _, err := FindScript("", "layout"); err == nil || !strings.Contains(err.Error(), "layout.bt or layout.d") {
		t.Errorf("a name that two tracers have: %v", err)
	}
	if _, err := FindScript(DTrace, "system"); !errors.Is(err, ErrUnknownScript) {
		t.Errorf("a script of the other tracer: %v", err)
	}
}

func TestProbes(t *testing.T) {
	s, err := FindScript(Bpftrace, "syscalls")
	if err != nil {
		t.Fatal(err)
	}
	got := s.Probes()
	want := []Probe{
		{"syscall:openat-entry", "dfd:int path:str flags:uint"}, {"syscall:openat-return", "ret:int"},
		{"syscall:read-entry", "fd:int buf:ptr count:uint"}, {"syscall:read-return", "ret:int"},
	}
	if len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
		t.Errorf("probes %q; want %q first", got, want)
	}
}

// The head of every script states its purpose, its usage and the tested tracer, consistently with the rest.
func TestHeads(t *testing.T) {
	for _, s := range all(t) {
		for _, fault := range faultsOfHead(&s) {
			t.Errorf("%s: %s", s.File(), fault)
		}
	}
}

// No shipped script has a construct with which a tracer is known to have problems.
func TestScripts(t *testing.T) {
	for _, s := range all(t) {
		for _, fault := range faultsOfScript(&s) {
			t.Errorf("%s: %s", s.File(), fault)
		}
	}
}

// The checks detect faults.
func TestFaults(t *testing.T) {
	good := `#!/usr/bin/env bpftrace
/*
 * good.bt: an example
 *
 * Usage: bpftrace -q good.bt PROGRAM -c 'PROGRAM ARGS'
 * Run with bpftrace 0.17.0.
 */
BEGIN { printf("#probelines 1\n#probe p:a-start n:int\n"); }
usdt:$1:p:a__start { printf("P1\t%llu\t%d\t%d\t%d\tp:a-start\t%d\n", nsecs, pid, tid, cpu, (int32)arg0); }
`
	if s := (&Script{"good", Bpftrace, good}); len(faultsOfHead(s))+len(faultsOfScript(s)) > 0 {
		t.Fatalf("a script without faults has %q and %q", faultsOfHead(s), faultsOfScript(s))
	}
	tests := []struct{ name, old, new, want string }{
		{"probe that no clause prints", "p:a-start n", "p:b-start n", "p:b-start is declared and never printed"},
		{"64 bits as %d", "(int32)arg0", "arg0", "%d cuts arg0 to 32 bits"},
		{"64 bits as %x", `%d\n", nsecs, pid, tid, cpu, (int32)arg0`, `0x%x\n", nsecs, pid, tid, cpu, arg0`, "%x cuts arg0 to 32 bits"},
		{"time as %d", "P1\\t%llu", "P1\\t%d", "%d cuts nsecs to 32 bits"},
		{"clock in parentheses", "nsecs,", "nsecs(monotonic),", "nsecs( does not work"},
		{"text as %s", `%d\n", nsecs, pid, tid, cpu, (int32)arg0`, `%s\n", nsecs, pid, tid, cpu, str(arg0)`, "%s does not escape str(arg0)"},
		{"arguments missing", ", (int32)arg0", "", "has 5 directives and 4 arguments"},
		{"no usage", " * Usage: bpftrace -q good.bt PROGRAM -c 'PROGRAM ARGS'\n", "", "no line \"Usage: "},
		{"usage without the program", "good.bt PROGRAM", "good.bt", "usage without PROGRAM"},
		{"usage without JSON", "printf(\"P1\\t%llu\\t%d\\t%d\\t%d\\tp:a-start\\t%d\\n\", nsecs, pid, tid, cpu, (int32)arg0)", `print(("P1", nsecs, pid, tid, cpu, "p:a-start", arg0))`, "usage without -f json"},
		{"not said whether it was run", " * Run with bpftrace 0.17.0.\n", "", "neither"},
		{"run with another tracer", "Run with bpftrace", "Run with SystemTap", "not its tracer"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &Script{"good", Bpftrace, strings.Replace(good, tt.old, tt.new, 1)}
			if s.Text == good {
				t.Fatal("nothing was replaced")
			}
			faults := slices.Concat(faultsOfHead(s), faultsOfScript(s))
			if len(faults) != 1 || !strings.Contains(faults[0], tt.want) {
				t.Errorf("faults %q; want one with %q", faults, tt.want)
			}
		})
	}
}

// faultsOfHead returns the faults in the head of a script.
func faultsOfHead(s *Script) (faults []string) {
	if s.About() == "" {
		faults = append(faults, fmt.Sprintf("no line %q that says what it is for", s.File()+": …"))
	}
	program := map[Tracer]string{Bpftrace: "bpftrace", DTrace: "DTrace"}[s.Tracer]
	switch run := s.TestedWith(); {
	case run == "":
		faults = append(faults, `neither "Run with …" nor "Not run: …"`)
	case strings.HasPrefix(run, "Run with") && !regexp.MustCompile(`^Run with `+program+` \d`).MatchString(run):
		faults = append(faults, "run with what is not its tracer")
	}
	usage := s.Usage()
	switch {
	case usage == "":
		faults = append(faults, `no line "Usage: …"`)
	case !strings.HasPrefix(usage, string(s.Tracer)+" ") || !strings.Contains(usage, " "+s.File()+" "):
		faults = append(faults, "usage of another tracer or script")
	case s.NeedsProgram() != regexp.MustCompile(` (PROGRAM|LIBJVM|/usr/bin/python3\S*) `).MatchString(strings.Split(usage, "'")[0]):
		faults = append(faults, "usage without PROGRAM, or with one that it does not need")
	case s.JSON() != strings.Contains(usage, "-f json"):
		faults = append(faults, "usage without -f json, or with one that it does not need")
	}
	return faults
}

// faultsOfScript returns the faults in the clauses of a script.
func faultsOfScript(s *Script) (faults []string) {
	_, code, _ := strings.Cut(s.Text, "*/")
	clauses := declaration.ReplaceAllString(code, "")
	for _, p := range s.Probes() {
		provider, name, _ := strings.Cut(p.Name, ":")
		if s.Tracer == DTrace {
			provider += "$target::"
		}
		if !regexp.MustCompile(regexp.QuoteMeta(provider+":"+name) + `\b($|[^-])`).MatchString(clauses) {
			faults = append(faults, p.Name+" is declared and never printed")
		}
	}
	if s.Tracer == DTrace {
		return faults // where %d and %x fit their argument, and %S escapes
	}
	if strings.Contains(code, "nsecs(") {
		faults = append(faults, "nsecs( does not work in all versions of bpftrace")
	}
	for _, call := range printf.FindAllStringSubmatch(code, -1) {
		faults = append(faults, faultsOfPrintf(s, call[1], arguments(call[2]))...)
	}
	return faults
}

var (
	declaration = regexp.MustCompile(`#probe [^\\"]*`)
	// A printf with its format and, up to the end of the statement, its arguments.
	printf    = regexp.MustCompile(`printf\("((?:[^"\\]|\\.)*)"((?:[^;"]|"[^"]*")*)\);`)
	directive = regexp.MustCompile(`%[0-9.-]*(?:ll|l|r|h)?[a-zA-Z]`)
	// Values with at most 32 bits in every version of bpftrace: the task, its processor, casts to 32 bits, and such fields of the
	// tracepoints in use.
	narrow = regexp.MustCompile(`^(pid|tid|cpu|cpid|\(u?int32\).*|args->(prev_prio|next_prio|prio|next_pid|child_pid))$`)
)

// rawText is the script whose purpose is to print texts unchanged.
const rawText = "raw-text"

func faultsOfPrintf(s *Script, format string, args []string) (faults []string) {
	directives := directive.FindAllString(format, -1)
	if len(directives) != len(args) {
		return []string{fmt.Sprintf("%q has %d directives and %d arguments", format, len(directives), len(args))}
	}
	for i, d := range directives {
		switch {
		case (d == "%d" || d == "%u" || d == "%x") && !narrow.MatchString(args[i]):
			faults = append(faults, fmt.Sprintf("%s cuts %s to 32 bits", d, args[i]))
		case d == "%s" && strings.HasPrefix(args[i], "str(") && s.Name != rawText:
			faults = append(faults, fmt.Sprintf("%%s does not escape %s", args[i]))
		}
	}
	return faults
}

// arguments splits the arguments after a format, ", a, b(c, d)", at commas outside parentheses and strings.
func arguments(text string) (args []string) {
	depth, quoted, from := 0, false, -1
	for i, r := range text {
		switch {
		case r == '"':
			quoted = !quoted
		case quoted:
		case r == '(':
			depth++
		case r == ')':
			depth--
		case r == ',' && depth == 0:
			if from >= 0 {
				args = append(args, strings.TrimSpace(text[from:i]))
			}
			from = i + 1
		}
	}
	if from >= 0 {
		args = append(args, strings.TrimSpace(text[from:]))
	}
	return args
}
