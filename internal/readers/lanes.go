// Package readers contains code that the readers of several formats share: options (options.go), JSON documents
// (document.go), tracks for overlapping intervals (lanes.go), records to be sorted by time (spool.go), and pictures
// (screenshot.go). Each format has a reader in a package below.
package readers

import (
	"github.com/weft-trace/weft/internal/collections"
	"github.com/weft-trace/weft/internal/timeline"
)

// Lanes manages the tracks for intervals of one kind. The tracks have the same name and parent, so viewers show them as one.
// Lanes is for readers that group intervals by better criteria than time; the engine itself moves everything that does not nest
// to lanes (timeline.Nest). An interval goes to the first track that is free at its start, or to a new one. Times can have any
// unit.
type Lanes[T timeline.Nanos | float64] struct {
	b      *timeline.Builder
	parent timeline.TrackID
	spec   timeline.TrackSpec
	tracks []timeline.TrackID
	busy   collections.Heap[busy[T]]
	free   collections.Heap[int]
}

// busy is the index of a track, and the time at which it becomes free.
type busy[T timeline.Nanos | float64] struct {
	end  T
	lane int
}

// NewLanes returns Lanes below parent, which use the existing tracks first.
func NewLanes[T timeline.Nanos | float64](b *timeline.Builder, parent timeline.TrackID, spec timeline.TrackSpec, existing ...timeline.TrackID) *Lanes[T] {
	s := &Lanes[T]{b: b, parent: parent, spec: spec, tracks: existing}
	s.busy = collections.NewHeap(func(a, b *busy[T]) bool { return a.end < b.end || a.end == b.end && a.lane < b.lane })
	s.free = collections.NewHeap(func(a, b *int) bool { return *a < *b })
	for i := range existing {
		s.free.Push(i)
	}
	return s
}

// Take returns the track for an interval and its index in the Lanes. Call it in order of start time. A track is free again at
// the end of its interval.
func (s *Lanes[T]) Take(start, end T) (track timeline.TrackID, lane int) {
	for s.busy.Len() > 0 && s.busy.Top().end <= start {
		s.free.Push(s.busy.Pop().lane)
	}
	lane = len(s.tracks)
	if s.free.Len() > 0 {
		lane = s.free.Pop()
	} else {
		s.tracks = append(s.tracks, s.b.NewTrack(s.parent, s.spec))
	}
	s.busy.Push(busy[T]{end, lane})
	return s.tracks[lane], lane
}

// Track returns the track with the given index, which Take returned.
func (s *Lanes[T]) Track(lane int) timeline.TrackID { return s.tracks[lane] }
