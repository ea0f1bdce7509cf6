package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/problem"
	"github.com/weft-trace/weft/report"
	"github.com/weft-trace/weft/timeline"
)

// reports are the tables that the report command makes of samples.
var reports = []struct {
	name, usage string
	slices      bool    // it counts slices too
	forms       []table // without rows
	make        func(p *report.Profiles, opts report.Options) (reportResult, error)
}{
	{
		name: "samples", usage: "where the time of each sampled thread went, by state and by function",
		forms: samplesTables(&report.ThreadSamples{}), make: samplesReport,
	},
	{
		name: "gc", usage: "which functions were interrupted by the garbage collector, and how long",
		forms: gcTables(&report.ThreadGC{}), make: gcReport,
	},
	{
		name: "layout-thrashing", usage: "which functions force the browser to compute style and layout",
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
	summary []string
	tables  []table
}

const defaultTop = 20

func reportCommand(env *environment) *cli.Command {
	var names strings.Builder
	for _, r := range reports {
		fmt.Fprintf(&names, "   %-18s%s\n", r.name, r.usage)
	}
	fmt.Fprintf(&names, "   %-18s%s\n", "cost", "what each frame, script, input event or other context has cost")
	return &cli.Command{
		Name:      "report",
		Usage:     "count in the samples of a trace",
		UsageText: "weft report [flags] NAME FILE",
		Description: `Prints tables about the sampled threads of a trace of any format. The reports are

` + names.String() + `
Every time stands beside the number of samples that it was made of: one sample of a profile
that was taken every 10 ms means 10 ± 10 ms. docs/reports.md defines the numbers. "-" is
standard input.`,
		Flags: slices.Concat([]cli.Flag{
			&cli.BoolFlag{Name: "json", Usage: "one line of JSON", DisableDefaultText: true},
			&cli.BoolFlag{Name: "csv", Usage: "one table as comma-separated values, times in nanoseconds", DisableDefaultText: true},
			&cli.StringFlag{Name: "table", Usage: "the table `NAME` of the report only", DefaultText: "all; with --csv the first"},
			&cli.DurationFlag{Name: "bucket", Usage: "a table of buckets of `TIME`, such as 500ms", DefaultText: "none"},
			&cli.IntFlag{Name: "top", Value: defaultTop, Usage: "at most `N` rows about functions and stacks; 0: all"},
			fromFlag(), memoryFlag(), tempFlag(),
		}, costFlags(), profileFlags(), selfProfileFlags()),
		Action: func(c *cli.Context) error {
			if c.Args().First() == "cost" {
				return runCostReport(c, env)
			}
			return runReport(c, env)
		},
	}
}

// runReport prints one of the reports.
func runReport(c *cli.Context, env *environment) error {
	which, err := whichReport(c)
	if err != nil {
		return err
	}
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
	name := c.Args().Get(1)
	src, err := openInput(c.Context, env, name)
	if err != nil {
		return err
	}
	defer src.Close()
	profiles, err := collectProfiles(c, env, name, src, opts)
	if err != nil {
		return err
	}
	result, err := r.make(profiles, report.Options{Bucket: timeline.Nanos(c.Duration("bucket")), Top: c.Int("top")})
	if errors.Is(err, report.ErrTooManyBuckets) {
		return usagef("--bucket: %v", err)
	}
	if err != nil {
		return err
	}
	switch {
	case c.Bool("json"):
		return writeJSON(env.stdout, result.json)
	case c.Bool("csv"):
		return writeCSV(env.stdout, result.threads, &r.forms[shown], shown)
	}
	return writeReport(env.stdout, result.threads, c.String("table"))
}

// whichReport returns the index of the report that is asked for. The error is one of the command line.
func whichReport(c *cli.Context) (int, error) {
	var names []string
	for _, r := range reports {
		names = append(names, r.name)
	}
	which := slices.Index(names, c.Args().First())
	names = append(names, "cost") // it goes its own way
	switch {
	case c.NArg() == 0:
		return 0, usagef("no report; the reports are %s", strings.Join(names, ", "))
	case which < 0:
		return 0, usagef("unknown report %q; the reports are %s", c.Args().First(), strings.Join(names, ", "))
	case c.NArg() == 1:
		return 0, usagef("no file; give one, or \"-\" for standard input")
	case c.NArg() > 2:
		return 0, usagef("report takes one file, not %d", c.NArg()-1)
	}
	bucket, top := c.Duration("bucket"), c.Int("top")
	switch {
	case c.IsSet("bucket") && bucket <= 0:
		return 0, usagef("--bucket: %v is no length of time", bucket)
	case c.IsSet("bucket") && reports[which].name == "layout-thrashing":
		return 0, usagef("--bucket: the report layout-thrashing has no buckets")
	case top < 0:
		return 0, usagef("--top: %d is less than 0", top)
	case c.Bool("json") && c.Bool("csv"):
		return 0, usagef("--json and --csv exclude each other")
	case c.Bool("json") && c.IsSet("table"):
		return 0, usagef("--table is for text and --csv; the JSON form has all tables")
	}
	for _, f := range costFlags() {
		if name := f.Names()[0]; c.IsSet(name) {
			return 0, usagef("--%s: only the report cost has it", name)
		}
	}
	return which, nil
}

// collectProfiles reads a trace and keeps what reports need of it.
func collectProfiles(c *cli.Context, env *environment, name string, src *input, opts convert.Options) (*report.Profiles, error) {
	progress := startProgress(env, inputName(name), src.size, true)
	trace, loaded, err := convert.Load(c.Context, progress.reader(src), opts)
	progress.Stop()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", inputName(name), withoutPath(err))
	}
	for i := range loaded.Problems {
		if p := &loaded.Problems[i]; slices.Contains(uncounted, p.Name) {
			fmt.Fprintf(env.stderr, "%s: %s\n", printable(inputName(name)), printable(p.String()))
		}
	}
	profiles, err := report.Collect(c.Context, trace)
	return profiles, errors.Join(err, trace.Close())
}

// uncounted are the names of problems that make the numbers of reports on samples too small: a person who reads them should
// know. Others, such as flows whose other end is missing, which nearly every trace of a browser has, do no harm here.
var uncounted = problemNames(
	problem.ContainerDamaged, problem.JSONUnterminated, problem.JSONPartialEvent, problem.JSONMalformedEvent, problem.JSONTrailingData,
	problem.EventInvalidTimestamp, problem.EventNegativeTimestamp, problem.StackFrameUnknown, problem.StackLimit,
	problem.ProfileMalformed, problem.ProfileLimit, problem.ProfileWithoutNodes, problem.ProfileLengthMismatch,
	problem.ProfileNodeUnknownParent, problem.ProfileSampleUnknownNode,
	problem.BadStack, problem.SelfProfileListMissing, problem.SelfProfileFrameInvalid,
	problem.FirefoxValueInvalid, problem.FirefoxIndexInvalid, problem.FirefoxColumnShort,
	problem.PacketTruncated, problem.PacketMalformed, problem.PacketInvalidState,
)

func problemNames(kinds ...problem.Kind) (names []string) {
	for _, k := range kinds {
		names = append(names, k.String())
	}
	return names
}
