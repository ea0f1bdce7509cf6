// Package attribution is the engine of attribution: it finds out for whom the work in a timeline was done. Three passes follow
// each other; each gets what the one before has found, and no later one reads what an earlier one reads.
//
//  1. Evidence (collect.go): each event is shown to the providers, a small file for each kind of producer (provider.go lists
//     them). Found is what every slice and instant says about contexts, sorted by ordinal, with the catalogue of contexts,
//     requests and input events. What follows reads no argument of an event.
//  2. Propagation (propagation.go): which contexts begin with each slice and instant. It follows contexts over flows, into
//     asynchronous slices and with requests, and finds the frames of what lies in a slice.
//  3. Cost (result.go): the set of contexts of every slice and instant, the intervals in which each context is in effect, and
//     what the work with each set cost, in cells from which tables are made.
//
// All of them use the Catalogue (catalogue.go): the contexts, their objects with their states over time (lives.go), and
// the trees that they form (tree.go). Only evidence adds to it. Sets (sets.go) are contexts in effect together, each set once;
// Index and Lists keep equal things once; Room is the share of a memory budget that each limit gets.
//
// What does not live here: cost tables (package tables), and how an attribution is written into a trace (package writeback).
package attribution

import (
	"cmp"
	"context"
	"runtime"

	"github.com/weft-trace/weft/internal/flowbind"
	"github.com/weft-trace/weft/internal/timeline"
)

// Run attributes the work in a trace. What is wrong with the contexts of the input is counted, see trace.Trace.Problems.
// The result must be closed before the trace is.
func Run(ctx context.Context, t *timeline.Timeline, opts Rules) (*Result, error) {
	steps, err := flowbind.TakeSteps(ctx, t)
	if err != nil {
		return nil, err
	}
	defer steps.Close()
	found, err := collect(ctx, t, cmp.Or(opts.Workers, runtime.GOMAXPROCS(0)))
	if err != nil {
		return nil, err
	}
	defer found.Evidence.Close()
	entries, err := propagate(ctx, found, steps, opts)
	if err != nil {
		return nil, err
	}
	defer entries.Sorted.Close()
	return sumCosts(ctx, found, entries, opts)
}
