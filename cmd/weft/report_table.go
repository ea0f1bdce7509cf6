package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weft-trace/weft/timeline"
)

// table is a table of a report, in a form that is printed as text and as comma-separated values.
type table struct {
	name    string // of --table
	title   string // for people
	columns []column
	rows    [][]cell
	note    string // behind the table, in text
}

// column is a column of a table. Its name is that of the CSV form, where times are nanoseconds; the title is for people,
// who get milliseconds.
type column struct {
	name, title string
	kind        columnKind
}

type columnKind uint8

const (
	textColumn columnKind = iota
	countColumn
	timeColumn
	shareColumn // thousandths; only in text
	flagColumn
)

// cell is a value of a table: a text or a number, as the column says.
type cell struct {
	text   string
	number int64
}

func textCell(text string) cell      { return cell{text: text} }
func countCell(n int64) cell         { return cell{number: n} }
func timeCell(t timeline.Nanos) cell { return cell{number: int64(t)} }
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
	switch c.kind {
	case countColumn:
		return strconv.FormatInt(v.number, 10)
	case timeColumn:
		return millis(timeline.Nanos(v.number))
	case shareColumn:
		return fmt.Sprintf("%d.%d %%", v.number/10, v.number%10)
	case flagColumn:
		if v.number != 0 {
			return "yes"
		}
		return "no"
	}
	return printable(v.text)
}

// millis returns a time as milliseconds with three decimals.
func millis(t timeline.Nanos) string { return strconv.FormatFloat(float64(t)/1e6, 'f', 3, 64) }

// writeReport prints the tables of all threads.
func writeReport(w io.Writer, threads []threadTables, only string) error {
	var b bytes.Buffer
	if len(threads) == 0 {
		b.WriteString("no thread of this trace has anything to count\n")
	}
	for i, t := range threads {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s [tid %d] of %s [pid %d]", clip(t.Thread), t.TID, clip(t.Process), t.PID)
		if t.source != "" {
			fmt.Fprintf(&b, ", %s", printable(t.source))
		}
		b.WriteByte('\n')
		for _, line := range t.summary {
			fmt.Fprintf(&b, "  %s\n", line)
		}
		found := only == ""
		for k := range t.tables {
			if only == "" && len(t.tables[k].rows) == 0 || only != "" && t.tables[k].name != only {
				continue
			}
			found = true
			t.tables[k].writeText(&b)
		}
		if !found {
			return unknownTable(t.tables, only)
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// maxName is the number of characters of a name that people get to see: processes may be called by their command line.
const maxName = 60

func clip(name string) string {
	if runes := []rune(name); len(runes) > maxName {
		name = string(runes[:maxName]) + "…"
	}
	return printable(name)
}

// writeText prints a table: texts to the left, numbers to the right.
func (t *table) writeText(b *bytes.Buffer) {
	lines := make([][]string, 1, len(t.rows)+1)
	widths := make([]int, len(t.columns))
	for _, c := range t.columns {
		lines[0] = append(lines[0], c.title)
	}
	for _, row := range t.rows {
		var line []string
		for i, v := range row {
			line = append(line, t.columns[i].format(v))
		}
		lines = append(lines, line)
	}
	for _, line := range lines {
		for i, text := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(text))
		}
	}
	fmt.Fprintf(b, "\n  %s\n", t.title)
	for _, line := range lines {
		var out strings.Builder
		for i, text := range line {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text))
			if t.columns[i].kind == textColumn {
				out.WriteString("  " + text + pad)
			} else {
				out.WriteString("  " + pad + text)
			}
		}
		b.WriteString(strings.TrimRight(out.String(), " ") + "\n")
	}
	if t.note != "" {
		fmt.Fprintf(b, "  %s\n", t.note)
	}
}

// writeCSV writes one table of all threads, the first one unless another is asked for.
func writeCSV(w io.Writer, threads []threadTables, only string) error {
	out := csv.NewWriter(w)
	for i, t := range threads {
		k := 0
		if only != "" {
			k = slices.IndexFunc(t.tables, func(t table) bool { return t.name == only })
		}
		if k < 0 {
			return unknownTable(t.tables, only)
		}
		if err := t.tables[k].writeCSV(out, &t, i == 0); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func (t *table) writeCSV(out *csv.Writer, thread *threadTables, head bool) error {
	record := []string{"process", "pid", "thread", "tid"}
	for _, c := range t.columns {
		if c.kind != shareColumn {
			record = append(record, c.name)
		}
	}
	if head {
		if err := out.Write(record); err != nil {
			return err
		}
	}
	for _, row := range t.rows {
		record = append(record[:0], thread.Process, strconv.Itoa(int(thread.PID)), thread.Thread, strconv.FormatInt(thread.TID, 10))
		for i, v := range row {
			switch t.columns[i].kind {
			case shareColumn:
			case textColumn:
				record = append(record, v.text)
			case flagColumn:
				record = append(record, strconv.FormatBool(v.number != 0))
			default:
				record = append(record, strconv.FormatInt(v.number, 10))
			}
		}
		if err := out.Write(record); err != nil {
			return err
		}
	}
	return nil
}

func unknownTable(tables []table, name string) error {
	var names []string
	for _, t := range tables {
		names = append(names, t.name)
	}
	return usagef("--table: unknown table %q; the tables are %s", name, strings.Join(names, ", "))
}
