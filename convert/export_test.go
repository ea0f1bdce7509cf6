package convert

import (
	"cmp"
	"context"
	"io"

	"github.com/weft-trace/weft/internal/load"
	"github.com/weft-trace/weft/internal/timeline"
)

// Load is like Open, for tests that need the timeline and a report.
func Load(ctx context.Context, src io.Reader, opts Options) (*timeline.Timeline, *Report, error) {
	t, err := load.One(ctx, src, opts)
	if err == nil {
		err = cmp.Or(t.Attach(), t.Walk(ctx))
	}
	if err != nil {
		return nil, nil, err
	}
	return t.Timeline, t.Report, nil
}
