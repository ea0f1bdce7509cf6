package flowbind

import (
	"context"
	"errors"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// Visitor receives the flows in the input one at a time, sorted by key; flows with equal keys are in time order.
type Visitor interface {
	// Begin starts a flow with its first member. The parameter at is the time, inside the slice, at which the flow passes the
	// member.
	Begin(key Key, at timeline.Nanos, s *Slice)
	// Follow adds a member. The flow leads to it from the member with the given ordinal, which is the last member or an earlier
	// member with several outgoing arrows.
	Follow(at timeline.Nanos, s *Slice, from uint64)
	// Join adds a member after the last one. Both may be the same slice.
	Join(at timeline.Nanos, s *Slice)
	// End ends the flow. The parameter ended reports whether the input ends the flow.
	End(ended bool)
}

// Visit reports all flows in a nested timeline to v. It does not count problems, because NestAndResolve has already counted them.
func Visit(ctx context.Context, t *timeline.Timeline, v Visitor) error {
	if !hasFlows(t) {
		return nil
	}
	return visit(ctx, t, v, nil)
}

// VisitAndTrace is Visit that also collects the steps. The timeline owns them until TakeSteps is called.
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
