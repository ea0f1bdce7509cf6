package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/timeline"
)

// slicesReport is the report on all slices.
func slicesReport() answerReport {
	return answerReport{
		name: "slices", usage: "how often and how long, by name; GPU kernels, streams and training steps",
		example: "weft report slices --by category trace.json",
		flags:   []string{"by", "table"},
		main:    report.ThreadSlices.String(),
		forms:   slicesTables(&report.Slices{}),
		make:    makeSlicesReport,
		check: func(c *cli.Context) error {
			_, err := slicesBy(c)
			return err
		},
	}
}

// sliceGroupings are the values of --by. Others name an argument.
var sliceGroupings = map[string]report.GroupSlices{
	"name": report.ByName, "category": report.ByCategory, "thread": report.ByThread, "process": report.ByProcess,
}

// slicesBy reads --by.
func slicesBy(c *cli.Context) (opts report.SliceOptions, err error) {
	if !c.IsSet("by") {
		return opts, nil
	}
	text := c.String("by")
	if by, known := sliceGroupings[text]; known {
		opts.By = by
		return opts, nil
	}
	opts.By, opts.Argument = report.ByArgument, strings.TrimPrefix(text, "args.")
	if opts.Argument == "" {
		return opts, usagef("--by: slices are grouped by name, category, thread, process or an argument, such as data.type")
	}
	return opts, nil
}

func makeSlicesReport(c *cli.Context, in *reportInput) (*answer, error) {
	opts, err := slicesBy(c)
	if err != nil {
		return nil, err
	}
	if in.selected != nil {
		opts.Include = in.selected.Item
	}
	r, err := report.CollectSlices(c.Context, in.timeline, opts)
	if err != nil {
		return nil, err
	}
	a := &answer{summary: slicesSummary(r, in.selected != nil), hidden: []string{"states"}, json: slicesJSON(r, rowLimit(c), c.String("table"))}
	switch {
	case len(r.Groups) == 0 && in.selected != nil:
		a.nothing = "the selected part of the trace has no slices"
	case len(r.Groups) == 0:
		a.nothing = "this trace has no slices; weft report samples shows what its samples say, if it has any"
	case opts.By == report.ByArgument && !slices.ContainsFunc(r.Groups, func(g report.SliceGroup) bool { return g.Name != "" }):
		return nil, usagef("--by: no slice has an argument %q; slices are also grouped by name, category, thread or process", opts.Argument)
	}
	a.tables = slicesTables(r)
	for i := range a.tables {
		if t := &a.tables[i]; c.IsSet("by") && t.columns[0].name == "name" {
			t.columns[0].title = printable(c.String("by"))
		}
		a.tables[i].limit(rowLimit(c))
	}
	if r.Others > 0 {
		a.notes = append(a.notes, fmt.Sprintf("too many groups: %s slices are in rows called %s", thousands(r.Others), report.OthersGroup))
	}
	if r.UncountedWork > 0 {
		a.notes = append(a.notes, fmt.Sprintf("too many devices, streams or steps: %s slices are missing in the tables of devices, streams and steps", thousands(r.UncountedWork)))
	}
	return a, nil
}

// limit cuts a table to a number of rows and says so; 0: all.
func (t *table) limit(rows int) {
	if all := len(t.rows); rows > 0 && all > rows {
		t.rows = t.rows[:rows]
		t.note = more(rows, all, "rows")
	}
}

// slicesSummary says what the tables are about.
func slicesSummary(r *report.Slices, selected bool) []string {
	line := fmt.Sprintf("%s in %s ms", count(r.Slices, "slice"), millis(r.End-r.Start))
	if selected {
		line = fmt.Sprintf("%s of a trace of %s ms", count(r.Slices, "selected slice"), millis(r.End-r.Start))
	}
	if r.Unfinished > 0 {
		line += fmt.Sprintf("; %s never end and take no time", thousands(r.Unfinished))
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
			line += ", communication by " + printable(j.Backend)
		}
		lines = append(lines, line)
	}
	return lines
}

// slicesJSON returns the lines of the JSON form: the summary, and the rows of all tables or the one of a name.
func slicesJSON(r *report.Slices, limit int, only string) []any {
	lines := []any{struct {
		Table string `json:"table"`
		*report.Slices
	}{"summary", r}}
	rows := map[string]int{}
	add := func(table string, row any) {
		if rows[table]++; (only == "" || only == table) && (limit == 0 || rows[table] <= limit) {
			lines = append(lines, row)
		}
	}
	for i := range r.Steps {
		add("steps", struct {
			Table string `json:"table"`
			*report.Step
		}{"steps", &r.Steps[i]})
	}
	for i := range r.Devices {
		add("devices", struct {
			Table string `json:"table"`
			*report.Device
		}{"devices", &r.Devices[i]})
	}
	for i := range r.Streams {
		add("streams", struct {
			Table string `json:"table"`
			*report.Stream
		}{"streams", &r.Streams[i]})
	}
	for i := range r.Groups {
		add(r.Groups[i].Kind.String(), &r.Groups[i])
	}
	return lines
}

// The widths of names in text.
const (
	nameWidth  = 44
	placeWidth = 24
)

// recordersTitle is the title of RecorderSlices.
const recordersTitle = "slices that further inputs have of the same threads, by self time"

func slicesTables(r *report.Slices) []table {
	return []table{
		devicesTable(r), streamsTable(r), stepsTable(r),
		groupsTable(r, report.Kernels, "kernels, by self time"),
		groupsTable(r, report.Copies, "copies and fills of device memory, by self time"),
		groupsTable(r, report.Operators, "operators, by self time"),
		groupsTable(r, report.ThreadSlices, "slices on threads, by self time"),
		groupsTable(r, report.AsyncSlices, "slices on tracks of their own (asynchronous; they overlap), by self time"),
		groupsTable(r, report.RecorderSlices, recordersTitle),
		groupsTable(r, report.StateSlices, "states of threads, by self time"),
	}
}

// groupsTable is the table of one kind of slices.
func groupsTable(r *report.Slices, kind report.SliceKind, title string) table {
	out := table{name: kind.String(), title: title, key: "self_ns", columns: []column{
		texts("name", "name"), counts("count", "count"), counts("unfinished", ""), times("self_ns", "self ms"), times("total_ns", "total ms"),
		spare(2, times("mean_ns", "mean ms")), spare(6, times("p50_ns", "p50 ms")), spare(1, times("p95_ns", "p95 ms")), spare(5, times("p99_ns", "p99 ms")),
		times("max_ns", "max ms"), spare(4, times("cpu_ns", "")), moments("max_ts_ns", "max at"), texts("max_process", ""), texts("max_pid", ""),
		spare(3, texts("max_thread", "max on")), texts("max_tid", ""),
	}}
	for i := range r.Groups {
		g := &r.Groups[i]
		if g.Kind != kind {
			continue
		}
		cpu, at, on := cell{absent: true}, cell{}, [4]cell{} // empty if no slice has a length
		if g.CPU != nil {
			cpu = timeCell(*g.CPU)
			out.columns[10].title = "CPU ms"
		}
		if g.MaxAt != nil {
			at = momentCell(*g.MaxAt, r.Start)
			on = [4]cell{textCell(g.MaxOn.Process), textCell(g.MaxOn.PID.Number()), placeCell(g.MaxOn), textCell(g.MaxOn.TID.Number())}
		}
		name := nameCell(g.Name, nameWidth)
		if g.Owner != nil {
			name.short = elideTo(cmp.Or(g.Owner.Title(), g.Name), nameWidth)
		}
		out.rows = append(out.rows, []cell{
			name, countCell(g.Count), countCell(g.Unfinished), timeCell(g.Self), timeCell(g.Total),
			timeCell(g.Mean), timeCell(g.P50), timeCell(g.P95), timeCell(g.P99), timeCell(g.Max), cpu,
			at, on[0], on[1], on[2], on[3],
		})
	}
	if kind == report.Copies {
		out.columns = append(out.columns, counts("bytes", "bytes"))
		for i, k := 0, 0; i < len(r.Groups); i++ {
			if r.Groups[i].Kind == kind {
				out.rows[k] = append(out.rows[k], countCell(r.Groups[i].Bytes))
				k++
			}
		}
	}
	return out
}

// placeCell says where something happened: for people in short, with the number by which --thread finds it, or that of its recording.
func placeCell(t *report.ThreadID) cell {
	c := threadCell(t)
	if t.Recorded.Input != "" && (t.Thread != "" || t.TID.HasNumber()) {
		c.short += " of " + printable(t.Recorded.Input)
	}
	return c
}

// threadCell is a placeCell where it is known which recording is meant.
func threadCell(t *report.ThreadID) cell {
	c := cell{text: t.Thread}
	if t.Thread == "" && !t.TID.HasNumber() {
		c.short = elideTo(t.ProcessTitle(), placeWidth)
		return c
	}
	c.short = strings.TrimSpace(elideTo(t.Thread, placeWidth))
	switch number := t.ShownTID().Number(); {
	case c.short == "":
		c.short = "tid " + number
	case !strings.Contains(c.short, number):
		c.short += " " + number
	}
	return c
}

// ranked reports whether there are devices of several ranks.
func ranked(r *report.Slices) bool { return r.Job != nil && r.Job.Ranks > 1 }

// placeOfRank returns what names the threads of a table that has a column of ranks where there are several.
func placeOfRank(r *report.Slices) func(*report.ThreadID) cell {
	if ranked(r) {
		return threadCell
	}
	return placeCell
}

func rankCell(rank *int64) cell {
	if rank == nil {
		return cell{absent: true}
	}
	return countCell(*rank)
}

// deviceProcess is the title of the column with the process of devices: there is none where numbers and ranks tell devices apart.
func deviceProcess(r *report.Slices) string {
	known := map[[2]int64]bool{}
	for i := range r.Devices {
		key := [2]int64{-1, r.Devices[i].Device}
		if rank := r.Devices[i].Rank; rank != nil {
			key[0] = *rank
		}
		if known[key] {
			return "process"
		}
		known[key] = true
	}
	return ""
}

func stepsTable(r *report.Slices) table {
	place := placeOfRank(r)
	out := table{name: "steps", title: "steps, in the order of time", key: "ts_ns", columns: []column{
		counts("rank", ""), texts("name", "step"), moments("ts_ns", "at"), times("dur_ns", "ms"), spare(1, times("device_busy_ns", "devices busy ms")), shares("busy"),
		texts("process", ""), texts("pid", ""), texts("thread", "thread"), texts("tid", ""),
	}}
	if ranked(r) {
		out.columns[0].title, out.title = "rank", "steps, by rank and time"
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		devices := timeline.Nanos(max(s.Devices, 1))
		out.rows = append(out.rows, []cell{
			rankCell(s.Rank), nameCell(s.Name, nameWidth), momentCell(s.Start, r.Start), timeCell(s.Duration), timeCell(s.DeviceBusy), shareCell(s.DeviceBusy/devices, s.Duration),
			textCell(s.Process), textCell(s.PID.Number()), place(&s.ThreadID), textCell(s.TID.Number()),
		})
	}
	return out
}

func devicesTable(r *report.Slices) table {
	out := table{name: "devices", title: "devices: what they did between the first and the last work on any of them", columns: []column{
		counts("rank", ""), counts("device", "device"), texts("name", "model"), counts("kernels", "kernels"), counts("copies", "copies"), times("window_ns", ""),
		spare(4, times("busy_ns", "busy ms")), shares("busy"), spare(3, times("idle_ns", "idle ms")), spare(2, shares("idle")),
		times("compute_ns", "compute ms"), times("communication_ns", "communication ms"), times("copy_ns", "copy ms"), times("hidden_ns", "hidden ms"),
		counts("bytes", ""), texts("process", deviceProcess(r)), texts("pid", ""),
	}}
	if ranked(r) {
		out.columns[0].title = "rank"
	}
	for i := range r.Devices {
		d := &r.Devices[i]
		out.rows = append(out.rows, []cell{
			rankCell(d.Rank), countCell(d.Device), {text: d.Name, short: elideTo(d.Name, placeWidth)}, countCell(d.Kernels), countCell(d.Copies), timeCell(d.Window),
			timeCell(d.Busy), shareCell(d.Busy, d.Window), timeCell(d.Idle), shareCell(d.Idle, d.Window),
			timeCell(d.Compute), timeCell(d.Communication), timeCell(d.Copy), timeCell(d.Hidden),
			countCell(d.Bytes), {text: d.Process, short: elideTo(d.Recorded.Title(d.Process, d.PID), 2*placeWidth)}, textCell(d.PID.Number()),
		})
	}
	return out
}

func streamsTable(r *report.Slices) table {
	place := placeOfRank(r)
	out := table{name: "streams", title: "streams of devices", columns: []column{
		counts("rank", ""), texts("process", ""), texts("pid", ""), texts("thread", "stream"), texts("tid", ""), counts("device", "device"),
		counts("kernels", "kernels"), spare(1, counts("copies", "copies")), times("window_ns", ""), spare(4, times("busy_ns", "busy ms")), shares("busy"),
		spare(3, times("idle_ns", "idle ms")), shares("idle"), spare(2, times("overlap_ns", "overlap ms")), shares("overlap"),
		times("longest_idle_ns", "longest idle ms"), moments("longest_idle_ts_ns", "at"),
	}}
	if ranked(r) {
		out.columns[0].title = "rank"
	}
	for i := range r.Streams {
		s, longest, at := &r.Streams[i], cell{absent: true}, cell{}
		if s.LongestIdleAt != nil {
			longest, at = timeCell(s.LongestIdle), momentCell(*s.LongestIdleAt, r.Start)
		}
		out.rows = append(out.rows, []cell{
			rankCell(s.Rank), textCell(s.Process), textCell(s.PID.Number()), place(&s.ThreadID), textCell(s.TID.Number()), countCell(s.Device),
			countCell(s.Kernels), countCell(s.Copies), timeCell(s.Window), timeCell(s.Busy), shareCell(s.Busy, s.Window),
			timeCell(s.Idle), shareCell(s.Idle, s.Window), timeCell(s.Overlap), shareCell(s.Overlap, s.Window),
			longest, at,
		})
	}
	return out
}
