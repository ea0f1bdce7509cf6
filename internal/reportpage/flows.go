package reportpage

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

// Limits of the section about flows.
const (
	maxPairs    = 40
	matrixPairs = 8 // from so many pairs on there is a matrix
	matrixSize  = 10
)

// flows writes which threads hand work to which.
func (p *page) flows() {
	f := p.all.FlowPairs
	p.p("<p class=lead>%s lead from one thread to another", table.Count(f.Arrows-f.Within, "arrow"))
	if f.Within > 0 {
		p.p(", %s stay on their thread", table.Thousands(f.Within))
	}
	p.p(". The delay is the time from where an arrow leaves to where it arrives.</p>\n")
	if len(f.Pairs) >= matrixPairs {
		p.matrix(f.Pairs)
	}
	most := timeline.Nanos(f.Pairs[0].Arrows)
	out := p.table("Pairs of threads", "", column{title: "from"}, column{title: "to"}, column{title: "arrows", bar: true}, column{title: "arrows", number: true}, column{title: "median delay ms", number: true},
		column{title: "p95 delay ms", number: true}, column{title: "longest ms", number: true})
	for i := range f.Pairs[:min(len(f.Pairs), maxPairs)] {
		r := &f.Pairs[i]
		out.row(at(r.MaxAt, r.Max), p.stacked(r.From.ThreadTitle(), r.From.ProcessTitle()), p.stacked(r.To.ThreadTitle(), r.To.ProcessTitle()),
			p.bar([]part{{class: "plain", time: timeline.Nanos(r.Arrows)}}, most), num(table.Thousands(r.Arrows)), num(table.Millis(r.Median)), num(table.Millis(r.P95)), num(table.Millis(r.Max)))
	}
	note := ""
	if more := len(f.Pairs) - maxPairs; more > 0 {
		note = table.Plural(more, "more pair", "more pairs") + " with fewer arrows."
	}
	out.end(note, false)
}

// matrix draws how many arrows lead from each of the busiest threads to each other.
func (p *page) matrix(pairs []report.FlowPair) {
	arrows := map[report.ThreadID]int64{}
	for i := range pairs {
		arrows[pairs[i].From] += pairs[i].Arrows
		arrows[pairs[i].To] += pairs[i].Arrows
	}
	var threads []report.ThreadID
	for i := range pairs {
		for _, t := range []report.ThreadID{pairs[i].From, pairs[i].To} {
			if !slices.Contains(threads, t) {
				threads = append(threads, t)
			}
		}
		if len(threads) > 4*matrixSize {
			break
		}
	}
	slices.SortStableFunc(threads, func(a, b report.ThreadID) int { return cmp.Compare(arrows[b], arrows[a]) })
	threads = threads[:min(len(threads), matrixSize)]
	columns := []column{{title: "from ↓ to →"}}
	for i := range threads {
		columns = append(columns, column{title: strconv.Itoa(i + 1), number: true})
	}
	out := p.table("Arrows from thread to thread", "As a matrix, with numbers for the threads", columns...)
	for i := range threads {
		cells := []any{fmt.Sprintf("%d  %s", i+1, threads[i].Title())}
		for k := range threads {
			n := num("")
			for j := range pairs {
				if pairs[j].From == threads[i] && pairs[j].To == threads[k] {
					n = num(table.Thousands(pairs[j].Arrows))
				}
			}
			cells = append(cells, n)
		}
		out.row(span{}, cells...)
	}
	out.end("", true)
}
