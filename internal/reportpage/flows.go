package reportpage

import "github.com/weft-trace/weft/internal/table"

// flows writes the section about threads that hand work to each other.
func (p *page) flows() {
	f := p.all.FlowPairs
	p.p("<p class=lead>%s lead from one thread to another", table.Count(f.Arrows-f.Within, "arrow"))
	if f.Within > 0 {
		p.p(", %s stay on their thread", table.Thousands(f.Within))
	}
	p.p(". The delay is the time from where an arrow leaves to where it arrives.</p>\n")
	p.show(f.Table(), look{
		before: "delay_ns", barTitle: "delays in all", report: "all --json",
		at: func(i int) span { return p.on(f.Pairs[i].To, f.Pairs[i].MaxAt, f.Pairs[i].Max) },
	})
}
