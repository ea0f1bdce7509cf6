package pftrace

import (
	"fmt"

	"github.com/weft-trace/weft/internal/pfwire/message"
	"github.com/weft-trace/weft/internal/schema"
)

// trackKind is the kind of a track according to its descriptor.
type trackKind uint8

const (
	trackPlain trackKind = iota
	trackProcess
	trackThread
	trackCounter
	trackState
)

// trackIdentity holds the settings that later descriptors of the track must not change (perfetto.md 5).
type trackIdentity struct {
	kind    trackKind
	parent  uint64
	pid     int32
	tid     int64
	counter counterSettings
}

// counterSettings determines how to interpret the values of a counter track.
type counterSettings struct {
	kind        uint64
	unit        uint64
	multiplier  int64
	incremental bool
}

var trackKindNames = [...]string{"plain", "process", "thread", "counter", "state"}

// String describes the settings in which two descriptors of a track can differ.
func (id trackIdentity) String() string {
	switch id.kind {
	case trackProcess:
		return fmt.Sprintf("process %d (parent %d)", id.pid, id.parent)
	case trackThread:
		return fmt.Sprintf("thread %d of process %d (parent %d)", id.tid, id.pid, id.parent)
	case trackCounter:
		return fmt.Sprintf("counter %+v (parent %d)", id.counter, id.parent)
	}
	return fmt.Sprintf("%s (parent %d)", trackKindNames[id.kind], id.parent)
}

// verifyTrack is a track that has been described or used.
type verifyTrack struct {
	machineID   // its uuid
	described   bool
	used        bool
	hasComplete bool
	orderLost   bool // nesting is no longer checked, see loseOrder
	ancestry    uint8
	ancestors   int32 // valid once ancestry is known
	identity    trackIdentity
	describe    position // first descriptor
	use         position // first use
	complete    position // first complete event, if hasComplete
	seq         message.SequenceKey
	open        []openSlice
	tooDeep     int
	instants    int   // number of instants at instantAt, which nest in each other until a slice begins or ends
	instantAt   int64 // time of the last instant
}

// machineID identifies a track by uuid, or a flow by id; each machine in a trace assigns these numbers independently.
type machineID struct {
	machine uint32
	uuid    uint64
}

// processKey identifies a process, and threadKey a thread, across the machines in a trace.
type processKey struct {
	machine uint32
	pid     int32
}

type threadKey struct {
	machine uint32
	pid     int32
	tid     int64
}

type verifyTracks struct {
	list      []verifyTrack
	byUUID    map[machineID]uint32
	processes map[processKey]uint64
	threads   map[threadKey]uint64
}

func newVerifyTracks() verifyTracks {
	return verifyTracks{
		byUUID:    make(map[machineID]uint32),
		processes: make(map[processKey]uint64),
		threads:   make(map[threadKey]uint64),
	}
}

// index returns the index of a track in the list, adding it if necessary.
func (t *verifyTracks) index(id machineID) uint32 {
	i, ok := t.byUUID[id]
	if !ok {
		i = uint32(len(t.list))
		t.list = append(t.list, verifyTrack{machineID: id})
		t.byUUID[id] = i
	}
	return i
}

// onMachine returns the id of a track on the packet's machine.
func (v *verifier) onMachine(uuid uint64) machineID {
	return machineID{v.fields.Sequence.Machine, uuid}
}

// useTrack records that an event is on a track, and returns the track's index.
func (v *verifier) useTrack(uuid uint64) uint32 {
	i := v.tracks.index(v.onMachine(uuid))
	if t := &v.tracks.list[i]; !t.used {
		t.used, t.use, t.seq = true, v.at, v.fields.Sequence
	}
	return i
}

// useThread returns the index of the track for a sequence's events without a track uuid.
func (v *verifier) useThread(seq *verifySequence) uint32 {
	if !seq.hasThread {
		seq.thread, seq.hasThread = uint32(len(v.tracks.list)), true
		v.tracks.list = append(v.tracks.list, verifyTrack{})
	}
	return seq.thread
}

// useCounter records a value on a counter track. The descriptor of the track must precede the value.
func (v *verifier) useCounter(uuid uint64) {
	t := &v.tracks.list[v.useTrack(uuid)]
	if !t.described {
		v.found(ruleCounterUndescribed, "track %d has no descriptor so far", uuid)
	} else if t.identity.kind != trackCounter {
		v.found(ruleCounterUndescribed, "track %d is not a counter track", uuid)
	}
}

// trackDescriptor checks the packet's track descriptor.
func (v *verifier) trackDescriptor(seq *verifySequence) {
	var d message.TrackDescriptor
	v.parsed(d.Parse(v.fields.Data))
	uuid, id := d.UUID(), trackIdentity{parent: d.ParentUUID()}
	if uuid == 0 {
		if id.parent != 0 {
			v.found(ruleRootParent, "parent %d", id.parent)
		}
		return
	}
	if d.IsState() {
		id.kind = trackState
	}
	if process := d.Process(); process != nil {
		id.kind = trackProcess
		id.pid = v.processDescriptor(uuid, process)
	}
	if thread := d.Thread(); thread != nil {
		id.kind = trackThread
		id.pid, id.tid = v.threadDescriptor(seq, uuid, thread)
	}
	if counter := d.Counter(); counter != nil {
		id.kind = trackCounter
		id.counter = v.counterDescriptor(uuid, counter, d.Name())
	}
	t := &v.tracks.list[v.tracks.index(v.onMachine(uuid))]
	if t.described && t.identity != id {
		v.found(ruleDescriptorConflict, "track %d was %s, now %s", uuid, t.identity, id)
	}
	if !t.described {
		t.described, t.identity, t.describe = true, id, v.at
	}
}

// thread decodes a thread descriptor. Perfetto assigns the events of the sequence to this thread if the sequence has started.
func (v *verifier) thread(seq *verifySequence, msg []byte) (pid int32, tid int64) {
	var d message.ThreadDescriptor
	v.parsed(d.Parse(msg))
	if seq != nil {
		seq.SetThread(&d)
		seq.threaded = seq.threaded || seq.Valid()
	}
	return d.PID(), d.TID()
}

func (v *verifier) processID(msg []byte) int32 {
	var d message.ProcessDescriptor
	v.parsed(d.Parse(msg))
	return d.PID()
}

func (v *verifier) processDescriptor(uuid uint64, msg []byte) (pid int32) {
	if pid = v.processID(msg); pid == 0 {
		v.found(ruleReservedID, "track %d: process id 0", uuid)
	}
	key := processKey{v.fields.Sequence.Machine, pid}
	if first, ok := v.tracks.processes[key]; !ok {
		v.tracks.processes[key] = uuid
	} else if first != uuid {
		v.found(ruleProcessTwice, "process %d has tracks %d and %d", pid, first, uuid)
	}
	return pid
}

func (v *verifier) threadDescriptor(seq *verifySequence, uuid uint64, msg []byte) (pid int32, tid int64) {
	if pid, tid = v.thread(seq, msg); pid == 0 || tid == 0 {
		v.found(ruleReservedID, "track %d: process id %d, thread id %d", uuid, pid, tid)
	}
	key := threadKey{v.fields.Sequence.Machine, pid, tid}
	if first, ok := v.tracks.threads[key]; !ok {
		v.tracks.threads[key] = uuid
	} else if first != uuid {
		v.found(ruleThreadTwice, "thread %d of process %d has tracks %d and %d", tid, pid, first, uuid)
	}
	return pid, tid
}

func (v *verifier) counterDescriptor(uuid uint64, msg, name []byte) counterSettings {
	var d message.CounterDescriptor
	v.parsed(d.Parse(msg))
	c := counterSettings{d.Type(), d.Unit(), 1, d.IsIncremental()}
	if d.HasMultiplier() {
		c.multiplier = d.Multiplier()
	}
	if c.kind == schema.CounterDescriptor_CounterThreadTimeNS && len(name) > 0 && string(name) != "thread_time" {
		v.found(ruleThreadTimeName, "track %d is named %q", uuid, clip(name))
	}
	return c
}

// clip limits the length of input text in a report.
func clip(text []byte) []byte { return text[:min(len(text), 80)] }

// maxAncestors is the maximum number of ancestors of a track (perfetto.md 5).
const maxAncestors = 100

// States of a track during the counting of ancestors.
const (
	ancestryUnknown uint8 = iota
	ancestryWalked        // on the current path
	ancestryKnown
)

// checkTracks runs the checks that need all descriptors: used tracks, parents and ancestors.
func (v *verifier) checkTracks() {
	var path []uint32
	for i := range v.tracks.list {
		t := &v.tracks.list[i]
		switch {
		case t.used && !t.described && t.uuid != 0:
			v.foundOn(ruleTrackUndescribed, t.use, t.seq, "track %d", t.uuid)
		case t.hasComplete && t.identity.kind != trackThread:
			v.foundOn(ruleCompleteEvent, t.complete, t.seq, "track %d", t.uuid)
		}
		if t.described {
			path = v.checkAncestors(uint32(i), path[:0])
		}
	}
}

// checkAncestors counts the ancestors of a track, and of the tracks on its path to the root whose count is still unknown. path is
// scratch space.
func (v *verifier) checkAncestors(i uint32, path []uint32) []uint32 {
	ancestors := int32(0)
	for {
		t := &v.tracks.list[i]
		if t.ancestry == ancestryKnown {
			ancestors = t.ancestors + 1
			break
		}
		if t.ancestry == ancestryWalked {
			v.foundOn(ruleParentLoop, t.describe, message.SequenceKey{}, "track %d", t.uuid)
			break
		}
		t.ancestry = ancestryWalked
		path = append(path, i)
		if t.identity.parent == 0 {
			break
		}
		parent, ok := v.tracks.byUUID[machineID{t.machine, t.identity.parent}]
		if !ok || !v.tracks.list[parent].described {
			v.foundOn(ruleParentUnknown, t.describe, message.SequenceKey{}, "track %d has parent %d", t.uuid, t.identity.parent)
			break
		}
		i = parent
	}
	for n := len(path) - 1; n >= 0; n-- {
		t := &v.tracks.list[path[n]]
		t.ancestry, t.ancestors = ancestryKnown, ancestors
		if ancestors == maxAncestors+1 { // report only the first track that is too deep
			v.foundOn(ruleParentDepth, t.describe, message.SequenceKey{}, "track %d", t.uuid)
		}
		ancestors++
	}
	return path
}
