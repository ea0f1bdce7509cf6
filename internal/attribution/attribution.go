// Package attribution is the engine of attribution: it leads a timeline through the rooms below it, in one direction. Evidence
// says what the events say about contexts, propagation what follows from that elsewhere in the trace, cost what each slice has in
// the end and what that cost. Tables and writeback start from the result.
package attribution

import (
	"cmp"
	"context"
	"runtime"

	"github.com/weft-trace/weft/internal/attribution/cost"
	"github.com/weft-trace/weft/internal/attribution/evidence"
	"github.com/weft-trace/weft/internal/attribution/options"
	"github.com/weft-trace/weft/internal/attribution/propagation"
	"github.com/weft-trace/weft/internal/flowbind"
	"github.com/weft-trace/weft/internal/timeline"
)

// Run attributes the work in a trace. What is wrong with the contexts of the input is counted, see trace.Trace.Problems.
// The result must be closed before the trace is.
func Run(ctx context.Context, t *timeline.Timeline, opts options.Rules) (*cost.Result, error) {
	steps, err := flowbind.TakeSteps(ctx, t)
	if err != nil {
		return nil, err
	}
	defer steps.Close()
	found, err := evidence.Collect(ctx, t, cmp.Or(opts.Workers, runtime.GOMAXPROCS(0)))
	if err != nil {
		return nil, err
	}
	defer found.Evidence.Close()
	entries, err := propagation.Run(ctx, found, steps, opts)
	if err != nil {
		return nil, err
	}
	defer entries.Sorted.Close()
	return cost.Run(ctx, found, entries, opts)
}
