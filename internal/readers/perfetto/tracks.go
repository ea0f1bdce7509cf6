package perfetto

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/pfwire/message"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/timeline"
)

// trackKind is the kind of a track according to its descriptor.
type trackKind uint8

const (
	undeclaredTrack trackKind = iota // used, or referred to as a parent, but not described yet
	processTrack
	threadTrack
	counterTrack
	namedTrack
)

// track is the track of one uuid.
type track struct {
	id         timeline.TrackID
	kind       trackKind
	parent     uint64           // uuid of the parent; 0 for processes and threads
	process    timeline.TrackID // set for processes and threads
	represents timeline.TrackID // the process or thread with the uuid; differs from id if this is its second uuid

	multiplier  int64 // counters only
	incremental bool
	threadTime  bool

	clock uint64 // uuid of the thread's CPU time counter, if any

	// transparent marks a track that weft's writer inserted between a process or thread and other tracks. Tracks below it are
	// read as if it did not exist; the field place is their place.
	transparent bool
	place       timeline.Place

	async     bool // weft wrote it for an asynchronous id
	stateOpen bool // state tracks: a state is open
}

// tracks contains the tracks by uuid. A descriptor may come anywhere in the file, even after the events on its track
// and the descriptors of its children; until then, the uuid has an undeclared track of the Builder.
type tracks struct {
	byUUID map[uint64]*track
	latest [1 << 6]struct { // cache, by the last bits of the uuid
		uuid  uint64
		track *track
	}
	first   map[timeline.TrackID]uint64           // the first uuid of each process and thread
	writers map[*pfwire.Sequence]timeline.TrackID // tracks of threads with a second uuid, by the sequence that they write

	// Processes and threads by assigned ids.
	assignedPIDs map[int64]timeline.TrackID
	assignedTIDs map[assignedTID]timeline.TrackID
}

// assignedTID is the assigned id of a thread, unique in its process.
type assignedTID struct {
	process timeline.TrackID
	tid     int64
}

func newTracks() tracks {
	return tracks{
		byUUID:  make(map[uint64]*track),
		first:   make(map[timeline.TrackID]uint64),
		writers: make(map[*pfwire.Sequence]timeline.TrackID),

		assignedPIDs: make(map[int64]timeline.TrackID),
		assignedTIDs: make(map[assignedTID]timeline.TrackID),
	}
}

// find returns the track of a uuid, or nil if it is unknown.
func (ts *tracks) find(uuid uint64) *track {
	l := &ts.latest[uuid%uint64(len(ts.latest))]
	if l.track == nil || l.uuid != uuid {
		l.uuid, l.track = uuid, ts.byUUID[uuid] // the pointer never changes
	}
	return l.track
}

// get returns the track of a uuid other than 0.
func (ts *tracks) get(b *timeline.Builder, uuid uint64) *track {
	t := ts.find(uuid)
	if t == nil {
		t = &track{id: b.Undeclared()}
		ts.byUUID[uuid] = t
	}
	return t
}

// declare sets the track of a uuid.
func (ts *tracks) declare(b *timeline.Builder, uuid uint64, as track) {
	t := ts.byUUID[uuid]
	if t == nil {
		ts.byUUID[uuid] = &as
		return
	}
	b.Alias(t.id, as.id)
	as.stateOpen, as.clock = t.stateOpen, t.clock
	*t = as
}

// maxTrackDepth is the maximum number of ancestors of a track (perfetto.md 5).
const maxTrackDepth = 100

// loops reports whether uuid, as a child of parent, would be its own ancestor or have too many ancestors.
func (ts *tracks) loops(uuid, parent uint64) bool {
	for range maxTrackDepth {
		if parent == uuid {
			return true
		}
		t := ts.byUUID[parent]
		if t == nil || t.parent == 0 {
			return false
		}
		parent = t.parent
	}
	return true
}

// process returns the process of a track, or 0 if it has no process or is unknown.
func (ts *tracks) process(uuid uint64) timeline.TrackID {
	for range maxTrackDepth {
		t := ts.byUUID[uuid]
		if t == nil {
			return 0
		}
		if t.process != 0 {
			return t.process
		}
		uuid = t.parent
	}
	return 0
}

// defaultTrack is Perfetto's name for the track of events that name no track.
const defaultTrack = "Default Track"

// eventUUID returns the track uuid of the current event or, if the event has no track uuid, the default of the sequence. It
// returns false if both are missing.
func (r *reader) eventUUID() (uuid uint64, ok bool) {
	if r.ev.HasTrackUUID {
		return r.ev.TrackUUID, true
	}
	return r.seq.Defaults.TrackUUID, r.seq.Defaults.HasTrackUUID
}

// eventTrack returns the track of the current event. An event without a uuid is on the thread of its sequence. So is an event
// with uuid 0 and without a type (perfetto.md 15), such as Chrome's legacy events.
func (r *reader) eventTrack() timeline.TrackID {
	uuid, ok := r.eventUUID()
	if uuid != 0 {
		return r.tracks.get(r.b, uuid).id
	}
	if !ok || r.ev.Type == schema.TrackEvent_TypeUnspecified {
		if id, ok := r.tracks.writers[r.seq]; ok && !r.ev.overridesThread() {
			return id
		}
		if process, tid, ok := r.sequenceThread(); ok {
			return r.thread(process, tid)
		}
	}
	return r.b.Child(0, defaultTrack)
}

// eventProcess returns the process of the current event, or 0.
func (r *reader) eventProcess() timeline.TrackID {
	if uuid, _ := r.eventUUID(); uuid != 0 {
		if process := r.tracks.process(uuid); process != 0 {
			return process
		}
	}
	process, _, _ := r.sequenceThread()
	return process
}

// sequenceThread returns the thread of the sequence, or the thread that a legacy event names instead.
func (r *reader) sequenceThread() (process timeline.TrackID, tid int64, ok bool) {
	l := &r.ev.Legacy
	pid, tid := r.seq.Thread.PID, r.seq.Thread.TID
	if r.ev.HasLegacy && l.HasPID {
		pid, tid = l.PID, int64(l.PID)
	}
	if r.ev.HasLegacy && l.HasTID {
		tid = l.TID
	}
	if !r.seq.Thread.Known && !(r.ev.HasLegacy && l.HasPID) {
		return 0, 0, false
	}
	return r.process(int64(pid)), tid, true
}

// process returns the process for a pid used in packets.
func (r *reader) process(pid int64) timeline.TrackID {
	if id, ok := r.tracks.assignedPIDs[pid]; ok {
		return id
	}
	return r.b.Process(timeline.ProcessKey{Num: pid})
}

// thread returns the thread of a process for a tid used in packets.
func (r *reader) thread(process timeline.TrackID, tid int64) timeline.TrackID {
	if id, ok := r.tracks.assignedTIDs[assignedTID{process, tid}]; ok {
		return id
	}
	return r.b.Thread(process, timeline.ThreadKey{Num: tid})
}

// overridesThread reports whether a legacy event names its own thread instead of its sequence's.
func (e *trackEvent) overridesThread() bool {
	return e.HasLegacy && (e.Legacy.HasPID || e.Legacy.HasTID)
}

// mergeBehavior converts sibling_merge_behavior.
func mergeBehavior(v uint64) timeline.MergeBehavior {
	switch v {
	case schema.TrackDescriptor_SiblingMergeBehaviorNone:
		return timeline.MergeNone
	case schema.TrackDescriptor_SiblingMergeBehaviorBySiblingMergeKey:
		return timeline.MergeByKey
	}
	return timeline.MergeByName
}

// trackDescriptor reads a track_descriptor packet.
func (r *reader) trackDescriptor(msg []byte) {
	var d message.TrackDescriptor
	if err := d.Parse(msg); err != nil {
		r.malformed("track_descriptor", err)
		return
	}
	r.fieldsNotConverted("TrackDescriptor", d.Mistyped())
	if d.HasChromeProcess() {
		r.notConverted("TrackDescriptor field 6")
	}
	if d.HasChromeThread() {
		r.notConverted("TrackDescriptor field 7")
	}
	switch {
	case d.Thread() != nil:
		r.describeThread(&d)
	case d.Process() != nil:
		r.describeProcess(&d)
	case d.UUID() == 0: // only the order of the root's children
	case d.Counter() != nil:
		r.describeCounter(&d)
	default:
		r.describeTrack(&d)
	}
}

func (r *reader) describeThread(d *message.TrackDescriptor) {
	m := r.readMark(d)
	id, process, name, ok := r.parseThread(d.Thread(), m.input)
	if !ok {
		return
	}
	for _, f := range m.facts {
		r.b.AddFact(id, f)
	}
	if r.declareOnce(d, track{id: id, kind: threadTrack, process: process}, name) {
		r.nameThread(id, process, strongName, name)
	} else if t := r.tracks.find(d.UUID()); r.seq != nil && t != nil && t.represents == id {
		r.tracks.writers[r.seq] = t.id
	}
}

func (r *reader) describeProcess(d *message.TrackDescriptor) {
	m := r.readMark(d)
	id, ok := r.processDescriptor(d.Process(), m.input)
	if !ok {
		return
	}
	switch {
	case m.role == timeline.RoleMainProcess:
		r.b.SetMain(id, timeline.MainByMark)
	case r.seqInfo.byWeft:
		r.b.SetMain(id, timeline.NotMain)
	}
	if m.renumbered {
		r.b.Renumber(id, m.recorded)
	}
	if m.moved != 0 {
		r.b.SetMoved(id, m.moved)
	}
	if len(m.inputName) > 0 {
		r.b.SetInput(id, string(r.validText(m.inputName)))
	}
	r.setIDSpace(d, &m, id)
	r.declareOnce(d, track{id: id, kind: processTrack, process: id}, nil)
}

// nameProcess names a process, and marks it as the main process if Chrome uses the name for main processes.
func (r *reader) nameProcess(process timeline.TrackID, strength timeline.Nanos, name []byte) {
	r.b.SetProcessName(process, strength, name)
	producers.FindMain(r.b, process, name, nil)
}

// nameThread names a thread, and marks its process as the main process if Chrome uses the name for threads of main processes.
func (r *reader) nameThread(thread, process timeline.TrackID, strength timeline.Nanos, name []byte) {
	r.b.SetThreadName(thread, strength, name)
	producers.FindMain(r.b, process, nil, name)
}

// furtherTrack is the default name of the track for events with a second uuid of a process or thread.
const furtherTrack = "Reused id"

// declareOnce declares a process or a thread and reports whether the uuid is its first one. Chrome repeats its
// descriptors every half second. A uuid that is given to a second track is a producer error; as in Perfetto, the first
// track counts.
//
// A second uuid means that the system reused the id of an ended thread or process (perfetto.md 5). Begin and end events pair by
// uuid, so the second uuid gets a separate track.
func (r *reader) declareOnce(d *message.TrackDescriptor, as track, name []byte) (first bool) {
	as.represents = as.id
	t := r.tracks.find(d.UUID())
	switch {
	case d.UUID() == 0:
		return true
	case t != nil && t.kind != undeclaredTrack:
		if t.kind != as.kind || t.represents != as.represents {
			r.add(problem.PacketMalformed, fmt.Sprintf("track_descriptor: uuid %d is already in use", d.UUID()))
			return true
		}
		return t.id == t.represents
	}
	if uuid, ok := r.tracks.first[as.id]; !ok {
		r.tracks.first[as.id] = d.UUID()
		if d.HasRank() {
			r.b.SetSortIndex(as.id, d.Rank())
		}
	} else {
		r.add(problem.TrackIDReused, fmt.Sprintf("uuids %d and %d", uuid, d.UUID()))
		if len(name) == 0 {
			name = []byte(furtherTrack)
		}
		as.id = r.b.NewTrack(as.id, timeline.TrackSpec{Name: string(name), Merge: timeline.MergeNone})
	}
	r.tracks.declare(r.b, d.UUID(), as)
	return as.id == as.represents
}

// known reports whether an earlier descriptor declared this uuid; the first descriptor counts.
func (r *reader) known(uuid uint64) bool {
	t := r.tracks.find(uuid)
	return t != nil && t.kind != undeclaredTrack
}

// parentTrack returns the parent of a descriptor's track, and the parent uuid in the descriptor, or 0 if the uuid is invalid. The
// result between is the track that weft's writer inserted between the track and its parent, or nil.
func (r *reader) parentTrack(d *message.TrackDescriptor) (parent timeline.TrackID, uuid uint64, between *track) {
	uuid = d.ParentUUID()
	if uuid != 0 && r.tracks.loops(d.UUID(), uuid) {
		r.add(problem.PacketMalformed, fmt.Sprintf("track_descriptor: the parents of uuid %d form a cycle", d.UUID()))
		uuid = 0
	}
	if uuid == 0 {
		return 0, 0, nil
	}
	up := r.tracks.get(r.b, uuid)
	if !up.transparent {
		return up.id, uuid, nil
	}
	above := up
	for above.transparent { // terminates, because loops rejects cycles
		above = r.tracks.get(r.b, above.parent)
	}
	return above.id, uuid, up
}

func (r *reader) describeTrack(d *message.TrackDescriptor) {
	if r.known(d.UUID()) {
		return
	}
	m := r.readMark(d)
	parent, uuid, between := r.parentTrack(d)
	spec := timeline.TrackSpec{
		Name: string(r.validText(d.Name())), Description: string(d.Description()), Role: m.role, Subject: string(m.subject),
		Merge: mergeBehavior(d.MergeBehavior()), Lane: m.lane,
	}
	if between == nil {
		spec.Rank = d.Rank()
	}
	if o := d.ChildOrdering(); o <= uint64(timeline.OrderExplicit) {
		spec.Ordering = timeline.ChildOrdering(o)
	}
	if key, number, isNumber := d.MergeKey(); isNumber {
		spec.MergeKey = strconv.FormatUint(number, 10)
	} else {
		spec.MergeKey = string(key)
	}
	t := track{id: r.b.NewTrack(parent, spec), kind: namedTrack, parent: uuid, async: m.role == timeline.RoleAsync}
	if between != nil && between.place.Group != "" {
		place := between.place
		place.Rank = uint8(d.Rank() >> timeline.PlaceRankShift)
		r.b.SetPlace(t.id, place)
	}
	if t.transparent = uuid != 0 && (m.role == timeline.RoleDetails || m.role == timeline.RoleGroup); m.role == timeline.RoleGroup {
		t.place = timeline.Place{Group: spec.Name}
		if between != nil && between.place.Group != "" {
			t.place = timeline.Place{Group: between.place.Group, Within: spec.Name}
		}
	}
	r.tracks.declare(r.b, d.UUID(), t)
	r.setIDSpace(d, &m, r.tracks.get(r.b, d.UUID()).id)
}

// setIDSpace sets the id space of a track.
func (r *reader) setIDSpace(d *message.TrackDescriptor, m *mark, id timeline.TrackID) {
	if len(m.idSpace) > 0 && !r.b.SetIDSpace(id, string(m.idSpace)) {
		r.add(problem.TrackRoleInvalid, fmt.Sprintf("uuid %d", d.UUID()))
	}
}

// mark is weft's mark on a track (perfetto.md, "What weft's own tracks are").
type mark struct {
	role    timeline.Role
	subject []byte
	lane    uint32
	input   *inputID        // set for a process or thread with an assigned id
	facts   []timeline.Fact // facts about a thread

	idSpace    []byte // set for a process, or another track below the root
	recorded   int64  // the pid of a process in its recording
	renumbered bool   // its pid differs from recorded
	moved      timeline.Nanos
	inputName  []byte // in a merge: the name of the process's input
}

// inputID is the id of a process or thread in weft's input.
type inputID struct {
	id   timeline.InputID
	name []byte
}

// readMark returns weft's mark on a track. It counts a damaged mark and ignores it.
func (r *reader) readMark(d *message.TrackDescriptor) mark {
	if !d.HasMark() {
		return mark{}
	}
	m, ok := parseMark(d)
	if !ok {
		r.add(problem.TrackRoleInvalid, fmt.Sprintf("uuid %d", d.UUID()))
		return mark{}
	}
	m.subject = r.validText(m.subject)
	return m
}

// parseMark parses a mark. It returns false for marks that weft would not write.
func parseMark(d *message.TrackDescriptor) (m mark, ok bool) {
	var w message.TrackMark
	if w.Parse(d.Mark()) != nil || w.Mistyped() != nil || w.Role() != 0 && !timeline.IsRole(w.Role()) {
		return m, false
	}
	m.role, m.subject, m.lane, m.idSpace = timeline.Role(w.Role()), w.Subject(), w.Lane(), w.IDSpace()
	m.recorded, m.renumbered = w.RecordedPID()
	m.moved, m.inputName = timeline.Nanos(w.Moved()), w.Input()
	ofProcess := m.renumbered || m.moved != 0 || len(m.inputName) > 0
	ofRecording := ofProcess || len(m.idSpace) > 0
	if !isIDSpace(m.idSpace) || ofRecording && d.Thread() != nil || ofProcess && d.Process() == nil {
		return m, false
	}
	if id := w.InputID(); id != nil {
		if m.input = parseInputID(id); m.input == nil {
			return m, false
		}
	}
	for _, msg := range w.Facts() {
		f, ok := parseFact(msg)
		if !ok {
			return m, false
		}
		m.facts = append(m.facts, f)
	}
	switch {
	case d.Process() != nil && len(m.facts) > 0, m.lane > 0 && (d.Process() != nil || d.Thread() != nil):
		return m, false
	case d.Process() != nil:
		return m, m.role == timeline.RoleMainProcess || m.role == timeline.NoRole && (m.input != nil || ofRecording)
	case d.Thread() != nil:
		return m, m.role == timeline.NoRole && (m.input != nil || len(m.facts) > 0)
	}
	return m, (m.role != timeline.NoRole || m.lane > 0 || ofRecording) && m.role != timeline.RoleMainProcess && m.input == nil && len(m.facts) == 0
}

// isIDSpace reports whether a text is a valid name of an id space.
func isIDSpace(name []byte) bool { return len(name) <= readers.MaxAttribute && utf8.Valid(name) }

// parseFact parses a fact about a thread. It returns false for facts that weft would not write.
func parseFact(msg []byte) (f timeline.Fact, ok bool) {
	var w message.Fact
	if w.Parse(msg) != nil || w.Mistyped() != nil || !timeline.IsFactKind(w.Kind()) || int64(w.Samples()) < 1 || w.StartNS() > w.EndNS() || w.EndNS() > math.MaxInt64 {
		return f, false
	}
	f = timeline.Fact{
		Kind: timeline.FactKind(w.Kind()), Samples: int64(w.Samples()), Start: timeline.Nanos(w.StartNS()), End: timeline.Nanos(w.EndNS()),
	}
	switch text, number, integer := w.Value(); {
	case f.Kind.IsText():
		f.Text = string(text)
		return f, text != nil && utf8.Valid(text)
	case integer != nil:
		f.Number = timeline.Int(*integer)
	case number != nil:
		f.Number = timeline.Float(*number)
		return f, !math.IsNaN(*number) && !math.IsInf(*number, 0)
	default:
		return f, false
	}
	return f, true
}

// parseInputID parses a WeftInputID. It returns nil for missing ids and ids that weft would not write.
func parseInputID(msg []byte) *inputID {
	var w message.InputID
	if w.Parse(msg) != nil || w.Mistyped() != nil {
		return nil
	}
	text := w.Text()
	if w.HasNumber() == (len(text) > 0) || w.TextIsNumber() && len(text) == 0 || !utf8.Valid(text) {
		return nil
	}
	in := &inputID{timeline.InputID{Num: w.Number(), Text: string(text), IsNumber: w.TextIsNumber()}, w.Name()}
	if !in.id.HasNumber() {
		in.name = text
	}
	return in
}

func (r *reader) describeCounter(d *message.TrackDescriptor) {
	if r.known(d.UUID()) {
		return
	}
	var c message.CounterDescriptor
	if err := c.Parse(d.Counter()); err != nil {
		r.malformed("track_descriptor: counter", err)
		return
	}
	r.fieldsNotConverted("CounterDescriptor", c.Mistyped())
	t := track{}
	key := timeline.CounterKey{Name: r.validText(d.Name()), Unique: d.UUID(), Description: string(d.Description())}
	t.describeCounter(&c, &key)
	parent, uuid, _ := r.parentTrack(d)
	t.parent, t.id = uuid, r.b.Counter(parent, &key)
	r.tracks.declare(r.b, d.UUID(), t)
	if thread := r.tracks.byUUID[uuid]; thread != nil && t.threadTime {
		thread.clock = d.UUID()
	}
}

// Names come from several sources; the Builder uses the name with the highest time. Thread names in track descriptors and process
// names in the process tree take precedence (perfetto.md 5).
const (
	weakName   timeline.Nanos = 0
	strongName timeline.Nanos = 1
)

// threadDescriptor reads a thread_descriptor packet.
func (r *reader) threadDescriptor(msg []byte) {
	if thread, process, name, ok := r.parseThread(msg, nil); ok {
		r.nameThread(thread, process, strongName, name)
	}
}

// parseThread reads a ThreadDescriptor, which also sets the thread of the sequence. The parameter input comes from the mark on
// the thread's track; it may be nil.
func (r *reader) parseThread(msg []byte, input *inputID) (thread, process timeline.TrackID, name []byte, ok bool) {
	var d message.ThreadDescriptor
	if err := d.Parse(msg); err != nil {
		r.malformed("thread descriptor", err)
		return 0, 0, nil, false
	}
	r.fieldsNotConverted("ThreadDescriptor", d.Mistyped())
	if r.seq != nil {
		r.seq.SetThread(&d)
	}
	delete(r.tracks.writers, r.seq)
	process, name = r.process(int64(d.PID())), d.Name()
	if input != nil {
		if at := (assignedTID{process, d.TID()}); r.tracks.assignedTIDs[at] == 0 {
			thread = r.b.Thread(process, input.id)
			r.b.RequestNumber(thread, d.TID())
			r.tracks.assignedTIDs[at] = thread
		}
		name = input.name
	}
	return r.thread(process, d.TID()), process, r.validText(name), true
}

// processDescriptor reads a ProcessDescriptor. The parameter input comes from the mark on the process's track; it may be nil.
func (r *reader) processDescriptor(msg []byte, input *inputID) (process timeline.TrackID, ok bool) {
	var d message.ProcessDescriptor
	if err := d.Parse(msg); err != nil {
		r.malformed("process descriptor", err)
		return 0, false
	}
	r.fieldsNotConverted("ProcessDescriptor", d.Mistyped())
	name, labels, command := d.Name(), d.Labels(), d.CommandLine()
	switch {
	case len(command) == 1 && len(name) > 0 && string(name) != string(command[0]) && string(name) == timeline.Program(string(command[0])):
		name = command[0] // the full name, which weft shortened
	case len(name) == 0 && len(command) > 0:
		name = command[0] // the program
	}
	r.commandLine(d.PID(), command)
	if start := d.StartNS(); start != 0 {
		r.b.SetIntAttribute(fmt.Sprintf("process.%d.start_timestamp_ns", d.PID()), start)
	}
	pid := int64(d.PID())
	if input != nil {
		if r.tracks.assignedPIDs[pid] == 0 {
			process = r.b.Process(input.id)
			r.b.RequestNumber(process, pid)
			r.tracks.assignedPIDs[pid] = process
		}
		name, labels = input.name, pfwire.WithoutPIDLabel(labels, input.id, d.PID())
	}
	process = r.process(pid)
	r.nameProcess(process, weakName, r.validText(name))
	for _, l := range labels {
		r.b.AddLabel(process, string(r.validText(l)))
	}
	return process, true
}

// commandLine adds the command line of a process as a trace attribute.
func (r *reader) commandLine(pid int32, command [][]byte) {
	if len(command) > 1 {
		r.setAttribute(fmt.Appendf(nil, "process.%d.cmdline", pid), bytes.Join(command, []byte(" ")))
	}
}

// processTree reads the system's names of processes and threads from a process_tree packet.
func (r *reader) processTree(msg []byte) {
	t := message.NewProcessTree(msg)
	err := error(nil)
	for err == nil && t.Next() {
		if entry := t.Process(); entry != nil {
			err = r.treeProcess(entry)
		}
		if entry := t.Thread(); entry != nil {
			err = r.treeThread(entry)
		}
	}
	if err = cmp.Or(err, t.Err()); err != nil {
		r.malformed("process_tree", err)
	}
}

func (r *reader) treeProcess(msg []byte) error {
	var p message.ProcessTreeProcess
	if err := p.Parse(msg); err != nil {
		return err
	}
	r.fieldsNotConverted("ProcessTree.Process", p.Mistyped())
	command := p.CommandLine()
	r.commandLine(p.PID(), command)
	if p.PPID() != 0 || p.UID() != 0 {
		r.notConverted("parents and users of a process tree")
	}
	var program []byte
	if len(command) > 0 {
		program = command[0]
	}
	r.nameProcess(r.process(int64(p.PID())), strongName, r.validText(program))
	return nil
}

func (r *reader) treeThread(msg []byte) error {
	var t message.ProcessTreeThread
	if err := t.Parse(msg); err != nil {
		return err
	}
	r.fieldsNotConverted("ProcessTree.Thread", t.Mistyped())
	process := r.process(int64(t.PID()))
	r.nameThread(r.thread(process, int64(t.TID())), process, weakName, r.validText(t.Name()))
	return nil
}
