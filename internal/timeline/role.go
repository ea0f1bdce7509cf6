package timeline

import (
	"fmt"
	"slices"
)

// Role is the purpose of a track that is neither a process, a thread nor a counter. Readers set it, the writer stores it in the
// track's descriptor, and the reader of Perfetto traces restores it, independently of the track's name. Tracks in traces that
// weft did not write have no role.
//
// The numbers are written to files and must not change.
type Role uint8

// The roles.
const (
	NoRole          Role = 0
	RoleLane        Role = 1  // slices that overlap others on their track without nesting
	RoleAsync       Role = 2  // the slices of one asynchronous id
	RoleInstants    Role = 3  // instants of a process or of the whole trace
	RoleOther       Role = 4  // events without a track of their own, shown as instants
	RoleClockSync   Role = 5  // clock syncs, shown as instants
	RoleObjects     Role = 6  // lifetimes and snapshots of the objects of a class, which is TrackSpec.Subject
	RoleThreadState Role = 7  // states of the thread above
	RoleCalls       Role = 8  // calls derived from the samples of the thread above
	RoleV8States    Role = 9  // states of a thread sampled by V8, see StateScript
	RolePageStates  Role = 10 // states of a thread in a JS self-profile
	RoleCategories  Role = 11 // states of a thread in a Firefox profile: its categories
	RoleSamplePages Role = 12 // the document for which the thread above was running at each sample
	RoleNetwork     Role = 13 // the requests of a process
	RoleAllocations Role = 14 // sampled allocations of a thread, shown as instants
	RoleJSTracer    Role = 15 // calls recorded by Firefox's tracer
	RolePaused      Role = 16 // periods in which a profiler was paused
	RoleContexts    Role = 17 // intervals during which a thread worked for contexts of one type, written by attribution
	RoleCatalogue   Role = 18 // all contexts, written by attribution
	RoleMainProcess Role = 19 // on a process itself: the main process of a browser
	RoleDetails     Role = 20 // no events; parent of the tracks with details of a thread; only in files, see ThreadDetail
	RoleMemory      Role = 21 // no events; holds a process's counters from memory dumps
	RoleStream      Role = 22 // overlapping slices of the stream above, see SetStream; the first such track has lane 0
	RoleLongTasks   Role = 23 // long tasks on the thread above, found by weft
	RoleInput       Role = 24 // slices of the thread above from one of several inputs
	RoleSpans       Role = 25 // spans of a process or thread, some nested; as far as is known, each track has the spans of one thread
	RoleGroup       Role = 26 // no events; parent of the tracks of one kind below a process or thread; only in files, see Place
	lastRole             = RoleGroup
)

// roleNames lists the names of tracks with a role, unless they are named after something else.
var roleNames = [...]string{
	RoleLane: "Overlapping slices", RoleOther: "Other events", RoleClockSync: "Clock sync", RoleThreadState: "Thread state",
	RoleCalls: "JS samples", RoleV8States: "V8 state", RolePageStates: "Browser activity", RoleCategories: "Sample category",
	RoleSamplePages: "Sample page", RoleNetwork: "Network", RoleAllocations: "Allocations", RoleJSTracer: "JS Tracer",
	RolePaused: "Profiler paused", RoleCatalogue: "Contexts", RoleDetails: "(contexts and states)", RoleMemory: "Memory",
	RoleLongTasks: "Long tasks", RoleSpans: "Spans",
}

// ThreadDetail returns the position, from 1, of a role's track among the tracks with details of a thread, or 0 for other roles.
// In a file, these tracks have a common parent, RoleDetails, so that viewers show them together.
func (r Role) ThreadDetail() int {
	return slices.Index(threadDetails[:], r) + 1
}

// threadDetails lists the roles of tracks with details of a thread, in display order.
var threadDetails = [...]Role{
	RoleLongTasks, RoleContexts, RoleCalls, RoleThreadState, RoleV8States, RolePageStates, RoleCategories, RoleSamplePages, RoleAllocations,
	RoleJSTracer, RoleOther,
}

// IsRole reports whether a number is a valid Role.
func IsRole(n uint64) bool { return n <= uint64(lastRole) }

// RoleTrack returns the track with a role below the root, a process or a thread, creating it if necessary. The track has the
// role's usual name.
func (b *Builder) RoleTrack(parent TrackID, role Role) TrackID {
	switch role {
	case RoleV8States, RoleCategories, RoleSamplePages:
		parent = b.sampleThread(parent)
	}
	return b.roleTrack(parent, TrackSpec{Name: roleNames[role], Role: role})
}

// Objects returns the track for the objects of a class, creating it if necessary.
func (b *Builder) Objects(parent TrackID, class string) TrackID {
	return b.roleTrack(parent, ObjectsSpec(class))
}

// ObjectsSpec describes a track for the objects of a class.
func ObjectsSpec(class string) TrackSpec {
	return TrackSpec{Name: class + " objects", Role: RoleObjects, Subject: class}
}

// roleTrack is Child for a track with a role.
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

// String returns the usual name of the role's tracks, or a number.
func (r Role) String() string {
	if int(r) < len(roleNames) && roleNames[r] != "" {
		return roleNames[r]
	}
	return fmt.Sprintf("Role(%d)", uint8(r))
}
