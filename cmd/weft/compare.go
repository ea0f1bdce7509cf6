package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/compare"
	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/internal/timeline"
)

// errSlower ends a comparison in which something is slower than --fail-over allows.
var errSlower = errors.New("slower than --fail-over allows")

// defaultLeast is what --fail-over leaves out: functions that take next to no time change by large factors.
const defaultLeast = time.Millisecond

func compareCommand(env *environment) *cli.Command {
	return &cli.Command{
		Name:      "compare",
		Usage:     "show what became slower or faster between recordings",
		UsageText: "weft compare [flags] BASE NEW…\n   weft compare [flags] --base BASE… --new NEW…",
		Description: `Compares the self time of slices, functions, contexts, categories or threads in
recordings of two versions. Names are compared, never ids.

Recordings of the same thing differ too. With several recordings of each version
weft compares medians, and the Mann–Whitney U test tells changes from noise; four
of each are the fewest of which it can. A folder stands for the files in it. "-" is
standard input.

Examples:
   weft compare before.json after.json        one recording each: noise is unknown
   weft compare --base before/ --new after/   all recordings of two folders
   weft compare --base a1.json a2.json a3.json a4.json --new b1.json b2.json b3.json b4.json
   weft compare --by function before.cpuprofile after.cpuprofile
   weft compare --by context --context frame=https://example.org/* before.json after.json
   weft compare --fail-over 10% --base before/ --new after/
                                              exit with 4 if something is 10 % slower

docs/reports.md says what is compared with what, and what the test assumes.`,
		Flags: slices.Concat(compareFlags(), selectionFlags(),
			titled("Flags for inputs with profiles", slices.Concat(profileFlags(), selfProfileFlags()))),
		Action: func(c *cli.Context) error { return runCompare(c, env) },
	}
}

func compareFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "base", Usage: "the recordings `BASE…` of before: all words up to the next flag", DefaultText: "the first input"},
		&cli.StringSliceFlag{Name: "new", Usage: "the recordings `NEW…` of after: all words up to the next flag", DefaultText: "the other inputs"},
		&cli.StringFlag{Name: "by", Value: compare.BySlice.String(), Usage: "compare `WHAT`: slice (by name), function (by samples), context, category or thread"},
		&cli.StringFlag{Name: "per", Value: "recording", Usage: "compare the time per `WHAT`: recording, or second of it if recordings differ in length"},
		&cli.StringFlag{Name: "fail-over", Usage: "exit with 4 if something is slower by more than `PERCENT`, as in 10%", DefaultText: "never"},
		&cli.DurationFlag{Name: "min", Value: defaultLeast, Usage: "what takes less than `TIME` never fails --fail-over"},
		&cli.BoolFlag{Name: "all", Usage: "print rows that are noise or equal too", DisableDefaultText: true},
		jsonFlag("print one line of JSON per row"),
		&cli.BoolFlag{Name: "csv", Usage: "print comma-separated values, with times in nanoseconds", DisableDefaultText: true},
		&cli.IntFlag{Name: "limit", Value: defaultTop, Usage: "print at most `N` rows; 0: all", DefaultText: "20; all with --json and --csv"},
		&cli.StringFlag{Name: "sort", Usage: "sort by `COLUMN`, largest first; -COLUMN: smallest first", DefaultText: "largest change first"},
		&cli.StringFlag{Name: "columns", Usage: "print only the columns `COLUMN,COLUMN…`, in this order", DefaultText: "all"},
		formatFlag(), memoryFlag(), tempFlag(),
	}
}

// compareQuery is what a comparison is asked for.
type compareQuery struct {
	inputs   [2][]string // by compare.Side
	by       compare.By
	opts     compare.Options
	failOver string // as written; "": not set
	limit    compare.Limit
}

func newCompareQuery(c *cli.Context) (q *compareQuery, err error) {
	q = &compareQuery{failOver: c.String("fail-over")}
	if q.by, err = compare.ParseBy(c.String("by")); err != nil {
		return nil, usagef("--by: %v", err)
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
	switch {
	case c.Int("limit") < 0:
		return nil, usagef("--limit: %d is negative", c.Int("limit"))
	case c.Bool("json") && c.Bool("csv"):
		return nil, usagef("--json and --csv cannot be combined")
	case c.Bool("json") && (c.IsSet("sort") || c.IsSet("columns")):
		return nil, usagef("--sort and --columns are for text and --csv; sort JSON and select from it with jq")
	}
	form := compareTable(&compare.Result{}, q, nil)
	order := readArrangement(c)
	if err := order.checkColumns(form.columns); err != nil {
		return nil, err
	}
	return q, q.readInputs(c)
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

// maxPercent bounds --fail-over, so that its millionths are a number.
const maxPercent = 1_000_000

// parsePercent reads a percentage, with or without its sign, as millionths.
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

// readInputs finds out which recordings are of before and which are of after.
func (q *compareQuery) readInputs(c *cli.Context) (err error) {
	base, fresh, others := c.StringSlice("base"), c.StringSlice("new"), c.Args().Slice()
	switch {
	case len(base) > 0 && len(fresh) > 0 && len(others) > 0:
		return usagef("%s is neither of --base nor of --new", others[0])
	case len(base) > 0 && len(fresh) == 0:
		fresh = others
	case len(base) == 0 && len(fresh) > 0:
		base = others
	case len(base) == 0 && len(others) > 0:
		base, fresh = others[:1], others[1:]
	}
	switch {
	case len(base) == 0 && len(fresh) == 0:
		return usagef("no recordings; name two, as in weft compare before.json after.json")
	case len(base) == 0:
		return usagef("no recording of before; name it first, or with --base")
	case len(fresh) == 0:
		return usagef("no recording of after; name it behind that of before, or with --new")
	}
	for side, names := range [2][]string{base, fresh} {
		if q.inputs[side], err = recordingsIn(expanded(names)); err != nil {
			return err
		}
	}
	all := slices.Concat(q.inputs[0], q.inputs[1])
	if at := slices.Index(all, "-"); at >= 0 && slices.Contains(all[at+1:], "-") {
		return usagef("standard input can be read only once")
	}
	return nil
}

// recordingsIn replaces folders by the files in them, by name. Hidden files are left out.
func recordingsIn(names []string) (files []string, err error) {
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil || !info.IsDir() {
			files = append(files, name) // opening it says what is wrong
			continue
		}
		entries, err := os.ReadDir(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, withoutPath(err))
		}
		before := len(files)
		for _, entry := range entries {
			if entry.Type()&fs.ModeType == 0 && !strings.HasPrefix(entry.Name(), ".") {
				files = append(files, filepath.Join(name, entry.Name()))
			}
		}
		if len(files) == before {
			return nil, fmt.Errorf("%s: the folder has no files", name)
		}
	}
	return files, nil
}

// runCompare compares recordings.
func runCompare(c *cli.Context, env *environment) error {
	query, err := newCompareQuery(c)
	if err != nil {
		return err
	}
	opts, err := inputOptions(c)
	if err != nil {
		return err
	}
	if query.by == compare.ByFunction {
		opts.JSCalls = convert.JSCallsOff // most of the work, and of no use
	}
	comparison, err := query.read(c, env, opts)
	if err != nil {
		return err
	}
	result := comparison.Result(query.opts)
	if result.Others > 0 {
		fmt.Fprintf(env.stderr, "too many names: some of what happened is in rows called %s\n", compare.Others)
	}
	if err := query.print(c, env, result); err != nil || query.failOver == "" {
		return err
	}
	return query.checkLimit(env, result)
}

// read takes in all recordings.
func (q *compareQuery) read(c *cli.Context, env *environment, opts convert.Options) (*compare.Comparison, error) {
	comparison := compare.NewComparison(len(q.inputs[0]) + len(q.inputs[1]))
	unknown, read := error(nil), 0
	for side, names := range q.inputs {
		for _, name := range names {
			sums, err := q.sumUp(c, env, name, opts)
			switch missing := (*selection.UnknownError)(nil); {
			case errors.As(err, &missing):
				unknown, sums = err, &compare.Sums{} // another recording may have it
			case err != nil:
				if usage := (*usageError)(nil); c.Bool("json") && c.Context.Err() == nil && !errors.As(err, &usage) {
					err = errors.Join(err, writeFailed(env.stdout, name, err))
				}
				return nil, err
			default:
				read++
			}
			comparison.Add(compare.Side(side), inputName(name), sums)
		}
	}
	if read == 0 {
		return nil, unknown
	}
	return comparison, nil
}

// sumUp reads one recording.
func (q *compareQuery) sumUp(c *cli.Context, env *environment, name string, opts convert.Options) (*compare.Sums, error) {
	in, err := openNamed(c, env, name, opts)
	if err != nil {
		return nil, err
	}
	problems := costProblems
	if q.by == compare.ByFunction {
		problems = sampleProblems
	}
	in.printProblems(env, problems)
	sums, err := compare.SumUp(c.Context, in.timeline, q.by, in.selected)
	if err = errors.Join(err, in.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w", inputName(name), err)
	}
	return sums, nil
}

// print prints what changed.
func (q *compareQuery) print(c *cli.Context, env *environment, r *compare.Result) error {
	if c.Bool("json") {
		return q.printJSON(env, r, shownRows(c))
	}
	order := readArrangement(c)
	if c.Bool("csv") {
		all := []table{compareTable(r, q, func(*compare.Row) bool { return true })}
		order.apply(all)
		all[0].limit(shownRows(c))
		return all[0].writePlainCSV(env.stdout)
	}
	shown := func(row *compare.Row) bool { return c.Bool("all") || row.Verdict < compare.Noise }
	a := &answer{summary: q.summary(r), tables: []table{
		compareTable(r, q, func(row *compare.Row) bool { return shown(row) && !row.Async() }),
		compareTable(r, q, func(row *compare.Row) bool { return shown(row) && row.Async() }),
	}}
	a.tables[0].title, a.tables[1].title = "changes, the largest first", "changes of asynchronous slices, which overlap, the largest first"
	order.apply(a.tables)
	for i := range a.tables {
		a.tables[i].limit(shownRows(c))
	}
	return a.writeText(env.stdout, terminalColumns(env), "")
}

// compareSummary is the first line of the form for programs.
type compareSummary struct {
	Table     string              `json:"table"`
	By        compare.By          `json:"by"`
	Per       string              `json:"per"`
	Base      []compare.Recording `json:"base"`
	New       []compare.Recording `json:"new"`
	Test      string              `json:"test"`
	Alpha     float64             `json:"alpha"`
	SmallestP float64             `json:"smallest_p"`
	Testable  bool                `json:"testable"`
	Rows      int                 `json:"rows"`
	Tested    int                 `json:"tested"`
	Slower    int                 `json:"slower"`
	Faster    int                 `json:"faster"`
	Undecided int                 `json:"undecided"`
	Noise     int                 `json:"noise"`
	Equal     int                 `json:"equal"`
	FailOver  string              `json:"fail_over,omitempty"`
	Failed    *int                `json:"failed,omitempty"`
}

func (q *compareQuery) printJSON(env *environment, r *compare.Result, limit int) error {
	s := compareSummary{
		Table: "summary", By: q.by, Per: q.per(), Base: r.Base, New: r.New, Test: "mann-whitney-u", Alpha: compare.Alpha, SmallestP: r.Smallest,
		Testable: r.Testable, Rows: len(r.Rows), Tested: r.Tested, Slower: r.Counts[compare.Slower], Faster: r.Counts[compare.Faster],
		Undecided: r.Counts[compare.Undecided], Noise: r.Counts[compare.Noise], Equal: r.Counts[compare.Equal], FailOver: q.failOver,
	}
	if q.failOver != "" {
		n := len(q.over(r))
		s.Failed = &n
	}
	if err := writeJSON(env.stdout, &s); err != nil {
		return err
	}
	for i := range r.Rows {
		if limit > 0 && i >= limit {
			break
		}
		row := struct {
			Table string `json:"table"`
			*compare.Row
		}{"changes", &r.Rows[i]}
		if err := writeJSON(env.stdout, row); err != nil {
			return err
		}
	}
	return nil
}

// per returns what times are per, as --per says it.
func (q *compareQuery) per() string {
	if q.opts.PerSecond {
		return "second"
	}
	return "recording"
}

// summary says for people what is compared, and what the test found.
func (q *compareQuery) summary(r *compare.Result) []string {
	lines := []string{
		"base  " + recordingsLine(r.Base),
		"new   " + recordingsLine(r.New),
		fmt.Sprintf("self time by %s, per %s", q.by, q.per()),
	}
	if !q.opts.PerSecond && lengthsDiffer(r) {
		lines[2] += "; the recordings differ in length: --per second compares what takes the same share of them"
	}
	if len(r.Base) > 1 || len(r.New) > 1 {
		lines[2] = strings.Replace(lines[2], "self time", "median self time", 1)
	}
	if len(r.Rows) == 0 {
		return append(lines, q.nothing())
	}
	if !r.Testable {
		lines = append(lines, "Noise is unknown: "+whyUnknown(r)+". Record each version at least 4 times.")
	} else if r.Tested > 0 {
		chance := ""
		if n := compare.Alpha * float64(r.Tested); n >= 1 {
			chance = fmt.Sprintf("; by chance alone, up to %.0f would be either", n)
		}
		lines = append(lines, fmt.Sprintf("Mann–Whitney U test of %s: %d slower, %d faster (p < %v%s).",
			count(r.Tested, "row"), r.Counts[compare.Slower], r.Counts[compare.Faster], compare.Alpha, chance))
	}
	switch changed := len(r.Rows) - r.Counts[compare.Noise] - r.Counts[compare.Equal]; {
	case changed == 0 && r.Counts[compare.Noise] == 0:
		lines = append(lines, fmt.Sprintf("Nothing changed: %s, all equal.", count(len(r.Rows), "row")))
	case changed < len(r.Rows):
		var rest []string
		if n := r.Counts[compare.Noise]; n > 0 {
			rest = append(rest, isOrAre(n, "row")+" noise")
		}
		if n := r.Counts[compare.Equal]; n > 0 {
			rest = append(rest, isOrAre(n, "row")+" equal")
		}
		lines = append(lines, strings.Join(rest, ", ")+"; --all shows them.")
	}
	return lines
}

// whyUnknown says why no test tells changes from noise.
func whyUnknown(r *compare.Result) string {
	if len(r.Base) == 1 && len(r.New) == 1 {
		return "one recording of each version cannot show it"
	}
	return fmt.Sprintf("with %d and %d recordings, recordings in which nothing changed are as far apart with p = %.2f", len(r.Base), len(r.New), r.Smallest)
}

// nothing says why there are no rows.
func (q *compareQuery) nothing() string {
	if q.by == compare.ByFunction {
		return "The recordings, or the part that is selected, have no samples; --by slice compares slices."
	}
	return "The recordings, or the part that is selected, have nothing to compare; --by function compares samples."
}

// recordingsLine says how many recordings a side has, which, and how long they are.
func recordingsLine(list []compare.Recording) string {
	shortest, longest := list[0].Length, list[0].Length
	for _, r := range list {
		shortest, longest = min(shortest, r.Length), max(longest, r.Length)
	}
	line := printable(list[0].Name)
	if n := len(list); n > 1 {
		line = fmt.Sprintf("%d recordings, %s … %s", n, line, printable(list[n-1].Name))
	}
	if shortest == longest {
		return fmt.Sprintf("%s: %s ms", line, millis(shortest))
	}
	return fmt.Sprintf("%s: %s to %s ms", line, millis(shortest), millis(longest))
}

// lengthsDiffer reports whether one recording is longer than another by a tenth or more.
func lengthsDiffer(r *compare.Result) bool {
	shortest, longest := r.Base[0].Length, r.Base[0].Length
	for _, list := range [][]compare.Recording{r.Base, r.New} {
		for _, recording := range list {
			shortest, longest = min(shortest, recording.Length), max(longest, recording.Length)
		}
	}
	return longest-shortest > shortest/10
}

// compareTable is the table of what changed: of rows that are shown, nil: none.
func compareTable(r *compare.Result, q *compareQuery, shown func(*compare.Row) bool) table {
	kindTitle := "kind"
	if q.by == compare.ByContext {
		kindTitle = "type"
	}
	t := table{name: "changes", columns: []column{
		texts("kind", ""), texts("name", q.by.String()), texts("location", ""),
		times("base_ns", "base ms"), times("new_ns", "new ms"), {name: "change_ns", title: "change ms", kind: changeColumn},
		{name: "change_permille", title: "change", kind: ratioColumn}, texts("p", ""), texts("verdict", ""),
		spare(2, counts("base_count", "base count")), spare(1, counts("new_count", "new count")),
	}}
	if r.Testable {
		t.columns[7].title, t.columns[8].title = "p", "verdict"
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		if shown == nil || !shown(row) {
			continue
		}
		if row.Kind != "" && row.Kind != r.Rows[0].Kind {
			t.columns[0].title = kindTitle
		}
		if row.Location != "" {
			t.columns[2].title = "location"
		}
		t.rows = append(t.rows, compareCells(row))
	}
	if r.Testable && len(t.rows) > 0 && q.by == compare.ByContext {
		t.columns[0].title = kindTitle
	}
	return t
}

func compareCells(row *compare.Row) []cell {
	ratio, p := cell{absent: true}, cell{}
	if row.Ratio != nil {
		ratio = cell{number: int64(min(max(*row.Ratio*1000, -1000), 1e15))}
	} else if ratio.short = "from 0"; row.Only == "new" {
		ratio.short = "new"
	}
	if row.P != nil {
		p.text = strconv.FormatFloat(*row.P, 'f', 4, 64)
	}
	return []cell{
		textCell(row.Kind), nameCell(row.Name, nameWidth), {text: row.Location, short: elideTo(row.Location, nameWidth)},
		timeCell(row.BaseMedian), timeCell(row.NewMedian), timeCell(row.Change), ratio, p, textCell(row.Verdict.String()),
		countCell(row.BaseCount()), countCell(row.NewCount()),
	}
}

// over returns the rows that are slower than --fail-over allows.
func (q *compareQuery) over(r *compare.Result) (rows []*compare.Row) {
	for i := range r.Rows {
		if r.Rows[i].Over(q.limit) {
			rows = append(rows, &r.Rows[i])
		}
	}
	return rows
}

// maxFailed is the number of rows that the message about --fail-over names.
const maxFailed = 5

// checkLimit fails if something is slower than --fail-over allows, and says what.
func (q *compareQuery) checkLimit(env *environment, r *compare.Result) error {
	how := "significantly"
	if !r.Testable {
		how = "by these recordings alone (noise is unknown)"
	}
	rows := q.over(r)
	if len(rows) == 0 {
		fmt.Fprintf(env.stderr, "--fail-over %s: nothing is slower by more, %s\n", printable(q.failOver), how)
		return nil
	}
	var names []string
	for _, row := range rows[:min(len(rows), maxFailed)] {
		name := elideTo(row.Name, nameWidth) + " (new)"
		if row.Ratio != nil {
			name = fmt.Sprintf("%s (+%.1f %%)", elideTo(row.Name, nameWidth), 100**row.Ratio)
		}
		names = append(names, name)
	}
	if more := len(rows) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	fmt.Fprintf(env.stderr, "weft: --fail-over %s: %s slower by more, %s: %s\n", printable(q.failOver), isOrAre(len(rows), "row"), how, strings.Join(names, ", "))
	return errSlower
}

func isOrAre(n int, what string) string {
	if n == 1 {
		return "1 " + what + " is"
	}
	return fmt.Sprintf("%d %ss are", n, what)
}
