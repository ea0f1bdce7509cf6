// Package table is the model of reports: tables of typed cells, with texts around them. A report makes its tables once; text, CSV,
// JSON and HTML are renderings of them.
//
// New makes a table from a list of rows and columns. A column has a key, a title, and a function that returns its cell for a
// row, so adding a column changes one place. Order sorts rows, limits them and selects columns on the model; fit.go fits tables
// to a terminal. CSV and JSON are in encode.go; package reportpage renders HTML. A report on many files combines the tables of
// each (fold.go).
//
// Other packages handle the content of tables, flags and files.
package table

import (
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/timeline"
)

// Table is a table of a report.
type Table struct {
	Name         string // value of --table
	Title        string // in text
	Key          string // key of the column by which it is sorted
	Main         bool   // the default table for CSV, instead of the first one
	Hidden       bool   // only in text if requested by name
	IgnoresLimit bool   // ignores the limit of rows, unless --sort is used
	Flush        bool   // has no margin in text
	RowNoun      string // plural noun for rows; "": rows
	Nested       bool   // its rows are part of another table's rows in JSON
	All          int    // number of rows, if Rows is truncated
	Notes        []string

	// The following are for reports on many files.
	Folding Folding
	Total   int64                // total of the Main column in the file; 0: the sum of the rows
	Start   timeline.Nanos       // start of the trace, for Listed rows
	Totals  Totals               // of a Listed table of the file
	Summary func(*Totals) string // the first line about a Listed table
	Worst   string               // adjective for the rows of a Listed table, such as longest

	Columns []Column
	Rows    []Row

	bars   bool // shares have bars
	chosen bool // columns were selected
}

// Row is a row of a table. Its cells are created on demand: most rows of large tables are not printed, and JSON needs no
// cells.
type Row struct {
	Record Record // the row as JSON
	Last   bool   // a row for the rest, which comes last in text, however the table is sorted

	make  func() []Cell
	cells []Cell
}

// Cells returns the cells of the row, one for each column.
func (r *Row) Cells() []Cell {
	if r.cells == nil {
		r.cells = r.make()
	}
	return r.cells
}

// Column is a column of a table. The key is its name in CSV and JSON, where times are nanoseconds; the title is its name in
// text and HTML, where times are milliseconds. A column without a key is missing in CSV and JSON; one without a title is
// missing in text and HTML.
type Column struct {
	Key, Title string
	Kind       Kind
	DropOrder  uint8  // narrow terminals drop columns with the highest number first; 0: never
	Moment     bool   // texts are times of the trace, and sorted as such
	Whole      bool   // texts are never shortened, because they are words or numbers
	Fixed      bool   // identifies the row, and stays when columns are selected
	IfAny      bool   // hidden if no row has a value, unless it was selected
	Page       bool   // only in HTML
	CountKey   string // key of an additional CSV column with Cell.Count
	Over       int64  // numbers of at least this size are highlighted; 0: none
	Role       Role   // in a report on many files
}

// Kind is the type and unit of the cells of a column.
type Kind uint8

const (
	TextKind    Kind = iota
	CountKind        // a number
	TimeKind         // nanoseconds
	ByteKind         // bytes; KB in text
	ShareKind        // thousandths
	PortionKind      // billionths
	PercentKind      // a part of Cell.Count
	ChangeKind       // a difference of times
	RatioKind        // a relative difference in thousandths
	FlagKind         // 1: yes
)

// Cell is a value of a table: a text or a number, depending on the kind of the column.
type Cell struct {
	Text   string
	Short  string // text shown to readers, if it differs from Text or there is no value
	Note   string // follows the text, never truncated
	Long   string // full text for HTML, in which urls are recognized; "": Text
	Number int64
	Count  int64 // for columns with CountKey, or of PercentKind
	Absent bool  // no value
	Few    bool  // a percentile of fewer than Enough values, which HTML does not show
}

// Enough is the number of values that a meaningful percentile needs.
const Enough = 20

// None is a cell without a value.
var None = Cell{Absent: true}

// Integer is the type of counts.
type Integer interface {
	~int | ~int64 | ~uint64
}

// Text returns a cell with a text.
func Text(text string) Cell { return Cell{Text: text} }

// Number returns a cell with a number.
func Number[N Integer](n N) Cell { return Cell{Number: int64(n)} }

// Optional returns a cell with a number that may be unknown.
func Optional[N Integer](n *N) Cell {
	if n == nil {
		return None
	}
	return Number(*n)
}

// Counted returns a cell with a time and its number of samples.
func Counted(t timeline.Nanos, samples int64) Cell { return Cell{Number: int64(t), Count: samples} }

// Share returns a cell with a share in thousandths.
func Share(part, all timeline.Nanos) Cell {
	if all <= 0 {
		return Cell{}
	}
	return Cell{Number: int64(float64(part)/float64(all)*1000 + 0.5)}
}

// Flag returns a cell with yes or no.
func Flag(set bool) Cell {
	if set {
		return Cell{Number: 1}
	}
	return Cell{}
}

// Name returns a cell with a name, which text shortens in the middle to a width.
func Name(name string, width int) Cell {
	if name == "" {
		return Cell{Short: "(none)"}
	}
	return Cell{Text: name, Short: Elide(name, width)}
}

// Moment returns a cell with a time of a trace: text shows the time since the start, in the syntax of --from; CSV and JSON
// contain the timestamp.
func Moment(at, start timeline.Nanos) Cell {
	return Cell{Text: strconv.FormatInt(int64(at), 10), Short: MomentText(at - start), Number: int64(at)}
}

// TypedColumn is a column of a table with rows of type T.
type TypedColumn[T any] struct {
	Column
	Cell func(*T) Cell
}

// New makes a table from a list of values. The JSON form of a row is the JSON form of its value.
func New[T any](t Table, list []T, columns ...TypedColumn[T]) *Table {
	t.Columns = make([]Column, len(columns))
	for k := range columns {
		t.Columns[k] = columns[k].Column
	}
	t.Rows = make([]Row, len(list))
	for i := range list {
		t.Rows[i] = Row{Record: JSON(&list[i]), make: func() []Cell {
			cells := make([]Cell, len(columns))
			for k := range columns {
				cells[k] = columns[k].Cell(&list[i])
			}
			return cells
		}}
	}
	return &t
}

// Cells returns a column with any properties.
func Cells[T any](c Column, cell func(*T) Cell) TypedColumn[T] { return TypedColumn[T]{c, cell} }

// Texts returns a column of texts.
func Texts[T any](key, title string, of func(*T) string) TypedColumn[T] {
	return Cells(Column{Key: key, Title: title}, func(row *T) Cell { return Text(of(row)) })
}

// Names returns a column of names; see Name.
func Names[T any](key, title string, width int, of func(*T) string) TypedColumn[T] {
	return Cells(Column{Key: key, Title: title}, func(row *T) Cell { return Name(of(row), width) })
}

// Moments returns a column of times of a trace; see Moment.
func Moments[T any](key, title string, start timeline.Nanos, of func(*T) timeline.Nanos) TypedColumn[T] {
	return MomentCells(key, title, func(row *T) Cell { return Moment(of(row), start) })
}

// MomentCells returns a column of cells made by Moment.
func MomentCells[T any](key, title string, cell func(*T) Cell) TypedColumn[T] {
	return Cells(Column{Key: key, Title: title, Moment: true, Whole: true}, cell)
}

// Counts returns a column of numbers.
func Counts[T any, N Integer](key, title string, of func(*T) N) TypedColumn[T] {
	return Cells(Column{Key: key, Title: title, Kind: CountKind}, func(row *T) Cell { return Number(of(row)) })
}

// Times returns a column of lengths of time.
func Times[T any](key, title string, of func(*T) timeline.Nanos) TypedColumn[T] {
	return Cells(Column{Key: key, Title: title, Kind: TimeKind}, func(row *T) Cell { return Number(of(row)) })
}

// OptionalTimes returns a column of lengths of time that may be unknown.
func OptionalTimes[T any](key, title string, of func(*T) *timeline.Nanos) TypedColumn[T] {
	return Cells(Column{Key: key, Title: title, Kind: TimeKind}, func(row *T) Cell { return Optional(of(row)) })
}

// CountedTimes returns a column of times with their numbers of samples.
func CountedTimes[T any](key, countKey, title string, of func(*T) (timeline.Nanos, int64)) TypedColumn[T] {
	return Cells(Column{Key: key, CountKey: countKey, Title: title, Kind: TimeKind}, func(row *T) Cell { return Counted(of(row)) })
}

// Nested returns a column of texts that are indented by their depth in a tree.
func Nested[T any](key, title string, width int, of func(*T) (text string, depth int)) TypedColumn[T] {
	return Cells(Column{Key: key, Title: title}, func(row *T) Cell {
		text, depth := of(row)
		return Cell{Text: text, Short: strings.Repeat(" ", depth) + Elide(text, width)}
	})
}

// Shares returns a column of percentages, in text and HTML only.
func Shares[T any](title string, of func(*T) (part, all timeline.Nanos)) TypedColumn[T] {
	return Cells(Column{Title: title, Kind: ShareKind}, func(row *T) Cell { return Share(of(row)) })
}

// Portions returns a column of billionths.
func Portions[T any](key, title string, of func(*T) int64) TypedColumn[T] {
	return Cells(Column{Key: key, Title: title, Kind: PortionKind}, func(row *T) Cell { return Number(of(row)) })
}

// Flags returns a column of yes and no.
func Flags[T any](key, title string, of func(*T) bool) TypedColumn[T] {
	return Cells(Column{Key: key, Title: title, Kind: FlagKind}, func(row *T) Cell { return Flag(of(row)) })
}

// DropOrder sets Column.DropOrder.
func (c TypedColumn[T]) DropOrder(n uint8) TypedColumn[T] {
	c.Column.DropOrder = n
	return c
}

// Words sets Column.Whole.
func (c TypedColumn[T]) Words() TypedColumn[T] {
	c.Whole = true
	return c
}

// Noted adds notes to the texts of the column. The function note returns the note for a text; "": no note.
func (c TypedColumn[T]) Noted(note func(text string) string) TypedColumn[T] {
	cell := c.Cell
	c.Cell = func(row *T) Cell {
		v := cell(row)
		v.Note = note(v.Text)
		return v
	}
	return c
}

// Only hides the column in text and HTML unless a condition holds.
func (c TypedColumn[T]) Only(condition bool) TypedColumn[T] {
	if !condition {
		c.Title = ""
	}
	return c
}

// IfAny sets Column.IfAny.
func (c TypedColumn[T]) IfAny() TypedColumn[T] {
	c.Column.IfAny = true
	return c
}

// Over sets Column.Over.
func (c TypedColumn[T]) Over(n timeline.Nanos) TypedColumn[T] {
	c.Column.Over = int64(n)
	return c
}

// Fixed sets Column.Fixed.
func (c TypedColumn[T]) Fixed() TypedColumn[T] {
	c.Column.Fixed = true
	return c
}

// WithRole sets Column.Role.
func (c TypedColumn[T]) WithRole(role Role) TypedColumn[T] {
	c.Role = role
	return c
}

// OnlyPage sets Column.Page.
func (c TypedColumn[T]) OnlyPage() TypedColumn[T] {
	c.Page = true
	return c
}
