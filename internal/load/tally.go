package load

import (
	"context"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/trace"
)

// count fills in the counts that the resolved or written timeline provides.
func (r *Report) count(tl *timeline.Timeline) {
	totals := tl.Totals()
	r.Clock = recordedClock(tl)
	r.Events = EventCounts{
		Slices:        totals.ShownSlices(),
		Unfinished:    totals.Unfinished,
		Instants:      totals.InputInstants(),
		CounterValues: totals.CounterValues,
		Samples:       totals.Samples,
		Flows:         totals.Flows,

		IdleStates:    totals.IdleStates,
		AddedSlices:   totals.OwnSlices,
		AddedInstants: totals.OwnInstants,

		Screenshots:     tl.Screenshots().Count,
		ScreenshotBytes: tl.Screenshots().Bytes,
	}
	if totals.Any() {
		r.Span = &Span{Start: totals.Start, End: totals.End}
	}
	for id := range tl.TrackCount() {
		track := tl.Track(timeline.TrackID(id))
		if !track.Used {
			continue
		}
		r.Tracks.Other += int(tl.LaneCount(track.ID) + 1 - tl.FirstLane(track.ID))
		switch track.Kind {
		case timeline.ProcessTrack:
			r.Tracks.Processes++
		case timeline.ThreadTrack:
			r.Tracks.Threads++
		case timeline.AsyncTrack:
			r.Tracks.Async++
		case timeline.CounterTrack:
			r.Tracks.Counters++
		case timeline.NamedTrack:
			r.Tracks.Other++
		}
	}
	var tr trace.Trace
	timeline.Hold(context.Background(), &tr, tl)
	r.Problems = tr.Problems()
	for i := range r.Problems {
		if name := r.Problems[i].Name; problem.Usual(name, string(r.Format)) != "" {
			r.Usual = append(r.Usual, name)
		}
	}
}
