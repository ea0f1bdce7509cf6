package flowindex

import (
	"context"

	"github.com/weft-trace/weft/internal/timeline"
)

// Label is the name and category of an event.
type Label struct{ Name, Category string }

// Labels returns the labels of the slices and instants with the given ordinals, which must be sorted. It reads only the timeline
// segments that contain these slices and instants.
func (x *Index) Labels(ctx context.Context, ordinals []uint64) (map[uint64]Label, error) {
	labels := make(map[uint64]Label, len(ordinals))
	if x.t.SegmentCount() == 0 {
		return labels, nil
	}
	for len(ordinals) > 0 {
		segment := x.t.SegmentOf(ordinals[0])
		wanted := map[uint64]bool{}
		for len(ordinals) > 0 && x.t.SegmentOf(ordinals[0]) == segment {
			wanted[ordinals[0]] = true
			ordinals = ordinals[1:]
		}
		err := x.t.WalkSegment(ctx, segment, func(it *timeline.Item) error {
			if it.Kind != timeline.ItemEnd && wanted[it.Ordinal] {
				labels[it.Ordinal] = Label{Name: string(it.Name), Category: string(it.Category)}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return labels, nil
}

// Walk calls fn for all flows, ordered by the start of their first member, with that member and its label. The memory for labels
// does not grow with the number of flows. An error from fn stops the walk and is returned.
func (x *Index) Walk(ctx context.Context, fn func(f Flow, first Member, label Label) error) error {
	for i := 0; i < x.memberships.Len(); {
		batch, n, err := x.starts(ctx, i)
		if err != nil {
			return err
		}
		labels, err := x.Labels(ctx, batch)
		if err != nil {
			return err
		}
		if err := x.batch(ctx, i, n, labels, fn); err != nil {
			return err
		}
		i += n
	}
	return nil
}

// maxBatch limits the number of labels in memory.
const maxBatch = 1 << 16

// starts reads the memberships from the given index on. It returns the slices in one segment at which flows start, and the number
// of memberships that it read.
func (x *Index) starts(ctx context.Context, from int) (ordinals []uint64, n int, err error) {
	segment := -1
	var p membership
	for c := x.memberships.From(from); ; n++ {
		if n%(1<<14) == 0 && ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		ok, err := c.Next(&p)
		if err != nil || !ok {
			return ordinals, n, err
		}
		if p.n > 0 || len(ordinals) > 0 && ordinals[len(ordinals)-1] == p.ordinal {
			continue
		}
		if s := x.t.SegmentOf(p.ordinal); segment < 0 {
			segment = s
		} else if s != segment || len(ordinals) == maxBatch {
			return ordinals, n, nil
		}
		ordinals = append(ordinals, p.ordinal)
	}
}

// batch calls fn for the flows that start at the n memberships from the given index on.
func (x *Index) batch(ctx context.Context, from, n int, labels map[uint64]Label, fn func(Flow, Member, Label) error) error {
	var p membership
	c := x.memberships.From(from)
	for i := range n {
		if i%(1<<14) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if ok, err := c.Next(&p); err != nil || !ok {
			return err
		}
		if p.n > 0 {
			continue
		}
		f, err := x.Flow(int(p.flow))
		if err != nil {
			return err
		}
		first, err := x.Member(f, 0)
		if err != nil {
			return err
		}
		if err := fn(f, first, labels[p.ordinal]); err != nil {
			return err
		}
	}
	return nil
}
