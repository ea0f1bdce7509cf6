package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	engine "github.com/weft-trace/weft/internal/attribution"
	costtables "github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/reportpage"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

// reportKind describes one kind of report.
type reportKind struct {
	name, usage, example string

	flags     []string             // the flags it has that only some reports have
	without   []string             // the flags it lacks that other reports have
	sections  []reportpage.Section // sections of its page; nil: all for a report that is only a page, otherwise no page
	oneObject bool                 // its JSON form is one object instead of one per row

	calls    bool     // it counts calls made from samples
	slices   bool     // it counts slices
	problems []string // names of problems that make its numbers too small

	forms func() []*table.Table // its tables, without rows; nil: it is only a page
	check func(c *cli.Context) error
	make  func(c *cli.Context, in *reportInput, limit int) (*table.Report, error)
	many  func(c *cli.Context, in *reportInput, limit int) (*table.Report, error) // for each of many inputs; nil: allows only one

	foldForms func() []*table.Table // the tables from many, without rows; nil: the same as forms
}

// Names of reports that other commands depend on.
const (
	costReport = "cost"
	allReport  = "all"
)

// tableFlags are the flags of reports that print tables.
var tableFlags = []string{"csv", "limit", "sort", "columns"}

// reports returns all reports, in help order.
func reports() []reportKind {
	return []reportKind{
		{
			name: "input", usage: "why a click or key press was slow: its delay and phases, and what ran meanwhile",
			example: "weft report input --kind click trace.json",
			flags:   []string{"table", "kind"}, without: []string{"name", "category", "context"}, // inputs have none of these
			sections: []reportpage.Section{reportpage.Inputs}, calls: true, slices: true, problems: costProblems,
			forms: formsOf(new(report.Inputs).Report(0, false)), check: checkKinds, make: makeInputs, many: manyInputs, foldForms: formsOf(new(report.Inputs).Many()),
		},
		{
			name: "tasks", usage: "long tasks: where, for whom, what is in them, and where to split them",
			example: "weft report tasks --thread CrRendererMain trace.json",
			flags:   []string{"table", "min"}, check: checkMin,
			sections: []reportpage.Section{reportpage.Tasks}, calls: true, slices: true, problems: costProblems,
			forms: formsOf(new(report.Tasks).Report(0, "")), make: makeTasks, many: manyTasks, foldForms: formsOf(new(report.Tasks).Many()),
		},
		{
			name: "slices", usage: "how often and how long, by name; GPU kernels, streams and training steps",
			example:  "weft report slices --by category trace.json",
			flags:    []string{"by", "table"},
			sections: []reportpage.Section{reportpage.Slices}, calls: true, slices: true, problems: costProblems,
			forms: formsOf(new(report.Slices).Report("", false)), check: checkSlicesBy, make: makeSlices, many: makeSlices,
		},
		{
			name: "spans", usage: "spans and requests by service and operation; errors, a map of services, critical path",
			example: "weft report spans --table path spans.json",
			flags:   []string{"table"}, slices: true, problems: costProblems,
			forms: formsOf(new(report.Spans).Report()), make: makeSpans, many: makeSpans,
		},
		{
			name: "samples", usage: "where each sampled thread spent its time, by state and by function",
			example: "weft report samples --bucket 500ms profile.cpuprofile",
			flags:   []string{"table", "bucket"}, oneObject: true,
			sections: []reportpage.Section{reportpage.Busy, reportpage.Code}, problems: sampleProblems,
			forms: formsOf((&report.Samples{Threads: make([]report.ThreadSamples, 1)}).Report(0)), check: checkSamples, make: makeProfiles(true, "this trace has no samples", ofSamples), many: makeProfiles(true, "this trace has no samples", ofSamples),
		},
		{
			name: "gc", usage: "which functions the garbage collector interrupted, and for how long",
			example: "weft report gc --table stacks trace.json",
			flags:   []string{"table", "bucket"}, oneObject: true,
			sections: []reportpage.Section{reportpage.GC}, problems: sampleProblems,
			forms: formsOf((&report.GC{Threads: make([]report.ThreadGC, 1)}).Report(0)), check: checkBucket, make: makeProfiles(false, "this trace has no samples of the garbage collector", ofGC), many: makeProfiles(false, "this trace has no samples of the garbage collector", ofGC),
		},
		{
			name: "layout-thrashing", usage: "which functions force the browser to compute style and layout",
			example: "weft report layout-thrashing --csv trace.json",
			flags:   []string{"table"}, oneObject: true,
			sections: []reportpage.Section{reportpage.Layout}, calls: true, slices: true, problems: sampleProblems,
			forms: formsOf((&report.LayoutThrashing{Threads: make([]report.ThreadForced, 1)}).Report()), make: makeProfiles(false, noForced, ofForced), many: makeProfiles(false, noForced, manyForced),
			foldForms: formsOf((&report.LayoutThrashing{Threads: make([]report.ThreadForced, 1)}).Many()),
		},
		{
			name: costReport, usage: "what each page, frame, script, input event or other context costs",
			example: "weft report cost --type script --by category --from 1.5s --to 2s trace.json",
			flags:   namesOf(costFlags()), oneObject: true,
			sections: []reportpage.Section{reportpage.Costs}, calls: true, slices: true, problems: costProblems,
			forms: formsOf(report.CostReport("", []*costtables.Table{{}})), check: checkCosts, make: makeCosts, many: manyCosts,
		},
		{
			name: allReport, usage: "what is wrong and what to change; with --html a page with everything, for the browser",
			example: "weft report all --html report.html trace.json",
			without: tableFlags, calls: true, slices: true, problems: costProblems,
		},
		{
			name: "layout-count", usage: "how often each phase of layout began", example: "weft report layout-count trace.json",
			flags: layoutFlags, slices: true, problems: costProblems,
			forms: formsOf(new(report.Layout).CountReport(0)), check: checkLayout, make: makeLayout(layoutCounts), many: makeLayout(layoutCounts),
		},
		{
			name: "layout-time", usage: "how long each phase of layout took", example: "weft report layout-time --mode inclusive trace.json",
			flags: append([]string{"mode"}, layoutFlags...), slices: true, problems: costProblems,
			forms: formsOf(new(report.Layout).TimeReport(0, 0)), check: checkLayout, make: makeLayout((*report.Layout).TimeReport), many: makeLayout((*report.Layout).TimeReport),
		},
		{
			name: "layout-phases", usage: "count, total, longest and mean of each phase of layout, and how phases nest",
			example: "weft report layout-phases firefox.json",
			flags:   append([]string{"table"}, layoutFlags...), without: []string{"limit"}, oneObject: true, slices: true, problems: costProblems,
			forms: formsOf(new(report.Layout).PhaseReport()), check: checkLayout, make: makeLayout(layoutPhases),
		},
		{
			name: "js-funcalls", usage: "how often each JavaScript function was called", example: "weft report js-funcalls trace.json",
			flags: []string{"mode"}, check: checkCallMode, slices: true, problems: costProblems,
			forms: formsOf(new(report.Calls).Report(0)), make: makeCalls,
		},
	}
}

// formsOf returns a function that returns the tables of a report.
func formsOf(r *table.Report) func() []*table.Table {
	return func() []*table.Table { return r.Sections[0].Tables }
}

func namesOf(flags []cli.Flag) (names []string) {
	for _, f := range flags {
		names = append(names, f.Names()[0])
	}
	return names
}

// inputFlags returns the flags of "report input" and "report tasks".
func inputFlags() []cli.Flag {
	return []cli.Flag{
		&cli.DurationFlag{Name: "min", Usage: "tasks that take `TIME` or longer, such as 16ms; frames likewise", DefaultText: "50ms"},
		&cli.StringFlag{Name: "kind", Usage: "only inputs of these `KINDS`: " + kindList() + ", or all", DefaultText: "all but move and other"},
	}
}

func kindList() string {
	var names []string
	for _, k := range report.InputKinds() {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}

func checkKinds(c *cli.Context) error {
	_, err := inputKinds(c)
	return err
}

// inputKinds reads --kind; nil if it is not set.
func inputKinds(c *cli.Context) (kinds []report.InputKind, err error) {
	if !c.IsSet("kind") {
		return nil, nil
	}
	for text := range strings.SplitSeq(c.String("kind"), ",") {
		kind := report.InputKind(strings.ToLower(strings.TrimSpace(text)))
		switch {
		case kind == "all":
			kinds = append(kinds, report.InputKinds()...)
		case slices.Contains(report.InputKinds(), kind):
			kinds = append(kinds, kind)
		default:
			return nil, unknownValue("kind", "kind of input", text, append(strings.Split(kindList(), ", "), "all")...)
		}
	}
	return kinds, nil
}

// collectInputs attributes a trace and finds its user inputs. If brief is set, it omits the work done for the inputs.
func collectInputs(c *cli.Context, in *reportInput, brief bool) (r *report.Inputs, err error) {
	opts := report.InputOptions{Brief: brief}
	if opts.Kinds, err = inputKinds(c); err != nil {
		return nil, err
	}
	if in.selected != nil {
		opts.Include, opts.Thread = in.selected.Overlaps, in.selected.Track
	}
	err = attributed(c, in, func(result *engine.Result) (err error) {
		r, err = report.CollectInputs(c.Context, in.timeline, result, opts)
		return err
	})
	return r, err
}

func makeInputs(c *cli.Context, in *reportInput, limit int) (*table.Report, error) {
	r, err := collectInputs(c, in, false)
	if err != nil {
		return nil, err
	}
	return r.Report(limit, in.selected != nil), nil
}

// collectTasks attributes a trace and finds its long tasks.
func collectTasks(c *cli.Context, in *reportInput) (r *report.Tasks, err error) {
	opts := report.TaskOptions{Min: timeline.Nanos(c.Duration("min"))}
	if in.selected != nil {
		opts.Include, opts.Thread = in.selected.Item, in.selected.Track
	}
	err = attributed(c, in, func(result *engine.Result) (err error) {
		r, err = report.CollectTasks(c.Context, in.timeline, result, opts)
		return err
	})
	return r, err
}

// checkMin rejects --min unless it is positive.
func checkMin(c *cli.Context) error {
	if c.IsSet("min") && c.Duration("min") <= 0 {
		return usagef("--min: %v is too short; write, for example, 16ms", c.Duration("min"))
	}
	return nil
}

// attributed attributes a trace and calls fn with the result.
func attributed(c *cli.Context, in *reportInput, fn func(*engine.Result) error) error {
	result, err := engine.Run(c.Context, in.timeline, engine.Rules{})
	if err != nil {
		return fmt.Errorf("%s: %w", inputName(in.name), err)
	}
	return errors.Join(fn(result), result.Close())
}

func makeTasks(c *cli.Context, in *reportInput, limit int) (*table.Report, error) {
	r, err := collectTasks(c, in)
	if err != nil {
		return nil, err
	}
	return r.Report(limit, c.String("table")), nil
}

// sliceGroupings are the fixed values of --by. Any other value names an argument.
var sliceGroupings = map[string]report.GroupSlices{
	"name": report.ByName, "category": report.ByCategory, "thread": report.ByThread, "process": report.ByProcess,
}

func checkSlicesBy(c *cli.Context) error {
	_, err := slicesBy(c, nil)
	return err
}

// slicesBy reads --by. The parameter in provides the selection; it may be nil.
func slicesBy(c *cli.Context, in *reportInput) (opts report.SliceOptions, err error) {
	if in != nil && in.selected != nil {
		opts.Include = in.selected.Item
	}
	opts.Gaps = in != nil && in.fold == nil && slices.Contains(report.GapTables(), c.String("table"))
	opts.Threads = c.IsSet("thread")
	if in != nil && in.fold != nil {
		opts.Length = func(kind report.SliceKind, group string, length timeline.Nanos) error {
			return in.fold.AddValue(kind.String(), int64(length), group)
		}
	}
	if !c.IsSet("by") {
		return opts, nil
	}
	text := c.String("by")
	if by, known := sliceGroupings[text]; known {
		opts.By = by
		return opts, nil
	}
	opts.By, opts.Argument = report.ByArgument, strings.TrimPrefix(text, "args.")
	if opts.Argument == "" {
		return opts, usagef("--by: slices are grouped by name, category, thread, process or an argument, such as data.type")
	}
	return opts, nil
}

func makeSlices(c *cli.Context, in *reportInput, _ int) (*table.Report, error) {
	opts, err := slicesBy(c, in)
	if err != nil {
		return nil, err
	}
	r, err := report.CollectSlices(c.Context, in.timeline, opts)
	if err != nil {
		return nil, err
	}
	if in.fold == nil && opts.By == report.ByArgument && len(r.Groups) > 0 && !slices.ContainsFunc(r.Groups, func(g report.SliceGroup) bool { return g.Name != "" }) {
		return nil, usagef("--by: no slice has an argument %q; slices are also grouped by name, category, thread or process", opts.Argument)
	}
	by := ""
	if c.IsSet("by") {
		by = c.String("by")
	}
	return r.Report(by, in.selected != nil), nil
}

func makeSpans(c *cli.Context, in *reportInput, _ int) (*table.Report, error) {
	opts := report.SpanOptions{Path: c.String("table") == report.PathTable}
	if in.selected != nil {
		opts.Include = in.selected.Item
	}
	if in.fold != nil {
		opts.Length = func(service, operation string, length timeline.Nanos) error {
			return in.fold.AddValue("operations", int64(length), service, operation)
		}
	}
	r, err := report.CollectSpans(c.Context, in.timeline, opts)
	if err != nil {
		return nil, err
	}
	return in.nothing(r.Report(), ""), nil
}

// sampleFlags returns the flags that only reports on samples have.
func sampleFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "table", Usage: "print only the table `NAME`", DefaultText: "all; the first with --csv"},
		&cli.DurationFlag{Name: "bucket", Usage: "print a table with time buckets of `TIME`, such as 500ms", DefaultText: "none"},
	}
}

func checkSamples(c *cli.Context) error {
	if slices.Contains(report.TreeTables()[:2], c.String("table")) && !c.IsSet("name") {
		return usagef("--table %s: name the function with --name", c.String("table"))
	}
	return checkBucket(c)
}

func checkBucket(c *cli.Context) error {
	if bucket := c.Duration("bucket"); c.IsSet("bucket") && bucket <= 0 {
		return usagef("--bucket: %v is too short; write, for example, 500ms", bucket)
	}
	return nil
}

// makeProfiles returns the function that makes a report on sampled threads. If shown is set, the report includes the URLs
// that threads work for.
func makeProfiles(shown bool, nothing string, of func(*report.Profiles, report.Options) (*table.Report, error)) func(*cli.Context, *reportInput, int) (*table.Report, error) {
	return func(c *cli.Context, in *reportInput, limit int) (*table.Report, error) {
		p, err := report.Collect(c.Context, in.timeline, in.selected)
		if err == nil && shown && in.fold == nil {
			err = attributed(c, in, func(result *engine.Result) error { return p.FindShown(result) })
		}
		if err != nil {
			return nil, err
		}
		opts := report.Options{Bucket: timeline.Nanos(c.Duration("bucket")), Top: limit}
		if shown && slices.Contains(report.TreeTables(), c.String("table")) {
			opts.Tree = &report.TreeView{Table: c.String("table"), Function: in.selected.Named}
		}
		r, err := of(p, opts)
		switch {
		case errors.Is(err, report.ErrTooManyBuckets):
			return nil, usagef("--bucket: %v", err)
		case err != nil:
			return nil, err
		}
		r.Notes = append(r.Notes, p.Notes()...)
		return in.nothing(r, nothing), nil
	}
}

func ofSamples(p *report.Profiles, opts report.Options) (*table.Report, error) {
	s, err := p.Samples(opts)
	if err != nil {
		return nil, err
	}
	return s.Report(p.Start), nil
}

func ofGC(p *report.Profiles, opts report.Options) (*table.Report, error) {
	g, err := p.GC(opts)
	if err != nil {
		return nil, err
	}
	return g.Report(p.Start), nil
}

func ofForced(p *report.Profiles, opts report.Options) (*table.Report, error) {
	return p.LayoutThrashing(opts).Report(), nil
}

func manyForced(p *report.Profiles, opts report.Options) (*table.Report, error) {
	return p.LayoutThrashing(opts).Many(), nil
}

// noForced explains the absence of style and layout data.
const noForced = "this trace has no style or layout data; record a Chrome trace with the category devtools.timeline,\n" +
	"a Firefox profile with samples, or a self-profile with markers"

// layoutFlags are the flags common to all reports on layout phases.
var layoutFlags = []string{"phases", "paint"}

// eventFlags returns the flags of reports with fixed text.
func eventFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "phases", Usage: "layout: read the phases of slices from `FILE`, in lines of phase, tab, slice name",
			DefaultText: "phases of Chrome and Firefox"},
		&cli.StringFlag{Name: "paint", Usage: "layout: also count `NAMES` as paint: " + strings.Join(report.PaintOptions(), ",")},
		&cli.StringFlag{Name: "mode", Usage: "layout-time: add up nested slices `HOW`: dtrace (as layout_time.d), exclusive or inclusive. " +
			"js-funcalls: count calls in samples (sampled: lower bounds) even if the trace has exact calls", DefaultText: "dtrace for probes, otherwise exclusive"},
	}
}

func checkLayout(c *cli.Context) error {
	if c.IsSet("phases") && c.IsSet("paint") {
		return usagef("--paint and --phases cannot be combined: --phases replaces the phases that --paint adds to")
	}
	return nil
}

// maxSmallFile bounds files written by hand, such as the --phases file.
const maxSmallFile = 1 << 20

// readSmall reads a file up to maxSmallFile; a longer file is an error.
func readSmall(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxSmallFile+1))
	switch {
	case err != nil:
		return nil, withoutPath(err)
	case len(text) > maxSmallFile:
		return nil, fmt.Errorf("longer than %d bytes", maxSmallFile)
	}
	return text, nil
}

// readPhases reads the --phases file, which maps slice names to phases.
func readPhases(path string) (map[string]string, error) {
	text, err := readSmall(path)
	if err != nil {
		return nil, fmt.Errorf("--phases: %s: %w", path, err)
	}
	phases := map[string]string{}
	for i, line := range strings.Split(string(bytes.TrimPrefix(text, []byte("\ufeff"))), "\n") {
		line = strings.TrimSuffix(line, "\r")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		phase, name, ok := strings.Cut(line, "\t")
		if !ok || phase == "" || name == "" {
			return nil, fmt.Errorf("--phases: %s:%d: %q is not a phase, a tab and a slice name", path, i+1, line)
		}
		if before, twice := phases[name]; twice && before != phase {
			return nil, fmt.Errorf("--phases: %s:%d: %q is assigned to both %s and %s", path, i+1, name, before, phase)
		}
		phases[name] = phase
	}
	return phases, nil
}

// layoutOptions reads --phases and --paint.
func layoutOptions(c *cli.Context) (opts report.LayoutOptions, err error) {
	if c.IsSet("phases") {
		opts.Phases, err = readPhases(c.String("phases"))
		return opts, err
	}
	if c.IsSet("paint") {
		opts.Paint = strings.Split(c.String("paint"), ",")
	}
	for _, name := range opts.Paint {
		if !slices.Contains(report.PaintOptions(), name) {
			return opts, usagef("--paint: unknown event %q; use %s", name, strings.Join(report.PaintOptions(), ", "))
		}
	}
	return opts, nil
}

// collectLayout counts the layout phases in a trace.
func collectLayout(c *cli.Context, in *reportInput) (*report.Layout, error) {
	opts, err := layoutOptions(c)
	if err != nil {
		return nil, err
	}
	opts.Selected = in.selected
	return report.CollectLayout(c.Context, in.timeline, opts)
}

// timeMode reads --mode; the default depends on the trace.
func timeMode(c *cli.Context, l *report.Layout) (report.TimeMode, error) {
	if !c.IsSet("mode") {
		return l.DefaultMode(), nil
	}
	mode := slices.Index(report.TimeModes[:], c.String("mode"))
	if mode < 0 {
		return 0, unknownValue("mode", "way", c.String("mode"), report.TimeModes[:]...)
	}
	return report.TimeMode(mode), nil
}

// lastRows returns the row limit for a report with fixed text, whose last rows are the largest. The default is all rows.
func lastRows(c *cli.Context, limit int) int {
	if c.IsSet("limit") {
		return limit
	}
	return 0
}

// makeLayout returns the function that makes a report on layout phases.
func makeLayout(of func(l *report.Layout, mode report.TimeMode, limit int) *table.Report) func(*cli.Context, *reportInput, int) (*table.Report, error) {
	return func(c *cli.Context, in *reportInput, limit int) (*table.Report, error) {
		l, err := collectLayout(c, in)
		if err != nil {
			return nil, err
		}
		mode, err := timeMode(c, l)
		if err != nil {
			return nil, err
		}
		return in.nothing(of(l, mode, lastRows(c, limit)), ""), nil
	}
}

func layoutCounts(l *report.Layout, _ report.TimeMode, limit int) *table.Report {
	return l.CountReport(limit)
}
func layoutPhases(l *report.Layout, _ report.TimeMode, _ int) *table.Report { return l.PhaseReport() }

// checkCallMode rejects unknown values of --mode.
func checkCallMode(c *cli.Context) error {
	if mode := c.String("mode"); c.IsSet("mode") && mode != sampledMode {
		return unknownValue("mode", "way", mode, sampledMode)
	}
	return nil
}

// sampledMode is the --mode value that counts calls in samples.
const sampledMode = "sampled"

func makeCalls(c *cli.Context, in *reportInput, limit int) (*table.Report, error) {
	calls, err := report.CountCalls(c.Context, in.timeline, report.CallOptions{Sampled: c.IsSet("mode"), Selected: in.selected})
	if err != nil {
		return nil, err
	}
	return in.nothing(calls.Report(lastRows(c, limit)), ""), nil
}
