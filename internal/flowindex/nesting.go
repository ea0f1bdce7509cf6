package flowindex

import (
	"cmp"
	"context"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/timeline"
)

// nesting is a pair of slices with flows of which one lies in the other, with no third between them. They are on the same track: a
// task, say, and a step of it from which a flow goes on.
type nesting struct{ inner, outer uint64 }

func compareOuter(a, b *nesting) int {
	return cmp.Or(cmp.Compare(a.outer, b.outer), cmp.Compare(a.inner, b.inner))
}

// nest finds out how the slices with flows lie in each other. Ordinals are in the order of starts, on a track the
// outermost first.
func (x *indexer) nest(ctx context.Context, places *extsort.Sorted[place]) error {
	open := map[timeline.TrackLane][]place{}
	last := uint64(timeline.NoOrdinal)
	var p place
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
		around := open[at]
		for len(around) > 0 && !around[len(around)-1].contains(&p) {
			around = around[:len(around)-1]
		}
		if len(around) > 0 {
			n := nesting{inner: p.ordinal, outer: around[len(around)-1].ordinal}
			x.keep(x.inner.Add(n))
			x.keep(x.outer.Add(n))
		}
		if p.end != p.ts {
			around = append(around, p)
		}
		open[at] = around
		if x.err != nil {
			return x.err
		}
	}
}

// contains reports whether a slice that starts later lies in p. What only touches the end of p is in it as well if it has
// no length.
func (p *place) contains(later *place) bool {
	if p.end == timeline.NoTime {
		return true
	}
	return later.end != timeline.NoTime && later.end <= p.end
}

// inside returns the slices with flows that lie directly in a slice.
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

// around returns the slice with flows that a slice lies in, if there is one.
func (x *Index) around(ordinal uint64) (outer uint64, ok bool, err error) {
	i, err := x.inner.Search(func(n *nesting) bool { return n.inner >= ordinal })
	if err != nil || i == x.inner.Len() {
		return 0, false, err
	}
	var n nesting
	err = x.inner.At(i, &n)
	return n.outer, n.inner == ordinal, err
}
