// Package readers has what the readers of several formats share: options (options.go), tracks for intervals that overlap (lanes.go), records that wait in
// the order of time (spool.go), and pictures (screenshot.go). Each format has its reader in a package below.
package readers

import (
	"github.com/weft-trace/weft/internal/collections"
	"github.com/weft-trace/weft/internal/timeline"
)

// Lanes are the tracks of intervals of one kind: several of one name and parent, which viewers show as one. They are for readers that know
// what belongs together better than the order of time does; the engine itself moves to lanes whatever does not nest (timeline.Nest). An interval goes to the first track that is free at its start; a track is made
// where there is none. Times are of any unit.
type Lanes[T timeline.Nanos | float64] struct {
	b      *timeline.Builder
	parent timeline.TrackID
	spec   timeline.TrackSpec
	tracks []timeline.TrackID
	busy   collections.Heap[busy[T]]
	free   collections.Heap[int]
}

// busy is a track, as its index, and the time from which it is free.
type busy[T timeline.Nanos | float64] struct {
	end  T
	lane int
}

// NewLanes returns a Lanes of tracks below parent. Tracks that are there already come first.
func NewLanes[T timeline.Nanos | float64](b *timeline.Builder, parent timeline.TrackID, spec timeline.TrackSpec, there ...timeline.TrackID) *Lanes[T] {
	s := &Lanes[T]{b: b, parent: parent, spec: spec, tracks: there}
	s.busy = collections.NewHeap(func(a, b *busy[T]) bool { return a.end < b.end || a.end == b.end && a.lane < b.lane })
	s.free = collections.NewHeap(func(a, b *int) bool { return *a < *b })
	for i := range there {
		s.free.Push(i)
	}
	return s
}

// Take returns the track of an interval and its index among the tracks of the Lanes. Intervals come in the order of their starts. A
// track is free at the end of its interval.
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

// Track returns the track with an index that Take gave.
func (s *Lanes[T]) Track(lane int) timeline.TrackID { return s.tracks[lane] }
