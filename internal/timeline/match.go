package timeline

import (
	"cmp"
	"context"
	"sort"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/problem"
)

// matcher pairs begins with ends, in the order of time and, at one time, of the input (chrome-json.md 8, 9, 11).
//
// Begins wait on a stack: one for every thread and other track, and one for every asynchronous id over all processes.
// An end takes the innermost begin that fits its name and category; it need not be the innermost one of all. So these
// stacks are not OpenSlices: nothing is known to nest, and no end is known.
type matcher struct {
	t       *Timeline
	stackOf []int32     // by track, or group of asynchronous tracks: index into stacks; 0: no stack
	stacks  []openStack // the first is always empty
	spare   []int32     // stacks that are empty and belong to no track

	ordinal uint64
	// found takes the lengths of Begins that are on disk, for the next pass to join with their records.
	found *extsort.Sorter[foundEnd]
}

// openBegin is a Begin without an End so far.
type openBegin struct {
	name     NameID
	category CategoryID
	event    uint32
	track    TrackID
	ts       Nanos
	record   *record // where it is, in memory
	ordinal  uint64  // which one it is, on disk
	number   uint32  // among the Begins of its stack
	next     Nanos   // of a task: where it ends if no End comes, see closing; NoTime: nowhere so far
	task     bool
	gone     bool // its end was found while others after it stay open
}

// foundEnd says how long the slice that the record with the given ordinal begins is: flagMatched, with flagClosed where the next task begins.
type foundEnd struct {
	ordinal uint64
	dur     Nanos
	flags   recordFlags
}

var byOrdinal = extsort.Order[foundEnd]{Compare: func(a, b *foundEnd) int { return cmp.Compare(a.ordinal, b.ordinal) }}

// openStack are the Begins that wait, the innermost last. Ends mostly take the last one or one near it. In a stack of many Begins
// they are found by name, so that no End takes longer than another.
type openStack struct {
	open   []openBegin
	gone   int                // number of those in open that are gone
	byName map[NameID][]int32 // places in open, some of them gone; nil in a small stack
	tasks  inferred
}

const (
	// indexedStack is the size from which on a stack has an index.
	indexedStack = 64
	// maxSearch bounds how many begins of the right name are looked at that are of another category or process.
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

// remove removes the Begin at place i, which ends at a time.
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

// compact forgets what is gone, and makes the index anew if the stack is still large.
func (s *openStack) compact() {
	kept := s.open[:0]
	for i := range s.open {
		if !s.open[i].gone {
			kept = append(kept, s.open[i])
		}
	}
	s.open, s.gone, s.byName = kept, 0, nil
	if len(kept) < indexedStack {
		return
	}
	s.byName = map[NameID][]int32{}
	for i := range kept {
		s.byName[kept[i].name] = append(s.byName[kept[i].name], int32(i))
	}
}

// named calls fn with the places of Begins of the given name, the innermost first, until it returns true.
func (s *openStack) named(name NameID, fn func(i int) bool) {
	if s.byName == nil {
		for i := len(s.open) - 1; i >= 0; i-- {
			if s.open[i].name == name && !s.open[i].gone && fn(i) {
				return
			}
		}
		return
	}
	places := s.byName[name]
	for n := len(places); n > 0 && !s.is(places[n-1], name); n = len(places) {
		places = places[:n-1] // gone for good
	}
	if s.byName[name] = places; len(places) == 0 {
		delete(s.byName, name)
	}
	for n := len(places) - 1; n >= 0; n-- {
		if s.is(places[n], name) && fn(int(places[n])) {
			return
		}
	}
}

// is reports whether a Begin of this name is at a place of the index, which may have been used again.
func (s *openStack) is(place int32, name NameID) bool {
	return int(place) < len(s.open) && s.open[place].name == name && !s.open[place].gone
}

// any is named for begins of all names.
func (s *openStack) any(fn func(i int) bool) {
	for i := len(s.open) - 1; i >= 0; i-- {
		if !s.open[i].gone && fn(i) {
			return
		}
	}
}

// match runs the pass. Afterwards every End and, unless found is returned, every Begin knows the length of its slice.
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

// closeTasks ends the tasks without end where the next task of their name begins, or later (chrome-json.md 9). What is open in them
// ends with them, as in every slice that ends. A task that begins together with the one around it ends with it as well: with a
// later end it would be the one outside.
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

// setLength gives a Begin its length.
func (m *matcher) setLength(o *openBegin, dur Nanos, flags recordFlags) error {
	if o.record == nil {
		return m.found.Add(foundEnd{o.ordinal, dur, flags})
	}
	o.record.dur = dur
	o.record.flags |= flags
	return nil
}

// nextTask tells the open tasks of the name of r that the next one begins with it.
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

// close notes where a task ends.
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

// end closes the Begin that belongs to r.
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

// unmatched removes an End without a Begin from the trace, or makes it an instant.
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

// find returns the place of the Begin that r ends, or -1. Asynchronous Begins of the own process come first.
func (m *matcher) find(stack *openStack, r *record, row *track) int {
	own, foreign, looked := -1, -1, 0
	fits := func(i int) bool {
		o := &stack.open[i]
		looked++
		switch {
		case row.kind != AsyncTrack && r.category != 0 && o.category != r.category && r.flags&flagKeepEnd == 0:
		case o.track == r.track:
			own = i
		case foreign < 0:
			foreign = i
		}
		return own >= 0 || looked == maxSearch
	}
	if r.name == 0 || row.kind == AsyncTrack && m.t.table.asyncs[row.index].key.kind.isLegacy() {
		stack.any(fits)
	} else {
		stack.named(r.name, fits)
	}
	if own >= 0 {
		return own
	}
	return foreign
}

// moveToOpen puts an instant of an asynchronous id into the process in which a slice of the id is open, if its own
// process has none.
func (m *matcher) moveToOpen(r *record, scope TrackID) {
	stack := &m.stacks[m.stackOf[scope]]
	own, other, looked := false, -1, 0
	stack.any(func(i int) bool {
		looked++
		own = stack.open[i].track == r.track
		if other < 0 {
			other = i
		}
		return own || looked == maxSearch
	})
	if !own && other >= 0 {
		r.track = stack.open[other].track
		m.t.table.tracks[r.track].used = true
	}
}
