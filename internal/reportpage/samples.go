package reportpage

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

func forcedCount(f *report.LayoutThrashing) (n int64) {
	for i := range f.Threads {
		n += f.Threads[i].Count
	}
	return n
}

// layout writes which script forces style and layout.
func (p *page) layout() {
	var forced, unforced report.ForcedTime
	thrashing := 0
	for i := range p.all.Forced.Threads {
		t := &p.all.Forced.Threads[i]
		addForced(&forced, &t.ForcedTime)
		addForced(&unforced, &t.Unforced)
		thrashing += t.Thrashing
	}
	p.p("<p class=lead>Script forced style %s and layout %s, for <b>%s</b> in all; the browser took %s for style and layout that nobody forced.", times(forced.StyleCount), times(forced.LayoutCount),
		length(forced.Total), length(unforced.Total))
	if thrashing > 0 {
		p.p(" <b>%s</b> did so again and again: twice or more in one task, or for 30 ms.", table.Plural(thrashing, "call stack", "call stacks"))
	}
	p.p("</p>\n")
	p.legend([]part{{"rendering", "style", forced.Style}, {"layout", "layout", forced.Layout}})
	out := p.table("Call stacks that force style and layout", "", column{title: "function"}, column{title: "style and layout", bar: true}, column{title: "ms", number: true}, column{title: "styles", number: true},
		column{title: "layouts", number: true}, column{title: "worst run ms", number: true}, column{title: "verdict"}, column{title: "called by"})
	type row struct {
		*report.StackForced
		thread *report.ThreadForced
	}
	var rows []row
	for i := range p.all.Forced.Threads {
		t := &p.all.Forced.Threads[i]
		for k := range t.ByStack {
			rows = append(rows, row{&t.ByStack[k], t})
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return int(max(min(b.Total-a.Total, 1), -1)) })
	rest := len(rows) - min(len(rows), report.AllRows)
	rows = rows[:len(rows)-rest]
	for _, r := range rows {
		innermost := report.Frame{Function: "(unknown)"}
		if n := len(r.Frames); n > 0 {
			innermost = r.Frames[n-1]
		}
		parts := []part{{"rendering", "", r.Style}, {"layout", "", r.Layout}}
		says := ""
		if r.Thrashing {
			says = fmt.Sprintf("thrashing, %d×", r.MaxEpisodesPerRun)
			if r.MaxEpisodesPerRun < 2 {
				says = "thrashing, 30 ms"
			}
		}
		out.row(span{}, p.stacked(innermost.Function, innermost.Location()), p.bar(parts, rows[0].Total), num(millis(r.Total)), num(table.Thousands(r.StyleCount)), num(table.Thousands(r.LayoutCount)),
			num(millis(r.MaxPerRun)), says, callers(r.Frames))
	}
	note := ""
	if rest > 0 {
		note = table.Plural(rest, "more call stack", "more call stacks") + ": weft report layout-thrashing lists them."
	}
	out.end(note, false)
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return table.Thousands(n) + " times"
}

func addForced(to, f *report.ForcedTime) {
	to.Count += f.Count
	to.StyleCount += f.StyleCount
	to.LayoutCount += f.LayoutCount
	to.Style += f.Style
	to.Layout += f.Layout
	to.Total += f.Total
}

// callers names the functions that called the innermost one, the nearest first.
func callers(frames []report.Frame) string {
	var names []string
	for i := len(frames) - 2; i >= 0 && len(names) < 4; i-- {
		names = append(names, frames[i].Function)
	}
	if len(frames) > 5 {
		names = append(names, "…")
	}
	return strings.Join(names, " ← ")
}

// gc writes what the collector interrupted.
func (p *page) gc() {
	var covered, time timeline.Nanos
	long, explained := 0, 0
	for i := range p.all.GC.Threads {
		t := &p.all.GC.Threads[i]
		covered += t.Covered
		time += t.Time
		long += t.LongRuns
		explained += t.Explained
	}
	if bySlices, of := p.gcTime(); bySlices > 0 && of.slices {
		p.p("<p class=lead>The collector ran for <b>%s</b> on the threads above. Samples saw %s of it, and what it interrupted.", length(bySlices), length(time))
	} else {
		p.p("<p class=lead>By samples the collector ran for <b>%s</b>, %s of the sampled time.", length(time), share(time, covered))
	}
	if long > 0 {
		p.p(" Of %s of 50 ms and more, %s would have been shorter than that without it.", table.Plural(long, "busy run", "busy runs"), table.Thousands(explained))
	}
	p.p("</p>\n")
	p.gcOverTime()
	type row struct {
		*report.FunctionGC
		thread *report.ThreadGC
	}
	var rows []row
	for i := range p.all.GC.Threads {
		t := &p.all.GC.Threads[i]
		for k := range t.ByFunction {
			rows = append(rows, row{&t.ByFunction[k], t})
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return int(max(min(b.GC-a.GC, 1), -1)) })
	rows = rows[:min(len(rows), report.AllRows)]
	out := p.table("Functions that the collector interrupted", "", column{title: "function"}, column{title: "collections", bar: true}, column{title: "collections ms", number: true}, column{title: "share", number: true},
		column{title: "function itself ms", number: true}, column{title: "samples", number: true}, column{title: "thread"})
	for _, r := range rows {
		name := r.Function
		if name == "" {
			name = "(unknown)"
		}
		out.row(span{}, p.stacked(name, r.Location()), p.bar([]part{{class: "gc", time: r.GC}}, rows[0].GC), num(millis(r.GC)), num(share(r.GC, time)), num(millis(r.Own)), num(table.Thousands(r.GCSamples)),
			r.thread.ThreadID.ThreadTitle())
	}
	out.end("", false)
}

// gcOverTime draws when the collector ran, if the slices or states of threads say so.
func (p *page) gcOverTime() {
	u := p.all.Utilisation
	if u == nil || u.By != report.KindsOfWork {
		return
	}
	kind := slices.Index(u.Kinds, "gc")
	if kind < 0 {
		return
	}
	n := len(u.Threads[0].Steps[0])
	sums, most := make([]timeline.Nanos, n), timeline.Nanos(0)
	for i := range u.Threads {
		for step, t := range u.Threads[i].Steps[kind] {
			sums[step] += t
			most = max(most, sums[step])
		}
	}
	if most == 0 {
		return
	}
	const height = 60
	tops, bottoms := make([]int, n), make([]int, n)
	for i, t := range sums {
		tops[i] = scaled(t, most, laneHeight)
	}
	p.p("<figure class=plot>\n<svg width=\"100%%\" height=%d role=img aria-labelledby=\"gc-t gc-d\"><title id=gc-t>Garbage collections over time</title><desc id=gc-d>The highest bar stands for %s within %s.</desc>\n", height+18, length(most), length(u.Step))
	p.p("<svg height=%d width=\"100%%\" viewBox=\"0 0 %d %d\" preserveAspectRatio=none><rect class=ground width=%d height=%d /><path class=gc d=\"%s\"/></svg>", height, n, laneHeight, n, laneHeight, markup(steps(bottoms, tops)))
	p.grid(u.Start-p.all.Start, u.End-u.Start, height)
	p.p("<text class=tick x=4 y=12>up to %s in %s</text></svg>\n</figure>\n", length(most), length(u.Step))
}
