package reportpage

import (
	"fmt"
	"strings"

	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

// Dimensions of histograms in pixels, and limits.
const (
	spreadHeight = 54
	maxSpreads   = 4
)

// spread is a histogram and its title.
type spread struct {
	title string
	bins  report.Histogram
	n     int64
}

// spreads draws the histograms that have enough values to show a shape.
func (p *page) spreads(list []spread) {
	p.p("<div class=spreads>")
	drawn := 0
	for i := range list {
		if s := &list[i]; s.n >= table.Enough && len(s.bins) > 1 && drawn < maxSpreads {
			p.spread(s)
			drawn++
		}
	}
	p.p("</div>\n")
}

// spread draws a histogram: lengths to the right, in the bins of a report.Histogram, counts upwards.
func (p *page) spread(s *spread) {
	first, most := s.bins[0].Bin, int64(0)
	bins := s.bins[len(s.bins)-1].Bin - first + 1
	for _, b := range s.bins {
		most = max(most, b.Count)
	}
	var path strings.Builder
	for _, b := range s.bins {
		h := max(scaled(timeline.Nanos(b.Count), timeline.Nanos(most), spreadHeight), 1)
		fmt.Fprintf(&path, "M%d %dh9v-%dh-9z", 10*(b.Bin-first), spreadHeight, h)
	}
	p.p("<figure class=plot><p class=note>%s: %s</p><svg width=\"100%%\" height=%d role=img aria-label=\"How long %s took: %s, from %s to %s\">", s.title, table.Thousands(s.n), spreadHeight+16,
		s.title, table.Thousands(s.n), length(report.LeastOf(first)), length(report.LeastOf(first+bins)))
	p.p("<svg width=\"100%%\" height=%d viewBox=\"0 0 %d %d\" preserveAspectRatio=none><rect class=ground width=%d height=%d /><path class=plain d=\"%s\"/></svg>", spreadHeight, 10*bins, spreadHeight, 10*bins,
		spreadHeight, markup(path.String()))
	last := -100
	for bin := first; bin <= first+bins; bin++ { // label the bins that contain a round length
		t, ok := roundLength(report.LeastOf(bin), report.LeastOf(bin+1))
		at := scaled(timeline.Nanos(bin-first), timeline.Nanos(bins), 100)
		if !ok || at-last < 22 || at > 90 {
			continue
		}
		last = at
		p.p("<text class=tick x=\"%s\" y=%d>%s</text>", percent(timeline.Nanos(bin-first), timeline.Nanos(bins)), spreadHeight+12, shortLength(t))
	}
	p.p("</svg></figure>\n")
}

// roundLength returns a length in [from, to) that is 1, 2 or 5 times a power of ten, if there is one.
func roundLength(from, to timeline.Nanos) (timeline.Nanos, bool) {
	for power := timeline.Nanos(1); power < to && power > 0; power *= 10 {
		for _, t := range []timeline.Nanos{power, 2 * power, 5 * power} {
			if t >= from && t < to {
				return t, true
			}
		}
	}
	return 0, false
}

// shortLength formats a round length.
func shortLength(t timeline.Nanos) string {
	number, unit, _ := strings.Cut(length(t), " ")
	if strings.Contains(number, ".") {
		number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	return number + " " + unit
}
