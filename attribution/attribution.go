// Package attribution finds out for whom the work in a trace was done: which frame of a page, which script, which input
// event or which isolate is behind every slice, what each of them cost, and how that is known.
//
// The rules are those of docs/attribution.md. A context has a type ("Frame") and an identity. At
// any time a thread has at most one context of each type in effect. What brings a context into effect is found by
// providers (provider.go), one small file for each kind of producer:
//
//	explicit.go  events that enter and leave contexts themselves, and the objects behind these
//	chrome.go    the frames, isolates, scripts and animation frames that events of Chrome name
//	inputs.go    input events, from their arrival to the pixels
//	requests.go  network requests
//	firefox.go   windows, tabs and inputs of Firefox
//	origin.go    the pages of JS self-profiles, by their origin
//	earlier.go   what an earlier attribution has written and the trace itself no longer says
//
// The work is done in three passes over a nested timeline. None of them holds more than what is open at one time:
//
//  1. collect (collect.go): shows every event to the providers, which read its arguments and answer with evidence, by
//     the number of the slice, and with objects, which make the catalogue (catalogue.go) and the tree (tree.go);
//  2. propagate (propagate.go, ineffect.go, flows.go): follows contexts over flows, into asynchronous slices and with
//     requests, and finds the frames of what lies in a slice. It leaves the entries that begin with each slice;
//  3. stamp (stamp.go): nests everything once more, gives every slice its set of contexts, cuts the time of each thread
//     into intervals with one set each, and adds up what they cost (cost.go).
//
// The Result gives tables (tabulate.go), answers questions (query.go), and goes back into the trace: into a timeline that is
// written (writeback.go, overlay.go) or beside the packets of a Perfetto trace (packets.go). It takes the place of what an
// earlier attribution has written (earlier.go), unless that is just the same (unchanged.go).
package attribution

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/weft-trace/weft/internal/bridge"
	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/flowbind"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/suggest"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/trace"
)

// FlowConflict says what happens when a flow brings a context to a slice for which another one is in effect that is
// neither the same nor an ancestor of it.
type FlowConflict uint8

const (
	// ReplaceActive enters the context that the flow brings.
	ReplaceActive FlowConflict = iota
	// KeepActive leaves the active context in effect.
	KeepActive
	// CommonAncestor enters the lowest common ancestor of the two.
	CommonAncestor
)

var flowConflicts = [...]string{ReplaceActive: "replace", KeepActive: "keep", CommonAncestor: "lca"}

// String returns "replace", "keep" or "lca".
func (f FlowConflict) String() string {
	if int(f) < len(flowConflicts) {
		return flowConflicts[f]
	}
	return fmt.Sprintf("FlowConflict(%d)", uint8(f))
}

// ParseFlowConflict is the inverse of String.
func ParseFlowConflict(name string) (FlowConflict, error) {
	if i := slices.Index(flowConflicts[:], name); i >= 0 {
		return FlowConflict(i), nil
	}
	return 0, suggest.Unknown("way", name, flowConflicts[:])
}

// Options configure an attribution. The zero value uses every source and the rules as they are.
type Options struct {
	// Sources are the ways by which contexts are found; nil: all.
	Sources []Via
	// FlowConflict says what happens when a flow brings another context than the active one.
	FlowConflict FlowConflict
	// EndWithSlice leaves an explicit context at the end of the slice in which it was entered, whatever the input says. It
	// repairs producers that enter and do not leave.
	EndWithSlice bool
	// Cost says what costs are added up of.
	Cost CostOptions
	// Workers is the number of goroutines that may be at work; 0 means one for every core. It has no influence on the result.
	Workers int
	// Intervals asks for the times at which each context is in effect, for the tracks that are written back.
	Intervals bool
}

// has reports whether contexts are found in a certain way.
func (o *Options) has(via Via) bool {
	if o.Sources == nil {
		return true
	}
	return slices.Contains(o.Sources, via)
}

// CostOptions say what costs are added up of.
type CostOptions struct {
	// Window is the part of the trace that counts. Its times are those of the timeline, or count from the first event of
	// that if FromStart is set.
	Window    Window
	FromStart bool
	// AtBegin charges a slice to the contexts at its begin, whatever happens in it, as a panel of Chrome's old trace viewer
	// did.
	AtBegin bool
}

// Result is an attribution. It must be closed.
type Result struct {
	t        *timeline.Timeline
	c        *catalogue
	sets     *sets
	costs    *costs
	requests []Request
	inputs   []Input
	stamps   *extsort.Sorted[stamp] // nil when they were handed over
	shown    *intervals             // nil: none were asked for
	used     bitset                 // sets that slices and instants have
	own      ownTracks
	uses     firstUses

	attributed bool // the trace holds an earlier attribution

	inputIndex map[NodeID]int
	enteredBy  map[NodeID]typeSet // by logical node: the types by which it was entered explicitly; nil: not asked for yet
}

// Run attributes the work in a trace. What is wrong with the contexts of the input is counted, see trace.Trace.Problems.
// The result must be closed before the trace is.
func Run(ctx context.Context, tr *trace.Trace, opts Options) (r *Result, err error) {
	t := bridge.Timeline(tr)
	steps, err := flowbind.TakeSteps(ctx, t)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closeErr := steps.Close(); closeErr != nil && err == nil {
			r, err = nil, errors.Join(closeErr, r.Close())
		}
	}()
	c := newCollector(t, cmp.Or(opts.Workers, runtime.GOMAXPROCS(0)))
	f := c.found
	defer f.evidence.Close()
	if err := c.run(ctx); err != nil {
		return nil, err
	}
	p := newPropagation(f, steps, opts)
	defer p.out.Close()
	if err := p.run(ctx); err != nil {
		return nil, err
	}
	r = &Result{t: t, c: f.contexts, sets: p.sets, costs: newCosts(f.contexts, p.sets, t, &opts.Cost)}
	if opts.Intervals {
		r.shown = newIntervals(f.contexts, p.sets, t.Memory()/16, t.TempDir())
		r.costs.shown = r.shown
	}
	s := newStamper(p, r.costs)
	defer s.stamps.Close()
	err = s.run(ctx)
	if err == nil && r.shown != nil {
		err = r.shown.err
	}
	if err == nil {
		err = r.costs.cells.err
	}
	if err == nil {
		r.stamps, err = s.stamps.Sort()
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	r.requests, r.inputs, r.inputIndex = s.finishRequests(), f.inputs.list, f.inputs.byNode
	r.used, r.own, r.attributed, r.uses = s.used, f.own, f.attributed, s.uses
	dropped := f.contexts.dropped
	if len(f.explicit) > 0 {
		dropped += f.contexts.unseen // else objects are no contexts: recordings of the compositor have very many
	}
	if dropped += p.sets.full; dropped > 0 {
		t.Problems().AddN(problem.ContextLimit, dropped, problem.NoPosition, "")
	}
	if r.costs.limited > 0 {
		t.Problems().AddN(problem.CostLimit, r.costs.limited, problem.NoPosition, "")
	}
	if r.shown != nil && r.shown.full > 0 {
		t.Problems().AddN(problem.IntervalLimit, r.shown.full, problem.NoPosition, "")
	}
	return r, nil
}

// Close frees the memory and the temporary files of the result.
func (r *Result) Close() error {
	err := r.costs.cells.close()
	if r.stamps != nil {
		err = errors.Join(err, r.stamps.Close())
	}
	if r.shown != nil {
		err = errors.Join(err, r.shown.sorted.Close())
	}
	return err
}
