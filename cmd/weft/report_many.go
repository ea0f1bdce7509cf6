package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	"github.com/weft-trace/weft/trace"
)

// manyReport is a report about many inputs: the tables of one input, added up.
type manyReport struct {
	name   string
	tables []manyTable
	calls  bool     // calls made of samples count
	slices bool     // it counts slices
	lost   []string // names of problems that make the numbers too small
	add    func(c *cli.Context, in *reportInput, to *report.Many) error
	says   func(sum *report.Many) string // what the first line says besides; nil: nothing
}

// manyTable is a table of a report about many inputs.
type manyTable struct {
	name, title string
	row, place  string // titles of what a row is about; place "": there is no such column
	counts      string // title of the count
	self, total string // titles of times, if not "self ms" and "total ms"; total "-": people do not get it
	none        string // what is shown for no name; "": "(none)"
	rest        string // the row that comes last: what is in no other
	lengths     bool   // it has percentiles
	hidden      bool   // text shows it only if it is asked for

	form  func(sum *report.Many) table // the table, if it is not like the others
	lines func(sum *report.Many) []any // the same as JSON
}

func manyReports() []manyReport {
	ofSlices := func(kind report.SliceKind, title string) manyTable {
		return manyTable{name: kind.String(), title: title, row: "name", counts: "count", lengths: true, hidden: kind == report.StateSlices}
	}
	return []manyReport{
		{
			name: "samples", lost: sampleProblems, add: addSamples,
			tables: []manyTable{
				{name: report.ManyFunctions, title: "functions, by self time", row: "function", place: "location", counts: "self samples"},
				{name: report.ManyStates, title: "time by state", row: "state", place: "class", counts: "samples"},
			},
		},
		{
			name: "slices", calls: true, slices: true, lost: costProblems, add: addSlices,
			tables: []manyTable{
				ofSlices(report.Kernels, "kernels, by self time"), ofSlices(report.Copies, "copies and fills of device memory, by self time"),
				ofSlices(report.Operators, "operators, by self time"), ofSlices(report.ThreadSlices, "slices on threads, by self time"),
				ofSlices(report.AsyncSlices, "slices on tracks of their own (asynchronous; they overlap), by self time"),
				ofSlices(report.RecorderSlices, recordersTitle),
				ofSlices(report.StateSlices, "states of threads, by self time"),
			},
		},
		manyTasks(), manyInputs(),
		{
			name: "gc", lost: sampleProblems, add: addGC,
			tables: []manyTable{{name: report.ManyFunctions, title: "functions that the collector interrupted", row: "function", place: "location",
				counts: "gc samples", self: "gc ms", none: unknownStack}},
		},
		{
			name: "layout-thrashing", calls: true, slices: true, lost: sampleProblems, add: addForced,
			tables: []manyTable{{name: report.ManyFunctions, title: "functions that force style and layout", row: "function", place: "location",
				counts: "count", self: "style and layout ms", total: "-", rest: report.ManyUnforced, none: unknownStack}},
		},
		manyLayout("layout-count", manyTable{name: report.ManyLayoutCounts, form: manyLayoutCounts}),
		manyLayout("layout-time", manyTable{name: report.ManyLayoutTimes, form: manyLayoutTimes}),
		{
			name: costReport, calls: true, slices: true, lost: costProblems, add: addCosts,
			tables: []manyTable{{name: "costs", title: "costs, by self time", row: "context", place: "part", counts: "slices", rest: engine.Unattributed}},
		},
	}
}

// findManyReport returns the report of a name about many inputs; nil if it takes one input only.
func findManyReport(name string) *manyReport {
	for _, r := range manyReports() {
		if r.name == name {
			return &r
		}
	}
	return nil
}

// manyNames returns the names of the reports about many inputs.
func manyNames() (names []string) {
	for _, r := range manyReports() {
		names = append(names, r.name)
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
	opts   convert.Options
	filter *selection.Filter
	sum    *report.Many

	without error // why the first input without what is selected has nothing of it
	lacking int   // number of these inputs
	partial int   // number of inputs with problems that make the numbers too small
	failed  []failedInput
}

// runManyReport prints a report about many inputs.
func runManyReport(c *cli.Context, env *environment, r *manyReport) error {
	if err := checkManyFlags(c, r); err != nil {
		return err
	}
	shown, err := findTable(r.forms(), c.String("table"))
	if err != nil {
		return err
	}
	if r.name == "slices" && !c.IsSet("table") {
		shown = 3 // slices on threads, as for one input
	}
	run := &manyRun{env: env}
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
	order := readArrangement(c)
	if err := order.check(r.forms(), c.String("table"), c.Bool("csv"), shown); err != nil {
		return err
	}
	found, err := findInputs(c, env, c.Args().Tail(), filesFrom)
	if err != nil {
		return err
	}
	files := found.Paths()
	slices.SortFunc(files, inputs.Compare)
	run.sum = report.NewMany(run.opts.Memory/8, run.opts.TempDir)
	if err = run.collect(c, r, files); err == nil {
		err = run.sum.Finish(c.Context)
	}
	if err == nil {
		err = run.print(c, r, &order, shown)
	}
	if closed := run.sum.Close(); err == nil {
		err = closed
	}
	return err
}

// checkManyFlags refuses flags that mean something for one input only.
func checkManyFlags(c *cli.Context, r *manyReport) error {
	if r.name == costReport && c.String("type") == "" {
		return usagef("the report cost needs --type for many files: page, script, entity, frame, process, …")
	}
	if c.IsSet("bucket") {
		return usagef("--bucket: times of different recordings have nothing in common; name one file")
	}
	_, err := findTable(r.forms(), c.String("table"))
	return err
}

// collect takes in one input after the other. Those that fail are told of, and do not stop the others.
func (run *manyRun) collect(c *cli.Context, r *manyReport, files []string) error {
	progress := startFilesProgress(run.env, len(files), totalSize(files), true)
	defer progress.Stop()
	for _, name := range files {
		err := run.one(c, r, name, progress)
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
func (run *manyRun) one(c *cli.Context, r *manyReport, name string, progress *progress) (err error) {
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
	err = r.add(c, in, run.sum)
	lacking := lackingError{}
	switch {
	case errors.As(err, &lacking):
		run.lacks(lacking.error)
		return nil
	case err != nil:
		return fmt.Errorf("%s: %w", inputName(name), err)
	}
	if slices.ContainsFunc(in.trace.Problems(), func(p trace.Problem) bool {
		return slices.Contains(r.lost, p.Name) && !slices.Contains(in.said.Usual, p.Name)
	}) {
		run.partial++
	}
	in.printNotCounted(run.env, r.slices)
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

func addSamples(c *cli.Context, in *reportInput, to *report.Many) error {
	profiles, err := report.Collect(c.Context, in.timeline, in.selected)
	if err != nil {
		return err
	}
	s, err := profiles.Samples(report.Options{})
	if err != nil {
		return err
	}
	to.AddSamples(inputName(in.name), s)
	return nil
}

func addGC(c *cli.Context, in *reportInput, to *report.Many) error {
	profiles, err := report.Collect(c.Context, in.timeline, in.selected)
	if err != nil {
		return err
	}
	g, err := profiles.GC(report.Options{})
	if err != nil {
		return err
	}
	to.AddGC(inputName(in.name), g)
	return nil
}

func addForced(c *cli.Context, in *reportInput, to *report.Many) error {
	profiles, err := report.Collect(c.Context, in.timeline, in.selected)
	if err != nil {
		return err
	}
	to.AddForced(inputName(in.name), profiles.LayoutThrashing(report.Options{}))
	return nil
}

func addSlices(c *cli.Context, in *reportInput, to *report.Many) error {
	opts, err := slicesBy(c)
	if err != nil {
		return err
	}
	if in.selected != nil {
		opts.Include = in.selected.Item
	}
	return to.AddSlices(c.Context, inputName(in.name), in.timeline, opts)
}

// lackingError says why an input has nothing of what is asked for.
type lackingError struct{ error }

// addCosts takes in the costs of the contexts of one type.
func addCosts(c *cli.Context, in *reportInput, to *report.Many) (err error) {
	query, err := newCostQuery(c)
	if err != nil {
		return err
	}
	query.limit, query.selected = 0, in.selected
	rules, err := costRules(c)
	if err != nil {
		return err
	}
	in.selectCosts(&rules)
	result, err := engine.Run(c.Context, in.timeline, rules)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, result.Close()) }()
	all := costtables.Of(result)
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
}

// forms are the tables of a report without rows.
func (r *manyReport) forms() (forms []table) {
	for i := range r.tables {
		forms = append(forms, r.tables[i].table(new(report.Many)))
	}
	return forms
}

// table makes a table of the rows that were added up.
func (t *manyTable) table(sum *report.Many) table {
	if t.form != nil {
		return t.form(sum)
	}
	rows := sum.Rows(t.name)
	place := t.place
	if len(rows) > 0 && !slices.ContainsFunc(rows, func(r report.ManyRow) bool { return r.Place != "" }) {
		place = "" // people can do without
	}
	out := table{name: t.name, title: t.title, key: "self_ns", columns: []column{
		texts("name", t.row), spare(2, texts("place", place)), counts("recordings", "files"), spare(3, counts("count", t.counts)),
		times("self_ns", cmp.Or(t.self, "self ms")), spare(1, times("total_ns", strings.TrimPrefix(cmp.Or(t.total, "total ms"), "-"))), t.length(5, "p50_ns", "p50 ms"), t.length(4, "p95_ns", "p95 ms"),
		t.length(6, "p99_ns", "p99 ms"), t.length(4, "max_ns", "max ms"), portions("mean_share_ppb", "share a file"),
		portions("max_share_ppb", "largest"), texts("max_share_in", "in"),
	}}
	isRest := func(r *report.ManyRow) bool { return t.rest != "" && r.Name == t.rest }
	slices.SortStableFunc(rows, func(a, b report.ManyRow) int { return report.CompareUnknown(isRest(&a), isRest(&b)) })
	for i := range rows {
		r := &rows[i]
		name, l := nameCell(r.Name, nameWidth), report.ManyLengths{}
		if r.Name == "" {
			name.short = cmp.Or(t.none, name.short)
		}
		if r.Lengths != nil {
			l = *r.Lengths
		}
		out.rows = append(out.rows, []cell{
			name, textCell(r.Place), countCell(int64(r.Recordings)), countCell(r.Count), timeCell(r.Self),
			timeCell(r.Total), timeCell(l.P50), timeCell(l.P95), timeCell(l.P99), timeCell(l.Max), countCell(r.MeanShare), countCell(r.MaxShare),
			{text: r.MaxIn, short: elideTo(filepath.Base(r.MaxIn), nameWidth)},
		})
	}
	return out
}

// length is a column of percentiles. Rows that do not count slices leave it out, in text and JSON alike.
func (t *manyTable) length(rank uint8, name, title string) column {
	if !t.lengths {
		return column{kind: timeColumn}
	}
	return spare(rank, times(name, title))
}

// json returns the rows of the table for programs.
func (t *manyTable) json(sum *report.Many) (lines []any) {
	if t.lines != nil {
		return t.lines(sum)
	}
	rows := sum.Rows(t.name)
	for i := range rows {
		lines = append(lines, &rows[i])
	}
	return lines
}

// print writes the report in the form that was asked for. The error says whether inputs failed.
func (run *manyRun) print(c *cli.Context, r *manyReport, order *arrangement, shown int) error {
	a := &answer{summary: []string{run.summary(r.says)}}
	for i := range r.tables {
		a.tables = append(a.tables, r.tables[i].table(run.sum))
		if r.tables[i].hidden {
			a.hidden = append(a.hidden, r.tables[i].name)
		}
	}
	var err error
	switch {
	case c.Bool("json"):
		a.json = run.json(c, r)
		err = a.writeJSON(run.env.stdout)
	case c.Bool("csv"):
		run.cut(c, a, order)
		err = a.tables[shown].writePlainCSV(run.env.stdout)
	default:
		run.cut(c, a, order)
		err = a.writeText(run.env.stdout, run.env.terminal(run.env.stdout), c.String("table"))
	}
	if err == nil && len(run.failed) > 0 {
		return errReported
	}
	return err
}

// cut sorts tables, limits their rows and chooses their columns.
func (run *manyRun) cut(c *cli.Context, a *answer, order *arrangement) {
	for i := range a.tables {
		a.tables[i].limit(rowLimit(c))
	}
	order.apply(a.tables)
}

// summary says what the tables are about.
func (run *manyRun) summary(says func(*report.Many) string) string {
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
	if says != nil {
		if more := says(run.sum); more != "" {
			line += "; " + more
		}
	}
	return line
}

// json returns the lines for programs: the summary, the rows of all tables or the one that was asked for, and the inputs that failed.
func (run *manyRun) json(c *cli.Context, r *manyReport) []any {
	lines := []any{struct {
		Table      string `json:"table"`
		Recordings int    `json:"recordings"`
		Lacking    int    `json:"lacking"` // others, without what is selected
		Partial    int    `json:"partial"` // of the recordings: with problems that make the numbers too small
		Failed     int    `json:"failed"`
		manySums
	}{"summary", run.sum.Recordings, run.lacking, run.partial, len(run.failed), sumsOf(r, run.sum)}}
	for i := range r.tables {
		if only := c.String("table"); only != "" && only != r.tables[i].name {
			continue
		}
		rows := r.tables[i].json(run.sum)
		if limit := shownRows(c); limit > 0 && len(rows) > limit {
			rows = rows[:limit]
		}
		lines = append(lines, rows...)
	}
	for i := range run.failed {
		lines = append(lines, &run.failed[i])
	}
	return lines
}
