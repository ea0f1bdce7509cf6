package convert

import (
	"context"
	"io"

	"github.com/weft-trace/weft/trace"
)

// Open reads a trace of any format from src and resolves it. The trace must be closed. Options that concern an output have
// no effect. Errors and ctx are as for Convert; bad data inside a readable input is counted, see trace.Trace.Problems.
func Open(ctx context.Context, src io.Reader, opts Options) (*trace.Trace, error) {
	tl, _, err := Load(ctx, src, opts)
	if err != nil {
		return nil, err
	}
	return trace.FromTimeline(tl), nil
}
