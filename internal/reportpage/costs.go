package reportpage

import (
	"slices"
	"strings"

	costtables "github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

// costNames maps types of contexts to plural names.
var costNames = map[string]string{
	"Page": "pages", "Script": "scripts", "Entity": "entities", "Tab": "tabs", "Thread": "threads", "Process": "processes", "Frame": "frames",
	"InputEvent": "input events", "Isolate": "isolates", "GraphicsFrame": "graphics frames", "Request": "requests",
}

func costName(typ string) string {
	if name := costNames[strings.TrimSuffix(typ, " (derived)")]; name != "" {
		return name
	}
	return "contexts of type " + typ
}

// costQuestion returns the question that the cost tables answer.
func (p *page) costQuestion() string {
	var names []string
	for _, t := range p.all.Costs {
		names = append(names, costName(t.Type))
	}
	switch n := len(names); n {
	case 0:
		return ""
	case 1:
		return "Which " + names[0] + " cost most?"
	default:
		return "Which " + strings.Join(names[:n-1], ", ") + " and " + names[n-1] + " cost most?"
	}
}

// busyTracks returns the word for the busy tracks: threads, or tracks if the trace has no threads, like traces of
// spans.
func (p *page) busyTracks(threads, tracks string) string {
	if p.all.Counts.Threads == 0 {
		return tracks
	}
	return threads
}

// costsOfThreads reports whether there are only costs of threads, which the table of busy times also shows.
func (p *page) costsOfThreads() bool {
	return len(p.all.Costs) == 1 && strings.HasPrefix(p.all.Costs[0].Type, costtables.TypeThread)
}

func (p *page) costs() {
	busy := p.all.Costs[0].Busy
	all := [len(costtables.ByCategory{})]timeline.Nanos{}
	for _, t := range p.all.Costs {
		for i := range t.Rows {
			for k, time := range t.Rows[i].SelfByCategory {
				all[k] += time
			}
		}
	}
	p.p("<p class=lead>%s were busy for %s, added up. Each moment counts once in each table: for the innermost slice, and for the context that it ran for.</p>\n", p.busyTracks("Threads", "Tracks"), length(busy))
	p.legend(categoryParts(all[:]))
	for _, t := range p.all.Costs {
		p.costTable(t)
	}
}

// categoryParts sums the times of categories by family.
func categoryParts(times []timeline.Nanos) []part {
	classes, names := []string{}, []string{}
	for k := range times {
		name := categoryName(k)
		classes, names = append(classes, familyOf(name)), append(names, name)
	}
	return byClass(classes, names, times)
}

// costTable writes the cost table of one type of context.
func (p *page) costTable(t *costtables.Table) {
	name := costName(t.Type)
	p.p("<h3>%s</h3>\n", strings.ToUpper(name[:1])+name[1:])
	last := *t
	last.Rows = slices.Clone(t.Rows)
	slices.SortStableFunc(last.Rows, func(a, b costtables.Row) int { return table.FalseFirst(a.None, b.None) })
	most := timeline.Nanos(0)
	for i := range t.Rows {
		if !t.Rows[i].None { // the row for no context would make all other bars short
			most = max(most, t.Rows[i].Self)
		}
	}
	p.show(report.CostTable(&last), look{
		title: "Costs of " + name, before: "self_ns", barTitle: "kinds of work", spare: 3, report: "cost --type all --limit 0",
		bar: func(i int) markup {
			if last.Rows[i].None {
				return ""
			}
			return p.bar(categoryParts(last.Rows[i].SelfByCategory[:]), most)
		},
	})
}
