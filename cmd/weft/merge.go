package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/inputs"
	"github.com/weft-trace/weft/internal/load"
	"github.com/weft-trace/weft/internal/merge"
	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/words"
)

// inputsFrom is the flag for a file that lists inputs.
const inputsFrom = "inputs-from"

func mergeCommand(env *environment) *cli.Command {
	others := pick(convertCommand(env).Flags, "force", "format", "args", "compress", "packets", "samples", "screenshots", "long-tasks", "memory",
		"quiet", "json", "attribute", "js-calls", "profile", "self-profile")
	return &cli.Command{
		Name:      "merge",
		Usage:     "put several recordings on one timeline",
		UsageText: "weft merge -o OUTPUT [flags] [NAME=]FILE…",
		Description: `Writes one Perfetto trace with the events of all inputs: a trace and the profile
taken beside it, a browser and its server, the ranks of a training run. weft finds
how their clocks relate, prints how it knows and how sure that is, and refuses
inputs that nothing relates (docs/merge.md).

Examples:
   weft merge -o one.pftrace trace.json profile.cpuprofile
   weft merge -o one.pftrace browser=trace.json server=spans.json
   weft merge -o one.pftrace --offset b=-1.5ms a.json b.json
   weft merge -o run.pftrace --link seq rank*.json.gz`,
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "o", Aliases: []string{"output"}, Usage: "write the trace to `FILE`, or to standard output (\"-\")"},
			&cli.StringFlag{Name: inputsFrom, Usage: "also read the inputs that `LIST` names, one [NAME=]FILE a line"},
			&cli.StringSliceFlag{Name: "offset", Usage: "add `NAME=DUR[±DUR]` to the times of an input (2ms, -1.5s±10us); repeatable"},
			&cli.StringFlag{Name: "reference", Usage: "use the clock of the input `NAME`", DefaultText: "the first one with a known monotonic clock"},
			&cli.StringSliceFlag{Name: "same", Usage: "equal pids of the inputs `A,B…` are one process; repeatable"},
			&cli.StringSliceFlag{Name: "host", Usage: "`NAME=HOST`: the host of an input; equal hosts share clocks and pids; repeatable"},
			&cli.StringSliceFlag{Name: "link", Usage: "connect events with equal values of the argument `KEY` (a.b.c), or with equal flow ids (flow); repeatable"},
			&cli.BoolFlag{Name: "machines", Usage: "write each host as a machine of its own; arrows between hosts are lost then", DisableDefaultText: true},
			&cli.StringFlag{Name: "max-uncertainty", Usage: "refuse offsets that are less certain than `DUR`"},
			&cli.BoolFlag{Name: "dry-run", Usage: "find and print the offsets, write nothing", DisableDefaultText: true},
			&cli.BoolFlag{Name: "keep-going", Usage: "leave out inputs that cannot be read or placed; exit with code 3", DisableDefaultText: true},
			strictFlag("assume nothing, and "),
		}, others...),
		Action: func(c *cli.Context) error {
			job, err := newMergeJob(c, env)
			if err != nil {
				return err
			}
			defer job.removeSpooled()
			if err := job.openSources(c.Context); err != nil {
				return err
			}
			return job.run(c.Context)
		},
	}
}

// A mergeJob is one call of the merge command.
type mergeJob struct {
	convertJob
	merge.Job
	output  string
	spooled []string // copies of inputs that can be read only once
}

func newMergeJob(c *cli.Context, env *environment) (*mergeJob, error) {
	j := &mergeJob{
		convertJob: convertJob{
			env: env, compress: c.String("compress"), packets: c.String("packets"), force: c.Bool("force"), strict: readStrict(c),
			quiet: c.Bool("quiet"), reportJSON: c.Bool("json"),
		},
		output: c.String("o"),
	}
	j.Machines = c.Bool("machines")
	j.DryRun, j.KeepGoing, j.Strict, j.Reference = c.Bool("dry-run"), c.Bool("keep-going"), readStrict(c) != "", -1
	var err error
	if j.opts, err = conversionOptions(c); err != nil {
		return nil, err
	}
	if err := j.findSources(c); err != nil {
		return nil, err
	}
	if err := j.readRelations(c); err != nil {
		return nil, err
	}
	return j, j.checkOutput()
}

// findSources finds the inputs and their names.
func (j *mergeJob) findSources(c *cli.Context) error {
	args := c.Args().Slice()
	if list := c.String(inputsFrom); list != "" {
		more, err := j.readList(c.Context, list)
		if err != nil {
			return err
		}
		args = append(args, more...)
	}
	if len(args) < 2 {
		return usagef("weft merge takes at least two inputs; weft convert converts one")
	}
	if len(args) > inputs.MaxFiles {
		return usagef("at most %d inputs", inputs.MaxFiles)
	}
	names, files := make([]string, len(args)), make([]string, len(args))
	for i, arg := range args {
		if names[i], files[i] = splitNamed(arg); names[i] == "" && misnames(arg) {
			return usagef("%s: names of inputs consist of letters A to Z, digits, and _ . -, as in name=%s", printable(arg), printable(arg[strings.IndexByte(arg, '=')+1:]))
		}
	}
	names = inputNames(names, files)
	for i, name := range names {
		if k := slices.Index(names[:i], name); k >= 0 {
			if filepath.Clean(files[k]) == filepath.Clean(files[i]) {
				return usagef("%s is given twice", files[i])
			}
			return usagef("two inputs are called %s: %s and %s; name one with NAME=FILE", name, files[k], files[i])
		}
		if inputs.IsFolder(files[i]) {
			return usagef("%s is a folder; name its files", files[i])
		}
		j.Sources = append(j.Sources, merge.Source{Name: name, File: files[i]})
	}
	j.env.files.reads(files...)
	return j.checkReadOnce(c.String(inputsFrom) == inputs.Stdin)
}

// namedInput matches [NAME=]FILE.
var namedInput = regexp.MustCompile(`^([A-Za-z0-9_.-]+)=(.+)$`)

// splitNamed splits [NAME=]FILE. If a file with the full text as its name exists, that file wins.
func splitNamed(arg string) (name, file string) {
	m := namedInput.FindStringSubmatch(arg)
	if m == nil {
		return "", arg
	}
	if _, err := os.Stat(arg); err == nil {
		return "", arg
	}
	return m[1], m[2]
}

// misnames reports whether the argument for a missing file looks like NAME=FILE with an invalid NAME.
func misnames(arg string) bool {
	_, file, ok := strings.Cut(arg, "=")
	if !ok {
		return false
	}
	_, whole := os.Stat(arg)
	_, part := os.Stat(file)
	return whole != nil && part == nil
}

// nameEndings are file name endings that are dropped from the names of inputs.
var nameEndings = []string{".gz", ".zst", ".zip", ".json", ".pftrace", ".perfetto-trace", ".cpuprofile", ".jslb", ".trace", ".jsonl", ".har", ".pb", ".profile", ".probelines", ".otlp"}

// inputNames names unnamed inputs after their files, prefixed with as many folders as are needed to make the name unique.
func inputNames(given, files []string) []string {
	parts := make([][]string, len(files))
	depth := make([]int, len(files))
	for i, file := range files {
		path := filepath.ToSlash(filepath.Clean(file))
		for cut := true; cut; {
			cut = false
			for _, ending := range nameEndings {
				if short, ok := strings.CutSuffix(path, ending); ok && filepath.Base(short) != "." && !strings.HasSuffix(short, "/") && short != "" {
					path, cut = short, true
				}
			}
		}
		if file == inputs.Stdin {
			path = "stdin"
		}
		parts[i], depth[i] = strings.Split(path, "/"), 1
	}
	name := func(i int) string {
		if given[i] != "" {
			return given[i]
		}
		return strings.Join(parts[i][len(parts[i])-depth[i]:], "/")
	}
	for range 64 {
		count := map[string]int{}
		for i := range files {
			count[name(i)]++
		}
		deeper := false
		for i := range files {
			if given[i] == "" && count[name(i)] > 1 && depth[i] < len(parts[i]) {
				depth[i]++
				deeper = true
			}
		}
		if !deeper {
			break
		}
	}
	names := make([]string, len(files))
	for i := range files {
		names[i] = name(i)
	}
	return names
}

// readList reads a list of inputs.
func (j *mergeJob) readList(ctx context.Context, list string) (names []string, err error) {
	in, err := openInput(ctx, j.env, list)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<16)
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); line != "" {
			names = append(names, line)
		}
		if len(names) > inputs.MaxFiles {
			return nil, usagef("%s names more than %d inputs", list, inputs.MaxFiles)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", inputName(list), err)
	}
	return names, nil
}

// readRelations reads the flags about how inputs relate.
func (j *mergeJob) readRelations(c *cli.Context) error {
	for _, read := range [...]func(*cli.Context) error{j.readOffsets, j.readReference, j.readSame, j.readHosts, j.readLinks, j.readMaxUncertainty} {
		if err := read(c); err != nil {
			return err
		}
	}
	return nil
}

// readOffsets reads the offsets to add to the inputs' times.
func (j *mergeJob) readOffsets(c *cli.Context) error {
	for _, text := range c.StringSlice("offset") {
		name, offset, ok := strings.Cut(text, "=")
		i, err := j.named("offset", name)
		if err != nil {
			return err
		}
		g := merge.GivenOffset{Input: i}
		by, within, _ := strings.Cut(strings.Replace(offset, "+-", "±", 1), "±")
		if g.Offset, err = durationOf(by); errors.Is(err, errTooLong) {
			return usagef("--offset: %v", err)
		} else if err != nil || !ok {
			return usagef("--offset: %q is not NAME=DUR, such as %s=-1.5ms or %s=2s±10us", text, name, name)
		}
		if within != "" {
			if g.Within, err = durationOf(within); err != nil || g.Within < 0 {
				return usagef("--offset: %q is not a length of time", within)
			}
		}
		if j.hasOffset(i) {
			return usagef("--offset: %s has two offsets; give one", name)
		}
		j.Offsets = append(j.Offsets, g)
	}
	return nil
}

// hasOffset reports whether an offset is given for an input.
func (j *mergeJob) hasOffset(i int) bool {
	return slices.ContainsFunc(j.Offsets, func(g merge.GivenOffset) bool { return g.Input == i })
}

// readReference reads which input's clock the output uses. Call it after readOffsets.
func (j *mergeJob) readReference(c *cli.Context) error {
	if !c.IsSet("reference") {
		return nil
	}
	i, err := j.named("reference", c.String("reference"))
	if err != nil {
		return err
	}
	if j.hasOffset(i) {
		return usagef("--offset: %s is the reference, to which offsets are; give the offsets of the other inputs", j.Sources[i].Name)
	}
	j.Reference = i
	return nil
}

// readSame reads which inputs share their pids.
func (j *mergeJob) readSame(c *cli.Context) error {
	for _, list := range c.StringSlice("same") {
		var group []int
		for name := range strings.SplitSeq(list, ",") {
			i, err := j.named("same", name)
			if err != nil {
				return err
			}
			group = append(group, i)
		}
		if slices.Sort(group); len(slices.Compact(slices.Clone(group))) < 2 {
			return usagef("--same: %q is one input; name those that share their pids, as in --same A,B", list)
		}
		j.Same = append(j.Same, group)
	}
	return nil
}

// readHosts reads the hosts of inputs.
func (j *mergeJob) readHosts(c *cli.Context) error {
	for _, text := range c.StringSlice("host") {
		name, host, ok := strings.Cut(text, "=")
		i, err := j.named("host", name)
		if err != nil {
			return err
		}
		if !ok || host == "" {
			return usagef("--host: %q is not NAME=HOST", text)
		}
		j.Sources[i].Host = host
	}
	return nil
}

// readLinks reads which arguments or flows link events of different inputs.
func (j *mergeJob) readLinks(c *cli.Context) error {
	for _, key := range c.StringSlice("link") {
		switch key {
		case "":
			return usagef("--link: the key is empty")
		case "flow":
			j.LinkFlows = true
		default:
			j.Links = append(j.Links, key)
		}
	}
	return nil
}

// readMaxUncertainty reads the maximum uncertainty of offsets.
func (j *mergeJob) readMaxUncertainty(c *cli.Context) error {
	if !c.IsSet("max-uncertainty") {
		return nil
	}
	limit, err := durationOf(c.String("max-uncertainty"))
	if err != nil || limit <= 0 {
		return usagef("--max-uncertainty: %q is not a length of time, such as 5ms", c.String("max-uncertainty"))
	}
	j.MaxUncertainty = limit
	return nil
}

// named returns the index of the input with a name.
func (j *mergeJob) named(flag, name string) (int, error) {
	var names []string
	for i := range j.Sources {
		if j.Sources[i].Name == name {
			return i, nil
		}
		names = append(names, j.Sources[i].Name)
	}
	if len(names) > 20 {
		return 0, usagef("--%s: no input is called %q", flag, name)
	}
	return 0, usagef("--%s: %v", flag, words.Unknown("input", name, names))
}

// durationText matches a decimal number with a unit.
var durationText = regexp.MustCompile(`^([+-]?)([0-9]+)(?:\.([0-9]{0,9}))?(ns|us|µs|ms|s|m|h)$`)

// errTooLong is the error for a duration beyond the range of traces.
var errTooLong = errors.New("longer than 146 years")

// durationOf parses a duration such as "-1.5ms", "10us" or "3 s" exactly.
func durationOf(text string) (timeline.Nanos, error) {
	m := durationText.FindStringSubmatch(strings.ReplaceAll(strings.TrimSpace(text), " ", ""))
	switch {
	case strings.TrimSpace(text) == "0":
		return 0, nil
	case m == nil:
		return 0, fmt.Errorf("%q is not a length of time", text)
	}
	units := map[string]timeline.Nanos{
		"ns": 1, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9, "h": 3600e9,
	}
	unit := units[m[4]]
	var n timeline.Nanos
	for _, digit := range m[2] {
		if n > (1<<62)/unit/10 {
			return 0, fmt.Errorf("%q is %w", text, errTooLong)
		}
		n = n*10 + timeline.Nanos(digit-'0')
	}
	n *= unit
	for _, digit := range m[3] {
		unit /= 10
		n += unit * timeline.Nanos(digit-'0')
	}
	if m[1] == "-" {
		n = -n
	}
	return n, nil
}

// checkOutput rejects output paths that cannot be intended.
func (j *mergeJob) checkOutput() error {
	switch {
	case j.DryRun:
		return nil
	case j.output == "":
		return usagef("weft merge needs a place for the trace: -o FILE")
	case j.output == "-" && j.env.isTerminal(j.env.stdout):
		return usagef("weft does not write binary traces to a terminal; use -o FILE or a pipe")
	case j.output == "-" && j.reportJSON:
		return usagef("standard output cannot hold both the trace and the JSON report; use -o FILE")
	}
	return nil
}

// run merges the inputs and writes the report on the merge.
func (j *mergeJob) run(ctx context.Context) error {
	report, err := j.write(ctx)
	if err != nil && !errors.Is(err, merge.ErrDryRun) {
		return err
	}
	if err := j.writeMerged(report); err != nil {
		return err
	}
	for i := range j.Failed {
		fmt.Fprintf(j.env.stderr, "%s left out %s: %s\n", messageHead(j.env), printable(j.Sources[j.Failed[i].Input].Name), printable(load.ErrorText(j.Failed[i].Err)))
	}
	switch {
	case len(j.Failed) > 0:
		return errStrict
	case report == nil:
		return nil
	}
	return j.strict.judge(j.env, newMergeReport(j, report).losses(), "; see the report")
}

// write writes the trace; without an output path it only computes the offsets.
func (j *mergeJob) write(ctx context.Context) (*convert.Report, error) {
	began := time.Now()
	if j.DryRun {
		_, err := load.Many(ctx, &j.Job, j.opts)
		return nil, err
	}
	dst, err := createOutput(ctx, j.env, j.output, j.force)
	if err != nil {
		return nil, err
	}
	defer dst.Abort()
	j.setForm(&j.opts, j.output)
	t, err := load.Many(ctx, &j.Job, j.opts)
	if err != nil {
		return nil, cmp.Or(dst.Failed(), err)
	}
	defer t.Close()
	if err := t.Write(ctx, dst, new(pfwire.Buffers)); err != nil {
		return nil, cmp.Or(dst.Failed(), err)
	}
	t.Report.Durations.Total = time.Since(began)
	return t.Report, dst.Commit()
}
