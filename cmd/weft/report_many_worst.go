package main

import (
	"fmt"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/timeline"
)

// manySums are numbers about all recordings that only some reports have.
type manySums struct {
	Tasks  *taskSums  `json:"tasks,omitempty"`
	Inputs *inputSums `json:"inputs,omitempty"`
	// Uncounted are slices of layout in no row.
	Uncounted *int64 `json:"uncounted,omitempty"`
}

// taskSums are those of long tasks.
type taskSums struct {
	Count      int64          `json:"count"`
	Recordings int            `json:"recordings"` // with long tasks
	Blocking   timeline.Nanos `json:"blocking_ns"`
	Uncounted  int64          `json:"uncounted"` // tasks beyond the longest of a recording, which are in no row
}

// inputSums are those of inputs.
type inputSums struct {
	Count      int64                      `json:"count"`
	Recordings int                        `json:"recordings"` // with inputs
	Omitted    map[report.InputKind]int64 `json:"omitted"`    // of the kinds that were not asked for
}

// sumsOf returns the sums of a report.
func sumsOf(r *manyReport, sum *report.Many) (s manySums) {
	switch r.name {
	case tasksReport().name:
		s.Tasks = &taskSums{sum.Tasks.Count, sum.Tasks.Recordings, sum.Blocking, sum.UncountedTasks}
	case inputsReport().name:
		s.Inputs = &inputSums{sum.Inputs.Count, sum.Inputs.Recordings, sum.Omitted}
	case "layout-count", "layout-time":
		s.Uncounted = &sum.UncountedSlices
	}
	return s
}

// manyTasks is the report on long tasks about many inputs.
func manyTasks() manyReport {
	return manyReport{
		name: tasksReport().name, calls: true, slices: true, lost: costProblems, add: addTasks,
		tables: []manyTable{
			{name: report.ManyParts, form: manyPartsTable},
			{name: "tasks", form: manyTasksTable, lines: func(sum *report.Many) (lines []any) {
				for i := range sum.Tasks.Rows {
					lines = append(lines, struct {
						Table string `json:"table"`
						*report.ManyTask
					}{"tasks", &sum.Tasks.Rows[i]})
				}
				return lines
			}},
		},
		says: func(sum *report.Many) string {
			if sum.Tasks.Count == 0 {
				return fmt.Sprintf("no task takes %s or longer", wholeMillis(timeline.LongTaskLength))
			}
			text := fmt.Sprintf("%s of %s and more in %s; blocking time %s ms in total", count(sum.Tasks.Count, "task"),
				wholeMillis(timeline.LongTaskLength), count(sum.Tasks.Recordings, "recording"), millis(sum.Blocking))
			if sum.UncountedTasks > 0 {
				text += fmt.Sprintf("; %s more are in no row", thousands(sum.UncountedTasks))
			}
			return text
		},
	}
}

func addTasks(c *cli.Context, in *reportInput, to *report.Many) error {
	r, err := collectTasks(c, in)
	if err != nil {
		return err
	}
	return to.AddTasks(inputName(in.name), r)
}

// fileCell is the name of an input: people get the last part.
func fileCell(name string) cell {
	return cell{text: name, short: elideTo(filepath.Base(name), nameWidth)}
}

// manyPartsTable has a row for each function and other slice in the long tasks of all inputs.
func manyPartsTable(sum *report.Many) table {
	out := table{name: report.ManyParts, title: "what is in the tasks, by self time", key: "self_ns", columns: []column{
		texts("name", "function or slice"), spare(3, texts("place", "location")), spare(7, texts("category", "category")), counts("recordings", "files"),
		counts("count", "tasks"), times("self_ns", "self ms"), spare(6, times("total_ns", "tasks ms")), spare(1, times("blocking_ns", "blocking ms")),
		spare(5, times("p50_ns", "p50 ms")), spare(4, times("p95_ns", "p95 ms")), times("max_ns", "max ms"), portions("mean_share_ppb", "share a file"),
		spare(2, portions("max_share_ppb", "largest")), spare(2, texts("max_share_in", "in")),
	}}
	rows := sum.Rows(report.ManyParts)
	for i := range rows {
		r := &rows[i]
		name, l := nameCell(r.Name, nameWidth), report.ManyLengths{}
		if r.Category == "gc" && r.Place != "" {
			name.short += " (garbage collector)" // which interrupted the function
		}
		if r.Lengths != nil {
			l = *r.Lengths
		}
		blocking := timeline.Nanos(0)
		if r.Blocking != nil {
			blocking = *r.Blocking
		}
		out.rows = append(out.rows, []cell{
			name, textCell(r.Place), textCell(r.Category), countCell(int64(r.Recordings)), countCell(r.Count), timeCell(r.Self), timeCell(r.Total),
			timeCell(blocking), timeCell(l.P50), timeCell(l.P95), timeCell(l.Max), countCell(r.MeanShare), countCell(r.MaxShare), fileCell(r.MaxIn),
		})
	}
	return out
}

// manyTasksTable has a row for each of the longest tasks of all inputs.
func manyTasksTable(sum *report.Many) table {
	out := table{name: "tasks", title: "long tasks, the longest first", key: "dur_ns", columns: []column{
		texts("file", "file"), moments("ts_ns", "at"), times("dur_ns", "ms"), spare(2, times("blocking_ns", "blocking ms")), times("cpu_ns", ""),
		texts("process", ""), texts("pid", ""), spare(1, texts("thread", "thread")), texts("tid", ""), texts("basis", ""), spare(1, texts("name", "task")),
		texts("most", "most self time"), times("most_self_ns", "ms"),
	}}
	for i := range sum.Tasks.Rows {
		t := &sum.Tasks.Rows[i]
		name, most := nameCell(t.Name, placeWidth), report.WorkPart{}
		if t.Basis == report.SampledTasks {
			name = cell{short: "(samples)"}
		}
		if t.Most != nil {
			most = *t.Most
		}
		out.rows = append(out.rows, []cell{
			fileCell(t.File), momentCell(t.Start, t.TraceStart), timeCell(t.Duration), timeCell(t.Blocking), optionalTime(t.CPU), textCell(t.Process),
			textCell(t.PID.Number()), placeCell(&t.ThreadID), textCell(t.TID.Number()), textCell(string(t.Basis)), name,
			{text: partText(&most), short: elideTo(most.Name, nameWidth)}, timeCell(most.Self),
		})
	}
	return out
}

// manyInputs is the report on inputs about many inputs of the command.
func manyInputs() manyReport {
	return manyReport{
		name: inputsReport().name, calls: true, slices: true, lost: costProblems, add: addInputs,
		tables: []manyTable{
			{name: report.ManyKinds, form: manyKindsTable, lines: func(sum *report.Many) (lines []any) {
				rows := sum.InputRows()
				for i := range rows {
					lines = append(lines, &rows[i])
				}
				return lines
			}},
			{name: "inputs", form: manyInputsTable, lines: func(sum *report.Many) (lines []any) {
				for i := range sum.Inputs.Rows {
					lines = append(lines, struct {
						Table string `json:"table"`
						*report.ManyInput
					}{"inputs", &sum.Inputs.Rows[i]})
				}
				return lines
			}},
		},
		says: func(sum *report.Many) string {
			text := fmt.Sprintf("%s in %s", count(sum.Inputs.Count, "input"), count(sum.Inputs.Recordings, "recording"))
			if sum.Inputs.Count == 0 {
				text = "no inputs"
			}
			if len(sum.Omitted) > 0 {
				text += "; " + omittedText(&report.Inputs{Omitted: sum.Omitted}) + " more"
			}
			return text
		},
	}
}

func addInputs(c *cli.Context, in *reportInput, to *report.Many) error {
	opts := inputOptionsOf(in)
	opts.Brief = true
	var err error
	if opts.Kinds, err = inputKinds(c); err != nil {
		return err
	}
	return attributed(c, in, func(result *attribution.Result) error {
		r, err := report.CollectInputs(c.Context, in.timeline, result, opts)
		if err != nil {
			return err
		}
		return to.AddInputs(inputName(in.name), r)
	})
}

// manyKindsTable has a row for the latency of each kind of input and for each part of it.
func manyKindsTable(sum *report.Many) table {
	out := table{name: report.ManyKinds, title: "latency and its parts, by kind of input", columns: []column{
		texts("name", "input"), texts("place", "time"), counts("recordings", "files"), counts("count", "inputs"), times("p50_ns", "p50 ms"),
		times("p75_ns", "p75 ms"), times("p95_ns", "p95 ms"), times("max_ns", "max ms"), spare(1, times("total_ns", "total ms")),
		spare(2, portions("mean_share_ppb", "share a file")), spare(3, portions("max_share_ppb", "largest")), spare(3, texts("max_share_in", "in")),
	}}
	rows := sum.InputRows()
	for i := range rows {
		r, l := &rows[i], report.ManyLengths{}
		if r.Lengths != nil {
			l = *r.Lengths
		}
		out.rows = append(out.rows, []cell{
			nameCell(r.Name, nameWidth), textCell(r.Place), countCell(int64(r.Recordings)), countCell(r.Count), timeCell(l.P50), timeCell(l.P75),
			timeCell(l.P95), timeCell(l.Max), timeCell(r.Total), countCell(r.MeanShare), countCell(r.MaxShare), fileCell(r.MaxIn),
		})
	}
	return out
}

// manyInputsTable has a row for each of the slowest inputs of all recordings.
func manyInputsTable(sum *report.Many) table {
	out := table{name: "inputs", title: "inputs, the slowest first", key: "latency_ns", columns: []column{
		texts("file", "file"), moments("ts_ns", "at"), texts("kind", "input"), spare(1, texts("type", "event")), times("latency_ns", "latency ms"),
		times("delay_ns", "delay ms"), times("processing_ns", "processing ms"), times("presentation_ns", "presentation ms"), flags("dropped", ""),
		texts("id", ""),
	}}
	for i := range sum.Inputs.Rows {
		in := &sum.Inputs.Rows[i]
		out.rows = append(out.rows, []cell{
			fileCell(in.File), momentCell(in.Start, in.TraceStart), textCell(string(in.Kind)), textCell(in.Type), timeCell(in.Latency),
			optionalTime(in.Delay), optionalTime(in.Processing), optionalTime(in.Presentation), flagCell(in.Dropped), textCell(in.ID),
		})
	}
	return out
}
