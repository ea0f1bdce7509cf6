package attribution

import (
	"context"
	"errors"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// Result is an attribution. It must be closed.
type Result struct {
	Timeline  *timeline.Timeline
	Contexts  *Catalogue
	Sets      *Sets
	Costs     *costs
	Requests  []Request
	Inputs    []Input
	EventSets *extsort.Sorted[EventSet] // nil after Attach
	Intervals *intervals                // nil without Rules.Intervals
	Used      Bitset[SetID]             // sets of slices and instants
	Own       ownTracks
	Runs      map[IsolateRun]bool // frames and scripts by the threads that run them
	Uses      firstUses

	Attributed bool // the trace contains an earlier attribution

	inputIndex map[NodeID]int
}

// Request is a network request.
type Request struct {
	ID         string
	Set        SetID          // the contexts for which it was sent
	Start, End timeline.Nanos // times of sending and finishing; NoTime: not recorded
	Bytes      int64          // number of bytes received, without headers if the browser reports that number

	Thread timeline.TrackID // sender; 0: unknown
}

// sumCosts runs the third pass: it computes the set of each slice and instant, and the cost of each set.
func sumCosts(ctx context.Context, f *found, e *Entries, opts Rules) (r *Result, err error) {
	t, sets := f.T, e.Sets
	r = &Result{Timeline: t, Contexts: f.Contexts, Sets: sets, Costs: newCosts(f.Contexts, sets, t, &opts.Cost)}
	if opts.Intervals {
		r.Intervals = newIntervals(f.Contexts, sets, t.Memory()/16, t.TempDir())
		r.Costs.intervals = r.Intervals
	}
	s := newCosting(f, e, r.Costs, opts)
	defer s.eventSets.Close()
	err = s.run(ctx)
	if err == nil && r.Intervals != nil {
		err = r.Intervals.err
	}
	if err == nil {
		err = r.Costs.Cells.err
	}
	if err == nil {
		r.EventSets, err = s.eventSets.Sort()
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	r.Requests, r.Inputs, r.inputIndex = s.finishRequests(e.Requests), f.inputs.List, f.inputs.byNode
	r.Used, r.Own, r.Runs, r.Attributed, r.Uses = s.used, f.Own, f.Runs, f.attributed, s.uses
	r.countLimits(f)
	return r, nil
}

// countLimits reports losses due to limits as problems.
func (r *Result) countLimits(f *found) {
	log := r.Timeline.Problems()
	dropped := f.Contexts.dropped + r.Sets.Full
	if len(f.Explicit) > 0 {
		dropped += f.Contexts.droppedStates // without explicit events objects are not contexts, and compositor recordings have very many
	}
	if dropped > 0 {
		log.AddN(problem.ContextLimit, dropped, problem.NoPosition, "")
	}
	if r.Costs.limited > 0 {
		log.AddN(problem.CostLimit, r.Costs.limited, problem.NoPosition, "")
	}
	if r.Intervals != nil && r.Intervals.dropped > 0 {
		log.AddN(problem.IntervalLimit, r.Intervals.dropped, problem.NoPosition, "")
	}
}

// Close frees the memory and the temporary files of the result.
func (r *Result) Close() error {
	err := r.Costs.Cells.close()
	if r.EventSets != nil {
		err = errors.Join(err, r.EventSets.Close())
	}
	if r.Intervals != nil {
		err = errors.Join(err, r.Intervals.Sorted.Close())
	}
	return err
}

// Unattributed is the name for work without a context of a given type.
const Unattributed = "(unattributed)"
