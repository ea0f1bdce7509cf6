package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/tracer"
	"github.com/weft-trace/weft/trace"
)

func probesRecordCommand(env *environment) *cli.Command {
	return &cli.Command{
		Name:      "record",
		Usage:     "run a tracer and convert its output",
		UsageText: "weft probes record [flags] -c CMD|-p PID -o FILE",
		Description: `Runs bpftrace or DTrace with a script and converts its output to a Perfetto trace.
With -c, the tracer starts CMD and records until it ends; with -p, it records a
running process. Ctrl-C ends the recording; weft converts the events so far.

Tracing needs root, and CMD runs as root too. CMD is not a shell command: the
tracer splits it at spaces. It cannot read from a terminal.

Examples:
   sudo weft probes record -c './program arguments' -o program.pftrace
   sudo weft probes record --script system -p 1234 -o firefox.pftrace
   sudo weft probes record --script ./mine.bt -c ./program -o program.pftrace`,
		Flags: []cli.Flag{
			tracerFlag(string(tracer.Bpftrace)),
			&cli.StringFlag{Name: "script", Usage: "run `SCRIPT`: a name from weft probes list, or a file", DefaultText: "mozilla; layout for dtrace"},
			&cli.StringFlag{Name: "c", Usage: "start the command `CMD` and record it until it ends"},
			&cli.IntFlag{Name: "p", Usage: "record the process `PID` until it ends or Ctrl-C", DefaultText: "none"},
			&cli.StringFlag{Name: "program", Usage: "bpftrace: program or library `FILE` with the probes", DefaultText: "the program of CMD or PID"},
			&cli.StringFlag{Name: "o", Aliases: []string{"output"}, Usage: "write the trace to `FILE`, or to standard output (\"-\")"},
			&cli.StringFlag{Name: "lines", Usage: "also write the output of the tracer to `FILE`, which weft convert reads"},
			&cli.BoolFlag{Name: "force", Aliases: []string{"f"}, Usage: "replace existing files", DisableDefaultText: true},
			strictFlag(""),
			&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "print no report", DisableDefaultText: true},
			memoryFlag(),
		},
		Action: func(c *cli.Context) error {
			job, err := newRecordJob(c, env)
			if err != nil {
				return err
			}
			return job.run(c.Context)
		},
	}
}

// A recordJob is one call of the record command.
type recordJob struct {
	env    *environment
	tracer tracer.Options
	output string
	lines  string // where a copy of the tracer's output goes; "": nowhere
	opts   convert.Options
	force  bool
	strict strictness
	quiet  bool
}

// grace is how long a tracer may take to end after Ctrl-C. Detaching from many probes takes bpftrace seconds.
const grace = 30 * time.Second

func newRecordJob(c *cli.Context, env *environment) (*recordJob, error) {
	job := &recordJob{
		env: env, output: c.String("o"), lines: c.String("lines"), force: c.Bool("force"), strict: readStrict(c), quiet: c.Bool("quiet"),
		tracer: tracer.Options{Command: strings.TrimSpace(c.String("c")), PID: c.Int("p"), Traced: c.String("program"), Grace: grace},
	}
	job.opts = convert.Options{From: convert.FormatProbes}
	var err error
	if job.opts.Memory, err = memoryOf(c, "memory"); err != nil {
		return nil, err
	}
	if err := job.chooseOutput(c); err != nil {
		return nil, err
	}
	if err := job.chooseScript(c); err != nil {
		return nil, err
	}
	return job, job.chooseTraced(c)
}

// chooseOutput checks the output flags and chooses the form of the trace.
func (j *recordJob) chooseOutput(c *cli.Context) error {
	switch {
	case c.NArg() > 0:
		return usagef("probes record takes no argument such as %q; quote a command with its arguments: -c 'PROGRAM ARGS'", c.Args().First())
	case j.output == "":
		return usagef("no output; use -o FILE")
	case c.IsSet("lines") && j.lines == "":
		return usagef("--lines: the name is empty")
	case j.lines != "" && (folders{}).placeKey(j.lines) == (folders{}).placeKey(j.output):
		return usagef("%s cannot hold both the trace and the probe lines", outputName(j.output))
	case j.output == "-" && j.env.isTerminal(j.env.stdout):
		return usagef("weft does not write binary traces to a terminal; use -o FILE or a pipe")
	}
	j.opts.Compression, j.opts.Packets = defaultForm(j.output)
	return nil
}

// chooseScript finds the script, which determines the other requirements.
func (j *recordJob) chooseScript(c *cli.Context) error {
	kind, err := tracerOf(c)
	if err != nil {
		return err
	}
	name := c.String("script")
	if name == "" {
		if c.IsSet("script") {
			return usagef("--script: the name is empty")
		}
		name = kind.Default()
	}
	script := &tracer.Script{Tracer: kind}
	if strings.ContainsRune(name, os.PathSeparator) {
		text, err := readSmall(name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		script.Name, script.Text = strings.TrimSuffix(filepath.Base(name), kind.Extension()), string(text)
		j.tracer.File = name
	} else if script, err = findScript(kind, name); err != nil {
		if _, statErr := os.Stat(name); statErr == nil {
			return usagef("%v; to run the file in this directory, use --script ./%s", err, name)
		}
		return err
	}
	j.tracer.Script = script
	if !script.Records() {
		return usagef("%s prints tables, not probe lines; weft probes scripts %s shows how to run it", script.File(), script.File())
	}
	return nil
}

// chooseTraced checks the target of the recording, and finds its program.
func (j *recordJob) chooseTraced(c *cli.Context) error {
	script := j.tracer.Script
	switch {
	case c.IsSet("c") == c.IsSet("p"):
		return usagef("use either -c CMD to start a command, or -p PID for a running process")
	case c.IsSet("c") && j.tracer.Command == "":
		return usagef("-c: the command is empty")
	case c.IsSet("p") && j.tracer.PID <= 0:
		return usagef("-p: %d is not a process id", j.tracer.PID)
	case c.IsSet("p") && script.NeedsCommand():
		return usagef("%s only records a command that it starts; use -c CMD", script.File())
	case c.IsSet("program") && !script.NeedsProgram():
		return usagef("--program: %s does not use a program", script.File())
	}
	if c.IsSet("c") {
		return j.findCommand()
	}
	return j.findProcess()
}

// findCommand makes the path of the command's program absolute: a tracer may refuse a name that is found twice.
func (j *recordJob) findCommand() error {
	name, arguments, _ := strings.Cut(j.tracer.Command, " ")
	path, err := exec.LookPath(name)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	var missing *exec.Error
	if errors.As(err, &missing) {
		err = missing.Err
	}
	switch {
	case err != nil:
		return fmt.Errorf("-c: %s: %w", name, withoutPath(err))
	case strings.Contains(path, " "):
		return fmt.Errorf("-c: %s: the tracer would split this path at its spaces; use a link without spaces", path)
	}
	j.tracer.Command = strings.TrimSpace(path + " " + arguments)
	j.env.files.reads(path)
	if j.tracer.Traced == "" {
		j.tracer.Traced = path
	}
	return nil
}

// findProcess checks that the process exists, and finds its program if the script needs it.
func (j *recordJob) findProcess() error {
	if process, err := os.FindProcess(j.tracer.PID); err != nil || errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone) {
		return fmt.Errorf("-p: there is no process %d", j.tracer.PID)
	}
	if j.tracer.Traced != "" || !j.tracer.Script.NeedsProgram() {
		return nil
	}
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", j.tracer.PID))
	if err != nil {
		return fmt.Errorf("-p: cannot find the program of process %d (%w); run weft with sudo, or name the program with --program FILE", j.tracer.PID, withoutPath(err))
	}
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("-p: the program of process %d, %s, no longer exists; name its file with --program FILE", j.tracer.PID, path)
	}
	j.tracer.Traced = path
	return nil
}

// run records and writes the trace.
func (j *recordJob) run(ctx context.Context) error {
	var err error
	if j.tracer.Program, err = tracer.FindProgram(j.tracer.Script.Tracer); err != nil {
		return err
	}
	if err := j.leaveOutMissing(); err != nil {
		return err
	}
	dst, err := createOutput(ctx, j.env, j.output, j.force)
	if err != nil {
		return err
	}
	defer dst.Abort()
	var lines *output
	if j.lines != "" {
		if lines, err = createOutput(ctx, j.env, j.lines, j.force); err != nil {
			return err
		}
		defer lines.Abort()
	}
	if j.tracer.File == "" {
		remove, err := j.writeScript()
		if err != nil {
			return err
		}
		defer remove()
	}
	report, end, err := j.record(ctx, dst, lines)
	if err != nil {
		return err
	}
	if lines != nil { // even if they cannot be converted to a trace
		if err := lines.Commit(); err != nil {
			return err
		}
	}
	if report == nil {
		return errReported
	}
	if err := dst.Commit(); err != nil {
		return err
	}
	return j.finish(report, end)
}

// record runs the tracer and converts its output. If that yields no trace, it prints why and returns no report.
func (j *recordJob) record(ctx context.Context, dst, lines *output) (*convert.Report, *tracer.End, error) {
	j.connect()
	recording, err := tracer.Start(&j.tracer)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", j.tracer.Program, withoutPath(err))
	}
	stop := context.AfterFunc(ctx, recording.Interrupt)
	defer stop()
	// Ctrl-C ends the recording, but not the conversion of its output; a second Ctrl-C ends everything.
	unfinished, release := afterSecondSignal(ctx)
	defer release()
	defer context.AfterFunc(unfinished, recording.Kill)()
	j.say("weft: %s runs %s; Ctrl-C ends the recording\n", j.tracer.Script.Tracer, j.tracer.Script.File())

	var src io.Reader = recording
	if lines != nil {
		src = io.TeeReader(recording, lines)
	}
	report, convertErr := convert.Convert(unfinished, dst, src, j.opts)
	end := recording.Wait()
	if err := unfinished.Err(); err != nil {
		return nil, nil, err
	}
	if err := dst.Failed(); err != nil {
		return nil, nil, err
	}
	if lines != nil {
		if err := lines.Failed(); err != nil {
			return nil, nil, err
		}
	}
	if err := j.failure(end, convertErr); err != nil {
		printError(j.env, err) // run would not print it after an interrupt
		return nil, end, nil
	}
	return report, end, nil
}

// leaveOutMissing removes probes that the program does not have, because bpftrace would refuse the script.
func (j *recordJob) leaveOutMissing() error {
	script := j.tracer.Script
	if _, _, wanted := script.WithoutMissingProbes(nil); len(wanted) == 0 {
		return nil
	}
	path := j.tracer.Traced
	probes, err := tracer.StaticProbes(path)
	if err != nil {
		return fmt.Errorf("%s: %w; name the program or library with the probes: --program FILE", path, withoutPath(err))
	}
	less, has, lacks := script.WithoutMissingProbes(probes)
	if len(has) == 0 {
		const shown = 20
		found := "it has no static probes"
		if len(probes) > 0 {
			found = "it has " + strings.Join(probes[:min(len(probes), shown)], ", ")
		}
		return fmt.Errorf("%s has none of the probes of %s; %s. Name another program or library with --program FILE, or edit a script that weft probes scripts prints", path, script.File(), found)
	}
	if len(lacks) > 0 {
		j.say("weft: %s records %d of its %d probes; %s does not have %s\n", script.File(), len(has), len(has)+len(lacks), path, strings.Join(lacks, ", "))
		j.tracer.Script, j.tracer.File = less, ""
	}
	return nil
}

// writeScript writes the script to a file for the tracer, and returns a function that removes the file.
func (j *recordJob) writeScript() (remove func(), err error) {
	f, err := os.CreateTemp(j.opts.TempDir, "weft-*-"+j.tracer.Script.File())
	if err != nil {
		return nil, err
	}
	_, err = io.WriteString(f, j.tracer.Script.Text)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		os.Remove(f.Name())
		return nil, err
	}
	j.tracer.File = f.Name()
	return func() { os.Remove(f.Name()) }, nil
}

// connect connects the traced command to its input and output. The command must not read from a terminal, because the tracer
// is not a foreground process there. Nor may the command's output end up in the trace.
func (j *recordJob) connect() {
	if f, ok := j.env.stdin.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice == 0 {
			j.tracer.Stdin = f
		}
	}
	j.tracer.Stdout, j.tracer.Stderr = j.env.stdout, j.env.stderr
	if j.output == "-" {
		j.tracer.Stdout = j.env.stderr
	}
}

// say writes a message unless --quiet is set.
func (j *recordJob) say(format string, args ...any) {
	if !j.quiet {
		fmt.Fprintf(j.env.stderr, format, args...)
	}
}

// failure returns an error if there is no trace.
func (j *recordJob) failure(end *tracer.End, convertErr error) error {
	name := j.tracer.Script.Tracer
	switch {
	case end.Size > 0 && convertErr != nil:
		return fmt.Errorf("the output of %s: %w", name, convertErr)
	case end.Size > 0:
		return nil
	case end.Err != nil:
		return j.failed(end, "it recorded nothing")
	case end.Interrupted:
		return fmt.Errorf("%s was interrupted before it began; it recorded nothing", name)
	}
	return fmt.Errorf("%s printed nothing, not even the first line of %s", name, j.tracer.Script.File())
}

// failed returns the error for a tracer that failed, with advice.
func (j *recordJob) failed(end *tracer.End, result string) error {
	message := fmt.Sprintf("%s failed (%v); %s", j.tracer.Script.Tracer, end.Err, result)
	if advice := tracerAdvice(j.tracer.Script.Tracer, end.StderrLines); advice != "" {
		message += "; " + advice
	}
	return errors.New(message)
}

// finish reports on a finished trace, which may be incomplete if the tracer failed.
func (j *recordJob) finish(report *convert.Report, end *tracer.End) error {
	if !j.quiet {
		if err := j.writeReport(report); err != nil {
			return err
		}
	}
	name := j.tracer.Script.Tracer
	switch {
	case end.Err != nil:
		return j.failed(end, "the trace holds what it recorded until then")
	case end.CopyErr != nil:
		return fmt.Errorf("cannot read the output of %s to its end: %w", name, end.CopyErr)
	case end.Killed:
		return fmt.Errorf("%s did not end within %s after the interrupt, so weft killed it; its last events are missing", name, grace)
	}
	return j.strict.judge(j.env, lossesOf(report), "")
}

// writeReport prints a summary of the recording, lost data, and the next command.
func (j *recordJob) writeReport(report *convert.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s\n", printable(outputName(j.output)), summary(report), formatSize(report.BytesOut))
	for _, p := range unusual(report) {
		fmt.Fprintf(&b, "  %s: %s\n", wordFor(report, &p), printable(problemLine(&p)))
	}
	if line := usualLine(report); line != "" {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	if slices.ContainsFunc(report.Problems, func(p trace.Problem) bool { return p.Name == "drops" }) {
		fmt.Fprintf(&b, "  To lose fewer events, %s\n", j.largerBuffers())
	}
	if e := report.Events; e.Slices+e.Instants == 0 {
		fmt.Fprintf(&b, "  no probe fired: %s\n", j.whyNoProbe())
	} else if j.output != "-" {
		fmt.Fprintf(&b, "  %s\n", viewHint(j.output))
	}
	_, err := io.WriteString(j.env.stderr, b.String())
	return err
}

// largerBuffers explains how to enlarge the buffers of the tracer.
func (j *recordJob) largerBuffers() string {
	if j.tracer.Script.Tracer == tracer.DTrace {
		return "raise bufsize in a copy of the script (weft probes scripts prints it)"
	}
	return "set BPFTRACE_PERF_RB_PAGES to 1024 or more (default: 64)"
}

// whyNoProbe explains why probes may not have fired.
func (j *recordJob) whyNoProbe() string {
	if j.tracer.Script.Tracer == tracer.DTrace {
		return "dtrace -l -p PID lists the probes of a process"
	}
	if !j.tracer.Script.NeedsProgram() {
		return fmt.Sprintf("nothing that %s records happened, or it happened in another process; record that one with -p", j.tracer.Script.File())
	}
	return fmt.Sprintf("bpftrace -l 'usdt:%s:*' lists the probes of the program", j.tracer.Traced)
}
