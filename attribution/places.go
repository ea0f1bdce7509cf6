package attribution

import (
	"github.com/weft-trace/weft/internal/timeline"
)

// role says what a track is to attribution.
type role uint8

const (
	roleNone    role = iota // nothing on it is attributed
	roleThread              // the slices of a thread
	roleAsync               // asynchronous slices
	roleInstant             // instants of a process or of the trace
	roleOther               // what has no place of its own; contexts are entered and left here
	roleObjects             // the lives and snapshots of objects
	roleOwn                 // written by an earlier attribution
)

// place is what attribution knows of a track.
type place struct {
	role    role
	thread  timeline.TrackID // the thread that it is or belongs to; 0: none
	process timeline.TrackID // 0: none
	pid     int64            // of the process, as in the input; Global without process
	class   string           // roleObjects: of the objects
	lane    bool             // roleThread: of slices that overlap others of the thread
	network bool             // Firefox's requests are on it
	sampled bool             // what samples say is on it: no asynchronous slices
	origin  string           // of the page, in self-profiles
}

// maxTrackDepth bounds the way from a track to its process.
const maxTrackDepth = 100

// findPlaces looks at all tracks.
func findPlaces(t *timeline.Timeline) []place {
	places := make([]place, t.TrackCount())
	places[0] = place{role: roleInstant, pid: Global}
	for id := range places[1:] {
		tr := t.Track(timeline.TrackID(id + 1))
		places[id+1] = placeOf(t, &tr)
	}
	findOrigins(t, places)
	return places
}

func placeOf(t *timeline.Timeline, tr *timeline.Track) place {
	p := place{pid: Global}
	for up, n := tr, 0; n < maxTrackDepth; n++ {
		switch up.Kind {
		case timeline.ThreadTrack:
			if p.thread == 0 {
				p.thread = up.ID
			}
		case timeline.ProcessTrack:
			p.process, p.pid = up.ID, pidOf(up)
		}
		if up.ID == 0 || p.process != 0 {
			break
		}
		next := t.Track(up.Parent)
		up = &next
	}
	switch tr.Kind {
	case timeline.ThreadTrack:
		p.role = roleThread
	case timeline.AsyncTrack:
		p.role = roleAsync
	case timeline.NamedTrack:
		p.declared(tr.Spec)
	}
	return p
}

// declared takes over what the reader has declared a track to be. Tracks without role are those of other producers: their
// slices are asynchronous ones.
func (p *place) declared(spec *timeline.TrackSpec) {
	p.role = roleAsync
	switch spec.Role {
	case timeline.RoleOther:
		p.role = roleOther
	case timeline.RoleObjects:
		p.role, p.class = roleObjects, spec.Subject
	case timeline.RoleLane:
		if p.lane = p.thread != 0; p.lane {
			p.role = roleThread
		}
	case timeline.RoleInstants:
		p.role = roleInstant
	case timeline.RoleThreadState, timeline.RoleClockSync, timeline.RoleV8States, timeline.RolePageStates, timeline.RoleCategories:
		p.role = roleNone
	case timeline.RoleCalls, timeline.RoleSamplePages:
		p.sampled = true
	case timeline.RoleNetwork:
		p.network = true
	case timeline.RoleContexts, timeline.RoleCatalogue:
		p.role = roleOwn
	}
}

// pidOf returns the pid of a process as the input has it, or a made-up one if that is no number of 64 bits.
func pidOf(tr *timeline.Track) int64 {
	if tr.InputID.Text == "" {
		return tr.InputID.Num
	}
	return int64(tr.PID)
}

// findMain finds the main process of a browser, which references in snapshots may mean.
func (c *catalogue) findMain(t *timeline.Timeline, places []place) {
	if id, ok := t.MainProcess(); ok && places[id].pid != Global {
		c.mainPID, c.hasMain = places[id].pid, true
	}
}
