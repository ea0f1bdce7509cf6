package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/convert"
	engine "github.com/weft-trace/weft/internal/attribution"
	costtables "github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/inputs"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/trace"
)

// manyReport is a report about many inputs: the tables of one input, added up.
type manyReport struct {
	tables []report.ManyTable
	add    func(c *cli.Context, in *reportInput, to *report.Many) error
	says   func(sum *report.Many) string   // what the first line says besides; nil: nothing
	sums   func(sum *report.Many) manySums // numbers that only this report has; nil: none
}

// manySums are numbers about all recordings that only some reports have.
type manySums struct {
	Tasks  *taskSums  `json:"tasks,omitempty"`
	Inputs *inputSums `json:"inputs,omitempty"`
	// Uncounted are slices of layout in no row.
	Uncounted *int64 `json:"uncounted,omitempty"`
}

// taskSums are those of long tasks.
type taskSums struct {
	Count      int64          `json:"count"`
	Recordings int            `json:"recordings"` // with long tasks
	Blocking   timeline.Nanos `json:"blocking_ns"`
	Uncounted  int64          `json:"uncounted"` // tasks beyond the longest of a recording, which are in no row
}

// inputSums are those of inputs.
type inputSums struct {
	Count      int64                      `json:"count"`
	Recordings int                        `json:"recordings"` // with inputs
	Omitted    map[report.InputKind]int64 `json:"omitted"`    // of the kinds that were not asked for
}

func manyInputs() *manyReport {
	return &manyReport{
		tables: []report.ManyTable{report.ManyKindsTable, report.ManyInputsTable}, says: (*report.Many).InputSums,
		sums: func(sum *report.Many) manySums {
			return manySums{Inputs: &inputSums{sum.Inputs.Count, sum.Inputs.Recordings, sum.Omitted}}
		},
		add: func(c *cli.Context, in *reportInput, to *report.Many) error {
			r, err := collectInputs(c, in, true)
			if err != nil {
				return err
			}
			return to.AddInputs(inputName(in.name), r)
		},
	}
}

func manyTasks() *manyReport {
	return &manyReport{
		tables: []report.ManyTable{report.ManyPartsTable, report.ManyTasksTable}, says: (*report.Many).TaskSums,
		sums: func(sum *report.Many) manySums {
			return manySums{Tasks: &taskSums{sum.Tasks.Count, sum.Tasks.Recordings, sum.Blocking, sum.UncountedTasks}}
		},
		add: func(c *cli.Context, in *reportInput, to *report.Many) error {
			r, err := collectTasks(c, in)
			if err != nil {
				return err
			}
			return to.AddTasks(inputName(in.name), r)
		},
	}
}

func manySlices() *manyReport {
	return &manyReport{tables: report.ManySlices(), add: func(c *cli.Context, in *reportInput, to *report.Many) error {
		opts, err := slicesBy(c, in)
		if err != nil {
			return err
		}
		return to.AddSlices(c.Context, inputName(in.name), in.timeline, opts)
	}}
}

func manySamples() *manyReport {
	return manyProfiles(func(name string, p *report.Profiles, to *report.Many) error {
		s, err := p.Samples(report.Options{})
		if err == nil {
			to.AddSamples(name, s)
		}
		return err
	},
		report.ManyTimes{Name: report.ManyFunctions, Title: "functions, by self time", Row: "function", Place: "location", Counts: "self samples", Self: "self ms", Total: "total ms"},
		report.ManyTimes{Name: report.ManyStates, Title: "time by state", Row: "state", Place: "class", Counts: "samples", Self: "self ms", Total: "total ms"})
}

func manyGC() *manyReport {
	return manyProfiles(func(name string, p *report.Profiles, to *report.Many) error {
		g, err := p.GC(report.Options{})
		if err == nil {
			to.AddGC(name, g)
		}
		return err
	}, report.ManyTimes{Name: report.ManyFunctions, Title: "functions that the collector interrupted", Row: "function", Place: "location", Counts: "gc samples",
		Self: "gc ms", Total: "total ms", None: report.UnknownStack})
}

func manyForced() *manyReport {
	return manyProfiles(func(name string, p *report.Profiles, to *report.Many) error {
		to.AddForced(name, p.LayoutThrashing(report.Options{}))
		return nil
	}, report.ManyTimes{Name: report.ManyFunctions, Title: "functions that force style and layout", Row: "function", Place: "location", Counts: "count",
		Self: "style and layout ms", None: report.UnknownStack, Rest: report.ManyUnforced})
}

// manyProfiles is a report on what is known of sampled threads.
func manyProfiles(add func(name string, p *report.Profiles, to *report.Many) error, tables ...report.ManyTimes) *manyReport {
	r := &manyReport{add: func(c *cli.Context, in *reportInput, to *report.Many) error {
		p, err := report.Collect(c.Context, in.timeline, in.selected)
		if err != nil {
			return err
		}
		return add(inputName(in.name), p, to)
	}}
	for _, t := range tables {
		r.tables = append(r.tables, t.Table)
	}
	return r
}

// manyLayout is a report on phases of layout.
func manyLayout(name string, t report.ManyTable) *manyReport {
	return &manyReport{
		tables: []report.ManyTable{t}, says: func(sum *report.Many) string { return sum.LayoutSums(name) },
		sums: func(sum *report.Many) manySums { return manySums{Uncounted: &sum.UncountedSlices} },
		add: func(c *cli.Context, in *reportInput, to *report.Many) error {
			l, err := collectLayout(c, in)
			if err != nil {
				return err
			}
			mode, err := timeMode(c, l)
			if err == nil {
				to.AddLayout(inputName(in.name), l, mode)
			}
			return err
		},
	}
}

// manyCosts is a report on costs of contexts of one type.
func manyCosts() *manyReport {
	costs := report.ManyTimes{Name: "costs", Title: "costs, by self time", Row: "context", Place: "part", Counts: "slices", Self: "self ms", Total: "total ms", Rest: engine.Unattributed}
	return &manyReport{tables: []report.ManyTable{costs.Table}, add: addCosts}
}

// lackingError says why an input has nothing of what is asked for.
type lackingError struct{ error }

func addCosts(c *cli.Context, in *reportInput, to *report.Many) (err error) {
	return withCosts(c, in, 0, func(query *costQuery, all *costtables.Tables) error {
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
		to.Begin(inputName(in.name))
		for i := range tables[0].Rows {
			row := &tables[0].Rows[i]
			to.Add("costs", cmp.Or(row.Name, row.ID), row.Part, row.Slices, row.Self, row.Total)
		}
		to.EndTable(tables[0].Busy)
		return nil
	})
}

// forms are the tables of a report without rows.
func (r *manyReport) forms() []*table.Table { return r.tablesOf(new(report.Many)) }

func (r *manyReport) tablesOf(sum *report.Many) (tables []*table.Table) {
	for _, t := range r.tables {
		tables = append(tables, t(sum))
	}
	return tables
}

// manyNames returns the names of the reports about many inputs.
func manyNames() (names []string) {
	for _, r := range reports() {
		if r.many != nil {
			names = append(names, r.name)
		}
	}
	return names
}

// listed is a list of names in a sentence.
func listed(names []string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// takesMany reports whether a call is about many inputs: several are named, a folder, or a list of them.
func takesMany(c *cli.Context) bool {
	names := inputs.Expand(c.Args().Tail())
	return c.IsSet(filesFrom) || len(names) > 1 || len(names) == 1 && inputs.IsFolder(names[0])
}

// filesFrom is the flag that names inputs in a file.
const filesFrom = "files-from"

func filesFromFlag() cli.Flag {
	return &cli.StringFlag{Name: filesFrom, Usage: "read the names of further inputs from `FILE`, one a line; \"-\": standard input"}
}

// findInputs returns the files that names mean, and those of the list that a flag names.
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

// manyRun is a report about many inputs while it is made.
type manyRun struct {
	env    *environment
	kind   *reportKind
	opts   convert.Options
	filter *selection.Filter
	sum    *report.Many

	without error // why the first input without what is selected has nothing of it
	lacking int   // number of these inputs
	partial int   // number of inputs with problems that make the numbers too small
	failed  []failedInput
}

// runManyReport prints a report about many inputs.
func runManyReport(c *cli.Context, env *environment, r *reportKind, p *printing) (err error) {
	run := &manyRun{env: env, kind: r}
	if run.opts, err = inputOptions(c); err != nil {
		return err
	}
	if !r.calls {
		run.opts.JSCalls = convert.JSCallsOff
	}
	run.opts.SelfProfile.Required = false // one of them is enough
	if run.filter, err = readSelection(c); err != nil {
		return err
	}
	found, err := findInputs(c, env, c.Args().Tail(), filesFrom)
	if err != nil {
		return err
	}
	files := found.Paths()
	slices.SortFunc(files, inputs.Compare)
	run.sum = report.NewMany(run.opts.Memory/8, run.opts.TempDir)
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

// collect takes in one input after the other. Those that fail are told of, and do not stop the others.
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
	if run.sum.Recordings == 0 && run.without != nil {
		return run.without // in none of them
	}
	return nil
}

func asUsage(err error) bool {
	usage := (*usageError)(nil)
	return errors.As(err, &usage)
}

// totalSize returns the length of all files; -1 if that is not known beforehand.
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

// one takes in one input.
func (run *manyRun) one(c *cli.Context, name string, progress *progress) (err error) {
	in := &reportInput{name: name}
	if err := run.open(c.Context, in, progress); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	if in.selected, err = selectIn(c.Context, name, run.filter, in.timeline); err != nil {
		if c.Context.Err() == nil {
			run.lacks(err)
		}
		return nil
	}
	err = run.kind.many.add(c, in, run.sum)
	lacking := lackingError{}
	switch {
	case errors.As(err, &lacking):
		run.lacks(lacking.error)
		return nil
	case err != nil:
		return fmt.Errorf("%s: %w", inputName(name), err)
	}
	if slices.ContainsFunc(in.trace.Problems(), func(p trace.Problem) bool {
		return slices.Contains(run.kind.problems, p.Name) && !slices.Contains(in.said.Usual, p.Name)
	}) {
		run.partial++
	}
	in.printNotCounted(run.env, run.kind.slices)
	return nil
}

// lacks notes that an input has nothing of what is asked for.
func (run *manyRun) lacks(why error) {
	if run.without == nil {
		run.without = why
	}
	run.lacking++
}

func (run *manyRun) open(ctx context.Context, in *reportInput, progress *progress) error {
	src, err := openInput(ctx, run.env, in.name)
	if err != nil {
		return err
	}
	defer src.Close()
	opts := run.opts
	opts.Report = new(convert.Report)
	in.said = opts.Report
	in.trace, in.timeline, err = openTimeline(ctx, in.name, progress.reader(src), opts)
	return err
}

// report is the report about what was read.
func (run *manyRun) report() *table.Report {
	sums := manySums{}
	if run.kind.many.sums != nil {
		sums = run.kind.many.sums(run.sum)
	}
	return &table.Report{
		Lines: true, Sections: []table.Section{{Lines: []string{run.summary()}, Tables: run.kind.many.tablesOf(run.sum)}},
		Head: []table.Record{table.JSON(struct {
			Table      string `json:"table"`
			Recordings int    `json:"recordings"`
			Lacking    int    `json:"lacking"` // others, without what is selected
			Partial    int    `json:"partial"` // of the recordings: with problems that make the numbers too small
			Failed     int    `json:"failed"`
			manySums
		}{"summary", run.sum.Recordings, run.lacking, run.partial, len(run.failed), sums})},
	}
}

// writeFailed writes the inputs that failed as lines of JSON.
func (run *manyRun) writeFailed() error {
	for i := range run.failed {
		if err := writeJSON(run.env.stdout, &run.failed[i]); err != nil {
			return err
		}
	}
	return nil
}

// summary says what the tables are about.
func (run *manyRun) summary() string {
	line := count(run.sum.Recordings, "recording")
	if run.lacking > 0 {
		line += "; " + countText(run.lacking, "other lacks", "others lack") + " what was asked for"
	}
	if run.partial > 0 {
		line += "; " + countText(run.partial, "is incomplete", "are incomplete") + " (details: weft info --problems FILE)"
	}
	if n := len(run.failed); n > 0 {
		line += fmt.Sprintf("; %s could not be read", thousands(n))
	}
	if says := run.kind.many.says; says != nil {
		if more := says(run.sum); more != "" {
			line += "; " + more
		}
	}
	return line
}
