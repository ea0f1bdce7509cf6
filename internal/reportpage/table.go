package reportpage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

// wideColumns is the number of columns up to which the first one gets much room.
const wideColumns = 6

// look is how a page shows a table of a report, beside its cells.
type look struct {
	title    string             // for readers who do not see it; "": the table's
	fold     string             // what a click opens it with; "": it is open
	before   string             // the key of the column before which bars are; "": there are none
	barTitle string             // of the bars
	bar      func(i int) markup // of a row; nil: by the number in the column, of a class
	class    string
	spare    uint8            // people do without columns whose Spare is larger; 0: without none
	at       func(i int) span // where the timeline shows a row; nil: nowhere
	report   string           // which has the rows that the page lacks; "": none has
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

// shownRows is the number of rows that are shown until people ask for all.
const shownRows = 8

// rest writes what shows the rows that the style hides until it is open, and where those are that the page lacks.
func (d *document) rest(t *table.Table, l *look) {
	what := cmp.Or(t.What, "rows")
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

// shownColumns returns the indexes of the columns that people see, what a row is about first.
func shownColumns(t *table.Table, spare uint8) (columns []int) {
	for k := range t.Columns {
		if c := &t.Columns[k]; c.Title != "" && !t.Empty(k) && (spare == 0 || c.Spare <= spare) {
			columns = append(columns, k)
		}
	}
	if len(columns) > 0 && isNumber(&t.Columns[columns[0]]) && !t.Columns[columns[0]].Moment {
		slices.SortStableFunc(columns, func(a, b int) int { return table.FalseFirst(isNumber(&t.Columns[a]), isNumber(&t.Columns[b])) })
	}
	return columns
}

func isNumber(c *table.Column) bool { return c.Kind != table.TextKind || c.Moment }

// row writes a row. Those that come last are always shown.
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

// barOf draws the bar of a row; k is the column before which it is.
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

// shortText is the length of texts that are not divided among lines.
const shortText = 24

// shown returns a cell as a page shows it: whole texts, and dashes for numbers that are not known.
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

// span is a time of the trace that the timeline can show, or the waterfall; the zero span means no time.
type span struct {
	from, dur timeline.Nanos
	known     bool
	row       int // of the timeline, from 1 on; 0: none
	line      int // of the waterfall, likewise
}

func at(from, dur timeline.Nanos) span { return span{from: from, dur: max(dur, 0), known: true} }

// attribute returns what the script reads when the page is shown beside a timeline.
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
