package main

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weft-trace/weft/internal/attribution/evidence"
	costtables "github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/cellwidth"
	escapes "github.com/weft-trace/weft/internal/printable"
	"github.com/weft-trace/weft/internal/report"
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
	lines := make([][]string, len(t.Rows)+1)
	lines[0] = []string{t.Type}
	if t.Group != costtables.GroupNone {
		lines[0][0] += " by " + t.Group.String()
	}
	kinds := []columnKind{textColumn}
	for i, name := range costNames(t) {
		lines[i+1] = []string{name}
	}
	add := func(c costColumn, always bool) {
		some := always
		for i := range t.Rows {
			v := c.cell(&t.Rows[i])
			some = some || !v.absent && (v.text != "" || v.number != 0)
		}
		if !some {
			return
		}
		kinds, lines[0] = append(kinds, c.kind), append(lines[0], c.title)
		for i := range t.Rows {
			lines[i+1] = append(lines[i+1], c.format(c.cell(&t.Rows[i])))
		}
	}
	if t.Split != costtables.SplitNone {
		add(costColumn{texts("", t.Split.String()), func(r *costtables.Row) cell { return textCell(r.Part) }}, true)
	}
	if slices.ContainsFunc(t.Rows, func(r costtables.Row) bool { return r.Input != nil }) {
		add(costColumn{times("", "at ms"), func(r *costtables.Row) cell {
			if r.Input == nil {
				return cell{absent: true}
			}
			return timeCell(r.Input.Start - t.Start)
		}}, true)
	}
	for _, c := range order.costColumns(costColumns(t)) {
		if c.title != "" {
			add(c, c.name == "self_ns" || c.kind == percentColumn || len(order.columns) > 0)
		}
	}
	left := []string(nil)
	if len(order.columns) == 0 {
		left = fitCosts(&lines, &kinds, on.columns)
	}
	var b strings.Builder
	for i, line := range align(lines, kinds) {
		line = printable(line)
		if i == 0 {
			line = on.heading(line)
		}
		b.WriteString(line + "\n")
	}
	if len(left) > 0 {
		fmt.Fprintf(&b, "%s where there is room, or with --columns and --csv\n", countText(int64(len(left)), "more column", "more columns"))
	}
	return b.String()
}

// lessTelling are the titles of columns that people miss least, in this order.
var lessTelling = []string{
	"CPU unknown ms", "async ms", "slices", "freed KB", "provoked GC ms", "inputs", "received KB", "requests", "worst latency ms", "forced ms",
	"long slices", "CPU ms", "total ms",
}

// fitCosts leaves out columns until the lines fit a terminal, and returns their titles.
func fitCosts(lines *[][]string, kinds *[]columnKind, width int) (left []string) {
	for _, title := range lessTelling {
		if width <= 0 || lineWidth(*lines) <= width {
			break
		}
		i := slices.Index((*lines)[0], title)
		if i <= 0 { // the first is the name
			continue
		}
		for k := range *lines {
			(*lines)[k] = slices.Delete((*lines)[k], i, i+1)
		}
		*kinds = slices.Delete(*kinds, i, i+1)
		left = append(left, title)
	}
	return left
}

// lineWidth is the width of lines that are aligned.
func lineWidth(lines [][]string) (width int) {
	for i := range lines[0] {
		widest := 0
		for _, line := range lines {
			widest = max(widest, cellwidth.Of(printable(line[i])))
		}
		width += widest + 2
	}
	return width - 2
}

// costNames returns what people see of the names of the rows: of several contexts that look the same with the id.
func costNames(t *costtables.Table) []string {
	names, first, same := make([]string, len(t.Rows)), map[string]string{}, map[string]bool{}
	for i := range t.Rows {
		r := &t.Rows[i]
		names[i] = shorten(r.Name)
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

// shorten cuts a name longer than maxName in the middle: of a url both ends say something.
func shorten(name string) string {
	if utf8.RuneCountInString(name) <= maxName {
		return name
	}
	runes := []rune(name)
	return string(runes[:maxName/2]) + "…" + string(runes[len(runes)-maxName/2+1:])
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
			for c := evidence.CategoryNone + 1; c < evidence.CategoryCount; c++ {
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
	for c := evidence.CategoryNone + 1; c < evidence.CategoryCount; c++ {
		head = append(head, "self_"+c.String()+"_ns")
	}
	return head
}
