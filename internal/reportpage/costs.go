package reportpage

import (
	"fmt"
	"slices"
	"strings"

	costtables "github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

// costNames are the words for the types of contexts of which there are tables.
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

// costQuestion asks which of what there are tables of cost most.
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

// busyTracks returns what was busy in the trace: threads, or the tracks of a trace that has none, such as one of spans.
func (p *page) busyTracks(threads, tracks string) string {
	if p.all.Counts.Threads == 0 {
		return tracks
	}
	return threads
}

// costsOfThreads reports whether there are only costs of threads, which the table of busy times has as well.
func (p *page) costsOfThreads() bool {
	return len(p.all.Costs) == 1 && strings.HasPrefix(p.all.Costs[0].Type, costtables.TypeThread)
}

// costs writes the tables of costs.
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

// What costs less than a thousandth of the busy time is in one row at the end, but for the first rows.
const (
	smallCost = 1000
	leastRows = 5
)

// categoryParts adds up times by category in families.
func categoryParts(times []timeline.Nanos) []part {
	classes, names := []string{}, []string{}
	for k := range times {
		name := categoryName(k)
		classes, names = append(classes, familyOf(name)), append(names, name)
	}
	return byClass(classes, names, times)
}

// costCPU is the CPU time of a row, if all or most of its slices tell it.
func costCPU(r *costtables.Row) num {
	if r.WithoutCPU > r.Self/2 || r.Self == 0 {
		return "–"
	}
	return num(millis(r.CPU))
}

// costTable writes the table of a type.
func (p *page) costTable(t *costtables.Table) {
	name := costName(t.Type)
	p.p("<h3>%s</h3>\n", strings.ToUpper(name[:1])+name[1:])
	columns := []column{{title: strings.TrimSuffix(t.Type, " (derived)")}, {title: "kinds of work", bar: true}, {title: "self ms", number: true}, {title: "share", number: true},
		{title: "slices", number: true}}
	hasCPU := slices.ContainsFunc(t.Rows, func(r costtables.Row) bool { return r.CPU > 0 })
	if hasCPU {
		columns = append(columns, column{title: "CPU ms", number: true})
	}
	out := p.table("Costs of "+name, "", columns...)
	most, rest, none := timeline.Nanos(0), t.Busy, -1
	for i := range t.Rows {
		rest -= t.Rows[i].Self
		if t.Rows[i].None {
			none = i
			continue
		}
		most = max(most, t.Rows[i].Self)
	}
	row := func(r *costtables.Row, name string) {
		bar := markup("")
		if !r.None { // else all others would be short
			bar = p.bar(categoryParts(r.SelfByCategory[:]), most)
		}
		cells := []any{name, bar, num(millis(r.Self)), num(share(r.Self, t.Busy)), num(table.Thousands(r.Slices))}
		if hasCPU {
			cells = append(cells, costCPU(r))
		}
		if r.None {
			out.last(cells...)
		} else {
			out.row(span{}, cells...)
		}
	}
	more, shown := t.Omitted, 0
	for i := range t.Rows {
		r := &t.Rows[i]
		if i == none {
			continue
		}
		if r.Self == 0 && r.Slices == 0 || shown >= leastRows && r.Self < t.Busy/smallCost { // nobody asks for it
			rest += r.Self
			more++
			continue
		}
		shown++
		row(r, contextName(t, r))
	}
	if more > 0 {
		cells := []any{fmt.Sprintf("%s more", table.Thousands(more)), markup(""), num(millis(rest)), num(share(rest, t.Busy)), num("")}
		if hasCPU {
			cells = append(cells, num(""))
		}
		out.last(cells...)
	}
	if none >= 0 && t.Rows[none].Self > 0 {
		row(&t.Rows[none], "(unattributed)")
	}
	out.end("", false)
}

// contextName names a context; a page or frame of which no url is known by the begin of its id.
func contextName(t *costtables.Table, r *costtables.Row) string {
	typ := strings.TrimSuffix(t.Type, " (derived)")
	switch {
	case (typ == "Page" || typ == "Frame") && isID(r.Name):
		return "frame " + cut(r.Name, 9) + " (url not recorded)"
	case r.Name == "":
		return r.ID
	case r.Class != "" && !strings.Contains(r.Name, r.Class):
		return r.Name + " (" + r.Class + ")"
	}
	return r.Name
}

// typePrefix says what a context is whose name does not.
func typePrefix(typ string) string {
	if costNames[strings.TrimSuffix(typ, " (derived)")] != "" && typ != "Request" {
		return ""
	}
	return typ + " " // names of these do not show what they are of
}

// isID reports whether a name is one of the ids that Chrome gives frames: 32 hexadecimal digits.
func isID(name string) bool { return len(name) == 32 && strings.Trim(name, "0123456789ABCDEF") == "" }
