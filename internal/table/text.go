package table

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/words"
)

// Report is the output of a command in all forms: sections of tables, with texts.
type Report struct {
	Sections []Section
	Nothing  string   // the reason why there are no rows; "": there are rows
	Notes    []string // limitations of the numbers, for standard error
	Head     []Record // the first lines of the JSON form
	Lines    bool     // rows are lines of the JSON form; false: they are in its head
	Fixed    bool     // text output is exactly Text, unless tables are sorted or selected
	Text     string
}

// Section is a part of a report, for example about one thread.
type Section struct {
	Title   string   // "": none, and the section has no margin
	Lines   []string // text before the tables
	Tables  []*Table
	Details []Detail // text after the tables
	After   []string // text at the end
	Quiet   string   // subject of a section that can be omitted if others are more informative
}

// Detail is a block of lines about one row.
type Detail struct {
	Title string
	Width int // of the labels
	Lines []Labelled
}

// Labelled is a line with a label. The label "" means that the line belongs to the label above it. If the line is wrapped,
// further lines start at the column Hang.
type Labelled struct {
	Label, Text string
	Hang        int
}

// Add adds a line, unless it is empty.
func (d *Detail) Add(label, text string, hang int) {
	if text != "" {
		d.Lines = append(d.Lines, Labelled{label, text, hang})
	}
}

// AddList adds lines; the first one has the label.
func (d *Detail) AddList(label string, lines []string, hang int) {
	for i, line := range lines {
		if i > 0 {
			label = ""
		}
		d.Add(label, line, hang)
	}
}

func (d *Detail) write(b *bytes.Buffer, on Terminal) {
	fmt.Fprintf(b, "\n%s\n", on.Heading(on.Wrap(d.Title, 3)))
	for _, l := range d.Lines {
		fmt.Fprintln(b, on.DimIDs(on.Wrap("   "+words.PadRight(l.Label, d.Width)+l.Text, 3+d.Width+l.Hang)))
	}
}

// tables yields the tables of all sections.
func (r *Report) tables() iter.Seq[*Table] {
	return func(yield func(*Table) bool) {
		for i := range r.Sections {
			for _, t := range r.Sections[i].Tables {
				if !yield(t) {
					return
				}
			}
		}
	}
}

// Apply applies an order to all tables.
func (r *Report) Apply(o *Order) {
	for t := range r.tables() {
		o.Apply(t)
	}
}

// LastRows moves rows with Last to the end, for text.
func (r *Report) LastRows() {
	for t := range r.tables() {
		slices.SortStableFunc(t.Rows, func(a, b Row) int { return FalseFirst(a.Last, b.Last) })
	}
}

// JoinQuiet replaces the quiet sections with one line that lists their subjects, unless there are no other sections.
func (r *Report) JoinQuiet(text func(count int, names string) string) {
	others := slices.DeleteFunc(slices.Clone(r.Sections), func(s Section) bool { return s.Quiet != "" })
	if len(others) == 0 || len(others) == len(r.Sections) {
		return
	}
	counts := map[string]int{}
	for i := range r.Sections {
		counts[r.Sections[i].Quiet]++
	}
	delete(counts, "")
	var words []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[name]; n > 1 {
			name = fmt.Sprintf("%s ×%s", name, Thousands(n))
		}
		words = append(words, name)
	}
	const maxWords = 12
	if more := len(words) - maxWords; more > 0 {
		words = append(words[:maxWords], Thousands(more)+" more")
	}
	r.Sections = append(others, Section{Lines: []string{text(len(r.Sections)-len(others), strings.Join(words, ", "))}})
}

// WriteText writes a report as text: the tables that have rows or, if only is not "", just the table with that name.
func (r *Report) WriteText(w io.Writer, on Terminal, only string) error {
	if r.Nothing != "" {
		_, err := fmt.Fprintln(w, on.Wrap(r.Nothing, 0))
		return err
	}
	var b bytes.Buffer
	for i := range r.Sections {
		if i > 0 {
			b.WriteByte('\n')
		}
		r.Sections[i].write(&b, on, only)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (s *Section) write(b *bytes.Buffer, on Terminal, only string) {
	margin := ""
	if s.Title != "" {
		fmt.Fprintln(b, on.Heading(on.Wrap(s.Title, 2)))
		margin = "  "
	}
	for _, line := range s.Lines {
		fmt.Fprintln(b, on.Wrap(margin+line, len(margin)+2))
	}
	for _, t := range s.Tables {
		if t.Name == only || only == "" && len(t.Rows) > 0 && !t.Hidden {
			t.writeText(b, on)
		}
	}
	if only != "" {
		return
	}
	for i := range s.Details {
		s.Details[i].write(b, on)
	}
	for _, line := range s.After {
		fmt.Fprintf(b, "\n%s\n", on.Wrap(line, 6))
	}
}

// writeText writes a table, fitted to the terminal.
func (t *Table) writeText(b *bytes.Buffer, on Terminal) {
	margin := "  "
	if t.Flush {
		margin = ""
	}
	switch {
	case t.Title != "":
		fmt.Fprintf(b, "\n%s\n", on.Heading(on.Wrap(margin+t.Title, 4)))
	case t.Flush:
		b.WriteByte('\n')
	}
	t.fill()
	fitted, dropped := t.fit(on, len(margin))
	for i, line := range fitted.lines(on) {
		if line = strings.TrimRight(margin+line, " "); i == 0 {
			line = on.Heading(line)
		}
		b.WriteString(line + "\n")
	}
	notes := t.Notes
	if dropped > 0 {
		notes = append([]string{Plural(dropped, "more column", "more columns") + " in a wider terminal, or with --columns or --csv"}, notes...)
	}
	for _, note := range notes {
		fmt.Fprintln(b, on.Wrap(margin+note, len(margin)+2))
	}
}

// lines returns the titles of the columns and the rows of a table.
func (t *Table) lines(on Terminal) []string {
	lines := make([][]string, len(t.Rows)+1)
	var kinds []Kind
	var visible []int
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.Title == "" {
			continue
		}
		kinds, visible = append(kinds, c.Kind), append(visible, i)
		lines[0] = append(lines[0], c.Title)
		for k := range t.Rows {
			lines[k+1] = append(lines[k+1], t.cellText(i, &t.Rows[k].cells[i]))
		}
	}
	return align(lines, kinds, func(line, column int, text string) string {
		if line == 0 {
			return text
		}
		if c, v := &t.Columns[visible[column]], &t.Rows[line-1].cells[visible[column]]; c.Over > 0 && !v.Absent && v.Number >= c.Over {
			return on.Severe(text)
		}
		return on.DimIDs(text)
	})
}

// cellText returns the text of a cell, with its bar.
func (t *Table) cellText(column int, v *Cell) string {
	c := &t.Columns[column]
	text := words.Printable(c.Format(v))
	if !t.bars || v.Absent {
		return text
	}
	switch c.Kind {
	case ShareKind:
		return bar(float64(v.Number), 1000) + words.PadLeft(text, len(" 100.0 %"))
	case PercentKind:
		return bar(float64(v.Number), float64(max(v.Count, 1))) + words.PadLeft(text, len(" 100.0"))
	case PortionKind:
		return bar(float64(v.Number), 1e9) + words.PadLeft(text, len(" 100.0 %"))
	}
	return text
}

// align aligns the cells of lines in columns: texts to the left, numbers to the right. The function paint colors aligned cells.
func align(lines [][]string, kinds []Kind, paint func(line, column int, text string) string) []string {
	widths := make([]int, len(kinds))
	for _, line := range lines {
		for i, text := range line {
			widths[i] = max(widths[i], words.Width(text))
		}
	}
	out := make([]string, len(lines))
	for k, line := range lines {
		for i, text := range line {
			if kinds[i] == TextKind {
				line[i] = words.PadRight(text, widths[i])
			} else {
				line[i] = words.PadLeft(text, widths[i])
			}
			line[i] = paint(k, i, line[i])
		}
		out[k] = strings.TrimRight(strings.Join(line, "  "), " ")
	}
	return out
}

// minFactor is the relative increase, in thousandths, from which text shows a factor: ten times as much.
const minFactor = 9000

// Format returns the text of a cell.
func (c *Column) Format(v *Cell) string {
	if v.Absent {
		return v.Short
	}
	switch c.Kind {
	case CountKind:
		return Thousands(v.Number)
	case TimeKind:
		switch {
		case c.CountKey == "":
			return Millis(timeline.Nanos(v.Number))
		case v.Number == 0 && v.Count == 0:
			return "-"
		}
		return fmt.Sprintf("%s (%s)", Millis(timeline.Nanos(v.Number)), Thousands(v.Count))
	case ByteKind:
		return Separated(strconv.FormatFloat(float64(v.Number)/1000, 'f', 1, 64))
	case PercentKind:
		return fmt.Sprintf("%.1f", 100*float64(v.Number)/float64(max(v.Count, 1)))
	case PortionKind:
		return fmt.Sprintf("%.1f %%", float64(v.Number)/1e7)
	case ShareKind:
		return fmt.Sprintf("%d.%d %%", v.Number/10, v.Number%10)
	case ChangeKind:
		return Separated(fmt.Sprintf("%+.3f", float64(v.Number)/1e6))
	case RatioKind:
		if v.Number >= minFactor {
			return "×" + Separated(strconv.FormatFloat(float64(v.Number+1000)/1000, 'f', 0, 64))
		}
		return fmt.Sprintf("%+.1f %%", float64(v.Number)/10)
	case FlagKind:
		if v.Number != 0 {
			return "yes"
		}
		return "no"
	}
	return withNote(cmp.Or(v.Short, v.Text), v.Note)
}

func withNote(text, note string) string {
	if note == "" {
		return text
	}
	return text + " " + note
}
