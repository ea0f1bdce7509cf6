package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/attribution"
	costtables "github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/words"
)

// costTitles maps the names of cost table columns to titles. Other columns are for programs only.
var costTitles = map[string]string{
	"self_ns": "self ms", "total_ns": "total ms", "self_cpu_ns": "CPU ms", "self_without_cpu_ns": "CPU unknown ms", "slices": "slices",
	"long_tasks": "long slices", "gc_provoked_ns": "provoked GC ms", "freed_bytes": "freed KB",
	"requests": "requests", "network_bytes": "received KB", "async_ns": "async ms",
	"inputs": "inputs", "worst_input_latency_ns": "worst latency ms",
}

// lessTelling lists the titles of columns to leave out when room is short, the least important last.
var lessTelling = []string{
	"total ms", "CPU ms", "long slices", "forced ms", "worst latency ms", "requests", "received KB", "inputs", "provoked GC ms", "freed KB",
	"slices", "async ms", "CPU unknown ms",
}

// costKinds maps the units of columns to their kinds.
var costKinds = map[costtables.Unit]table.Kind{
	costtables.Count: table.CountKind, costtables.Nanoseconds: table.TimeKind, costtables.Bytes: table.ByteKind,
}

// CostReport renders cost tables below a heading.
func CostReport(heading string, tables []*costtables.Table) *table.Report {
	if tables == nil {
		tables = []*costtables.Table{}
	}
	out := &table.Report{Head: []table.Record{table.JSON(tables)}, Sections: []table.Section{{Lines: []string{heading}}}}
	for _, t := range tables {
		out.Sections[0].Tables = append(out.Sections[0].Tables, CostTable(t))
	}
	return out
}

// CostTable renders a cost table. Input events are shown with their time since the start of the trace, as in --from and --to.
func CostTable(t *costtables.Table) *table.Table {
	title, split := t.Type, ""
	if t.Group != costtables.GroupNone {
		title += " by " + t.Group.String()
	}
	if t.Split != costtables.SplitNone {
		split = t.Split.String()
	}
	names := map[*costtables.Row]string{}
	for i, name := range costNames(t) {
		names[&t.Rows[i]] = name
	}
	columns := []table.TypedColumn[costtables.Row]{
		table.Texts("type", "", func(*costtables.Row) string { return t.Type }).Fixed(),
		table.Texts("id", "", func(r *costtables.Row) string { return r.ID }).Fixed(),
		table.Cells(table.Column{Key: "name", Title: words.Printable(title)}, func(r *costtables.Row) table.Cell {
			return table.Cell{Text: r.Name, Short: names[r], Long: ContextName(t, r)}
		}).Fixed().WithRole(table.Group),
		table.Cells(table.Column{Key: "part", Title: split}, func(r *costtables.Row) table.Cell {
			part := r.Part
			if t.Split == costtables.SplitProcess {
				part = timeline.Program(part)
			}
			return table.Cell{Text: r.Part, Short: table.Elide(part, MaxName)}
		}).Fixed().WithRole(table.Group),
		table.Texts("class", "", func(r *costtables.Row) string { return r.Class }),
		table.Texts("parent", "", func(r *costtables.Row) string { return r.Parent }),
		table.MomentCells("", "at", func(r *costtables.Row) table.Cell {
			if r.Input == nil {
				return table.None
			}
			return table.Moment(r.Input.Start, t.Start)
		}).Fixed().Only(slices.ContainsFunc(t.Rows, func(r costtables.Row) bool { return r.Input != nil })),
	}
	out := table.New(table.Table{Name: "costs", Key: "self_ns", Flush: true, All: len(t.Rows) + t.Omitted, Folding: table.Grouped, Total: int64(t.Busy)}, t.Rows, append(columns, costNumbers(t)...)...)
	for i := range t.Rows {
		out.Rows[i].Last = t.Rows[i].None
	}
	if t.Unattributed >= t.Busy/10 && t.Elsewhere.Time > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%s: %s ms of it on threads that work for no %s, most on %s", attribution.Unattributed,
			table.Millis(t.Elsewhere.Time), t.Type, table.Elide(t.Elsewhere.Thread, MaxName)))
	}
	if t.Limited > 0 {
		out.Notes = append(out.Notes, "too many rows: "+table.Thousands(t.Limited)+" costs are in (others) or are uncounted input events")
	}
	return out
}

// costNumbers returns the columns with numbers.
func costNumbers(t *costtables.Table) (columns []table.TypedColumn[costtables.Row]) {
	add := func(c table.Column, cell func(*costtables.Row) table.Cell) {
		c.DropOrder = uint8(slices.Index(lessTelling, c.Title) + 1)
		c.IfAny = c.Key != "self_ns" && c.Kind != table.PercentKind
		switch {
		case c.Key == "self_ns":
			c.Role = table.Main
		case c.Key == "worst_input_latency_ns":
			c.Role = table.Largest
		case c.Kind != table.PercentKind:
			c.Role = table.Sum
		}
		columns = append(columns, table.Cells(c, cell))
	}
	for i := range costtables.Columns {
		c := &costtables.Columns[i]
		if c.Name == "forced_style_ns" {
			add(table.Column{Title: "forced ms", Kind: table.TimeKind}, func(r *costtables.Row) table.Cell { return table.Number(r.ForcedStyle + r.ForcedLayout) })
		}
		add(table.Column{Key: c.Name, Title: costTitles[c.Name], Kind: costKinds[c.Unit]}, func(r *costtables.Row) table.Cell {
			return table.Cell{Number: c.Value(r), Absent: !c.In(r)}
		})
		if c.Name == "self_ns" {
			add(table.Column{Title: "%", Kind: table.PercentKind}, func(r *costtables.Row) table.Cell { return table.Counted(r.Self, int64(t.Busy)) })
		}
	}
	for c := producers.CategoryNone + 1; c < producers.CategoryCount; c++ {
		columns = append(columns, table.Times("self_"+c.String()+"_ns", "", func(r *costtables.Row) timeline.Nanos { return r.SelfByCategory[c] }).WithRole(table.Sum))
	}
	return columns
}

// SelectCosts restricts the costs of an attribution to the selected part of the trace. If selected is nil, all costs count.
func SelectCosts(rules *attribution.Rules, selected *selection.Selection) {
	if rules.Cost.Window.From, rules.Cost.Window.To = selected.Window(); selected != nil {
		rules.Cost.Counts = selected.Head
		rules.Cost.CountsThread = func(thread timeline.TrackID) bool { return selected.Track(thread) && selected.SelectsUnnamed() }
	}
}

// ContextName returns the name of a context for places with enough room. Pages and frames without a known URL are named by the
// start of their id.
func ContextName(t *costtables.Table, r *costtables.Row) string {
	typ := strings.TrimSuffix(t.Type, " (derived)")
	isID := len(r.Name) == 32 && strings.Trim(r.Name, "0123456789ABCDEF") == "" // the id of a Chrome frame
	switch {
	case (typ == costtables.TypePage || typ == "Frame") && isID:
		return "frame " + r.Name[:8] + "… (url not recorded)"
	case r.Name == "":
		return r.ID
	case r.Class != "" && !strings.Contains(r.Name, r.Class):
		return r.Name + " (" + r.Class + ")"
	}
	return r.Name
}

// costNames returns the displayed names of the rows. If several contexts have the same name, their ids are appended.
func costNames(t *costtables.Table) []string {
	names, first, same := make([]string, len(t.Rows)), map[string]string{}, map[string]bool{}
	for i := range t.Rows {
		r := &t.Rows[i]
		if names[i] = r.Name; strings.EqualFold(t.Type, costtables.TypeProcess) {
			names[i] = timeline.Program(r.Name)
		}
		names[i] = table.Elide(names[i], MaxName)
		if id, ok := first[names[i]]; !ok {
			first[names[i]] = r.ID
		} else if id != r.ID {
			same[names[i]] = true
		}
	}
	for i, name := range names {
		if same[name] {
			names[i] += " (" + t.Rows[i].ID + ")"
		}
	}
	return names
}
