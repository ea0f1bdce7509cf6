package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/internal/compare"
)

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
	a.tables[0].title, a.tables[1].title = "changes, by size", "changes of asynchronous slices (they overlap), by size"
	order.apply(a.tables)
	for i := range a.tables {
		a.tables[i].limit(shownRows(c))
	}
	return a.writeText(env.stdout, env.terminal(env.stdout), "")
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

func (q *compareQuery) printJSON(env *environment, r *compare.Result, limit int) error {
	s := compareSummary{
		Table: "summary", By: q.by, Per: q.per(), Base: r.Base, New: r.New, Test: "mann-whitney-u", Alpha: compare.Alpha, SmallestP: r.Smallest,
		Testable: r.Testable, Correct: "benjamini-hochberg", Enough: r.Enough, Rows: len(r.Rows), Tested: r.Tested, Slower: r.Counts[compare.Slower], Faster: r.Counts[compare.Faster],
		Undecided: r.Counts[compare.Undecided], Noise: r.Counts[compare.Noise], Equal: r.Counts[compare.Equal], Others: r.Others, FailOver: q.failOver,
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
		lines = append(lines, "The recordings differ in length; --per second compares the time per second of them.")
	}
	if len(r.Base) > 1 || len(r.New) > 1 {
		lines[2] = strings.Replace(lines[2], "self time", "median self time", 1)
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

// testLines say which test was made, what it found, and why it could not decide.
func testLines(r *compare.Result) []string {
	undecided := r.Counts[compare.Undecided]
	found := fmt.Sprintf("%s slower, %s faster", thousands(r.Counts[compare.Slower]), thousands(r.Counts[compare.Faster]))
	if undecided == 0 {
		return []string{fmt.Sprintf("Mann–Whitney U test of %s (Benjamini–Hochberg, q < %v): %s.", count(r.Tested, "row"), compare.Alpha, found)}
	}
	return []string{
		fmt.Sprintf("Mann–Whitney U test of %s (Benjamini–Hochberg, q < %v): %s, %s undecided.", count(r.Tested, "row"), compare.Alpha, found, thousands(undecided)),
		fmt.Sprintf("Undecided rows differ (p < %v), but among so many rows that can be chance.", compare.Alpha),
	}
}

// whyUnknown says why no test tells changes from noise.
func whyUnknown(r *compare.Result) string {
	if len(r.Base) == 1 && len(r.New) == 1 {
		return "one recording of each version cannot show it"
	}
	return fmt.Sprintf("with %d and %d recordings, chance explains any difference (p ≥ %.2f)", len(r.Base), len(r.New), r.Smallest)
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
		line = fmt.Sprintf("%s recordings, %s … %s", thousands(n), line, printable(list[n-1].Name))
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
	t := table{name: "changes", key: "change_ns", columns: []column{
		spare(4, texts("kind", "")), texts("name", q.by.String()), spare(1, texts("location", "")),
		spare(3, times("base_ns", "base ms")), spare(2, times("new_ns", "new ms")), {name: "change_ns", title: "change ms", kind: changeColumn},
		{name: "change_permille", title: "change", kind: ratioColumn}, spare(6, whole(texts("p", ""))), spare(5, whole(texts("q", ""))), whole(texts("verdict", "")),
		spare(8, counts("base_count", "base count")), spare(7, counts("new_count", "new count")),
	}}
	if r.Testable {
		t.columns[7].title, t.columns[8].title, t.columns[9].title = "p", "q", "verdict"
	}
	if q.opts.PerSecond {
		t.columns[3].title, t.columns[4].title, t.columns[5].title = "base ms/s", "new ms/s", "change ms/s"
		t.columns[10].title, t.columns[11].title = "base count/s", "new count/s"
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		if shown == nil || !shown(row) {
			continue
		}
		if row.Location != "" {
			t.columns[2].title = "location"
		}
		t.rows = append(t.rows, compareCells(row))
	}
	switch {
	case q.by == compare.ByContext:
		t.columns[0].title = "type"
	case slices.ContainsFunc(t.rows, func(row []cell) bool { return row[0].text != t.rows[0][0].text }):
		t.columns[0].title = "kind"
	}
	return t
}

func compareCells(row *compare.Row) []cell {
	ratio, p, q := cell{absent: true}, cell{}, cell{}
	if row.Ratio != nil {
		ratio = cell{number: int64(min(max(*row.Ratio*1000, -1000), 1e15))}
	} else if ratio.short = "from 0"; row.Only == "new" {
		ratio.short = "new"
	}
	if row.P != nil {
		p.text, q.text = strconv.FormatFloat(*row.P, 'f', 4, 64), strconv.FormatFloat(*row.Q, 'f', 4, 64)
	}
	return []cell{
		textCell(row.Kind), nameCell(row.Name, nameWidth), {text: row.Location, short: elideTo(row.Location, nameWidth)},
		timeCell(row.BaseMedian), timeCell(row.NewMedian), timeCell(row.Change), ratio, p, q, textCell(row.Verdict.String()),
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
		name := elideTo(row.Name, nameWidth) + " (new)"
		if row.Ratio != nil {
			name = fmt.Sprintf("%s (+%.1f %%)", elideTo(row.Name, nameWidth), 100**row.Ratio)
		}
		names = append(names, name)
	}
	if more := len(rows) - len(names); more > 0 {
		names = append(names, thousands(more)+" more")
	}
	fmt.Fprintf(env.stderr, "weft: --fail-over %s: %s slower by more, %s: %s\n", printable(q.failOver), isOrAre(len(rows), "row"), how, strings.Join(names, ", "))
	return errSlower
}

func isOrAre(n int, what string) string {
	if n == 1 {
		return "1 " + what + " is"
	}
	return thousands(n) + " " + what + "s are"
}
