package reportpage

import (
	"strings"

	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/table"
)

// sliceTitles maps kinds of slices to titles.
var sliceTitles = map[report.SliceKind]string{
	report.Kernels: "Kernels of devices", report.Copies: "Copies and fills of device memory", report.Operators: "Operators", report.ThreadSlices: "Slices on threads",
	report.AsyncSlices:    "Asynchronous slices, which may overlap",
	report.RecorderSlices: "Slices that further inputs have of the same threads",
}

// slices writes the section about slices by name.
func (p *page) slices() {
	s := p.all.Slices
	p.p("<p class=lead>%s in %s.", table.Count(s.Slices.Slices, "slice"), length(s.End-s.Start))
	if s.Unfinished > 0 {
		p.p(" %s never end and take no time here.", table.Thousands(s.Unfinished))
	}
	p.p("</p>\n")
	p.devices()
	if len(s.Devices) > 0 {
		p.deviceTables()
	}
	if x := p.all.Probes; x != nil && len(x.Values) > 0 {
		p.sliceTable("Slices of probes, by their "+x.Argument, x.Values, x.Count)
	}
	if x := p.all.Probes; x != nil && len(x.Errors) > 0 {
		p.p("<h3>System calls that failed</h3>\n")
		p.show(x.ErrorsTable(p.all.Start), look{
			before: "count", barTitle: "count",
			at: func(i int) span { return p.on(x.Errors[i].On, x.Errors[i].First, 0) },
		})
	}
	for i := 0; i < len(s.Groups); {
		n := i
		for n < len(s.Groups) && s.Groups[n].Kind == s.Groups[i].Kind {
			n++
		}
		if title := sliceTitles[s.Groups[i].Kind]; title != "" {
			p.sliceTable(title, s.Groups[i:n], s.CountOf(s.Groups[i].Kind))
		}
		i = n
	}
}

// spans writes the section about spans of services or archive requests.
func (p *page) spans() {
	s := p.all.Spans
	what := "span"
	if s.Requests == s.Spans.Spans {
		what = "request"
	}
	p.p("<p class=lead>%s, of which <b>%s</b> failed.</p>\n", table.Count(s.Spans.Spans, what), table.Thousands(s.Errors))
	for _, t := range s.Tables() {
		if len(t.Rows) == 0 {
			continue
		}
		title := strings.ToUpper(t.Title[:1]) + t.Title[1:]
		p.p("<h3>%s</h3>\n", title)
		l := look{title: title, report: "spans --limit 0", spare: 4} // without trace ids
		switch t.Name {
		case "requests":
			l.at = func(i int) span { return onLine(p.all.Waterfall, s.Slowest[i].Start, s.Slowest[i].Length) }
		case "operations":
			p.operationSpreads(s.Operations)
			l.at = func(i int) span { return onLine(p.all.Waterfall, s.Operations[i].MaxAt, s.Operations[i].Max) }
		case "errors":
			l.at = func(i int) span { return onLine(p.all.Waterfall, s.Failures[i].First, 0) }
		}
		p.show(t, l)
	}
}

// operationSpreads draws histograms of the lengths of operations.
func (p *page) operationSpreads(list []report.Operation) {
	var spreads []spread
	for i := range list {
		o := &list[i]
		spreads = append(spreads, spread{o.Operation + " of " + o.Service, o.Spread, o.Count - o.Unfinished})
	}
	p.spreads(spreads)
}

// devices writes the utilisation of devices.
func (p *page) devices() {
	list := p.all.Slices.Devices
	if len(list) == 0 {
		return
	}
	p.p("<h3>Devices</h3>\n")
	p.show(p.all.Slices.DevicesTable(), look{
		title: "Devices", before: "busy_ns", barTitle: "busy",
		bar: func(i int) markup { return p.bar([]part{{class: "plain", time: list[i].Busy}}, list[i].Window) },
	})
}

// sliceTable writes the first groups of a kind; all is the number of all groups.
func (p *page) sliceTable(title string, groups []report.SliceGroup, all int) {
	p.p("<h3>%s</h3>\n", title)
	shown := *p.all.Slices.Slices
	shown.Groups = groups
	t := shown.GroupsTable(groups[0].Kind, "name")
	t.All = all
	var list []spread
	for i := range groups {
		list = append(list, spread{groups[i].Name, groups[i].Spread, groups[i].Count - groups[i].Unfinished})
	}
	if groups[0].Kind == report.Kernels || groups[0].Kind == report.ThreadSlices {
		p.spreads(list)
	}
	p.show(t, look{
		title: title, before: "self_ns", barTitle: "self", report: "slices --limit 0",
		at: func(i int) span {
			if groups[i].MaxAt == nil {
				return span{}
			}
			if on := groups[i].MaxOn; on != nil {
				return p.on(*on, *groups[i].MaxAt, groups[i].Max)
			}
			return at(*groups[i].MaxAt, groups[i].Max)
		},
	})
}
