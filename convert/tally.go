package convert

import (
	"math"

	"github.com/weft-trace/weft/timeline"
)

// A tally counts the events that go to the output.
type tally struct {
	events      EventCounts
	first, last timeline.Nanos
	any         bool
}

// add counts one item of a walk.
func (t *tally) add(item *timeline.Item) {
	if !t.any {
		t.any, t.first, t.last = true, math.MaxInt64, math.MinInt64
	}
	t.first, t.last = min(t.first, item.TS), max(t.last, item.TS)
	switch item.Kind {
	case timeline.ItemBegin:
		t.events.Slices++
		if item.Dur == timeline.NoTime {
			t.events.Unfinished++
		}
	case timeline.ItemInstant:
		t.events.Instants++
	case timeline.ItemCounter:
		t.events.CounterValues++
	case timeline.ItemSample:
		t.events.Samples++
	}
	for i := range item.Flows {
		if item.Flows[i].Previous != timeline.NoOrdinal {
			t.events.Flows++
		}
	}
}

// count fills in what is known when all events have gone by.
func (r *Report) count(tl *timeline.Timeline, t *tally) {
	r.Events = t.events
	if t.any {
		r.Span = &Span{Start: t.first, End: t.last}
	}
	for id := range tl.TrackCount() {
		track := tl.Track(timeline.TrackID(id))
		if !track.Used {
			continue
		}
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
	r.Problems = problemsOf(tl.Problems())
}
