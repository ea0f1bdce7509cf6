// Package attribution is the attribution engine: it determines on whose behalf the work in a timeline was done. It runs three
// passes; each uses only the results of earlier ones.
//
//  1. Evidence (collect.go): the providers, one small file for each kind of producer (provider.go lists them), examine each
//     event. The result is the evidence for every slice and instant, sorted by ordinal, and the catalogue of contexts,
//     requests and input events. Later passes do not read event arguments.
//  2. Propagation (propagation.go): finds the contexts that take effect with each slice and instant. It propagates contexts along
//     flows, into asynchronous slices and through requests, and derives the frame of a slice from the slices inside it.
//  3. Cost (result.go): computes the set of contexts of every slice and instant, the intervals in which each context is in
//     effect, and the cost of each set, in cells from which tables are built.
//
// All passes use the Catalogue (catalogue.go): the contexts, the states of their objects over time (lives.go), and the trees
// that they form (tree.go). Only the evidence pass adds to it. Sets (sets.go) interns the sets of contexts that are in effect
// together. Limits scales the limits of these tables to the memory budget.
//
// Package tables builds cost tables; package writeback writes an attribution into a trace.
package attribution

import (
	"cmp"
	"context"
	"runtime"

	"github.com/weft-trace/weft/internal/flowbind"
	"github.com/weft-trace/weft/internal/timeline"
)

// Run attributes the work in a trace. It counts errors in the input's contexts as problems; see trace.Trace.Problems. The
// result must be closed before the trace.
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
