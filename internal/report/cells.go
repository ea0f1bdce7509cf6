package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/words"
)

// Widths of names in text output.
const (
	nameWidth  = 44
	placeWidth = 24
	// MaxName is the maximum number of a name's characters that are shown: a process may be named after its command line.
	MaxName  = 60
	maxShows = 80 // the same for a URL in a title
)

// detailed is the number of tasks, or inputs, shown in detail.
const detailed = 3

// placeCell returns the place where something happened. Readers get a short form, with the number by which --thread finds the
// thread, or else the thread's number in its recording.
func placeCell(t *ThreadID) table.Cell {
	c := threadCell(t)
	if t.Recorded.Input != "" && (t.Thread != "" || t.TID.HasNumber()) {
		c.Short += " of " + words.Printable(t.Recorded.Input)
		c.Long += " of " + t.Recorded.Input
	}
	return c
}

// threadCell is like placeCell, but omits the recording, for tables where the recording is clear.
func threadCell(t *ThreadID) table.Cell {
	c := table.Cell{Text: t.Thread, Long: t.ThreadTitle()}
	if t.Thread == "" && !t.TID.HasNumber() {
		c.Long = t.ProcessTitle()
		c.Short = table.Elide(t.ProcessTitle(), placeWidth)
		return c
	}
	c.Short = strings.TrimSpace(table.Elide(t.Thread, placeWidth))
	switch number := t.ShownTID().Number(); {
	case c.Short == "":
		c.Short = "tid " + number
	case !strings.Contains(c.Short, number):
		c.Short += " " + number
	}
	return c
}

// threads returns the columns for a thread. Readers get one column, whose cells the function place returns; programs get four,
// whose keys start with the given prefix. The cells are empty in rows for which the function thread returns nil.
func threads[T any](prefix, title string, thread func(*T) *ThreadID, place func(*ThreadID) table.Cell) []table.TypedColumn[T] {
	text := func(key string, of func(*ThreadID) string) table.TypedColumn[T] {
		return table.Texts(prefix+key, "", func(row *T) string {
			if t := thread(row); t != nil {
				return of(t)
			}
			return ""
		})
	}
	return []table.TypedColumn[T]{
		text("process", func(t *ThreadID) string { return t.Process }), text("pid", func(t *ThreadID) string { return t.PID.Number() }),
		table.Cells(table.Column{Key: prefix + "thread", Title: title}, func(row *T) table.Cell {
			if t := thread(row); t != nil {
				return place(t)
			}
			return table.Cell{}
		}),
		text("tid", func(t *ThreadID) string { return t.TID.Number() }),
	}
}

// spare gives columns a drop order, so that they may be left out.
func spare[T any](n uint8, columns []table.TypedColumn[T]) []table.TypedColumn[T] {
	for i := range columns {
		columns[i] = columns[i].DropOrder(n)
	}
	return columns
}

// optionalThreads is like spare, and also omits the columns if no thread is known.
func optionalThreads[T any](n uint8, columns []table.TypedColumn[T]) []table.TypedColumn[T] {
	for i := range columns {
		columns[i] = columns[i].DropOrder(n).IfAny()
	}
	return columns
}

// ofThread returns the leading columns, for programs only, of a table about one thread.
func ofThread[T any](t *ThreadID) []table.TypedColumn[T] {
	columns := threads("", "", func(*T) *ThreadID { return t }, placeCell)
	for i := range columns {
		columns[i] = columns[i].Fixed()
	}
	return columns
}

func columns[T any](parts ...[]table.TypedColumn[T]) []table.TypedColumn[T] {
	return slices.Concat(parts...)
}

// partText returns the name and location of a part of some work.
func partText(p *WorkPart) string { return strings.TrimSpace(p.Name + " " + p.Location) }

// sliceNames returns a column of function or slice names that marks the profiler's own work.
func sliceNames[T any](key, title string, width int, of func(*T) string) table.TypedColumn[T] {
	return table.Names(key, title, width, of).Noted(producers.RecorderNote)
}

// mostParts returns the columns about the part with the most self time.
func mostParts[T any](title string, of func(*T) *WorkPart) []table.TypedColumn[T] {
	or := func(row *T) *WorkPart { return cmp.Or(of(row), &WorkPart{}) }
	return []table.TypedColumn[T]{
		table.Cells(table.Column{Key: "most", Title: title}, func(row *T) table.Cell {
			return table.Cell{Text: partText(or(row)), Short: table.Elide(or(row).Name, nameWidth), Note: producers.RecorderNote(or(row).Name)}
		}),
		table.Times("most_self_ns", "ms", func(row *T) timeline.Nanos { return or(row).Self }),
	}
}

// firstPart returns the part with the most self time; nil if none is known.
func firstPart(w *Work) *WorkPart {
	if w == nil || len(w.Parts) == 0 {
		return nil
	}
	return &w.Parts[0]
}

// cut returns the first rows, at most limit; if limit is 0, it returns all rows.
func cut[T any](rows []T, limit int) []T {
	if limit > 0 {
		return rows[:min(limit, len(rows))]
	}
	return rows
}
