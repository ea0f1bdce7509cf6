package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/words"
)

// The reports on layout phases and on function calls reproduce the output of DTrace scripts that came with the probes of a
// browser. Their text is fixed to the byte; when sorted, or with chosen columns, they are tables like all others.

const noLayout = "this trace has no layout events; record the layout probes, a Chrome trace with the category devtools.timeline,\n" +
	"or a Firefox profile, or name other slices with --phases"

// fixed returns a report with a fixed text. If the report lacks rows, the parameter nothing is its message.
func fixed(text string, json table.Record, nothing string, tables ...*table.Table) *table.Report {
	r := &table.Report{Fixed: true, Text: text, Head: []table.Record{json}, Sections: []table.Section{{Tables: tables}}}
	for _, t := range tables {
		if t.IgnoresLimit = true; len(t.Rows) > 0 {
			return r
		}
	}
	r.Nothing = nothing
	return r
}

// text and number return columns whose titles are their keys.
func text[T any](key string, of func(*T) string) table.TypedColumn[T] {
	return table.Texts(key, key, of)
}

func number[T any, N table.Integer](key string, of func(*T) N) table.TypedColumn[T] {
	return table.Counts(key, key, of)
}

// uncounted adds a warning to a report if some slices are in no row because there are too many rows.
func (l *Layout) uncounted(r *table.Report) *table.Report {
	if l.Uncounted > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("too many rows: %d slices or calls are in none", l.Uncounted))
	}
	return r
}

// layoutRows is the JSON form of rows about layout.
type layoutRows[Row any] struct {
	Mode      string `json:"mode,omitempty"` // only for times
	Rows      []Row  `json:"rows"`
	Uncounted int64  `json:"uncounted"`
}

// CountReport renders how often phases began. It keeps the rows with the largest counts, at most limit; if limit is 0, it keeps
// all rows. The largest counts come last.
func (l *Layout) CountReport(limit int) *table.Report {
	rows := largest(l.Counts(), limit)
	var b strings.Builder
	b.WriteString(right("Pres Ctx", 10) + " " + right("Phase", 10) + " " + right("Count", 8) + " " + left("Function", 30) + " \n")
	for _, r := range rows {
		b.WriteString(layoutCells(r.LayoutKey) + " " + right(decimal(r.Count), 5) + " " + left(escaped(r.Function), 30) + " \n")
	}
	return l.uncounted(fixed(b.String(), table.JSON(layoutRows[LayoutCount]{Rows: rows, Uncounted: l.Uncounted}), noLayout,
		table.New(table.Table{Name: "counts", Folding: table.Grouped}, rows,
			text("context", func(r *LayoutCount) string { return r.Context }), text("phase", func(r *LayoutCount) string { return r.Phase }).WithRole(table.Group),
			text("function", func(r *LayoutCount) string { return r.Function }).WithRole(table.Group), number("count", func(r *LayoutCount) int64 { return r.Count }).WithRole(table.Sum),
		)))
}

// TimeModes holds the names of the modes of Times.
var TimeModes = [...]string{ByDTrace: "dtrace", Exclusive: "exclusive", Inclusive: "inclusive"}

// TimeReport renders how long phases took, with a limit as for CountReport.
func (l *Layout) TimeReport(mode TimeMode, limit int) *table.Report {
	rows := largest(l.Times(mode), limit)
	var b strings.Builder
	b.WriteString(right("Pres Ctx", 10) + " " + right("Phase", 10) + " " + right("Time(usec)", 8) + "\n")
	for _, r := range rows {
		b.WriteString(layoutCells(r.LayoutKey) + " " + right(decimal(r.Micros), 5) + "\n")
	}
	return l.uncounted(fixed(b.String(), table.JSON(layoutRows[LayoutTime]{Mode: TimeModes[mode], Rows: rows, Uncounted: l.Uncounted}), noLayout,
		table.New(table.Table{Name: "times", Folding: table.Grouped}, rows,
			text("context", func(r *LayoutTime) string { return r.Context }), text("phase", func(r *LayoutTime) string { return r.Phase }).WithRole(table.Group),
			number("time_us", func(r *LayoutTime) int64 { return r.Micros }).WithRole(table.Main),
		)))
}

// phasesRows is the JSON form of the rows about phases.
type phasesRows struct {
	Rows             []LayoutPhase   `json:"rows"`
	Nesting          []LayoutNesting `json:"nesting"`
	UnbalancedStarts int64           `json:"unbalanced_starts"`
	UnmatchedEnds    int64           `json:"unmatched_ends"`
	Uncounted        int64           `json:"uncounted"`
	UncountedNesting int64           `json:"uncounted_nesting"`
}

// PhaseReport renders phases, and how they nest.
func (l *Layout) PhaseReport() *table.Report {
	all := phasesRows{l.Phases(), l.Nesting(), l.UnbalancedStarts, l.UnmatchedEnds, l.Uncounted, l.UncountedNesting}
	var b strings.Builder
	b.WriteString(right("Pres Ctx", 10) + " " + right("Phase", 10) + " " + right("Count", 8) + " " +
		right("Total(usec)", 12) + " " + right("Max(usec)", 12) + " " + right("Mean(usec)", 12) + "\n")
	for _, r := range all.Rows {
		b.WriteString(layoutCells(r.LayoutKey) + " " + right(decimal(r.Count), 6))
		for _, t := range []timeline.Nanos{r.Total, r.Max, r.Mean} {
			b.WriteString(" " + right(decimal(int64(t/timeline.Microsecond)), 12))
		}
		b.WriteByte('\n')
	}
	b.WriteString("\n" + right("Outer", 12) + " " + right("Inner", 12) + " " + right("Count", 8) + "\n")
	for _, r := range all.Nesting {
		b.WriteString(phaseCell(r.Outer) + " " + phaseCell(r.Inner) + " " + right(decimal(r.Count), 8) + "\n")
	}
	fmt.Fprintf(&b, "\nUnbalanced: %d starts, %d ends\n", l.UnbalancedStarts, l.UnmatchedEnds)
	nothing := noLayout
	if l.UnbalancedStarts+l.UnmatchedEnds > 0 {
		nothing = ""
	}
	out := l.uncounted(fixed(b.String(), table.JSON(all), nothing,
		table.New(table.Table{Name: "phases"}, all.Rows,
			text("context", func(r *LayoutPhase) string { return r.Context }), text("phase", func(r *LayoutPhase) string { return r.Phase }),
			number("count", func(r *LayoutPhase) int64 { return r.Count }), number("total_ns", func(r *LayoutPhase) timeline.Nanos { return r.Total }),
			number("max_ns", func(r *LayoutPhase) timeline.Nanos { return r.Max }), number("mean_ns", func(r *LayoutPhase) timeline.Nanos { return r.Mean }),
		),
		table.New(table.Table{Name: "nesting"}, all.Nesting,
			text("outer", func(r *LayoutNesting) string { return r.Outer }), text("inner", func(r *LayoutNesting) string { return r.Inner }),
			number("count", func(r *LayoutNesting) int64 { return r.Count }),
		)))
	if l.UncountedNesting > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("too many pairs of phases: %d nested slices are in no row", l.UncountedNesting))
	}
	return out
}

// Report renders calls, with a limit as for Layout.CountReport.
func (c *Calls) Report(limit int) *table.Report {
	c.Rows = largest(c.Rows, limit)
	var b strings.Builder
	if c.Sampled {
		b.WriteString("# sampled: lower bounds\n")
	}
	b.WriteString(" " + left("FILE", 32) + " " + left("FUNC", 36) + " " + right("CALLS", 8) + "\n")
	for _, r := range c.Rows {
		b.WriteString(" " + left(escaped(r.File), 32) + " " + left(escaped(r.Function), 36) + " " + right(decimal(r.Calls), 8) + "\n")
	}
	out := fixed(b.String(), table.JSON(c), "this trace has no calls; record the js_function probes, a Chrome trace with FunctionCall events, or JavaScript samples",
		table.New(table.Table{Name: "calls"}, c.Rows,
			text("file", func(r *FunctionCall) string { return r.File }), text("function", func(r *FunctionCall) string { return r.Function }),
			number("calls", func(r *FunctionCall) int64 { return r.Calls }),
			text("sampled", func(*FunctionCall) string { return strconv.FormatBool(c.Sampled) }),
		))
	switch {
	case c.Unnamed > 0:
		out.Notes = append(out.Notes, fmt.Sprintf("%d calls are in no row: their probes were truncated before the function name", c.Unnamed))
	case c.Uncounted > 0:
		out.Notes = append(out.Notes, fmt.Sprintf("too many rows: %d slices or calls are in none", c.Uncounted))
	}
	return out
}

// largest returns the last rows, which have the largest numbers. There are at most limit; if limit is 0, it returns all rows.
func largest[T any](rows []T, limit int) []T {
	if limit > 0 && limit < len(rows) {
		return rows[len(rows)-limit:]
	}
	return rows
}

// layoutCells returns the first two cells of a row about layout.
func layoutCells(key LayoutKey) string {
	return right(escaped(key.Context), 10) + " " + phaseCell(key.Phase)
}

func phaseCell(phase string) string { return "[ " + right(escaped(phase), 8) + " ]" }

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// left and right pad a text to a width in bytes, as printf does.
func left(text string, width int) string  { return text + blanks(width-len(text)) }
func right(text string, width int) string { return blanks(width-len(text)) + text }

func blanks(n int) string { return strings.Repeat(" ", max(n, 0)) }

// escaped writes control characters as C escape sequences.
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
	return words.Printable(b.String()) // escapes the other unprintable characters
}
