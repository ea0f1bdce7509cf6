// Package table is the form in which reports answer: tables of typed cells, with what people need around them. A report makes tables
// once; text, CSV, JSON and HTML are renderings of these.
//
// A table is made by New from a list of rows and columns, each of which knows its key, its title and how to find its cell in a row: adding
// a column touches one place. Sorting, choosing columns and limiting rows is done on the model (Order), and so is fitting to a terminal
// (text.go). CSV and JSON are in encode.go; pages of HTML are drawn by package reportpage. A report on many files is a fold over the tables
// of each (fold.go).
//
// What does not live here: what tables are about, flags, and files.
package table

import (
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/timeline"
)

// Table is a table of a report.
type Table struct {
	Name   string // by which people ask for it
	Title  string // for people
	Key    string // the key of the column by which it is sorted
	Main   bool   // CSV has this table if none is asked for, and not the first one
	Hidden bool   // text has it only if it is asked for, or told apart by no other
	Whole  bool   // it has all its rows, whatever the limit, unless it is sorted anew
	Flush  bool   // text has no margin beside it
	What   string // what a row is, in the plural; "": rows
	Nested bool   // its rows are inside another table's in the JSON form
	All    int    // the number of rows, if Rows are fewer
	Notes  []string

	Folding Folding              // in a report on many files
	Total   int64                // there: what the Main column has in the file; 0: its sum
	Start   timeline.Nanos       // there: of the trace, of Listed rows
	Totals  Totals               // there: of what a Listed one lists, in the file
	Says    func(*Totals) string // there: the first line about a Listed one
	Worst   string               // there: what the rows are that a Listed one keeps, such as longest

	Columns []Column
	Rows    []Row

	bars   bool // shares have bars
	chosen bool // the columns are those that were asked for
}

// Row is a row of a table. Its cells are made on request: most rows of large tables are not shown, and JSON needs none.
type Row struct {
	Record Record // the row as JSON
	Last   bool   // what is in no other row: in text it comes last, however the table is sorted

	make  func() []Cell
	cells []Cell
}

// Cells are the cells of the row, one for each column.
func (r *Row) Cells() []Cell {
	if r.cells == nil {
		r.cells = r.make()
	}
	return r.cells
}

// Column is a column of a table. Its key is its name in CSV, where times are nanoseconds; the title is for people, who get
// milliseconds. A column without key is for people only, one without title for programs.
type Column struct {
	Key, Title string
	Kind       Kind
	Spare      uint8  // where a terminal is too narrow, columns are left out, those first with the largest number; 0: never
	Moment     bool   // texts that are times of the trace, and sorted as such
	Whole      bool   // texts that are never shortened, because they are words or numbers
	Fixed      bool   // it says what the row is about, and stays when other columns are chosen
	IfAny      bool   // people get it only where a row has something in it, or if they ask for it
	Page       bool   // only a page has room for it
	CountKey   string // of times: the key of one more column of CSV, with the number of samples of the time
	Over       int64  // a number from which on people should look at it; 0: none
	Role       Role   // in a report on many files
}

// Kind says what the cells of a column are.
type Kind uint8

// The kinds of columns.
const (
	TextKind    Kind = iota
	CountKind        // a number
	TimeKind         // nanoseconds
	ByteKind         // bytes, for people in KB
	ShareKind        // thousandths
	PortionKind      // billionths
	PercentKind      // of the count of each cell
	ChangeKind       // a difference of times
	RatioKind        // a difference in thousandths
	FlagKind         // 1: yes
)

// Cell is a value of a table: a text or a number, as the column says.
type Cell struct {
	Text   string
	Short  string // for people, if that is not the text, or if there is no value
	Note   string // for people, after the text, and never cut
	Long   string // for people where there is room, and never cut: urls in it are seen to be some; "": the text
	Number int64
	Count  int64 // where the column has a count
	Absent bool  // there is no value
	Few    bool  // a percentile of so few values that pages do not show it: fewer than Enough
}

// Enough is the number of values from which on percentiles say something.
const Enough = 20

// None is a cell without a value.
var None = Cell{Absent: true}

// Integer is what people count with.
type Integer interface {
	~int | ~int64 | ~uint64
}

// Text is a cell with a text.
func Text(text string) Cell { return Cell{Text: text} }

// Number is a cell with a number.
func Number[N Integer](n N) Cell { return Cell{Number: int64(n)} }

// Optional is a cell with a number that may be unknown.
func Optional[N Integer](n *N) Cell {
	if n == nil {
		return None
	}
	return Number(*n)
}

// Counted is a time with its number of samples.
func Counted(t timeline.Nanos, samples int64) Cell { return Cell{Number: int64(t), Count: samples} }

// Share is a part of all in thousandths.
func Share(part, all timeline.Nanos) Cell {
	if all <= 0 {
		return Cell{}
	}
	return Cell{Number: int64(float64(part)/float64(all)*1000 + 0.5)}
}

// Flag is a cell that says yes or no.
func Flag(set bool) Cell {
	if set {
		return Cell{Number: 1}
	}
	return Cell{}
}

// Name is a cell with a name of any length, of which people get at most so many columns of the terminal: both ends say something.
func Name(name string, width int) Cell {
	if name == "" {
		return Cell{Short: "(none)"}
	}
	return Cell{Text: name, Short: Elide(name, width)}
}

// Moment is a time of a trace: for people from its start, in the form that --from takes; for programs as it is.
func Moment(at, start timeline.Nanos) Cell {
	return Cell{Text: strconv.FormatInt(int64(at), 10), Short: MomentText(at - start), Number: int64(at)}
}

// Of is a column of a table whose rows are made of Ts.
type Of[T any] struct {
	Column
	Cell func(*T) Cell
}

// New makes the rows of a table. A row is the JSON of its T.
func New[T any](t Table, list []T, columns ...Of[T]) *Table {
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

// Cells is any column.
func Cells[T any](c Column, cell func(*T) Cell) Of[T] { return Of[T]{c, cell} }

// Texts is a column of texts.
func Texts[T any](key, title string, of func(*T) string) Of[T] {
	return Cells(Column{Key: key, Title: title}, func(row *T) Cell { return Text(of(row)) })
}

// Names is a column of texts of any length, which people get in so many columns of the terminal.
func Names[T any](key, title string, width int, of func(*T) string) Of[T] {
	return Cells(Column{Key: key, Title: title}, func(row *T) Cell { return Name(of(row), width) })
}

// Moments is a column of times of a trace with a start.
func Moments[T any](key, title string, start timeline.Nanos, of func(*T) timeline.Nanos) Of[T] {
	return MomentCells(key, title, func(row *T) Cell { return Moment(of(row), start) })
}

// MomentCells is a column of cells made by Moment.
func MomentCells[T any](key, title string, cell func(*T) Cell) Of[T] {
	return Cells(Column{Key: key, Title: title, Moment: true, Whole: true}, cell)
}

// Counts is a column of numbers.
func Counts[T any, N Integer](key, title string, of func(*T) N) Of[T] {
	return Cells(Column{Key: key, Title: title, Kind: CountKind}, func(row *T) Cell { return Number(of(row)) })
}

// Times is a column of lengths of time.
func Times[T any](key, title string, of func(*T) timeline.Nanos) Of[T] {
	return Cells(Column{Key: key, Title: title, Kind: TimeKind}, func(row *T) Cell { return Number(of(row)) })
}

// OptionalTimes is a column of lengths of time that may be unknown.
func OptionalTimes[T any](key, title string, of func(*T) *timeline.Nanos) Of[T] {
	return Cells(Column{Key: key, Title: title, Kind: TimeKind}, func(row *T) Cell { return Optional(of(row)) })
}

// CountedTimes is a column of times with their numbers of samples. The keys are CSV's.
func CountedTimes[T any](key, countKey, title string, of func(*T) (timeline.Nanos, int64)) Of[T] {
	return Cells(Column{Key: key, CountKey: countKey, Title: title, Kind: TimeKind}, func(row *T) Cell { return Counted(of(row)) })
}

// Nested is a column with texts that are at a depth of a tree.
func Nested[T any](key, title string, width int, of func(*T) (text string, depth int)) Of[T] {
	return Cells(Column{Key: key, Title: title}, func(row *T) Cell {
		text, depth := of(row)
		return Cell{Text: text, Short: strings.Repeat(" ", depth) + Elide(text, width)}
	})
}

// Shares is a column for people with parts of all in percent.
func Shares[T any](title string, of func(*T) (part, all timeline.Nanos)) Of[T] {
	return Cells(Column{Title: title, Kind: ShareKind}, func(row *T) Cell { return Share(of(row)) })
}

// Portions is a column of billionths.
func Portions[T any](key, title string, of func(*T) int64) Of[T] {
	return Cells(Column{Key: key, Title: title, Kind: PortionKind}, func(row *T) Cell { return Number(of(row)) })
}

// Flags is a column of yes and no.
func Flags[T any](key, title string, of func(*T) bool) Of[T] {
	return Cells(Column{Key: key, Title: title, Kind: FlagKind}, func(row *T) Cell { return Flag(of(row)) })
}

// Spare marks the column as one that people can do without where a terminal is too narrow: the largest number goes first.
func (c Of[T]) Spare(n uint8) Of[T] {
	c.Column.Spare = n
	return c
}

// Words marks texts of the column that are never shortened.
func (c Of[T]) Words() Of[T] {
	c.Whole = true
	return c
}

// Noted adds a note for people to texts of which of says one; "": none.
func (c Of[T]) Noted(of func(text string) string) Of[T] {
	cell := c.Cell
	c.Cell = func(row *T) Cell {
		v := cell(row)
		v.Note = of(v.Text)
		return v
	}
	return c
}

// Only shows people the column only on a condition.
func (c Of[T]) Only(shown bool) Of[T] {
	if !shown {
		c.Title = ""
	}
	return c
}

// IfAny shows people the column only if a row has something in it.
func (c Of[T]) IfAny() Of[T] {
	c.Column.IfAny = true
	return c
}

// Over says from which number on people should look at it.
func (c Of[T]) Over(n timeline.Nanos) Of[T] {
	c.Column.Over = int64(n)
	return c
}

// Fixed keeps the column when others are chosen.
func (c Of[T]) Fixed() Of[T] {
	c.Column.Fixed = true
	return c
}

// Is says what becomes of the column in a report on many files.
func (c Of[T]) Is(role Role) Of[T] {
	c.Role = role
	return c
}

// OnlyPage marks the column as one for which only a page has room.
func (c Of[T]) OnlyPage() Of[T] {
	c.Page = true
	return c
}
