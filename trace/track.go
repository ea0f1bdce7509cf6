package trace

import (
	"iter"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/resolved"
	"github.com/weft-trace/weft/internal/timeline"
)

// TrackID identifies a track of its trace. The zero TrackID is the trace itself, the parent of all tracks that have no
// other. A Builder adds no events to it.
type TrackID uint32

// TrackKind says what a track shows.
type TrackKind string

// The kinds of tracks.
const (
	TraceTrack   TrackKind = "trace"   // the whole trace
	ProcessTrack TrackKind = "process" // a process
	ThreadTrack  TrackKind = "thread"  // a thread
	NamedTrack   TrackKind = "track"   // more slices and instants of its parent; Track.Role says which
	CounterTrack TrackKind = "counter" // the values of one counter
)

var trackKinds = map[timeline.TrackKind]TrackKind{
	timeline.RootTrack: TraceTrack, timeline.ProcessTrack: ProcessTrack, timeline.ThreadTrack: ThreadTrack,
	timeline.NamedTrack: NamedTrack, timeline.AsyncTrack: NamedTrack, timeline.CounterTrack: CounterTrack,
}

// Role tells what is on a track of kind NamedTrack and which process is the main one of a browser. Tracks made by Builder.Track have no role, nor do tracks of Perfetto
// traces that weft did not write.
type Role string

// The roles.
const (
	NoRole          Role = ""             // of tracks that are made by Builder.Track or were not written by weft
	RoleLane        Role = "lane"         // slices that overlap others of the thread or process above without nesting; all slices of a GPU stream with such slices
	RoleAsync       Role = "async"        // the slices of one asynchronous id
	RoleInstants    Role = "instants"     // instants of a process or of the whole trace
	RoleOther       Role = "other"        // events without a place of their own, as instants
	RoleClockSync   Role = "clock sync"   // clock syncs, as instants
	RoleObjects     Role = "objects"      // the lives and snapshots of objects of one class
	RoleThreadState Role = "thread state" // states of the thread above
	RoleCalls       Role = "calls"        // calls made of the samples of the thread above
	RoleV8States    Role = "V8 states"    // what a thread sampled by V8 was doing
	RolePageStates  Role = "page states"  // the same for a thread of a JS self-profile
	RoleCategories  Role = "categories"   // the same for a thread of a Firefox profile
	RoleSamplePages Role = "sample pages" // for which document the thread above was sampled
	RoleNetwork     Role = "network"      // the requests of a process
	RoleAllocations Role = "allocations"  // sampled allocations of a thread, as instants
	RoleJSTracer    Role = "JS tracer"    // calls that Firefox's tracer has recorded
	RolePaused      Role = "paused"       // when a profiler was paused
	RoleContexts    Role = "contexts"     // contexts of one type for which the thread above worked
	RoleCatalogue   Role = "catalogue"    // all contexts
	RoleMemory      Role = "memory"       // no events, but the counters of a process that are made of memory dumps
	RoleLongTasks   Role = "long tasks"   // tasks of 50 ms and more of the thread above
	RoleMainProcess Role = "main process" // on a ProcessTrack: the process of a browser that is not one of its pages or helpers
)

// roles are the roles as the engine has them.
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
	timeline.RoleInput:       "input", // slices of the thread above that another recorder has seen
	timeline.RoleSpans:       "spans", // spans of the process or thread above
}

// Track is a row of the trace: a process, a thread, a counter, or anything else that events are on.
type Track struct {
	ID     TrackID
	Parent TrackID
	Kind   TrackKind
	Path   []string // the names from the process down to the track itself; a process or thread without a name counts as ""
	Name   string   // of the process, thread or counter, or of the track itself
	PID    int64    // of the process that the track is or belongs to, as the recording has it; 0: none, or its id is not a number
	TID    int64    // of the thread that the track is or belongs to, likewise
	// ProcessName and ThreadName are the names of that process and that thread.
	ProcessName, ThreadName string

	Labels []string // ProcessTrack: the recording's labels of the process, such as the titles of its pages
	Unit   string   // CounterTrack: of its values; "" if unknown
	Facts  []Arg    // ThreadTrack: values that all its samples have, such as "eventDelay", which so have no track: ints, floats and strings

	// IDSpace tells the recordings apart that were merged into the trace: ids beyond one process, such as windows, tabs, frames and
	// requests of a browser, mean the same only on tracks with the same IDSpace. "" is the trace's own.
	IDSpace string

	// Role says what is on a NamedTrack, Subject of what: the class of objects, the origin of a page or the type of
	// contexts, as the role has it.
	Role    Role
	Subject string
}

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

// describeTracks makes the table of tracks, which never changes afterwards: the engine's tracks, and after them the lanes of each.
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

// describeLanes adds the lanes of a track: tracks below a process or thread, otherwise beside the track and like it. All lanes of a
// stream are tracks below its thread, otherwise the first lane is the track itself.
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

// trackOf returns a lane of a track.
func (t *Trace) trackOf(track timeline.TrackID, lane uint32) TrackID {
	return TrackID(t.numbers.Of(track, lane))
}

// setOwner sets the path of a track, and the process and the thread that it belongs to.
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
