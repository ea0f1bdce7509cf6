package main

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/cellwidth"
	escapes "github.com/weft-trace/weft/internal/printable"
	"github.com/weft-trace/weft/internal/timeline"
)

// table is a table of a report, in a form that is printed as text and as comma-separated values.
type table struct {
	name    string // of --table
	title   string // for people
	key     string // the name of the column by which it is sorted
	columns []column
	chosen  bool // the columns are those that were asked for
	rows    [][]cell
	note    string // after the table, in text
}

// column is a column of a table. Its name is that of the CSV form, where times are nanoseconds; the title is for people,
// who get milliseconds. A column without name is for people only, one without title for programs.
type column struct {
	name, title string
	kind        columnKind
	spare       uint8  // where a terminal is too narrow, columns are left out, those first with the largest number; 0: never
	moment      bool   // texts that are times of the trace, and sorted as such
	whole       bool   // texts that are never shortened, because they are words or numbers
	count       string // timeColumn: the name of one more column of the CSV form, with the number of samples behind the time
}

func texts(name, title string) column { return column{name: name, title: title} }
func moments(name, title string) column {
	return column{name: name, title: title, whole: true, moment: true}
}
func counts(name, title string) column { return column{name: name, title: title, kind: countColumn} }
func times(name, title string) column  { return column{name: name, title: title, kind: timeColumn} }
func shares(title string) column       { return column{title: title, kind: shareColumn} }
func portions(name, title string) column {
	return column{name: name, title: title, kind: portionColumn}
}
func flags(name, title string) column { return column{name: name, title: title, kind: flagColumn} }

// whole says that the texts of a column are not shortened.
func whole(c column) column {
	c.whole = true
	return c
}

// countedTimes is a column of times with the samples behind them.
func countedTimes(name, title string) column {
	return column{name: name + "_ns", title: title, kind: timeColumn, count: name + "_samples"}
}

type columnKind uint8

const (
	textColumn columnKind = iota
	countColumn
	timeColumn
	byteColumn
	shareColumn   // thousandths
	portionColumn // billionths
	percentColumn // of the count of each cell
	changeColumn  // a difference of times
	ratioColumn   // a difference in thousandths
	flagColumn
)

// cell is a value of a table: a text or a number, as the column says.
type cell struct {
	text   string
	short  string // for people, if that is not the text, or if there is no value
	number int64
	count  int64 // where the column has a count
	absent bool  // there is no value
}

func textCell(text string) cell      { return cell{text: text} }
func countCell(n int64) cell         { return cell{number: n} }
func timeCell(t timeline.Nanos) cell { return cell{number: int64(t)} }
func countedCell(t timeline.Nanos, samples int64) cell {
	return cell{number: int64(t), count: samples}
}
func shareCell(of, all timeline.Nanos) cell {
	if all <= 0 {
		return cell{}
	}
	return cell{number: int64(float64(of)/float64(all)*1000 + 0.5)}
}

func flagCell(set bool) cell {
	if set {
		return cell{number: 1}
	}
	return cell{}
}

// format returns a cell as people read it.
func (c column) format(v cell) string {
	if v.absent {
		return v.short
	}
	switch c.kind {
	case countColumn:
		return thousands(v.number)
	case timeColumn:
		switch {
		case c.count == "":
			return millis(timeline.Nanos(v.number))
		case v.number == 0 && v.count == 0:
			return "-"
		}
		return fmt.Sprintf("%s (%s)", millis(timeline.Nanos(v.number)), thousands(v.count))
	case byteColumn:
		return separated(strconv.FormatFloat(float64(v.number)/1000, 'f', 1, 64))
	case percentColumn:
		return fmt.Sprintf("%.1f", 100*float64(v.number)/float64(max(v.count, 1)))
	case portionColumn:
		return fmt.Sprintf("%.1f %%", float64(v.number)/1e7)
	case shareColumn:
		return fmt.Sprintf("%d.%d %%", v.number/10, v.number%10)
	case changeColumn:
		return separated(fmt.Sprintf("%+.3f", float64(v.number)/1e6))
	case ratioColumn:
		if v.number >= manifold {
			return "×" + separated(strconv.FormatFloat(float64(v.number+1000)/1000, 'f', 0, 64))
		}
		return fmt.Sprintf("%+.1f %%", float64(v.number)/10)
	case flagColumn:
		if v.number != 0 {
			return "yes"
		}
		return "no"
	}
	return cmp.Or(v.short, v.text)
}

// manifold is where a ratio is shown as a factor: from ten times as much on.
const manifold = 9000

// writeReport prints the tables of all threads, or nothing says why there are none.
func writeReport(w io.Writer, on terminal, threads []threadTables, only, nothing string) error {
	var b bytes.Buffer
	if len(threads) == 0 {
		fmt.Fprintln(&b, on.wrap(nothing, 0))
	}
	for i, t := range threads {
		if i > 0 {
			b.WriteByte('\n')
		}
		if t.folded != "" {
			fmt.Fprintln(&b, on.wrap(t.folded, 2))
			continue
		}
		fmt.Fprintln(&b, on.heading(on.wrap(t.title(), 2)))
		for _, line := range t.summary {
			fmt.Fprintln(&b, on.wrap("  "+line, 4))
		}
		for k := range t.tables {
			if only == "" && len(t.tables[k].rows) > 0 || t.tables[k].name == only {
				t.tables[k].fit(on.columns)
				t.tables[k].writeText(&b, on)
			}
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// title names a thread: by what it shows, if that is known.
func (t *threadTables) title() string {
	title := elideTo(t.ThreadTitle(), maxName) + " of " + elideTo(t.ProcessTitle(), maxName)
	if t.shows != "" && t.shows != t.Process {
		title = elideTo(t.shows, maxShows) + ": " + title
	}
	if t.source != "" {
		title += ", sampled by " + printable(cmp.Or(samplers[t.source], t.source))
	}
	return title
}

// samplers are what takes samples, as people call it.
var samplers = map[string]string{"legacy_v8": "V8", "gecko": "Firefox", "js_self_profiling": "the page"}

// maxName is the number of characters of a name that people get to see: processes may be called by their command line.
const maxName = 60

// maxShows is the width of a url in a title.
const maxShows = 80

// lineIndent is the number of blanks in front of the lines of a table.
const lineIndent = 2

// writeText prints a table.
func (t *table) writeText(b *bytes.Buffer, on terminal) {
	if t.title != "" {
		fmt.Fprintf(b, "\n%s\n", on.heading(on.wrap("  "+t.title, 4)))
	}
	for i, line := range t.lines() {
		line = strings.TrimRight("  "+line, " ")
		if i == 0 {
			line = on.heading(line)
		}
		b.WriteString(line + "\n")
	}
	if t.note != "" {
		fmt.Fprintln(b, on.wrap("  "+t.note, 4))
	}
}

// lines returns the titles of the columns and the rows of a table.
func (t *table) lines() []string {
	lines := make([][]string, len(t.rows)+1)
	var kinds []columnKind
	for i, c := range t.columns {
		if c.title == "" {
			continue
		}
		kinds = append(kinds, c.kind)
		lines[0] = append(lines[0], c.title)
		for k, row := range t.rows {
			lines[k+1] = append(lines[k+1], printable(c.format(row[i])))
		}
	}
	return align(lines, kinds)
}

// align makes columns of the cells of lines: texts to the left, numbers to the right.
func align(lines [][]string, kinds []columnKind) []string {
	widths := make([]int, len(kinds))
	for _, line := range lines {
		for i, text := range line {
			widths[i] = max(widths[i], cellwidth.Of(text))
		}
	}
	out := make([]string, len(lines))
	for k, line := range lines {
		for i, text := range line {
			if kinds[i] == textColumn {
				line[i] = cellwidth.Left(text, widths[i])
			} else {
				line[i] = cellwidth.Right(text, widths[i])
			}
		}
		out[k] = strings.TrimRight(strings.Join(line, "  "), " ")
	}
	return out
}

// writeCSV writes the table of the given index of all threads, whose columns are those of form.
func writeCSV(w io.Writer, threads []threadTables, form *table, index int) error {
	out := csv.NewWriter(w)
	if err := out.Write(form.csvHead()); err != nil {
		return err
	}
	for i := range threads {
		t := &threads[i]
		for _, row := range t.tables[index].rows {
			record := []string{t.Process, t.PID.Number(), t.Thread, t.TID.Number()}
			for k, v := range row {
				record = form.columns[k].appendCSV(record, v)
			}
			if err := out.Write(escapes.Lines(record)); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

// threadHead are the columns that a table of a thread has first in the CSV form.
var threadHead = [...]string{"process", "pid", "thread", "tid"}

// csvHead returns the names of the columns of the CSV form.
func (t *table) csvHead() []string {
	head := threadHead[:]
	for _, c := range t.columns {
		if c.count != "" {
			head = append(head, c.count)
		}
		if c.name != "" {
			head = append(head, c.name)
		}
	}
	return head
}

// appendCSV appends a cell of the column to a record of the CSV form.
func (c column) appendCSV(record []string, v cell) []string {
	if c.count != "" {
		record = append(record, strconv.FormatInt(v.count, 10))
	}
	switch {
	case c.name == "":
		return record
	case v.absent:
		return append(record, "")
	case c.kind == textColumn:
		return append(record, v.text)
	case c.kind == flagColumn:
		return append(record, strconv.FormatBool(v.number != 0))
	}
	return append(record, strconv.FormatInt(v.number, 10))
}

// findTable returns the index of the table of a name; "" is the first.
func findTable(tables []table, name string) (int, error) {
	if name == "" {
		return 0, nil
	}
	i := slices.IndexFunc(tables, func(t table) bool { return t.name == name })
	if i < 0 {
		return 0, unknownTable(tables, name)
	}
	return i, nil
}

func unknownTable(tables []table, name string) error {
	var names []string
	for _, t := range tables {
		names = append(names, t.name)
	}
	return unknownValue("table", "table", name, names...)
}
