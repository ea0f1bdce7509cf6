package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/internal/compare"
	"github.com/weft-trace/weft/internal/table"
)

// report returns the changes, for all output forms.
func (q *compareQuery) report(c *cli.Context, r *compare.Result) *table.Report {
	changes := func(shown func(*compare.Row) bool) *table.Table { return r.Table(q.by, q.opts.PerSecond, shown) }
	out := &table.Report{Lines: true, Head: []table.Record{table.JSON(q.summaryRecord(r))}}
	if q.by == compare.ByCall {
		changes = func(shown func(*compare.Row) bool) *table.Table {
			return r.TreeTable(q.opts.PerSecond, shown, rowLimit(c))
		}
	}
	if c.Bool("csv") || c.Bool("json") {
		out.Sections = []table.Section{{Tables: []*table.Table{changes(func(*compare.Row) bool { return true })}}}
		return out
	}
	shown := func(row *compare.Row) bool { return c.Bool("all") || row.Verdict < compare.Noise }
	if q.by == compare.ByCall {
		out.Sections = []table.Section{{Lines: q.summary(r), Tables: []*table.Table{changes(shown)}}}
		return out
	}
	nested, async := changes(func(row *compare.Row) bool { return shown(row) && !row.Async() }), changes(func(row *compare.Row) bool { return shown(row) && row.Async() })
	nested.Title, async.Title = "changes, by size", "changes of asynchronous slices (they overlap), by size"
	out.Sections = []table.Section{{Lines: q.summary(r), Tables: []*table.Table{nested, async}}}
	return out
}

// compareSummary is the first line of the JSON output.
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
	Correct   string              `json:"correction"`
	Enough    int                 `json:"enough_recordings"`
	Rows      int                 `json:"rows"`
	Tested    int                 `json:"tested"`
	Slower    int                 `json:"slower"`
	Faster    int                 `json:"faster"`
	Undecided int                 `json:"undecided"`
	Noise     int                 `json:"noise"`
	Equal     int                 `json:"equal"`
	Others    int64               `json:"others,omitempty"`
	FailOver  string              `json:"fail_over,omitempty"`
	Failed    *int                `json:"failed,omitempty"`
}

func (q *compareQuery) summaryRecord(r *compare.Result) *compareSummary {
	s := compareSummary{
		Table: "summary", By: q.by, Per: q.per(), Base: r.Base, New: r.New, Test: "mann-whitney-u", Alpha: compare.Alpha, SmallestP: r.Smallest,
		Testable: r.Testable, Correct: "benjamini-hochberg", Enough: r.Enough, Rows: len(r.Rows), Tested: r.Tested, Slower: r.Counts[compare.Slower], Faster: r.Counts[compare.Faster],
		Undecided: r.Counts[compare.Undecided], Noise: r.Counts[compare.Noise], Equal: r.Counts[compare.Equal], Others: r.Others, FailOver: q.failOver,
	}
	if q.failOver != "" {
		n := len(q.over(r))
		s.Failed = &n
	}
	return &s
}

// per returns the unit of --per.
func (q *compareQuery) per() string {
	if q.opts.PerSecond {
		return "second"
	}
	return "recording"
}

// summary describes the comparison and the result of the test.
func (q *compareQuery) summary(r *compare.Result) []string {
	what := "self time by " + q.by.String()
	if q.by == compare.ByCall {
		what = "time of functions with what they call, by the functions on the stack"
	}
	lines := []string{
		"base  " + recordingsLine(r.Base),
		"new   " + recordingsLine(r.New),
		fmt.Sprintf("%s, per %s", what, q.per()),
	}
	if !q.opts.PerSecond && lengthsDiffer(r) {
		lines = append(lines, "The recordings differ in length; --per second compares the time per second of them.")
	}
	if len(r.Base) > 1 || len(r.New) > 1 {
		lines[2] = "median " + lines[2]
	}
	if len(r.Rows) == 0 {
		return append(lines, q.nothing())
	}
	if !r.Testable {
		lines = append(lines, "Noise is unknown: "+whyUnknown(r)+".")
	} else if r.Tested > 0 {
		lines = append(lines, testLines(r)...)
	}
	if advice := r.Advice(); advice != "" {
		lines = append(lines, advice)
	}
	switch changed := len(r.Rows) - r.Counts[compare.Noise] - r.Counts[compare.Equal]; {
	case changed == 0 && r.Counts[compare.Noise] == 0:
		lines = append(lines, fmt.Sprintf("Nothing changed: %s, all equal.", table.Count(len(r.Rows), "row")))
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

// testLines describes the test, its result, and why rows are undecided.
func testLines(r *compare.Result) []string {
	undecided := r.Counts[compare.Undecided]
	found := fmt.Sprintf("%s slower, %s faster", table.Thousands(r.Counts[compare.Slower]), table.Thousands(r.Counts[compare.Faster]))
	if undecided == 0 {
		return []string{fmt.Sprintf("Mann–Whitney U test of %s (Benjamini–Hochberg, q < %v): %s.", table.Count(r.Tested, "row"), compare.Alpha, found)}
	}
	return []string{
		fmt.Sprintf("Mann–Whitney U test of %s (Benjamini–Hochberg, q < %v): %s, %s undecided.", table.Count(r.Tested, "row"), compare.Alpha, found, table.Thousands(undecided)),
		fmt.Sprintf("Undecided rows differ (p < %v), but among so many rows that can be chance.", compare.Alpha),
	}
}

// whyUnknown explains why no test can tell changes from noise.
func whyUnknown(r *compare.Result) string {
	if len(r.Base) == 1 && len(r.New) == 1 {
		return "one recording of each version cannot show it"
	}
	return fmt.Sprintf("with %d and %d recordings, chance explains any difference (p ≥ %.2f)", len(r.Base), len(r.New), r.Smallest)
}

// nothing explains why there are no rows.
func (q *compareQuery) nothing() string {
	if q.ofSamples() {
		return "The recordings, or the part that is selected, have no samples; --by slice compares slices."
	}
	return "The recordings, or the part that is selected, have nothing to compare; --by function compares samples."
}

// recordingsLine describes the recordings of one side: their number, names and lengths.
func recordingsLine(list []compare.Recording) string {
	shortest, longest := list[0].Length, list[0].Length
	for _, r := range list {
		shortest, longest = min(shortest, r.Length), max(longest, r.Length)
	}
	line := printable(list[0].Name)
	if n := len(list); n > 1 {
		line = fmt.Sprintf("%s recordings, %s … %s", table.Thousands(n), line, printable(list[n-1].Name))
	}
	if shortest == longest {
		return fmt.Sprintf("%s: %s ms", line, table.Millis(shortest))
	}
	return fmt.Sprintf("%s: %s to %s ms", line, table.Millis(shortest), table.Millis(longest))
}

// lengthsDiffer reports whether the longest recording exceeds the shortest by more than a tenth.
func lengthsDiffer(r *compare.Result) bool {
	shortest, longest := r.Base[0].Length, r.Base[0].Length
	for _, list := range [][]compare.Recording{r.Base, r.New} {
		for _, recording := range list {
			shortest, longest = min(shortest, recording.Length), max(longest, recording.Length)
		}
	}
	return longest-shortest > shortest/10
}

// nameWidth is the maximum width of names in messages.
const nameWidth = 44

// over returns the rows that are slower than --fail-over allows.
func (q *compareQuery) over(r *compare.Result) (rows []*compare.Row) {
	for i := range r.Rows {
		if r.Rows[i].Over(q.limit) {
			rows = append(rows, &r.Rows[i])
		}
	}
	return rows
}

// maxFailed is the maximum number of rows in the message about --fail-over.
const maxFailed = 5

// checkLimit returns an error that names the rows that are slower than --fail-over allows, if any.
func (q *compareQuery) checkLimit(env *environment, r *compare.Result) error {
	how := "significantly"
	if !r.Testable {
		how = "by these recordings alone (noise is unknown)"
	}
	rows := q.over(r)
	if r.Testable && slices.ContainsFunc(rows, func(row *compare.Row) bool { return row.Verdict == compare.Undecided }) {
		how = "significantly or in all recordings"
	}
	if len(r.Rows) == 0 {
		return errors.New("--fail-over: there is nothing to compare")
	}
	if len(rows) == 0 {
		fmt.Fprintf(env.stderr, "--fail-over %s: nothing is slower by more, %s\n", printable(q.failOver), how)
		return nil
	}
	var names []string
	for _, row := range rows[:min(len(rows), maxFailed)] {
		name := table.Elide(row.Name, nameWidth) + " (new)"
		if row.Ratio != nil {
			name = fmt.Sprintf("%s (+%.1f %%)", table.Elide(row.Name, nameWidth), 100**row.Ratio)
		}
		names = append(names, name)
	}
	if more := len(rows) - len(names); more > 0 {
		names = append(names, table.Thousands(more)+" more")
	}
	fmt.Fprintf(env.stderr, "weft: --fail-over %s: %s slower by more, %s: %s\n", printable(q.failOver), isOrAre(len(rows), "row"), how, strings.Join(names, ", "))
	return errSlower
}

func isOrAre(n int, what string) string {
	if n == 1 {
		return "1 " + what + " is"
	}
	return table.Thousands(n) + " " + what + "s are"
}
