package resolved

import (
	"slices"

	"github.com/weft-trace/weft/internal/timeline"
)

// Track is a track, or a lane of a track.
type Track struct {
	// Path holds the names of the tracks from the process down to this track, or "" for a process or thread without a name.
	Path []string

	PID, TID                int64 // of the track's process and thread
	HasPID, HasTID          bool  // whether the track has a process and a thread
	MadeUp                  uint8 // combination of MadeUpPID and MadeUpTID
	ProcessName, ThreadName string

	AsyncID, AsyncScope string // for an asynchronous track
	Lane                uint32

	Encoded [2][]byte // cache for row encoders; initially nil
}

// Flags for ids that are not numbers in the input and for which weft made up numbers, as in weft.v1.
const (
	MadeUpPID = 1 << iota
	MadeUpTID
)

// Input returns the ids in the input, or 0 for an id that weft made up.
func (t *Track) Input() (pid, tid int64) {
	if pid, tid = t.PID, t.TID; t.MadeUp&MadeUpPID != 0 {
		pid = 0
	}
	if t.MadeUp&MadeUpTID != 0 {
		tid = 0
	}
	return pid, tid
}

// maxTrackDepth limits the number of ancestors of a track.
const maxTrackDepth = 100

// DescribeTrack describes a track in a timeline, but not one of its lanes.
func DescribeTrack(tl *timeline.Timeline, id timeline.TrackID) *Track {
	t := &Track{}
	t.AsyncID, t.AsyncScope = tl.AsyncID(id), tl.AsyncScope(id)
	for range maxTrackDepth {
		if id == 0 {
			break
		}
		up := tl.Track(id)
		if len(t.Path) == 0 && up.Spec != nil {
			t.Lane = up.Spec.Lane
		}
		t.Path = append(t.Path, up.Name)
		switch up.Kind {
		case timeline.ThreadTrack:
			t.HasTID, t.ThreadName = true, up.Name
			t.TID, t.MadeUp = number(up.InputID, up.TID, MadeUpTID, t.MadeUp)
		case timeline.ProcessTrack:
			t.HasPID, t.ProcessName = true, up.Name
			t.PID, t.MadeUp = number(up.InputID, int64(up.PID), MadeUpPID, t.MadeUp)
		}
		id = up.Parent
	}
	slices.Reverse(t.Path)
	return t
}

// number returns the number of a process or thread in the input, or otherwise its number in the output.
func number(input timeline.InputID, output int64, flag, madeUp uint8) (int64, uint8) {
	if input.Text == "" {
		return input.Num, madeUp &^ flag
	}
	return output, madeUp | flag
}

// maxTracks limits the cache of track descriptions, because asynchronous ids can create millions of tracks.
const maxTracks = 1 << 14

// tracks describes tracks and lanes. Results are valid until the next call.
type tracks struct {
	tl    *timeline.Timeline
	byID  []*Track // cache for lane 0 of each track
	lanes map[timeline.TrackLane]*Track
	count int // number of entries in both caches
}

func newTracks(tl *timeline.Timeline) *tracks {
	return &tracks{tl: tl, byID: make([]*Track, tl.TrackCount()), lanes: map[timeline.TrackLane]*Track{}}
}

// at returns the description of a lane on a track.
func (t *tracks) at(id timeline.TrackID, lane uint32) *Track {
	if lane == 0 {
		if found := t.byID[id]; found != nil {
			return found
		}
	} else if found := t.lanes[timeline.TrackLane{Track: id, Lane: lane}]; found != nil {
		return found
	}
	if t.count == maxTracks {
		t.count = 0
		clear(t.byID)
		clear(t.lanes)
	}
	t.count++
	track := describeLane(t.tl, id, lane)
	if lane == 0 {
		t.byID[id] = track
	} else {
		t.lanes[timeline.TrackLane{Track: id, Lane: lane}] = track
	}
	return track
}

// describeLane describes a lane on a track. Lanes of a process or thread are tracks with their own names.
func describeLane(tl *timeline.Timeline, id timeline.TrackID, lane uint32) *Track {
	track := DescribeTrack(tl, id)
	if lane > 0 {
		track.Lane = lane
	}
	if kind := tl.TrackKind(id); lane >= tl.FirstLane(id) && (kind == timeline.ThreadTrack || kind == timeline.ProcessTrack) {
		track.Path = append(track.Path, tl.LaneName(id))
	}
	return track
}
