package compare

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/internal/timeline"
)

// Trees are the call trees of all recordings of a comparison in one, by thread and by the names on the way to a callsite.
type Trees struct {
	root  callsite
	count int
	files [sides]int
}

// callsite is a node of Trees. Times are sums of the recordings of a side.
type callsite struct {
	frame       report.Frame
	total, self [sides]timeline.Nanos
	inner       map[report.Frame]*callsite
}

// maxCallsites bounds the callsites of Trees; what is in others counts for the callsite around it.
const maxCallsites = 1 << 16

// Read takes in what is selected of a timeline, which is nested. The error is one of the temporary files, or ctx's.
func (t *Trees) Read(ctx context.Context, side Side, tl *timeline.Timeline, selected *selection.Selection) error {
	rules := attribution.Rules{}
	report.SelectCosts(&rules, selected)
	all, err := report.CollectAll(ctx, tl, rules, report.AllOptions{Selected: selected})
	if err == nil {
		t.Add(side, all.StackTrees)
	}
	return err
}

// Add takes in the trees of a recording.
func (t *Trees) Add(side Side, list []report.StackTree) {
	t.files[side]++
	for i := range list {
		tree := &list[i]
		thread := t.at(&t.root, report.Frame{Function: placeName(&tree.ThreadID)})
		sum(&thread.total[side], tree.Total)
		way := []*callsite{thread}
		for k := range tree.Nodes {
			n := &tree.Nodes[k]
			way = way[:min(n.Depth+1, len(way))]
			at := t.at(way[len(way)-1], n.Frame)
			sum(&at.total[side], n.Total)
			sum(&at.self[side], n.Self)
			way = append(way, at)
		}
	}
}

// sum adds a time as far as it fits.
func sum(to *timeline.Nanos, n timeline.Nanos) { *to += min(max(n, 0), math.MaxInt64-*to) }

// at returns the callsite of a frame in another one. Functions of both sides match by name and file, whatever the line.
func (t *Trees) at(around *callsite, frame report.Frame) *callsite {
	key := report.Frame{Function: frame.Function, URL: frame.URL}
	at := around.inner[key]
	if at == nil {
		at = &callsite{frame: frame}
		if t.count++; t.count > maxCallsites {
			return at
		}
		if around.inner == nil {
			around.inner = map[report.Frame]*callsite{}
		}
		around.inner[key] = at
	}
	return at
}

// Difference is a callsite of both sides; the outermost are threads. Times are means of the recordings of a side.
type Difference struct {
	report.Frame
	Depth int
	Total [2]timeline.Nanos // by Side
	Self  [2]timeline.Nanos
	Start timeline.Nanos // where it starts, if each is as long as its Width
	Width timeline.Nanos // its time of the side that has more, or what is in it if that is more
}

// Differences returns the callsites, each followed by what is in it, the longest first, and the sum of their widths.
func (t *Trees) Differences() (list []Difference, width timeline.Nanos) {
	list = t.differences(nil, &t.root, 0, 0)
	for i := range list {
		if list[i].Depth == 0 {
			sum(&width, list[i].Width)
		}
	}
	return list, width
}

// differences adds what is in a callsite, from start on.
func (t *Trees) differences(list []Difference, in *callsite, depth int, start timeline.Nanos) []Difference {
	order := make([]*callsite, 0, len(in.inner))
	for _, c := range in.inner {
		order = append(order, c)
	}
	most := func(c *callsite) timeline.Nanos { return max(t.mean(c.total[Base], Base), t.mean(c.total[New], New)) }
	slices.SortFunc(order, func(a, b *callsite) int {
		return cmp.Or(cmp.Compare(most(b), most(a)), cmp.Compare(a.frame.Function, b.frame.Function), cmp.Compare(a.frame.Location(), b.frame.Location()))
	})
	for _, c := range order {
		at := len(list)
		list = append(list, Difference{Frame: c.frame, Depth: depth, Start: start, Width: most(c)})
		d := &list[at]
		for side := range sides {
			d.Total[side], d.Self[side] = t.mean(c.total[side], side), t.mean(c.self[side], side)
		}
		list = t.differences(list, c, depth+1, start)
		children := timeline.Nanos(0)
		for i := at + 1; i < len(list); i++ {
			if list[i].Depth == depth+1 {
				sum(&children, list[i].Width)
			}
		}
		list[at].Width = max(list[at].Width, children)
		sum(&start, list[at].Width)
	}
	return list
}

// mean returns a sum of the recordings of a side for one of them.
func (t *Trees) mean(sum timeline.Nanos, side Side) timeline.Nanos {
	return sum / timeline.Nanos(max(t.files[side], 1))
}
