package resolved

import "github.com/weft-trace/weft/internal/timeline"

// TrackNumbers numbers the tracks and lanes of a timeline as package trace does: first the tracks, by id, then the lanes of each
// track.
type TrackNumbers struct {
	first []uint32 // by track: number of its first lane
	from  []uint32 // by track: its first lane, 0 or 1; if it is 1, the track itself is lane 0
}

// NumberTracks numbers the tracks of a timeline.
func NumberTracks(tl *timeline.Timeline) *TrackNumbers {
	count := tl.TrackCount()
	n := &TrackNumbers{make([]uint32, count), make([]uint32, count)}
	next := uint32(count)
	for id := range timeline.TrackID(count) {
		first := tl.FirstLane(id)
		n.first[id], n.from[id] = next, first
		next += tl.LaneCount(id) + 1 - first
	}
	return n
}

// Of returns the number of a lane on a track.
func (n *TrackNumbers) Of(track timeline.TrackID, lane uint32) uint32 {
	if lane < n.from[track] {
		return uint32(track)
	}
	return n.first[track] + lane - n.from[track]
}
