package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	engine "github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/timeline"
)

// tasksReport is the report on long tasks.
func tasksReport() answerReport {
	return answerReport{
		name: "tasks", usage: "long tasks: where, for whom, what is in them, and where to split them",
		example: "weft report tasks --thread CrRendererMain trace.json",
		flags:   []string{"table"},
		forms:   []table{tasksTable(&report.Tasks{}, nil), partsTable(nil, 0)},
		main:    "tasks",
		make:    makeTasksReport,
	}
}

// detailed is the number of tasks, or inputs, that people get to see in detail.
const detailed = 3

func makeTasksReport(c *cli.Context, in *reportInput) (*answer, error) {
	r, err := collectTasks(c, in)
	if err != nil {
		return nil, err
	}
	limit := rowLimit(c)
	shown := r.Tasks
	if limit > 0 {
		shown = shown[:min(limit, len(shown))]
	}
	tasks := tasksTable(r, shown)
	tasks.note = more(len(shown), len(r.Tasks), "tasks")
	a := &answer{summary: []string{tasksSummary(r)}, tables: []table{tasks, partsTable(shown, r.Start)}, hidden: []string{"parts"}, json: tasksJSON(r, shown)}
	if c.String("table") == "" {
		for i := range shown[:min(len(shown), detailed)] {
			a.details = append(a.details, taskDetails(r, &shown[i], i+1))
		}
	}
	if len(r.Tasks) == 0 {
		a.nothing = fmt.Sprintf("no task takes %s or longer", wholeMillis(r.Min))
	}
	if r.Uncounted > 0 {
		a.notes = append(a.notes, fmt.Sprintf("too many long tasks: %s are in no row", thousands(r.Uncounted)))
	}
	return a, nil
}

// collectTasks attributes a trace and finds its long tasks.
func collectTasks(c *cli.Context, in *reportInput) (*report.Tasks, error) {
	var r *report.Tasks
	err := attributed(c, in, func(result *engine.Result) (err error) {
		opts := report.TaskOptions{}
		if in.selected != nil {
			opts.Include = in.selected.Item
			opts.Thread = in.selected.Track
		}
		r, err = report.CollectTasks(c.Context, in.timeline, result, opts)
		return err
	})
	return r, err
}

// attributed attributes the work in a trace and calls fn with the result.
func attributed(c *cli.Context, in *reportInput, fn func(*engine.Result) error) error {
	result, err := engine.Run(c.Context, in.timeline, engine.Rules{})
	if err != nil {
		return fmt.Errorf("%s: %w", inputName(in.name), err)
	}
	return errors.Join(fn(result), result.Close())
}

func tasksSummary(r *report.Tasks) string {
	threads := map[string]bool{}
	for i := range r.Tasks {
		t := &r.Tasks[i].ThreadID
		threads[t.Process+"\x00"+t.PID.String()+"\x00"+t.Thread+"\x00"+t.TID.String()] = true
	}
	return fmt.Sprintf("%s of %s and more on %s; blocking time %s ms in total", count(len(r.Tasks)+int(r.Uncounted), "task"), wholeMillis(r.Min),
		count(len(threads), "thread"), millis(r.Blocking))
}

// wholeMillis is a length of time in milliseconds without decimals that say nothing.
func wholeMillis(t timeline.Nanos) string {
	return strconv.FormatFloat(float64(t)/1e6, 'f', -1, 64) + " ms"
}

// tasksJSON returns the lines of the JSON form.
func tasksJSON(r *report.Tasks, shown []report.Task) []any {
	lines := []any{struct {
		Table string `json:"table"`
		*report.Tasks
		Count int `json:"tasks"`
	}{"summary", r, len(r.Tasks)}}
	for i := range shown {
		lines = append(lines, struct {
			Table string `json:"table"`
			*report.Task
		}{"tasks", &shown[i]})
	}
	return lines
}

// tasksTable has a row for each task: when, where, for whom, and what took most of it.
func tasksTable(r *report.Tasks, shown []report.Task) table {
	out := table{name: "tasks", title: "long tasks, the longest first", key: "dur_ns", columns: []column{
		moments("ts_ns", "at"), times("dur_ns", "ms"), spare(3, times("blocking_ns", "blocking ms")), spare(2, times("cpu_ns", "")), texts("process", ""), texts("pid", ""),
		texts("thread", "thread"), texts("tid", ""), texts("basis", ""), spare(1, texts("name", "task")), texts("for", "for"), texts("most", "most self time"),
		times("most_self_ns", "ms"), times("forced_ns", ""),
	}}
	for i := range shown {
		t := &shown[i]
		cpu := cell{absent: true}
		if t.CPU != nil {
			cpu, out.columns[3].title = timeCell(*t.CPU), "CPU ms"
		}
		most := report.WorkPart{}
		if len(t.Parts) > 0 {
			most = t.Parts[0]
		}
		name := nameCell(t.Name, placeWidth)
		if t.Basis == report.SampledTasks {
			name = cell{short: "(samples)"}
		}
		out.rows = append(out.rows, []cell{
			momentCell(t.Start, r.Start), timeCell(t.Duration), timeCell(t.Blocking), cpu, textCell(t.Process), textCell(t.PID.Number()),
			placeCell(&t.ThreadID), textCell(t.TID.Number()), textCell(string(t.Basis)), name,
			{text: mainContext(t.Contexts), short: elideTo(mainContext(t.Contexts), nameWidth)},
			{text: partText(&most), short: elideTo(most.Name, nameWidth)}, timeCell(most.Self), timeCell(t.Forced),
		})
	}
	return out
}

// partsTable has a row for each part of each task.
func partsTable(shown []report.Task, start timeline.Nanos) table {
	out := table{name: "parts", title: "what is in the tasks, by self time", key: "self_ns", columns: []column{
		moments("ts_ns", "task at"), texts("process", ""), texts("pid", ""), texts("thread", "thread"), texts("tid", ""),
		times("self_ns", "self ms"), times("longest_ns", "longest ms"), counts("count", "count"), texts("category", "category"),
		texts("name", "name"), texts("location", "location"),
	}}
	for i := range shown {
		t := &shown[i]
		for k := range t.Parts {
			p := &t.Parts[k]
			out.rows = append(out.rows, []cell{
				momentCell(t.Start, start), textCell(t.Process), textCell(t.PID.Number()), placeCell(&t.ThreadID), textCell(t.TID.Number()),
				timeCell(p.Self), timeCell(p.Longest), countCell(p.Count), textCell(p.Category), nameCell(p.Name, nameWidth), textCell(p.Location),
			})
		}
	}
	return out
}

// contextOrder are the types of contexts that say most about a piece of work, the best first.
var contextOrder = []string{"Frame", "Script", "InputEvent", "Tab", "Isolate"}

// mainContext names the context of the best type.
func mainContext(list []report.ContextTime) string {
	for _, typ := range contextOrder {
		for i := range list {
			if list[i].Type == typ {
				return list[i].Name
			}
		}
	}
	if len(list) > 0 {
		return list[0].Name
	}
	return ""
}

func partText(p *report.WorkPart) string {
	return strings.TrimSpace(p.Name + " " + p.Location)
}

// taskDetails says of a task in lines what it did and what can be split.
func taskDetails(r *report.Tasks, t *report.Task, n int) detail {
	title := fmt.Sprintf("%d. %s ms at %s on %s of %s", n, millis(t.Duration), momentText(t.Start-r.Start), placeCell(&t.ThreadID).short,
		elideTo(t.ProcessTitle(), maxName))
	out := detail{title: title, width: 10}
	if t.CPU != nil {
		out.add("on a CPU", millis(*t.CPU)+" ms of it", 0)
	}
	for _, line := range contextLines(t.Contexts, t.Self) {
		out.add("for", line, 14)
	}
	out.add("work", workText(&t.Work), 0)
	out.add("way in", pathText(t.Path), 0)
	for i := range t.Parts[:min(len(t.Parts), 5)] {
		p := &t.Parts[i]
		what := ""
		if i == 0 {
			what = "self time"
		}
		out.add(what, fmt.Sprintf("%10s ms  %s", millis(p.Self), partLine(p)), 15)
	}
	out.add("split", splitText(t), 0)
	return out
}

// partLine describes a part in a line.
func partLine(p *report.WorkPart) string {
	text := elideTo(p.Name, nameWidth)
	if p.Count > 1 {
		text += " ×" + thousands(p.Count)
	}
	if p.Category == "gc" && p.Location != "" {
		text += " (garbage collector)" // which interrupted the function
	}
	if p.Location != "" {
		text += "  " + elideTo(p.Location, 60)
	}
	return text
}

// contextLines names the context of each type with most of the time, and its share.
func contextLines(list []report.ContextTime, all timeline.Nanos) (lines []string) {
	for i := range list {
		if i > 0 && list[i-1].Type == list[i].Type {
			continue
		}
		if share := shareCell(list[i].Time, all); share.number >= 100 { // a tenth
			lines = append(lines, fmt.Sprintf("%-14s%s (%s)", printable(list[i].Type), elideTo(list[i].Name, 60), shares("").format(share)))
		}
	}
	return lines
}

// workText lists kinds of work by time.
func workText(w *report.Work) string {
	var parts []string
	for _, c := range w.ByCategory {
		if c.Time >= 1000*100 { // 0.1 ms: what is less does not show
			parts = append(parts, c.Category+" "+millis(c.Time)+" ms")
		}
	}
	text := strings.Join(parts, ", ")
	if w.ForcedCount > 0 {
		text += fmt.Sprintf("; forced style and layout ×%s, %s ms", thousands(w.ForcedCount), millis(w.Forced))
	}
	return text
}

// maxWay is the number of steps of a path that people get to see.
const maxWay = 6

// pathText shows the way to what takes longest, without steps that only hand on.
func pathText(path []report.PathStep) string {
	var parts []string
	for i := range path {
		p := &path[i]
		if i > 0 && i+1 < len(path) && p.Parts == 1 && p.Duration-p.Longest < p.Duration/50 {
			continue
		}
		parts = append(parts, elideTo(p.Name, 36)+" "+millis(p.Duration))
	}
	if len(parts) > maxWay {
		parts = append(parts[:maxWay], "…")
	}
	return strings.Join(parts, " > ")
}

// splitText says where the task could be divided.
func splitText(t *report.Task) string {
	var tips []string
	if s := t.Split; s != nil {
		name := elideTo(cmp.Or(s.Name, "(none)"), nameWidth)
		switch {
		case s.Inside:
			tips = append(tips, fmt.Sprintf("inside %s, which takes %s ms itself", name, millis(s.Self)))
		case s.Parts == 1:
			tips = append(tips, fmt.Sprintf("%s takes %s ms itself, and the one part of it %s ms", name, millis(s.Self), millis(s.Longest)))
		case s.Parts > 1:
			tips = append(tips, fmt.Sprintf("between the %s parts of %s, the longest of which takes %s ms", thousands(s.Parts), name, millis(s.Longest)))
		}
	}
	if t.ForcedCount > 1 && t.Forced > t.Duration/10 {
		tips = append(tips, "read sizes before changing the page: style and layout are forced "+thousands(t.ForcedCount)+" times")
	}
	if i := slices.IndexFunc(t.ByCategory, func(c report.CategoryTime) bool { return c.Category == "gc" && c.Time > t.Duration/4 }); i >= 0 {
		tips = append(tips, "allocate less: the garbage collector takes "+millis(t.ByCategory[i].Time)+" ms")
	}
	return strings.Join(tips, "; ")
}
