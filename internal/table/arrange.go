package table

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/suggest"
)

// Order is how tables are sorted, how many rows and which columns they have: --sort, --limit and --columns.
type Order struct {
	Sort    string   // name of a column; "-" before it: smallest first; "": as the report has it
	Columns []string // nil: all
	Rows    int      // 0: all
}

// IsSet reports whether tables are sorted or lose columns.
func (o *Order) IsSet() bool { return o.Sort != "" || o.Columns != nil }

// named reports whether a column is meant by a name: its key, with or without its unit, or the title that people see.
func (c *Column) named(name string) bool {
	return name != "" && (strings.EqualFold(name, c.Key) || strings.EqualFold(name, c.Title) ||
		strings.EqualFold(name, strings.TrimSuffix(c.Key, "_ns")) || strings.EqualFold(name, strings.TrimSuffix(c.Title, " ms")))
}

// find returns the index of the column of a name; -1: there is none.
func find(columns []Column, name string) int {
	return slices.IndexFunc(columns, func(c Column) bool { return c.named(name) })
}

// Lookup returns the table of a name, of those that a report may have. "": the one that CSV has.
func Lookup(forms []*Table, name string) (*Table, error) {
	for _, t := range forms {
		if t.Name == name || name == "" && t.Main {
			return t, nil
		}
	}
	if name == "" {
		return forms[0], nil
	}
	var names []string
	for _, t := range forms {
		names = append(names, t.Name)
	}
	return nil, suggest.Unknown("table", name, names)
}

// Check refuses columns that none of the tables has that are printed: the one called only, "": all.
func (o *Order) Check(forms []*Table, only string) error {
	var columns []Column
	for _, t := range forms {
		if only == "" || t.Name == only {
			columns = append(columns, t.Columns...)
		}
	}
	check := func(flag, name string) error {
		if find(columns, name) >= 0 {
			return nil
		}
		var names []string
		for _, c := range columns {
			name := cmp.Or(strings.TrimSuffix(c.Key, "_ns"), c.Title)
			if !slices.Contains(names, name) && !(c.Fixed && c.Title == "") { // these are there in any case
				names = append(names, name)
			}
		}
		return fmt.Errorf("--%s: %w", flag, suggest.Unknown("column", name, names))
	}
	if name := strings.TrimPrefix(o.Sort, "-"); name != "" {
		if err := check("sort", name); err != nil {
			return err
		}
	}
	for _, name := range o.Columns {
		if err := check("columns", name); err != nil {
			return err
		}
	}
	return nil
}

// Apply sorts the rows of a table, cuts them, and leaves the columns that are asked for. A table without them stays as it is.
func (o *Order) Apply(t *Table) {
	name, ascending := strings.CutPrefix(o.Sort, "-")
	if at := find(t.Columns, name); at >= 0 {
		t.sortBy(at, ascending)
		t.Key = t.Columns[at].Key
		if i := strings.LastIndex(t.Title, ", by "); i >= 0 {
			t.Title = t.Title[:i] + ", by " + name
		}
	}
	if o.Sort != "" || !t.Whole {
		t.limit(o.Rows)
	}
	t.choose(o.Columns)
}

// limit cuts a table to a number of rows and says so, also where it was cut before; 0: all. What is in no other row stays.
func (t *Table) limit(rows int) {
	all, kept := max(t.All, len(t.Rows)), 0
	if rows > 0 && len(t.Rows) > rows {
		t.Rows = slices.DeleteFunc(t.Rows, func(r Row) bool {
			kept++
			return kept > rows && !r.Last
		})
	}
	if len(t.Rows) < all {
		t.Notes = append([]string{fmt.Sprintf("%s of %s %s; --limit 0 shows all", Thousands(len(t.Rows)), Thousands(all), cmp.Or(t.What, "rows"))}, t.Notes...)
	}
}

// sortBy sorts rows by a column: numbers from the largest on, texts from A on, times of the trace from the first on, and the other way
// round if reversed. What has no value comes last.
func (t *Table) sortBy(at int, reversed bool) {
	column := &t.Columns[at]
	t.fill()
	slices.SortStableFunc(t.Rows, func(x, y Row) int {
		a, b := &x.cells[at], &y.cells[at]
		if last := cmp.Or(FalseFirst(x.Last, y.Last), FalseFirst(a.Absent, b.Absent)); last != 0 || a.Absent {
			return last
		}
		order := cmp.Compare(b.Number, a.Number)
		switch {
		case column.Moment:
			order = -order
		case column.Kind == TextKind:
			order = cmp.Compare(a.Text, b.Text)
		}
		if reversed {
			return -order
		}
		return order
	})
}

// FalseFirst compares two answers: things for which something holds come after those for which it does not.
func FalseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// choose leaves some columns of a table, in their order, after those that always stay; all if the table has none of them.
func (t *Table) choose(names []string) {
	var places, chosen []int
	for i := range t.Columns {
		if t.Columns[i].Fixed {
			places = append(places, i)
		}
	}
	for _, name := range names {
		if at := find(t.Columns, name); at >= 0 && !slices.Contains(places, at) {
			chosen = append(chosen, at)
		}
	}
	if len(names) == 0 || len(places)+len(chosen) == 0 {
		return
	}
	places = append(places, chosen...)
	all := t.Columns
	t.Columns, t.chosen = nil, true
	for _, at := range places {
		t.Columns = append(t.Columns, all[at])
	}
	for i := range t.Rows {
		cells := make([]Cell, len(places))
		for k, at := range places {
			cells[k] = t.Rows[i].Cells()[at]
		}
		t.Rows[i].cells = cells
	}
}

// fill makes the cells of all rows.
func (t *Table) fill() {
	for i := range t.Rows {
		t.Rows[i].Cells()
	}
}
