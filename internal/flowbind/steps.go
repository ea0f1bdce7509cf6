package flowbind

import (
	"cmp"
	"context"
	"errors"

	"github.com/weft-trace/weft/internal/collections"
	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/timeline"
)

// Step is a flow's passage through a slice or instant, which the flow enters (In), leaves (Out), or both.
type Step struct {
	At      timeline.Nanos // can be inside the slice for Chrome's s, t and f
	Event   uint32         // input index of the event with this end; orders steps at the same time
	Nth     uint32         // index among the steps of the event
	Flow    uint64         // number of the flow, from 1; a flow ends where its id ends or starts again
	Ordinal uint64         // of the slice or instant, see timeline.Head.Ordinal
	Track   timeline.TrackID
	In, Out bool
	Last    bool // this is the last step of the flow
}

// Steps iterates over all steps of a timeline's flows, in time order. It must be closed.
type Steps struct {
	sorted *extsort.Sorter[Step]
}

// Next stores the next step in *step and reports whether there was one.
func (s *Steps) Next(step *Step) (bool, error) {
	if s.sorted == nil {
		return false, nil
	}
	return s.sorted.Next(step)
}

// Close frees the memory and removes temporary files.
func (s *Steps) Close() error {
	if s.sorted == nil {
		return nil
	}
	return s.sorted.Close()
}

// NestAndTrace is NestAndResolve that also collects the steps. The timeline owns them until TakeSteps is called.
func NestAndTrace(ctx context.Context, t *timeline.Timeline) error {
	if !hasFlows(t) {
		return t.Nest(ctx)
	}
	c := newStepWriter(t)
	err := resolve(ctx, t, c)
	if err != nil {
		err = errors.Join(err, c.sorter.Close())
	}
	return err
}

// TakeSteps returns the steps of a nested timeline with resolved flows. If NestAndTrace or VisitAndTrace has not collected them,
// or if they have already been taken, it processes the flows once more.
func TakeSteps(ctx context.Context, t *timeline.Timeline) (*Steps, error) {
	if !hasFlows(t) {
		return &Steps{}, nil
	}
	if r, ok := t.AttachedFlows().(*refs); ok && r.steps != nil {
		steps := r.steps
		r.steps = nil
		return steps, nil
	}
	c := newStepWriter(t)
	if err := visit(ctx, t, noVisitor{}, c); err != nil {
		return nil, errors.Join(err, c.sorter.Close())
	}
	return &Steps{c.sorter}, nil
}

func newStepWriter(t *timeline.Timeline) *stepWriter {
	return &stepWriter{sorter: extsort.New(stepOrder, t.Memory()/16, t.TempDir())}
}

// stepWriter collects the steps that the linker finds. A nil stepWriter ignores them.
type stepWriter struct {
	sorter  *extsort.Sorter[Step]
	flow    uint64
	pending Step // the latest step, which may be the last of its flow
	err     error
}

// step adds an end that the linker has processed; the parameter before is the state of the end's key before this end.
func (c *stepWriter) step(e *end, before state) {
	if c == nil || e.unbound {
		return
	}
	s := Step{At: e.ts, Event: e.event, Nth: e.nth, Ordinal: e.slice.Ordinal, Track: e.slice.Track}
	begins := before == none
	switch e.Space {
	case timeline.FlowNative:
		if begins && e.role == timeline.FlowEnd {
			return
		}
	case timeline.FlowFirefox, timeline.FlowLink:
	default:
		if begins != (e.role == timeline.FlowStart) {
			if e.role != timeline.FlowStart || before == open {
				return
			}
			begins = true // a flow that has ended starts again
		}
	}
	s.In, s.Out = !begins, e.role != timeline.FlowEnd
	if begins {
		c.flush(true)
		c.flow++
	} else {
		c.flush(false)
	}
	s.Flow = c.flow
	c.pending = s
}

// flush writes the pending step.
func (c *stepWriter) flush(last bool) {
	if c == nil || c.pending.Flow == 0 {
		return
	}
	c.pending.Last = last
	if c.err == nil {
		c.err = c.sorter.Add(c.pending)
	}
	c.pending = Step{}
}

// compareSteps orders steps by time, then in input order.
func compareSteps(a, b *Step) int {
	return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Event, b.Event), cmp.Compare(a.Nth, b.Nth))
}

var stepOrder = extsort.Order[Step]{
	Compare: compareSteps,
	Key:     func(s *Step) uint64 { return collections.RadixKey(int64(s.At)) },
}

// failed returns any error from the temporary files.
func (c *stepWriter) failed() error {
	if c == nil {
		return nil
	}
	return c.err
}
