package report

import (
	"cmp"
	"fmt"
	"path/filepath"

	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

// ManyTable makes a table of sums over many recordings.
type ManyTable func(*Many) *table.Table

// manyRows is the table of the rows of a name. What is in the row called rest is in no other.
func (m *Many) manyRows(t table.Table, rest string, parts ...[]table.Of[ManyRow]) *table.Table {
	rows := m.Rows(t.Name)
	if t.Name == ManyKinds {
		rows = m.InputRows()
	}
	out := table.New(t, rows, columns(parts...)...)
	for i := range rows {
		out.Rows[i].Last = rest != "" && rows[i].Name == rest
	}
	return out
}

// manyName is the column of names; none is shown for no name.
func manyName(title, none string) table.Of[ManyRow] {
	return table.Cells(table.Column{Key: "name", Title: title}, func(r *ManyRow) table.Cell {
		name := table.Name(r.Name, nameWidth)
		switch {
		case r.Name == "" && none != "":
			name.Short = none
		case r.Category == "gc" && r.Place != "":
			name.Short += " (garbage collector)" // which interrupted the function
		}
		return name
	})
}

func manyPlace(title string) table.Of[ManyRow] {
	return table.Texts("place", title, func(r *ManyRow) string { return r.Place })
}

func manyCounts(files, counts string) []table.Of[ManyRow] {
	return []table.Of[ManyRow]{
		table.Counts("recordings", files, func(r *ManyRow) int { return r.Recordings }),
		table.Counts("count", counts, func(r *ManyRow) int64 { return r.Count }),
	}
}

func manySelf(title string) table.Of[ManyRow] {
	return table.Times("self_ns", title, func(r *ManyRow) timeline.Nanos { return r.Self })
}

func manyTotal(title string) table.Of[ManyRow] {
	return table.Times("total_ns", title, func(r *ManyRow) timeline.Nanos { return r.Total })
}

func manyLength(key, title string, of func(*ManyLengths) timeline.Nanos) table.Of[ManyRow] {
	return table.Times(key, title, func(r *ManyRow) timeline.Nanos { return of(cmp.Or(r.Lengths, &ManyLengths{})) })
}

func manyP50() table.Of[ManyRow] {
	return manyLength("p50_ns", "p50 ms", func(l *ManyLengths) timeline.Nanos { return l.P50 })
}

func manyP95() table.Of[ManyRow] {
	return manyLength("p95_ns", "p95 ms", func(l *ManyLengths) timeline.Nanos { return l.P95 })
}

func manyMax() table.Of[ManyRow] {
	return manyLength("max_ns", "max ms", func(l *ManyLengths) timeline.Nanos { return l.Max })
}

// manyShares are the columns of shares, of which people can do without some.
func manyShares(mean, most, in uint8) []table.Of[ManyRow] {
	return []table.Of[ManyRow]{
		table.Portions("mean_share_ppb", "share a file", func(r *ManyRow) int64 { return r.MeanShare }).Spare(mean),
		table.Portions("max_share_ppb", "largest", func(r *ManyRow) int64 { return r.MaxShare }).Spare(most),
		fileColumn("max_share_in", "in", func(r *ManyRow) string { return r.MaxIn }).Spare(in),
	}
}

// fileColumn is a column with names of inputs: people get the last part.
func fileColumn[T any](key, title string, of func(*T) string) table.Of[T] {
	return table.Cells(table.Column{Key: key, Title: title}, func(row *T) table.Cell {
		name := of(row)
		return table.Cell{Text: name, Short: table.Elide(filepath.Base(name), nameWidth)}
	})
}

// ManyTimes is a table of times by name and place.
type ManyTimes struct {
	Name, Title string
	Row, Place  string // titles of what a row is about
	Counts      string // title of the count
	Self, Total string // titles of times; Total "": people do not get it
	None        string // what is shown for no name; "": "(none)"
	Rest        string // the row with what is in no other
}

// Table makes the table.
func (t ManyTimes) Table(m *Many) *table.Table {
	counts := manyCounts("files", t.Counts)
	counts[1] = counts[1].Spare(3)
	return m.manyRows(table.Table{Name: t.Name, Title: t.Title, Key: "self_ns"}, t.Rest,
		[]table.Of[ManyRow]{manyName(t.Row, t.None), manyPlace(t.Place).IfAny().Spare(2)}, counts,
		[]table.Of[ManyRow]{manySelf(t.Self), manyTotal(t.Total).Spare(1)}, manyShares(0, 0, 0))
}

// ManySlices are the tables of slices.
func ManySlices() (tables []ManyTable) {
	for kind := Kernels; kind <= RecorderSlices; kind++ {
		tables = append(tables, func(m *Many) *table.Table {
			counts := manyCounts("files", "count")
			counts[1] = counts[1].Spare(3)
			return m.manyRows(table.Table{Name: kind.String(), Title: kindTitles[kind], Key: "self_ns", Main: kind == ThreadSlices, Hidden: kind == StateSlices}, "",
				[]table.Of[ManyRow]{manyName("name", ""), manyPlace("").Spare(2)}, counts,
				[]table.Of[ManyRow]{
					manySelf("self ms"), manyTotal("total ms").Spare(1), manyP50().Spare(5), manyP95().Spare(4),
					manyLength("p99_ns", "p99 ms", func(l *ManyLengths) timeline.Nanos { return l.P99 }).Spare(6), manyMax().Spare(4),
				}, manyShares(0, 0, 0))
		})
	}
	return tables
}

// ManyLayoutCountsTable has a row for each phase and what began it.
func ManyLayoutCountsTable(m *Many) *table.Table {
	return m.manyRows(table.Table{Name: ManyLayoutCounts, Title: "phases of layout"}, "",
		[]table.Of[ManyRow]{manyName("phase", ""), table.Names("place", "function", nameWidth, func(r *ManyRow) string { return r.Place })}, manyCounts("files", "count"))
}

// ManyLayoutTimesTable has a row for each phase.
func ManyLayoutTimesTable(m *Many) *table.Table {
	return m.manyRows(table.Table{Name: ManyLayoutTimes, Title: "phases of layout, by time", Key: "self_ns"}, "",
		[]table.Of[ManyRow]{manyName("phase", ""), manyCounts("files", "")[0], manySelf("ms")}, manyShares(0, 1, 1))
}

// LayoutSums says what the table of phases of a name lacks; "": nothing.
func (m *Many) LayoutSums(name string) string {
	switch {
	case m.UncountedSlices > 0:
		return fmt.Sprintf("too many rows: %s slices are in none", table.Thousands(m.UncountedSlices))
	case len(m.Rows(name)) == 0:
		return "no layout events"
	}
	return ""
}

// ManyPartsTable has a row for each function and other slice in the long tasks of all inputs.
func ManyPartsTable(m *Many) *table.Table {
	return m.manyRows(table.Table{Name: ManyParts, Title: "what is in the tasks, by self time", Key: "self_ns"}, "",
		[]table.Of[ManyRow]{
			manyName("function or slice", ""), manyPlace("location").Spare(3),
			table.Texts("category", "category", func(r *ManyRow) string { return r.Category }).Spare(7),
		}, manyCounts("files", "tasks"), []table.Of[ManyRow]{
			manySelf("self ms"), manyTotal("tasks ms").Spare(6),
			table.Times("blocking_ns", "blocking ms", func(r *ManyRow) timeline.Nanos { return *cmp.Or(r.Blocking, new(timeline.Nanos)) }).Spare(1),
			manyP50().Spare(5), manyP95().Spare(4), manyMax(),
		}, manyShares(0, 2, 2))
}

// ManyTasksTable has a row for each of the longest tasks of all inputs.
func ManyTasksTable(m *Many) *table.Table {
	return table.New(table.Table{Name: "tasks", Title: "long tasks, the longest first", Key: "dur_ns"}, m.Tasks.Rows, columns(
		[]table.Of[ManyTask]{
			fileColumn("file", "file", func(t *ManyTask) string { return t.File }),
			table.MomentCells("ts_ns", "at", func(t *ManyTask) table.Cell { return table.Moment(t.Start, t.TraceStart) }),
			table.Times("dur_ns", "ms", func(t *ManyTask) timeline.Nanos { return t.Duration }),
			table.Times("blocking_ns", "blocking ms", func(t *ManyTask) timeline.Nanos { return t.Blocking }).Spare(2),
			table.OptionalTimes("cpu_ns", "", func(t *ManyTask) *timeline.Nanos { return t.CPU }),
		},
		spareThreads(1, threads("", "thread", func(t *ManyTask) *ThreadID { return &t.ThreadID }, placeCell)),
		[]table.Of[ManyTask]{
			table.Texts("basis", "", func(t *ManyTask) string { return string(t.Basis) }),
			table.Cells(table.Column{Key: "name", Title: "task"}, func(t *ManyTask) table.Cell { return taskName(t.Name, t.Basis) }).Spare(1),
		},
		mostParts("most self time", func(t *ManyTask) *WorkPart { return t.Most }),
	)...)
}

// TaskSums says in a line how many long tasks there are.
func (m *Many) TaskSums() string {
	long := table.WholeMillis(timeline.LongTaskLength)
	if m.Tasks.Count == 0 {
		return fmt.Sprintf("no task takes %s or longer", long)
	}
	text := fmt.Sprintf("%s of %s and more in %s; blocking time %s ms in total", table.Count(m.Tasks.Count, "task"), long,
		table.Count(m.Tasks.Recordings, "recording"), table.Millis(m.Blocking))
	if m.UncountedTasks > 0 {
		text += fmt.Sprintf("; %s more are in no row", table.Thousands(m.UncountedTasks))
	}
	return text
}

// ManyKindsTable has a row for the latency of each kind of input and for each part of it.
func ManyKindsTable(m *Many) *table.Table {
	return m.manyRows(table.Table{Name: ManyKinds, Title: "latency and its parts, by kind of input"}, "",
		[]table.Of[ManyRow]{manyName("input", ""), manyPlace("time")}, manyCounts("files", "inputs"), []table.Of[ManyRow]{
			manyP50(), manyLength("p75_ns", "p75 ms", func(l *ManyLengths) timeline.Nanos { return l.P75 }), manyP95(), manyMax(), manyTotal("total ms").Spare(1),
		}, manyShares(2, 3, 3))
}

// ManyInputsTable has a row for each of the slowest inputs of all recordings.
func ManyInputsTable(m *Many) *table.Table {
	return table.New(table.Table{Name: "inputs", Title: "inputs, the slowest first", Key: "latency_ns"}, m.Inputs.Rows,
		fileColumn("file", "file", func(in *ManyInput) string { return in.File }),
		table.MomentCells("ts_ns", "at", func(in *ManyInput) table.Cell { return table.Moment(in.Start, in.TraceStart) }),
		table.Texts("kind", "input", func(in *ManyInput) string { return string(in.Kind) }),
		table.Texts("type", "event", func(in *ManyInput) string { return in.Type }).Spare(1),
		table.Times("latency_ns", "latency ms", func(in *ManyInput) timeline.Nanos { return in.Latency }),
		table.OptionalTimes("delay_ns", "delay ms", func(in *ManyInput) *timeline.Nanos { return in.Delay }),
		table.OptionalTimes("processing_ns", "processing ms", func(in *ManyInput) *timeline.Nanos { return in.Processing }),
		table.OptionalTimes("presentation_ns", "presentation ms", func(in *ManyInput) *timeline.Nanos { return in.Presentation }),
		table.Flags("dropped", "", func(in *ManyInput) bool { return in.Dropped }),
		table.Texts("id", "", func(in *ManyInput) string { return in.ID }),
	)
}

// InputSums says in a line how many inputs there are.
func (m *Many) InputSums() string {
	text := "no inputs"
	if m.Inputs.Count > 0 {
		text = fmt.Sprintf("%s in %s", table.Count(m.Inputs.Count, "input"), table.Count(m.Inputs.Recordings, "recording"))
	}
	if len(m.Omitted) > 0 {
		text += "; " + OmittedText(m.Omitted) + " more"
	}
	return text
}
