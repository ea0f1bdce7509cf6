package timeline

import (
	"math"
	"slices"
	"strconv"

	"github.com/weft-trace/weft/internal/problem"
)

// TrackKind is the kind of a track.
type TrackKind uint8

// The kinds of tracks.
const (
	RootTrack    TrackKind = iota // the whole trace: track 0
	ProcessTrack                  // a process
	ThreadTrack                   // the main track of a thread
	NamedTrack                    // any other track for slices and instants
	AsyncTrack                    // the slices of one asynchronous id
	CounterTrack                  // the values of one counter
	undeclaredTrack
)

// AsyncIDKind separates namespaces of asynchronous ids (chrome-json.md 11).
type AsyncIDKind uint8

// The kinds of asynchronous ids.
const (
	AsyncPlain  AsyncIDKind = iota // id: looked up in the same process first, then in others
	AsyncLocal                     // id2.local: private to the process
	AsyncGlobal                    // id2.global: belongs to no process

	// The ids of S, T, p and F, whatever their kind, are private to the process.
	AsyncLegacy
	AsyncLegacyLocal
	AsyncLegacyGlobal
)

// Legacy returns the kind for the same form of id in S, T, p and F.
func (k AsyncIDKind) Legacy() AsyncIDKind {
	switch k {
	case AsyncLocal:
		return AsyncLegacyLocal
	case AsyncGlobal:
		return AsyncLegacyGlobal
	}
	return AsyncLegacy
}

func (k AsyncIDKind) isLegacy() bool { return k >= AsyncLegacy }

// AsyncKey identifies asynchronous slices that belong together. Its byte slices are not retained by methods that receive it.
type AsyncKey struct {
	Category []byte // as written
	Kind     AsyncIDKind
	ID       []byte // as written, without quotes
	IsText   bool   // the id was a string; "5" and 5 are different ids
	Scope    []byte // for plain ids
	Process  TrackID
	// Thread is the thread to which the id is private; 0: the threads of the process share the id.
	Thread TrackID
	At     problem.Position // position of the event, for messages about threads that share an id
}

// CounterUnit is the unit of a counter's values.
type CounterUnit uint8

// The units that Perfetto defines; others are given by name.
const (
	UnitNone CounterUnit = iota
	UnitNanos
	UnitCount
	UnitBytes
)

// CounterKey identifies and describes a counter below its parent. Its byte slice is not retained by methods that receive it.
type CounterKey struct {
	Name        []byte
	Unique      uint64 // distinguishes counters with the same name; 0: equal names identify one counter
	Unit        CounterUnit
	UnitName    string
	ShareKey    string // counters with the same parent and the same ShareKey share a scale
	Description string
}

// MergeBehavior determines which tracks with the same parent viewers combine (perfetto.md 5).
type MergeBehavior uint8

// The merge behaviours.
const (
	MergeByName MergeBehavior = iota
	MergeNone
	MergeByKey
)

// ChildOrdering is the order in which viewers show a track's children.
type ChildOrdering uint8

// The orders, numbered as in Perfetto.
const (
	OrderDefault ChildOrdering = iota
	OrderLexicographic
	OrderChronological
	OrderExplicit
)

// TrackSpec describes a track created by Builder.NewTrack.
type TrackSpec struct {
	Name        string // empty: the name of its first event
	Description string
	Merge       MergeBehavior
	MergeKey    string
	Ordering    ChildOrdering
	Rank        int32 // position among its siblings, if their parent orders them explicitly
	Role        Role
	Subject     string // RoleObjects: the class of the objects; RolePageStates: the origin of the page; RoleInput: the name of the input
	Lane        uint32 // lane number if the track is a lane; 0: not a lane
	async       *asyncKey
	starts      uint64 // RoleInput: number of slices and instants on the track
}

// track is a row of the track table. It is small because asynchronous ids can create millions of tracks. Data that few tracks
// have is in specs and in the tables of processes, threads and counters.
type track struct {
	kind   TrackKind
	used   bool   // an event may be shown on it
	clock  bool   // an event has a thread time
	hidden bool   // omitted from the output
	place  uint16 // index into places plus 1; 0: none
	parent TrackID
	name   NameID // from the first event, if the track is named after it
	index  uint32 // into processes, threads, counters, specs or asyncs, depending on kind
}

type process struct {
	key         ProcessKey
	name        lastName
	labels      []string
	rank        int32
	hasRank     bool
	pid         int32 // number in the output; set by assignIDs, or earlier by RequestNumber
	assigned    bool  // the pid is allocated, not from the input
	first       problem.Position
	noted       bool       // first is set
	main        uint8      // strength of the evidence that it is the main process; 0: no evidence
	taken       bool       // another input uses this number for a different process, see NumberTaken
	was         ProcessKey // the original key, if another input had taken it
	recorded    int64      // number in its recording, if renumbered
	moved       Nanos      // offset of its events from the recording
	input       string     // name of the first input with this process, if there are several inputs
	madeUp      int64      // first multiple of madeUp for allocated ids, see SetAssignedBase; 0: 1
	displayName string     // display name, if different from name, see ShowProcess

	renumbered bool // another recording has a process with its original number
	isMain     bool // the main process of the browser in its id space
}

type thread struct {
	key      ThreadKey
	name     lastName
	rank     int32
	hasRank  bool
	tid      int64  // number in the output, like process.pid
	assigned bool   // the tid is allocated, not from the input
	starts   uint64 // number of slices and instants on its track, without lanes
	samples  uint64
	taken    bool // another input uses this number for a different thread, see NumberTaken
	stream   bool // slices overlap legitimately, see SetStream
	facts    []Fact
}

// lastName holds the name with the latest time.
type lastName struct {
	text  string
	ts    Nanos
	valid bool
}

func (n *lastName) set(ts Nanos, text []byte) {
	if len(text) == 0 || n.valid && ts < n.ts {
		return
	}
	if n.text != string(text) {
		n.text = string(text)
	}
	n.ts, n.valid = ts, true
}

// async is the additional data of an AsyncTrack: its id, and the tracks with this id in other processes.
type async struct {
	key   asyncKey
	group TrackID // the first track with this key in any process
	next  TrackID // the next track in the group
}

// asyncKey is a small, comparable form of AsyncKey.
type asyncKey struct {
	num      uint64 // value of the id, or id of its text
	category uint32
	scope    uint32
	process  TrackID // or the thread to which the id is private
	kind     AsyncIDKind
	form     idForm
}

type idForm uint8

const (
	formHex     idForm = iota // "0x1f": lower case, no leading zeros
	formDecimal               // 31
	formText                  // "31" or anything else
	formNumber                // a number that is not a plain integer
)

type childKey struct {
	parent TrackID
	role   Role
	name   string
}

type counterKey struct {
	parent TrackID
	unique uint64
	name   string
}

type threadKey struct {
	process TrackID
	key     ThreadKey
}

// trackTable holds the tracks of a Builder, and later of its Timeline.
type trackTable struct {
	tracks    []track
	processes []process
	threads   []thread
	counters  []CounterKey // Name is empty; it is in names
	names     []string     // of counters
	specs     []TrackSpec
	asyncs    []async
	aliases   map[TrackID]TrackID

	namedLater bool // later events determine the name or parent of some tracks

	lanes    map[TrackID]uint32 // number of additional lanes, if any; set by Nest and MarkUsed
	ownNames map[TrackID]string // names of tracks that are named after an event with an uninterned name

	*trackKeys  // for the current machine
	threadByKey map[threadKey]TrackID
	texts       map[string]uint32 // texts of unusual ids and of scopes
	textList    []string

	machines
	idSpaces
	resident
	places places
}

// trackKeys finds the tracks of one machine in one input by their keys in the input.
type trackKeys struct {
	processByKey map[ProcessKey]TrackID
	childByKey   map[childKey]TrackID
	counterByKey map[counterKey]TrackID
	asyncByKey   map[asyncKey]TrackID
}

func newTrackKeys() *trackKeys {
	return &trackKeys{
		processByKey: map[ProcessKey]TrackID{},
		childByKey:   map[childKey]TrackID{},
		counterByKey: map[counterKey]TrackID{},
		asyncByKey:   map[asyncKey]TrackID{},
	}
}

func newTrackTable(memory int64) *trackTable {
	return &trackTable{
		resident:    newResident(memory),
		tracks:      make([]track, 1),
		trackKeys:   newTrackKeys(),
		threadByKey: map[threadKey]TrackID{},
		aliases:     map[TrackID]TrackID{},
		lanes:       map[TrackID]uint32{},
		ownNames:    map[TrackID]string{},
		texts:       map[string]uint32{},
	}
}

func (t *trackTable) add(row track) TrackID {
	id := TrackID(len(t.tracks))
	t.tracks = append(t.tracks, row)
	switch row.kind {
	case ProcessTrack:
		t.hold(processBytes)
	case ThreadTrack:
		t.hold(threadBytes)
	case AsyncTrack:
		t.hold(asyncBytes)
	default:
		t.hold(trackBytes)
	}
	if t.writeOn != 0 && row.parent == 0 {
		t.setMachine(id)
	}
	if t.space != 0 && row.parent == 0 {
		t.setSpace(id, t.space)
	}
	return id
}

// Process returns the track of a process, creating it if necessary.
func (b *Builder) Process(k ProcessKey) TrackID {
	t := b.table
	if id, ok := t.processByKey[k]; ok {
		return id
	}
	if b.intake != nil && t.reading == 0 {
		if id, ok := b.intake.Process(k); ok {
			t.processByKey[k] = id
			return id
		}
	}
	t.processes = append(t.processes, process{key: k, moved: b.opts.Moved})
	id := t.add(track{kind: ProcessTrack, index: uint32(len(t.processes) - 1)})
	t.processByKey[k] = id
	return id
}

// SetProcessPosition sets where a process first appears in the input, for messages about its id. Only the first call has an
// effect.
func (b *Builder) SetProcessPosition(process TrackID, at problem.Position) {
	if p := b.table.process(process); !p.noted {
		p.first, p.noted = at, true
	}
}

// Thread returns the main track of a thread in a process, creating the track if necessary. The zero key means the main thread.
func (b *Builder) Thread(process TrackID, k ThreadKey) TrackID {
	t := b.table
	if k == (ThreadKey{}) {
		// The main thread of a process has the same number as the process.
		if p := t.resolve(process); t.tracks[p].kind == ProcessTrack {
			k.Num = t.process(p).key.Num
		}
	}
	key := threadKey{process, k}
	if id, ok := t.threadByKey[key]; ok {
		return id
	}
	t.threads = append(t.threads, thread{key: k})
	id := t.add(track{kind: ThreadTrack, parent: process, index: uint32(len(t.threads) - 1)})
	t.threadByKey[key] = id
	return id
}

// SetStream marks a thread as a GPU stream, on which slices may overlap.
func (b *Builder) SetStream(thread TrackID) { b.table.thread(thread).stream = true }

// ThreadUse describes a thread and states whether it has events.
type ThreadUse struct {
	Track   TrackID
	Process TrackID
	Key     ThreadKey // for a main thread: the number of its process
	Name    string    // "" if unknown
	Main    bool      // its number equals the number of its process
	Used    bool      // an event was added to it or to a track below it
}

// Threads returns all threads in the input, in order of creation.
func (b *Builder) Threads() []ThreadUse {
	t := b.table
	first, processes := b.first, map[TrackID]bool{} // including processes shared with other inputs
	for _, id := range t.processesRead() {
		first, processes[id] = min(first, id), true
	}
	used := make([]bool, len(t.tracks)-int(first))
	for i := len(used) - 1; i >= 0; i-- { // tracks come after their parents
		row := &t.tracks[int(first)+i]
		used[i] = used[i] || row.used
		if row.parent >= first {
			used[row.parent-first] = used[row.parent-first] || used[i]
		}
	}
	var all []ThreadUse
	for i, used := range used {
		id := first + TrackID(i)
		row := &t.tracks[id]
		if row.kind != ThreadTrack || t.tracks[row.parent].kind == ProcessTrack && !processes[row.parent] {
			continue
		}
		th := &t.threads[row.index]
		use := ThreadUse{Track: id, Process: row.parent, Key: th.key, Name: th.name.text, Used: used}
		if t.tracks[row.parent].kind == ProcessTrack {
			key := t.process(row.parent).key
			use.Main = use.Key.Text == "" && key.Text == "" && use.Key.Num == key.Num
		}
		all = append(all, use)
	}
	return all
}

// maxAliasHops limits the length of an alias chain, and maxParents the number of a track's ancestors (Perfetto allows 100).
const (
	maxAliasHops = 100
	maxParents   = 98
)

// GlobalInstants returns the track for instants that concern the whole trace.
func (b *Builder) GlobalInstants() TrackID {
	return b.roleTrack(0, TrackSpec{Name: "Global instants", Role: RoleInstants})
}

// ProcessInstants returns the track for instants that concern a process.
func (b *Builder) ProcessInstants(process TrackID) TrackID {
	return b.roleTrack(process, TrackSpec{Name: "Process instants", Role: RoleInstants})
}

// Child returns the track called name below parent (the root, a process, a thread or another such track), creating it if
// necessary.
func (b *Builder) Child(parent TrackID, name string) TrackID {
	return b.roleTrack(parent, TrackSpec{Name: name})
}

// NewTrack adds a track for slices and instants below the root, a process, a thread or another such track.
func (b *Builder) NewTrack(parent TrackID, spec TrackSpec) TrackID {
	t := b.table
	t.namedLater = t.namedLater || spec.Name == ""
	if spec.Role != RoleInput {
		spec.Name = b.childName(parent, spec.Name)
	}
	t.specs = append(t.specs, spec)
	t.hold(len(spec.Name) + len(spec.Description) + len(spec.MergeKey) + len(spec.Subject))
	return t.add(track{kind: NamedTrack, parent: parent, index: uint32(len(t.specs) - 1)})
}

// Undeclared adds a track whose parent is unknown. The track can be the Track of events and the parent of other tracks. Unless
// Alias redirects it, the track becomes a track below the root, named after its first event.
func (b *Builder) Undeclared() TrackID {
	b.table.namedLater = true
	return b.table.add(track{kind: undeclaredTrack})
}

// Alias makes one track an alias for another: events of the track from, which Undeclared created, appear on the track to. Alias
// has no effect if that would create a cycle.
func (b *Builder) Alias(from, to TrackID) {
	if from != to && b.table.resolve(to) != from {
		b.table.aliases[from] = to
	}
}

// Counter returns the counter track with key k below parent, creating it if necessary. The first ShareKey of a counter wins.
func (b *Builder) Counter(parent TrackID, k *CounterKey) TrackID {
	t := b.table
	if id, ok := t.counterByKey[counterKey{parent, k.Unique, string(k.Name)}]; ok {
		if row := &t.counters[t.tracks[id].index]; row.ShareKey == "" {
			row.ShareKey = k.ShareKey
		}
		return id
	}
	key := string(k.Name)
	name := b.childName(parent, key)
	row := *k
	row.Name = nil
	t.counters = append(t.counters, row)
	t.names = append(t.names, name)
	t.hold(2*len(name) + len(k.UnitName) + len(k.Description))
	id := t.add(track{kind: CounterTrack, parent: parent, index: uint32(len(t.counters) - 1)})
	t.counterByKey[counterKey{parent, k.Unique, key}] = id
	return id
}

// Async returns the track for an asynchronous id, creating it if necessary. The track is named after its first event in time
// order.
func (b *Builder) Async(k *AsyncKey) TrackID {
	t := b.table
	key := asyncKey{kind: k.Kind, process: k.Process, category: b.categoryID(k.Category)}
	key.num, key.form = t.asyncID(k.ID, k.IsText)
	if k.Kind == AsyncPlain {
		key.scope = t.textID(k.Scope)
	}
	parent := k.Process
	if k.Kind == AsyncGlobal {
		key.process, parent = 0, 0
	}
	if k.Thread != 0 {
		key.process = k.Thread
	}
	if id, ok := t.asyncByKey[key]; ok {
		return id
	}
	id := t.add(track{kind: AsyncTrack, parent: parent, index: uint32(len(t.asyncs))})
	t.asyncs = append(t.asyncs, async{key: key, group: id})
	t.asyncByKey[key] = id
	switch {
	case k.Thread != 0:
		key.process = k.Process
		if _, ok := t.asyncByKey[key]; ok {
			b.opts.Problems.Add(problem.AsyncIDPerThread, k.At, string(k.ID))
		} else {
			t.asyncByKey[key] = id // track of the first thread
		}
	case k.Kind == AsyncPlain:
		t.joinGroup(id, key)
	}
	return id
}

// joinGroup links the track for a plain id with the tracks for the same id in other processes.
func (t *trackTable) joinGroup(id TrackID, key asyncKey) {
	key.process = math.MaxUint32
	head, ok := t.asyncByKey[key]
	if !ok {
		t.asyncByKey[key] = id
		return
	}
	a, first := t.async(id), t.async(head)
	a.group, a.next, first.next = head, first.next, id
}

// namedByEvent reports whether a track takes its name from its first event.
func (t *trackTable) namedByEvent(row *track) bool {
	switch row.kind {
	case AsyncTrack, undeclaredTrack:
		return true
	case NamedTrack:
		return t.specs[row.index].Name == ""
	}
	return false
}

func (t *trackTable) async(id TrackID) *async { return &t.asyncs[t.tracks[id].index] }

// asyncID converts an id to a number if the text can be restored from that number.
func (t *trackTable) asyncID(id []byte, isText bool) (num uint64, form idForm) {
	if isText {
		if len(id) > 2 && len(id) <= 18 && id[0] == '0' && id[1] == 'x' && (id[2] != '0' || len(id) == 3) {
			if v, ok := lowerHex(id[2:]); ok {
				return v, formHex
			}
		}
		return uint64(t.textID(id)), formText
	}
	var digits [20]byte
	if v, err := strconv.ParseInt(string(id), 10, 64); err == nil && string(strconv.AppendInt(digits[:0], v, 10)) == string(id) {
		return uint64(v), formDecimal
	}
	return uint64(t.textID(id)), formNumber
}

func lowerHex(digits []byte) (v uint64, ok bool) {
	for _, c := range digits {
		switch {
		case c >= '0' && c <= '9':
			v = v<<4 | uint64(c-'0')
		case c >= 'a' && c <= 'f':
			v = v<<4 | uint64(c-'a'+10)
		default:
			return 0, false
		}
	}
	return v, true
}

// textID interns text for which no string table is suitable; 0 is the empty string.
func (t *trackTable) textID(text []byte) uint32 {
	if len(text) == 0 {
		return 0
	}
	if id, ok := t.texts[string(text)]; ok {
		return id
	}
	t.textList = append(t.textList, string(text))
	t.hold(64 + 2*len(text))
	id := uint32(len(t.textList))
	t.texts[string(text)] = id
	return id
}

func (t *trackTable) idText(k *asyncKey) string {
	switch k.form {
	case formHex:
		return "0x" + strconv.FormatUint(k.num, 16)
	case formDecimal:
		return strconv.FormatInt(int64(k.num), 10)
	}
	return t.textOf(uint32(k.num))
}

// textOf returns the text for an id from textID.
func (t *trackTable) textOf(id uint32) string {
	if id == 0 {
		return ""
	}
	return t.textList[id-1]
}

// SetAsyncID sets the id and scope of a track with RoleAsync. Only the first call has an effect; later calls return false if the
// id or scope differs.
func (b *Builder) SetAsyncID(track TrackID, id, scope []byte) bool {
	t := b.table
	spec := &t.specs[t.tracks[track].index]
	key := asyncKey{scope: t.textID(scope)}
	key.num, key.form = t.asyncID(id, true)
	if spec.async == nil {
		spec.async = &key
	}
	return *spec.async == key
}

// categoryID returns the id of a category for use in keys, even if the category table is full.
func (b *Builder) categoryID(text []byte) uint32 {
	if id, ok := b.categories.intern(text); ok {
		return id
	}
	return b.table.textID(text) | 1<<31
}

// SetProcessName names a process. The name with the latest ts wins, or the last call at equal ts; empty names are ignored.
func (b *Builder) SetProcessName(process TrackID, ts Nanos, name []byte) {
	b.table.setName(&b.table.process(process).name, ts, name)
}

func (t *trackTable) setName(n *lastName, ts Nanos, text []byte) {
	before := len(n.text)
	n.set(ts, text)
	t.hold(len(n.text) - before)
}

// SetThreadName names a thread, with the same rules as SetProcessName.
func (b *Builder) SetThreadName(thread TrackID, ts Nanos, name []byte) {
	b.table.setName(&b.table.thread(thread).name, ts, name)
}

// SetSortIndex sets the position of a process among the processes, or of a thread within its process.
func (b *Builder) SetSortIndex(id TrackID, index int32) {
	switch t := b.table; t.tracks[id].kind {
	case ProcessTrack:
		p := t.process(id)
		p.rank, p.hasRank = index, true
	case ThreadTrack:
		th := t.thread(id)
		th.rank, th.hasRank = index, true
	}
}

// Evidence that a process is its browser's main process, from weak to strong.
const (
	MainByType   uint8 = iota + 1 // the type in the process's profile
	MainByName                    // the name that browsers give the main process
	MainByThread                  // the name that browsers give its main thread
	MainByMark                    // the mark from an earlier conversion
	NotMain                       // absence of a mark, in the output of a conversion that marks main processes; overrides all names
)

// SetMain marks a process as the main process of its browser. The process with the strongest evidence wins; among equals, the
// first process wins.
func (b *Builder) SetMain(process TrackID, evidence uint8) {
	p := b.table.process(process)
	p.main = max(p.main, evidence)
}

// findMain determines the browser's main process in each recording.
func (t *trackTable) findMain() {
	best := map[uint32]*process{} // by id space
	for i := range t.tracks {
		if t.tracks[i].kind != ProcessTrack {
			continue
		}
		p, space := t.process(TrackID(i)), t.spaceOf[TrackID(i)]
		if before := best[space]; p.main != 0 && p.main != NotMain && (before == nil || p.main > before.main) {
			best[space] = p
		}
	}
	for _, p := range best {
		p.isMain = true
	}
}

// AddLabel adds a label to a process unless the process already has it.
func (b *Builder) AddLabel(process TrackID, label string) {
	p := b.table.process(process)
	if label == "" || len(p.labels) >= maxLabels || slices.Contains(p.labels, label) {
		return
	}
	p.labels = append(p.labels, label)
	b.table.hold(32 + len(label))
}

// maxLabels limits the labels of a process.
const maxLabels = 1000

// isOwn reports whether a track in the input was added by weft rather than recorded.
func (t *trackTable) isOwn(id TrackID) bool {
	row := &t.tracks[id]
	if row.kind != NamedTrack {
		return false
	}
	role := t.specs[row.index].Role
	return role == RoleLongTasks || role == RoleContexts || role == RoleCatalogue
}

func (t *trackTable) process(id TrackID) *process { return &t.processes[t.tracks[id].index] }
func (t *trackTable) thread(id TrackID) *thread   { return &t.threads[t.tracks[id].index] }

// finish must be called after the last event: it resolves aliases, determines which processes are used and assigns ids.
func (t *trackTable) finish(problems *problem.Log) {
	for id := range t.tracks {
		row := &t.tracks[id]
		row.parent = t.resolve(row.parent)
		if to := t.resolve(TrackID(id)); row.used && to != TrackID(id) {
			row.used, t.tracks[to].used = false, true
		}
	}
	t.writeOn, t.space = 0, 0
	t.finishParents()
	t.findMain()
	t.assignIDs(problems)
	t.trackKeys, t.keys, t.threadByKey, t.texts = nil, nil, nil, nil
}

// finishParents marks the ancestors of used tracks as used. It breaks cycles, and chains longer than Perfetto allows, by moving a
// track to the root.
func (t *trackTable) finishParents() {
	const visiting = math.MaxUint8
	depths := make([]uint8, len(t.tracks)) // number of tracks up to the root; 0: unknown
	var path []TrackID
	for id := range t.tracks {
		if !t.tracks[id].used {
			continue
		}
		path = path[:0]
		p := TrackID(id)
		for ; p != 0 && depths[p] == 0; p = t.tracks[p].parent {
			depths[p] = visiting
			path = append(path, p)
		}
		depth := depths[p]
		for _, p := range slices.Backward(path) {
			row := &t.tracks[p]
			row.used = true
			if depth > maxParents {
				row.parent, depth = 0, 0
			}
			depth++
			depths[p] = depth
		}
	}
}

// clearUsed clears the marks that finish set, because finish also counts events that are not in the output.
func (t *trackTable) clearUsed() {
	for id := range t.tracks {
		t.tracks[id].used = false
	}
}

// propagate marks the ancestors of used tracks as used.
func (t *trackTable) propagate() {
	for id := range t.tracks {
		if t.tracks[id].used {
			t.use(t.tracks[id].parent)
		}
	}
}

// use marks a track and its ancestors as used. The ancestors form no cycle, see finish.
func (t *trackTable) use(id TrackID) {
	for id != 0 && !t.tracks[id].used {
		t.tracks[id].used = true
		id = t.tracks[id].parent
	}
}

// useLane records a lane of a track.
func (t *trackTable) useLane(id TrackID, lane uint32) { t.lanes[id] = max(t.lanes[id], lane) }

// resolve returns the track to which the aliases of a track lead, or the track itself if it has no alias.
func (t *trackTable) resolve(id TrackID) TrackID {
	if len(t.aliases) == 0 {
		return id
	}
	for range maxAliasHops {
		to, ok := t.aliases[id]
		if !ok {
			return id
		}
		id = to
	}
	return id
}
