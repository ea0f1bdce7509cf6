package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/words"
)

// Report renders long tasks: a table with a row for each task, tables of the parts of tasks and of frames, and details of the
// first few tasks. Limit is the maximum number of tasks; 0: all. Only is the requested table, if just one is requested.
func (r *Tasks) Report(limit int, only string) *table.Report {
	shown := cut(r.Tasks, limit)
	out := &table.Report{Lines: true, Notes: r.notes(), Head: []table.Record{table.JSON(struct {
		Table string `json:"table"`
		*Tasks
		Count int `json:"tasks"`
	}{"summary", r, len(r.Tasks)})}}
	s := table.Section{Lines: []string{r.summary()}, Tables: []*table.Table{r.Table(shown), partsTable(shown, r.Start), r.Frames.table(r.Start)}}
	if r.Frames != nil && r.Frames.All > 0 {
		line := r.Frames.line(r.Min)
		if only != framesTable {
			line += "; --table frames lists them"
		}
		s.Lines = append(s.Lines, line)
	}
	for i := range shown[:min(len(shown), detailed)] {
		s.Details = append(s.Details, taskDetails(r, &shown[i], i+1))
	}
	out.Sections = []table.Section{s}
	if len(r.Tasks) == 0 && len(s.Lines) == 1 {
		out.Nothing = noTask(r.Min)
	}
	return out
}

// noTask returns the message for a trace without tasks of the given length or longer.
func noTask(length timeline.Nanos) string {
	return fmt.Sprintf("no task takes %s or longer", table.WholeMillis(length))
}

func (r *Tasks) summary() string {
	if len(r.Tasks) == 0 {
		return noTask(r.Min)
	}
	threads := map[string]bool{}
	for i := range r.Tasks {
		t := &r.Tasks[i].ThreadID
		threads[t.Process+"\x00"+t.PID.String()+"\x00"+t.Thread+"\x00"+t.TID.String()] = true
	}
	return fmt.Sprintf("%s of %s and more on %s; blocking time %s ms in total", table.Count(len(r.Tasks)+int(r.Uncounted), "task"),
		table.WholeMillis(r.Min), table.Count(len(threads), "thread"), table.Millis(r.Blocking))
}

// taskName returns the name of a task; readers see the name of its most informative part.
func taskName(t *Task) table.Cell {
	name, _ := t.Telling()
	return table.Cell{Text: t.Name, Short: table.Elide(cmp.Or(name, "(none)"), nameWidth), Note: producers.RecorderNote(name)}
}

// Table returns a table with a row for each task: its time, its thread, the context that it worked for, and its longest
// part.
func (r *Tasks) Table(shown []Task) *table.Table {
	return table.New(table.Table{Name: "tasks", Title: "long tasks, the longest first", Key: "dur_ns", RowNoun: "tasks", All: len(r.Tasks)}, shown, columns(
		[]table.TypedColumn[Task]{
			table.Moments("ts_ns", "at", r.Start, func(t *Task) timeline.Nanos { return t.Start }),
			table.Times("dur_ns", "ms", func(t *Task) timeline.Nanos { return t.Duration }).Over(timeline.LongTaskLength),
			table.Times("blocking_ns", "blocking ms", func(t *Task) timeline.Nanos { return t.Blocking }).DropOrder(3),
			table.OptionalTimes("cpu_ns", "CPU ms", func(t *Task) *timeline.Nanos { return t.CPU }).DropOrder(2).IfAny(),
		},
		[]table.TypedColumn[Task]{
			table.Cells(table.Column{Key: "name", Title: "task"}, func(t *Task) table.Cell { return taskName(t) }),
		},
		threads("", "thread", func(t *Task) *ThreadID { return &t.ThreadID }, placeCell),
		[]table.TypedColumn[Task]{
			table.Texts("basis", "", func(t *Task) string { return string(t.Basis) }),
			table.Cells(table.Column{Key: "for", Title: "for"}, func(t *Task) table.Cell {
				name := mainContext(t.Contexts)
				return table.Cell{Text: name, Short: table.Elide(name, nameWidth)}
			}),
		},
		spare(1, mostParts("most self time", func(t *Task) *WorkPart { return firstPart(&t.Work) })),
		[]table.TypedColumn[Task]{
			table.Times("forced_ns", "", func(t *Task) timeline.Nanos { return t.Forced }),
			table.Texts("", "where to split it", func(t *Task) string { return splitText(t, func(name string) string { return name }) }).IfAny().OnlyPage(),
		},
	)...)
}

// Many renders the tables for many files: a table of the parts of long tasks, with the number of tasks and the times, and a table
// of the tasks.
func (r *Tasks) Many() *table.Report {
	var parts []manyPart
	all := timeline.Nanos(0)
	for i := range r.Tasks {
		t := &r.Tasks[i]
		sum(&all, t.Duration)
		for k := range t.Parts {
			parts = append(parts, manyPart{t, &t.Parts[k]})
		}
	}
	tasks := r.Table(r.Tasks)
	tasks.Folding, tasks.Start, tasks.Worst, tasks.Summary = table.Listed, r.Start, "longest", manyTasksText
	tasks.Totals = table.Totals{Blocking: r.Blocking, Uncounted: r.Uncounted}
	form := table.Table{Name: "parts", Title: "what is in the tasks, by self time", Folding: table.Ranked, Total: int64(all)}
	return &table.Report{Notes: r.notes(), Sections: []table.Section{{Tables: []*table.Table{table.New(form, parts,
		sliceNames("name", "function or slice", nameWidth, func(p *manyPart) string { return p.Name }).WithRole(table.Group),
		table.Texts("location", "location", func(p *manyPart) string { return p.Location }).DropOrder(3).WithRole(table.Group),
		table.Texts("category", "category", func(p *manyPart) string { return p.Category }).DropOrder(7).WithRole(table.Group),
		table.Counts("tasks", "tasks", func(*manyPart) int { return 1 }).WithRole(table.Sum),
		table.Times("self_ns", "self ms", func(p *manyPart) timeline.Nanos { return p.Self }).WithRole(table.Main),
		table.Times("total_ns", "tasks ms", func(p *manyPart) timeline.Nanos { return p.task.Duration }).DropOrder(6).WithRole(table.Sum),
		table.Times("blocking_ns", "blocking ms", func(p *manyPart) timeline.Nanos { return p.task.Blocking }).DropOrder(1).WithRole(table.Sum),
	), tasks}}}}
}

// manyTasksText summarizes the long tasks of many files in one line.
func manyTasksText(t *table.Totals) string {
	if t.Count == 0 && t.Uncounted == 0 {
		return noTask(timeline.LongTaskLength)
	}
	text := fmt.Sprintf("%s in %s; blocking time %s ms in total", table.Count(t.Count, "task"), table.Count(t.Recordings, "recording"), table.Millis(t.Blocking))
	if t.Uncounted > 0 {
		text += fmt.Sprintf("; %s more are in no row", table.Thousands(t.Uncounted))
	}
	return text
}

// manyPart is a part of a task in one of many files.
type manyPart struct {
	task *Task
	*WorkPart
}

// notes returns notes on what the numbers lack.
func (r *Tasks) notes() (notes []string) {
	if r.Uncounted > 0 {
		notes = append(notes, fmt.Sprintf("too many long tasks: %s are in no row", table.Thousands(r.Uncounted)))
	}
	return append(notes, r.unnamed...)
}

// taskPart is a part of a task.
type taskPart struct {
	Start timeline.Nanos `json:"ts_ns"` // of the task
	*ThreadID
	*WorkPart
}

// partsTable returns a table with a row for each part of each task.
func partsTable(shown []Task, start timeline.Nanos) *table.Table {
	var parts []taskPart
	for i := range shown {
		for k := range shown[i].Parts {
			parts = append(parts, taskPart{shown[i].Start, &shown[i].ThreadID, &shown[i].Parts[k]})
		}
	}
	t := table.Table{Name: "parts", Title: "what is in the tasks, by self time", Key: "self_ns", Hidden: true, Nested: true, IgnoresLimit: true}
	return table.New(t, parts, columns(
		[]table.TypedColumn[taskPart]{table.Moments("ts_ns", "task at", start, func(p *taskPart) timeline.Nanos { return p.Start })},
		threads("", "thread", func(p *taskPart) *ThreadID { return p.ThreadID }, placeCell),
		[]table.TypedColumn[taskPart]{
			table.Times("self_ns", "self ms", func(p *taskPart) timeline.Nanos { return p.Self }),
			table.Times("longest_ns", "longest ms", func(p *taskPart) timeline.Nanos { return p.Longest }),
			table.Counts("count", "count", func(p *taskPart) int64 { return p.Count }),
			table.Texts("category", "category", func(p *taskPart) string { return p.Category }),
			sliceNames("name", "name", nameWidth, func(p *taskPart) string { return p.Name }),
			table.Texts("location", "location", func(p *taskPart) string { return p.Location }),
		},
	)...)
}

// contextOrder lists the most informative types of contexts, best first.
var contextOrder = []string{"Frame", "Script", "InputEvent", "Tab", "Isolate"}

// mainContext returns the name of the context with the best type.
func mainContext(list []ContextTime) string {
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

// taskDetails describes in lines what a task did and where it could be split.
func taskDetails(r *Tasks, t *Task, n int) table.Detail {
	title := fmt.Sprintf("%d. %s ms at %s on %s of %s", n, table.Millis(t.Duration), table.MomentText(t.Start-r.Start), placeCell(&t.ThreadID).Short,
		table.Elide(t.ProcessTitle(), MaxName))
	out := table.Detail{Title: title, Width: 10}
	if t.CPU != nil {
		out.Add("on a CPU", table.Millis(*t.CPU)+" ms of it", 0)
	}
	for _, line := range contextLines(t.Contexts, t.Self) {
		out.Add("for", line, 14)
	}
	out.Add("work", workText(&t.Work), 0)
	out.Add("way in", pathText(t.Path), 0)
	out.AddList("self time", partLines(t.Parts, 10), 15)
	out.Add("split", splitText(t, func(name string) string { return table.Elide(name, nameWidth) }), 0)
	return out
}

// partLines describes each of the first parts in a line, with the self time padded to width columns.
func partLines(parts []WorkPart, width int) (lines []string) {
	for i := range parts[:min(len(parts), 5)] {
		lines = append(lines, fmt.Sprintf("%*s ms  %s", width, table.Millis(parts[i].Self), partLine(&parts[i])))
	}
	return lines
}

// partLine describes a part in one line.
func partLine(p *WorkPart) string {
	text := strings.TrimSuffix(table.Elide(p.Name, nameWidth)+" "+producers.RecorderNote(p.Name), " ")
	if p.Count > 1 {
		text += " ×" + table.Thousands(p.Count)
	}
	if p.Category == "gc" && p.Location != "" {
		text += " (garbage collector)" // which interrupted the function
	}
	if p.Location != "" {
		text += "  " + table.Elide(p.Location, 60)
	}
	return text
}

// contextLines names, for each type, the context with the most time and its share, if the share is a tenth or more.
func contextLines(list []ContextTime, all timeline.Nanos) (lines []string) {
	for i := range list {
		if i > 0 && list[i-1].Type == list[i].Type {
			continue
		}
		if share := table.Share(list[i].Time, all); share.Number >= 100 { // a tenth
			lines = append(lines, fmt.Sprintf("%-14s%s (%d.%d %%)", words.Printable(list[i].Type), table.Elide(list[i].Name, 60), share.Number/10, share.Number%10))
		}
	}
	return lines
}

// workText lists kinds of work by time.
func workText(w *Work) string {
	var parts []string
	for _, c := range w.ByCategory {
		if c.Time >= 1000*100 { // 0.1 ms: less would not be visible
			parts = append(parts, c.Category+" "+table.Millis(c.Time)+" ms")
		}
	}
	text := strings.Join(parts, ", ")
	if w.ForcedCount > 0 {
		text += fmt.Sprintf("; forced style and layout ×%s, %s ms", table.Thousands(w.ForcedCount), table.Millis(w.Forced))
	}
	return text
}

// maxWay is the maximum number of path steps shown.
const maxWay = 6

// pathText shows the path of the longest slices, without steps that merely call the next one.
func pathText(path []PathStep) string {
	var parts []string
	for i := range path {
		p := &path[i]
		if i > 0 && i+1 < len(path) && p.Parts == 1 && p.Duration-p.Longest < p.Duration/50 {
			continue
		}
		parts = append(parts, table.Elide(p.Name, 36)+" "+table.Millis(p.Duration))
	}
	if len(parts) > maxWay {
		parts = append(parts[:maxWay], "…")
	}
	return strings.Join(parts, " > ")
}

// splitText states where the task could be divided. The function short shortens names.
func splitText(t *Task, short func(name string) string) string {
	var tips []string
	if s := t.Split; s != nil {
		name := short(cmp.Or(s.Name, "(none)"))
		switch {
		case s.Inside:
			tips = append(tips, fmt.Sprintf("inside %s, which takes %s ms itself", name, table.Millis(s.Self)))
		case s.Parts == 1:
			tips = append(tips, fmt.Sprintf("%s takes %s ms itself, and the one part of it %s ms", name, table.Millis(s.Self), table.Millis(s.Longest)))
		case s.Parts > 1:
			tips = append(tips, fmt.Sprintf("between the %s parts of %s, the longest of which takes %s ms", table.Thousands(s.Parts), name, table.Millis(s.Longest)))
		}
	}
	if t.ForcedCount > 1 && t.Forced > t.Duration/10 {
		tips = append(tips, "read sizes before changing the page: style and layout are forced "+table.Thousands(t.ForcedCount)+" times")
	}
	if i := slices.IndexFunc(t.ByCategory, func(c CategoryTime) bool { return c.Category == "gc" && c.Time > t.Duration/4 }); i >= 0 {
		tips = append(tips, "allocate less: the garbage collector takes "+table.Millis(t.ByCategory[i].Time)+" ms")
	}
	return strings.Join(tips, "; ")
}
