package attribution

import (
	"github.com/weft-trace/weft/internal/timeline"
)

// Place is the role of a track in attribution.
type Place uint8

const (
	placeNone    Place = iota // not attributed
	PlaceThread               // the slices of a thread
	placeAsync                // asynchronous slices
	placeInstant              // instants of a process or of the trace
	placeOther                // events that Perfetto cannot represent, such as enter and leave events
	placeObjects              // creations, snapshots and deletions of objects
	placeOwn                  // written by an earlier attribution
)

// track holds the facts that attribution uses about a track.
type track struct {
	Place     Place
	Thread    timeline.TrackID // the thread of the track; for spans the track itself; 0: none
	process   timeline.TrackID // 0: none
	pid       int64            // pid in the input; Global if the track has no process
	moved     timeline.Nanos   // difference between event times and times in event arguments, due to clock alignment
	class     string           // placeObjects: class of the objects
	lane      bool             // PlaceThread: its slices overlap others of the thread
	network   bool             // has Firefox requests
	sampled   bool             // derived from samples, so its slices are not asynchronous
	duplicate bool             // other slices of the thread already count its time
	origin    string           // self-profiles: origin of the page
	idSpace   string           // id space of global ids, see timeline.Timeline.IDSpace
}

// maxTrackDepth bounds the number of ancestors of a track.
const maxTrackDepth = 100

// TracksOf returns the facts about all tracks, by id.
func TracksOf(t *timeline.Timeline) []track {
	places := make([]track, t.TrackCount())
	places[0] = track{Place: placeInstant, pid: Global, idSpace: t.IDSpace(0)}
	for id := range places[1:] {
		tr := t.Track(timeline.TrackID(id + 1))
		places[id+1] = placeOf(t, &tr)
	}
	findOrigins(t, places)
	return places
}

func placeOf(t *timeline.Timeline, tr *timeline.Track) track {
	p := track{pid: Global, idSpace: t.IDSpace(tr.ID)}
	for up, n := tr, 0; n < maxTrackDepth; n++ {
		switch up.Kind {
		case timeline.ThreadTrack:
			if p.Thread == 0 {
				p.Thread = up.ID
			}
		case timeline.ProcessTrack:
			p.process, p.pid, p.moved = up.ID, pidOf(up), up.Moved
		}
		if up.ID == 0 || p.process != 0 {
			break
		}
		next := t.Track(up.Parent)
		up = &next
	}
	switch tr.Kind {
	case timeline.ThreadTrack:
		p.Place = PlaceThread
	case timeline.AsyncTrack:
		p.Place = placeAsync
	case timeline.NamedTrack:
		p.declared(tr)
	}
	return p
}

// declared applies the role that the reader gave a track. Tracks without a role come from other producers and have
// asynchronous slices.
func (p *track) declared(tr *timeline.Track) {
	spec := tr.Spec
	p.Place = placeAsync
	switch spec.Role {
	case timeline.RoleSpans:
		p.Place, p.Thread = PlaceThread, tr.ID
	case timeline.RoleOther:
		p.Place = placeOther
	case timeline.RoleObjects:
		p.Place, p.class = placeObjects, spec.Subject
	case timeline.RoleLane, timeline.RoleStream:
		if p.lane = p.Thread != 0; p.lane {
			p.Place = PlaceThread
		}
	case timeline.RoleInstants:
		p.Place = placeInstant
	case timeline.RoleThreadState, timeline.RoleClockSync, timeline.RoleV8States, timeline.RolePageStates, timeline.RoleCategories,
		timeline.RoleLongTasks:
		p.Place = placeNone
	case timeline.RoleCalls, timeline.RoleSamplePages:
		p.sampled = true
	case timeline.RoleInput:
		p.duplicate = true
	case timeline.RoleNetwork:
		p.network = true
	case timeline.RoleContexts, timeline.RoleCatalogue:
		p.Place = placeOwn
	}
}

// pidOf returns the pid of a process in the input, or the assigned pid if the input's id is text.
func pidOf(tr *timeline.Track) int64 {
	if tr.InputID.Text == "" {
		return tr.InputID.Num
	}
	return int64(tr.PID)
}
