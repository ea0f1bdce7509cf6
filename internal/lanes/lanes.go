// Package lanes finds tracks for intervals that overlap: several tracks of one name and parent, which viewers show as one. It is for
// readers that know what belongs together better than the order of time does; the engine itself moves to lanes whatever does not nest
// (timeline.Timeline.Nest).
package lanes

import (
	"github.com/weft-trace/weft/internal/minheap"
	"github.com/weft-trace/weft/internal/timeline"
)

// Set are the tracks of intervals of one kind. An interval goes to the first track that is free at its start; a track is made
// where there is none.
type Set struct {
	b      *timeline.Builder
	parent timeline.TrackID
	spec   timeline.TrackSpec
	tracks []timeline.TrackID
	busy   minheap.Heap[busy]
	free   minheap.Heap[int]
}

// busy is a track, as its index, and the time from which it is free.
type busy struct {
	end  timeline.Nanos
	lane int
}

// New returns a Set of tracks below parent. Tracks that are there already come first.
func New(b *timeline.Builder, parent timeline.TrackID, spec timeline.TrackSpec, there ...timeline.TrackID) *Set {
	s := &Set{b: b, parent: parent, spec: spec, tracks: there}
	s.busy = minheap.New(func(a, b *busy) bool { return a.end < b.end || a.end == b.end && a.lane < b.lane })
	s.free = minheap.New(func(a, b *int) bool { return *a < *b })
	for i := range there {
		s.free.Push(i)
	}
	return s
}

// Take returns the track of an interval and its index among the tracks of the Set. Intervals come in the order of their starts. One without
// length would lie in another one that starts with it, so its track is not free before the next time.
func (s *Set) Take(start, end timeline.Nanos) (track timeline.TrackID, lane int) {
	for s.busy.Len() > 0 && s.busy.Top().end <= start {
		s.free.Push(s.busy.Pop().lane)
	}
	lane = len(s.tracks)
	if s.free.Len() > 0 {
		lane = s.free.Pop()
	} else {
		s.tracks = append(s.tracks, s.b.NewTrack(s.parent, s.spec))
	}
	s.busy.Push(busy{max(end, start+1), lane})
	return s.tracks[lane], lane
}

// Track returns the track with an index that Take gave.
func (s *Set) Track(lane int) timeline.TrackID { return s.tracks[lane] }
