package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/convert"
	escapes "github.com/weft-trace/weft/internal/printable"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/timeline"
)

// eventReport is a report that the command makes of slices, as the scripts do that came with the probes of a browser: one
// plain table, whose text is fixed to the byte.
type eventReport struct {
	name, usage, example string
	flags                []string // of its own
	make                 func(c *cli.Context, in *reportInput) (*eventTable, error)
}

// eventTable is such a report in all forms.
type eventTable struct {
	text      string
	json      any
	csv       [][]string // with headings
	uncounted int64      // for lack of room
	unnested  int64      // nested slices that are missing in their table for lack of room
	unnamed   int64      // without a function's name
	nothing   string     // why there are no rows; "": there are some
}

func eventReports() []eventReport {
	return []eventReport{
		{
			name: "layout-count", usage: "how often each phase of layout began", example: "weft report layout-count trace.json",
			flags: layoutFlagNames, make: layoutCountReport,
		},
		{
			name: "layout-time", usage: "how long each phase of layout took", example: "weft report layout-time --mode inclusive trace.json",
			flags: append([]string{"mode"}, layoutFlagNames...), make: layoutTimeReport,
		},
		{
			name: "layout-phases", usage: "count, total, longest and mean of each phase of layout, and how phases nest",
			example: "weft report layout-phases firefox.json",
			flags:   append([]string{"table"}, layoutFlagNames...), make: layoutPhasesReport,
		},
		{
			name: "js-funcalls", usage: "how often each JavaScript function was called", example: "weft report js-funcalls trace.json",
			flags: []string{"sampled"}, make: callsReport,
		},
	}
}

var layoutFlagNames = []string{"phases", "paint"}

// eventFlags are the flags that only these reports have.
func eventFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "phases", Usage: "layout: read the phases of slices from `FILE`, in lines of phase, tab, slice name",
			DefaultText: "phases of Chrome and Firefox"},
		&cli.StringFlag{Name: "paint", Usage: "layout: also count `NAMES` as paint: " + strings.Join(report.PaintOptions(), ",")},
		&cli.StringFlag{Name: "mode", Usage: "layout-time: add up nested slices `HOW`: dtrace (as layout_time.d), exclusive or inclusive",
			DefaultText: "dtrace for probes, otherwise exclusive"},
		&cli.BoolFlag{Name: "sampled", Usage: "js-funcalls: count calls in samples (lower bounds) even if the trace has exact calls", DisableDefaultText: true},
	}
}

// checkEventFlags refuses flags that a report on slices does not have.
func checkEventFlags(c *cli.Context, r *eventReport) error {
	for _, f := range slices.Concat(sampleFlags(), costFlags(), eventFlags(), inputFlags(), profileFlags()[:1]) {
		name := f.Names()[0]
		if c.IsSet(name) && !slices.Contains(r.flags, name) {
			return usagef("--%s: the report %s does not have this flag", name, r.name)
		}
	}
	switch {
	case c.IsSet("phases") && c.IsSet("paint"):
		return usagef("--paint and --phases cannot be combined: --phases replaces the phases that --paint adds to")
	case c.IsSet("table") && !c.Bool("csv"):
		return usagef("--table: the report %s takes this flag only with --csv", r.name)
	case c.IsSet("limit") && slices.Contains(r.flags, "table"):
		return usagef("--limit: the report %s does not have this flag", r.name)
	}
	return nil
}

// refuseEventFlags refuses, for the reports on samples and costs, flags that only those on slices and input have.
func refuseEventFlags(c *cli.Context, report string) error {
	for _, f := range inputFlags() {
		if name := f.Names()[0]; c.IsSet(name) {
			return usagef("--%s: the report %s does not have this flag", name, report)
		}
	}
	for _, f := range eventFlags() {
		name := f.Names()[0]
		if !c.IsSet(name) {
			continue
		}
		var owners []string
		for _, r := range eventReports() {
			if slices.Contains(r.flags, name) {
				owners = append(owners, r.name)
			}
		}
		return usagef("--%s: the report %s does not have this flag, only %s", name, report, strings.Join(owners, ", "))
	}
	return nil
}

// runEventReport prints a report on slices.
func runEventReport(c *cli.Context, env *environment, r *eventReport) (err error) {
	opts, err := inputOptions(c)
	if err != nil {
		return err
	}
	opts.JSCalls = convert.JSCallsOff // samples are counted, not the calls that are made of them
	in, err := openReportInput(c, env, opts)
	if err != nil {
		return err
	}
	in.printProblems(env, costProblems)
	in.printNotCounted(env, true)
	result, err := r.make(c, in)
	if err = errors.Join(err, in.Close()); err != nil {
		return err
	}
	printNote(env, in.name, result.note())
	if order := readArrangement(c); order.isSet() {
		t := tableOfRecords(result.csv)
		if err := order.check([]table{t}, "", true, 0); err != nil {
			return err
		}
		tables := []table{t}
		order.apply(tables)
		if c.Bool("csv") {
			return tables[0].writePlainCSV(env.stdout)
		}
		var b bytes.Buffer
		on := env.terminal(env.stdout)
		tables[0].fit(on.columns)
		tables[0].writeText(&b, on)
		_, err := env.stdout.Write(b.Bytes())
		return err
	}
	switch {
	case c.Bool("json"):
		return writeJSON(env.stdout, result.json)
	case c.Bool("csv"):
		out := csv.NewWriter(env.stdout)
		for _, record := range result.csv {
			if err := out.Write(escapes.Lines(record)); err != nil {
				return err
			}
		}
		out.Flush()
		return out.Error()
	}
	_, err = io.WriteString(env.stdout, result.text)
	return err
}

// note says what the table does not: why it is empty, or that it is not complete.
func (t *eventTable) note() string {
	switch {
	case t.unnamed > 0:
		return fmt.Sprintf("%d calls are in no row: their probes were truncated before the function name", t.unnamed)
	case t.uncounted > 0:
		return fmt.Sprintf("too many rows: %d slices or calls are in none", t.uncounted)
	case t.unnested > 0:
		return fmt.Sprintf("too many pairs of phases: %d nested slices are in no row", t.unnested)
	}
	return t.nothing
}

// maxSmallFile bounds files that people write, such as that of --phases.
const maxSmallFile = 1 << 20

// readSmall reads a file that people write. One that has no end is an error.
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

// readPhases reads the file of --phases, which gives the phases of slices by their names.
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

// collectLayout counts the phases of layout of a trace, in a table without rows.
func collectLayout(c *cli.Context, in *reportInput) (*report.Layout, *eventTable, error) {
	opts, err := layoutOptions(c)
	if err != nil {
		return nil, nil, err
	}
	opts.Selected = in.selected
	l, err := report.CollectLayout(c.Context, in.timeline, opts)
	if err != nil {
		return nil, nil, err
	}
	return l, &eventTable{uncounted: l.Uncounted}, nil
}

const noLayout = "this trace has no layout events; record the layout probes, a Chrome trace with the category devtools.timeline,\n" +
	"or a Firefox profile, or name other slices with --phases"

// layoutRows are rows in the JSON form.
type layoutRows[Row any] struct {
	Mode      string `json:"mode,omitempty"` // of layout-time
	Rows      []Row  `json:"rows"`
	Uncounted int64  `json:"uncounted"`
}

// layoutCountReport makes the report layout-count.
func layoutCountReport(c *cli.Context, in *reportInput) (*eventTable, error) {
	l, out, err := collectLayout(c, in)
	if err != nil {
		return nil, err
	}
	rows := largest(l.Counts(), c)
	out.empty(len(rows) == 0, in.nothing(noLayout))
	out.json = layoutRows[report.LayoutCount]{Rows: rows, Uncounted: l.Uncounted}
	out.csv = [][]string{{"context", "phase", "function", "count"}}
	var b strings.Builder
	b.WriteString(right("Pres Ctx", 10) + " " + right("Phase", 10) + " " + right("Count", 8) + " " + left("Function", 30) + " \n")
	for _, r := range rows {
		out.csv = append(out.csv, []string{r.Context, r.Phase, r.Function, decimal(r.Count)})
		b.WriteString(layoutCells(r.LayoutKey) + " " + right(decimal(r.Count), 5) + " " + left(escaped(r.Function), 30) + " \n")
	}
	out.text = b.String()
	return out, nil
}

// timeModes are the values of --mode.
var timeModes = [...]string{report.ByDTrace: "dtrace", report.Exclusive: "exclusive", report.Inclusive: "inclusive"}

// timeMode reads --mode; without it, the trace says which mode counts.
func timeMode(c *cli.Context) (of func(*report.Layout) report.TimeMode, err error) {
	if !c.IsSet("mode") {
		return (*report.Layout).DefaultMode, nil
	}
	mode := slices.Index(timeModes[:], c.String("mode"))
	if mode < 0 {
		return nil, unknownValue("mode", "way", c.String("mode"), timeModes[:]...)
	}
	return func(*report.Layout) report.TimeMode { return report.TimeMode(mode) }, nil
}

// layoutTimeReport makes the report layout-time.
func layoutTimeReport(c *cli.Context, in *reportInput) (*eventTable, error) {
	choose, err := timeMode(c)
	if err != nil {
		return nil, err
	}
	l, out, err := collectLayout(c, in)
	if err != nil {
		return nil, err
	}
	mode := choose(l)
	rows := largest(l.Times(mode), c)
	out.empty(len(rows) == 0, in.nothing(noLayout))
	out.json = layoutRows[report.LayoutTime]{Mode: timeModes[mode], Rows: rows, Uncounted: l.Uncounted}
	out.csv = [][]string{{"context", "phase", "time_us"}}
	var b strings.Builder
	b.WriteString(right("Pres Ctx", 10) + " " + right("Phase", 10) + " " + right("Time(usec)", 8) + "\n")
	for _, r := range rows {
		out.csv = append(out.csv, []string{r.Context, r.Phase, decimal(r.Micros)})
		b.WriteString(layoutCells(r.LayoutKey) + " " + right(decimal(r.Micros), 5) + "\n")
	}
	out.text = b.String()
	return out, nil
}

// phasesRows is the report layout-phases in the JSON form.
type phasesRows struct {
	Rows             []report.LayoutPhase   `json:"rows"`
	Nesting          []report.LayoutNesting `json:"nesting"`
	UnbalancedStarts int64                  `json:"unbalanced_starts"`
	UnmatchedEnds    int64                  `json:"unmatched_ends"`
	Uncounted        int64                  `json:"uncounted"`
	UncountedNesting int64                  `json:"uncounted_nesting"`
}

// layoutPhasesReport makes the report layout-phases.
func layoutPhasesReport(c *cli.Context, in *reportInput) (*eventTable, error) {
	tables := []table{{name: "phases"}, {name: "nesting"}}
	shown, err := findTable(tables, c.String("table"))
	if err != nil {
		return nil, err
	}
	l, out, err := collectLayout(c, in)
	if err != nil {
		return nil, err
	}
	all := phasesRows{l.Phases(), l.Nesting(), l.UnbalancedStarts, l.UnmatchedEnds, l.Uncounted, l.UncountedNesting}
	out.unnested = l.UncountedNesting
	out.empty(len(all.Rows)+len(all.Nesting) == 0 && l.UnbalancedStarts+l.UnmatchedEnds == 0, in.nothing(noLayout))
	out.json = all
	phases, nesting := phasesTable(all.Rows), nestingTable(all.Nesting)
	out.text = fmt.Sprintf("%s\n%s\nUnbalanced: %d starts, %d ends\n", phases.text, nesting.text, l.UnbalancedStarts, l.UnmatchedEnds)
	out.csv = phases.csv
	if tables[shown].name == "nesting" {
		out.csv = nesting.csv
	}
	return out, nil
}

// phasesTable makes the first table of layout-phases.
func phasesTable(rows []report.LayoutPhase) (out eventTable) {
	out.csv = [][]string{{"context", "phase", "count", "total_ns", "max_ns", "mean_ns"}}
	var b strings.Builder
	b.WriteString(right("Pres Ctx", 10) + " " + right("Phase", 10) + " " + right("Count", 8) + " " +
		right("Total(usec)", 12) + " " + right("Max(usec)", 12) + " " + right("Mean(usec)", 12) + "\n")
	for _, r := range rows {
		line := []string{r.Context, r.Phase, decimal(r.Count)}
		b.WriteString(layoutCells(r.LayoutKey) + " " + right(decimal(r.Count), 6))
		for _, t := range []timeline.Nanos{r.Total, r.Max, r.Mean} {
			line = append(line, decimal(int64(t)))
			b.WriteString(" " + right(decimal(int64(t/timeline.Microsecond)), 12))
		}
		b.WriteByte('\n')
		out.csv = append(out.csv, line)
	}
	out.text = b.String()
	return out
}

// nestingTable makes the second one.
func nestingTable(rows []report.LayoutNesting) (out eventTable) {
	out.csv = [][]string{{"outer", "inner", "count"}}
	var b strings.Builder
	b.WriteString(right("Outer", 12) + " " + right("Inner", 12) + " " + right("Count", 8) + "\n")
	for _, r := range rows {
		out.csv = append(out.csv, []string{r.Outer, r.Inner, decimal(r.Count)})
		b.WriteString(phaseCell(r.Outer) + " " + phaseCell(r.Inner) + " " + right(decimal(r.Count), 8) + "\n")
	}
	out.text = b.String()
	return out
}

// callsReport makes the report js-funcalls.
func callsReport(c *cli.Context, in *reportInput) (*eventTable, error) {
	calls, err := report.CountCalls(c.Context, in.timeline, report.CallOptions{Sampled: c.Bool("sampled"), Selected: in.selected})
	if err != nil {
		return nil, err
	}
	calls.Rows = largest(calls.Rows, c)
	out := &eventTable{json: calls, uncounted: calls.Uncounted, unnamed: calls.Unnamed, csv: [][]string{{"file", "function", "calls", "sampled"}}}
	out.empty(len(calls.Rows) == 0, in.nothing("this trace has no calls; record the js_function probes, a Chrome trace with FunctionCall events, or JavaScript samples"))
	var b strings.Builder
	if calls.Sampled {
		b.WriteString("# sampled: lower bounds\n")
	}
	b.WriteString(" " + left("FILE", 32) + " " + left("FUNC", 36) + " " + right("CALLS", 8) + "\n")
	for _, r := range calls.Rows {
		out.csv = append(out.csv, []string{r.File, r.Function, decimal(r.Calls), strconv.FormatBool(calls.Sampled)})
		b.WriteString(" " + left(escaped(r.File), 32) + " " + left(escaped(r.Function), 36) + " " + right(decimal(r.Calls), 8) + "\n")
	}
	out.text = b.String()
	return out, nil
}

func (t *eventTable) empty(empty bool, why string) {
	if empty {
		t.nothing = why
	}
}

// largest returns the last rows, which have the largest numbers, as many as --limit says: all without it.
func largest[T any](rows []T, c *cli.Context) []T {
	if n := c.Int("limit"); c.IsSet("limit") && !c.IsSet("sort") && n > 0 && n < len(rows) {
		return rows[len(rows)-n:]
	}
	return rows
}

// layoutCells returns the first two cells of a row about layout.
func layoutCells(key report.LayoutKey) string {
	return right(escaped(key.Context), 10) + " " + phaseCell(key.Phase)
}

func phaseCell(phase string) string { return "[ " + right(escaped(phase), 8) + " ]" }

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// left and right fill a text with blanks up to a width in bytes, as printf does.
func left(text string, width int) string  { return text + blanks(width-len(text)) }
func right(text string, width int) string { return blanks(width-len(text)) + text }

func blanks(n int) string { return strings.Repeat(" ", max(n, 0)) }

// escaped writes control characters as C does.
func escaped(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		switch {
		case c >= '\a' && c <= '\r':
			b.WriteString(`\` + "abtnvfr"[c-'\a':][:1])
		case c < 32 || c == 127:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	return printable(b.String()) // which is about the others
}
