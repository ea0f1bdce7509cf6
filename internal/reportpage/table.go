package reportpage

import (
	"cmp"
	"fmt"

	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

// column is a column of a table.
type column struct {
	title  string
	number bool // aligned to the right
	bar    bool // of bars
}

// rows is a table that is written row by row.
type rows struct {
	d *document
}

// wideColumns is the number of columns up to which the first one gets much room.
const wideColumns = 6

// table begins a table. The title is for those who do not see it; fold says what a click opens it with, "": it is open.
func (d *document) table(title, fold string, columns ...column) *rows {
	if fold != "" {
		d.p("<details><summary>%s</summary>", fold)
	}
	class := markup("")
	if len(columns) <= wideColumns {
		class = " class=wide"
	}
	d.p("<div class=scroll tabindex=0 role=region aria-label=\"%s\"><table%s><caption>%s</caption>\n<thead><tr>", title, class, title)
	for _, c := range columns {
		class := markup("")
		if c.number {
			class = " class=n"
		}
		if c.bar {
			d.p("<th scope=col><span class=hide>%s</span></th>", c.title)
			continue
		}
		d.p("<th scope=col%s>%s</th>", class, c.title)
	}
	d.p("</tr></thead>\n<tbody>\n")
	return &rows{d}
}

// row writes a row. Cells that are a number have that type; at says where the timeline shows it.
func (t *rows) row(at span, cells ...any) { t.write(at.attribute(), cells) }

// last writes a row at the end of a table, which is on paper too, where tables are short.
func (t *rows) last(cells ...any) { t.write(" class=last", cells) }

func (t *rows) write(attribute markup, cells []any) {
	t.d.p("<tr%s>", attribute)
	for i, c := range cells {
		tag := "td"
		if i == 0 {
			tag = "th scope=row"
		}
		end := tag[:2]
		switch c := c.(type) {
		case num:
			t.d.p("<%s class=n>%s</%s>", markup(tag), string(c), markup(end))
		case string:
			t.d.p("<%s>%s</%s>", markup(tag), c, markup(end))
		default:
			t.d.p("<%s>%v</%s>", markup(tag), c, markup(end))
		}
	}
	t.d.p("</tr>\n")
}

// num is a cell with a number.
type num string

// end ends a table; fold as in its begin.
func (t *rows) end(note string, folded bool) {
	t.d.p("</tbody></table></div>\n")
	if note != "" {
		t.d.p("<p class=note>%s</p>\n", note)
	}
	if folded {
		t.d.p("</details>\n")
	}
}

// look is how a page shows a table of a report, beside its cells.
type look struct {
	title    string             // for those who do not see it
	before   string             // the key of the column before which bars are
	barTitle string             // of the bars
	bar      func(i int) markup // of a row
	at       func(i int) span   // where the timeline shows a row; nil: nowhere
	note     string
}

// show writes a table of a report, with bars.
func (d *document) show(t *table.Table, l look) {
	var columns []column
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.Key == l.before {
			columns = append(columns, column{title: l.barTitle, bar: true})
		}
		if c.Title != "" && !t.Empty(i) {
			columns = append(columns, column{title: c.Title, number: c.Kind != table.TextKind || c.Moment})
		}
	}
	out := d.table(l.title, "", columns...)
	for k := range t.Rows {
		var cells []any
		for i := range t.Columns {
			c := &t.Columns[i]
			if c.Key == l.before {
				cells = append(cells, l.bar(k))
			}
			if c.Title != "" && !t.Empty(i) {
				cells = append(cells, shown(c, &t.Rows[k].Cells()[i]))
			}
		}
		where := span{}
		if l.at != nil {
			where = l.at(k)
		}
		out.row(where, cells...)
	}
	out.end(l.note, false)
}

// shown returns a cell as a page shows it: whole texts, and dashes for numbers that are not known.
func shown(c *table.Column, v *table.Cell) any {
	switch {
	case c.Moment:
		return num(v.Short)
	case c.Kind == table.TextKind:
		return cmp.Or(v.Long, v.Text, v.Short)
	case v.Absent && v.Short == "":
		return num("–")
	}
	return num(c.Format(v))
}

// span is a time of the trace that the timeline can show; the zero span is none.
type span struct {
	from, dur timeline.Nanos
	known     bool
}

func at(from, dur timeline.Nanos) span { return span{from, max(dur, 0), true} }

// attribute returns what the script reads when the page is shown beside a timeline.
func (s span) attribute() markup {
	if !s.known {
		return ""
	}
	return markup(fmt.Sprintf(" data-at=\"%d %d\"", int64(s.from), int64(s.dur)))
}

// stacked returns the markup of a name with what stands below it in small letters.
func (d *document) stacked(name, below string) markup {
	if below == "" {
		return d.text(name)
	}
	return "<span>" + d.text(name) + "</span> <small>" + d.text(below) + "</small>"
}
