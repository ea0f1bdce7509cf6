package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/inputs"
	"github.com/weft-trace/weft/internal/profileexport"
	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/trace"
)

// exportForms are the forms in which a trace can be exported.
var exportForms = []exportForm{
	{name: "proto", suffix: ".events.binpb", usage: "all events as protobuf messages (weft schema), for programs", binary: true, events: true, compressed: true, costs: true},
	{name: parquetFormName, suffix: ".parquet", usage: "all events as a table, for DuckDB, pandas and the like", binary: true, events: true, packed: true},
	{name: "jsonl", suffix: ".events.jsonl", usage: "all events as JSON lines, for jq", events: true},
	{name: "pprof", suffix: ".pb.gz", usage: "for pprof: counts, times and CPU times of stacks, with labels", open: "go tool pprof -http=: %s", binary: true, contexts: true},
	{name: "folded", suffix: ".folded", usage: "folded stacks for flame graph scripts, with times in nanoseconds", open: "flamegraph.pl --countname ns %s > flamegraph.svg"},
	{name: "speedscope", suffix: ".speedscope.json", usage: "for speedscope, with a profile for each thread", open: "drag %s into https://www.speedscope.app", ordered: true},
	{name: "cpuprofile", suffix: ".cpuprofile", usage: "a V8 CPU profile of one thread, for Chrome DevTools and VS Code", open: "drag %s into the Performance panel of Chrome DevTools", ordered: true},
}

// exportForm is a form in which a trace can be exported.
type exportForm struct {
	name, suffix, usage string
	open                string // how to open the file; %s is replaced by its name
	binary              bool
	ordered             bool // it preserves the order of calls
	contexts            bool // it contains the contexts of stacks

	events     bool // it contains events; other forms are profiles
	compressed bool // its files are compressed by default
	costs      bool // it contains the costs of contexts
	packed     bool // the format compresses internally
}

// cpuProfileForm is the form with one thread per file.
const cpuProfileForm = "cpuprofile"

func exportFormNames() (names []string) {
	for i := range exportForms {
		names = append(names, exportForms[i].name)
	}
	return names
}

func exportCommand(env *environment) *cli.Command {
	var forms strings.Builder
	for i := range exportForms {
		fmt.Fprintf(&forms, "   %-12s%s\n", exportForms[i].name, exportForms[i].usage)
	}
	return &cli.Command{
		Name:      "export",
		Usage:     "write the events or a profile of a trace for other tools",
		UsageText: "weft export --as FORM [flags] FILE|FOLDER…",
		Description: `Writes the events or the call stacks of a trace for another tool, next to FILE or
to -o. A folder stands for the recordings in it and below. FORM is one of:

` + forms.String() + `
Events are complete in themselves: absolute times, the place in the nesting, names,
typed arguments, flows, call stacks. The stacks of profiles come from the
samples, or where a trace has none its slices, each with the time that it had for
itself. docs/reports.md defines the numbers. "-" is standard input or output.

Examples:
   weft export --as proto trace.json
   weft export --as jsonl --types slice -o - trace.json | jq -r .name
   weft export --as pprof trace.json
   weft export --as folded --of slices -o - trace.json | flamegraph.pl > out.svg
   weft export --as speedscope --process Renderer --from 1s --to 2s trace.json
   weft export --as cpuprofile --thread 14449 -o main.cpuprofile trace.json
   weft export --as pprof --by page trace.json     pages above the stacks`,
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "as", Usage: "write `FORM`: " + strings.Join(exportFormNames(), ", ")},
			&cli.StringFlag{Name: "of", Usage: "export `WHAT`: samples, or slices with the time without the slices inside", DefaultText: "samples if there are any"},
			&cli.BoolFlag{Name: "idle", Usage: "keep the samples of idle threads, which only cpuprofile does by itself", DisableDefaultText: true},
			&cli.StringFlag{Name: "by", Usage: "put contexts above the stacks: `WHAT` is context (one of each type), page, frame, script, input or another type"},
			&cli.StringFlag{Name: "o", Aliases: []string{"output"}, Usage: "write to `FILE`, or to standard output (\"-\")"},
			&cli.StringFlag{Name: "out-dir", Usage: "write into the directory `DIR`, created if missing; with --as cpuprofile a file for each thread"},
			&cli.BoolFlag{Name: "force", Aliases: []string{"f"}, Usage: "replace existing files", DisableDefaultText: true},
			&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "do not say what was written", DisableDefaultText: true},
			filesFromFlag(), formatFlag(), memoryFlag(),
		}, selectionFlags(), eventFormFlags(), titled("Flags for inputs with profiles", profileFlags())),
		Action: func(c *cli.Context) error {
			runs, err := newExports(c, env)
			if err != nil {
				return err
			}
			return runExports(c.Context, env, runs)
		},
	}
}

// exportRun is the export of one input.
type exportRun struct {
	dir      string // the folder to create; "": none
	inFolder bool   // the input was found in a folder, not named
	run      func(context.Context) error
}

// newExports reads the flags for all inputs before any input is read.
func newExports(c *cli.Context, env *environment) (runs []exportRun, err error) {
	found := new(inputs.Found)
	if c.String("as") != "" {
		if found, err = namedInputs(c, env, c.Args().Slice()); err != nil {
			return nil, err
		}
	}
	for _, flag := range []string{"-o", "--manifest"} {
		if len(found.Files) > 1 && c.IsSet(strings.TrimLeft(flag, "-")) {
			return nil, usagef("%s takes one input, not %d; --out-dir writes a file for each", flag, len(found.Files))
		}
	}
	if len(found.Files) == 0 {
		found.Files = []inputs.File{{}} // so that newExportJob reports the missing input
	}
	for _, file := range found.Files {
		job, err := newExportJob(c, env, file)
		if err != nil {
			return nil, err
		}
		job.ofMany = len(found.Files) > 1
		r := exportRun{run: job.run, inFolder: file.RelativePath != ""}
		if job.form.events {
			events, err := newEventExport(c, job)
			if err != nil {
				return nil, err
			}
			r.run = events.run
		}
		if c.IsSet("out-dir") {
			r.dir = filepath.Dir(job.place)
		}
		runs = append(runs, r)
	}
	return runs, nil
}

// runExports exports all inputs. If one fails, the others are still exported.
func runExports(ctx context.Context, env *environment, runs []exportRun) error {
	folders := &madeFolders{}
	defer folders.removeEmpty()
	var lost, failed error
	for _, r := range runs {
		err := error(nil)
		if r.dir != "" {
			err = folders.make(r.dir)
		}
		if err == nil {
			err = r.run(ctx)
		}
		switch {
		case err == nil:
		case len(runs) == 1 || ctx.Err() != nil || errors.Is(err, syscall.EPIPE) || asUsage(err):
			return err
		case r.inFolder && errors.Is(err, convert.ErrUnknownFormat): // a folder means the traces in it
		case errors.Is(err, errStrict):
			lost = err
		default:
			printError(env, err)
			failed = errReported
		}
	}
	return cmp.Or(failed, lost)
}

// An exportJob exports one input.
type exportJob struct {
	env    *environment
	input  string
	form   *exportForm
	of     profileexport.Basis // 0: samples if there are any
	idle   bool                // keep samples of idle threads
	by     string
	filter *selection.Filter
	opts   convert.Options

	place   string // the path of the file; with several files, the start of their paths
	several bool   // a file for each thread
	ofMany  bool   // there are several inputs
	force   bool
	quiet   bool
}

func newExportJob(c *cli.Context, env *environment, file inputs.File) (job *exportJob, err error) {
	job = &exportJob{env: env, by: c.String("by"), force: c.Bool("force"), quiet: c.Bool("quiet")}
	as := c.String("as")
	i := slices.Index(exportFormNames(), as)
	switch {
	case as == "":
		return nil, usagef("--as is missing; use %s", strings.Join(exportFormNames(), ", "))
	case i < 0:
		return nil, unknownValue("as", "form", as, exportFormNames()...)
	case c.IsSet("by") && job.by == "":
		return nil, usagef("--by: the type is empty; write, for example, page or context")
	}
	job.form, job.input = &exportForms[i], file.Path
	job.idle = c.Bool("idle") || job.form.name == cpuProfileForm
	if c.Bool("idle") && job.form.events {
		return nil, usagef("--idle is for profiles; --as %s has events, including idle threads'", as)
	}
	if !job.form.events {
		for _, f := range eventFormFlags() {
			if name := f.Names()[0]; c.IsSet(name) {
				return nil, usagef("--%s is for forms with events; --as %s is a profile", name, as)
			}
		}
	}
	switch of := c.String("of"); of {
	case "":
	case "samples":
		job.of = profileexport.Samples
	case "slices":
		job.of = profileexport.Slices
	default:
		return nil, unknownValue("of", "choice", of, "samples", "slices")
	}
	if job.filter, err = readSelection(c); err != nil {
		return nil, err
	}
	if job.opts, err = inputOptions(c); err != nil {
		return nil, err
	}
	if !job.form.events && job.of == profileexport.Samples && job.by == "" && !job.form.contexts && !c.IsSet("context") {
		job.opts.JSCalls = convert.JSCallsOff // most of the work, and not needed here
	}
	return job, job.choosePlace(c, file.RelativePath)
}

// choosePlace chooses the output path. The parameter below is the input's path relative to the folder that was named; "": the
// input itself was named.
func (j *exportJob) choosePlace(c *cli.Context, below string) error {
	file, dir := c.String("o"), c.String("out-dir")
	for _, name := range []string{"o", "out-dir"} {
		if c.IsSet(name) && c.String(name) == "" {
			return usagef("-%s: the name is empty", name)
		}
	}
	if err := checkFolder(dir); err != nil {
		return err
	}
	j.several = dir != "" && j.form.name == cpuProfileForm
	base := "stdin"
	if j.input != "-" {
		base = cmp.Or(below, filepath.Base(j.input))
	}
	switch {
	case file != "" && dir != "":
		return usagef("-o and --out-dir cannot be combined")
	case file != "":
		j.place = file
	case j.several:
		j.place = filepath.Join(dir, base)
	case dir != "":
		j.place = filepath.Join(dir, base+j.form.suffix)
	case j.input == "-":
		j.place = "-"
	default:
		j.place = j.input + j.form.suffix
	}
	if j.place == "-" && j.form.binary && j.env.isTerminal(j.env.stdout) {
		return usagef("weft does not write %s to a terminal; use -o FILE or a pipe", j.form.name)
	}
	j.env.files.reads(j.input)
	return nil
}

func (j *exportJob) run(ctx context.Context) (err error) {
	var out *output
	if !j.several {
		if out, err = createOutput(ctx, j.env, j.place, j.force); err != nil {
			return err
		}
		defer out.Abort()
	}
	tr, tl, err := j.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tr.Close()) }()
	p, err := j.collect(ctx, tl)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if j.several {
		return j.writeThreads(ctx, p)
	}
	if err := j.write(ctx, p, out); err != nil {
		return err
	}
	if err := out.Commit(); err != nil {
		return err
	}
	j.report(p)
	return nil
}

// open reads the input.
func (j *exportJob) open(ctx context.Context) (*trace.Trace, *timeline.Timeline, error) {
	src, err := openInput(ctx, j.env, j.input)
	if err != nil {
		return nil, nil, err
	}
	defer src.Close()
	progress := startProgress(j.env, inputName(j.input), src.size, !j.quiet)
	defer progress.Stop()
	return openTimeline(ctx, j.input, progress.reader(src), j.opts)
}

// collect makes the profile.
func (j *exportJob) collect(ctx context.Context, tl *timeline.Timeline) (*profileexport.Profile, error) {
	of, totals := j.of, tl.Totals()
	switch {
	case of == 0 && totals.Samples > 0:
		of = profileexport.Samples
	case of == 0:
		of = profileexport.Slices
	}
	switch {
	case of == profileexport.Samples && totals.Samples == 0 && totals.Slices > 0:
		return nil, fmt.Errorf("%s: the trace has no samples; --of slices exports its slices", inputName(j.input))
	case totals.Samples+totals.Slices == 0:
		return nil, fmt.Errorf("%s: the trace has no samples and no slices", inputName(j.input))
	}
	selected, err := selectIn(ctx, j.input, j.filter, tl)
	if err != nil {
		return nil, err
	}
	p, err := profileexport.Collect(ctx, tl, profileexport.Options{
		Of: of, Selected: selected, By: j.by, Contexts: j.form.contexts, Idle: j.idle, Ordered: j.form.ordered,
	})
	switch unknown := (*profileexport.UnknownTypeError)(nil); {
	case errors.As(err, &unknown):
		return nil, usagef("--by: %v", unknown)
	case err != nil:
		return nil, err
	case len(p.Stacked()) == 0 && p.Idle > 0:
		return nil, errors.Join(fmt.Errorf("%s: the threads were idle in all samples (%s); --idle exports them", inputName(j.input), milliText(p.IdleTime)), p.Close())
	case len(p.Stacked()) == 0:
		return nil, errors.Join(j.nothing(of, selected != nil), p.Close())
	}
	return p, nil
}

// nothing returns the error for an empty profile.
func (j *exportJob) nothing(of profileexport.Basis, part bool) error {
	switch {
	case part && of == profileexport.Samples && j.of == 0:
		return fmt.Errorf("%s: the selected part of the trace has no samples; --of slices exports its slices", inputName(j.input))
	case part:
		return fmt.Errorf("%s: the selected part of the trace has no %s", inputName(j.input), of)
	}
	return fmt.Errorf("%s: the threads of the trace have no %s", inputName(j.input), of)
}

// write writes a profile to one file.
func (j *exportJob) write(ctx context.Context, p *profileexport.Profile, w io.Writer) error {
	name := filepath.Base(inputName(j.input))
	switch j.form.name {
	case "pprof":
		return p.WritePprof(w, name)
	case "folded":
		return p.WriteFolded(w)
	case "speedscope":
		return p.WriteSpeedscope(ctx, w, name)
	}
	if threads := p.Stacked(); len(threads) > 1 {
		return j.tooMany(p, threads)
	}
	return p.WriteCPUProfiles(ctx, func(_ int, fill func(io.Writer) error) error { return fill(w) })
}

// maxThreadsListed is the maximum number of threads listed in a message.
const maxThreadsListed = 12

// tooMany returns the error for several threads in a form that allows only one.
func (j *exportJob) tooMany(p *profileexport.Profile, threads []int) error {
	slices.SortStableFunc(threads, func(a, b int) int { return int(min(max(p.Threads[b].Time-p.Threads[a].Time, -1), 1)) })
	var list strings.Builder
	for i, thread := range threads {
		if i == maxThreadsListed {
			fmt.Fprintf(&list, "\n   and %d others", len(threads)-i)
			break
		}
		t := &p.Threads[thread]
		fmt.Fprintf(&list, "\n%14s  %s", milliText(t.Time), printable(t.Title()))
	}
	fmt.Fprintf(j.env.stderr, "%s: threads with %s, the busiest first:%s\n", printable(inputName(j.input)), p.Of, list.String())
	return fmt.Errorf("%s: a CPU profile has one thread, and the trace has %s with %s; choose one with --thread, or write a file for each with --out-dir",
		inputName(j.input), table.Plural(int64(len(threads)), "thread", "threads"), p.Of)
}

// writeThreads writes a file for each thread.
func (j *exportJob) writeThreads(ctx context.Context, p *profileexport.Profile) error {
	taken, files := map[string]bool{}, 0
	err := p.WriteCPUProfiles(ctx, func(thread int, fill func(io.Writer) error) error {
		base := j.place + "." + fileWord(p.Threads[thread].Title())
		name := base
		for n := 2; taken[name]; n++ {
			name = fmt.Sprintf("%s-%d", base, n)
		}
		taken[name] = true
		out, err := createOutput(ctx, j.env, name+j.form.suffix, j.force)
		if err != nil {
			return err
		}
		defer out.Abort()
		if err := fill(out); err != nil {
			return err
		}
		files++
		return out.Commit()
	})
	if err == nil && !j.quiet {
		head := filepath.Dir(j.place)
		if j.ofMany {
			head = inputName(j.input) + " → " + head
		}
		fmt.Fprintf(j.env.stderr, "%s: %s in %s\n", printable(head), profileWords(p), table.Plural(int64(files), "file", "files"))
	}
	return err
}

// maxFileWord is the maximum number of bytes of a thread's title in a file name.
const maxFileWord = 80

// fileWord turns a text into a part of a file name.
func fileWord(text string) string {
	words := strings.FieldsFunc(text, func(r rune) bool {
		return !(r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-'))
	})
	word := strings.Join(words, "-")
	return word[:min(len(word), maxFileWord)]
}

// report prints what was written.
func (j *exportJob) report(p *profileexport.Profile) {
	if j.quiet {
		return
	}
	fmt.Fprintf(j.env.stderr, "%s: %s\n", printable(outputName(j.place)), profileWords(p))
	if p.Folded > 0 {
		fmt.Fprintf(j.env.stderr, "%s of the %s have a shorter stack, because there are too many kinds\n", table.Thousands(p.Folded), p.Of)
	}
	if p.Idle > 0 {
		fmt.Fprintf(j.env.stderr, "Left out: %s of idle threads, %s; --idle keeps them\n", table.Plural(p.Idle, "sample", "samples"), milliText(p.IdleTime))
	}
	if j.place != "-" {
		fmt.Fprintf(j.env.stderr, "To open it: "+j.form.open+"\n", printable(j.place))
	}
}

// profileWords describes the contents of a profile.
func profileWords(p *profileexport.Profile) string {
	one := strings.TrimSuffix(p.Of.String(), "s")
	return fmt.Sprintf("%s of %s, %s", table.Plural(p.Count(), one, p.Of.String()),
		table.Plural(int64(len(p.Stacked())), "thread", "threads"), milliText(p.Time()))
}
