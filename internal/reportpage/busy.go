package reportpage

import (
	"fmt"
	"strings"

	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

// Measures of the plot of threads, in pixels.
const (
	laneName   = 17
	laneHeight = 30
	laneGap    = 12
)

// busy writes when threads were busy: a row a thread.
func (p *page) busy() {
	u := p.all.Utilisation
	length0, top := u.End-u.Start, &u.Threads[0]
	p.p("<p class=lead><b>%s</b> was busy for %s, %s of the %s from the first to the last slice on a thread.", top.ThreadID.ThreadTitle(),
		length(top.Busy), share(top.Busy, length0), length(length0))
	if u.More > 0 {
		p.p(" %s worked too and %s not shown.", table.Plural(u.More, "other thread", "other threads"), plural(u.More, "is", "are"))
	}
	p.p("</p>\n")
	all := make([]timeline.Nanos, len(u.Kinds))
	for i := range u.Threads {
		for k, t := range u.Threads[i].ByKind {
			all[k] += t
		}
	}
	p.legend(byClass(p.kinds, u.Kinds, all))
	height := len(u.Threads)*(laneName+laneHeight+laneGap) + 18
	p.p("<figure class=plot>\n<svg class=busy width=\"100%%\" height=%d role=img aria-labelledby=\"busy-t busy-d\"><title id=busy-t>Busy time of threads</title><desc id=busy-d>A row for each of %s; the height of the coloured area is the share of each %s in which the thread worked.</desc>\n",
		height, table.Count(len(u.Threads), "thread"), length(u.Step))
	p.grid(u.Start-p.all.Start, length0, height-18)
	for i := range u.Threads {
		p.lane(&u.Threads[i], i*(laneName+laneHeight+laneGap))
	}
	p.p("</svg>\n</figure>\n")
	note := ""
	if p.all.Tasks != nil {
		note = "A red line above a row: a task of 50 ms or longer."
	}
	p.show(u.Table(), look{fold: "The numbers", note: note})
}

// grid draws lines at five times and says which they are.
func (p *page) grid(start, length timeline.Nanos, height int) {
	const lines = 4
	for i := range lines + 1 {
		x := percent(timeline.Nanos(i), lines)
		anchor := markup("middle")
		switch i {
		case 0:
			anchor = "start"
		case lines:
			anchor = "end"
		}
		p.p("<line class=grid x1=\"%s\" x2=\"%s\" y1=0 y2=%d /><text class=tick x=\"%s\" y=%d text-anchor=%s>%s</text>\n", x, x, height, x, height+14, anchor,
			p.moment(start+length/lines*timeline.Nanos(i)))
	}
}

// lane draws a thread.
func (p *page) lane(t *report.ThreadUse, y int) {
	u := p.all.Utilisation
	name := t.ThreadID.ThreadTitle()
	if t.Shows != "" {
		name += "  " + t.Shows
	} else if process := t.ThreadID.ProcessTitle(); process != "" && process != name {
		name += "  " + process
	}
	p.p("<svg class=names width=\"100%%\" y=%d height=%d><text x=0 y=12>%s</text></svg><text x=\"100%%\" y=%d text-anchor=end>%s</text>\n", y, laneName, name, y+12, share(t.Busy, u.End-u.Start))
	p.p("<svg y=%d height=%d width=\"100%%\" viewBox=\"0 0 %d %d\" preserveAspectRatio=none><rect class=ground width=%d height=%d />", y+laneName, laneHeight,
		len(t.Steps[0]), laneHeight, len(t.Steps[0]), laneHeight)
	for _, area := range p.areas(t) {
		p.p("<path class=%s d=\"%s\"/>", markup(area.class), markup(area.path))
	}
	p.p("</svg>\n")
	p.longMarks(t, y+laneName-3)
}

// area is what a class fills.
type area struct{ class, path string }

// areas returns the stacked areas of a thread: for each class the rectangles of its steps.
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

// steps returns the path of rectangles between two heights, those that are equal joined.
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
		p.p("<svg y=%d height=2 width=\"100%%\" viewBox=\"0 0 1000 2\" preserveAspectRatio=none><path class=long d=\"%s\"/></svg>\n", y, markup(b.String()))
	}
}
