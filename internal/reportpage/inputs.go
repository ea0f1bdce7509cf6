package reportpage

import (
	"slices"

	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/verdict"
)

// interactions returns the inputs that weft report input shows, slowest first: all except pointer movements.
func interactions(list []report.Interaction) []report.Interaction {
	return slices.DeleteFunc(slices.Clone(list), func(in report.Interaction) bool { return !in.Kind.Usual() })
}

// inputs writes the section about the latency of inputs.
func (p *page) inputs() {
	list := p.all.Inputs.List
	main := interactions(list)
	what := "interaction"
	if len(main) == 0 {
		main, what = list, "input"
	}
	p.p("<p class=lead>%s: ", table.Count(len(main), what))
	if len(main) >= table.Enough {
		p.p("half of them were answered within <b>%s</b>, 95 %% within <b>%s</b>, the slowest", length(rank(main, 50)), length(rank(main, 95)))
	} else {
		p.p("the slowest was answered")
	}
	p.p(" after <b>%s</b> (%s at %s).", length(main[0].Latency), verdict.InputName(main[0].Kind), p.moment(main[0].Start-p.all.Start))
	if moves := len(list) - len(main); moves > 0 {
		p.p(" %s by moving the pointer are grey.", table.Count(moves, "input"))
	}
	p.p("</p>\n")
	p.dots(list)
	p.spreads([]spread{{what + "s by latency", latencies(main), int64(len(main))}})
	p.inputTable(main)
}

// latencies counts inputs by latency. list is sorted, slowest first.
func latencies(list []report.Interaction) (h report.Histogram) {
	for i := range list {
		h.Add(list[len(list)-1-i].Latency)
	}
	return h
}

// rank returns a percentile of the latencies. list is sorted, slowest first.
func rank(list []report.Interaction, percent int) timeline.Nanos {
	n := (len(list)*percent + 99) / 100 // rounded up
	return list[len(list)-max(n, 1)].Latency
}

// Dimensions of the input plot.
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
	p.p("<rect class=bad y=%d width=\"100%%\" height=%d /><rect class=fair y=%d width=\"100%%\" height=%d />", dotsTop, y(report.SlowInput)-dotsTop, y(report.SlowInput), y(report.FastInput)-y(report.SlowInput))
	p.p("<text class=tick x=4 y=%d>200 ms</text><text class=tick x=4 y=%d>100 ms</text>\n", y(report.SlowInput)-3, y(report.FastInput)-3)
	p.grid(first-p.all.Start, last-first, 0, dotsTop+dotsHeight)
	for i := len(shown) - 1; i >= 0; i-- { // the slowest on top
		in := &shown[i]
		class, r := "dot", 5
		if !in.Kind.Usual() {
			class, r = "move", 3
		}
		p.p("<circle class=%s cx=\"%s\" cy=%d r=%d />", markup(class), percent(in.Start-first, last-first), y(in.Latency), r)
	}
	p.p("\n</svg>\n</figure>\n<ul class=legend><li><span class=\"key dot\"></span>click, key, tap, wheel, scroll, drag</li><li><span class=\"key move\"></span>move</li></ul>\n")
	if more := len(list) - len(shown); more > 0 {
		p.p("<p class=note>%s, all faster than %s, are not drawn.</p>\n", table.Count(more, "more input"), length(shown[len(shown)-1].Latency))
	}
}

// inputTable writes the slowest inputs.
func (p *page) inputTable(list []report.Interaction) {
	p.legend([]part{{"other", "delay", 1}, {"script", "processing", 1}, {"painting", "presentation", 1}, {"plain", "not known", unknownPhases(list)}})
	shown := list[:min(len(list), report.AllRows)]
	note := "Slow: more than 200 ms; people notice more than 100 ms."
	p.show(p.all.Inputs.Table(shown), look{
		title: "The slowest inputs", before: "latency_ns", barTitle: "latency", note: note, report: "input --limit 0",
		bar: func(i int) markup { return p.bar(phases(&shown[i]), list[0].Latency) },
		at:  func(i int) span { return at(shown[i].Start, shown[i].Latency) },
	})
}

// phases returns the known parts of a latency.
func phases(in *report.Interaction) []part {
	if in.Delay == nil || in.Processing == nil {
		return []part{{class: "plain", time: in.Latency}}
	}
	return []part{{class: "other", time: *in.Delay}, {class: "script", time: *in.Processing}, {class: "painting", time: in.Latency - *in.Delay - *in.Processing}}
}

// unknownPhases returns 1, which adds an entry to the legend, if the phases of some inputs are unknown; otherwise 0.
func unknownPhases(list []report.Interaction) timeline.Nanos {
	for i := range list {
		if list[i].Delay == nil {
			return 1
		}
	}
	return 0
}
