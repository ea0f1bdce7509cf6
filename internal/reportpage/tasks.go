package reportpage

import (
	"slices"

	"github.com/weft-trace/weft/internal/attribution/evidence"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/timeline"
)

// categoryName returns the name of a category of work by its number.
func categoryName(k int) string { return evidence.Category(k).String() }

// tasks writes the long tasks.
func (p *page) tasks() {
	t := p.all.Tasks
	longest := &t.List[0]
	p.p("<p class=lead><b>%s</b> took %s or longer and blocked %s for <b>%s</b> beyond that; the longest took %s, on %s.</p>\n", count(t.Count, "task"),
		length(t.Min), plural(t.Count, "its thread", "their threads"), length(t.Blocking), length(longest.Duration), fullTitle(&longest.ThreadID))
	all := make([]timeline.Nanos, evidence.CategoryCount)
	for i := range t.List {
		addWork(all, &t.List[i].Work)
	}
	p.legend(categoryParts(all))
	columns := []column{{title: "task"}, {title: "at", number: true}, {title: "kinds of work", bar: true}, {title: "ms", number: true}, {title: "thread"}, {title: "most of the time"}}
	splits := slices.ContainsFunc(t.List, func(task report.Task) bool { return split(&task) != "" })
	if splits {
		columns = append(columns, column{title: "where to split it"})
	}
	out := p.table("The longest tasks", "", columns...)
	for i := range t.List {
		task := &t.List[i]
		times := make([]timeline.Nanos, evidence.CategoryCount)
		addWork(times, &task.Work)
		name := task.Name
		if task.Basis == report.SampledTasks || name == "" {
			name = "(samples)"
		}
		cells := []any{name, num(p.moment(task.Start - p.all.Start)), p.bar(categoryParts(times), longest.Duration), num(millis(task.Duration)),
			threadTitle(&task.ThreadID), mostOf(task, true)}
		if splits {
			cells = append(cells, split(task))
		}
		out.row(at(task.Start, task.Duration), cells...)
	}
	note := ""
	if more := t.Count - len(t.List); more > 0 {
		note = count(more, "more task") + ": weft report tasks lists them."
	}
	out.end(note, false)
}

// addWork adds the times of the kinds of work.
func addWork(to []timeline.Nanos, w *report.Work) {
	for _, c := range w.ByCategory {
		for k := range to {
			if name := categoryName(k); name == c.Category {
				to[k] += c.Time
			}
		}
	}
}

// mostOf says what took most of a task, and in how many pieces.
func mostOf(t *report.Task, counts bool) string {
	if len(t.Parts) == 0 {
		return ""
	}
	part := &t.Parts[0]
	text := part.Name + ", " + length(part.Self)
	switch {
	case !counts || part.Count < 2:
	case t.Basis == report.SampledTasks:
		text += " in " + count(part.Count, "sample")
	default:
		text += " in " + count(part.Count, "slice")
	}
	return text
}

// split says where a task could be divided.
func split(t *report.Task) string {
	s := t.Split
	if s == nil {
		return ""
	}
	name := s.Name
	if name == "" {
		name = "(none)"
	}
	switch {
	case s.Inside:
		return "inside " + name + ", which takes " + length(s.Self) + " itself"
	case s.Parts > 1:
		return "between the " + thousands(s.Parts) + " parts of " + name + ", the longest of which takes " + length(s.Longest)
	}
	return ""
}
