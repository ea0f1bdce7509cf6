package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/commandline"
	"github.com/weft-trace/weft/internal/compare"
	"github.com/weft-trace/weft/internal/inputs"
	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/verdict"
)

// errSlower ends a comparison that exceeded --fail-over.
var errSlower = errors.New("slower than --fail-over allows")

// defaultLeast is the time below which --fail-over ignores a row: functions that take hardly any time can change by large
// factors.
const defaultLeast = time.Millisecond

func compareCommand(env *environment) *cli.Command {
	return &cli.Command{
		Name:      "compare",
		Usage:     "show what became slower or faster between recordings",
		UsageText: "weft compare [flags] BASE NEW…\nweft compare [flags] --base BASE… --new NEW…",
		Description: `Compares the self time of slices, functions, contexts, categories or threads in
recordings of two versions. Names are compared, never ids.

Recordings of the same thing differ too. With several recordings of each version
weft compares medians, and the Mann–Whitney U test tells changes from noise. For
that it needs at least four of each. A folder stands for the recordings in it and in
the folders below. "-" is standard input.

Examples:
   weft compare before.json after.json        one recording each: noise is unknown
   weft compare --base before/ --new after/   all recordings of two folders
   weft compare --base a1.json a2.json a3.json a4.json --new b1.json b2.json b3.json b4.json
   weft compare --by function before.cpuprofile after.cpuprofile
   weft compare --tree before.cpuprofile after.cpuprofile
                                              who calls what, and what changed
   weft compare --by context --context frame=https://example.org/* before.json after.json
   weft compare --html changes.html --base before/ --new after/
                                              a page with plots, for a pull request
   weft compare --fail-over 10% --base before/ --new after/
                                              exit with 4 if something is 10 % slower

docs/reports.md says what is compared with what, and what the test assumes.`,
		Flags: slices.Concat(compareFlags(), pageFlags(), selectionFlags(),
			titled("Flags for inputs with profiles", profileFlags())),
		Action: func(c *cli.Context) error { return runCompare(c, env) },
	}
}

// Flags for files that list recordings.
const (
	baseFilesFrom = "base-files-from"
	newFilesFrom  = "new-files-from"
)

func compareFlags() []cli.Flag {
	return slices.Concat([]cli.Flag{
		&commandline.ListFlag{StringSliceFlag: cli.StringSliceFlag{Name: "base", Usage: "the recordings `BASE…` to compare with: all words up to the next flag", DefaultText: "the first input"}},
		&commandline.ListFlag{StringSliceFlag: cli.StringSliceFlag{Name: "new", Usage: "the recordings `NEW…` that may have changed: all words up to the next flag", DefaultText: "the other inputs"}},
		&cli.StringFlag{Name: baseFilesFrom, Usage: "read the names of base recordings from `FILE`, one a line; \"-\": standard input"},
		&cli.StringFlag{Name: newFilesFrom, Usage: "read the names of new recordings from `FILE`, one a line; \"-\": standard input"},
		&cli.StringFlag{Name: "by", Value: compare.BySlice.String(), Usage: "compare `WHAT`: slice (by name), function (by samples), context, category or thread"},
		&cli.BoolFlag{Name: "tree", Usage: "compare the calls of functions by samples, as a tree", DisableDefaultText: true},
		&cli.StringFlag{Name: "per", Value: "recording", Usage: "compare the time per `WHAT`: recording, or second of it if recordings differ in length"},
		&cli.StringFlag{Name: "fail-over", Usage: "exit with 4 if something is slower by more than `PERCENT`, as in 10%", DefaultText: "never"},
		&cli.DurationFlag{Name: "min", Value: defaultLeast, Usage: "what takes less than `TIME` never fails --fail-over"},
		&cli.BoolFlag{Name: "all", Usage: "print rows that are noise or equal too", DisableDefaultText: true},
		jsonFlag("print one line of JSON per row"),
	}, arrangingFlags("", "largest change first"), []cli.Flag{formatFlag(), memoryFlag()})
}

// compareQuery is one call of the compare command.
type compareQuery struct {
	inputs   [2][]string // by compare.Side
	by       compare.By
	opts     compare.Options
	printing *printing
	failOver string // as written; "": not set
	limit    compare.Limit
}

func newCompareQuery(c *cli.Context, env *environment) (q *compareQuery, err error) {
	q = &compareQuery{failOver: c.String("fail-over")}
	if q.by, err = compare.ParseBy(c.String("by")); err != nil {
		return nil, usagef("--by: %v", err)
	}
	if c.Bool("tree") {
		if q.by = compare.ByCall; c.IsSet("by") || c.IsSet("html") {
			return nil, usagef("--tree cannot be combined with --by and --html")
		}
	}
	switch per := c.String("per"); per {
	case "recording":
	case "second":
		q.opts.PerSecond = true
	default:
		return nil, unknownValue("per", "unit", per, "recording", "second")
	}
	if err := q.readLimit(c); err != nil {
		return nil, err
	}
	if err := checkPageFlags(c, []string{"all"}); err != nil {
		return nil, err
	}
	if q.printing, err = newPrinting(c, q.forms()); err != nil {
		return nil, err
	}
	return q, q.readInputs(c, env)
}

// ofSamples reports whether samples are compared instead of slices.
func (q *compareQuery) ofSamples() bool { return q.by == compare.ByFunction || q.by == compare.ByCall }

// forms returns the tables of a comparison, without rows.
func (q *compareQuery) forms() []*table.Table {
	if q.by == compare.ByCall {
		return []*table.Table{new(compare.Result).TreeTable(q.opts.PerSecond, nil, 0)}
	}
	return []*table.Table{new(compare.Result).Table(q.by, q.opts.PerSecond, nil)}
}

// readLimit reads --fail-over and --min.
func (q *compareQuery) readLimit(c *cli.Context) (err error) {
	if c.IsSet("fail-over") {
		if q.limit.Millionths, err = parsePercent(q.failOver); err != nil {
			return usagef("--fail-over: %v", err)
		}
	}
	if q.limit.Least = timeline.Nanos(c.Duration("min")); q.limit.Least < 0 {
		return usagef("--min: %v is negative", c.Duration("min"))
	}
	return nil
}

// maxPercent bounds --fail-over, so that its millionths fit an int64.
const maxPercent = 1_000_000

// parsePercent reads a percentage, with or without "%", as millionths.
func parsePercent(text string) (millionths int64, err error) {
	number := strings.TrimSpace(strings.TrimSuffix(text, "%"))
	whole, decimals, _ := strings.Cut(number, ".")
	digits := whole + decimals
	if digits == "" || strings.Trim(digits, "0123456789") != "" || len(decimals) > 4 || len(whole) > 7 {
		return 0, fmt.Errorf("%q is not a percentage; write, for example, 10%%", text)
	}
	millionths, err = strconv.ParseInt(digits+strings.Repeat("0", 4-len(decimals)), 10, 64)
	if err != nil || millionths > maxPercent*10_000 {
		return 0, fmt.Errorf("%q is too large", text)
	}
	return millionths, nil
}

// readInputs determines which recordings are base and which are new.
func (q *compareQuery) readInputs(c *cli.Context, env *environment) error {
	base, fresh, others := c.StringSlice("base"), c.StringSlice("new"), c.Args().Slice()
	hasBase, hasNew := len(base) > 0 || c.IsSet(baseFilesFrom), len(fresh) > 0 || c.IsSet(newFilesFrom)
	switch {
	case hasBase && hasNew && len(others) > 0:
		return usagef("%s belongs neither to --base nor to --new", others[0])
	case hasBase && !hasNew:
		fresh = others
	case !hasBase && hasNew:
		base = others
	case !hasBase && len(others) > 0:
		base, fresh = others[:1], others[1:]
	}
	hasBase, hasNew = hasBase || len(base) > 0, hasNew || len(fresh) > 0
	switch {
	case !hasBase && !hasNew:
		return usagef("no recordings; name two, as in weft compare before.json after.json")
	case !hasBase:
		return usagef("no base recording: all words after --new are new recordings; name the others with --base")
	case !hasNew && c.IsSet("base"):
		return usagef("no new recording: all words after --base are base recordings; name the others with --new")
	case !hasNew:
		return usagef("no new recording; name it after the base, or with --new")
	}
	for side, names := range [2][]string{base, fresh} {
		found, err := findInputs(c, env, names, [...]string{baseFilesFrom, newFilesFrom}[side])
		if err != nil {
			return err
		}
		q.inputs[side] = found.Paths()
	}
	stdin := 0
	for _, name := range append(slices.Concat(q.inputs[:]...), c.String(baseFilesFrom), c.String(newFilesFrom)) {
		if name == inputs.Stdin {
			stdin++
		}
	}
	if stdin > 1 {
		return usagef("standard input can be read only once")
	}
	return nil
}

// runCompare compares recordings.
func runCompare(c *cli.Context, env *environment) error {
	query, err := newCompareQuery(c, env)
	if err != nil {
		return err
	}
	opts, err := inputOptions(c)
	if err != nil {
		return err
	}
	if query.ofSamples() {
		opts.JSCalls = convert.JSCallsOff // most of the work, and not needed here
	}
	comparison, flame, err := query.read(c, env, opts)
	if err != nil {
		return err
	}
	result, stacks := comparison.Result(query.opts), flame.Result(query.opts)
	if query.by == compare.ByCall {
		result.Tree((*compare.Row).Size)
	}
	if result.Others+stacks.Others > 0 {
		fmt.Fprintf(env.stderr, "too many names: some of what happened is in rows called %s, and some calls count for their callers only\n", compare.Others)
	}
	if c.IsSet("html") {
		err = query.writePage(c, env, result, stacks)
	} else {
		err = query.printing.print(c, env, "", query.report(c, result))
	}
	if err != nil || query.failOver == "" {
		return err
	}
	return query.checkLimit(env, result)
}

// read reads all recordings. flame is empty unless a page is requested.
func (q *compareQuery) read(c *cli.Context, env *environment, opts convert.Options) (comparison, flame *compare.Comparison, err error) {
	recordings := len(q.inputs[0]) + len(q.inputs[1])
	comparison, flame = compare.NewComparison(recordings), compare.NewComparison(recordings)
	unknown, read := error(nil), false
	for side, names := range q.inputs {
		for _, name := range names {
			sums, stacks, err := q.sumUp(c, env, name, opts)
			switch missing := (*selection.UnknownError)(nil); {
			case errors.As(err, &missing):
				unknown = cmp.Or(unknown, err) // another recording may have what is selected
			case err != nil:
				return nil, nil, failCompare(c, env, name, err)
			default:
				read = true
			}
			comparison.Add(compare.Side(side), inputName(name), sums)
			flame.Add(compare.Side(side), inputName(name), stacks)
		}
	}
	if !read {
		return nil, nil, failCompare(c, env, q.inputs[0][0], unknown)
	}
	return comparison, flame, nil
}

// failCompare writes a JSON line for an input that failed, if --json is set.
func failCompare(c *cli.Context, env *environment, name string, err error) error {
	if usage := (*usageError)(nil); c.Bool("json") && c.Context.Err() == nil && !errors.As(err, &usage) {
		return errors.Join(err, writeFailed(env.stdout, name, err))
	}
	return err
}

// sumUp reads one recording. If nothing in it is selected, the error is a selection.UnknownError and the sums are empty.
// Without a page, stacks is always empty.
func (q *compareQuery) sumUp(c *cli.Context, env *environment, name string, opts convert.Options) (sums, stacks *compare.Sums, err error) {
	filter, err := readSelection(c)
	if err != nil {
		return nil, nil, err
	}
	in, err := openTrace(c, env, name, opts)
	if err != nil {
		return nil, nil, err
	}
	stacks = &compare.Sums{Length: selection.SpanOf(in.timeline).Length(), Lost: verdict.Lost(in.report.Problems, in.report.Usual)}
	if in.selected, err = selectIn(c.Context, name, filter, in.timeline); err != nil {
		return stacks, stacks, errors.Join(err, in.Close())
	}
	problems := costProblems
	if q.ofSamples() {
		problems = sampleProblems
	}
	in.printProblems(env, problems)
	in.printNotCounted(env, !q.ofSamples())
	sums, err = compare.SumUp(c.Context, in.timeline, q.by, in.selected)
	if err == nil && c.IsSet("html") {
		stacks, err = compare.SumUp(c.Context, in.timeline, compare.ByStack, in.selected)
	}
	if err = errors.Join(err, in.Close()); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", inputName(name), err)
	}
	sums.Lost = verdict.Lost(in.report.Problems, in.report.Usual)
	return sums, stacks, nil
}
