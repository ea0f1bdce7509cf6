package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/reportpage"
	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/words"
	"github.com/weft-trace/weft/trace"
)

const defaultTop = 20

// Help titles for flags that only some reports have.
const (
	sampleFlagsTitle = "Flags of samples, gc and layout-thrashing"
	eventFlagsTitle  = "Flags of layout-count, layout-time, layout-phases and js-funcalls"
	costFlagsTitle   = "Flags of cost"
	inputFlagsTitle  = "Flags of input and tasks"
)

// arrangingFlags returns the flags of commands that print tables.
func arrangingFlags(rows, sorted string) []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "csv", Usage: "print comma-separated values, with times in nanoseconds", DisableDefaultText: true},
		&cli.IntFlag{Name: "limit", Value: defaultTop, Usage: "print at most `N` rows" + rows + "; 0: all", DefaultText: "20; all with --json and --csv"},
		&cli.StringFlag{Name: "sort", Usage: "sort tables by `COLUMN`, largest first; -COLUMN: smallest first", DefaultText: sorted},
		&cli.StringFlag{Name: "columns", Usage: "print only the columns `COLUMN,COLUMN…`, in this order", DefaultText: "all"},
	}
}

// reportFlags returns the flags of all reports.
func reportFlags() []cli.Flag {
	return slices.Concat([]cli.Flag{jsonFlag("print JSON, one object per line")}, arrangingFlags(" of a table", "as each report says"),
		[]cli.Flag{filesFromFlag(), formatFlag(), memoryFlag()})
}

// ownReportFlags returns the flags that only some reports have.
func ownReportFlags() []cli.Flag {
	return slices.Concat(titled(sampleFlagsTitle, sampleFlags()), titled(eventFlagsTitle, eventFlags()), titled(costFlagsTitle, costFlags()),
		titled(inputFlagsTitle, inputFlags()))
}

// titled puts flags under a title in the help.
func titled(title string, flags []cli.Flag) []cli.Flag {
	for _, f := range flags {
		switch f := f.(type) {
		case *cli.StringFlag:
			f.Category = title
		case *cli.StringSliceFlag:
			f.Category = title
		case *cli.DurationFlag:
			f.Category = title
		case *cli.BoolFlag:
			f.Category = title
		case *cli.IntFlag:
			f.Category = title
		}
	}
	return flags
}

func reportCommand(env *environment) *cli.Command {
	var names strings.Builder
	for _, r := range reports() {
		fmt.Fprintf(&names, "   %-18s%s\n      %s\n", r.name, r.usage, r.example)
	}
	return &cli.Command{
		Name:      "report",
		Usage:     "show where the time of a trace went, and what it was spent on",
		UsageText: "weft report [flags] NAME FILE\nweft report [flags] " + strings.Join(manyNames(), "|") + " FILE|FOLDER…",
		Description: `Prints tables about a trace in any format. NAME is one of:

` + names.String() + `
"weft report NAME --help" lists the flags of one report.

samples, gc and layout-thrashing count samples. They show the number of samples
next to each time: at one sample every 10 ms, one sample means 10 ± 10 ms. The
other reports count slices; js-funcalls counts samples if the trace has no call
events. docs/reports.md and docs/attribution.md define the numbers.

With --html a report is a page to read in a browser and to send around; "all" is
the page of the whole trace.

All reports but layout-phases and js-funcalls take many files and folders (cost
with --type), and print the same tables for all of them. "-" is standard input.`,
		Flags: slices.Concat(reportFlags(), ownReportFlags(), pageFlags(), selectionFlags(),
			titled("Flags for inputs with profiles", profileFlags())),
		Action: withJSONErrors(env, 1, func(c *cli.Context) error {
			r, err := findReport(c)
			if err != nil {
				return err
			}
			if err := r.checkFlags(c); err != nil {
				return err
			}
			if wantsPage(c) {
				return runPageReport(c, env, r)
			}
			forms := r.forms
			if takesMany(c) {
				forms = func() []*table.Table { return table.NewFold(r.formsOfEach(), 0, "").Tables() }
			}
			p, err := newPrinting(c, forms())
			if err != nil {
				return err
			}
			if takesMany(c) {
				return runManyReport(c, env, r, p)
			}
			return runReport(c, env, r, p)
		}),
	}
}

// findReport returns the requested report. All errors are usageErrors.
func findReport(c *cli.Context) (*reportKind, error) {
	var names []string
	for _, r := range reports() {
		if names = append(names, r.name); r.name != c.Args().First() {
			continue
		}
		switch {
		case c.NArg() == 1 && !c.IsSet(filesFrom):
			return nil, usagef("no file; name one, or use \"-\" for standard input")
		case takesMany(c) && r.many == nil:
			return nil, usagef("the report %s takes one file; %s take many", r.name, listed(manyNames()))
		}
		return &r, nil
	}
	if c.NArg() == 0 {
		return nil, usagef("no report; use %s", words.List(names))
	}
	if c.Args().First() == "compare" {
		return nil, usagef("compare is a command of its own: weft compare BASE NEW")
	}
	return nil, &usageError{Message: words.Unknown("report", c.Args().First(), names).Error()}
}

// hasFlag reports whether a set of flags contains a name.
func hasFlag(flags []cli.Flag, name string) bool {
	return slices.ContainsFunc(flags, func(f cli.Flag) bool { return f.Names()[0] == name })
}

// takes reports whether a report accepts a flag of the command.
func (r *reportKind) takes(flag string) bool {
	switch {
	case flag == "js-calls":
		return r.calls
	case flag == filesFrom:
		return r.many != nil
	case hasFlag(pageFlags(), flag):
		return r.sections != nil || r.forms == nil
	case hasFlag(ownReportFlags(), flag):
		return slices.Contains(r.flags, flag)
	}
	return !slices.Contains(r.without, flag)
}

// checkFlags rejects flags that the report does not have, and flags that exclude each other.
func (r *reportKind) checkFlags(c *cli.Context) error {
	for _, f := range c.Command.Flags {
		if name := f.Names()[0]; c.IsSet(name) && !r.takes(name) {
			var owners []string
			for _, other := range reports() {
				if other.takes(name) {
					owners = append(owners, other.name)
				}
			}
			return usagef("--%s: the report %s does not have this flag; %s", name, r.name, haveIt(owners))
		}
	}
	if err := checkPageFlags(c, namesOf(ownReportFlags())); err != nil || c.IsSet("html") && !takesMany(c) {
		return err
	}
	switch {
	case c.IsSet("html"):
		return usagef("--html takes one file; without it, %s take many", listed(manyNames()))
	case r.forms == nil:
		return nil
	case r.hides(c.String("table")) && takesMany(c):
		return usagef("--table %s takes one file; weft merge puts several recordings on one timeline", c.String("table"))
	case c.Bool("json") && c.IsSet("table") && r.oneObject && !r.hides(c.String("table")):
		return usagef("--table and --json cannot be combined; the JSON form has all tables")
	case r.many != nil && takesMany(c) && c.IsSet("bucket"):
		return usagef("--bucket: times of different recordings have nothing in common; name one file")
	case r.check != nil:
		return r.check(c)
	}
	return nil
}

// hides reports whether a table of the report is printed only on request.
func (r *reportKind) hides(name string) bool {
	return r.forms != nil && slices.ContainsFunc(r.forms(), func(t *table.Table) bool { return t.Hidden && t.Name == name })
}

func haveIt(owners []string) string {
	if len(owners) == 1 {
		return owners[0] + " has it"
	}
	return listed(owners) + " have it"
}

// printing controls the output of tables.
type printing struct {
	order table.Order
	only  string       // the requested table; "": all
	shown *table.Table // the table to print as CSV, without rows
}

// newPrinting reads --table and the flags that arrange tables; forms are the tables without rows.
func newPrinting(c *cli.Context, forms []*table.Table) (p *printing, err error) {
	p = &printing{order: table.Order{Sort: c.String("sort"), Rows: shownRows(c)}, only: c.String("table")}
	if c.IsSet("columns") {
		for name := range strings.SplitSeq(c.String("columns"), ",") {
			p.order.Columns = append(p.order.Columns, strings.TrimSpace(name))
		}
	}
	switch {
	case c.Int("limit") < 0:
		return nil, usagef("--limit: %d is negative", c.Int("limit"))
	case c.Bool("json") && c.Bool("csv"):
		return nil, usagef("--json and --csv cannot be combined")
	case c.Bool("json") && p.order.IsSet():
		return nil, usagef("--sort and --columns are for text and --csv; sort JSON and select from it with jq")
	}
	if p.shown, err = table.Lookup(forms, p.only); err != nil {
		return nil, usagef("--table: %v", err)
	}
	only := p.only
	if c.Bool("csv") {
		only = p.shown.Name
	}
	if err := p.order.Check(forms, only); err != nil {
		return nil, &usageError{Message: err.Error()}
	}
	return p, nil
}

// print prints a report about an input in the requested form.
func (p *printing) print(c *cli.Context, env *environment, name string, r *table.Report) error {
	forPeople := !c.Bool("json") && !c.Bool("csv")
	for _, note := range r.Notes {
		printNote(env, name, note)
	}
	if !forPeople || r.Fixed {
		printNote(env, name, r.Nothing)
	}
	if forPeople {
		r.LastRows()
	}
	r.Apply(&p.order)
	switch {
	case c.Bool("json"):
		if p.shown.Hidden && !r.Lines { // hidden tables are not part of the report's object
			r.Head, r.Lines = nil, true
		}
		return r.WriteJSON(env.stdout, p.only)
	case c.Bool("csv"):
		p.order.Apply(p.shown)
		return r.WriteCSV(env.stdout, p.shown)
	case r.Fixed && !p.order.IsSet() && p.only == "":
		_, err := io.WriteString(env.stdout, r.Text)
		return err
	case r.Fixed:
		r.Nothing, p.only = "", p.shown.Name
	}
	if shownRows(c) > 0 && !c.IsSet("thread") {
		r.JoinQuiet(func(n int, names string) string {
			return fmt.Sprintf("%s never seen at work: %s; --limit 0 shows all", table.Plural(n, "thread was", "threads were"), names)
		})
	}
	return r.WriteText(env.stdout, env.terminal(env.stdout), p.only)
}

// printNote prints a note that is not part of the output; "": none.
func printNote(env *environment, name, note string) {
	if note != "" {
		fmt.Fprintf(env.stderr, "%s: %s\n", printable(inputName(name)), note)
	}
}

// runReport prints a report about one input.
func runReport(c *cli.Context, env *environment, r *reportKind, p *printing) error {
	opts, err := inputOptions(c)
	if err != nil {
		return err
	}
	if !r.calls {
		opts.JSCalls = convert.JSCallsOff // most of the work, and not needed here
	}
	in, err := openReportInput(c, env, opts)
	if err != nil {
		return err
	}
	result, err := r.make(c, in, rowLimit(c))
	in.printProblems(env, r.problems) // including the attribution's
	in.printNotCounted(env, r.slices)
	if err = errors.Join(err, in.Close()); err != nil {
		return err
	}
	return p.print(c, env, in.name, result)
}

// rowLimit returns the maximum number of rows to collect for a table; 0: no limit. With --sort, all rows are needed, and
// table.Order cuts them afterwards.
func rowLimit(c *cli.Context) int {
	if c.IsSet("sort") {
		return 0
	}
	return shownRows(c)
}

// shownRows returns the maximum number of rows to print of a table; 0: all, which is the default for JSON and CSV.
func shownRows(c *cli.Context) int {
	if !c.IsSet("limit") && (c.Bool("json") || c.Bool("csv")) {
		return 0
	}
	return c.Int("limit")
}

// reportInput is the trace of a report and the selected part of it. It must be closed.
type reportInput struct {
	name     string
	trace    *trace.Trace
	timeline *timeline.Timeline
	selected *selection.Selection // nil: the whole trace
	report   *convert.Report      // the report from reading it
	fold     *table.Fold          // for a report on many inputs; nil: a single input
}

// openReportInput reads the trace that the command's second argument names, and resolves the selection.
func openReportInput(c *cli.Context, env *environment, opts convert.Options) (*reportInput, error) {
	filter, err := readSelection(c)
	if err != nil {
		return nil, err
	}
	in, err := openTrace(c, env, c.Args().Get(1), opts)
	if err != nil {
		return nil, err
	}
	if in.selected, err = selectIn(c.Context, in.name, filter, in.timeline); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return in, nil
}

// openTrace reads the trace of an input.
func openTrace(c *cli.Context, env *environment, name string, opts convert.Options) (*reportInput, error) {
	src, err := openInput(c.Context, env, name)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	progress := startProgress(env, inputName(name), src.size, true)
	defer progress.Stop()
	return readTrace(c.Context, name, progress.reader(src), opts)
}

// readTrace reads the trace of an open input.
func readTrace(ctx context.Context, name string, src io.Reader, opts convert.Options) (in *reportInput, err error) {
	if opts.Report == nil {
		opts.Report = new(convert.Report)
	}
	in = &reportInput{name: name, report: opts.Report}
	if in.trace, in.timeline, err = openTimeline(ctx, name, src, opts); err != nil {
		return nil, err
	}
	return in, nil
}

// nothing completes an empty report with an explanation: the trace or the selected part has no data.
func (in *reportInput) nothing(r *table.Report, ofTrace string) *table.Report {
	if len(r.Sections) == 0 {
		r.Nothing = ofTrace
	}
	if r.Nothing != "" && in.selected != nil {
		r.Nothing = "the selected part of the trace has nothing for this report"
	}
	return r
}

// Close frees the trace.
func (in *reportInput) Close() error { return in.trace.Close() }

// printProblems prints the problems with the given names, which affect the report's numbers, unless they are usual for the
// format.
func (in *reportInput) printProblems(env *environment, names []string) {
	for _, p := range in.trace.Problems() {
		if slices.Contains(names, p.Name) && !slices.Contains(in.report.Usual, p.Name) {
			fmt.Fprintf(env.stderr, "%s: %s\n", printable(inputName(in.name)), printable(problemLine(&p)))
		}
	}
}

// printNotCounted prints which samples, and slices if the report counts them, are left out because another input of the merge
// recorded the same threads.
func (in *reportInput) printNotCounted(env *environment, slices bool) {
	for _, r := range in.timeline.NotCounted() {
		if slices || r.Samples > 0 {
			printNote(env, in.name, printable(reportpage.NotCounted(&r)))
		}
	}
}

// Problems that make the numbers of reports too small, so that users should know about them. Others, such as flows without
// their other end, do not affect reports.
var (
	inputProblems = problemNames(
		problem.ContainerDamaged, problem.JSONUnterminated, problem.JSONPartialEvent, problem.JSONMalformedEvent, problem.JSONTrailingData,
		problem.ProducerDataLoss, problem.EventInvalidTimestamp, problem.EventNegativeTimestamp,
		problem.FirefoxValueInvalid, problem.FirefoxIndexInvalid, problem.FirefoxColumnShort,
		problem.PacketTruncated, problem.PacketMalformed, problem.PacketInvalidState, problem.PacketUnresolvedClock,
	)
	// sampleProblems are the problems that affect reports on samples.
	sampleProblems = slices.Concat(inputProblems, problemNames(
		problem.StackFrameUnknown, problem.StackLimit,
		problem.ProfileMalformed, problem.ProfileLimit, problem.ProfileWithoutNodes, problem.ProfileLengthMismatch, problem.ProfileTimesMissing,
		problem.ProfileNodeUnknownParent, problem.ProfileSampleUnknownNode,
		problem.BadStack, problem.SelfProfileListMissing, problem.SelfProfileFrameInvalid,
	))
	// costProblems are the problems that affect costs, which are computed from slices.
	costProblems = slices.Concat(inputProblems, problemNames(
		problem.JSONNotAnEvent, problem.EventMissingPhase, problem.EventInvalidDuration,
		problem.EndWithoutBegin, problem.CompleteWithoutDuration, problem.SliceNegativeDuration,
		problem.AsyncMissingID, problem.AsyncMissingPid, problem.PacketMissingTimestamp,
		problem.ContextWithoutID, problem.ContextBadID, problem.ContextLimit, problem.CostLimit,
	))
)

func problemNames(kinds ...problem.Kind) (names []string) {
	for _, k := range kinds {
		names = append(names, k.String())
	}
	return names
}
