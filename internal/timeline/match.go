package timeline

import (
	"cmp"
	"context"
	"sort"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/problem"
)

// matcher pairs begins with ends, in time order and then in input order (chrome-json.md 8, 9, 11).
//
// Open begins are kept on stacks: one for every thread and other track, and one for every asynchronous id across all processes.
// An end closes the innermost begin with a matching name and category, even if other begins are further inside. These stacks are
// not OpenSlices, because slices need not nest and their ends are unknown.
type matcher struct {
	t       *Timeline
	stackOf []int32     // by track or group of asynchronous tracks: index into stacks; 0: no stack
	stacks  []openStack // index 0 is always empty
	spare   []int32     // empty stacks that belong to no track

	ordinal uint64
	// found collects the lengths of Begins on disk. The next pass joins the lengths with the records of these Begins.
	found *extsort.Sorter[foundEnd]
}

// openBegin is a Begin whose End has not come yet.
type openBegin struct {
	name     NameID
	category CategoryID
	event    uint32
	track    TrackID
	ts       Nanos
	record   *record // for a record in memory
	ordinal  uint64  // for a record on disk
	number   uint32  // position among the Begins of its stack
	next     Nanos   // for a task: its end if no End comes, see closing; NoTime: not yet known
	task     bool
	gone     bool // its end was found, but later Begins are still open
}

// foundEnd is the length of the slice that starts at a record. flags is flagMatched, with flagClosed if the slice ends where the
// next task begins.
type foundEnd struct {
	ordinal uint64
	dur     Nanos
	flags   recordFlags
}

var byOrdinal = extsort.Order[foundEnd]{Compare: func(a, b *foundEnd) int { return cmp.Compare(a.ordinal, b.ordinal) }}

// openStack is a stack of open Begins, innermost last. An End usually closes the last Begin or a Begin near it. Large stacks are
// indexed by name, so that every End finds its Begin quickly.
type openStack struct {
	open   []openBegin
	gone   int                // number of entries in open that are gone
	byName map[NameID][]int32 // indexes into open, some of them gone; nil in a small stack
	tasks  inferred
}

const (
	// indexedStack is the minimum size of a stack with an index.
	indexedStack = 64
	// maxSearch limits the search among begins with the right name in other categories or processes.
	maxSearch = 1 << 14
)

func (s *openStack) push(o openBegin) {
	o.number = s.tasks.begin(o.ts, o.task)
	s.open = append(s.open, o)
	switch {
	case s.byName != nil:
		s.byName[o.name] = append(s.byName[o.name], int32(len(s.open)-1))
	case len(s.open) > indexedStack:
		s.compact()
	}
}

// remove removes the Begin at index i, which ends at the given time.
func (s *openStack) remove(i int, end Nanos) {
	s.tasks.end(&s.open[i], end)
	s.open[i].gone = true
	s.gone++
	for n := len(s.open); n > 0 && s.open[n-1].gone; n = len(s.open) {
		s.open = s.open[:n-1]
		s.gone--
	}
	if s.gone > len(s.open)/2 {
		s.compact()
	}
}

// compact drops the entries that are gone, and rebuilds the index if the stack is still large.
func (s *openStack) compact() {
	live := s.open[:0]
	for i := range s.open {
		if !s.open[i].gone {
			live = append(live, s.open[i])
		}
	}
	s.open, s.gone, s.byName = live, 0, nil
	if len(live) < indexedStack {
		return
	}
	s.byName = map[NameID][]int32{}
	for i := range live {
		s.byName[live[i].name] = append(s.byName[live[i].name], int32(i))
	}
}

// named calls fn with the indexes of Begins with the given name, innermost first, until fn returns true.
func (s *openStack) named(name NameID, fn func(i int) bool) {
	if s.byName == nil {
		for i := len(s.open) - 1; i >= 0; i-- {
			if s.open[i].name == name && !s.open[i].gone && fn(i) {
				return
			}
		}
		return
	}
	entries := s.byName[name]
	for n := len(entries); n > 0 && !s.is(entries[n-1], name); n = len(entries) {
		entries = entries[:n-1]
	}
	if s.byName[name] = entries; len(entries) == 0 {
		delete(s.byName, name)
	}
	for n := len(entries) - 1; n >= 0; n-- {
		if s.is(entries[n], name) && fn(int(entries[n])) {
			return
		}
	}
}

// is reports whether an index entry is still valid. An entry can become invalid because positions are reused.
func (s *openStack) is(i int32, name NameID) bool {
	return int(i) < len(s.open) && s.open[i].name == name && !s.open[i].gone
}

// any is like named, but for Begins of all names.
func (s *openStack) any(fn func(i int) bool) {
	for i := len(s.open) - 1; i >= 0; i-- {
		if !s.open[i].gone && fn(i) {
			return
		}
	}
}

// match runs the pass. Afterwards, every End has the length of its slice. Every Begin also has this length, unless match returns
// the lengths of Begins because the records are on disk.
func (t *Timeline) match(ctx context.Context) (*extsort.Sorter[foundEnd], error) {
	if !t.unmatched {
		return nil, nil
	}
	m := &matcher{t: t, stackOf: make([]int32, len(t.table.tracks)), stacks: make([]openStack, 1)}
	if d, ok := t.store.(*disk); ok {
		m.found = extsort.New(byOrdinal, t.opts.Memory/8, d.dir)
	}
	err := t.groups(ctx, true, func(g *group) error {
		for i := range g.len() {
			r := g.at(i)
			r.track = t.table.resolve(r.track)
			if err := m.record(r, g.mem != nil); err != nil {
				return err
			}
			m.ordinal++
		}
		return nil
	})
	if err == nil {
		err = m.closeTasks()
	}
	return m.found, err
}

// closeTasks ends each task without an end where the next task of the same name begins, or later (chrome-json.md 9). Begins that
// are still open inside a task end with it. A task that begins at the same time as the task around it also ends with it: a later
// end would make it the outer task.
func (m *matcher) closeTasks() error {
	for i := range m.stacks {
		stack := &m.stacks[i]
		for _, c := range stack.tasks.closing {
			stack.close(c)
		}
		began, limit := NoTime, NoTime
		for i := range stack.open {
			o := &stack.open[i]
			if o.gone || o.next == NoTime {
				continue
			}
			if o.ts == began {
				o.next = min(o.next, limit)
			}
			began, limit = o.ts, o.next
			if err := m.setLength(o, o.next-o.ts, flagMatched|flagClosed); err != nil {
				return err
			}
		}
	}
	return nil
}

// setLength sets the length of a Begin.
func (m *matcher) setLength(o *openBegin, dur Nanos, flags recordFlags) error {
	if o.record == nil {
		return m.found.Add(foundEnd{o.ordinal, dur, flags})
	}
	o.record.dur = dur
	o.record.flags |= flags
	return nil
}

// nextTask ends the open tasks with the name of r where r begins.
func (m *matcher) nextTask(r *record, scope TrackID) {
	stack := &m.stacks[m.stackOf[scope]]
	stack.named(r.name, func(i int) bool {
		o := &stack.open[i]
		if !o.task || o.next != NoTime || o.ts == r.ts {
			return true
		}
		o.next = r.ts
		if c, full := stack.tasks.close(o.number, r.ts); full {
			stack.close(c)
		}
		return false
	})
}

// close sets the end of a task.
func (s *openStack) close(c closing) {
	if i := sort.Search(len(s.open), func(i int) bool { return s.open[i].number >= c.number }); i < len(s.open) && s.open[i].number == c.number {
		s.open[i].next = c.end
	}
}

func (m *matcher) record(r *record, inMemory bool) error {
	row := &m.t.table.tracks[r.track]
	scope := r.track
	if row.kind == AsyncTrack {
		scope = m.t.table.asyncs[row.index].group
	}
	task := r.flags&flagTask != 0 && m.t.table.ofThread(row)
	if task && (r.Kind() == Begin || r.Kind() == Slice) {
		m.nextTask(r, scope)
	}
	switch r.Kind() {
	case Begin:
		o := openBegin{
			name: r.name, category: r.category, event: r.event, track: r.track, ts: r.ts, ordinal: m.ordinal,
			task: task, next: NoTime,
		}
		if inMemory {
			o.record = r
		}
		i := m.stackOf[scope]
		if i == 0 {
			i = m.newStack()
			m.stackOf[scope] = i
		}
		m.stacks[i].push(o)
	case End:
		return m.end(r, scope, row)
	case Slice:
		m.stacks[m.stackOf[scope]].tasks.slice(r.ts, r.dur)
	case Instant:
		if row.kind == AsyncTrack {
			m.moveToOpen(r, scope)
		}
	default:
		return nil
	}
	if row := &m.t.table.tracks[r.track]; row.name == 0 && m.t.table.namedByEvent(row) {
		m.t.nameTrack(r.track, r)
	}
	return nil
}

// end closes the Begin that matches the End r, or counts r if no Begin matches.
func (m *matcher) end(r *record, scope TrackID, row *track) error {
	at := m.stackOf[scope]
	stack := &m.stacks[at]
	i := m.find(stack, r, row)
	if i < 0 {
		m.unmatched(r, row)
		return nil
	}
	o := &stack.open[i]
	r.dur = r.ts - o.ts
	r.setBegin(o.event)
	r.flags |= flagMatched
	if o.track != r.track {
		m.t.count(problem.AsyncCrossProcess, r)
		r.track = o.track
	}
	err := m.setLength(o, r.dur, flagMatched)
	stack.remove(i, r.ts)
	if len(stack.open) == 0 && row.kind == AsyncTrack { // most ids are used once
		m.stackOf[scope] = 0
		m.spare = append(m.spare, at)
	}
	return err
}

func (m *matcher) newStack() int32 {
	if n := len(m.spare); n > 0 {
		i := m.spare[n-1]
		m.spare = m.spare[:n-1]
		return i
	}
	m.stacks = append(m.stacks, openStack{})
	return int32(len(m.stacks) - 1)
}

// unmatched drops an End without a Begin, or turns it into an instant.
func (m *matcher) unmatched(r *record, row *track) {
	switch {
	case r.flags&flagKeepEnd != 0:
		m.t.count(problem.ObjectEndWithoutBegin, r)
		r.setKind(Instant)
		return
	case row.kind == AsyncTrack:
		m.t.count(problem.AsyncEndWithoutBegin, r)
	default:
		m.t.count(problem.EndWithoutBegin, r)
	}
	r.setKind(dropped)
}

// find returns the index of the Begin that r ends, or -1. Among asynchronous Begins, it prefers those in the same process.
func (m *matcher) find(stack *openStack, r *record, row *track) int {
	same, foreign, tried := -1, -1, 0
	fits := func(i int) bool {
		o := &stack.open[i]
		tried++
		switch {
		case row.kind != AsyncTrack && r.category != 0 && o.category != r.category && r.flags&flagKeepEnd == 0:
		case o.track == r.track:
			same = i
		case foreign < 0:
			foreign = i
		}
		return same >= 0 || tried == maxSearch
	}
	if r.name == 0 || row.kind == AsyncTrack && m.t.table.asyncs[row.index].key.kind.isLegacy() {
		stack.any(fits)
	} else {
		stack.named(r.name, fits)
	}
	if same >= 0 {
		return same
	}
	return foreign
}

// moveToOpen moves an instant with an asynchronous id to the process with an open slice of that id if the instant's own process
// has no such slice.
func (m *matcher) moveToOpen(r *record, scope TrackID) {
	stack := &m.stacks[m.stackOf[scope]]
	same, other, tried := false, -1, 0
	stack.any(func(i int) bool {
		tried++
		same = stack.open[i].track == r.track
		if other < 0 {
			other = i
		}
		return same || tried == maxSearch
	})
	if !same && other >= 0 {
		r.track = stack.open[other].track
		m.t.table.tracks[r.track].used = true
	}
}
