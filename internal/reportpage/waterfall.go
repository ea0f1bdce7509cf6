package reportpage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

// Dimensions of waterfalls, in pixels and percent.
const (
	spanHeight  = 20
	spanAxis    = 36 // height, with a line for milestones
	spanNames   = 34 // percent of the width, for names
	spanIndent  = 12
	spanDepth   = 12 // indented levels
	spanName    = 46 // characters of a name
	maxServices = 6  // with a colour of their own

	spansTogether = 12 // number of spans that printing keeps on one page
)

// failed counts the failed spans of a waterfall.
func failed(w *report.Waterfall) (n int) {
	for i := range w.Spans {
		if w.Spans[i].Failed {
			n++
		}
	}
	return n
}

// waterfallLead counts the spans of a waterfall.
func (p *page) waterfallLead(w *report.Waterfall) {
	p.p("<p class=lead>%s in %s", spanWord(w), length(w.End-w.Start))
	if failed := failed(w); failed > 0 {
		p.p("; <b>%s</b>", table.Thousands(failed)+" of these failed")
	}
	p.p(".</p>\n")
}

// waterfall draws spans and requests one below the other, each at its time.
func (p *page) waterfall(w *report.Waterfall) {
	what := spanWord(w)
	if w.More > 0 {
		p.p("<p class=note>%s: failures and the longest come first here. The tables count all.</p>\n", table.Plural(w.More, "other is not drawn", "others are not drawn"))
	}
	l := p.waterfallLayout(w)
	if l.relative {
		p.p("<p class=note>Each trace is drawn from its own start.</p>\n")
	}
	p.p("<div class=waterfall>\n<div class=controls hidden><label>Search <input type=search autocomplete=off spellcheck=false></label> <output></output></div>\n")
	p.serviceLegend(l.classes, failed(w) > 0)
	p.p("<div class=\"scroll plot tall\" tabindex=0 role=region aria-label=\"%s over time\">", what)
	for from := 0; from < len(w.Spans); from += spansTogether {
		p.waterfallPart(l, what, from, min(from+spansTogether, len(w.Spans)))
	}
	p.p("</div>\n</div>\n")
}

// waterfallPart draws the spans in [from, to). The first part has the axis. Printing does not divide a part.
func (p *page) waterfallPart(l *waterfallLayout, what string, from, to int) {
	y := 0
	if from == 0 {
		y = spanAxis
	}
	height := y
	for i := from; i < to; i++ {
		height += l.lines(i) * spanHeight
	}
	p.p("<svg width=\"100%%\" height=%d role=img aria-label=\"%s %d to %d: to the right when each ran, below each other by start\">\n", height, what, from+1, to)
	p.p("<svg x=\"%d%%\" width=\"%d%%\" height=%d>\n", spanNames, 100-spanNames-1, height)
	start := timeline.Nanos(0)
	if !l.relative {
		start = l.starts[0] - p.all.Start
	}
	if from == 0 {
		p.grid(start, l.length, spanAxis-20, height)
	} else {
		p.gridLines(start, l.length, height)
	}
	if !l.relative {
		p.milestoneLines(l.starts[0], l.length, y, height)
	}
	p.p("</svg>\n")
	for i := from; i < to; i++ {
		p.span(l, i, y)
		y += l.lines(i) * spanHeight
	}
	p.p("</svg>\n")
}

// waterfallLayout is the geometry of a waterfall.
type waterfallLayout struct {
	spans    []report.WaterfallSpan
	starts   []timeline.Nanos // by span: the time at the left end of the axis
	length   timeline.Nanos   // of the axis
	relative bool             // each trace has its own start, because traces would be too small on one axis
	classes  map[string]string
}

// waterfallLayout chooses the geometry.
func (p *page) waterfallLayout(w *report.Waterfall) *waterfallLayout {
	l := &waterfallLayout{spans: w.Spans, starts: make([]timeline.Nanos, len(w.Spans)), classes: services(w)}
	top := timeline.Nanos(0)
	for i := range w.Spans {
		s := &w.Spans[i]
		if s.Depth == 0 {
			top = s.Start
		}
		l.starts[i] = top
		l.length = max(l.length, s.Start+s.Duration-top)
	}
	start, end := w.Start, w.End
	for _, m := range p.all.Loads.Moments() {
		if m.Archive {
			start, end = min(start, m.At), max(end, m.At)
		}
	}
	if l.relative = w.Traces > 1 && l.length < (end-start)/4; l.relative {
		l.length += l.length / 7 // room for the length beside the longest span
		return l
	}
	if start-p.all.Start < (end-start)/4 {
		start = p.all.Start
	}
	for i := range l.starts {
		l.starts[i] = start
	}
	l.length = (end - start) / 7 * 8
	return l
}

// place returns the start and end of a span on the axis.
func (l *waterfallLayout) place(i int) (from, to timeline.Nanos) {
	from = max(l.spans[i].Start-l.starts[i], 0)
	return from, max(l.spans[i].Start+l.spans[i].Duration-l.starts[i], from)
}

// lines returns the number of lines of a span. An error message that does not fit beside the span gets its own line.
func (l *waterfallLayout) lines(i int) int {
	if from, to := l.place(i); l.spans[i].Failed && l.spans[i].Message != "" && from < l.length/2 && to > l.length/2 {
		return 2
	}
	return 1
}

// spanWord returns the number of spans and requests in words.
func spanWord(w *report.Waterfall) string {
	n, requests := len(w.Spans), 0
	for i := range w.Spans {
		if w.Spans[i].Request {
			requests++
		}
	}
	switch requests {
	case 0:
		return table.Count(n, "span") + " of " + table.Count(w.Traces, "trace")
	case n:
		return table.Count(n, "request")
	}
	return table.Count(n, "request") + " and spans"
}

// services returns the classes of services and hosts. Those with the most spans get a colour of their own.
func services(w *report.Waterfall) map[string]string {
	counts, order := map[string]int{}, []string{}
	for i := range w.Spans {
		name := w.Spans[i].Service
		if counts[name]++; counts[name] == 1 {
			order = append(order, name)
		}
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	classes := map[string]string{}
	for i, name := range order {
		if classes[name] = "other"; i < maxServices {
			classes[name] = numbered(i)
		}
	}
	return classes
}

// serviceLegend explains the colours of services.
func (p *page) serviceLegend(classes map[string]string, failed bool) {
	var parts []part
	others := 0
	for _, name := range slices.Sorted(mapKeys(classes)) {
		if classes[name] == "other" {
			others++
		} else {
			parts = append(parts, part{classes[name], name, 1})
		}
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(a.class, b.class) })
	if others > 0 {
		parts = append(parts, part{"other", table.Count(others, "other"), 1})
	}
	if failed {
		parts = append(parts, part{"failed", "✕ failed", 1})
	}
	p.legend(parts)
}

// milestoneLines draws the milestones of loads, with labels above y if y is not 0.
func (p *page) milestoneLines(start, length timeline.Nanos, y, height int) {
	for _, m := range p.all.Loads.Moments() {
		if !m.Archive {
			continue
		}
		x, anchor, class, dx := percent(m.At-start, length), markup("end"), markup("milestone"), -4
		if m.Label == "load" {
			class, anchor, dx = "milestone loaded", "start", 4
		}
		p.p("<line class=\"%s\" x1=\"%s\" x2=\"%s\" y1=%d y2=%d />\n", class, x, x, max(y-14, 0), height)
		if y > 0 {
			p.p("<text class=tick x=\"%s\" dx=%d y=%d text-anchor=%s>%s</text>\n", x, dx, y-4, anchor, m.Label+" "+p.moment(m.At-p.all.Start))
		}
	}
}

func (p *page) span(l *waterfallLayout, i, y int) {
	s, lines, mark, class := &l.spans[i], l.lines(i), "", l.classes[l.spans[i].Service]
	if s.Failed {
		class, mark = "failed", "✕ "
	}
	depth := min(s.Depth, spanDepth)
	p.p("<g class=span><title>%s</title><svg class=what y=%d width=\"%d%%\" height=%d><text x=%d y=14>%s", p.spanTitle(s), y, spanNames-1, spanHeight, depth*spanIndent, mark+middle(p.clean(s.Name), spanName-2*depth))
	if !s.Request {
		p.p(" <tspan class=soft>%s</tspan>", s.Service)
	}
	from, to := l.place(i)
	p.p("</text></svg><svg x=\"%d%%\" y=%d width=\"%d%%\" height=%d><rect class=%s x=\"%s\" width=\"%s\" y=4 height=12 />", spanNames, y, 100-spanNames-1, lines*spanHeight, markup(class), percent(from, l.length),
		percent(max(to-from, l.length/400), l.length))
	x, dx, anchor := percent(to, l.length), 5, markup("start")
	if s.Failed && from > l.length/2 || to > l.length/10*9 && from > l.length/8 {
		x, dx, anchor = percent(from, l.length), -5, "end"
	}
	why := ""
	if lines == 1 {
		why = cut(s.Message, 60)
	}
	switch {
	case to > l.length/10*9 && anchor == "start": // no room
	case why == "":
		p.p("<text class=tick x=\"%s\" dx=%d y=14 text-anchor=%s>%s</text>", x, dx, anchor, length(s.Duration))
	default:
		p.p("<text class=reason x=\"%s\" dx=%d y=14 text-anchor=%s>%s · %s</text>", x, dx, anchor, length(s.Duration), why)
	}
	if lines > 1 {
		p.p("<text class=reason x=\"%s\" y=%d>%s</text>", percent(from, l.length), spanHeight+13, s.Message)
	}
	p.p("</svg></g>\n")
}

// spanTitle returns the tooltip of a span.
func (p *page) spanTitle(s *report.WaterfallSpan) string {
	text := fmt.Sprintf("%s\n%s: %s at %s", s.Name, s.Service, length(s.Duration), p.moment(s.Start-p.all.Start))
	var phases []string
	for _, phase := range s.Phases {
		phases = append(phases, phase.Name+" "+length(phase.Duration))
	}
	if len(phases) > 0 {
		text += "\n" + strings.Join(phases, ", ")
	}
	if s.Failed {
		text += "\nfailed: " + cmp.Or(s.Message, "no reason given")
	}
	return text
}

// middle shortens a text to n characters by removing its middle, because the ends of paths matter most.
func middle(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return string(runes[:n/3]) + "…" + string(runes[len(runes)-(n-n/3-1):])
}
