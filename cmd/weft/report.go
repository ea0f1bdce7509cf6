package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/reportpage"
	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/internal/suggest"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/trace"
)

// reports are the tables that the report command makes of samples.
var reports = []struct {
	name    string
	usage   string
	example string
	nothing string  // why there may be no thread in it
	slices  bool    // it counts slices too
	shown   bool    // threads are called by what they show
	forms   []table // without rows
	make    func(p *report.Profiles, opts report.Options) (reportResult, error)
}{
	{
		name: "samples", usage: "where each sampled thread spent its time, by state and by function",
		example: "weft report samples --bucket 500ms profile.cpuprofile",
		nothing: "this trace has no samples",
		shown:   true,
		forms:   samplesTables(&report.ThreadSamples{}, 0), make: samplesReport,
	},
	{
		name: "gc", usage: "which functions the garbage collector interrupted, and for how long",
		example: "weft report gc --table stacks trace.json",
		nothing: "this trace has no samples of the garbage collector",
		forms:   gcTables(&report.ThreadGC{}, 0), make: gcReport,
	},
	{
		name: "layout-thrashing", usage: "which functions force the browser to compute style and layout",
		example: "weft report layout-thrashing --csv trace.json",
		nothing: "this trace has no style or layout data; record a Chrome trace with the category devtools.timeline,\n" +
			"a Firefox profile with samples, or a self-profile with markers",
		slices: true, forms: layoutTables(&report.ThreadForced{}), make: layoutReport,
	},
}

// reportResult is a report: as JSON, and as tables for each thread.
type reportResult struct {
	json    any
	threads []threadTables
}

// threadTables are the tables about one thread.
type threadTables struct {
	report.ThreadID
	source  string
	shows   string // the url of the page or worker that it runs; "": not known
	idle    bool   // people see only its name
	folded  string // stands for several threads, without tables
	summary []string
	tables  []table
}

const defaultTop = 20

// costReport is the report that goes its own way: it counts in what contexts cost, not in samples.
const (
	costReport  = "cost"
	costUsage   = "what each page, frame, script, input event or other context costs"
	costExample = "weft report cost --type script --by category --from 1.5s --to 2s trace.json"
)

// Titles under which the help lists flags that not all reports have.
const (
	sampleFlagsTitle = "Flags of samples, gc and layout-thrashing"
	eventFlagsTitle  = "Flags of layout-count, layout-time, layout-phases and js-funcalls"
	costFlagsTitle   = "Flags of cost"
	inputFlagsTitle  = "Flags of input"
)

// reportFlags are the flags of all reports.
func reportFlags() []cli.Flag {
	return []cli.Flag{
		jsonFlag("print JSON, one object per line"),
		&cli.BoolFlag{Name: "csv", Usage: "print comma-separated values, with times in nanoseconds", DisableDefaultText: true},
		&cli.IntFlag{Name: "limit", Value: defaultTop, Usage: "print at most `N` rows of a table; 0: all", DefaultText: "20; all with --json and --csv"},
		&cli.StringFlag{Name: "sort", Usage: "sort tables by `COLUMN`, largest first; -COLUMN: smallest first", DefaultText: "as each report says"},
		&cli.StringFlag{Name: "columns", Usage: "print only the columns `COLUMN,COLUMN…`, in this order", DefaultText: "all"},
		filesFromFlag(), formatFlag(), memoryFlag(), tempFlag(),
	}
}

// sampleFlags are the flags of the reports on samples only.
func sampleFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "table", Usage: "print only the table `NAME`", DefaultText: "all; the first with --csv"},
		&cli.DurationFlag{Name: "bucket", Usage: "print a table with time buckets of `TIME`, such as 500ms", DefaultText: "none"},
	}
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
	describe := func(name, usage, example string) { fmt.Fprintf(&names, "   %-18s%s\n      %s\n", name, usage, example) }
	for _, r := range allReports() {
		describe(r.name, r.usage, r.example)
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
the page of the whole trace. "weft report compare" is weft compare, with such a page
of what became slower or faster.

All reports but layout-phases and js-funcalls take many files and folders (cost
with --type), and print the same tables for all of them. "-" is standard input.`,
		Flags: slices.Concat(reportFlags(), titled(sampleFlagsTitle, sampleFlags()), titled(eventFlagsTitle, eventFlags()),
			titled(costFlagsTitle, costFlags()), titled(inputFlagsTitle, inputFlags()), pageFlags(), selectionFlags(),
			titled("Flags for inputs with profiles", slices.Concat(profileFlags(), selfProfileFlags()))),
		Action: withJSONErrors(env, 1, func(c *cli.Context) error {
			which, err := whichReport(c)
			if err != nil {
				return err
			}
			if wantsPage(c) {
				return runPageReport(c, env)
			}
			if takesMany(c) {
				return runManyReport(c, env, findManyReport(c.Args().First()))
			}
			events, answers := eventReports(), answerReports()
			switch i := which - len(reports); {
			case i < 0:
				return runReport(c, env, which)
			case i < len(events):
				return runEventReport(c, env, &events[i])
			case i < len(events)+len(answers):
				return runAnswerReport(c, env, &answers[i-len(events)])
			}
			return runCostReport(c, env)
		}),
	}
}

// runReport prints one of the reports on samples.
func runReport(c *cli.Context, env *environment, which int) error {
	r := &reports[which]
	shown, err := findTable(r.forms, c.String("table"))
	if err != nil {
		return err
	}
	opts, err := inputOptions(c)
	if err != nil {
		return err
	}
	if !r.slices {
		opts.JSCalls = convert.JSCallsOff // most of the work, and of no use
	}
	in, err := openReportInput(c, env, opts)
	if err != nil {
		return err
	}
	in.printProblems(env, sampleProblems)
	in.printNotCounted(env, r.slices)
	profiles, err := report.Collect(c.Context, in.timeline, in.selected)
	if err == nil && r.shown {
		err = attributed(c, in, func(result *attribution.Result) error { return profiles.FindShown(result) })
	}
	if err = errors.Join(err, in.Close()); err != nil {
		return err
	}
	result, err := r.make(profiles, report.Options{Bucket: timeline.Nanos(c.Duration("bucket")), Top: rowLimit(c)})
	if errors.Is(err, report.ErrTooManyBuckets) {
		return usagef("--bucket: %v", err)
	}
	if err != nil {
		return err
	}
	order := readArrangement(c)
	if err := order.check(r.forms, c.String("table"), c.Bool("csv"), shown); err != nil {
		return err
	}
	for i := range result.threads {
		order.apply(result.threads[i].tables)
	}
	forms := order.columnsOf(r.forms)
	switch {
	case c.Bool("json"):
		return writeJSON(env.stdout, result.json)
	case c.Bool("csv"):
		return writeCSV(env.stdout, result.threads, &forms[shown], shown)
	}
	if shownRows(c) > 0 && !c.IsSet("thread") {
		result.threads = foldIdle(result.threads)
	}
	return writeReport(env.stdout, env.terminal(env.stdout), result.threads, c.String("table"), in.nothing(r.nothing))
}

// foldIdle leaves of idle threads only the names, in one entry at the end, unless all are idle.
func foldIdle(threads []threadTables) []threadTables {
	busy := slices.DeleteFunc(slices.Clone(threads), func(t threadTables) bool { return t.idle })
	if len(busy) == 0 || len(busy) == len(threads) {
		return threads
	}
	names := map[string]int{}
	for i := range threads {
		if threads[i].idle {
			names[elideTo(threads[i].Thread, maxName)]++
		}
	}
	var words []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if n := names[name]; n > 1 {
			name = fmt.Sprintf("%s ×%s", name, thousands(n))
		}
		words = append(words, name)
	}
	const most = 12
	if more := len(words) - most; more > 0 {
		words = append(words[:most], thousands(more)+" more")
	}
	idle := threadTables{folded: fmt.Sprintf("%s never seen at work: %s; --limit 0 shows all", countText(int64(len(threads)-len(busy)), "thread was", "threads were"),
		strings.Join(words, ", "))}
	return append(busy, idle)
}

// rowLimit returns the number of rows that a table may have: programs get all, unless they ask for less. 0: no limit.
// Tables that are sorted otherwise have all rows up to then, and arrangement.apply cuts them.
func rowLimit(c *cli.Context) int {
	if c.IsSet("sort") {
		return 0
	}
	return shownRows(c)
}

// shownRows returns the number of rows that are shown of a table. 0: all.
func shownRows(c *cli.Context) int {
	if !c.IsSet("limit") && (c.Bool("json") || c.Bool("csv")) {
		return 0
	}
	return c.Int("limit")
}

// whichReport returns the index of the report that is asked for, among those on samples, those on slices, those of a whole trace, and that
// of costs. The error is one of the command line.
func whichReport(c *cli.Context) (int, error) {
	var names []string
	for _, r := range reports {
		names = append(names, r.name)
	}
	events := eventReports()
	for _, r := range events {
		names = append(names, r.name)
	}
	answers := answerReports()
	for _, r := range answers {
		names = append(names, r.name)
	}
	names = append(names, costReport, allReport)
	which := slices.Index(names, c.Args().First())
	switch {
	case c.NArg() == 0:
		return 0, usagef("no report; use %s", suggest.List(names))
	case which < 0:
		return 0, &usageError{suggest.Unknown("report", c.Args().First(), names).Error()}
	case c.NArg() == 1 && !c.IsSet(filesFrom):
		return 0, usagef("no file; name one, or use \"-\" for standard input")
	case c.IsSet("html") || c.IsSet("keep-urls") || c.IsSet("force") || names[which] == allReport:
		return which, checkPageFlags(c)
	case takesMany(c) && findManyReport(names[which]) == nil:
		return 0, usagef("the report %s takes one file; %s take many", names[which], listed(manyNames()))
	case c.Int("limit") < 0:
		return 0, usagef("--limit: %d is negative", c.Int("limit"))
	case c.Bool("json") && c.Bool("csv"):
		return 0, usagef("--json and --csv cannot be combined")
	case c.Bool("json") && (c.IsSet("sort") || c.IsSet("columns")):
		return 0, usagef("--sort and --columns are for text and --csv; sort JSON and select from it with jq")
	case names[which] == costReport:
		return which, checkCostFlags(c)
	case which >= len(reports)+len(events):
		return which, checkAnswerFlags(c, &answers[which-len(reports)-len(events)])
	case which >= len(reports):
		return which, checkEventFlags(c, &events[which-len(reports)])
	}
	return which, checkSampleFlags(c, which)
}

// checkCostFlags refuses flags that the report cost does not have.
func checkCostFlags(c *cli.Context) error {
	switch {
	case c.IsSet("bucket"):
		return usagef("--bucket: the report cost has no buckets; select a part of the time with --from and --to")
	case c.IsSet("table"):
		return usagef("--table: the report cost has one table per context type; select one with --type")
	}
	return refuseEventFlags(c, costReport)
}

// checkSampleFlags refuses flags that a report on samples does not have.
func checkSampleFlags(c *cli.Context, which int) error {
	r := &reports[which]
	if err := refuseEventFlags(c, r.name); err != nil {
		return err
	}
	for _, f := range costFlags() {
		name := f.Names()[0]
		if !c.IsSet(name) {
			continue
		}
		return usagef("--%s: only the report cost has this flag, %s does not", name, r.name)
	}
	switch bucket := c.Duration("bucket"); {
	case c.IsSet("bucket") && bucket <= 0:
		return usagef("--bucket: %v is too short; write, for example, 500ms", bucket)
	case c.IsSet("bucket") && r.slices:
		return usagef("--bucket: the report %s has no buckets", r.name)
	case c.Bool("json") && c.IsSet("table"):
		return usagef("--table and --json cannot be combined; the JSON form has all tables")
	case c.IsSet("js-calls") && !r.slices:
		return usagef("--js-calls: the report %s counts samples; only layout-thrashing and cost use calls", r.name)
	}
	return nil
}

// reportInput is the trace that a report is about, and the part of it that was asked for. It must be closed.
type reportInput struct {
	name     string
	trace    *trace.Trace
	timeline *timeline.Timeline
	selected *selection.Selection // nil: the whole trace
	said     *convert.Report      // what its reading said
}

// openReportInput reads the trace that is the second argument of the command, and selects what was asked for.
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
	in := &reportInput{name: name}
	src, err := openInput(c.Context, env, name)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	if opts.Report == nil {
		opts.Report = new(convert.Report)
	}
	in.said = opts.Report
	progress := startProgress(env, inputName(name), src.size, true)
	in.trace, in.timeline, err = openTimeline(c.Context, name, progress.reader(src), opts)
	progress.Stop()
	if err != nil {
		return nil, err
	}
	return in, nil
}

// nothing says why a report is empty: because of the trace, or of the part that was asked for.
func (in *reportInput) nothing(ofTrace string) string {
	if in.selected != nil {
		return "the selected part of the trace has nothing for this report"
	}
	return ofTrace
}

// Close frees what the trace takes.
func (in *reportInput) Close() error { return in.trace.Close() }

// printProblems says what is missing in the numbers of a report: the problems of the input that have one of the names, but for
// those that most recordings have.
func (in *reportInput) printProblems(env *environment, names []string) {
	for _, p := range in.trace.Problems() {
		if slices.Contains(names, p.Name) && !slices.Contains(in.said.Usual, p.Name) {
			fmt.Fprintf(env.stderr, "%s: %s\n", printable(inputName(in.name)), printable(problemLine(&p)))
		}
	}
}

// printNotCounted says what a report leaves out of what several inputs of a merge have recorded of the same threads: samples, and slices if it
// is on slices.
func (in *reportInput) printNotCounted(env *environment, slices bool) {
	for _, r := range in.timeline.NotCounted() {
		if slices || r.Samples > 0 {
			printNote(env, in.name, printable(reportpage.NotCounted(&r)))
		}
	}
}

// Problems that make the numbers of reports too small: a person who reads them should know. Others, such as flows whose
// other end is missing, which nearly every trace of a browser has, do no harm there.
var (
	inputProblems = problemNames(
		problem.ContainerDamaged, problem.JSONUnterminated, problem.JSONPartialEvent, problem.JSONMalformedEvent, problem.JSONTrailingData,
		problem.ProducerDataLoss, problem.EventInvalidTimestamp, problem.EventNegativeTimestamp,
		problem.FirefoxValueInvalid, problem.FirefoxIndexInvalid, problem.FirefoxColumnShort,
		problem.PacketTruncated, problem.PacketMalformed, problem.PacketInvalidState, problem.PacketUnresolvedClock,
	)
	// sampleProblems are those of reports on samples.
	sampleProblems = slices.Concat(inputProblems, problemNames(
		problem.StackFrameUnknown, problem.StackLimit,
		problem.ProfileMalformed, problem.ProfileLimit, problem.ProfileWithoutNodes, problem.ProfileLengthMismatch, problem.ProfileTimesMissing,
		problem.ProfileNodeUnknownParent, problem.ProfileSampleUnknownNode,
		problem.BadStack, problem.SelfProfileListMissing, problem.SelfProfileFrameInvalid,
	))
	// costProblems are those of costs, which are counted in slices.
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
