package timeline

import (
	"fmt"
	"slices"
)

// Role says what is on a track that is neither a process nor a thread nor a counter. Readers declare it, the writer marks
// it in the track's descriptor, and the reader of Perfetto traces finds it there again: what a track is called says
// nothing. Tracks of traces that weft did not write have no role.
//
// The numbers are written into files: they never change their meaning.
type Role uint8

// The roles.
const (
	NoRole          Role = 0
	RoleLane        Role = 1  // slices that overlap others of their track without nesting
	RoleAsync       Role = 2  // the slices of one asynchronous id
	RoleInstants    Role = 3  // instants of a process or of the whole trace
	RoleOther       Role = 4  // events without a place of their own, as instants
	RoleClockSync   Role = 5  // clock syncs, as instants
	RoleObjects     Role = 6  // the lives and snapshots of the objects of one class, TrackSpec.Subject
	RoleThreadState Role = 7  // states of the thread that it is below
	RoleCalls       Role = 8  // calls made of the samples of the thread that it is below
	RoleV8States    Role = 9  // what a thread sampled by V8 was doing, see StateScript and others
	RolePageStates  Role = 10 // the same for a thread of a JS self-profile
	RoleCategories  Role = 11 // the same for a thread of a Firefox profile, whose states are categories
	RoleSamplePages Role = 12 // for which document the thread that it is below was sampled
	RoleNetwork     Role = 13 // the requests of a process
	RoleAllocations Role = 14 // sampled allocations of a thread, as instants
	RoleJSTracer    Role = 15 // calls that Firefox's tracer has recorded
	RolePaused      Role = 16 // when a profiler was paused
	RoleContexts    Role = 17 // intervals for which a thread worked for contexts of one type, written by attribution
	RoleCatalogue   Role = 18 // all contexts, written by attribution
	RoleMainProcess Role = 19 // no track below a process, but the main process of a browser itself
	RoleDetails     Role = 20 // no events, but the tracks that say more about a thread; only in files, see ThreadDetail
	RoleMemory      Role = 21 // no events, but the counters of a process that are made of memory dumps
	RoleStream      Role = 22 // slices of the stream that it is below, which overlap: see SetStream; the first such track has lane 0
	RoleLongTasks   Role = 23 // the long tasks of the thread that it is below, found by weft
	RoleInput       Role = 24 // the slices that one of several inputs has on the thread that it is below
	RoleSpans       Role = 25 // spans of a process or thread, of which some nest: each such track is what one thread does, as far as is known
	RoleGroup       Role = 26 // no events, but tracks of one kind of a process or thread; only in files, see Place
	lastRole             = RoleGroup
)

// roleNames are the names of tracks that have a role, unless they are named after something else.
var roleNames = [...]string{
	RoleLane: "Overlapping slices", RoleOther: "Other events", RoleClockSync: "Clock sync", RoleThreadState: "Thread state",
	RoleCalls: "JS samples", RoleV8States: "V8 state", RolePageStates: "Browser activity", RoleCategories: "Sample category",
	RoleSamplePages: "Sample page", RoleNetwork: "Network", RoleAllocations: "Allocations", RoleJSTracer: "JS Tracer",
	RolePaused: "Profiler paused", RoleCatalogue: "Contexts", RoleDetails: "(contexts and states)", RoleMemory: "Memory",
	RoleLongTasks: "Long tasks", RoleSpans: "Spans",
}

// ThreadDetail returns the position of a track of the role among the tracks that describe the thread above: from 1 on, 0 for other
// tracks. In a file these tracks have a parent of their own, RoleDetails, so that a viewer shows all of them in one place.
func (r Role) ThreadDetail() int {
	return slices.Index(threadDetails[:], r) + 1
}

// threadDetails are the roles of the tracks that say more about a thread, in their order.
var threadDetails = [...]Role{
	RoleLongTasks, RoleContexts, RoleCalls, RoleThreadState, RoleV8States, RolePageStates, RoleCategories, RoleSamplePages, RoleAllocations,
	RoleJSTracer, RoleOther,
}

// IsRole reports whether a number is a role.
func IsRole(n uint64) bool { return n <= uint64(lastRole) }

// RoleTrack returns the track of a role below the root, a process or a thread, which it creates at the first call. It has
// the name that is usual for the role.
func (b *Builder) RoleTrack(parent TrackID, role Role) TrackID {
	switch role {
	case RoleV8States, RoleCategories, RoleSamplePages:
		parent = b.sampleThread(parent)
	}
	return b.roleTrack(parent, TrackSpec{Name: roleNames[role], Role: role})
}

// Objects returns the track of the objects of a class, which it creates at the first call.
func (b *Builder) Objects(parent TrackID, class string) TrackID {
	return b.roleTrack(parent, ObjectsSpec(class))
}

// ObjectsSpec describes a track of the objects of a class.
func ObjectsSpec(class string) TrackSpec {
	return TrackSpec{Name: class + " objects", Role: RoleObjects, Subject: class}
}

// roleTrack is Child for a track that has a role.
func (b *Builder) roleTrack(parent TrackID, spec TrackSpec) TrackID {
	key := childKey{parent, spec.Role, spec.Name}
	if id, ok := b.table.childByKey[key]; ok {
		return id
	}
	id := b.NewTrack(parent, spec)
	b.table.childByKey[key] = id
	return id
}

// Role returns the role of a track.
func (t *Timeline) Role(id TrackID) Role {
	switch row := &t.table.tracks[id]; row.kind {
	case AsyncTrack:
		return RoleAsync
	case NamedTrack:
		return t.table.specs[row.index].Role
	case ProcessTrack:
		if t.table.processes[row.index].isMain {
			return RoleMainProcess
		}
	}
	return NoRole
}

// String returns the name that a track of the role has, or a number.
func (r Role) String() string {
	if int(r) < len(roleNames) && roleNames[r] != "" {
		return roleNames[r]
	}
	return fmt.Sprintf("Role(%d)", uint8(r))
}
