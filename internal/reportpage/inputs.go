package reportpage

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/timeline"
)

// Lengths from which on people notice that something answers late.
const (
	fastInput = 100 * millisecond
	slowInput = 200 * millisecond
)

// interactions returns the inputs that are more than movements of the pointer, the slowest first.
func interactions(list []report.Interaction) []report.Interaction {
	return slices.DeleteFunc(slices.Clone(list), func(in report.Interaction) bool { return isMove(in.Kind) })
}

// isMove tells inputs that come in rows by themselves.
func isMove(kind report.InputKind) bool {
	switch kind {
	case report.MoveInput, report.WheelInput, report.ScrollInput, report.DragInput, report.OtherInput:
		return true
	}
	return false
}

// inputs writes how fast inputs were answered.
func (p *page) inputs() {
	list := p.all.Inputs.List
	main := interactions(list)
	what := "interaction"
	if len(main) == 0 {
		main, what = list, "input"
	}
	p.p("<p class=lead>%s: half of them were answered within <b>%s</b>, 95 %% within <b>%s</b>, the slowest after <b>%s</b> (a %s at %s).", count(len(main), what),
		length(rank(main, 50)), length(rank(main, 95)), length(main[0].Latency), string(main[0].Kind), moment(main[0].Start-p.all.Start))
	if moves := len(list) - len(main); moves > 0 {
		p.p(" %s by moving, scrolling or dragging are grey.", count(moves, "input"))
	}
	p.p("</p>\n")
	p.dots(list)
	p.inputTable(main)
}

// rank returns the latency that so many percent of the inputs do not exceed; they are sorted, the slowest first.
func rank(list []report.Interaction, percent int) timeline.Nanos {
	n := (len(list)*percent + 99) / 100 // at least so many
	return list[len(list)-max(n, 1)].Latency
}

// Measures of the plot of inputs.
const (
	dotsHeight = 180
	dotsTop    = 10
)

// dots draws the inputs over time.
func (p *page) dots(list []report.Interaction) {
	shown := list[:min(len(list), p.limits.dots)]
	top := max(list[0].Latency, 250*millisecond)
	y := func(t timeline.Nanos) int { return dotsTop + dotsHeight - scaled(t, top, dotsHeight) }
	first, last := p.all.Start, p.all.End
	if u := p.all.Utilisation; u != nil {
		first, last = min(u.Start, list[0].Start), max(u.End, list[0].Start)
	}
	for i := range shown {
		first, last = min(first, shown[i].Start), max(last, shown[i].Start)
	}
	p.p("<figure class=plot>\n<svg class=inputs width=\"100%%\" height=%d role=img aria-labelledby=\"inputs-t inputs-d\"><title id=inputs-t>Inputs over time</title><desc id=inputs-d>A dot for each input: to the right when it happened, upwards how long the answer took.</desc>\n", dotsTop+dotsHeight+20)
	p.p("<rect class=bad y=%d width=\"100%%\" height=%d /><rect class=fair y=%d width=\"100%%\" height=%d />", dotsTop, y(slowInput)-dotsTop, y(slowInput), y(fastInput)-y(slowInput))
	p.p("<text class=tick x=4 y=%d>200 ms</text><text class=tick x=4 y=%d>100 ms</text>\n", y(slowInput)-3, y(fastInput)-3)
	p.grid(first-p.all.Start, last-first, dotsTop+dotsHeight)
	for i := len(shown) - 1; i >= 0; i-- { // the slowest on top
		in := &shown[i]
		class, r := "dot", 5
		if isMove(in.Kind) {
			class, r = "move", 3
		}
		p.p("<circle class=%s cx=\"%s\" cy=%d r=%d />", markup(class), percent(in.Start-first, last-first), y(in.Latency), r)
	}
	p.p("\n</svg>\n</figure>\n<ul class=legend><li><span class=\"key dot\"></span>click, key, tap</li><li><span class=\"key move\"></span>move, scroll, drag</li></ul>\n")
	if more := len(list) - len(shown); more > 0 {
		p.p("<p class=note>%s, all faster than %s, are not drawn.</p>\n", count(more, "more input"), length(shown[len(shown)-1].Latency))
	}
}

// inputTable writes the slowest inputs.
func (p *page) inputTable(list []report.Interaction) {
	t := p.table("The slowest inputs", "", column{title: "input"}, column{title: "at", number: true}, column{title: "latency", bar: true}, column{title: "latency ms", number: true},
		column{title: "delay ms", number: true}, column{title: "processing ms", number: true}, column{title: "presentation ms", number: true}, column{title: "verdict"}, column{title: "most of the work"})
	for i := range list[:min(len(list), report.AllRows)] {
		in := &list[i]
		known := func(t *timeline.Nanos) num {
			if t == nil {
				return "–"
			}
			return num(millis(*t))
		}
		t.row(at(in.Start, in.Latency), string(in.Kind)+" ("+in.Type+")", num(moment(in.Start-p.all.Start)),
			p.bar([]part{{class: verdictClass(in.Latency), time: in.Latency}}, list[0].Latency), num(millis(in.Latency)),
			known(in.Delay), known(in.Processing), known(in.Presentation), verdict(in), mostWork(in))
	}
	note := ""
	if more := len(list) - report.AllRows; more > 0 {
		note = count(more, "more input") + " were answered faster: weft report input lists them."
	}
	t.end(note, false)
}

func verdictClass(latency timeline.Nanos) string {
	switch {
	case latency > slowInput:
		return "slow"
	case latency > fastInput:
		return "middling"
	}
	return "fine"
}

// verdict says in words what the colour of a bar says.
func verdict(in *report.Interaction) string {
	switch {
	case in.Dropped:
		return "no answer was shown"
	case in.Latency > slowInput:
		return "slow: over 200 ms"
	case in.Latency > fastInput:
		return "noticed: over 100 ms"
	}
	return "fast"
}

// mostWork says what most of the work for an input was.
func mostWork(in *report.Interaction) string {
	if in.Work == nil || len(in.Work.Parts) == 0 {
		return ""
	}
	part := &in.Work.Parts[0]
	return strings.TrimSpace(cmp.Or(part.Name, "(none)") + ", " + length(part.Self))
}
