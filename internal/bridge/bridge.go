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

// walkKey is the key of a context for Unwalked; its value is a *lastWalk.
type walkKey struct{}

// lastWalk is the walk that a caller of convert.Open does.
type lastWalk struct {
	done func() // completes the report of the trace; nil before it is open
}

// Unwalked returns a context with which convert.Open leaves out its walk over the events, which finds the last problems: for a caller
// that walks over all of them itself, and asks for problems after that. Until it calls Walked, the report of the conversion lacks events,
// tracks and problems. The context is for one trace.
func Unwalked(ctx context.Context) context.Context {
	return context.WithValue(ctx, walkKey{}, new(lastWalk))
}

// Walked completes the report of the trace that was opened with a context of Unwalked.
func Walked(ctx context.Context) {
	if w, ok := ctx.Value(walkKey{}).(*lastWalk); ok && w.done != nil {
		w.done()
	}
}

// LeaveWalk reports whether a context is one of Unwalked, and if so leaves it to Walked to call done.
func LeaveWalk(ctx context.Context, done func()) bool {
	w, ok := ctx.Value(walkKey{}).(*lastWalk)
	if ok {
		w.done = done
	}
	return ok
}

// Trace returns the trace that a resolved timeline holds, and which owns it: Trace[trace.Trace](ctx, tl). Loops over the trace end
// when ctx is done.
func Trace[T any](ctx context.Context, tl *timeline.Timeline) *T { return traceOf(ctx, tl).(*T) }

// Track returns the trace.TrackID of a lane of a track, or of the track itself if lane is 0.
func Track(tr any, track timeline.TrackID, lane uint32) uint32 { return trackOf(tr, track, lane) }
