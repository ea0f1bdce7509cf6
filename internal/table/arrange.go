package table

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/words"
)

// Order holds the values of --sort, --limit and --columns.
type Order struct {
	Sort    string   // name of a column; with "-" before it: in reverse; "": the order of the report
	Columns []string // nil: all
	Rows    int      // 0: all
}

// IsSet reports whether tables are sorted or columns are selected.
func (o *Order) IsSet() bool { return o.Sort != "" || o.Columns != nil }

// named reports whether a column has a name: its key or title, with or without the unit.
func (c *Column) named(name string) bool {
	return name != "" && (strings.EqualFold(name, c.Key) || strings.EqualFold(name, c.Title) ||
		strings.EqualFold(name, strings.TrimSuffix(c.Key, "_ns")) || strings.EqualFold(name, strings.TrimSuffix(c.Title, " ms")))
}

// find returns the index of the column with a name; -1 if there is none.
func find(columns []Column, name string) int {
	return slices.IndexFunc(columns, func(c Column) bool { return c.named(name) })
}

// Lookup returns the table with a name among a report's tables. "" is the table of CSV output.
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
	return nil, words.Unknown("table", name, names)
}

// Check returns an error for columns that no printed table has. The parameter only is the name of the one printed table; "": all
// tables are printed.
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
			if !slices.Contains(names, name) && !(c.Fixed && c.Title == "") { // these are always printed
				names = append(names, name)
			}
		}
		return fmt.Errorf("--%s: %w", flag, words.Unknown("column", name, names))
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

// Apply sorts the rows of a table, limits their number, and selects columns. It ignores columns that the table does not have.
func (o *Order) Apply(t *Table) {
	name, ascending := strings.CutPrefix(o.Sort, "-")
	if at := find(t.Columns, name); at >= 0 {
		t.sortBy(at, ascending)
		t.Key = t.Columns[at].Key
		if i := strings.LastIndex(t.Title, ", by "); i >= 0 {
			t.Title = t.Title[:i] + ", by " + name
		}
	}
	if o.Sort != "" || !t.IgnoresLimit {
		t.limit(o.Rows)
	}
	t.selectColumns(o.Columns)
}

// limit truncates a table to a number of rows, 0 for all, and adds a note if it is truncated, here or earlier. Rows with Last
// set stay.
func (t *Table) limit(rows int) {
	all, n := max(t.All, len(t.Rows)), 0
	if rows > 0 && len(t.Rows) > rows {
		t.Rows = slices.DeleteFunc(t.Rows, func(r Row) bool {
			n++
			return n > rows && !r.Last
		})
	}
	if len(t.Rows) < all {
		t.Notes = append([]string{fmt.Sprintf("%s of %s %s; --limit 0 shows all", Thousands(len(t.Rows)), Thousands(all), cmp.Or(t.RowNoun, "rows"))}, t.Notes...)
	}
}

// sortBy sorts rows by a column: numbers descending, texts and times of the trace ascending, or the reverse. Absent values come
// last.
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

// FalseFirst compares booleans: false before true.
func FalseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// selectColumns selects the columns of a table: fixed ones, then the named ones in the given order. Without any such
// columns, it does nothing.
func (t *Table) selectColumns(names []string) {
	var indexes, named []int
	for i := range t.Columns {
		if t.Columns[i].Fixed {
			indexes = append(indexes, i)
		}
	}
	for _, name := range names {
		if at := find(t.Columns, name); at >= 0 && !slices.Contains(indexes, at) {
			named = append(named, at)
		}
	}
	if len(names) == 0 || len(indexes)+len(named) == 0 {
		return
	}
	indexes = append(indexes, named...)
	all := t.Columns
	t.Columns, t.chosen = nil, true
	for _, at := range indexes {
		t.Columns = append(t.Columns, all[at])
	}
	for i := range t.Rows {
		cells := make([]Cell, len(indexes))
		for k, at := range indexes {
			cells[k] = t.Rows[i].Cells()[at]
		}
		t.Rows[i].cells = cells
	}
}

// fill creates the cells of all rows.
func (t *Table) fill() {
	for i := range t.Rows {
		t.Rows[i].Cells()
	}
}
