package trace

import (
	"iter"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/timeline"
)

// TrackID identifies a track of its trace. The zero TrackID is the trace itself, the parent of all tracks that have no
// other. A Builder adds no events to it.
type TrackID uint32

// TrackKind says what a track shows.
type TrackKind uint8

// The kinds of tracks.
const (
	TraceTrack   = TrackKind(timeline.RootTrack)    // the whole trace
	ProcessTrack = TrackKind(timeline.ProcessTrack) // a process
	ThreadTrack  = TrackKind(timeline.ThreadTrack)  // a thread
	NamedTrack   = TrackKind(timeline.NamedTrack)   // more slices and instants of its parent; Track.Role says which
	CounterTrack = TrackKind(timeline.CounterTrack) // the values of one counter
)

var trackKinds = [...]string{
	TraceTrack: "trace", ProcessTrack: "process", ThreadTrack: "thread", NamedTrack: "track", CounterTrack: "counter",
}

// String returns "trace", "process", "thread", "track" or "counter".
func (k TrackKind) String() string {
	if int(k) < len(trackKinds) && trackKinds[k] != "" {
		return trackKinds[k]
	}
	return "unknown"
}

// Role says what is on a track of kind NamedTrack. Tracks made by Builder.Track have none, and so have those of Perfetto
// traces that weft did not write.
type Role uint8

// The roles.
const (
	NoRole          = Role(timeline.NoRole)
	RoleLane        = Role(timeline.RoleLane)        // slices that overlap others of the thread or process above without nesting
	RoleAsync       = Role(timeline.RoleAsync)       // the slices of one asynchronous id
	RoleInstants    = Role(timeline.RoleInstants)    // instants of a process or of the whole trace
	RoleOther       = Role(timeline.RoleOther)       // events without a place of their own, as instants
	RoleClockSync   = Role(timeline.RoleClockSync)   // clock syncs, as instants
	RoleObjects     = Role(timeline.RoleObjects)     // the lives and snapshots of objects of one class
	RoleThreadState = Role(timeline.RoleThreadState) // states of the thread above
	RoleCalls       = Role(timeline.RoleCalls)       // calls made of the samples of the thread above
	RoleV8States    = Role(timeline.RoleV8States)    // what a thread sampled by V8 was doing
	RolePageStates  = Role(timeline.RolePageStates)  // the same for a thread of a JS self-profile
	RoleCategories  = Role(timeline.RoleCategories)  // the same for a thread of a Firefox profile
	RoleSamplePages = Role(timeline.RoleSamplePages) // for which document the thread above was sampled
	RoleNetwork     = Role(timeline.RoleNetwork)     // the requests of a process
	RoleAllocations = Role(timeline.RoleAllocations) // sampled allocations of a thread, as instants
	RoleJSTracer    = Role(timeline.RoleJSTracer)    // calls that Firefox's tracer has recorded
	RolePaused      = Role(timeline.RolePaused)      // when a profiler was paused
	RoleContexts    = Role(timeline.RoleContexts)    // contexts of one type for which the thread above worked
	RoleCatalogue   = Role(timeline.RoleCatalogue)   // all contexts
)

// roleNames has the words for roles that Role.String returns.
var roleNames = [...]string{
	NoRole: "none", RoleLane: "lane", RoleAsync: "async", RoleInstants: "instants", RoleOther: "other",
	RoleClockSync: "clock sync", RoleObjects: "objects", RoleThreadState: "thread state", RoleCalls: "calls",
	RoleV8States: "V8 states", RolePageStates: "page states", RoleCategories: "categories",
	RoleSamplePages: "sample pages", RoleNetwork: "network", RoleAllocations: "allocations", RoleJSTracer: "JS tracer",
	RolePaused: "paused", RoleContexts: "contexts", RoleCatalogue: "catalogue",
}

// String returns a word for the role, such as "lane"; "none" for NoRole.
func (r Role) String() string {
	if int(r) < len(roleNames) && roleNames[r] != "" {
		return roleNames[r]
	}
	return "unknown"
}

// Track is a row of the trace: a process, a thread, a counter, or anything else that events are on.
type Track struct {
	ID     TrackID
	Parent TrackID
	Kind   TrackKind
	Name   string   // of the process, thread or counter, or of the track itself
	PID    int64    // of the process that the track is or belongs to, as the recording has it; 0: none, or its id is no number
	TID    int64    // of the thread that the track is or belongs to, likewise
	Labels []string // ProcessTrack: what the recording says of the process, such as the titles of its pages
	Unit   string   // CounterTrack: of its values; "" if unknown

	// Role says what is on a NamedTrack, Subject of what: the class of objects, the origin of a page or the type of
	// contexts, as the role has it.
	Role    Role
	Subject string

	process, thread string // names
}

// Path returns the names of the tracks from the process down to the track itself. A process or thread without a name
// counts as "".
func (t *Trace) Path(id TrackID) []string {
	var path []string
	for n := 0; id != 0 && n < maxTrackDepth; n++ {
		tr := t.Track(id)
		path = append(path, tr.Name)
		id = tr.Parent
	}
	slices.Reverse(path)
	return path
}

// maxTrackDepth bounds the way from a track to the root.
const maxTrackDepth = 100

// Track returns the track with an id; the zero Track, which stands for the trace itself, if there is none.
func (t *Trace) Track(id TrackID) Track {
	t.describeTracks()
	if int(id) >= len(t.tracks) {
		return Track{}
	}
	return t.tracks[id]
}

// Tracks returns the tracks that have events, or tracks with events below them. A track comes after its parent.
func (t *Trace) Tracks() iter.Seq[Track] {
	return func(yield func(Track) bool) {
		t.describeTracks()
		given := make([]bool, len(t.tracks))
		given[0] = true // the trace itself
		var way []TrackID
		for id := range t.tracks {
			if !t.used[id] {
				continue
			}
			way = way[:0]
			for up := TrackID(id); !given[up]; up = t.tracks[up].Parent {
				given[up] = true
				way = append(way, up)
			}
			for _, id := range slices.Backward(way) {
				if !yield(t.tracks[id]) {
					return
				}
			}
		}
	}
}

// describeTracks makes the table of tracks, which never changes afterwards: those of the engine, and behind them the lanes
// of each.
func (t *Trace) describeTracks() {
	if t.tracks != nil {
		return
	}
	n := t.tl.TrackCount()
	t.tracks, t.lanes, t.used = make([]Track, n), make([]TrackID, n), make([]bool, n)
	for id := range n {
		tr := t.tl.Track(timeline.TrackID(id))
		out := Track{
			ID: TrackID(id), Parent: TrackID(tr.Parent), Kind: TrackKind(tr.Kind), Name: tr.Name, Labels: tr.Labels,
			Role: Role(t.tl.Role(tr.ID)),
		}
		switch {
		case tr.Kind == timeline.AsyncTrack:
			out.Kind = NamedTrack
		case tr.Counter != nil:
			out.Unit = unitName(tr.Counter)
		case tr.Spec != nil:
			out.Subject = tr.Spec.Subject
		}
		t.tracks[id], t.used[id] = out, tr.Used
		t.findOwner(&t.tracks[id])
	}
	for id := range n {
		t.describeLanes(TrackID(id))
	}
}

// describeLanes adds the lanes of a track: tracks below a process or thread, else beside the track and like it.
func (t *Trace) describeLanes(id TrackID) {
	t.lanes[id] = TrackID(len(t.tracks))
	for range t.tl.LaneCount(timeline.TrackID(id)) {
		lane := t.tracks[id]
		lane.ID = TrackID(len(t.tracks))
		if lane.Kind == ProcessTrack || lane.Kind == ThreadTrack {
			lane.Kind, lane.Parent, lane.Name, lane.Labels = NamedTrack, id, timeline.RoleLane.String(), nil
			lane.Role = RoleLane
		}
		t.tracks, t.used = append(t.tracks, lane), append(t.used, true)
	}
}

// trackOf returns the track of an item.
func (t *Trace) trackOf(it *timeline.Item) TrackID {
	if it.Lane == 0 {
		return TrackID(it.Track)
	}
	return t.lanes[it.Track] + TrackID(it.Lane) - 1
}

// findOwner finds the process and thread that a track belongs to.
func (t *Trace) findOwner(tr *Track) {
	id := tr.ID
	for n := 0; id != 0 && n < maxTrackDepth; n++ {
		up := t.tl.Track(timeline.TrackID(id))
		switch up.Kind {
		case timeline.ThreadTrack:
			tr.TID, tr.thread = up.InputID.Num, up.Name
		case timeline.ProcessTrack:
			tr.PID, tr.process = up.InputID.Num, up.Name
		}
		id = TrackID(up.Parent)
	}
}

// ProcessName returns the name of the process that the track is or belongs to; "" if it has none, or there is none.
func (t Track) ProcessName() string { return t.process }

// ThreadName returns the name of the thread that the track is or belongs to; "" if it has none, or there is none.
func (t Track) ThreadName() string { return t.thread }

var unitNames = [...]string{timeline.UnitNanos: "ns", timeline.UnitCount: "count", timeline.UnitBytes: "bytes"}

func unitName(k *timeline.CounterKey) string {
	if int(k.Unit) < len(unitNames) && unitNames[k.Unit] != "" {
		return unitNames[k.Unit]
	}
	return strings.TrimSpace(k.UnitName)
}
