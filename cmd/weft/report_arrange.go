package main

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	costtables "github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/suggest"
)

// arrangement is how tables are sorted, and which columns they have: --sort, --columns and --limit.
type arrangement struct {
	sort      string // name of a column; "": as the report has it
	ascending bool
	columns   []string // nil: all
	rows      int      // 0: all
}

func readArrangement(c *cli.Context) (a arrangement) {
	a.sort, a.ascending = strings.CutPrefix(c.String("sort"), "-")
	if c.IsSet("columns") {
		a.columns = strings.Split(c.String("columns"), ",")
		for i := range a.columns {
			a.columns[i] = strings.TrimSpace(a.columns[i])
		}
	}
	a.rows = shownRows(c)
	return a
}

func (a *arrangement) isSet() bool { return a.sort != "" || a.columns != nil }

// named reports whether a column is meant by a name: that of CSV, with or without its unit, or the title that people see.
func (c column) named(name string) bool {
	return name != "" && (strings.EqualFold(name, c.name) || strings.EqualFold(name, c.title) ||
		strings.EqualFold(name, strings.TrimSuffix(c.name, "_ns")) || strings.EqualFold(name, strings.TrimSuffix(c.title, " ms")))
}

// find returns the index of the column of a name; -1: there is none.
func find(columns []column, name string) int {
	return slices.IndexFunc(columns, func(c column) bool { return c.named(name) })
}

// check refuses columns that none of the tables has that are printed: the one called only, all, or in CSV the one shown.
func (a *arrangement) check(forms []table, only string, csv bool, shown int) error {
	if csv {
		forms = forms[shown : shown+1]
	}
	var columns []column
	for i := range forms {
		if t := &forms[i]; only == "" || t.name == only || csv {
			columns = append(columns, t.columns...)
		}
	}
	return a.checkColumns(columns)
}

// checkColumns refuses names that none of the columns has.
func (a *arrangement) checkColumns(columns []column) error {
	for _, asked := range []struct {
		flag  string
		names []string
	}{{"sort", []string{a.sort}}, {"columns", a.columns}} {
		for _, name := range asked.names {
			if find(columns, name) >= 0 || asked.flag == "sort" && name == "" {
				continue
			}
			var names []string
			for _, c := range columns {
				if name := cmp.Or(strings.TrimSuffix(c.name, "_ns"), c.title); !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
			return usagef("--%s: %v", asked.flag, suggest.Unknown("column", name, names))
		}
	}
	return nil
}

// apply sorts the rows of tables, cuts them if the report has not, and leaves the columns that are asked for. A table without
// them stays as it is.
func (a *arrangement) apply(tables []table) {
	for i := range tables {
		t := &tables[i]
		if at := find(t.columns, a.sort); at >= 0 {
			t.sortBy(at, a.ascending)
			t.key = t.columns[at].name
			if i := strings.LastIndex(t.title, ", by "); i >= 0 {
				t.title = t.title[:i] + ", by " + a.sort
			}
		}
		if a.sort != "" {
			t.limit(a.rows)
		}
		t.choose(a.columns)
	}
}

// sortBy sorts rows by a column: numbers from the largest on, texts from A on, times of the trace from the first on, and the other way round if reversed. What has
// no value comes last.
func (t *table) sortBy(at int, reversed bool) {
	isText := t.columns[at].kind == textColumn
	slices.SortStableFunc(t.rows, func(x, y []cell) int {
		a, b := x[at], y[at]
		if a.absent || b.absent {
			return report.CompareUnknown(a.absent, b.absent)
		}
		order := cmp.Compare(b.number, a.number)
		switch {
		case t.columns[at].moment:
			order = -order
		case isText:
			order = cmp.Compare(a.text, b.text)
		}
		if reversed {
			return -order
		}
		return order
	})
}

// choose leaves some columns of a table, in their order; all if the table has none of them.
func (t *table) choose(names []string) {
	var places []int
	for _, name := range names {
		if at := find(t.columns, name); at >= 0 {
			places = append(places, at)
		}
	}
	if len(places) == 0 {
		return
	}
	all := t.columns
	t.columns, t.chosen = nil, true
	for _, at := range places {
		t.columns = append(t.columns, all[at])
	}
	for i, row := range t.rows {
		chosen := make([]cell, len(places))
		for k, at := range places {
			chosen[k] = row[at]
		}
		t.rows[i] = chosen
	}
}

// columnsOf returns tables without rows, with the columns that are asked for.
func (a *arrangement) columnsOf(forms []table) []table {
	forms = slices.Clone(forms)
	for i := range forms {
		forms[i].rows = nil
		forms[i].choose(a.columns)
	}
	return forms
}

// tableOfRecords makes a table of the records of a CSV form with their headings: a column is one of numbers if all its cells
// are.
func tableOfRecords(records [][]string) table {
	t := table{}
	for i, name := range records[0] {
		c := texts(name, name)
		isNumber := func(record []string) bool { _, err := strconv.ParseInt(record[i], 10, 64); return err == nil }
		if len(records) > 1 && !slices.ContainsFunc(records[1:], func(r []string) bool { return !isNumber(r) }) {
			c.kind = countColumn
		}
		t.columns = append(t.columns, c)
	}
	for _, record := range records[1:] {
		row := make([]cell, len(record))
		for i, text := range record {
			row[i].text = text
			if t.columns[i].kind == countColumn {
				row[i].number, _ = strconv.ParseInt(text, 10, 64) // it was one above
			}
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// costNameColumn is the first column of a cost table.
var costNameColumn = texts("name", "name")

// checkCosts refuses columns that cost tables do not have.
func (a *arrangement) checkCosts(t *costtables.Table) error {
	columns := []column{costNameColumn}
	for _, c := range costColumns(t) {
		columns = append(columns, c.column)
	}
	return a.checkColumns(columns)
}

// sortCosts sorts the rows of a cost table and cuts them. What is unattributed comes last.
func (a *arrangement) sortCosts(t *costtables.Table) {
	if a.sort == "" {
		return
	}
	value := func(*costtables.Row) cell { return cell{absent: true} }
	for _, c := range costColumns(t) {
		if c.named(a.sort) {
			value = c.cell
			break
		}
	}
	byName := costNameColumn.named(a.sort)
	slices.SortStableFunc(t.Rows, func(x, y costtables.Row) int {
		if x.None != y.None {
			return report.CompareUnknown(x.None, y.None)
		}
		v, w := value(&x), value(&y)
		order := cmp.Compare(w.number, v.number)
		if byName {
			order = cmp.Compare(x.Name, y.Name)
		}
		if a.ascending {
			return -order
		}
		return order
	})
	if a.rows > 0 && len(t.Rows) > a.rows {
		t.Omitted += len(t.Rows) - a.rows
		t.Rows = t.Rows[:a.rows]
	}
}

// costColumns returns those of the columns of a cost table that are asked for. The name of the row is always there.
func (a *arrangement) costColumns(all []costColumn) []costColumn {
	if a.columns == nil {
		return all
	}
	var chosen []costColumn
	for _, name := range a.columns {
		if i := slices.IndexFunc(all, func(c costColumn) bool { return c.named(name) }); i >= 0 {
			chosen = append(chosen, all[i])
		}
	}
	return chosen
}

// costRecord returns what leaves of a record of the CSV form of cost tables the columns that are asked for, and in front of them
// those that say what the row is about.
func (a *arrangement) costRecord(head []string) func(record []string) []string {
	const about = 4 // type, id, name, part
	if a.columns == nil {
		return func(record []string) []string { return record }
	}
	var places []int
	for _, name := range a.columns {
		at := slices.IndexFunc(head, func(h string) bool { return column{name: h, title: costTitles[h]}.named(name) })
		if at >= about {
			places = append(places, at)
		}
	}
	return func(record []string) []string {
		chosen := slices.Clone(record[:about])
		for _, at := range places {
			chosen = append(chosen, record[at])
		}
		return chosen
	}
}
