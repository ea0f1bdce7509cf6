package main

import (
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/cellwidth"
)

// minTextWidth is the number of columns to which texts of a table are shortened at most.
const minTextWidth = 16

// fit makes a table fit so many columns of a terminal, if it can: it leaves out columns that people can do without, those first
// that they miss least, then shortens texts, the widest first, and at last leaves out what is on the right: a number that the
// edge of the terminal cuts would be another number. 0: it has room.
func (t *table) fit(columns int) {
	if columns <= 0 {
		return
	}
	for {
		tooWide := t.width() - columns
		if tooWide <= 0 {
			return
		}
		if least := t.leastWanted(); least >= 0 {
			t.columns[least].title = ""
			continue
		}
		if !t.shorten(tooWide) && !t.dropLast() {
			return
		}
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

// leastWanted returns the index of the column that people miss least; -1: they want all that there are.
func (t *table) leastWanted() int {
	least := -1
	for i, c := range t.columns {
		if c.title != "" && c.spare > 0 && (least < 0 || c.spare > t.columns[least].spare) {
			least = i
		}
	}
	return least
}

// minColumns is the number of columns that a table keeps on any terminal: what a row is about, and a number.
const minColumns = 2

// dropLast leaves out the last column; false if there are so few that it has to stay.
func (t *table) dropLast() bool {
	shown, last := 0, -1
	for i, c := range t.columns {
		if c.title != "" {
			shown, last = shown+1, i
		}
	}
	if shown <= minColumns {
		return false
	}
	t.columns[last].title = ""
	return true
}

// shorten takes columns of the terminal from the widest column of texts, down to the second widest; false if none has any left.
func (t *table) shorten(tooWide int) bool {
	widest, width, next := -1, minTextWidth, minTextWidth
	for i, c := range t.columns {
		if c.title == "" || c.kind != textColumn || strings.HasSuffix(c.name, "ts_ns") {
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
	width = max(min(next, width-1), width-tooWide, max(minTextWidth, cellwidth.Of(t.columns[widest].title)))
	before := t.columnWidth(widest)
	for k := range t.rows {
		t.rows[k] = slices.Clone(t.rows[k])
		v := &t.rows[k][widest]
		v.short = elideTo(t.columns[widest].format(*v), width)
	}
	return t.columnWidth(widest) < before
}
