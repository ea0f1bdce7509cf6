package profilecalls

import (
	"github.com/weft-trace/weft/timeline"
	"github.com/weft-trace/weft/v8profile"
)

// AloneCall is a call of a profile that stands alone.
type AloneCall struct {
	Call
	Depth int            // number of calls around it
	Self  timeline.Nanos // the duration without that of the calls directly in it
}

// aloneCall is an open call of Alone.
type aloneCall struct {
	node     v8profile.NodeIndex
	sample   int
	order    int64
	ts       timeline.Nanos
	children timeline.Nanos // duration of the calls directly in it
}

// alone is the state of Alone.
type alone struct {
	p     *v8profile.Profile
	open  []aloneCall
	path  []v8profile.NodeIndex
	order int64
	emit  func(*AloneCall)
	call  AloneCall
}

// Alone gives the calls of a profile that nothing else is known of, (program), (idle) and (garbage collector) included
// (spec profile-calls.md 4). Two nodes are two calls, even of one function. It calls emit for each call when that ends,
// inner calls before outer ones; the AloneCall is valid during the call of emit only. cut is the number of samples whose
// innermost functions make no calls, because their stacks have more than MaxStack frames.
func Alone(p *v8profile.Profile, emit func(*AloneCall)) (cut int) {
	a := alone{p: p, emit: emit}
	outer := outerParts(p)
	now, below := v8profile.NodeIndex(0), v8profile.NodeIndex(0) // below: the stack on which garbage is collected
	for i := range p.Len() {
		n, ts := p.At(i), p.Time(i)
		if outer != nil && outer[n] != n {
			n = outer[n]
			cut++
		}
		switch {
		case n == now:
			continue
		case n == p.Collector:
			below = now
			a.push(n, i, ts)
		case now == p.Collector:
			a.pop(i, ts)
			if n != below {
				a.change(n, i, ts)
			}
		default:
			a.change(n, i, ts)
		}
		now = n
	}
	for len(a.open) > 0 {
		a.pop(p.Len(), p.Closing)
	}
	return cut
}

// outerParts returns of each node the innermost one on its path that is within MaxStack frames; nil if all nodes are.
func outerParts(p *v8profile.Profile) []v8profile.NodeIndex {
	if p.MaxDepth() <= MaxStack {
		return nil
	}
	outer := make([]v8profile.NodeIndex, p.NodeCount())
	for i := range outer {
		n := v8profile.NodeIndex(i)
		outer[i] = n
		if node := p.Node(n); node.Depth >= MaxStack {
			outer[i] = outer[node.Parent]
		}
	}
	return outer
}

// change closes the calls that are not on the path to a node, and opens the rest of the path.
func (a *alone) change(n v8profile.NodeIndex, sample int, ts timeline.Nanos) {
	for len(a.open) > 0 && !a.p.Contains(a.open[len(a.open)-1].node, n) {
		a.pop(sample, ts)
	}
	top := v8profile.NodeIndex(0)
	if len(a.open) > 0 {
		top = a.open[len(a.open)-1].node
	}
	a.path = a.path[:0]
	for ; n != top; n = a.p.Node(n).Parent {
		a.path = append(a.path, n)
	}
	for i := len(a.path) - 1; i >= 0; i-- {
		a.push(a.path[i], sample, ts)
	}
}

func (a *alone) push(n v8profile.NodeIndex, sample int, ts timeline.Nanos) {
	a.open = append(a.open, aloneCall{node: n, sample: sample, order: a.order, ts: ts})
	a.order++
}

func (a *alone) pop(sample int, ts timeline.Nanos) {
	depth := len(a.open) - 1
	c := &a.open[depth]
	dur := ts - c.ts
	a.call = AloneCall{
		Call: Call{
			Node: c.node, TS: c.ts, Dur: dur, Sample: c.sample, Samples: int64(sample - c.sample), Order: c.order,
		},
		Depth: depth, Self: dur - c.children,
	}
	if depth > 0 {
		a.open[depth-1].children += dur
	}
	a.open = a.open[:depth]
	a.emit(&a.call)
}
