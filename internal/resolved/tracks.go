package resolved

import (
	"slices"

	"github.com/weft-trace/weft/internal/timeline"
)

// Track is where an event is: a track, or a lane of one.
type Track struct {
	// Path are the names of the tracks from the process down to the track. A process or thread without a name has an empty one.
	Path []string

	PID, TID                int64 // of the process and the thread that the track is or belongs to
	HasPID, HasTID          bool  // there are such
	MadeUp                  uint8 // MadeUpPID, MadeUpTID
	ProcessName, ThreadName string

	AsyncID, AsyncScope string // of an asynchronous track
	Lane                uint32

	Encoded [2][]byte // for what encodes rows: the track in its form. nil at first
}

// Which ids the input does not have as numbers, numbered as in weft.v1.
const (
	MadeUpPID = 1 << iota
	MadeUpTID
)

// Input returns the ids that the input has; 0 for those that weft made up.
func (t *Track) Input() (pid, tid int64) {
	if pid, tid = t.PID, t.TID; t.MadeUp&MadeUpPID != 0 {
		pid = 0
	}
	if t.MadeUp&MadeUpTID != 0 {
		tid = 0
	}
	return pid, tid
}

// maxTrackDepth bounds the way from a track to the root, whatever the timeline says.
const maxTrackDepth = 100

// DescribeTrack describes a track of a timeline, not one of its lanes.
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

// number returns the number of a process or thread: the input's if it has one, otherwise the output's.
func number(input timeline.InputID, output int64, flag, madeUp uint8) (int64, uint8) {
	if input.Text == "" {
		return input.Num, madeUp &^ flag
	}
	return output, madeUp | flag
}

// maxTracks is how many descriptions of tracks are kept: asynchronous ids make millions.
const maxTracks = 1 << 14

// tracks describes tracks and lanes. What it returns is valid until the next call.
type tracks struct {
	tl    *timeline.Timeline
	byID  []*Track // lane 0 of each track; nil: not described
	lanes map[timeline.TrackLane]*Track
	kept  int // in both
}

func newTracks(tl *timeline.Timeline) *tracks {
	return &tracks{tl: tl, byID: make([]*Track, tl.TrackCount()), lanes: map[timeline.TrackLane]*Track{}}
}

// at returns the description of a lane of a track.
func (t *tracks) at(id timeline.TrackID, lane uint32) *Track {
	if lane == 0 {
		if found := t.byID[id]; found != nil {
			return found
		}
	} else if found := t.lanes[timeline.TrackLane{Track: id, Lane: lane}]; found != nil {
		return found
	}
	if t.kept == maxTracks {
		t.kept = 0
		clear(t.byID)
		clear(t.lanes)
	}
	t.kept++
	track := describeLane(t.tl, id, lane)
	if lane == 0 {
		t.byID[id] = track
	} else {
		t.lanes[timeline.TrackLane{Track: id, Lane: lane}] = track
	}
	return track
}

// describeLane describes a lane of a track: below a process or thread, the lanes are tracks with a name of their own.
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
