package attribution

import (
	"github.com/weft-trace/weft/internal/timeline"
)

// Place says what a track is to attribution.
type Place uint8

const (
	placeNone    Place = iota // nothing on it is attributed
	PlaceThread               // the slices of a thread
	placeAsync                // asynchronous slices
	placeInstant              // instants of a process or of the trace
	placeOther                // what has no place of its own; contexts are entered and left here
	placeObjects              // the lives and snapshots of objects
	placeOwn                  // written by an earlier attribution
)

// track is what attribution knows of a track.
type track struct {
	Place   Place
	Thread  timeline.TrackID // the thread that it is or belongs to, of spans the track itself; 0: none
	process timeline.TrackID // 0: none
	pid     int64            // of the process, as in the input; Global without process
	moved   timeline.Nanos   // by how much the events of the process are later than times in their arguments
	class   string           // PlaceObjects: of the objects
	lane    bool             // PlaceThread: of slices that overlap others of the thread
	network bool             // Firefox's requests are on it
	sampled bool             // what samples say is on it: no asynchronous slices
	beside  bool             // slices of the thread as another recorder has seen them, which cost nothing more
	origin  string           // of the page, in self-profiles
	idSpace string           // of ids that are not of its process, see timeline.Timeline.IDSpace
}

// maxTrackDepth bounds the way from a track to its process.
const maxTrackDepth = 100

// TracksOf looks at all tracks.
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

// declared takes over the reader's declaration of a track. Tracks without a role come from other producers: their slices are
// asynchronous ones.
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
		p.beside = true
	case timeline.RoleNetwork:
		p.network = true
	case timeline.RoleContexts, timeline.RoleCatalogue:
		p.Place = placeOwn
	}
}

// pidOf returns the pid of a process as the input has it, or an assigned one if that is not a number of 64 bits.
func pidOf(tr *timeline.Track) int64 {
	if tr.InputID.Text == "" {
		return tr.InputID.Num
	}
	return int64(tr.PID)
}
