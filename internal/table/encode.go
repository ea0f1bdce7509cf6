package table

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/words"
)

// Record returns a line of JSON, without the newline.
type Record func() ([]byte, error)

// JSON returns the record of a value: the output of encoding/json, with escapes for all control characters.
func JSON[T any](v T) Record {
	return func() ([]byte, error) {
		var line bytes.Buffer
		encoder := json.NewEncoder(&line)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(v); err != nil {
			return nil, err
		}
		return jsonscan.Escape(bytes.TrimSuffix(line.Bytes(), []byte("\n"))), nil
	}
}

// tableKey begins a line of JSON with the name of the table.
const tableKey = `{"table":`

// line returns a row as JSON.
func (t *Table) line(row *Row) ([]byte, error) {
	text, err := row.Record()
	if err != nil || bytes.HasPrefix(text, []byte(tableKey)) {
		return text, err
	}
	return append(append(jsonscan.AppendString([]byte(tableKey), t.Name), ','), text[1:]...), nil
}

// keyed returns the cells of the columns with keys as JSON.
func (t *Table) keyed(row *Row) []byte {
	b := []byte("{")
	member := func(key string, value []byte) {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(jsonscan.AppendString(b, key), ':'), value...)
	}
	for k, v := range row.Cells() {
		c := &t.Columns[k]
		if c.CountKey != "" {
			member(c.CountKey, strconv.AppendInt(nil, v.Count, 10))
		}
		switch {
		case c.Key == "":
		case v.Absent:
			member(c.Key, []byte("null"))
		case c.Kind == TextKind:
			member(c.Key, jsonscan.AppendString(nil, v.Text))
		default:
			member(c.Key, strconv.AppendInt(nil, v.Number, 10))
		}
	}
	return append(b, '}')
}

// WriteJSON writes the head of a report and then the rows of its tables, one per line. The parameter only is the name of the one
// table to write; "": all tables.
func (r *Report) WriteJSON(w io.Writer, only string) error {
	b := bufio.NewWriter(w)
	write := func(line []byte, err error) error {
		if err == nil {
			_, err = b.Write(append(line, '\n'))
		}
		return err
	}
	for _, head := range r.Head {
		if err := write(head()); err != nil {
			return err
		}
	}
	for t := range r.tables() {
		for i := range t.Rows {
			if r.Lines && (t.Name == only || only == "" && !t.Nested) {
				if err := write(t.line(&t.Rows[i])); err != nil {
					return err
				}
			}
		}
	}
	return b.Flush()
}

// WriteCSV writes the rows of a table from all sections of a report. form is the same table without rows.
func (r *Report) WriteCSV(w io.Writer, form *Table) error {
	out := csv.NewWriter(w)
	var head []string
	for i := range form.Columns {
		c := &form.Columns[i]
		if c.CountKey != "" {
			head = append(head, c.CountKey)
		}
		if c.Key != "" {
			head = append(head, c.Key)
		}
	}
	if err := out.Write(head); err != nil {
		return err
	}
	for t := range r.tables() {
		if t.Name != form.Name {
			continue
		}
		for i := range t.Rows {
			record, cells := make([]string, 0, len(head)), t.Rows[i].Cells()
			for k := range t.Columns {
				record = t.Columns[k].appendCSV(record, &cells[k])
			}
			if err := out.Write(words.PrintableFields(record)); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

// appendCSV appends a cell of the column to a CSV record.
func (c *Column) appendCSV(record []string, v *Cell) []string {
	if c.CountKey != "" {
		record = append(record, strconv.FormatInt(v.Count, 10))
	}
	switch {
	case c.Key == "":
		return record
	case v.Absent:
		return append(record, "")
	case c.Kind == TextKind:
		return append(record, v.Text)
	case c.Kind == FlagKind:
		return append(record, strconv.FormatBool(v.Number != 0))
	}
	return append(record, strconv.FormatInt(v.Number, 10))
}
