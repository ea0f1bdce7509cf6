package reportpage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

// wideColumns is the maximum number of columns at which the first one is wide.
const wideColumns = 6

// look describes the presentation of a table of a report.
type look struct {
	title    string             // the caption for screen readers; "": the title of the table
	fold     string             // the label of the fold that holds the table; "": it is not folded
	before   string             // the key of the column after the bars; "": no bars
	barTitle string             // the title of the column of bars
	bar      func(i int) markup // draws the bar of a row; nil: for the number in the column that before names, with class as its class
	class    string
	spare    uint8            // leaves out columns whose DropOrder is larger; 0: none
	at       func(i int) span // where the timeline shows a row; nil: nowhere
	report   string           // the report with the remaining rows; "": none
	note     string
}

// show writes a table of a report.
func (d *document) show(t *table.Table, l look) {
	columns := shownColumns(t, l.spare)
	if l.fold != "" {
		d.p("<details><summary>%s</summary>", l.fold)
	}
	title, class := cmp.Or(l.title, t.Title), markup("")
	if len(columns) <= wideColumns {
		class = " class=wide"
	}
	d.p("<div class=rows><div class=scroll tabindex=0 role=region aria-label=\"%s\"><table%s><caption>%s</caption>\n<thead><tr>", title, class, title)
	for _, k := range columns {
		c := &t.Columns[k]
		if l.before != "" && c.Key == l.before {
			d.p("<th scope=col class=b><span class=hide>%s</span></th>", l.barTitle)
		}
		if isNumber(c) {
			d.p("<th scope=col class=n>%s</th>", c.Title)
		} else {
			d.p("<th scope=col>%s</th>", c.Title)
		}
	}
	d.p("</tr></thead>\n<tbody>\n")
	for i := range t.Rows {
		d.row(t, i, columns, &l)
	}
	d.p("</tbody></table></div>\n")
	d.rest(t, &l)
	d.p("</div>\n")
	if l.note != "" {
		d.p("<p class=note>%s</p>\n", l.note)
	}
	if l.fold != "" {
		d.p("</details>\n")
	}
}

// shownRows is the number of rows shown until a click shows all.
const shownRows = 8

// rest writes the control that shows hidden rows, and the command that prints the rows left out of the page.
func (d *document) rest(t *table.Table, l *look) {
	what := cmp.Or(t.RowNoun, "rows")
	if t.All > len(t.Rows) {
		where := ""
		if l.report != "" {
			where = "; weft report " + l.report + " lists all"
		}
		l.note = strings.TrimSpace(fmt.Sprintf("The page has %s of %s %s%s. %s", table.Thousands(len(t.Rows)), table.Thousands(t.All), what, where, l.note))
	}
	if n := slices.IndexFunc(t.Rows, func(r table.Row) bool { return r.Last }); len(t.Rows) > shownRows && (n < 0 || n > shownRows) {
		d.p("<details class=rest><summary>All %s %s</summary></details>\n", table.Thousands(len(t.Rows)), what)
	}
}

// shownColumns returns the indexes of the visible columns; the subject of a row comes first.
func shownColumns(t *table.Table, spare uint8) (columns []int) {
	for k := range t.Columns {
		if c := &t.Columns[k]; c.Title != "" && !t.Empty(k) && (spare == 0 || c.DropOrder <= spare) {
			columns = append(columns, k)
		}
	}
	if len(columns) > 0 && isNumber(&t.Columns[columns[0]]) && !t.Columns[columns[0]].Moment {
		slices.SortStableFunc(columns, func(a, b int) int { return table.FalseFirst(isNumber(&t.Columns[a]), isNumber(&t.Columns[b])) })
	}
	return columns
}

func isNumber(c *table.Column) bool { return c.Kind != table.TextKind || c.Moment }

// row writes a row. Rows for the rest, which come last, are never hidden.
func (d *document) row(t *table.Table, i int, columns []int, l *look) {
	attribute := markup("")
	switch {
	case t.Rows[i].Last:
		attribute = " class=last"
	case l.at != nil:
		attribute = l.at(i).attribute()
	}
	d.p("<tr%s>", attribute)
	for n, k := range columns {
		c := &t.Columns[k]
		if l.before != "" && c.Key == l.before {
			d.p("<td class=b>%s</td>", d.barOf(t, i, k, l))
		}
		tag, end := markup("td"), markup("td")
		if n == 0 {
			tag, end = "th scope=row", "th"
		}
		text := shown(c, &t.Rows[i].Cells()[k])
		class := markup("")
		switch {
		case isNumber(c):
			class = " class=n"
		case len(text) <= shortText:
			class = " class=short"
		}
		d.p("<%s%s>%s</%s>", tag, class, text, end)
	}
	d.p("</tr>\n")
}

// barOf draws the bar of a row; k is the column after it.
func (d *document) barOf(t *table.Table, i, k int, l *look) markup {
	if l.bar != nil {
		return l.bar(i)
	}
	most := int64(0)
	for r := range t.Rows {
		most = max(most, t.Rows[r].Cells()[k].Number)
	}
	return d.bar([]part{{class: cmp.Or(l.class, "plain"), time: timeline.Nanos(t.Rows[i].Cells()[k].Number)}}, timeline.Nanos(most))
}

// shortText is the length up to which texts are not wrapped.
const shortText = 24

// shown formats a cell: texts in full, and dashes for unknown numbers.
func shown(c *table.Column, v *table.Cell) string {
	switch {
	case c.Moment:
		return v.Short
	case c.Kind == table.TextKind:
		return strings.TrimSuffix(cmp.Or(v.Long, v.Text, v.Short)+" "+v.Note, " ")
	case v.Absent && v.Short == "", v.Few:
		return "–"
	}
	return c.Format(v)
}

// span is an interval that the timeline or the waterfall can show; the zero span means no interval.
type span struct {
	from, dur timeline.Nanos
	known     bool
	row       int // in the timeline, counted from 1; 0: none
	line      int // in the waterfall, counted from 1; 0: none
}

func at(from, dur timeline.Nanos) span { return span{from: from, dur: max(dur, 0), known: true} }

// attribute returns the attributes that the script reads.
func (s span) attribute() markup {
	if !s.known {
		return ""
	}
	row := ""
	if s.row > 0 {
		row = fmt.Sprintf(" %d", s.row)
	}
	line := ""
	if s.line > 0 {
		line = fmt.Sprintf(" data-line=%d", s.line)
	}
	return markup(fmt.Sprintf(" data-at=\"%d %d%s\"%s", int64(s.from), int64(s.dur), row, line))
}
