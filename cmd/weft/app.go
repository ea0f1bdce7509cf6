package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/commandline"
	"github.com/weft-trace/weft/internal/inputs"
	"github.com/weft-trace/weft/internal/load"
	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/words"
	"github.com/weft-trace/weft/trace"
)

// The exit codes, documented in docs/cli.md.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitStrict      = 3
	exitSlower      = 4 // of compare
	exitStopped     = 5 // of migrate
	exitInterrupted = 130
	exitBrokenPipe  = 141 // as for a program killed by SIGPIPE
)

// usageError is an error for a mistake on the command line.
type usageError = commandline.UsageError

func usagef(format string, args ...any) error { return commandline.Usagef(format, args...) }

// unknownValue is the error for a flag with an invalid value; the parameter what describes the valid values.
func unknownValue(flag, what, value string, values ...string) error {
	return commandline.UnknownValue(flag, what, value, values...)
}

// errStrict ends a run that converted everything but lost data despite --strict.
var errStrict = errors.New("data was lost (--strict)")

// errShown ends a run of view whose failure was printed and shown until Ctrl-C.
var errShown = errors.New("failed, and shown")

// errNoCommand ends a run without arguments, after firstScreen was printed.
var errNoCommand = errors.New("no command")

// errReported ends a run whose failures were printed as they happened.
var errReported = errors.New("failed")

// run executes the program with its arguments (the first is its own name) and returns the exit code.
func run(ctx context.Context, args []string, env *environment) int {
	ofRun := *env
	ofRun.files = newUsedFiles()
	if stdin, isFile := env.stdin.(*os.File); isFile {
		if info, err := stdin.Stat(); err == nil {
			ofRun.files.note("-", info) // opened by the shell's < before the run
		}
	}
	env = &ofRun
	app := newApp(env)
	if len(args) > 1 && args[1] == completeCommand {
		_ = commandline.Complete(env.stdout, app, args[2:], vocabulary{}) // completion cannot show errors
		return exitOK
	}
	err := runApp(ctx, app, args, env)
	switch usage := (*usageError)(nil); {
	case errors.Is(err, errShown):
		return exitFailed
	case ctx.Err() != nil && err != nil:
		// An interrupted run prints nothing more, because the user interrupted it.
		return exitInterrupted
	case err == nil:
		return exitOK
	case errors.Is(err, syscall.EPIPE):
		return exitBrokenPipe // the reader of the output closed it
	case errors.As(err, &usage):
		fmt.Fprintf(env.stderr, "%s %s\nRun \"weft --help\" or \"weft COMMAND --help\" for usage.\n", messageHead(env), printable(err.Error()))
		return exitUsage
	case errors.Is(err, errNoCommand):
		return exitUsage
	case errors.Is(err, errStrict):
		return exitStrict
	case errors.Is(err, errSlower):
		return exitSlower
	case errors.Is(err, errStopped):
		return exitStopped
	case errors.Is(err, errReported):
		return exitFailed
	}
	printError(env, err)
	return exitFailed
}

// goneFlags maps flags that weft once had, or that other programs have, to messages with their replacements.
var goneFlags = map[string]string{
	"from": "unknown flag --from; the format of the input is --format",
	"join": "--join is gone; weft merge -o FILE TRACE PROFILE puts a profile into the trace recorded with it",

	"report":          "--report is gone; --json prints the report as JSON",
	"context-scope":   "--context-scope is gone; --context-rule scope=slice",
	"context-sources": "--context-sources is gone; --context-rule sources=LIST",
	"flow-conflict":   "--flow-conflict is gone; --context-rule flow=keep",

	"sampled":         "--sampled is gone; --mode sampled",
	"end":             "--end is gone; --self-profile end=MS",
	"sample-interval": "--sample-interval is gone; --self-profile interval=MS",
	"thread-name":     "--thread-name is gone; --self-profile thread=NAME",
	"time-origin":     "--time-origin is gone; --self-profile origin=MS",

	"at":  "--at is gone; weft flows --marker TIME --thread THREAD shows the flows at a time",
	"min": "--min is gone; weft flows --sort markers lists the largest flows first",
	"tmp": "--tmp is gone; temporary files go to the folder that the environment variable TMPDIR names",
}

// runApp parses the command line and runs it.
func runApp(ctx context.Context, app *cli.App, args []string, env *environment) error {
	call, err := commandline.Parse(app, viewOfFile(app, args), goneFlags)
	if err != nil {
		return err
	}
	switch {
	case call.Help:
		return printHelp(env.stdout, app, call, env)
	case call.Version:
		_, err := io.WriteString(env.stdout, "weft version "+version()+"\n")
		return err
	}
	return app.RunContext(ctx, call.Args)
}

// printHelp prints the requested help.
func printHelp(w io.Writer, app *cli.App, call *commandline.Call, env *environment) error {
	on := env.terminal(w)
	width := cmp.Or(on.Columns, commandline.Width)
	text := ""
	switch c := call.Command; {
	case c == nil:
		text = commandline.AppHelp(app, width, on.Heading)
	case c.Name == "report":
		name := narrowHelp(c, call.Words)
		text = commandline.CommandHelp(c, name, width, on.Heading)
	case slices.Contains(app.Commands, c):
		text = commandline.CommandHelp(c, "weft "+c.Name, width, on.Heading)
	default:
		text = commandline.CommandHelp(c, "weft probes "+c.Name, width, on.Heading)
	}
	_, err := io.WriteString(w, text)
	return err
}

func newApp(env *environment) *cli.App {
	app := &cli.App{
		Name:      "weft",
		Usage:     "convert traces to Perfetto traces",
		UsageText: "weft COMMAND [flags] FILE…\nweft FILE…",
		Description: strings.TrimSpace(`
weft reads Chrome JSON traces (Chrome, Node.js, PyTorch, JAX and many others),
Firefox profiles, V8 CPU profiles (.cpuprofile), JS self-profiles, probe lines
from DTrace and bpftrace, OpenTelemetry traces (OTLP), HTTP archives (HAR), and
Perfetto traces. It detects the format, and unpacks gzip, zstd and zip.

   weft trace.json                  show it in the browser: weft view
   weft convert trace.json          write trace.json.pftrace
   weft info trace.json             show what a trace contains
   weft report samples trace.json   show where the time went`),
		Version:                   version(),
		Reader:                    env.stdin,
		Writer:                    env.stdout,
		ErrWriter:                 env.stderr,
		HideHelp:                  true,
		HideVersion:               true,
		DisableSliceFlagSeparator: true,                         // names may contain commas
		ExitErrHandler:            func(*cli.Context, error) {}, // run decides the exit code
		OnUsageError:              onUsageError,
		Action:                    func(c *cli.Context) error { return noCommand(c, env) },
		Commands: []*cli.Command{
			convertCommand(env),
			viewCommand(env),
			mergeCommand(env),
			migrateCommand(env),
			infoCommand(env),
			verifyCommand(env),
			findCommand(env),
			dumpCommand(env),
			attributeCommand(env),
			flowsCommand(env),
			reportCommand(env),
			exportCommand(env),
			schemaCommand(env),
			compareCommand(env),
			probesCommand(env),
			completionCommand(env),
			manCommand(env),
			versionCommand(env),
		},
	}
	for _, command := range app.Commands {
		for _, c := range append(command.Subcommands, command) {
			c.OnUsageError = onUsageError
			c.HideHelp = true
			c.Before = func(c *cli.Context) error {
				for _, flag := range readFlags {
					env.files.reads(c.String(flag))
				}
				return nil
			}
		}
	}
	return app
}

// onUsageError handles mistakes that package cli detects but Parse does not.
func onUsageError(_ *cli.Context, err error, _ bool) error { return &usageError{Message: err.Error()} }

// viewOfFile turns "weft FILE…" into "weft view FILE…".
func viewOfFile(app *cli.App, args []string) []string {
	if len(args) < 2 || commandline.FindCommand(app.Commands, args[1]) != nil {
		return args
	}
	if info, err := os.Stat(args[1]); args[1] != inputs.Stdin && (err != nil || info.IsDir()) {
		return args
	}
	return slices.Insert(slices.Clone(args), 1, "view")
}

// firstScreen is the output of weft without arguments.
const firstScreen = `weft reads traces and profiles of browsers, Node.js, PyTorch, OpenTelemetry and
many others, says where the time went, and writes them for the Perfetto UI.

   weft trace.json                  show it in the browser
   weft report all trace.json       where the time went
   weft convert trace.json          write trace.json.pftrace

weft --help lists the commands; weft COMMAND --help explains one.
`

// noCommand handles a command line whose first argument is neither a command nor a file.
func noCommand(c *cli.Context, env *environment) error {
	name := c.Args().First()
	if name == "" {
		if _, err := io.WriteString(env.stderr, firstScreen); err != nil {
			return err
		}
		return errNoCommand
	}
	switch {
	case name == "help":
		name = c.Args().Get(1)
	case inputs.IsFolder(name):
		return usagef("%s is a folder; nearly all commands take folders, such as weft info", name)
	case strings.ContainsAny(name, "./"):
		return usagef("there is no command and no file %q", name)
	}
	var names []string
	for _, command := range c.App.Commands {
		names = append(names, command.Name)
	}
	return &usageError{Message: words.Unknown("command", name, names).Error()}
}

// version returns the version that weft writes into traces, and build information about the binary.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return pfwire.Version
	}
	built := info.GoVersion
	if v := info.Main.Version; v != "" && v != "(devel)" {
		built = v + ", " + built
	}
	return pfwire.Version + " (" + built + ")"
}

// printError writes an error as one line.
func printError(env *environment, err error) {
	fmt.Fprintf(env.stderr, "%s %s\n", messageHead(env), printable(message(err)))
}

// messageHead returns the prefix of error messages.
func messageHead(env *environment) string { return env.terminal(env.stderr).Severe("weft:") }

// message returns the text of an error. It lists each of several joined errors once, and calls standard output by its display
// name.
func message(err error) string {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		if pathErr, ok := err.(*fs.PathError); ok && pathErr.Op == "write" && pathErr.Path == os.Stdout.Name() {
			return outputName("-") + ": " + pathErr.Err.Error()
		}
		return load.ErrorText(err)
	}
	var messages []string
	for _, err := range joined.Unwrap() {
		if text := message(err); !slices.Contains(messages, text) {
			messages = append(messages, text)
		}
	}
	return strings.Join(messages, "; ")
}

// printable escapes text from files for a terminal, so that a message stays on one line and cannot control the terminal or
// reorder the text around it.
func printable(text string) string { return words.Printable(text) }

// An input is an open file, or standard input.
type input struct {
	io.ReadCloser
	size int64 // -1 if unknown in advance
}

// openInput opens a file for reading; "-" is standard input. Errors start with the name.
func openInput(ctx context.Context, env *environment, name string) (*input, error) {
	if name == "-" {
		return &input{io.NopCloser(env.stdin), -1}, nil
	}
	f, err := openUntil(ctx, func() (*os.File, error) { return os.Open(name) })
	if isAddress(name, err) {
		return nil, fmt.Errorf("%s: weft does not download; save the file first, or run: curl -sL URL | weft COMMAND -", name)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", inputName(name), withoutPath(err))
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = errors.New("is a directory; name a file in it")
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", name, withoutPath(err))
	}
	env.files.note(name, info)
	if !info.Mode().IsRegular() {
		return &input{f, -1}, nil
	}
	return &input{f, info.Size()}, nil
}

// openTimeline reads a trace and resolves it. Errors start with the name.
func openTimeline(ctx context.Context, name string, src io.Reader, opts convert.Options) (*trace.Trace, *timeline.Timeline, error) {
	tr, err := convert.Open(ctx, src, opts)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", inputName(name), withoutPath(err))
	}
	return tr, timeline.Of(tr), nil
}

// openUnwalked is like openTimeline, for callers that walk all events themselves. Their walk completes the report.
func openUnwalked(ctx context.Context, name string, src io.Reader, opts convert.Options) (*load.Trace, error) {
	t, err := load.One(ctx, src, opts)
	if err == nil {
		if err = t.Attach(); err == nil {
			return t, nil
		}
		err = errors.Join(err, t.Close())
	}
	return nil, fmt.Errorf("%s: %w", inputName(name), withoutPath(err))
}

// isAddress reports whether a name that could not be opened is a URL.
func isAddress(name string, err error) bool {
	return errors.Is(err, fs.ErrNotExist) && isURL.MatchString(name)
}

var isURL = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+://`)

// openUntil calls open and gives up when ctx is done: opening a named pipe waits for its other end.
func openUntil(ctx context.Context, open func() (*os.File, error)) (*os.File, error) {
	type result struct {
		f   *os.File
		err error
	}
	opened := make(chan result, 1)
	go func() {
		f, err := open()
		opened <- result{f, err}
	}()
	select {
	case r := <-opened:
		return r.f, r.err
	case <-ctx.Done():
		go func() { // the call cannot be cancelled; close the file if it ever returns
			if r := <-opened; r.err == nil {
				r.f.Close()
			}
		}()
		return nil, ctx.Err()
	}
}

// eachFile calls fn for each file in names and in the --files-from list. A folder means the recordings in it, or only its
// Perfetto traces if onlyPerfetto is set. If one file fails, the others are still processed.
func eachFile(c *cli.Context, env *environment, names []string, onlyPerfetto bool, fn func(name string, src *input) error) error {
	found, err := namedInputs(c, env, names)
	if err != nil {
		return err
	}
	return eachOf(c, env, found, onlyPerfetto, fn)
}

// namedInputs finds the files in names and in the --files-from list. At least one of the two is required.
func namedInputs(c *cli.Context, env *environment, names []string) (*inputs.Found, error) {
	if len(names) == 0 && !c.IsSet(filesFrom) {
		return nil, usagef("no file; name one, or use \"-\" for standard input")
	}
	return findInputs(c, env, names, filesFrom)
}

// eachOf is eachFile for inputs that have already been found.
func eachOf(c *cli.Context, env *environment, found *inputs.Found, onlyPerfetto bool, fn func(name string, src *input) error) error {
	files := slices.DeleteFunc(found.Files, func(f inputs.File) bool { return onlyPerfetto && f.RelativePath != "" && !inputs.IsPerfetto(f.Path) })
	if len(files) == 0 {
		return errors.New("there are no Perfetto traces in what is named, which are files that end in .pftrace or .perfetto-trace")
	}
	failed, unknown := false, 0
	for _, f := range files {
		name := f.Path
		src, err := openInput(c.Context, env, name)
		if err == nil {
			err = fn(name, src)
			src.Close()
		}
		switch {
		case c.Context.Err() != nil:
			return c.Context.Err()
		case f.RelativePath != "" && errors.Is(err, convert.ErrUnknownFormat): // a folder means the traces in it
			unknown++
		case errors.Is(err, errReported):
			failed = true
		case err != nil && errors.Is(err, syscall.EPIPE):
			return err
		case err != nil:
			failed = true
			printError(env, err)
			if c.Bool("json") {
				if err := writeFailed(env.stdout, name, err); err != nil {
					return err
				}
			}
		}
	}
	switch {
	case failed:
		return errReported
	case unknown == len(files):
		return errors.New("no file in the folder is a trace")
	}
	return nil
}

// withoutPath strips the operation and the file name from an error of package os, because messages start with the name
// anyway.
func withoutPath(err error) error {
	if pathErr, ok := err.(*fs.PathError); ok { // only the outermost error: others add information
		return pathErr.Err
	}
	return err
}

// inputName returns an input's name for messages.
func inputName(name string) string {
	switch name {
	case "-":
		return "standard input"
	case "":
		return `""`
	}
	return name
}
