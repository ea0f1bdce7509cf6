package table

import (
	"cmp"
	"slices"

	"github.com/weft-trace/weft/internal/words"
)

// Widths to which fit shortens texts: initially, after dropping dispensable columns, and in very narrow terminals.
const (
	easyTextWidth = 32
	minTextWidth  = 16
	lastTextWidth = 8
)

// fit returns a table that fits the terminal with a margin, and the number of columns that it dropped. It shortens the widest
// texts; then drops dispensable columns; then shortens texts further; and finally drops columns on the right. It keeps the
// column that names rows, the one by which the table is sorted, requested columns, and whole numbers: a truncated number
// would be a different one.
func (t *Table) fit(on Terminal, margin int) (fitted *Table, dropped int) {
	fitted, dropped = t.fitPlain(on.Columns, margin)
	if on.Color {
		barred := *t
		barred.bars = true
		// Bars are worth dropping one column, but not shortening more texts.
		if with, n := barred.fitPlain(on.Columns, margin); n <= dropped+1 && !with.shortensMore(fitted) {
			return with, n
		}
	}
	return fitted, dropped
}

// shortensMore reports whether a text, in a column that both tables show, is shortened in t and differs in the other table.
func (t *Table) shortensMore(other *Table) bool {
	for i, c := range t.Columns {
		if c.Title == "" || other.Columns[i].Title == "" {
			continue
		}
		for k := range t.Rows {
			if short := t.Rows[k].cells[i].Short; short != "" && short != other.Rows[k].cells[i].Short {
				return true
			}
		}
	}
	return false
}

func (t *Table) fitPlain(columns, margin int) (fitted *Table, dropped int) {
	fitted = new(*t)
	fitted.Columns = slices.Clone(t.Columns)
	for i := range fitted.Columns {
		if fitted.Columns[i].Page || fitted.Empty(i) {
			fitted.Columns[i].Title = ""
		}
	}
	if columns <= 0 {
		return fitted, 0
	}
	columns += betweenColumns - margin // the first column has no separator
	fitted.Rows = slices.Clone(t.Rows)
	for {
		tooWide := fitted.width() - columns
		if tooWide <= 0 {
			return fitted, dropped
		}
		if fitted.shorten(tooWide, easyTextWidth) {
			continue
		}
		drop := fitted.mostDispensable()
		if drop < 0 {
			if fitted.shorten(tooWide, minTextWidth) {
				continue
			}
			drop = fitted.lastDroppable()
		}
		if drop < 0 {
			if fitted.shorten(tooWide, lastTextWidth) {
				continue
			}
			return fitted, dropped
		}
		fitted.Columns[drop].Title, dropped = "", dropped+1
		copy(fitted.Rows, t.Rows) // start again with full texts
	}
}

// Empty reports whether a column is hidden because it is IfAny and no row has a value.
func (t *Table) Empty(column int) bool {
	has := func(r Row) bool { c := &r.Cells()[column]; return !c.Absent && (c.Text != "" || c.Number != 0) }
	return t.Columns[column].IfAny && !t.chosen && !slices.ContainsFunc(t.Rows, has)
}

// betweenColumns is the number of blanks between two columns.
const betweenColumns = 2

// width returns the width of the table in columns of the terminal.
func (t *Table) width() int {
	total := 0
	for i, c := range t.Columns {
		if c.Title != "" {
			total += betweenColumns + t.columnWidth(i)
		}
	}
	return total
}

func (t *Table) columnWidth(i int) int {
	width := words.Width(t.Columns[i].Title)
	for _, row := range t.Rows {
		width = max(width, words.Width(t.cellText(i, &row.cells[i])))
	}
	return width
}

// mayDrop reports whether a column may be dropped: it was not requested, does not name rows, and is not the one by which the
// table is sorted.
func (t *Table) mayDrop(i int) bool {
	first := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Title != "" && c.Kind == TextKind && c.DropOrder == 0 })
	return !t.chosen && t.Columns[i].Title != "" && i != first && !t.Columns[i].named(t.Key)
}

// mostDispensable returns the index of the column with the highest DropOrder; -1 if there is none.
func (t *Table) mostDispensable() int {
	most := -1
	for i, c := range t.Columns {
		if t.mayDrop(i) && c.DropOrder > 0 && (most < 0 || c.DropOrder > t.Columns[most].DropOrder) {
			most = i
		}
	}
	return most
}

// lastDroppable returns the index of the last column that may be dropped; -1 if there is none. If the table does not have the
// column by which it is sorted, one column of numbers stays.
func (t *Table) lastDroppable() int {
	last, numbers := -1, 0
	for i, c := range t.Columns {
		if c.Title != "" && c.Kind != TextKind {
			numbers++
		}
		if t.mayDrop(i) && (c.Kind == TextKind || numbers > 1 || find(t.Columns, t.Key) >= 0) {
			last = i
		}
	}
	return last
}

// shorten shortens the widest text column, down to the second widest or to a minimum width. It reports false if that is
// impossible.
func (t *Table) shorten(tooWide, minWidth int) bool {
	widest, width, next := -1, minWidth, minWidth
	for i, c := range t.Columns {
		if c.Title == "" || c.Kind != TextKind || c.Whole {
			continue
		}
		if w := t.columnWidth(i); w > width {
			widest, next, width = i, width, w
		} else {
			next = max(next, w)
		}
	}
	if widest < 0 {
		return false
	}
	width = max(min(next, width-1), width-tooWide, minWidth, words.Width(t.Columns[widest].Title))
	before := t.columnWidth(widest)
	for k := range t.Rows {
		t.Rows[k].cells = slices.Clone(t.Rows[k].cells)
		v := &t.Rows[k].cells[widest]
		v.Short = Elide(cmp.Or(v.Short, v.Text), max(width-words.Width(withNote("", v.Note)), lastTextWidth))
	}
	return t.columnWidth(widest) < before
}
