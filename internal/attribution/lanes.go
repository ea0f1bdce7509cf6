package attribution

import (
	"slices"

	"github.com/weft-trace/weft/internal/timeline"
)

// Limits of the groups that nested reorders; only damaged traces exceed them.
const (
	maxLaneStarts = 1 << 6
	maxLaneGroup  = 1 << 12
)

// nested returns the events of one timestamp in the order in which the slices of each thread nest, longest first
// (attribution.md, Cost), and whether that is the order of ordinals. The two differ only if a Perfetto trace has
// overlapping slices of a thread on separate tracks. The result is valid until the next call.
func (f *found) nested(group []timeline.Head) ([]timeline.Head, bool) {
	if !f.hasLanes || len(group) == 1 || len(group) > maxLaneGroup {
		return group, true
	}
	starts := 0
	for i := range group {
		if f.onLane(&group[i]) {
			starts++
		}
	}
	if starts == 0 || starts > maxLaneStarts {
		return group, true
	}
	out := f.reorder[:0]
	for i := range group {
		if !f.onLane(&group[i]) {
			out = append(out, group[i])
		}
	}
	for i := range group {
		if o := &group[i]; f.onLane(o) {
			thread := f.tracks[o.Track].Thread
			at := slices.IndexFunc(out, func(other timeline.Head) bool {
				p := &f.tracks[other.Track]
				return p.Place == PlaceThread && p.Thread == thread && other.Kind != timeline.ItemEnd && encloses(o, &other)
			})
			if at < 0 {
				at = len(out)
			}
			out = slices.Insert(out, at, *o)
		}
	}
	f.reorder = out
	return out, false
}

// onLane reports whether a slice starts on a lane, a track of slices that overlap others of their thread.
func (f *found) onLane(o *timeline.Head) bool {
	return o.Kind == timeline.ItemBegin && f.tracks[o.Track].lane
}

// encloses reports whether the first of two events with the same start encloses the second. The longer event encloses the other;
// if both are equally long, the event that comes first in the input encloses the other.
func encloses(a, b *timeline.Head) bool {
	length := func(o *timeline.Head) timeline.Nanos {
		if o.Kind == timeline.ItemBegin && o.End != timeline.NoTime {
			return o.End - o.TS
		}
		return 0
	}
	if x, y := length(a), length(b); x != y {
		return x > y
	}
	return a.Event < b.Event
}
