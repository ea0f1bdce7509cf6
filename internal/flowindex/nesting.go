package flowindex

import (
	"cmp"
	"context"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/timeline"
)

// nesting is a pair of slices with flows on one track, one directly inside the other: for example, a task and the step in this
// task from which a flow continues.
type nesting struct{ inner, outer uint64 }

func compareOuter(a, b *nesting) int {
	return cmp.Or(cmp.Compare(a.outer, b.outer), cmp.Compare(a.inner, b.inner))
}

// nest determines the nesting of slices with flows. Ordinals are in start order; on each track, outer slices come first.
func (x *indexer) nest(ctx context.Context, places *extsort.Sorted[membership]) error {
	open := map[timeline.TrackLane][]membership{}
	last := uint64(timeline.NoOrdinal)
	var p membership
	for c, i := places.From(0), 0; ; i++ {
		if i%(1<<14) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		ok, err := c.Next(&p)
		if err != nil || !ok {
			return err
		}
		if p.ordinal == last {
			continue // the same slice in another flow
		}
		last = p.ordinal
		at := timeline.TrackLane{Track: p.track, Lane: p.lane}
		stack := open[at]
		for len(stack) > 0 && !stack[len(stack)-1].contains(&p) {
			stack = stack[:len(stack)-1]
		}
		if len(stack) > 0 {
			n := nesting{inner: p.ordinal, outer: stack[len(stack)-1].ordinal}
			x.fail(x.inner.Add(n))
			x.fail(x.outer.Add(n))
		}
		if p.end != p.ts {
			stack = append(stack, p)
		}
		open[at] = stack
		if x.err != nil {
			return x.err
		}
	}
}

// contains reports whether a slice that starts later is inside p. A zero-length slice at the end of p is also inside.
func (p *membership) contains(later *membership) bool {
	return p.end == timeline.NoTime || later.end != timeline.NoTime && later.end <= p.end
}

// inside returns the slices with flows directly inside the given slice.
func (x *Index) inside(ordinal uint64) (inner []uint64, err error) {
	i, err := x.outer.Search(func(n *nesting) bool { return n.outer >= ordinal })
	for ; err == nil && i < x.outer.Len(); i++ {
		var n nesting
		if err = x.outer.At(i, &n); n.outer != ordinal {
			break
		}
		inner = append(inner, n.inner)
	}
	return inner, err
}

// around returns the innermost slice with flows around the given slice, if there is one.
func (x *Index) around(ordinal uint64) (outer uint64, ok bool, err error) {
	i, err := x.inner.Search(func(n *nesting) bool { return n.inner >= ordinal })
	if err != nil || i == x.inner.Len() {
		return 0, false, err
	}
	var n nesting
	err = x.inner.At(i, &n)
	return n.outer, n.inner == ordinal, err
}
