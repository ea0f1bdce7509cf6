package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners"

	"github.com/weft-trace/weft/beam/weftio"
	"github.com/weft-trace/weft/internal/migrate"
)

// maxFilesOnPrism limits the number of files in a job on Prism, which needs a few kilobytes per file.
const maxFilesOnPrism = 200_000

// options holds the command-line options. Beam's own flags are in the same flag set.
type options struct {
	weftio.Options
	patterns          []string
	sharedFS, quiet   bool
	verbose           bool
	strict, strictAll bool // fail if unusual data was lost, or if any data was lost
	json              bool
	status            bool

	// embedded is set if the job runs in this process, on an endpoint that Prism creates.
	embedded bool

	again bool  // there are records from earlier jobs
	total int64 // number of files; 0: unknown
}

// flagHelp describes a flag in the help text.
type flagHelp struct{ name, value, text string }

// ownFlags lists weft's flags in the order of the help text.
var ownFlags = []flagHelp{
	{"in", "PATTERN", "inputs: a folder, or a glob in quotes with ** for any folders; local, gs:// or s3://; repeatable"},
	{"files-from", "FILE", "names of inputs, one a line; repeatable"},
	{"out", "DIR", "the folder of outputs and the manifest"},
	{"root", "DIR", "outputs mirror what is below it (the folder of the one --in before its first wildcard)"},
	{"include", "GLOB", "take only what matches; repeatable"},
	{"exclude", "GLOB", "leave out what matches, also of what --include takes; repeatable"},
	{"file-memory", "SIZE", "memory of one conversion (128MiB); each core does one at a time"},
	{"file-timeout", "TIME", "fail a file that takes longer"},
	{"verify", "", "verify outputs before they get their names; local ones only"},
	{"redo", "WHICH", "convert again what is version or all"},
	{"retry-failed", "", "try again what failed for good"},
	{"shared-fs", "", "local paths are on a file system that all workers have"},
	{"strict", "", "exit with 3 if data was lost that most recordings in the format do not lack; -strict=all: if any was lost"},
	{"json", "", "print the summary as JSON"},
	{"quiet", "", "no progress and no summary"},
	{"verbose", "", "print what Beam logs while the job runs in this process"},
	{"status", "", "sum up what is done so far, and do nothing"},
}

func helpOf(name string) string {
	for _, f := range ownFlags {
		if f.name == name {
			return f.text
		}
	}
	panic("no help for " + name)
}

// defineFlags adds weft's flags to Beam's.
func defineFlags(set *flag.FlagSet) *options {
	o := new(options)
	o.FileMemory, o.Settings = 128<<20, map[string]string{}
	list := func(name string, to *[]string, prefix string) {
		set.Func(name, helpOf(name), func(v string) error { *to = append(*to, prefix+v); return nil })
	}
	list("in", &o.patterns, "")
	list("files-from", &o.patterns, "@")
	list("include", &o.Include, "")
	list("exclude", &o.Exclude, "")
	for name, to := range map[string]*string{"out": &o.Out, "root": &o.Root, "redo": &o.Redo} {
		set.StringVar(to, name, *to, helpOf(name))
	}
	for name, to := range map[string]*bool{"json": &o.json, "verify": &o.Verify, "retry-failed": &o.RetryFailed, "shared-fs": &o.sharedFS,
		"quiet": &o.quiet, "verbose": &o.verbose, "status": &o.status} {
		set.BoolVar(to, name, false, helpOf(name))
	}
	set.Func("file-memory", helpOf("file-memory"), func(v string) (err error) { o.FileMemory, err = migrate.ParseSize(v); return err })
	set.BoolFunc("strict", helpOf("strict"), func(v string) (err error) {
		if o.strictAll = v == "all"; !o.strictAll {
			o.strict, err = strconv.ParseBool(v)
		}
		return err
	})
	set.DurationVar(&o.FileTimeout, "file-timeout", 0, helpOf("file-timeout"))
	for _, name := range weftio.SettingNames() {
		text := "as for weft convert (" + weftio.SettingDefault(name) + ")"
		set.Func(name, text, func(v string) error { o.Settings[name] = v; return nil })
	}
	return o
}

// complete checks the command line and sets defaults.
func (o *options) complete(args []string) (err error) {
	switch {
	case len(args) > 0:
		return fmt.Errorf("%q: inputs are named with --in; is a glob not in quotes?", args[0])
	case o.Out == "":
		return errors.New("--out is missing: the folder for the traces")
	case len(o.patterns) == 0:
		return errors.New("no input; name a folder or a glob with --in, or a list with --files-from")
	case o.FileMemory == 0:
		return errors.New("--file-memory must be greater than 0")
	}
	if o.Root == "" {
		if len(o.patterns) > 1 && slices.ContainsFunc(o.patterns, isRemote) {
			return errors.New("--root is missing: the folder that holds all inputs")
		}
		o.Root = "."
		if len(o.patterns) == 1 {
			o.Root = weftio.RootOf(o.patterns[0])
		}
	}
	for i, pattern := range o.patterns {
		if rest, ok := strings.CutPrefix(pattern, "@"); ok && !isRemote(rest) {
			rest, err = filepath.Abs(rest)
			o.patterns[i] = "@" + rest
		}
	}
	for _, path := range []*string{&o.Out, &o.Root} {
		if *path = strings.TrimRight(*path, "/"); !isRemote(*path) && err == nil {
			*path, err = filepath.Abs(*path) // workers may have another working directory
		}
	}
	if err != nil {
		return err
	}
	name := strings.ToLower(o.runner())
	if o.embedded = (name == "prism" || name == "prismrunner") && *jobopts.Endpoint == ""; o.embedded {
		o.MaxFiles = maxFilesOnPrism
	}
	if err := o.Validate(); err != nil {
		return err
	}
	return o.checkRunner()
}

func isRemote(name string) bool { return strings.Contains(name, "://") }

// runner returns the requested runner, prism by default.
func (o *options) runner() string {
	if *runners.Runner == "" {
		return "prism"
	}
	return *runners.Runner
}

// isRemoteRunner reports whether the job runs on an external job service.
func (o *options) isRemoteRunner() bool { return *jobopts.Endpoint != "" && !o.embedded }

// isLoopback reports whether this process is the worker.
func isLoopback() bool { return strings.EqualFold(*jobopts.EnvironmentType, "loopback") }

// isDryRun reports whether the job is only prepared for Dataflow, not run.
func (o *options) isDryRun() bool {
	f := flag.Lookup("dry_run")
	return f != nil && f.Value.String() == "true" && strings.HasPrefix(strings.ToLower(o.runner()), "dataflow")
}

// checkRunner rejects options that cannot work on a cluster, and sets the worker binary.
func (o *options) checkRunner() error {
	if o.embedded || isLoopback() {
		return nil
	}
	for _, name := range append(slices.Clone(o.patterns), o.Out) {
		if !isRemote(name) && !o.sharedFS && !o.isDryRun() {
			return fmt.Errorf("%s is a path of this machine, and workers have disks of their own; use gs:// or s3://, or say --shared-fs if all of them have it", strings.TrimPrefix(name, "@"))
		}
	}
	if *jobopts.WorkerBinary != "" || strings.EqualFold(o.runner(), "direct") {
		return nil
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return errors.New("--worker_binary is missing: the workers' weft-beam, made with CGO_ENABLED=0 GOOS=linux GOARCH=amd64 go build ./cmd/weft-beam")
	}
	self, err := os.Executable() // otherwise Beam would build its launcher again
	*jobopts.WorkerBinary = self
	return err
}

// ownTempFolder gives this process its own temporary folder, because Beam does not delete its files; remove deletes the
// folder.
func (o *options) ownTempFolder() (remove func(), err error) {
	dir, err := os.MkdirTemp("", "weft-beam-*")
	if err != nil {
		return nil, err
	}
	if err := os.Setenv("TMPDIR", dir); err != nil {
		return nil, err
	}
	return func() { os.RemoveAll(dir) }, nil
}

func usage(w io.Writer) {
	fmt.Fprint(w, `Weft-beam converts archives of traces with Apache Beam, as weft migrate does on one machine.

  weft-beam --in traces --out converted                       in this process, with the runner prism
  weft-beam --runner universal --endpoint HOST:PORT …         on a portable runner
  weft-beam --runner flink --endpoint HOST:PORT --in s3://b/in --out s3://b/out …
  weft-beam --runner dataflow --project P --region R --staging_location gs://b/st --in gs://b/in --out gs://b/out …

The same command again goes on, and converts nothing that is done. The exit code is 0 if all is done, 1 if files failed, 2 after a mistake,
3 with --strict if data was lost that most recordings do not lack, 5 if the job had to stop, 130 if it was interrupted. docs/batch.md has the rules.

`)
	for _, f := range ownFlags {
		fmt.Fprintf(w, "  --%-24s %s\n", strings.TrimSpace(f.name+" "+f.value), f.text)
	}
	for _, name := range weftio.SettingNames() {
		fmt.Fprintf(w, "  --%-24s as for weft convert (%s)\n", name, weftio.SettingDefault(name))
	}
	fmt.Fprint(w, "\nBeam's own flags, with underscores, choose the runner: --runner, --endpoint, --environment_type, --worker_binary, …\n")
}
