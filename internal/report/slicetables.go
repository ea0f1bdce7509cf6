package report

import (
	"cmp"
	"fmt"

	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/words"
)

// kindTitles maps kinds of slices to the titles of their tables.
var kindTitles = map[SliceKind]string{
	Kernels: "kernels, by self time", Copies: "copies and fills of device memory, by self time", Operators: "operators, by self time",
	ThreadSlices: "slices on threads, by self time", AsyncSlices: "slices on tracks of their own (asynchronous; they overlap), by self time",
	StateSlices: "states of threads, by self time", RecorderSlices: "slices that further inputs have of the same threads, by self time",
}

// Report renders slices: tables of devices and steps, and a table for each kind of slices. By is the property that slices are
// grouped by, in the user's words; "": the name. Selected means that only part of the trace counts.
func (r *Slices) Report(by string, selected bool) *table.Report {
	out := &table.Report{Lines: true, Head: []table.Record{table.JSON(struct {
		Table string `json:"table"`
		*Slices
	}{"summary", r})}}
	s := table.Section{Lines: r.summary(selected), Tables: []*table.Table{r.DevicesTable(), r.streamsTable(), r.stepsTable()}}
	for kind := Kernels; kind <= RecorderSlices; kind++ {
		s.Tables = append(s.Tables, r.GroupsTable(kind, cmp.Or(words.Printable(by), "name")))
	}
	s.Tables = append(s.Tables, r.gapTables()...)
	out.Sections = []table.Section{s}
	switch {
	case len(r.Groups) > 0:
	case selected:
		out.Nothing = "the selected part of the trace has no slices"
	default:
		out.Nothing = "this trace has no slices; weft report samples shows what its samples say, if it has any"
	}
	if r.Others > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("too many groups: %s slices are in rows called %s", table.Thousands(r.Others), OthersGroup))
	}
	if r.UncountedWork > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("too many devices, streams or steps: %s slices are missing in the tables of devices, streams and steps", table.Thousands(r.UncountedWork)))
	}
	if r.Gaps != nil {
		out.Notes = append(out.Notes, r.Gaps.gapNotes()...)
	}
	return out
}

// summary returns lines about the data in the tables.
func (r *Slices) summary(selected bool) []string {
	line := fmt.Sprintf("%s in %s ms", table.Count(r.Slices, "slice"), table.Millis(r.End-r.Start))
	if selected {
		line = fmt.Sprintf("%s of a trace of %s ms", table.Count(r.Slices, "selected slice"), table.Millis(r.End-r.Start))
	}
	if r.Unfinished > 0 {
		line += fmt.Sprintf("; %s never end and take no time", table.Thousands(r.Unfinished))
	}
	lines := []string{line}
	if j := r.Job; j != nil {
		line := fmt.Sprintf("rank %d", j.Rank)
		if j.Ranks > 1 {
			line = fmt.Sprintf("%d ranks", j.Ranks)
		}
		if j.WorldSize > 0 {
			line += fmt.Sprintf(" of %d", j.WorldSize)
		}
		if j.Backend != "" {
			line += ", communication by " + words.Printable(j.Backend)
		}
		lines = append(lines, line)
	}
	return lines
}

// GroupsTable returns the table of one kind of slices. The parameter by is the name of the property that the slices are grouped
// by.
func (r *Slices) GroupsTable(kind SliceKind, by string) *table.Table {
	var list []SliceGroup
	for i := range r.Groups {
		if r.Groups[i].Kind == kind {
			list = append(list, r.Groups[i])
		}
	}
	t := table.Table{Name: kind.String(), Title: kindTitles[kind], Key: "self_ns", Main: kind == ThreadSlices, Hidden: kind == StateSlices, Folding: table.RankedBy}
	last := []table.TypedColumn[SliceGroup]{}
	if kind == Copies {
		last = append(last, table.Counts("bytes", "bytes", func(g *SliceGroup) int64 { return g.Bytes }).WithRole(table.Sum))
	}
	return table.New(t, list, columns(
		[]table.TypedColumn[SliceGroup]{
			table.Cells(table.Column{Key: "name", Title: by}, func(g *SliceGroup) table.Cell {
				name := table.Name(g.Name, nameWidth)
				if g.Owner != nil {
					name.Long = cmp.Or(g.Owner.Title(), g.Name)
					name.Short = table.Elide(name.Long, nameWidth)
				}
				return name
			}).Noted(producers.RecorderNote).WithRole(table.Group),
			table.Counts("count", "count", func(g *SliceGroup) int64 { return g.Count }).WithRole(table.Sum),
			table.Counts("unfinished", "", func(g *SliceGroup) int64 { return g.Unfinished }).WithRole(table.Sum),
			table.Times("self_ns", "self ms", func(g *SliceGroup) timeline.Nanos { return g.Self }).WithRole(table.Main),
			table.Times("total_ns", "total ms", func(g *SliceGroup) timeline.Nanos { return g.Total }).WithRole(table.Sum),
			table.Times("mean_ns", "mean ms", func(g *SliceGroup) timeline.Nanos { return g.Mean }).DropOrder(2),
			percentiles("p50_ns", "p50 ms", func(g *SliceGroup) (timeline.Nanos, int64) { return g.P50, g.Count }).DropOrder(6),
			percentiles("p95_ns", "p95 ms", func(g *SliceGroup) (timeline.Nanos, int64) { return g.P95, g.Count }).DropOrder(1),
			percentiles("p99_ns", "p99 ms", func(g *SliceGroup) (timeline.Nanos, int64) { return g.P99, g.Count }).DropOrder(5),
			table.Times("max_ns", "max ms", func(g *SliceGroup) timeline.Nanos { return g.Max }),
			table.OptionalTimes("cpu_ns", "CPU ms", func(g *SliceGroup) *timeline.Nanos { return g.CPU }).DropOrder(4).IfAny().WithRole(table.Sum),
			table.MomentCells("max_ts_ns", "max at", func(g *SliceGroup) table.Cell { return r.moment(g.MaxAt) }),
		},
		spare(3, threads("max_", "max on", func(g *SliceGroup) *ThreadID { return g.MaxOn }, placeCell)), last,
	)...)
}

// percentiles returns a column of percentiles. The function of returns the percentile of a row, and the number of lengths that it
// is computed from.
func percentiles[T any](key, title string, of func(*T) (timeline.Nanos, int64)) table.TypedColumn[T] {
	return table.Cells(table.Column{Key: key, Title: title, Kind: table.TimeKind}, func(row *T) table.Cell {
		t, n := of(row)
		return table.Cell{Number: int64(t), Few: n < table.Enough}
	})
}

// moment returns a cell for a time that may be unknown.
func (r *Slices) moment(at *timeline.Nanos) table.Cell {
	if at == nil {
		return table.Cell{}
	}
	return table.Moment(*at, r.Start)
}

// ranked reports whether there are devices of several ranks. If so, ranks have a column, which is more useful than the names of
// recordings.
func (r *Slices) ranked() bool { return r.Job != nil && r.Job.Ranks > 1 }

func (r *Slices) place() func(*ThreadID) table.Cell {
	if r.ranked() {
		return threadCell
	}
	return placeCell
}

// ranks returns the column of ranks.
func ranks[T any](r *Slices, of func(*T) *int64) table.TypedColumn[T] {
	return table.Cells(table.Column{Key: "rank", Title: "rank", Kind: table.CountKind}, func(row *T) table.Cell { return table.Optional(of(row)) }).Only(r.ranked())
}

// sameNumbers reports whether several devices have the same rank and number, so that only their processes tell them
// apart.
func (r *Slices) sameNumbers() bool {
	known := map[[2]int64]bool{}
	for i := range r.Devices {
		key := [2]int64{-1, r.Devices[i].Device}
		if rank := r.Devices[i].Rank; rank != nil {
			key[0] = *rank
		}
		if known[key] {
			return true
		}
		known[key] = true
	}
	return false
}

func (r *Slices) stepsTable() *table.Table {
	t := table.Table{Name: "steps", Title: "steps, in the order of time", Key: "ts_ns"}
	if r.ranked() {
		t.Title = "steps, by rank and time"
	}
	return table.New(t, r.Steps, columns(
		[]table.TypedColumn[Step]{
			ranks(r, func(s *Step) *int64 { return s.Rank }),
			table.Names("name", "step", nameWidth, func(s *Step) string { return s.Name }),
			table.Moments("ts_ns", "at", r.Start, func(s *Step) timeline.Nanos { return s.Start }),
			table.Times("dur_ns", "ms", func(s *Step) timeline.Nanos { return s.Duration }),
			table.Times("device_busy_ns", "devices busy ms", func(s *Step) timeline.Nanos { return s.DeviceBusy }).DropOrder(1),
			table.Times("compute_ns", "compute ms", func(s *Step) timeline.Nanos { return s.Compute }).OnlyPage(),
			table.Times("exposed_communication_ns", "only communication ms", func(s *Step) timeline.Nanos { return s.Communication }).OnlyPage().IfAny(),
			table.Times("exposed_copy_ns", "only copies ms", func(s *Step) timeline.Nanos { return s.Copy }).OnlyPage().IfAny(),
			table.Shares("busy", func(s *Step) (part, all timeline.Nanos) {
				return s.DeviceBusy / timeline.Nanos(max(s.Devices, 1)), s.Duration
			}),
		},
		threads("", "thread", func(s *Step) *ThreadID { return &s.ThreadID }, r.place()),
	)...)
}

// DeviceTables returns All's tables of steps, idle times of streams, gaps, and arrivals at collectives.
func (s *AllSlices) DeviceTables() (steps, idle, gaps, arrivals *table.Table) {
	r, g := *s.Slices, Gaps{}
	r.Steps = s.Steps
	if r.Gaps != nil {
		g = *r.Gaps
	}
	g.Idle, g.Arrivals, g.Gaps = s.Idle, s.Arrivals, cut(g.Gaps, AllRows)
	return r.stepsTable(), r.idleTable(&g), r.gapsTable(&g), r.arrivalsTable(&g)
}

// DevicesTable returns a table with a row for each device.
func (r *Slices) DevicesTable() *table.Table {
	t := table.Table{Name: "devices", Title: "devices: what they did between the first and the last work on any of them"}
	return table.New(t, r.Devices,
		ranks(r, func(d *Device) *int64 { return d.Rank }),
		table.Counts("device", "device", func(d *Device) int64 { return d.Device }),
		table.Cells(table.Column{Key: "name", Title: "model"}, func(d *Device) table.Cell {
			return table.Cell{Text: d.Name, Short: table.Elide(d.Name, placeWidth)}
		}),
		table.Counts("kernels", "kernels", func(d *Device) int64 { return d.Kernels }),
		table.Counts("copies", "copies", func(d *Device) int64 { return d.Copies }),
		table.Times("window_ns", "", func(d *Device) timeline.Nanos { return d.Window }),
		table.Times("busy_ns", "busy ms", func(d *Device) timeline.Nanos { return d.Busy }).DropOrder(4),
		table.Shares("busy", func(d *Device) (part, all timeline.Nanos) { return d.Busy, d.Window }),
		table.Times("idle_ns", "idle ms", func(d *Device) timeline.Nanos { return d.Idle }).DropOrder(3),
		table.Shares("idle", func(d *Device) (part, all timeline.Nanos) { return d.Idle, d.Window }).DropOrder(2),
		table.Times("compute_ns", "compute ms", func(d *Device) timeline.Nanos { return d.Compute }),
		table.Times("communication_ns", "communication ms", func(d *Device) timeline.Nanos { return d.Communication }),
		table.Times("copy_ns", "copy ms", func(d *Device) timeline.Nanos { return d.Copy }),
		table.Times("hidden_ns", "hidden ms", func(d *Device) timeline.Nanos { return d.Hidden }),
		table.Counts("bytes", "", func(d *Device) int64 { return d.Bytes }),
		table.Cells(table.Column{Key: "process", Title: "process"}, func(d *Device) table.Cell {
			return table.Cell{Text: d.Process, Short: table.Elide(d.Recorded.Title(d.Process, d.PID), 2*placeWidth)}
		}).Only(r.sameNumbers()),
		table.Texts("pid", "", func(d *Device) string { return d.PID.Number() }),
	)
}

func (r *Slices) streamsTable() *table.Table {
	t := table.Table{Name: "streams", Title: "streams of devices", Notes: []string{"--table gaps lists when they were idle, --table idle says what they waited for"}}
	return table.New(t, r.Streams, columns(
		[]table.TypedColumn[Stream]{ranks(r, func(s *Stream) *int64 { return s.Rank })},
		threads("", "stream", func(s *Stream) *ThreadID { return &s.ThreadID }, r.place()),
		[]table.TypedColumn[Stream]{
			table.Counts("device", "device", func(s *Stream) int64 { return s.Device }),
			table.Counts("kernels", "kernels", func(s *Stream) int64 { return s.Kernels }),
			table.Counts("copies", "copies", func(s *Stream) int64 { return s.Copies }).DropOrder(1),
			table.Times("window_ns", "", func(s *Stream) timeline.Nanos { return s.Window }),
			table.Times("busy_ns", "busy ms", func(s *Stream) timeline.Nanos { return s.Busy }).DropOrder(4),
			table.Shares("busy", func(s *Stream) (part, all timeline.Nanos) { return s.Busy, s.Window }),
			table.Times("idle_ns", "idle ms", func(s *Stream) timeline.Nanos { return s.Idle }).DropOrder(3),
			table.Shares("idle", func(s *Stream) (part, all timeline.Nanos) { return s.Idle, s.Window }),
			table.Times("overlap_ns", "overlap ms", func(s *Stream) timeline.Nanos { return s.Overlap }).DropOrder(2),
			table.Shares("overlap", func(s *Stream) (part, all timeline.Nanos) { return s.Overlap, s.Window }),
			table.OptionalTimes("longest_idle_ns", "longest idle ms", func(s *Stream) *timeline.Nanos {
				if s.LongestIdleAt == nil {
					return nil
				}
				return &s.LongestIdle
			}),
			table.MomentCells("longest_idle_ts_ns", "at", func(s *Stream) table.Cell { return r.moment(s.LongestIdleAt) }),
		},
	)...)
}
