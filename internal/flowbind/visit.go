package flowbind

import (
	"context"
	"errors"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// Visitor receives the flows of the input, one after the other: in the order of their ids, equal keys in the order of time.
type Visitor interface {
	// Begin begins a flow with its first member. A flow passes a member at a time inside its slice.
	Begin(key Key, at timeline.Nanos, s *Slice)
	// Follow adds the member to which the flow leads from the slice with the ordinal from: the last member, or one before
	// it that leads to several.
	Follow(at timeline.Nanos, s *Slice, from uint64)
	// Join adds a member that comes after the last one, or is the last one again.
	Join(at timeline.Nanos, s *Slice)
	// End ends the flow; ended means that the input does.
	End(ended bool)
}

// Visit tells v of all flows of a timeline that is nested. It changes nothing, and counts no problems: that was done when
// the flows were resolved.
func Visit(ctx context.Context, t *timeline.Timeline, v Visitor) error {
	if !hasFlows(t) {
		return nil
	}
	return visit(ctx, t, v, nil)
}

// VisitAndTrace is Visit for a timeline whose steps are asked for next: it collects them on the way. They stay with the timeline until
// TakeSteps takes them.
func VisitAndTrace(ctx context.Context, t *timeline.Timeline, v Visitor) error {
	r, ok := t.AttachedFlows().(*refs)
	if !ok || r.steps != nil {
		return Visit(ctx, t, v)
	}
	c := newStepWriter(t)
	if err := visit(ctx, t, v, c); err != nil {
		return errors.Join(err, c.sorter.Close())
	}
	r.steps = &Steps{c.sorter}
	return nil
}

func visit(ctx context.Context, t *timeline.Timeline, v Visitor, steps *stepWriter) error {
	p := pass{
		timeline: t, problems: new(problem.Log), visitor: v, steps: steps, write: func(timeline.FlowRef) error { return nil },
	}
	return p.run(ctx, t.Scan)
}

// noVisitor ignores flows.
type noVisitor struct{}

func (noVisitor) Begin(Key, timeline.Nanos, *Slice)     {}
func (noVisitor) Follow(timeline.Nanos, *Slice, uint64) {}
func (noVisitor) Join(timeline.Nanos, *Slice)           {}
func (noVisitor) End(bool)                              {}
