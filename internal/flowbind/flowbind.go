// Package flowbind resolves flows: it binds flow ends to slices, separates the uses of reused ids, and gives each chain of slices
// its own id.
//
// There are three steps, each over a sorted stream, so that memory use does not grow with the trace:
//
//  1. bind: one scan of the timeline finds the slice of every flow end (bind.go);
//  2. link: the ends, sorted by key and time, are joined into arrows and chains by the rules for their space (link.go);
//  3. the members of all chains, sorted by slice, are attached to the timeline, which returns them with its slices.
//
// Visit reports the flows in the input; flowindex.Index is built from these. Steps returns their steps in time order, for
// attribution.
//
// The rules are in chrome-json.md 15, firefox.md 7 and, for Perfetto's own flow ids, perfetto.md 8.
package flowbind

import (
	"context"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// NestAndResolve nests a timeline, resolves its flows and attaches them. It adds errors in the flows to the timeline's problem
// log.
func NestAndResolve(ctx context.Context, t *timeline.Timeline) error { return resolve(ctx, t, nil) }

func hasFlows(t *timeline.Timeline) bool {
	for space := timeline.FlowV1; space <= timeline.LastFlowSpace; space++ {
		if t.HasFlows(space) {
			return true
		}
	}
	return false
}

// resolve is NestAndResolve; steps, which may be nil, collects the flow steps.
func resolve(ctx context.Context, t *timeline.Timeline, steps *stepWriter) error {
	if !hasFlows(t) {
		return t.Nest(ctx)
	}
	members := extsort.New(refOrder, t.Memory()/8, t.TempDir())
	defer members.Close()
	p := pass{timeline: t, problems: t.Problems(), visitor: noVisitor{}, write: members.Add, steps: steps}
	if err := p.run(ctx, t.NestAndScan); err != nil {
		return err
	}
	sorted, err := members.Sort()
	if err != nil {
		return err
	}
	r := &refs{sorted: sorted}
	if steps != nil {
		r.steps = &Steps{steps.sorter}
	}
	t.AttachFlows(r, p.arrows, p.unbound)
	return nil
}

type scanFunc func(context.Context, func([]timeline.Record) error) error

// pass is one run of the first two steps.
type pass struct {
	timeline *timeline.Timeline
	problems *problem.Log
	write    func(timeline.FlowRef) error // receives the members of chains and the ends that bind to nothing
	visitor  Visitor
	steps    *stepWriter // may be nil

	arrows  int64
	unbound int64 // number of ends that bind to nothing
}

func (p *pass) run(ctx context.Context, scan scanFunc) error {
	ends := extsort.New(endOrder, p.timeline.Memory()/8, p.timeline.TempDir())
	defer ends.Close()
	b := newBinder(ctx, p, ends)
	if err := scan(ctx, b.group); err != nil {
		return err
	}
	var err error
	if p.unbound, err = b.finish(); err != nil {
		return err
	}
	l := linker{problems: p.problems, members: p.write, visitor: p.visitor, steps: p.steps, timeline: p.timeline}
	p.arrows, err = l.link(ctx, ends)
	return err
}
