package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/inputs"
	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/migrate"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/pftrace"
	"github.com/weft-trace/weft/trace"
)

const outputSuffix = ".pftrace"

func convertCommand(env *environment) *cli.Command {
	return &cli.Command{
		Name:      "convert",
		Usage:     "convert traces to Perfetto traces",
		UsageText: "weft convert [flags] FILE|FOLDER…",
		Description: `Writes FILE` + outputSuffix + ` next to each FILE; -o and --out-dir choose another place.
A folder stands for the recordings in it and in the folders below; --out-dir keeps
these folders. "-" is standard input or output. Inputs may be compressed with gzip,
zstd or zip.

Examples:
   weft convert trace.json
   weft convert --args none -o small.pftrace trace.json.gz
   curl -s https://example.org/trace.json | weft convert - -o - > trace.pftrace
   weft convert --out-dir converted recordings/
   weft convert --out-dir converted --json *.json

weft view shows the result in the browser. The report lists the data problems of
each input; "lost" means that the output lacks something, "usual" is what most recordings
in the format have.`,
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "o", Aliases: []string{"output"}, Usage: "write the trace to `FILE`, or to standard output (\"-\")"},
			&cli.StringFlag{Name: "out-dir", Usage: "write the traces to the directory `DIR`, created if missing"},
			&cli.BoolFlag{Name: "force", Aliases: []string{"f"}, Usage: "replace existing files", DisableDefaultText: true},
			filesFromFlag(),
			formatFlag(),
			argsFlag(),
			&cli.StringFlag{Name: "compress", Usage: "compress with `CODEC`: zstd, zlib (for Perfetto before v58) or none; with a level as in zstd:9 or zlib:6",
				DefaultText: "zstd; none for standard output"},
			&cli.StringFlag{Name: "packets", Usage: "write event packets in `FORM`: compact, or plain (larger, for programs that read packet by packet)",
				DefaultText: "compact; plain for standard output"},
			&cli.StringFlag{Name: "samples", Value: "stack-sample", Usage: "write call-stack samples as `FORM`: stack-sample (needs Perfetto v58) or none"},
			&cli.StringFlag{Name: "screenshots", Value: "on", Usage: "keep the pictures of screenshots: `WHAT` is on or off"},
			&cli.StringFlag{Name: "long-tasks", Value: "on", Usage: "mark tasks of 50 ms and more on a track of their thread: `WHAT` is on or off"},
			memoryFlag(),
			&cli.IntFlag{Name: "workers", Usage: "use up to `N` goroutines, as --memory allows", DefaultText: "one per core"},
			strictFlag(""),
			&cli.StringFlag{Name: "report-file", Usage: "write the report to `FILE`"},
			&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "print no report and no progress", DisableDefaultText: true},
			jsonFlag("print the report to standard output as JSON, one object per line"),
			&cli.BoolFlag{Name: "attribute", Usage: "attribute time to contexts and write them into the trace (docs/attribution.md)", DisableDefaultText: true},
			writeBackFlag(),
		}, slices.Concat(contextFlags(), profileFlags(), []cli.Flag{callDetailsFlag(), selfProfileFlag()})...),
		Action: func(c *cli.Context) error {
			job, err := newConvertJob(c, env)
			if err != nil {
				return err
			}
			return job.run(c.Context)
		},
	}
}

// The flags that several commands share.

// pick returns the flags with the given names.
func pick(flags []cli.Flag, names ...string) []cli.Flag {
	return slices.DeleteFunc(flags, func(f cli.Flag) bool { return !slices.Contains(names, f.Names()[0]) })
}

func formatFlag() cli.Flag {
	return &cli.StringFlag{Name: "format", Value: "auto", Usage: "input `FORMAT`: " + formatList()}
}

func argsFlag() cli.Flag {
	return &cli.StringFlag{Name: "args", Value: "all", Usage: "keep all event arguments, none, or those named `KEY,KEY…`"}
}

// leastMemory is the smallest --memory. Smaller values would not reduce memory use; docs/cli.md has the measurement.
const leastMemory = 32 << 20

// memoryOf returns the value of a flag like --memory.
func memoryOf(c *cli.Context, flag string) (int64, error) {
	memory, err := migrate.ParseSize(c.String(flag))
	switch {
	case err != nil:
		return 0, usagef("--%s: %v", flag, err)
	case memory < leastMemory:
		return 0, usagef("--%s: %s is too little; weft needs at least %dMiB", flag, c.String(flag), leastMemory>>20)
	}
	return memory, nil
}

func memoryFlag() cli.Flag {
	return &cli.StringFlag{Name: "memory", Value: "256MiB", Usage: "use up to `SIZE` of memory for events, at least 32MiB; sort the rest on disk"}
}

// inputOptions reads the flags that control how an input is read. Flags that a command lacks have their defaults.
func inputOptions(c *cli.Context) (opts convert.Options, err error) {
	opts.From = convert.Format(c.String("format"))
	if err := opts.Validate(); err != nil {
		return opts, usagef("--format: %v", err)
	}
	if err := setArgs(c, &opts); err != nil {
		return opts, err
	}
	memory := "memory"
	if c.Command.Name == "migrate" {
		memory = "file-memory"
	}
	if opts.Memory, err = memoryOf(c, memory); err != nil {
		return opts, err
	}
	if opts.SelfProfile, err = selfProfileOptions(c, opts.From); err != nil {
		return opts, err
	}
	if err = setProfiles(c, &opts); err != nil {
		return opts, err
	}
	limitHeap(opts.Memory)
	return opts, nil
}

func formatList() string {
	var names []string
	for _, f := range convert.Formats() {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}

// setArgs reads --args: "all", "none" or names separated by commas.
func setArgs(c *cli.Context, opts *convert.Options) error {
	text := c.String("args")
	if text == "" && c.IsSet("args") {
		return usagef("--args: the list is empty; use all, none, or names separated by commas")
	}
	switch text {
	case "all", "":
	case "none":
		opts.NoArgs = true
	default:
		opts.Args = strings.Split(text, ",")
		if slices.Contains(opts.Args, "") {
			return usagef("--args: %q holds an empty name; use all, none, or names separated by commas", text)
		}
	}
	return nil
}

// gcPercent is GOGC, garbage as a percentage of live memory. Nearly all live memory has no pointers, so a collection takes a
// few milliseconds at any size; less garbage lowers peak memory at no cost in time.
const gcPercent = 75

// limitHeap makes the garbage collector keep the heap near the budget, even where it would let garbage accumulate for speed.
// GOMEMLIMIT and GOGC take precedence.
func limitHeap(memory int64) {
	const tables = 64 << 20 // memory outside the budget for an ordinary trace
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(max(memory, tables) + tables)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}

// A convertJob is one call of the convert command.
type convertJob struct {
	env         *environment
	conversions []*conversion
	several     bool    // each report is one line
	skipped     skipped // the skipped files in folders
	folders     madeFolders
	opts        convert.Options
	compress    string // as set; "": chosen by setForm
	packets     string // as set; "": chosen by setForm
	force       bool
	strict      strictness
	quiet       bool
	selfProfile bool // --self-profile is set, so one input must be a self-profile
	reportJSON  bool
	reportFile  string
	outDir      string
}

func newConvertJob(c *cli.Context, env *environment) (*convertJob, error) {
	job := &convertJob{
		env:        env,
		compress:   c.String("compress"),
		packets:    c.String("packets"),
		force:      c.Bool("force"),
		strict:     readStrict(c),
		quiet:      c.Bool("quiet"),
		reportJSON: c.Bool("json"),
		reportFile: c.String("report-file"),
		outDir:     c.String("out-dir"),

		selfProfile: c.IsSet("self-profile"),
	}
	for _, name := range []string{"o", "out-dir", "report-file", filesFrom} {
		if c.IsSet(name) && c.String(name) == "" {
			return nil, usagef("-%s: the name is empty", name) // most likely from an unset variable
		}
	}
	var err error
	if job.opts, err = conversionOptions(c); err != nil {
		return nil, err
	}
	if job.opts.Workers = c.Int("workers"); job.opts.Workers < 0 || c.IsSet("workers") && job.opts.Workers == 0 {
		return nil, usagef("--workers: %d is not a number of goroutines; use 1 or more", job.opts.Workers)
	}
	if err := checkFolder(job.outDir); err != nil {
		return nil, err
	}
	if err := job.findInputs(c); err != nil {
		return nil, err
	}
	if job.several {
		job.opts.SelfProfile.Required = false // one self-profile is enough
	}
	return job, job.check()
}

// conversionOptions reads the flags that control how an input is converted.
func conversionOptions(c *cli.Context) (opts convert.Options, err error) {
	if opts, err = inputOptions(c); err != nil {
		return opts, err
	}
	opts.Packets = pftrace.Packets(c.String("packets"))
	if err := opts.Validate(); err != nil {
		return opts, usagef("--packets: %v", err)
	}
	if opts.NoScreenshots, err = isOff(c, "screenshots"); err != nil {
		return opts, err
	}
	if opts.NoLongTasks, err = isOff(c, "long-tasks"); err != nil {
		return opts, err
	}
	opts.Samples = pftrace.Samples(c.String("samples"))
	if err := opts.Validate(); err != nil {
		return opts, usagef("--samples: %v", err)
	}
	if err = setAttribution(c, &opts); err != nil {
		return opts, err
	}
	opts.Compression = pftrace.Compression(c.String("compress"))
	if err := opts.Validate(); err != nil {
		return opts, usagef("--compress: %v", err)
	}
	return opts, nil
}

// isOff reads a flag whose value is on or off. The default is on.
func isOff(c *cli.Context, name string) (bool, error) {
	switch what := c.String(name); what {
	case "off":
		return true, nil
	case "on", "":
		return false, nil
	default:
		return false, unknownValue(name, "choice", what, "on", "off")
	}
}

// checkFolder returns an error if the argument of --out-dir is not a folder. Without this check, a later error would name a
// file inside it.
func checkFolder(dir string) error {
	if dir == "" {
		return nil
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // it will be created
	case err != nil:
		return fmt.Errorf("%s: %w", dir, withoutPath(err))
	case !info.IsDir():
		return fmt.Errorf("%s is a file, and --out-dir needs a directory; to write to the file, use -o", dir)
	}
	return nil
}

// chooseOutputs chooses the path of every output.
func (j *convertJob) chooseOutputs(files []inputs.File, file, dir string) error {
	switch {
	case file != "" && dir != "":
		return usagef("-o and --out-dir cannot be combined")
	case file != "" && len(files) > 1:
		return usagef("-o takes one input, not %d; use weft merge to put several on one timeline, --out-dir for one trace each", len(files))
	case file != "":
		j.conversions = append(j.conversions, newConversion(files[0], file))
		return nil
	}
	found := folders{}
	places := map[string]string{} // the input for each output path
	for _, input := range files {
		place := outputPlace(input, dir)
		key := found.placeKey(place)
		if other, ok := places[key]; ok {
			return usagef("%s and %s would both be written to %s", inputName(other), inputName(input.Path), outputName(place))
		}
		places[key] = input.Path
		j.conversions = append(j.conversions, newConversion(input, place))
	}
	return nil
}

// outputPlace returns the output path for an input: beside it, or in the --out-dir folder, where files from a folder keep
// their relative paths.
func outputPlace(input inputs.File, dir string) string {
	switch {
	case input.Path == inputs.Stdin && dir == "":
		return "-"
	case input.Path == inputs.Stdin:
		return filepath.Join(dir, "stdin"+outputSuffix)
	case dir == "":
		return input.Path + outputSuffix
	}
	return filepath.Join(dir, cmp.Or(input.RelativePath, filepath.Base(input.Path))+outputSuffix)
}

// check rejects combinations that cannot work before anything is read.
func (j *convertJob) check() error {
	for _, c := range j.conversions {
		if c.info != nil {
			j.env.files.note(c.input, c.info)
		}
		switch {
		case c.output != "-":
		case j.env.isTerminal(j.env.stdout):
			return usagef("weft does not write binary traces to a terminal; use -o FILE or a pipe")
		case j.reportJSON && j.reportFile == "":
			return usagef("standard output cannot hold both the trace and the JSON report; use -o FILE")
		}
	}
	return nil
}

// run converts all inputs. If one fails, the others are still converted.
func (j *convertJob) run(ctx context.Context) error {
	reportOutput, err := j.openReport(ctx)
	if err != nil {
		return err
	}
	if reportOutput != nil {
		defer reportOutput.Abort()
	}
	for _, c := range j.conversions { // before any conversion starts
		if err := j.env.files.check(c.output); err != nil {
			return err
		}
	}
	defer j.folders.removeEmpty()
	p := j.progress()
	defer p.Stop()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		j.convertAll(ctx, p)
	}()
	began := time.Now()
	var out outcome
	for _, c := range j.conversions {
		select {
		case <-c.done:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			<-ended // running conversions remove their temporary files
			return ctx.Err()
		}
		out.fail(j.settle(c, &out, p, reportOutput))
	}
	<-ended
	p.Stop()
	if out.reportErr == nil && j.several {
		out.fail(j.writeSummary(&out.sum, time.Since(began), reportOutput))
	}
	if out.reportErr != nil {
		return out.reportErr
	}
	if reportOutput != nil {
		if err := reportOutput.Commit(); err != nil {
			return err
		}
	}
	return j.judge(&out)
}

// outcome collects the results of the conversions of a job.
type outcome struct {
	sum        filesSummary
	lost       losses
	brokenPipe error // standard output was closed by its reader
	reportErr  error // the first one; the traces are still converted
}

// fail keeps the first error from writing the report.
func (o *outcome) fail(err error) {
	if o.reportErr == nil {
		o.reportErr = err
	}
}

// settle adds a finished conversion to the outcome and to the report. It returns only errors from writing the report.
func (j *convertJob) settle(c *conversion, out *outcome, p *progress, reportOutput *output) (err error) {
	switch {
	case c.err == nil:
		l := lossesOf(c.report)
		out.lost = losses{problem.Sum(out.lost.all, l.all), problem.Sum(out.lost.unusual, l.unusual)}
		out.sum.add(c)
		line := inputReport{Input: inputName(c.input), Output: outputName(c.output), Report: c.report, Durations: newDurations(c.report.Durations), strict: j.strict}
		p.print(func() { err = j.writeReport(&line, reportOutput) })
	case isBrokenPipe(c.err):
		out.brokenPipe = c.err
	case c.isNoTrace():
		j.skipped.others++
		err = j.writeFailed(c, reportOutput)
	default:
		out.sum.failed++
		p.print(func() {
			printError(j.env, c.err)
			err = j.writeFailed(c, reportOutput)
		})
	}
	return err
}

// judge returns the error that the command ends with, if any.
func (j *convertJob) judge(out *outcome) error {
	switch {
	case out.sum.failed > 0:
		return errReported
	case out.sum.converted == 0 && j.skipped.others > 0:
		return errors.New("nothing was converted: no file in the folder is a trace")
	case out.brokenPipe != nil:
		return out.brokenPipe
	case j.selfProfileMissing():
		return errors.New("--self-profile had no effect: no input is a JS self-profile")
	}
	return j.strict.judge(j.env, out.lost, "; see the report")
}

// selfProfileMissing reports whether --self-profile is set and no input was a self-profile.
func (j *convertJob) selfProfileMissing() bool {
	return j.selfProfile && !slices.ContainsFunc(j.conversions, func(c *conversion) bool {
		return c.report != nil && c.report.Format == convert.FormatJSProfile
	})
}

// setForm sets the compression and packet form of an output where flags do not: small for files, easy to parse on standard
// output.
func (j *convertJob) setForm(opts *convert.Options, place string) {
	opts.Compression, opts.Packets = defaultForm(place)
	if j.compress != "" {
		opts.Compression = pftrace.Compression(j.compress)
	}
	if j.packets != "" {
		opts.Packets = pftrace.Packets(j.packets)
	}
}

// defaultForm returns the default compression and packet form for an output path.
func defaultForm(place string) (pftrace.Compression, pftrace.Packets) {
	if place == "-" {
		return pftrace.Uncompressed, pftrace.Plain
	}
	return pftrace.Zstd, pftrace.Compact
}

// inputReport is the line that --json writes for each input.
type inputReport struct {
	Input  string `json:"input"`
	Output string `json:"output"`
	*convert.Report
	Durations durations `json:"durations"`

	strict strictness
}

// openReport creates the --report-file before the conversion, so that errors come early; nil without the flag.
func (j *convertJob) openReport(ctx context.Context) (*output, error) {
	if j.reportFile == "" {
		return nil, nil
	}
	return createOutput(ctx, j.env, j.reportFile, j.force)
}

// writeReport writes the report of one conversion to file if it is not nil, otherwise to standard output or standard error.
// With several inputs, each report is one line.
func (j *convertJob) writeReport(r *inputReport, file *output) error {
	w := j.reportWriter(file)
	switch {
	case w == nil:
		return nil
	case j.reportJSON:
		return writeJSON(w, r)
	case j.several:
		return r.writeLine(w)
	}
	return r.writeText(w)
}

// reportWriter returns the destination of reports; nil: none.
func (j *convertJob) reportWriter(file *output) io.Writer {
	switch {
	case file != nil:
		return file
	case j.reportJSON:
		return j.env.stdout
	case j.quiet:
		return nil
	}
	return j.env.stderr
}

// writeFailed writes the JSON line for an input that failed, if reports are JSON.
func (j *convertJob) writeFailed(c *conversion, file *output) error {
	switch {
	case !j.reportJSON:
		return nil
	case file != nil:
		return writeFailed(file, c.input, c.err)
	}
	return writeFailed(j.env.stdout, c.input, c.err)
}

// maxProblemLines keeps the text report short; the JSON report and weft info list all problems.
const maxProblemLines = 3

// writeText writes a few lines: the result, the problems and the next command.
func (r *inputReport) writeText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s → %s, %s, in %s\n", printable(r.Input), r.Format, r.sizeIn(), printable(r.Output),
		formatSize(r.BytesOut), time.Duration(r.Durations.Total).Round(time.Millisecond))
	fmt.Fprintf(&b, "  %s\n", summary(r.Report))
	if line := callSummary(r.Report); line != "" {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	switch {
	case len(r.Contexts) > 0:
		fmt.Fprintf(&b, "  contexts: %s; weft report cost shows the cost of each\n", printable(strings.Join(r.Contexts, ", ")))
	case r.Contexts != nil:
		b.WriteString("  no contexts: the trace does not say what its slices ran for\n")
	}
	r.writeProblems(&b)
	switch {
	case r.Copied && r.Lost() > 0:
		b.WriteString("  the output has every readable packet of the input, unchanged, and its damage; weft convert --attribute repairs that\n")
	case r.Copied:
		b.WriteString("  the output has every readable packet of the input, unchanged\n")
	}
	if r.Output != outputName("-") {
		fmt.Fprintf(&b, "  %s\n", viewHint(r.Output))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// sizeIn formats the size of the input, and its unpacked size if that differs.
func (r *inputReport) sizeIn() string {
	if r.BytesUnpacked == r.BytesIn {
		return formatSize(r.BytesIn)
	}
	return fmt.Sprintf("%s (%s unpacked)", formatSize(r.BytesIn), formatSize(r.BytesUnpacked))
}

// reported returns the problems to print. It includes the usual ones only if --strict=all makes them a failure.
func (r *inputReport) reported() []trace.Problem {
	if r.strict == strictAll {
		return r.Problems
	}
	return unusual(r.Report)
}

// writeLine summarises one of several conversions in a line: the result, and its unusual problems.
func (r *inputReport) writeLine(w io.Writer) error {
	e := &r.Events
	line := fmt.Sprintf("%s: %s → %s, %s", printable(r.Input), formatSize(r.BytesIn), formatSize(r.BytesOut),
		table.Plural(e.Slices+e.Instants+e.CounterValues+e.Samples, "event", "events"))
	if r.Span != nil {
		line += " over " + lengthText(r.Span.End-r.Span.Start)
	}
	problems := r.reported()
	if counts := countProblems(r.Report, problems); counts != "" {
		line += "; problems: " + counts
	}
	_, err := fmt.Fprintln(w, line)
	return err
}

// filesSummary summarises the conversions of several inputs.
type filesSummary struct {
	converted, failed, withProblems int
	in, out                         int64
	place                           string // the first output that is a file
}

// add adds a conversion that succeeded.
func (s *filesSummary) add(c *conversion) {
	s.converted++
	s.in, s.out = s.in+c.report.BytesIn, s.out+c.report.BytesOut
	if len(unusual(c.report)) > 0 {
		s.withProblems++
	}
	if s.place == "" && c.output != "-" {
		s.place = outputName(c.output)
	}
}

// writeSummary writes the results for several inputs, and the next command to run.
func (j *convertJob) writeSummary(s *filesSummary, took time.Duration, file *output) error {
	w := j.reportWriter(file)
	if w == nil {
		return nil
	}
	if j.reportJSON {
		if text := j.skipped.text(); text != "" && !j.quiet {
			fmt.Fprintln(j.env.stderr, text)
		}
		return nil
	}
	line := fmt.Sprintf("%s converted: %s → %s, in %s", table.Plural(int64(s.converted), "file", "files"), formatSize(s.in), formatSize(s.out),
		took.Round(time.Millisecond))
	if s.failed > 0 {
		line += fmt.Sprintf("; %s failed", table.Thousands(int64(s.failed)))
	}
	if s.withProblems > 0 {
		line += fmt.Sprintf("; %s with problems (details: weft info --problems FILE)", table.Thousands(int64(s.withProblems)))
	}
	if text := j.skipped.text(); text != "" {
		line += "\n" + text
	}
	if s.place != "" {
		line += "\nTo look at one: weft view " + shellWord(printable(s.place))
	}
	_, err := fmt.Fprintln(w, line)
	return err
}

// writeProblems lists the problems. Usual ones take only one sentence, unless --strict=all makes them a failure.
func (r *inputReport) writeProblems(b *strings.Builder) {
	problems := r.reported()
	for i := range problems {
		p := &problems[i]
		if i == maxProblemLines || p.Severity != "lost" {
			break
		}
		fmt.Fprintf(b, "  %s: %s\n", wordFor(r.Report, p), printable(problemLine(p)))
	}
	if counts := countProblems(r.Report, problems); counts != "" {
		fmt.Fprintf(b, "  problems: %s (details: %s)\n", counts, r.details())
	}
	if line := usualLine(r.Report); line != "" && r.strict != strictAll {
		fmt.Fprintf(b, "  %s\n", line)
	}
}

// details returns the command that lists the problems, or a flag if the input cannot be read again.
func (r *inputReport) details() string {
	switch {
	case r.Input == inputName("-"):
		return "--json"
	case r.Contexts != nil:
		return problemsOf("--attribute " + shellWord(printable(r.Input)))
	}
	return problemsOf(shellWord(printable(r.Input)))
}

// problemsOf returns the command that lists the problems of a file.
func problemsOf(file string) string { return "weft info --problems " + file }

func writeJSON(w io.Writer, v any) error {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(jsonscan.Escape(line.Bytes()))
	return err
}

func isBrokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }
