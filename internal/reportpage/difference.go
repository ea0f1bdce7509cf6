package reportpage

import (
	"math"
	"slices"

	"github.com/weft-trace/weft/internal/compare"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

// maxBoxes bounds the boxes in the flame graph of a difference.
const maxBoxes = 4000

// heading states the largest change in time.
func (p *comparisonPage) heading() markup {
	r := p.Result
	var most *compare.Row
	for i := range r.Rows {
		row := &r.Rows[i]
		counts := row.Verdict == compare.Slower || row.Verdict == compare.Faster || !r.Testable && row.Change != 0
		if counts && !row.Async() && (most == nil || row.Size() > most.Size()) {
			most = row
		}
	}
	switch {
	case len(r.Rows) == 0:
		return ""
	case most == nil && r.Testable:
		return "Nothing is significantly slower or faster."
	case most == nil:
		return "Everything takes the same time."
	}
	name := table.Elide(most.Name, 60)
	switch from, to := length(most.BaseMedian), length(most.NewMedian); {
	case most.BaseMedian == 0:
		return p.phrase("<b>%s</b> takes %s, and was not there before.", name, to)
	case most.NewMedian == 0:
		return p.phrase("<b>%s</b> is gone, which took %s.", name, from)
	case most.NewMedian/most.BaseMedian >= 3:
		return p.phrase("<b>%s</b> takes %s times as long: %s instead of %s.", name, table.Thousands(int64(most.NewMedian/most.BaseMedian)), to, from)
	case most.Change > 0:
		return p.phrase("<b>%s</b> takes %s longer: %s instead of %s.", name, share(most.Change, most.BaseMedian), to, from)
	default:
		return p.phrase("<b>%s</b> takes %s less: %s instead of %s.", name, share(-most.Change, most.BaseMedian), to, from)
	}
}

// differenceBox is a call in the flame graph. Its width is the larger time of the two sides, or the sum of its children if that is larger.
type differenceBox struct {
	*compare.Row
	start, width timeline.Nanos
}

// differenceBoxes lays out calls, each of which is followed by its callees.
func differenceBoxes(calls []compare.Row) (boxes []differenceBox, width timeline.Nanos) {
	deepest := 0
	for i := range calls {
		deepest = max(deepest, calls[i].Depth)
	}
	boxes, inside := make([]differenceBox, len(calls)), make([]timeline.Nanos, deepest+2)
	for i := range slices.Backward(calls) {
		c := &calls[i]
		boxes[i] = differenceBox{Row: c, width: max(c.Longest(), inside[c.Depth+1])}
		inside[c.Depth+1] = 0
		inside[c.Depth] += min(boxes[i].width, math.MaxInt64-inside[c.Depth])
	}
	ends := make([]timeline.Nanos, deepest+2) // by depth: the end of the last box
	for i := range boxes {
		b := &boxes[i]
		b.start = ends[b.Depth]
		b.width = min(b.width, math.MaxInt64-b.start)
		ends[b.Depth], ends[b.Depth+1] = b.start+b.width, b.start
	}
	return boxes, ends[0]
}

func (p *comparisonPage) flame() {
	p.Stacks.Tree((*compare.Row).Longest)
	all, width := differenceBoxes(p.Stacks.Rows)
	if width == 0 {
		return
	}
	var list []differenceBox
	for least := max(width/1000, 1); ; least *= 2 {
		list = slices.DeleteFunc(slices.Clone(all), func(b differenceBox) bool { return b.width < least })
		if len(list) <= maxBoxes {
			break
		}
	}
	rows, left := 0, len(all)-len(list)
	for i := range list {
		rows = max(rows, list[i].Depth+1)
	}
	p.p("<section id=code aria-labelledby=code-title>\n<h2 id=code-title>Where in the code?</h2>\n<p class=lead>Each box is a function or slice, below what calls it, and as wide as its time of the version in which it took longer. Its colour is about its own time, without what it calls.</p>\n")
	p.legend([]part{{"gc", "takes longer itself", 1}, {"painting", "takes less time itself", 1}, {"other", "differs by less than 1 % of all", 1}})
	p.p("<div class=\"scroll flame\" tabindex=0 role=region aria-label=\"Flame graph of the difference\"><svg width=\"100%%\" height=%d role=img aria-label=\"Flame graph of the difference; the table below has the numbers\">", rows*rowHeight)
	p.p("<svg width=\"100%%\" height=%d viewBox=\"0 0 %d %d\" preserveAspectRatio=none>", rows*rowHeight, flameUnits, rows*rowHeight)
	for i := range list {
		b := &list[i]
		x := scaled(b.start, width, flameUnits)
		w := max(scaled(b.start+b.width, width, flameUnits)-x, 1)
		p.p("<rect class=%s x=%d y=%d width=%d height=%d><title>%s</title></rect>", markup(ownChange(b.Row, width)), x, b.Depth*rowHeight, w, rowHeight-1, p.described(b.Row))
	}
	p.p("</svg>")
	for i := range list {
		b := &list[i]
		room := scaled(b.width, width, flameUnits) / (flameUnits / 1000) / labelUnits * 16 / 10
		if room >= 4 {
			p.p("<text x=\"%s\" dx=3 y=%d>%s</text>", percent(b.start, width), b.Depth*rowHeight+13, cut(p.clean(b.Name), room))
		}
	}
	p.p("</svg></div>\n")
	if left > 0 {
		p.p("<p class=note>%s too small to be seen %s left out.</p>\n", table.Plural(left, "box", "boxes"), markup(plural(left, "is", "are")))
	}
	p.p("</section>\n")
}

// ownChange returns the class of a box for the change of its self time.
func ownChange(r *compare.Row, all timeline.Nanos) string {
	switch change := r.Own[compare.New] - r.Own[compare.Base]; {
	case change >= all/100 && change > 0:
		return "gc"
	case -change >= all/100 && change < 0:
		return "painting"
	}
	return "other"
}

// described returns the name, numbers and location of a call.
func (p *comparisonPage) described(r *compare.Row) markup {
	text := p.phrase("%s: %s before, %s now", r.Name, length(r.BaseMedian), length(r.NewMedian))
	if before, now := r.Own[compare.Base], r.Own[compare.New]; max(before, now) > 0 {
		text += p.phrase("; itself %s before, %s now", length(before), length(now))
	}
	if r.Location != "" {
		text += p.phrase(" – %s", report.Frame{URL: r.Location, Line: r.Line, Column: r.Column}.Location())
	}
	return text
}
