package reportpage

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/verdict"
)

// Dimensions of the plot of threads, in pixels.
const (
	laneTop    = 30 // height of the axis and the pins
	laneName   = 17
	laneHeight = 30
	laneGap    = 12
	laneChars  = 28 // characters of the name of the page that a thread shows
)

// pin marks a moment in the timeline.
type pin struct {
	at    timeline.Nanos
	label string
	class string // "input", "load" or "issue"
}

// maxPins bounds the pins of each class.
const maxPins = 60

// chartData is the timeline for the script. Times of rows are in units of Unit nanoseconds.
type chartData struct {
	Begin  timeline.Nanos `json:"begin"` // of the trace, in nanoseconds
	Start  timeline.Nanos `json:"start"` // of the timeline, in nanoseconds after Begin
	Length timeline.Nanos `json:"length"`
	Unit   timeline.Nanos `json:"unit"`
	Step   timeline.Nanos `json:"step"` // of Short
	Kinds  []string       `json:"kinds"`
	Titles []string       `json:"titles"` // of Kinds
	Rows   []chartRow     `json:"rows"`
}

// chartRow is a thread. Differences keep its numbers short: a page may have 40,000 slices.
type chartRow struct {
	Name   string           `json:"name"`
	Depths int              `json:"depths"`
	Starts []timeline.Nanos `json:"s"` // since the start of the previous slice
	Ends   []timeline.Nanos `json:"d"` // since the start of the slice
	Names  []timeline.Nanos `json:"n"`
	Places []int            `json:"p"` // depth × number of kinds + kind
	CPU    []int            `json:"c"` // for slices with a known CPU time: distance from the previous one, percent
	Short  []int            `json:"b"` // distance in steps from the previous one, kind, thousandths of the step
}

// pins returns pins for inputs, milestones of loads, and issues.
func (p *page) pins() (pins []pin) {
	if in := p.all.Inputs; in != nil {
		list := interactions(in.List)
		for i := range list[:min(len(list), maxPins)] {
			pins = append(pins, pin{list[i].Start, verdict.InputName(list[i].Kind) + ", answered after " + length(list[i].Latency), "input"})
		}
	}
	for i, m := range p.all.Loads.Moments() {
		if i < maxPins {
			pins = append(pins, pin{m.At, m.Label + " of " + verdict.ShortURL(m.URL), "load"})
		}
	}
	for i := range p.verdict.Issues {
		if x := &p.verdict.Issues[i]; x.Show != nil {
			pins = append(pins, pin{x.Show.Start, x.Title.String(), "issue"})
		}
	}
	return pins
}

// rows returns the indexes of the threads in the order of the timeline: main threads of the reader's pages first, threads of
// the browser's own pages last, and otherwise busiest first.
func (p *page) rows() (order []int) {
	threads := p.all.Utilisation.Threads
	for i := range threads {
		order = append(order, i)
	}
	rank := func(t *report.ThreadUse) int {
		switch {
		case report.IsOwnPage(t.Shows):
			return 2
		case t.Shows != "" && (t.Thread == producers.ChromeRendererMain || t.Thread == producers.GeckoMain || t.TID == t.PID):
			return 0
		}
		return 1
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rank(&threads[a]), rank(&threads[b])) })
	return order
}

// rowOf returns the index of a thread in the Utilisation; −1 if the Utilisation does not contain the thread.
func (p *page) rowOf(id report.ThreadID) int {
	if p.all.Utilisation == nil {
		return -1
	}
	return slices.IndexFunc(p.all.Utilisation.Threads, func(t report.ThreadUse) bool { return t.ThreadID == id })
}

// on returns a span on a thread.
func (p *page) on(id report.ThreadID, from, dur timeline.Nanos) span {
	s := at(from, dur)
	if row := p.rowOf(id); row >= 0 {
		s.row = slices.Index(p.rows(), row) + 1
	}
	return s
}

// onLine returns a span with its line in a waterfall: the line of a span or request that starts at from, preferably one with the
// length dur. If none starts at from, it is the line of the shortest one that contains the interval.
func onLine(w *report.Waterfall, from, dur timeline.Nanos) span {
	s := at(from, dur)
	if w != nil {
		for i := range w.Spans {
			if x := &w.Spans[i]; x.Start == from && (s.line == 0 || x.Duration == dur || dur == 0 && x.Failed) {
				s.line = i + 1
			}
		}
		if s.line == 0 && dur > 0 {
			s.line = w.Around(from, dur) + 1
		}
	}
	return s
}

// showLink returns a link that selects a span in the timeline. Without scripts it is hidden.
func (p *page) showLink(s span) markup {
	return p.phrase("<a class=seek href=\"#t=%s\">Show</a>", markup(p.fragment(s)))
}

// fragment returns the fragment of the page's address that selects a span.
func (p *page) fragment(s span) string {
	seconds := func(t timeline.Nanos) string { return strconv.FormatFloat(float64(t)/1e9, 'f', -1, 64) + "s" }
	text := seconds(s.from-p.all.Start) + "+" + seconds(s.dur)
	if s.row > 0 {
		text += "&row=" + strconv.Itoa(s.row)
	}
	return text
}

// requestsFirst reports whether the waterfall of requests or spans comes before the timeline of threads.
func (p *page) requestsFirst() bool {
	return p.all.Utilisation == nil || p.all.Waterfall != nil && (p.verdict.Kind == verdict.Service || p.verdict.Kind == verdict.Archive)
}

// busyQuestion returns the question that the first section answers.
func (p *page) busyQuestion() string {
	if p.requestsFirst() {
		return "What was asked for, and when?"
	}
	return "When was it busy?"
}

// busy writes the timeline and the waterfall.
func (p *page) busy() {
	if p.requestsFirst() {
		p.waterfallLead(p.all.Waterfall)
		p.waterfall(p.all.Waterfall)
		if p.all.Utilisation == nil {
			return
		}
		p.p("<h3>Threads</h3>\n")
	}
	u := p.all.Utilisation
	p.screenshots()
	pins := p.pins()
	p.timelineLegend(pins)
	p.lanes(pins)
	if p.all.Chart != nil {
		p.chart()
	}
	length0, top := u.End-u.Start, &u.Threads[p.rows()[0]]
	p.p("<p class=lead><b>%s</b> was busy for %s, %s of the %s from the first to the last slice on a thread.", top.ThreadID.ThreadTitle(),
		length(top.Busy), share(top.Busy, length0), length(length0))
	if u.More > 0 {
		p.p(" %s worked too and %s not shown.", table.Plural(u.More, "other thread", "other threads"), plural(u.More, "is", "are"))
	}
	p.p("</p>\n")
	p.show(u.Table(), look{fold: "The numbers"})
	if p.all.Waterfall != nil && !p.requestsFirst() {
		p.p("<h3>Requests</h3>\n")
		p.waterfallLead(p.all.Waterfall)
		p.waterfall(p.all.Waterfall)
	}
}

// screenshots shows what the page looked like over time.
func (p *page) screenshots() {
	if len(p.all.Screenshots) == 0 {
		return
	}
	p.p("<ol class=shots aria-label=\"What the page looked like\">\n")
	for i := range p.all.Screenshots {
		s := &p.all.Screenshots[i]
		when := p.moment(s.At - p.all.Start)
		p.p("<li><img alt=\"The page at %s\" src=\"data:image/jpeg;base64,%s\"><small>%s</small></li>\n", when, markup(base64.StdEncoding.EncodeToString(s.Image)), when)
	}
	p.p("</ol>\n")
}

// timelineLegend explains colours and marks.
func (p *page) timelineLegend(pins []pin) {
	u := p.all.Utilisation
	all := make([]timeline.Nanos, len(u.Kinds))
	for i := range u.Threads {
		for k, t := range u.Threads[i].ByKind {
			all[k] += t
		}
	}
	parts := byClass(p.kinds, u.Kinds, all)
	if p.all.Chart != nil && slices.ContainsFunc(p.all.Chart.Names, isFailed) {
		parts = append(parts, part{"failed", "failed", 1})
	}
	if p.all.Tasks != nil {
		parts = append(parts, part{"long", "task of 50 ms or longer", 1})
	}
	for _, class := range []string{"input", "load", "issue"} {
		if slices.ContainsFunc(pins, func(x pin) bool { return x.class == class }) {
			parts = append(parts, part{"pin " + class, map[string]string{"input": "input", "load": "milestone of a page", "issue": "issue"}[class], 1})
		}
	}
	p.legend(parts)
}

// lanes draws the utilisation of threads over time. The script makes the strip of the timeline from this drawing.
func (p *page) lanes(pins []pin) {
	u := p.all.Utilisation
	height := laneTop + len(u.Threads)*(laneName+laneHeight+laneGap)
	p.p("<figure class=\"plot lanes\">\n<svg class=busy width=\"100%%\" height=%d role=img aria-labelledby=\"busy-t busy-d\"><title id=busy-t>Busy time of threads</title><desc id=busy-d>A row for each of %s; the height of the coloured area is the share of each %s in which the thread worked.</desc>\n",
		height, table.Count(len(u.Threads), "thread"), length(u.Step))
	p.p("%s<g class=axis>\n", hatch)
	p.grid(u.Start-p.all.Start, u.End-u.Start, laneTop-16, height)
	p.p("</g>\n")
	for _, pin := range pins {
		if pin.at >= u.Start && pin.at <= u.End {
			p.p("<svg class=\"pin %s\" x=\"%s\" y=19 width=10 height=10><title>%s: %s</title><path d=\"M0 0l5 5l-5 5l-5-5z\"/></svg>\n", markup(pin.class), percent(pin.at-u.Start, u.End-u.Start),
				p.moment(pin.at-p.all.Start), pin.label)
		}
	}
	for n, i := range p.rows() {
		p.lane(&u.Threads[i], laneTop+n*(laneName+laneHeight+laneGap))
	}
	p.p("</svg>\n</figure>\n")
}

// hatch is the pattern for garbage collection, so that it is distinguished by more than its colour.
const hatch markup = "<defs><pattern id=hatch width=4 height=4 patternUnits=userSpaceOnUse patternTransform=\"rotate(45)\"><rect class=gc width=4 height=4 /><rect class=gap width=1.2 height=4 /></pattern></defs>"

// ticks returns times for an axis that starts at start, no more than the parameter most allows: multiples of 1, 2 or 5 times a
// power of ten.
func ticks(start, length timeline.Nanos, most int) (times []timeline.Nanos, step timeline.Nanos) {
	step = 1
	for i := 0; length/step >= timeline.Nanos(most) && step < math.MaxInt64/5; i++ {
		step = [3]timeline.Nanos{step * 2, step / 2 * 5, step * 2}[i%3]
	}
	first := start
	if rest := start % step; rest != 0 {
		first += step - rest
	}
	for t := first; t >= start && t-start <= length; t += step {
		times = append(times, t)
	}
	return times, step
}

// tick formats a time of an axis with the digits that its steps need.
func (p *page) tick(t, step timeline.Nanos) string {
	unit, name := second, " s"
	if p.all.End-p.all.Start < second {
		unit, name = millisecond, " ms"
	}
	digits := 0
	for ; step < unit && step > 0; step *= 10 {
		digits++
	}
	return table.Separated(strconv.FormatFloat(float64(t)/float64(unit), 'f', digits, 64)) + name
}

// grid draws the lines of an axis from y=top to bottom, with their times above them, or below them if top is 0.
func (p *page) grid(start, length timeline.Nanos, top, bottom int) {
	text := top - 3
	if top == 0 {
		text = bottom + 14
	}
	times, step := ticks(start, length, 6)
	for _, t := range times {
		x, anchor := percent(t-start, length), markup("middle")
		switch {
		case t-start < length/20:
			anchor = "start"
		case t-start > length-length/20:
			anchor = "end"
		}
		p.p("<line class=grid x1=\"%s\" x2=\"%s\" y1=%d y2=%d /><text class=tick x=\"%s\" y=%d text-anchor=%s>%s</text>\n", x, x, top, bottom, x, text, anchor, p.tick(t, step))
	}
}

// gridLines draws the lines of a grid without their times.
func (p *page) gridLines(start, length timeline.Nanos, bottom int) {
	times, _ := ticks(start, length, 6)
	for _, t := range times {
		x := percent(t-start, length)
		p.p("<line class=grid x1=\"%s\" x2=\"%s\" y2=%d />\n", x, x, bottom)
	}
}

func (p *page) lane(t *report.ThreadUse, y int) {
	u := p.all.Utilisation
	p.p("<svg class=lane y=%d width=\"100%%\" height=%d><svg class=names width=\"100%%\" height=%d><text x=0 y=12>%s</text></svg><text x=\"100%%\" y=12 text-anchor=end>%s</text>\n", y, laneName+laneHeight, laneName, p.laneTitle(t),
		share(t.Busy, u.End-u.Start))
	p.p("<svg class=area y=%d height=%d width=\"100%%\" viewBox=\"0 0 %d %d\" preserveAspectRatio=none><rect class=ground width=%d height=%d />", laneName, laneHeight,
		len(t.Steps[0]), laneHeight, len(t.Steps[0]), laneHeight)
	for _, area := range p.areas(t) {
		p.p("<path class=%s d=\"%s\"/>", markup(area.class), markup(area.path))
	}
	p.p("</svg>\n")
	p.longMarks(t, laneName-3)
	p.p("</svg>\n")
}

// laneTitle names a thread: first the page that it shows, otherwise its name; then, after two spaces, the rest.
func (p *page) laneTitle(t *report.ThreadUse) string {
	name := t.ThreadID.ThreadTitle()
	if t.Shows != "" {
		return middle(p.clean(verdict.ShortURL(t.Shows)), laneChars) + "  " + name
	}
	if process := t.ThreadID.ProcessTitle(); process != "" && process != name {
		return name + "  " + process
	}
	return name
}

// chart writes the data and the elements of the interactive timeline.
func (p *page) chart() {
	u := p.all.Utilisation
	c := u.ChartOf(p.all.Chart, p.limits.slices)
	d := &chartData{Begin: p.all.Start, Start: u.Start - p.all.Start, Length: u.End - u.Start, Unit: 1, Step: c.Step}
	for d.Unit*200 <= c.Least {
		d.Unit *= 10
	}
	kinds := make([]int, len(u.Kinds)) // index in d.Kinds
	for i, class := range p.kinds {
		kinds[i] = slices.Index(d.Kinds, class)
		if kinds[i] < 0 {
			kinds[i] = len(d.Kinds)
			d.Kinds, d.Titles = append(d.Kinds, class), append(d.Titles, p.clean(familyName(class, u.Kinds[i])))
		}
	}
	kinds = append(kinds, len(d.Kinds))
	d.Kinds, d.Titles = append(d.Kinds, "waits", "failed"), append(d.Titles, "waiting", "failed")
	for _, i := range p.rows() {
		row := p.chartRow(&c.Rows[i], c, d.Unit, kinds, len(d.Kinds))
		row.Name = p.clean(p.laneTitle(&u.Threads[i]))
		d.Rows = append(d.Rows, row)
	}
	p.data.Chart = d
	p.p(`<div id=chart hidden>
<div class="plot strip" id=strip></div>
<div class=controls><span><button type=button id=zoom-in aria-label="Zoom in" title="Zoom in (+)">+</button> <button type=button id=zoom-out aria-label="Zoom out" title="Zoom out (−)">−</button> <button type=button id=zoom-all title="Show all (Esc)">All</button> <button type=button id=deeper aria-pressed=false hidden>Deeper</button></span> <b id=range aria-live=polite></b> <span class=note>Drag in the strip to select. ← → + − Esc</span></div>
<div class=split><div class=flames id=flames tabindex=0 role=application aria-label="Timeline: left and right move, plus and minus zoom, Escape shows all"><canvas id=canvas></canvas></div>
<div class=inside><div id=by-kind></div><div class=scroll tabindex=0 role=region aria-label="What is in the selection"><table class=tight><caption>What is in the selection</caption><thead><tr><th scope=col>in the selection</th><th scope=col class=n>time</th><th scope=col class=n>count</th></tr></thead><tbody id=inside></tbody></table></div></div></div>
</div>
`)
}

// isFailed reports whether a slice is a failed span.
func isFailed(name string) bool { return strings.HasPrefix(name, timeline.FailedMark) }

// chartRow returns a thread for the script.
func (p *page) chartRow(row *report.ChartRow, c *report.Chart, unit timeline.Nanos, kinds []int, count int) chartRow {
	start := p.all.Utilisation.Start
	out := chartRow{Depths: row.Depths, Starts: []timeline.Nanos{}, Ends: []timeline.Nanos{}, Names: []timeline.Nanos{}, Places: []int{}, CPU: []int{}, Short: []int{}}
	before, lastWithCPU := timeline.Nanos(0), 0
	for i := range row.Slices {
		s := &row.Slices[i]
		from := (s.Start - start) / unit
		out.Starts = append(out.Starts, from-before)
		out.Ends = append(out.Ends, (s.Start-start+s.Duration)/unit-from)
		out.Names = append(out.Names, p.data.intern(0, &p.data.Names, p.clean(c.Names[s.Name])))
		kind := kinds[s.Kind]
		if isFailed(c.Names[s.Name]) {
			kind = count - 1
		}
		out.Places = append(out.Places, s.Depth*count+kind)
		if s.CPU >= 0 && s.Depth == 0 {
			out.CPU = append(out.CPU, i-lastWithCPU, scaled(s.CPU, s.Duration, 100))
			lastWithCPU = i
		}
		before = from
	}
	step := 0
	for _, s := range row.Short {
		if n := permille(s.Time, c.Step); n > 0 {
			out.Short = append(out.Short, s.Step-step, kinds[s.Kind], n)
			step = s.Step
		}
	}
	return out
}

// area is the shape that a class fills.
type area struct{ class, path string }

// areas returns the areas of a thread, stacked by class.
func (p *page) areas(t *report.ThreadUse) (areas []area) {
	u := p.all.Utilisation
	parts := byClass(p.kinds, u.Kinds, t.ByKind)
	below := make([]timeline.Nanos, len(t.Steps[0]))
	for _, part := range parts {
		if part.time == 0 {
			continue
		}
		tops := make([]int, len(below))
		bottoms := make([]int, len(below))
		for step := range below {
			bottoms[step] = scaled(below[step], u.Step, laneHeight)
			for k, class := range p.kinds {
				if class == part.class {
					below[step] += t.Steps[k][step]
				}
			}
			tops[step] = scaled(below[step], u.Step, laneHeight)
		}
		if path := steps(bottoms, tops); path != "" {
			areas = append(areas, area{part.class, path})
		}
	}
	return areas
}

// steps returns the path of rectangles between two heights. It joins equal neighbours.
func steps(bottoms, tops []int) string {
	var b strings.Builder
	for i := 0; i < len(tops); {
		n := i + 1
		for n < len(tops) && tops[n] == tops[i] && bottoms[n] == bottoms[i] {
			n++
		}
		if h := tops[i] - bottoms[i]; h > 0 {
			fmt.Fprintf(&b, "M%d %dh%dv-%dh-%dz", i, laneHeight-bottoms[i], n-i, h, n-i)
		}
		i = n
	}
	return b.String()
}

// longMarks draws a red line above a thread for each of its long tasks.
func (p *page) longMarks(t *report.ThreadUse, y int) {
	u := p.all.Utilisation
	if p.all.Tasks == nil {
		return
	}
	marks := make([]bool, 1000)
	for i := range p.all.Tasks.Tasks.Tasks {
		task := &p.all.Tasks.Tasks.Tasks[i]
		if task.ThreadID != t.ThreadID {
			continue
		}
		from := permille(task.Start-u.Start, u.End-u.Start)
		to := permille(task.Start-u.Start+task.Duration, u.End-u.Start)
		for k := from; k <= to && k < len(marks); k++ {
			marks[k] = true
		}
	}
	var b strings.Builder
	for i := 0; i < len(marks); i++ {
		n := i
		for n < len(marks) && marks[n] {
			n++
		}
		if n > i {
			fmt.Fprintf(&b, "M%d 0h%dv2h-%dz", i, n-i, n-i)
			i = n
		}
	}
	if b.Len() > 0 {
		p.p("<svg class=marks y=%d height=2 width=\"100%%\" viewBox=\"0 0 1000 2\" preserveAspectRatio=none><path class=long d=\"%s\"/></svg>\n", y, markup(b.String()))
	}
}
