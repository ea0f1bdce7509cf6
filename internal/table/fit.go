package table

import (
	"cmp"
	"slices"

	"github.com/weft-trace/weft/internal/cellwidth"
)

// Texts of tables are shortened to so many columns: first of all, then where columns that people can do without are gone, and where
// hardly a number has room.
const (
	easyTextWidth = 32
	minTextWidth  = 16
	lastTextWidth = 8
)

// fit returns a table that fits so many columns of a terminal beside a margin, and the number of columns that it leaves out for that. It
// shortens texts, the widest first; then it leaves out what people miss least; then it shortens texts further, and at last leaves out what
// is on the right. What names a row, the column by which the table is sorted and those that were asked for stay, and so do whole numbers: a
// number that the edge of the terminal cuts would be another one. 0: it has room.
func (t *Table) fit(on Terminal, margin int) (fitted *Table, left int) {
	fitted, left = t.fitPlain(on.Columns, margin)
	if on.Color {
		barred := *t
		barred.bars = true
		if with, lost := barred.fitPlain(on.Columns, margin); lost <= left+1 && !with.cutsMore(fitted) { // they are worth a column, and no letter
			return with, lost
		}
	}
	return fitted, left
}

// cutsMore reports whether a text that both tables have is shortened in this one and is whole, or another, in the other one.
func (t *Table) cutsMore(other *Table) bool {
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

func (t *Table) fitPlain(columns, margin int) (fitted *Table, left int) {
	copied := *t
	fitted = &copied
	fitted.Columns = slices.Clone(t.Columns)
	fitted.leave()
	if columns <= 0 {
		return fitted, 0
	}
	columns += betweenColumns - margin // nothing is before the first column
	fitted.Rows = slices.Clone(t.Rows)
	for {
		tooWide := fitted.width() - columns
		if tooWide <= 0 {
			return fitted, left
		}
		if fitted.shorten(tooWide, easyTextWidth) {
			continue
		}
		leave := fitted.leastWanted()
		if leave < 0 {
			if fitted.shorten(tooWide, minTextWidth) {
				continue
			}
			leave = fitted.lastWanted()
		}
		if leave < 0 {
			if fitted.shorten(tooWide, lastTextWidth) {
				continue
			}
			return fitted, left
		}
		fitted.Columns[leave].Title, left = "", left+1
		copy(fitted.Rows, t.Rows) // texts have more room now
	}
}

// leave leaves out the columns for which text has no room.
func (t *Table) leave() {
	for i := range t.Columns {
		if t.Columns[i].Page || t.Empty(i) {
			t.Columns[i].Title = ""
		}
	}
}

// Empty reports whether a column is left out, because it is there only if a row has something in it.
func (t *Table) Empty(column int) bool {
	has := func(r Row) bool { c := &r.Cells()[column]; return !c.Absent && (c.Text != "" || c.Number != 0) }
	return t.Columns[column].IfAny && !t.chosen && !slices.ContainsFunc(t.Rows, has)
}

// betweenColumns is the number of blanks between two columns.
const betweenColumns = 2

// width returns the number of columns of the terminal that the table takes.
func (t *Table) width() int {
	total := 0
	for i, c := range t.Columns {
		if c.Title != "" {
			total += betweenColumns + t.columnWidth(i)
		}
	}
	return total
}

// columnWidth returns the width of a column.
func (t *Table) columnWidth(i int) int {
	width := cellwidth.Of(t.Columns[i].Title)
	for _, row := range t.Rows {
		width = max(width, cellwidth.Of(t.shown(i, &row.cells[i])))
	}
	return width
}

// mayLeave reports whether a column may be left out: it was not requested, does not name a row, and is not the one by
// which the table is sorted.
func (t *Table) mayLeave(i int) bool {
	first := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Title != "" && c.Kind == TextKind && c.Spare == 0 })
	return !t.chosen && t.Columns[i].Title != "" && i != first && !t.Columns[i].named(t.Key)
}

// leastWanted returns the index of the column that people miss least; -1: they want all that there are.
func (t *Table) leastWanted() int {
	least := -1
	for i, c := range t.Columns {
		if t.mayLeave(i) && c.Spare > 0 && (least < 0 || c.Spare > t.Columns[least].Spare) {
			least = i
		}
	}
	return least
}

// lastWanted returns the index of the last column that may be left out; -1: there is none. Without the column by which the table is
// sorted, another number stays.
func (t *Table) lastWanted() int {
	last, numbers := -1, 0
	for i, c := range t.Columns {
		if c.Title != "" && c.Kind != TextKind {
			numbers++
		}
		if t.mayLeave(i) && (c.Kind == TextKind || numbers > 1 || find(t.Columns, t.Key) >= 0) {
			last = i
		}
	}
	return last
}

// shorten takes columns of the terminal from the widest column of texts, down to the second widest or to the least width; false if none
// has any left.
func (t *Table) shorten(tooWide, least int) bool {
	widest, width, next := -1, least, least
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
	width = max(min(next, width-1), width-tooWide, max(least, cellwidth.Of(t.Columns[widest].Title)))
	before := t.columnWidth(widest)
	for k := range t.Rows {
		t.Rows[k].cells = slices.Clone(t.Rows[k].cells)
		v := &t.Rows[k].cells[widest]
		v.Short = Elide(cmp.Or(v.Short, v.Text), max(width-cellwidth.Of(withNote("", v.Note)), lastTextWidth))
	}
	return t.columnWidth(widest) < before
}
