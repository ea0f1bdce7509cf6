package flowbind

import (
	"cmp"
	"context"
	"errors"

	"github.com/weft-trace/weft/internal/collections"
	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/timeline"
)

// Step is a flow passing a slice or instant: it comes in, goes out, or both.
type Step struct {
	At      timeline.Nanos // when it passes; Chrome's s, t and f may have a time inside their slice
	Event   uint32         // index in the input of the event that says so; it decides the order at one time
	Nth     uint32         // of the steps that one event says
	Flow    uint64         // number of the flow, from 1; a flow ends where its id ends or starts again
	Ordinal uint64         // of the slice or instant, see timeline.Head.Ordinal
	Track   timeline.TrackID
	In, Out bool
	Last    bool // the flow passes nothing after this
}

// Steps are all steps of the flows of a timeline, in the order of time. They must be closed.
type Steps struct {
	sorted *extsort.Sorter[Step]
}

// Next stores the next step in s and reports whether there was one.
func (s *Steps) Next(step *Step) (bool, error) {
	if s.sorted == nil {
		return false, nil
	}
	return s.sorted.Next(step)
}

// Rewind makes Next start again at the first step.
func (s *Steps) Rewind() error {
	if s.sorted == nil {
		return nil
	}
	return s.sorted.Rewind()
}

// Close frees what the steps hold.
func (s *Steps) Close() error {
	if s.sorted == nil {
		return nil
	}
	return s.sorted.Close()
}

// NestAndTrace is NestAndResolve for a timeline whose steps are asked for next: it collects them on the way. They stay
// with the timeline until TakeSteps takes them.
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

// TakeSteps returns the steps of a timeline that is nested and has its flows: those that NestAndTrace or VisitAndTrace has collected, or, if
// there are none, or they were taken, by going through the flows once more.
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

// stepWriter takes the steps as the linker finds them. A nil stepWriter takes nothing.
type stepWriter struct {
	sorter *extsort.Sorter[Step]
	flow   uint64
	held   Step // the latest, while it may be the last of its flow
	err    error
}

// step takes an end that the linker has handled; before is the state of its key before that.
func (c *stepWriter) step(e *end, before state) {
	if c == nil || e.nowhere {
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
			begins = true // a flow that had ended starts again
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
	c.held = s
}

// flush passes on the step that is held.
func (c *stepWriter) flush(last bool) {
	if c == nil || c.held.Flow == 0 {
		return
	}
	c.held.Last = last
	if c.err == nil {
		c.err = c.sorter.Add(c.held)
	}
	c.held = Step{}
}

// compareSteps sorts by time, then in the order of the input.
func compareSteps(a, b *Step) int {
	if a.At != b.At {
		return cmp.Compare(a.At, b.At)
	}
	return cmp.Or(cmp.Compare(a.Event, b.Event), cmp.Compare(a.Nth, b.Nth))
}

var stepOrder = extsort.Order[Step]{
	Compare: compareSteps,
	Key:     func(s *Step) uint64 { return collections.RadixKey(int64(s.At)) },
}

// failed returns the error of the temporary files.
func (c *stepWriter) failed() error {
	if c == nil {
		return nil
	}
	return c.err
}
