package trace

import (
	"iter"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/resolved"
	"github.com/weft-trace/weft/internal/timeline"
)

// TrackID identifies a track within its trace. The zero TrackID is the trace itself, the parent of all top-level tracks; events
// cannot be on it.
type TrackID uint32

// TrackKind is the kind of a track.
type TrackKind string

// The kinds of tracks.
const (
	TraceTrack   TrackKind = "trace"   // the whole trace
	ProcessTrack TrackKind = "process" // a process
	ThreadTrack  TrackKind = "thread"  // a thread
	NamedTrack   TrackKind = "track"   // more slices and instants of its parent; see Track.Role
	CounterTrack TrackKind = "counter" // the values of one counter
)

var trackKinds = map[timeline.TrackKind]TrackKind{
	timeline.RootTrack: TraceTrack, timeline.ProcessTrack: ProcessTrack, timeline.ThreadTrack: ThreadTrack,
	timeline.NamedTrack: NamedTrack, timeline.AsyncTrack: NamedTrack, timeline.CounterTrack: CounterTrack,
}

// Role describes the contents of a NamedTrack, or marks the main process of a browser. Tracks from Builder.Track, and tracks of
// Perfetto traces that weft did not write, have no role.
type Role string

// The roles.
const (
	NoRole          Role = ""             // tracks from Builder.Track, or not written by weft
	RoleLane        Role = "lane"         // slices of the parent that overlap without nesting, or all slices of a GPU stream with such slices
	RoleAsync       Role = "async"        // the slices of one asynchronous id
	RoleInstants    Role = "instants"     // instants of a process or of the whole trace
	RoleOther       Role = "other"        // events without a track of their own, shown as instants
	RoleClockSync   Role = "clock sync"   // clock syncs, shown as instants
	RoleObjects     Role = "objects"      // lifetimes and snapshots of the objects of a class
	RoleThreadState Role = "thread state" // states of the thread above
	RoleCalls       Role = "calls"        // calls derived from the samples of the thread above
	RoleV8States    Role = "V8 states"    // states of a thread sampled by V8
	RolePageStates  Role = "page states"  // states of a thread in a JS self-profile
	RoleCategories  Role = "categories"   // states of a thread in a Firefox profile
	RoleSamplePages Role = "sample pages" // the document for which the thread above was running at each sample
	RoleNetwork     Role = "network"      // the requests of a process
	RoleAllocations Role = "allocations"  // sampled allocations of a thread, shown as instants
	RoleJSTracer    Role = "JS tracer"    // calls recorded by Firefox's tracer
	RolePaused      Role = "paused"       // periods when a profiler was paused
	RoleContexts    Role = "contexts"     // contexts of one type for which the thread above worked
	RoleCatalogue   Role = "catalogue"    // all contexts
	RoleMemory      Role = "memory"       // no events; holds counters of a process that weft derives from memory dumps
	RoleLongTasks   Role = "long tasks"   // tasks of at least 50 ms on the thread above
	RoleMainProcess Role = "main process" // on a ProcessTrack: the main process of a browser, not one of its pages or helpers
)

// roles maps timeline roles to Role values.
var roles = map[timeline.Role]Role{
	timeline.RoleLane:        RoleLane,
	timeline.RoleStream:      RoleLane,
	timeline.RoleAsync:       RoleAsync,
	timeline.RoleInstants:    RoleInstants,
	timeline.RoleOther:       RoleOther,
	timeline.RoleClockSync:   RoleClockSync,
	timeline.RoleObjects:     RoleObjects,
	timeline.RoleThreadState: RoleThreadState,
	timeline.RoleCalls:       RoleCalls,
	timeline.RoleV8States:    RoleV8States,
	timeline.RolePageStates:  RolePageStates,
	timeline.RoleCategories:  RoleCategories,
	timeline.RoleSamplePages: RoleSamplePages,
	timeline.RoleNetwork:     RoleNetwork,
	timeline.RoleAllocations: RoleAllocations,
	timeline.RoleJSTracer:    RoleJSTracer,
	timeline.RolePaused:      RolePaused,
	timeline.RoleContexts:    RoleContexts,
	timeline.RoleCatalogue:   RoleCatalogue,
	timeline.RoleMemory:      RoleMemory,
	timeline.RoleLongTasks:   RoleLongTasks,
	timeline.RoleMainProcess: RoleMainProcess,
	timeline.RoleInput:       "input", // slices of the thread above from another input
	timeline.RoleSpans:       "spans", // spans of the process or thread above
}

// Track is a row of the trace: a process, a thread, a counter, or any other row with events.
type Track struct {
	ID     TrackID
	Parent TrackID
	Kind   TrackKind
	Path   []string // names from the process down to the track itself; "" for a process or thread without a name
	Name   string   // of the process, thread or counter, or of the track itself
	PID    int64    // of the track's process in the recording; 0: no process, or its id is not a number
	TID    int64    // of the track's thread in the recording; 0 as for PID
	// ProcessName and ThreadName are the names of the track's process and thread.
	ProcessName, ThreadName string

	Labels []string // ProcessTrack: the process's labels in the recording, such as the titles of its pages
	Unit   string   // CounterTrack: unit of the values; "" if unknown
	Facts  []Arg    // ThreadTrack: values that all its samples share, such as "eventDelay", and that therefore have no track: ints, floats, strings

	// IDSpace distinguishes the recordings merged into the trace. Ids that are valid beyond one process, such as those for
	// windows, tabs, frames and requests in a browser, have the same meaning only on tracks with the same IDSpace. "" is the
	// trace's own id space.
	IDSpace string

	// Role describes the contents of a NamedTrack. Subject is what the contents concern, depending on the role: a class of
	// objects, the origin of a page or a context type.
	Role    Role
	Subject string
}

// Track returns the track with the given id. For an unknown id, it returns the zero Track, which is the trace itself.
func (t *Trace) Track(id TrackID) Track {
	t.describeTracks()
	if int(id) >= len(t.tracks) {
		return Track{}
	}
	return t.tracks[id]
}

// Tracks returns the tracks that have events, or have tracks with events below them. A track comes after its parent.
func (t *Trace) Tracks() iter.Seq[Track] {
	return func(yield func(Track) bool) {
		t.describeTracks()
		yielded := make([]bool, len(t.tracks))
		yielded[0] = true // the trace itself
		var path []TrackID
		for id := range t.tracks {
			if !t.used[id] {
				continue
			}
			path = path[:0]
			for up := TrackID(id); !yielded[up]; up = t.tracks[up].Parent {
				yielded[up] = true
				path = append(path, up)
			}
			for _, id := range slices.Backward(path) {
				if !yield(t.tracks[id]) {
					return
				}
			}
		}
	}
}

// describeTracks fills the track table on first use: the timeline's tracks, followed by their lanes.
func (t *Trace) describeTracks() {
	if t.tracks != nil {
		return
	}
	n := t.tl().TrackCount()
	t.tracks, t.used, t.numbers = make([]Track, n), make([]bool, n), resolved.NumberTracks(t.tl())
	for id := range n {
		tr := t.tl().Track(timeline.TrackID(id))
		out := Track{
			ID: TrackID(id), Parent: TrackID(tr.Parent), Kind: trackKinds[tr.Kind], Name: tr.Name, Labels: tr.Labels,
			Role: roles[t.tl().Role(tr.ID)], IDSpace: t.tl().IDSpace(tr.ID),
		}
		switch {
		case tr.Counter != nil:
			out.Unit = unitName(tr.Counter)
		case tr.Spec != nil:
			out.Subject = tr.Spec.Subject
		}
		for i := range tr.Facts {
			out.Facts = append(out.Facts, factArg(&tr.Facts[i]))
		}
		t.tracks[id], t.used[id] = out, tr.Used
		t.setOwner(&t.tracks[id])
	}
	for id := range n {
		t.describeLanes(TrackID(id))
	}
}

func factArg(f *timeline.Fact) Arg {
	switch {
	case f.Kind.IsText():
		return Arg{f.Kind.String(), NewValue(f.Text)}
	case f.Number.IsInt():
		return Arg{f.Kind.String(), intValue(f.Number.Int())}
	}
	return Arg{f.Kind.String(), NewValue(f.Number.Float())}
}

// describeLanes adds the lanes of a track: below a process or thread, otherwise as siblings of the track. The first lane of a
// stream is a track below its thread; for other tracks, the first lane is the track itself.
func (t *Trace) describeLanes(id TrackID) {
	track := timeline.TrackID(id)
	for n := t.tl().FirstLane(track); n <= t.tl().LaneCount(track); n++ {
		lane := t.tracks[id]
		lane.ID = TrackID(len(t.tracks))
		if lane.Kind == ProcessTrack || lane.Kind == ThreadTrack {
			lane.Kind, lane.Parent, lane.Name, lane.Labels, lane.Facts = NamedTrack, id, t.tl().LaneName(track), nil, nil
			lane.Role = RoleLane
			lane.Path = slices.Concat(lane.Path, []string{lane.Name})
		}
		t.tracks, t.used = append(t.tracks, lane), append(t.used, true)
	}
}

// trackOf returns the track for a lane of a track.
func (t *Trace) trackOf(track timeline.TrackID, lane uint32) TrackID {
	return TrackID(t.numbers.Of(track, lane))
}

// setOwner sets the path, process and thread of a track.
func (t *Trace) setOwner(tr *Track) {
	found := resolved.DescribeTrack(t.tl(), timeline.TrackID(tr.ID))
	tr.PID, tr.TID = found.Input()
	tr.Path, tr.ProcessName, tr.ThreadName = found.Path, found.ProcessName, found.ThreadName
}

var unitNames = [...]string{timeline.UnitNanos: "ns", timeline.UnitCount: "count", timeline.UnitBytes: "bytes"}

func unitName(k *timeline.CounterKey) string {
	if int(k.Unit) < len(unitNames) && unitNames[k.Unit] != "" {
		return unitNames[k.Unit]
	}
	return strings.TrimSpace(k.UnitName)
}
