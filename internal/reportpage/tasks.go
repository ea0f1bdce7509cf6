package reportpage

import (
	"fmt"

	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

// categoryName returns the name of a category of work by its number.
func categoryName(k int) string { return producers.Category(k).String() }

// tasks writes the long tasks.
func (p *page) tasks() {
	t := p.all.Tasks
	longest := &t.List[0]
	p.p("<p class=lead><b>%s</b> took %s or longer and blocked %s for <b>%s</b> beyond that; the longest took %s, on %s.%s %s</p>\n", table.Count(t.Count, "task"),
		length(t.Min), plural(t.Count, "its thread", "their threads"), length(t.Blocking), length(longest.Duration), longest.ThreadID.Title(), tasksOnCPU(t.Tasks.Tasks), p.showLink(p.on(longest.ThreadID, longest.Start, longest.Duration)))
	all := make([]timeline.Nanos, producers.CategoryCount)
	for i := range t.List {
		addWork(all, &t.List[i].Work)
	}
	p.legend(categoryParts(all))
	p.show(t.Table(t.List), look{
		title: "The longest tasks", before: "dur_ns", barTitle: "kinds of work", report: "tasks --limit 0",
		bar: func(i int) markup {
			times := make([]timeline.Nanos, producers.CategoryCount)
			addWork(times, &t.List[i].Work)
			return p.bar(categoryParts(times), longest.Duration)
		},
		at: func(i int) span { return p.on(t.List[i].ThreadID, t.List[i].Start, t.List[i].Duration) },
	})
}

// addWork adds the times of kinds of work to sums.
func addWork(to []timeline.Nanos, w *report.Work) {
	for _, c := range w.ByCategory {
		for k := range to {
			if name := categoryName(k); name == c.Category {
				to[k] += c.Time
			}
		}
	}
}

// tasksOnCPU states how long tasks were on a CPU; "" if that is unknown for all.
func tasksOnCPU(tasks []report.Task) string {
	cpu, of := timeline.Nanos(0), timeline.Nanos(0)
	for i := range tasks {
		if t := &tasks[i]; t.CPU != nil {
			cpu, of = cpu+*t.CPU, of+t.Duration
		}
	}
	if of == 0 {
		return ""
	}
	return fmt.Sprintf(" They were on a CPU for %s of %s, %s.", length(cpu), length(of), share(cpu, of))
}
