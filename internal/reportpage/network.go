package reportpage

import (
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

// network writes the section about the requests of pages in a browser.
func (p *page) network() {
	n := p.all.Network
	p.p("<p class=lead>%s, <b>%s</b> in all", table.Count(n.Requests, "request"), size(n.Bytes))
	if n.Failed > 0 {
		p.p("; <b>%s</b>", table.Thousands(n.Failed)+" failed")
	}
	if n.Unfinished > 0 {
		p.p("; %s not finished when the recording ended", table.Plural(n.Unfinished, "was", "were"))
	}
	if n.Unfollowed > 0 {
		p.p("; the ends of %s are not known, because %s were open", table.Count(n.Unfollowed, "other request"), table.Thousands(report.MaxOpenRequests))
	}
	p.p(".</p>\n")
	if n.Waterfall != nil {
		p.waterfall(n.Waterfall)
	}
	if len(n.Slowest) > 0 {
		p.show(n.Table(), look{
			title: "The slowest requests", before: "dur_ns", barTitle: "length",
			at: func(i int) span { return onLine(n.Waterfall, n.Slowest[i].Start, n.Slowest[i].Length) },
		})
	}
}

// maxHeaps is the maximum number of heaps drawn.
const maxHeaps = 3

// heaps draws the JavaScript heaps of threads over time.
func (p *page) heaps() {
	for i := range p.all.Heaps[:min(len(p.all.Heaps), maxHeaps)] {
		h := &p.all.Heaps[i]
		tops, bottoms := make([]int, len(h.Sizes)), make([]int, len(h.Sizes))
		last := int64(0)
		for step, size := range h.Sizes { // a size holds until the next one
			if size > 0 {
				last = size
			}
			tops[step] = scaled(timeline.Nanos(last), timeline.Nanos(h.Max), laneHeight)
		}
		p.p("<figure class=plot>\n<p class=note>JavaScript heap of %s: up to <b>%s</b></p>\n", h.ThreadID.Title(), size(h.Max))
		p.p("<svg width=\"100%%\" height=%d role=img aria-label=\"JavaScript heap of %s over time, up to %s\">", heapHeight+18, h.ThreadID.Title(), size(h.Max))
		p.p("<svg height=%d width=\"100%%\" viewBox=\"0 0 %d %d\" preserveAspectRatio=none><rect class=ground width=%d height=%d /><path class=plain d=\"%s\"/></svg>", heapHeight, len(tops), laneHeight, len(tops), laneHeight,
			markup(steps(bottoms, tops)))
		p.grid(0, h.Step*timeline.Nanos(len(tops)), 0, heapHeight)
		p.p("</svg>\n</figure>\n")
	}
}

// heapHeight is the height of a heap plot, in pixels.
const heapHeight = 48

// stepParts returns the time of the devices in a step, by kind of work.
func stepParts(s *report.Step) []part {
	return []part{{"k1", "compute", s.Compute}, {"k2", "only communication", s.Communication}, {"k3", "only copies", s.Copy}}
}

// deviceTables writes the steps of a training run, the causes of gaps in streams, and the arrivals of ranks at
// collectives.
func (p *page) deviceTables() {
	s := p.all.Slices
	steps, idle, gaps, arrivals := s.DeviceTables()
	if len(s.Steps) > 0 {
		p.p("<h3>Steps</h3>\n")
		sums, most := []part{{"k1", "compute", 0}, {"k2", "only communication", 0}, {"k3", "only copies", 0}}, timeline.Nanos(0)
		for i := range s.Steps {
			for k, part := range stepParts(&s.Steps[i]) {
				sums[k].time += part.time
			}
			most = max(most, s.Steps[i].Duration*timeline.Nanos(max(s.Steps[i].Devices, 1)))
		}
		p.legend(append(sums, part{"ground", "idle", 1}))
		steps.All = len(s.Slices.Steps)
		p.show(steps, look{
			title: "Steps", before: "dur_ns", barTitle: "what devices did", report: "slices --limit 0", spare: 3,
			bar: func(i int) markup {
				whole, worked := s.Steps[i].Duration*timeline.Nanos(max(s.Steps[i].Devices, 1)), s.Steps[i].DeviceBusy
				return p.bar(append(stepParts(&s.Steps[i]), part{"idle", "", whole - worked}), most)
			},
			at: func(i int) span { return p.on(s.Steps[i].ThreadID, s.Steps[i].Start, s.Steps[i].Duration) },
		})
	}
	if len(idle.Rows) > 0 {
		p.p("<h3>What streams wait for</h3>\n")
		p.show(idle, look{title: "What streams wait for", before: "idle_ns", barTitle: "idle", report: "slices --table idle --limit 0"})
		p.show(gaps, look{
			fold: "The longest gaps", title: "The longest gaps", before: "dur_ns", barTitle: "length", report: "slices --table gaps --limit 0", spare: 2,
			at: func(i int) span {
				g := &s.Slices.Gaps.Gaps[i]
				return p.on(g.ThreadID, g.Start, g.Duration)
			},
		})
	}
	if len(arrivals.Rows) > 0 {
		p.p("<h3>Who comes last to collectives</h3>\n")
		p.show(arrivals, look{title: "Who comes last to collectives", before: "held_ns", barTitle: "held up", report: "slices --table arrivals --limit 0"})
	}
}
