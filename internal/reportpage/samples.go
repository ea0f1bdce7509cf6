package reportpage

import (
	"cmp"
	"slices"

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

// layout writes the section about script that forces style and layout.
func (p *page) layout() {
	var forced, unforced report.ForcedTime
	thrashing := 0
	for i := range p.all.Forced.Threads {
		t := &p.all.Forced.Threads[i]
		addForced(&forced, &t.ForcedTime)
		addForced(&unforced, &t.Unforced)
		thrashing += t.Thrashing
	}
	p.p("<p class=lead>Script forced style %s and layout %s, for <b>%s</b> in all; the browser took %s for style and layout that was not forced.", times(forced.StyleCount), times(forced.LayoutCount),
		length(forced.Total), length(unforced.Total))
	if thrashing > 0 {
		p.p(" <b>%s</b> did so again and again: twice or more in one task, or for 30 ms.", table.Plural(thrashing, "call stack", "call stacks"))
	}
	p.p("</p>\n")
	p.legend([]part{{"rendering", "style", forced.Style}, {"layout", "layout", forced.Layout}})
	most := timeline.Nanos(0)
	for i := range p.all.Forced.Threads {
		for k := range p.all.Forced.Threads[i].ByStack {
			most = max(most, p.all.Forced.Threads[i].ByStack[k].Total)
		}
	}
	for i := range p.all.Forced.Threads {
		if t := &p.all.Forced.Threads[i]; len(t.ByStack) > 0 {
			p.p("<h3>%s</h3>\n", t.ThreadID.Title())
			p.show(t.Table(), look{before: "total_ns", barTitle: "style and layout", report: "layout-thrashing --limit 0", bar: func(i int) markup {
				return p.bar([]part{{"rendering", "", t.ByStack[i].Style}, {"layout", "", t.ByStack[i].Layout}}, most)
			}})
		}
	}
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

// gcQuestion returns a question that fits the data: without samples, only the size of the heap or the times of
// collections are known.
func (p *page) gcQuestion() string {
	switch {
	case p.all.GC != nil:
		return "What did the garbage collector interrupt?"
	case len(p.all.Heaps) > 0:
		return "How much memory did JavaScript use?"
	}
	return "When did the garbage collector run?"
}

// gc writes the section about garbage collection and heaps.
func (p *page) gc() {
	if p.all.GC == nil {
		p.gcOverTime()
		p.heaps()
		return
	}
	var covered, time timeline.Nanos
	long, explained := 0, 0
	for i := range p.all.GC.Threads {
		t := &p.all.GC.Threads[i]
		covered += t.Covered
		time += t.Time
		long += t.LongRuns
		explained += t.Explained
	}
	if ran, _, ok := p.all.GCTime(); ok && ran > 0 {
		p.p("<p class=lead>The collector ran for <b>%s</b> on the threads above. Samples saw %s of it, and what it interrupted.", length(ran), length(time))
	} else {
		p.p("<p class=lead>By samples the collector ran for <b>%s</b>, %s of the sampled time.", length(time), share(time, covered))
	}
	if long > 0 {
		p.p(" Of %s of 50 ms and more, %s would have been shorter than that without it.", table.Plural(long, "busy run", "busy runs"), table.Thousands(explained))
	}
	p.p("</p>\n")
	p.gcOverTime()
	p.heaps()
	threads, left := slices.Clone(p.all.GC.Threads), report.AllRows
	slices.SortStableFunc(threads, func(a, b report.ThreadGC) int { return cmp.Compare(b.Time, a.Time) })
	for i := range threads {
		t := &threads[i]
		if t.ByFunction = t.ByFunction[:min(len(t.ByFunction), left)]; len(t.ByFunction) > 0 {
			p.p("<h3>%s</h3>\n", t.ThreadID.Title())
			p.show(t.FunctionTable(), look{before: "gc_ns", barTitle: "collections", class: "gc", report: "gc --limit 0"})
			left -= len(t.ByFunction)
		}
	}
	if left == 0 {
		p.p("<p class=note>weft report gc --limit 0 lists all threads.</p>\n")
	}
}

// gcSlices returns how long the collector ran in each step of time, according to slices or states of threads; nil if it
// did not run.
func (p *page) gcSlices() []timeline.Nanos {
	u := p.all.Utilisation
	if u == nil || u.By != report.KindsOfWork {
		return nil
	}
	kind := slices.Index(u.Kinds, "gc")
	if kind < 0 {
		return nil
	}
	sums := make([]timeline.Nanos, len(u.Threads[0].Steps[0]))
	for i := range u.Threads {
		for step, t := range u.Threads[i].Steps[kind] {
			sums[step] += t
		}
	}
	if slices.Max(sums) == 0 {
		return nil
	}
	return sums
}

// gcOverTime draws when the collector ran.
func (p *page) gcOverTime() {
	u, sums := p.all.Utilisation, p.gcSlices()
	if sums == nil {
		return
	}
	n, most := len(sums), slices.Max(sums)
	const height = 60
	tops, bottoms := make([]int, n), make([]int, n)
	for i, t := range sums {
		tops[i] = scaled(t, most, laneHeight)
	}
	p.p("<figure class=plot>\n<p class=note>Garbage collection: up to %s in %s</p>\n<svg width=\"100%%\" height=%d role=img aria-labelledby=\"gc-t gc-d\"><title id=gc-t>Garbage collections over time</title><desc id=gc-d>The highest bar stands for %s within %s.</desc>\n", length(most), length(u.Step), height+18, length(most), length(u.Step))
	p.p("<svg height=%d width=\"100%%\" viewBox=\"0 0 %d %d\" preserveAspectRatio=none><rect class=ground width=%d height=%d /><path class=gc d=\"%s\"/></svg>", height, n, laneHeight, n, laneHeight, markup(steps(bottoms, tops)))
	p.grid(u.Start-p.all.Start, u.End-u.Start, 0, height)
	p.p("</svg>\n</figure>\n")
}
