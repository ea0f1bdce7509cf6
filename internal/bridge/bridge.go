// Package bridge leads from a trace.Trace to the timeline behind it, and back. Package trace registers the functions when
// it is initialised, so that neither has to be one of its exported names: a program that uses weft does not see the engine,
// and weft's own packages, which import trace anyway, still reach it.
package bridge

import (
	"context"

	"github.com/weft-trace/weft/internal/timeline"
)

var (
	timelineOf func(tr any) *timeline.Timeline
	traceOf    func(ctx context.Context, tl *timeline.Timeline) any
	trackOf    func(tr any, track timeline.TrackID, lane uint32) uint32
)

// Register is for package trace.
func Register(
	timelineOfTrace func(tr any) *timeline.Timeline,
	traceOfTimeline func(ctx context.Context, tl *timeline.Timeline) any,
	trackOfTrace func(tr any, track timeline.TrackID, lane uint32) uint32,
) {
	timelineOf, traceOf, trackOf = timelineOfTrace, traceOfTimeline, trackOfTrace
}

// Timeline returns the timeline behind a *trace.Trace.
func Timeline(tr any) *timeline.Timeline { return timelineOf(tr) }

// Trace returns the trace that a resolved timeline holds, and which owns it: Trace[trace.Trace](ctx, tl). Loops over the trace end
// when ctx is done.
func Trace[T any](ctx context.Context, tl *timeline.Timeline) *T { return traceOf(ctx, tl).(*T) }

// Track returns the trace.TrackID of a lane of a track, or of the track itself if lane is 0.
func Track(tr any, track timeline.TrackID, lane uint32) uint32 { return trackOf(tr, track, lane) }
