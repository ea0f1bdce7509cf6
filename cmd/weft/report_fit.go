package main

import (
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

// fit makes a table fit so many columns of a terminal, and returns the number of columns that it has to leave out for that. It shortens
// texts, the widest first; then it leaves out what people miss least; then it shortens texts further, and at last leaves out what is on
// the right. What names a row, the column by which the table is sorted and those that were asked for stay, and so do whole numbers: a
// number that the edge of the terminal cuts would be another one. 0: it has room.
func (t *table) fit(columns int) (left int) {
	if columns <= 0 {
		return 0
	}
	whole := slices.Clone(t.rows)
	for {
		tooWide := t.width() - columns
		if tooWide <= 0 {
			return left
		}
		if t.shorten(tooWide, easyTextWidth) {
			continue
		}
		leave := t.leastWanted()
		if leave < 0 {
			if t.shorten(tooWide, minTextWidth) {
				continue
			}
			leave = t.lastWanted()
		}
		if leave < 0 {
			if t.shorten(tooWide, lastTextWidth) {
				continue
			}
			return left
		}
		t.columns[leave].title, left = "", left+1
		copy(t.rows, whole) // texts have more room now
	}
}

// width returns the number of columns of the terminal that the table takes.
func (t *table) width() int {
	total := 0
	for i, c := range t.columns {
		if c.title != "" {
			total += 2 + t.columnWidth(i)
		}
	}
	return total
}

// columnWidth returns the width of a column.
func (t *table) columnWidth(i int) int {
	width := cellwidth.Of(t.columns[i].title)
	for _, row := range t.rows {
		width = max(width, cellwidth.Of(printable(t.columns[i].format(row[i]))))
	}
	return width
}

// mayLeave reports whether a column may be left out: it is none of those that were asked for, not what names a row, and not the one by
// which the table is sorted.
func (t *table) mayLeave(i int) bool {
	first := slices.IndexFunc(t.columns, func(c column) bool { return c.title != "" && c.kind == textColumn && c.spare == 0 })
	return !t.chosen && t.columns[i].title != "" && i != first && !t.columns[i].named(t.key)
}

// leastWanted returns the index of the column that people miss least; -1: they want all that there are.
func (t *table) leastWanted() int {
	least := -1
	for i, c := range t.columns {
		if t.mayLeave(i) && c.spare > 0 && (least < 0 || c.spare > t.columns[least].spare) {
			least = i
		}
	}
	return least
}

// lastWanted returns the index of the last column that may be left out; -1: there is none. Without the column by which the table is
// sorted, another number stays.
func (t *table) lastWanted() int {
	last, numbers := -1, 0
	for i, c := range t.columns {
		if c.title != "" && c.kind != textColumn {
			numbers++
		}
		if t.mayLeave(i) && (c.kind == textColumn || numbers > 1 || find(t.columns, t.key) >= 0) {
			last = i
		}
	}
	return last
}

// shorten takes columns of the terminal from the widest column of texts, down to the second widest or to the least width; false if none
// has any left.
func (t *table) shorten(tooWide, least int) bool {
	widest, width, next := -1, least, least
	for i, c := range t.columns {
		if c.title == "" || c.kind != textColumn || c.whole {
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
	width = max(min(next, width-1), width-tooWide, max(least, cellwidth.Of(t.columns[widest].title)))
	before := t.columnWidth(widest)
	for k := range t.rows {
		t.rows[k] = slices.Clone(t.rows[k])
		v := &t.rows[k][widest]
		v.short = elideTo(t.columns[widest].format(*v), width)
	}
	return t.columnWidth(widest) < before
}
