package convert

import (
	"context"
	"io"

	"github.com/weft-trace/weft/internal/timeline"
)

// Load is Open for tests that ask the timeline, with a report of what was read.
func Load(ctx context.Context, src io.Reader, opts Options) (*timeline.Timeline, *Report, error) {
	return load(ctx, src, opts)
}
