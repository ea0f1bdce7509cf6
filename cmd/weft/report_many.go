package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/convert"
	costtables "github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/inputs"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/trace"
)

// A report on many inputs adds up the tables of the reports on the individual inputs. The reports below make special tables for
// this.

func manyInputs(c *cli.Context, in *reportInput, _ int) (*table.Report, error) {
	r, err := collectInputs(c, in, true)
	if err != nil {
		return nil, err
	}
	return r.Many(), nil
}

func manyTasks(c *cli.Context, in *reportInput, _ int) (*table.Report, error) {
	r, err := collectTasks(c, in)
	if err != nil {
		return nil, err
	}
	return r.Many(), nil
}

// lackingError explains why an input has no data for the selection.
type lackingError struct{ error }

func manyCosts(c *cli.Context, in *reportInput, _ int) (r *table.Report, err error) {
	err = withCosts(c, in, 0, func(query *costQuery, all *costtables.Tables) error {
		if in.timeline.Totals().Any() {
			if _, err := query.findType(all); err != nil && !asUsage(err) {
				return lackingError{fmt.Errorf("%s: %w", inputName(in.name), err)}
			}
		}
		tables, note, err := query.tables(all, in.timeline)
		switch {
		case err != nil:
			return err
		case len(tables) == 0:
			return lackingError{fmt.Errorf("%s: %s", inputName(in.name), note)}
		}
		for i := range tables[0].Rows {
			row := &tables[0].Rows[i]
			switch {
			case row.Name == "":
				row.Name = row.ID
			case !row.HasURL && (strings.HasPrefix(row.ID, "frame/") || strings.HasPrefix(row.ID, "isolate/")):
				row.Name += " (" + row.ID + ")" // another recording may have a different context with the same name
			}
		}
		r = report.CostReport("", tables[:1])
		return nil
	})
	return r, err
}

// manyNames returns the names of the reports that accept many inputs.
func manyNames() (names []string) {
	for _, r := range reports() {
		if r.many != nil {
			names = append(names, r.name)
		}
	}
	return names
}

// listed formats a list of names for a sentence.
func listed(names []string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// takesMany reports whether a call names many inputs: several names, a folder, or a list.
func takesMany(c *cli.Context) bool {
	names := inputs.Expand(c.Args().Tail())
	return c.IsSet(filesFrom) || len(names) > 1 || len(names) == 1 && inputs.IsFolder(names[0])
}

// filesFrom is the flag for a file that lists inputs.
const filesFrom = "files-from"

func filesFromFlag() cli.Flag {
	return &cli.StringFlag{Name: filesFrom, Usage: "read the names of further inputs from `FILE`, one a line; \"-\": standard input"}
}

// findInputs returns the files that the given names refer to, and the files in the list that the given flag names.
func findInputs(c *cli.Context, env *environment, names []string, flag string) (*inputs.Found, error) {
	names = inputs.Expand(names)
	if list := c.String(flag); c.IsSet(flag) {
		src, err := openInput(c.Context, env, list)
		if err != nil {
			return nil, err
		}
		defer src.Close()
		more, err := inputs.ReadList(src)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", inputName(list), withoutPath(err))
		}
		if list == inputs.Stdin && slices.Contains(append(more, names...), inputs.Stdin) {
			return nil, usagef("standard input cannot be both the list of --%s and an input", flag)
		}
		if names = append(names, more...); len(names) == 0 {
			return nil, fmt.Errorf("%s: the list is empty", inputName(list))
		}
	}
	return inputs.Find(names)
}

// manyRun is the state while a report on many inputs is made.
type manyRun struct {
	env    *environment
	kind   *reportKind
	opts   convert.Options
	filter *selection.Filter
	sum    *table.Fold

	without error // why the first input without the selection lacks it
	lacking int   // number of inputs that lack the selection
	partial int   // number of inputs whose problems make the numbers too small
	failed  []failedInput
}

// runManyReport prints a report on many inputs.
func runManyReport(c *cli.Context, env *environment, r *reportKind, p *printing) (err error) {
	run := &manyRun{env: env, kind: r}
	if run.opts, err = inputOptions(c); err != nil {
		return err
	}
	if !r.calls {
		run.opts.JSCalls = convert.JSCallsOff
	}
	run.opts.SelfProfile.Required = false // one self-profile is enough
	if run.filter, err = readSelection(c); err != nil {
		return err
	}
	found, err := findInputs(c, env, c.Args().Tail(), filesFrom)
	if err != nil {
		return err
	}
	files := found.Paths()
	slices.SortFunc(files, inputs.Compare)
	run.sum = table.NewFold(r.formsOfEach(), run.opts.Memory/8, run.opts.TempDir)
	if err = run.collect(c, files); err == nil {
		err = run.sum.Finish(c.Context)
	}
	if err == nil {
		err = p.print(c, env, "", run.report())
	}
	if err == nil && c.Bool("json") {
		err = run.writeFailed()
	}
	if closed := run.sum.Close(); err == nil {
		err = closed
	}
	if err == nil && len(run.failed) > 0 {
		return errReported
	}
	return err
}

// collect adds the inputs one by one. It prints failures, and continues.
func (run *manyRun) collect(c *cli.Context, files []string) error {
	progress := startFilesProgress(run.env, len(files), totalSize(files), true)
	defer progress.Stop()
	for _, name := range files {
		err := run.one(c, name, progress)
		progress.fileDone()
		switch {
		case c.Context.Err() != nil:
			return c.Context.Err()
		case err == nil:
			continue
		case errors.Is(err, syscall.EPIPE):
			return err
		case asUsage(err):
			return err
		}
		printError(run.env, err)
		run.failed = append(run.failed, newFailed(name, err))
	}
	if run.sum.Files == 0 && run.without != nil {
		return run.without // no input has the selection
	}
	return nil
}

func asUsage(err error) bool {
	usage := (*usageError)(nil)
	return errors.As(err, &usage)
}

// totalSize returns the total size of all files; -1 if it is unknown in advance.
func totalSize(files []string) (total int64) {
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil || !info.Mode().IsRegular() {
			return -1
		}
		total += info.Size()
	}
	return total
}

// one adds the report on one input.
func (run *manyRun) one(c *cli.Context, name string, progress *progress) (err error) {
	src, err := openInput(c.Context, run.env, name)
	if err != nil {
		return err
	}
	defer src.Close()
	in, err := readTrace(c.Context, name, progress.reader(src), run.opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	if in.selected, err = selectIn(c.Context, name, run.filter, in.timeline); err != nil {
		if c.Context.Err() == nil {
			run.lacks(err)
		}
		return nil
	}
	in.fold = run.sum
	tables, err := run.kind.many(c, in, 0)
	if lacking := (lackingError{}); errors.As(err, &lacking) {
		run.lacks(lacking.error)
		return nil
	}
	if err == nil {
		err = run.sum.Add(inputName(name), tables)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", inputName(name), err)
	}
	for _, note := range tables.Notes {
		printNote(run.env, name, note)
	}
	if slices.ContainsFunc(in.trace.Problems(), func(p trace.Problem) bool {
		return slices.Contains(run.kind.problems, p.Name) && !slices.Contains(in.report.Usual, p.Name)
	}) {
		run.partial++
	}
	in.printNotCounted(run.env, run.kind.slices)
	return nil
}

// lacks records that an input has no data for the selection.
func (run *manyRun) lacks(why error) {
	if run.without == nil {
		run.without = why
	}
	run.lacking++
}

// report returns the report on all inputs.
func (run *manyRun) report() *table.Report {
	return &table.Report{
		Lines: true, Sections: []table.Section{{Lines: []string{run.summary()}, Tables: run.sum.Tables()}},
		Head: []table.Record{table.JSON(struct {
			Table      string       `json:"table"`
			Recordings int          `json:"recordings"`
			Lacking    int          `json:"lacking"` // further recordings, which lack the selection
			Partial    int          `json:"partial"` // recordings whose problems make the numbers too small
			Failed     int          `json:"failed"`
			Tasks      *taskTotals  `json:"tasks,omitempty"`
			Inputs     *inputTotals `json:"inputs,omitempty"`
		}{"summary", run.sum.Files, run.lacking, run.partial, len(run.failed), run.tasks(), run.inputs()})},
	}
}

// taskTotals holds totals for long tasks.
type taskTotals struct {
	Count      int64          `json:"count"`
	Recordings int            `json:"recordings"` // number with long tasks
	Blocking   timeline.Nanos `json:"blocking_ns"`
	Uncounted  int64          `json:"uncounted"` // tasks without a row, because their file has too many
}

// tasks returns the totals of the report on long tasks; nil for other reports.
func (run *manyRun) tasks() *taskTotals {
	t := run.sum.List("tasks")
	if t == nil {
		return nil
	}
	return &taskTotals{t.Count, t.Recordings, t.Blocking, t.Uncounted}
}

// inputTotals holds totals for user inputs.
type inputTotals struct {
	Count      int64            `json:"count"`
	Recordings int              `json:"recordings"` // number with inputs
	Omitted    map[string]int64 `json:"omitted"`    // counts of inputs of kinds that were not requested
}

// inputs returns the totals of the report on user inputs; nil for other reports.
func (run *manyRun) inputs() *inputTotals {
	t := run.sum.List("inputs")
	if t == nil {
		return nil
	}
	return &inputTotals{t.Count, t.Recordings, t.Omitted}
}

// writeFailed writes a JSON line for each input that failed.
func (run *manyRun) writeFailed() error {
	for i := range run.failed {
		if err := writeJSON(run.env.stdout, &run.failed[i]); err != nil {
			return err
		}
	}
	return nil
}

// summary describes the recordings that the tables cover.
func (run *manyRun) summary() string {
	line := table.Count(run.sum.Files, "recording")
	if run.lacking > 0 {
		line += "; " + table.Plural(run.lacking, "other lacks", "others lack") + " what was asked for"
	}
	if run.partial > 0 {
		line += "; " + table.Plural(run.partial, "is incomplete", "are incomplete") + " (details: weft info --problems FILE)"
	}
	if n := len(run.failed); n > 0 {
		line += fmt.Sprintf("; %s could not be read", table.Thousands(n))
	}
	return line + run.sum.Summary()
}

// formsOfEach returns the tables that are made for each of many inputs, without rows.
func (r *reportKind) formsOfEach() []*table.Table {
	if r.foldForms != nil {
		return r.foldForms()
	}
	return r.forms()
}
