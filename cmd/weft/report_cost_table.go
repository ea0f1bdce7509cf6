package main

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"

	costtables "github.com/weft-trace/weft/internal/attribution/tables"
	escapes "github.com/weft-trace/weft/internal/printable"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/timeline"
)

// costColumn is a column of a cost table; cell returns its cell of a row.
type costColumn struct {
	column
	cell func(*costtables.Row) cell
}

// costTitles are the titles of columns of cost tables by their names. The others are for programs only.
var costTitles = map[string]string{
	"self_ns": "self ms", "total_ns": "total ms", "self_cpu_ns": "CPU ms", "self_without_cpu_ns": "CPU unknown ms", "slices": "slices",
	"long_tasks": "long slices", "gc_provoked_ns": "provoked GC ms", "freed_bytes": "freed KB",
	"requests": "requests", "network_bytes": "received KB", "async_ns": "async ms",
	"inputs": "inputs", "worst_input_latency_ns": "worst latency ms",
}

// costKinds are the kinds of columns by their units.
var costKinds = map[costtables.Unit]columnKind{
	costtables.Count: countColumn, costtables.Nanoseconds: timeColumn, costtables.Bytes: byteColumn,
}

// costColumns returns the numbers of a cost table in the order of both its forms.
func costColumns(t *costtables.Table) []costColumn {
	var columns []costColumn
	for i := range costtables.Columns {
		c := &costtables.Columns[i]
		if c.Name == "forced_style_ns" { // people get one column for what programs get four
			columns = append(columns, costColumn{times("", "forced ms"), func(r *costtables.Row) cell { return timeCell(r.ForcedStyle + r.ForcedLayout) }})
		}
		columns = append(columns, costColumn{
			column{name: c.Name, title: costTitles[c.Name], kind: costKinds[c.Unit]},
			func(r *costtables.Row) cell { return cell{number: c.Value(r), absent: !c.In(r)} },
		})
		if c.Name == "self_ns" {
			columns = append(columns, costColumn{column{title: "%", kind: percentColumn}, func(r *costtables.Row) cell {
				return cell{number: int64(r.Self), count: int64(t.Busy)}
			}})
		}
	}
	return columns
}

// costText returns the rows of a table for people. Columns in which every row has nothing are left out, except for the self
// time, and so are, unless they are asked for, those that say least where a line would be longer than the terminal is
// wide. What is unattributed comes last. Of input events it says how long after the start of the trace they happened, as --from and
// --to count.
func costText(t *costtables.Table, order *arrangement, on terminal) string {
	slices.SortStableFunc(t.Rows, func(a, b costtables.Row) int { return report.CompareUnknown(a.None, b.None) })
	out := table{key: cmp.Or(order.sort, "self_ns"), chosen: len(order.columns) > 0, rows: make([][]cell, len(t.Rows))}
	add := func(c costColumn, always bool) {
		some := always
		for i := range t.Rows {
			v := c.cell(&t.Rows[i])
			some = some || !v.absent && (v.text != "" || v.number != 0)
		}
		if !some {
			return
		}
		out.columns = append(out.columns, c.column)
		for i := range t.Rows {
			out.rows[i] = append(out.rows[i], c.cell(&t.Rows[i]))
		}
	}
	title := t.Type
	if t.Group != costtables.GroupNone {
		title += " by " + t.Group.String()
	}
	out.columns = []column{texts("name", printable(title))}
	for i, name := range costNames(t) {
		out.rows[i] = []cell{textCell(name)}
	}
	if t.Split != costtables.SplitNone {
		add(costColumn{texts("", t.Split.String()), func(r *costtables.Row) cell {
			if t.Split == costtables.SplitProcess {
				return textCell(elideTo(timeline.Program(r.Part), maxName))
			}
			return textCell(elideTo(r.Part, maxName))
		}}, true)
	}
	if slices.ContainsFunc(t.Rows, func(r costtables.Row) bool { return r.Input != nil }) {
		add(costColumn{moments("", "at"), func(r *costtables.Row) cell {
			if r.Input == nil {
				return cell{absent: true}
			}
			return momentCell(r.Input.Start, t.Start)
		}}, true)
	}
	for _, c := range order.costColumns(costColumns(t)) {
		if c.spare = uint8(slices.Index(lessTelling, c.title) + 1); c.title != "" {
			add(c, c.name == "self_ns" || c.kind == percentColumn || len(order.columns) > 0)
		}
	}
	left := 0
	if on.columns > 0 {
		left = out.fit(on.columns + lineIndent) // these have no blanks in front of them
	}
	var b strings.Builder
	for i, line := range out.lines() {
		if i == 0 {
			line = on.heading(line)
		}
		b.WriteString(line + "\n")
	}
	if left > 0 {
		fmt.Fprintln(&b, on.wrap(countText(int64(left), "more column", "more columns")+" where there is room, or with --columns and --csv", 0))
	}
	return b.String()
}

// lessTelling are the titles of columns that people miss least, those last that they miss least of all.
var lessTelling = []string{
	"total ms", "CPU ms", "long slices", "forced ms", "worst latency ms", "requests", "received KB", "inputs", "provoked GC ms", "freed KB",
	"slices", "async ms", "CPU unknown ms",
}

// costNames returns what people see of the names of the rows: of several contexts that look the same with the id.
func costNames(t *costtables.Table) []string {
	names, first, same := make([]string, len(t.Rows)), map[string]string{}, map[string]bool{}
	for i := range t.Rows {
		r := &t.Rows[i]
		if names[i] = r.Name; strings.EqualFold(t.Type, costtables.TypeProcess) {
			names[i] = timeline.Program(r.Name)
		}
		names[i] = elideTo(names[i], maxName)
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

// printCostsCSV prints the rows of all tables below one line of headings, which is there without rows as well, or the columns
// that are asked for.
func printCostsCSV(env *environment, tables []*costtables.Table, order *arrangement) error {
	out := csv.NewWriter(env.stdout)
	chosen := order.costRecord(costHead())
	if err := out.Write(chosen(costHead())); err != nil {
		return err
	}
	for _, t := range tables {
		columns := costColumns(t)
		for i := range t.Rows {
			r := &t.Rows[i]
			record := []string{t.Type, r.ID, r.Name, r.Part, r.Class, r.Parent}
			for _, c := range columns {
				record = c.appendCSV(record, c.cell(r))
			}
			for c := producers.CategoryNone + 1; c < producers.CategoryCount; c++ {
				record = append(record, strconv.FormatInt(int64(r.SelfByCategory[c]), 10))
			}
			if err := out.Write(escapes.Lines(chosen(record))); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

// costHead returns the headings of the CSV form of all cost tables.
func costHead() []string {
	head := []string{"type", "id", "name", "part", "class", "parent"}
	for i := range costtables.Columns {
		head = append(head, costtables.Columns[i].Name)
	}
	for c := producers.CategoryNone + 1; c < producers.CategoryCount; c++ {
		head = append(head, "self_"+c.String()+"_ns")
	}
	return head
}
