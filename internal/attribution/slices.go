package attribution

import (
	"cmp"
	"context"
	"slices"
	"sort"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
)

// EventSet is the set of contexts that a slice or instant has, by its ordinal.
type EventSet struct {
	Ordinal uint64
	Event   uint32
	Set     SetID
	Key     uint8 // under which the set is noted, by index of noteKeys; len(noteKeys): it is not
}

var eventSetOrder = extsort.Order[EventSet]{
	Compare: compareEventSets,
	Key:     func(s *EventSet) uint64 { return s.Ordinal },
}

func compareEventSets(a, b *EventSet) int { return cmp.Compare(a.Ordinal, b.Ordinal) }

// pass is the third pass. It gives every slice and instant its set of contexts and adds up what every set costs.
type costing struct {
	problems  *problem.Log
	contexts  *Catalogue
	found     *found
	sets      *Sets
	opts      Rules
	evidence  Cursor[Evidence]
	kinds     []Evidence // of the group
	entries   Cursor[entry]
	eventSets *extsort.Sorter[EventSet]
	costs     *costs

	threads []*thread // by TrackID; nil: nothing was there
	ranges  []int     // of the group: where the evidence of each occurrence ends in kinds
	marks   []mark
	merged  []memberID
	adding  []memberID // to a set
	used    Bitset     // sets that something has
	key     uint8      // for the note of what is stamped now, by index of noteKeys
	uses    firstUses

	// orders holds for threads with explicit events at this time what was entered when each start came
	// (attribution.md, rule 1), and ordered these threads in the order of the input.
	orders   map[timeline.TrackID]*history
	ordered  []timeline.TrackID
	explicit []Explicit // of what starts
}

// thread is a thread in the third pass.
type thread struct {
	id       timeline.TrackID
	spans    bool // it is a track of spans, below which contexts are not shown: each span says its own
	slices   timeline.OpenSlices[slice]
	active   active
	explicit []Explicit     // of active
	current  SetID          // in effect in the innermost slice
	endless  int            // open slices without end
	busy     int            // index of the innermost slice that has an end, to which time is charged; -1: none
	charged  SetID          // in effect in that
	until    timeline.Nanos // time up to which costs are added up
	epoch    int
	account  account
}

// slice is an open slice in the third pass.
type slice struct {
	ordinal  uint64
	ts       timeline.Nanos
	event    uint32
	set      SetID // of the entries of this slice and those around it
	atStart  SetID // in effect at its start
	own      []ownType
	types    TypeSet // of own
	epoch    int     // of the states of contexts
	up       int     // index of the next slice outwards that has an end; -1: none
	category producers.Category
	costs    bool  // it has an end of its own; one without has no cost, but holds what follows
	left     bool  // its own time is not asked for
	endless  bool  // it never ends
	runs     bool  // it, or a slice around it, runs a script
	forced   bool  // style or layout that a script waits for
	freed    int64 // bytes, by a garbage collection
	cpu      cpuTime

	shares    []share        // its own intervals
	joined    int            // length of shares when some of them were joined last
	uncounted timeline.Nanos // its own time that has no share
}

// ownType marks the types of which an entry starts with the slice.
type ownType struct {
	typ TypeID
	via Via
}

// begins notes that an entry of a type begins with the slice.
func (s *slice) begins(typ TypeID, via Via) {
	s.own = append(s.own, ownType{typ, via})
	s.types.Add(typ)
}

// mark is an explicit event of this time.
type mark struct {
	thread   timeline.TrackID
	at       int // in the group
	evidence Evidence
}

func newCosting(f *found, e *Entries, costs *costs, opts Rules) *costing {
	s := &costing{
		problems: f.T.Problems(), contexts: f.Contexts, found: f, sets: e.Sets, opts: opts, costs: costs,
		eventSets: extsort.New(eventSetOrder, f.T.Memory()/16, f.T.TempDir()),
		threads:   make([]*thread, len(f.tracks)), orders: map[timeline.TrackID]*history{},
	}
	s.evidence = Cursor[Evidence]{Next: f.Evidence.Next, Ordinal: evidenceOrdinal}
	s.entries = Cursor[entry]{Next: e.Sorted.Next, Ordinal: entryOrdinal}
	return s
}

// run goes through the trace.
func (s *costing) run(ctx context.Context) error {
	if err := s.found.Evidence.Rewind(); err != nil {
		return err
	}
	if err := s.found.walk(ctx, s.group); err != nil {
		return err
	}
	for _, w := range s.threads {
		if w == nil {
			continue
		}
		s.closeUntil(w, LastTime)
		s.costs.finishThread(w)
	}
	return nil
}

// group handles everything that happens at one time.
func (s *costing) group(group []timeline.Head, inOrder bool) error {
	s.evidence.Group(inOrder)
	s.entries.Group(inOrder)
	s.kinds, s.ranges = s.kinds[:0], s.ranges[:0]
	explicit := false
	for i := range group {
		list, err := s.evidence.Of(group[i].Ordinal)
		if err != nil {
			return err
		}
		for k := range list {
			explicit = explicit || list[k].isExplicit() && s.opts.has(ViaExplicit)
		}
		s.kinds = append(s.kinds, list...)
		s.ranges = append(s.ranges, len(s.kinds))
	}
	clear(s.orders)
	s.ordered = s.ordered[:0]
	if explicit {
		s.orderExplicit(group)
	}
	for i := range group {
		if err := s.occurrence(&group[i], s.evidenceOf(i)); err != nil {
			return err
		}
	}
	for _, id := range s.ordered {
		w := s.thread(id)
		s.closeUntil(w, group[0].TS)
		s.costs.advance(w, group[0].TS)
		w.explicit = w.active.appendInnermost(w.explicit[:0])
		s.settle(w)
	}
	return nil
}

// evidenceOf returns the evidence of an occurrence of the group.
func (s *costing) evidenceOf(at int) []Evidence {
	first := 0
	if at > 0 {
		first = s.ranges[at-1]
	}
	return s.kinds[first:s.ranges[at]]
}

// orderExplicit finds out which contexts are entered on a thread when each of its starts comes, for threads with explicit
// events at this time: what is earlier in the input counts, whatever the order in which slices nest.
func (s *costing) orderExplicit(group []timeline.Head) {
	s.marks = s.marks[:0]
	for i := range group {
		for _, e := range s.evidenceOf(i) {
			if thread := s.threadOf(&group[i]); thread != 0 && e.isExplicit() {
				s.marks = append(s.marks, mark{thread, i, e})
			}
		}
	}
	slices.SortStableFunc(s.marks, func(a, b mark) int { return cmp.Compare(group[a.at].Event, group[b.at].Event) })
	for i := range s.marks {
		m := &s.marks[i]
		o, w := &group[m.at], s.thread(m.thread)
		h := s.orders[m.thread]
		if h == nil {
			s.closeUntil(w, o.TS)
			h = new(history)
			h.Begin(&w.active)
			s.orders[m.thread], s.ordered = h, append(s.ordered, m.thread)
		}
		h.Apply(&w.active, s.contexts, &m.evidence, &explicitAt{TS: o.TS, offset: o.Offset, Event: o.Event, Thread: m.thread}, nil)
	}
}

// explicitAt returns the explicit contexts of a thread when something starts; false if the thread's own apply. They are valid until
// the next call.
func (s *costing) explicitAt(w *thread, event uint32) ([]Explicit, bool) {
	h := s.orders[w.id]
	if h == nil {
		return w.explicit, false
	}
	s.explicit = h.appendInnermost(s.explicit[:0], event)
	return s.explicit, true
}

// threadOf returns the thread of an occurrence, 0 if it is unknown.
func (s *costing) threadOf(o *timeline.Head) timeline.TrackID {
	return cmp.Or(o.Thread, s.found.tracks[o.Track].Thread)
}

func (s *costing) thread(id timeline.TrackID) *thread {
	w := s.threads[id]
	if w == nil {
		w = &thread{id: id, busy: -1, spans: s.found.T.Role(id) == timeline.RoleSpans}
		s.threads[id] = w
	}
	return w
}

// occurrence stamps what starts, and begins slices of threads.
func (s *costing) occurrence(o *timeline.Head, found []Evidence) error {
	own, err := s.entries.Of(o.Ordinal)
	if err != nil {
		return err
	}
	s.key = noteKeyBeside(found)
	place := &s.found.tracks[o.Track]
	if place.Place != placeOwn {
		s.uses.spans(o)
	}
	switch {
	case o.Kind == timeline.ItemEnd:
		if at, ok := o.ThreadTime.Nanos(); ok && place.Place == PlaceThread {
			s.thread(place.Thread).usedUntil(o.BeginEvent, at)
		}
		return nil
	case place.Place == placeNone, place.Place == placeOwn, place.Place == placeObjects, place.Place == placeOther:
		return nil
	case o.Kind == timeline.ItemBegin && place.Place == PlaceThread:
		return s.begin(o, s.thread(place.Thread), found, own)
	case place.Place == placeAsync:
		set := SetID(0)
		s.adding = s.adding[:0]
		own = s.oneOfEachType(own, o.TS)
		for i := range own {
			s.adding = append(s.adding, s.bind(&own[i], o.TS))
		}
		set = s.sets.withAll(set, s.adding)
		if !place.sampled && !place.beside && s.costs.counts(o) {
			s.costs.async(o, place.process, set)
		}
		return s.put(o, set)
	}
	thread := s.threadOf(o)
	if thread == 0 {
		return s.instant(o, nil, own)
	}
	return s.instant(o, s.thread(thread), own)
}

// put keeps the set of a slice or instant.
func (s *costing) put(o *timeline.Head, set SetID) error {
	if set == 0 {
		return nil
	}
	if !s.used.Has(set) {
		s.used.Add(set)
		for _, id := range s.sets.Lists.At(uint32(set)) {
			s.uses.add(s.contexts.LogicalOf(s.sets.Members[id].Node), o.TS)
		}
	}
	return s.eventSets.Add(EventSet{Ordinal: o.Ordinal, Event: o.Event, Set: set, Key: s.key})
}

// instant stamps a point in time, on a thread if that is known. Its contexts have the states of that time
// (attribution.md, rule 3), whenever the slice around it began.
func (s *costing) instant(o *timeline.Head, w *thread, own []entry) error {
	set := SetID(0)
	if w != nil {
		s.closeUntil(w, o.TS)
		set = w.current
		if innermost, ok := s.explicitAt(w, o.Event); ok {
			set = s.effective(w, innermost)
		}
		if around := w.slices.Innermost(); set != 0 && (around == nil || around.epoch != s.epochAt(w, o.TS)) {
			set = s.rebind(set, o.TS)
		}
	}
	s.adding = s.adding[:0]
	var added TypeSet
	for i := range own {
		if typ := own[i].Type; own[i].Via == ViaArgs || s.sets.Of(set, typ) == 0 && !added.Has(typ) {
			s.adding = append(s.adding, s.bind(&own[i], o.TS))
			added.Add(typ)
		}
	}
	set = s.sets.withAll(set, s.adding)
	if w != nil && s.found.tracks[o.Track].Place == PlaceThread && s.costs.counts(o) {
		s.costs.instant(w.id, set, o.TS)
	}
	return s.put(o, set)
}

// bind makes an entry of what a pass found: the state of the object is that which is valid at a time.
func (s *costing) bind(b *entry, ts timeline.Nanos) memberID {
	return s.sets.Member(Member{
		Type: b.Type, Via: b.Via, Hops: b.hops, Node: b.Node, Candidates: b.candidates, Snapshot: s.stateOf(b.Node, ts),
	})
}

// stateOf returns the snapshot of a context that is valid at a time: its own, or another member's of its node.
func (s *costing) stateOf(node NodeID, ts timeline.Nanos) SnapshotID {
	if node == 0 {
		return 0
	}
	return s.contexts.At(node, ts)
}

// begin begins a slice of a thread.
func (s *costing) begin(o *timeline.Head, w *thread, found []Evidence, own []entry) error {
	s.closeUntil(w, o.TS)
	s.costs.advance(w, o.TS)
	innermost, _ := s.explicitAt(w, o.Event)
	next := w.push(s.endOf(w, o))
	next.ordinal, next.ts, next.event = o.Ordinal, o.TS, o.Event
	next.epoch = s.epochAt(w, o.TS)
	next.left = !s.costs.counts(o)
	s.nest(w, next, o, found)
	next.set = s.setOf(w, next, own)
	next.atStart = s.effective(w, innermost)
	set := next.atStart
	if next.costs = o.End != timeline.NoTime && !o.DidNotEnd; next.costs {
		w.current, w.charged = set, set
		next.up, w.busy = w.busy, w.slices.Len()-1
		s.costs.begin(w, next)
		return s.put(o, set)
	}
	s.problems.Add(problem.SlicesWithoutEnd, problem.Position{Event: int64(o.Event), Offset: o.Offset}, "")
	switch {
	case o.End != timeline.NoTime: // where the next task begins
	case w.endless < maxEndless:
		next.endless = true
		w.endless++
	default:
		w.slices.Pop()
	}
	s.settle(w)
	return s.put(o, set)
}

// endOf returns when a slice ends: at the latest with the slice around it.
func (s *costing) endOf(w *thread, o *timeline.Head) timeline.Nanos {
	limit := LastTime
	if n := w.slices.Len(); n > 0 {
		limit = w.slices.End(n - 1)
	}
	if o.End == timeline.NoTime {
		return limit
	}
	if o.End > limit {
		s.problems.Add(problem.Clipped, problem.Position{Event: int64(o.Event), Offset: o.Offset}, "")
	}
	return min(o.End, limit)
}

// nest gives a slice the contexts of the slices around it, and its CPU time.
func (s *costing) nest(w *thread, next *slice, o *timeline.Head, found []Evidence) {
	name := &s.found.names[o.NameID]
	next.category, next.runs = name.Category, name.Runs
	for i := range found {
		if found[i].kind == ownCategory {
			next.category = producers.Category(found[i].value)
			next.runs = next.category == producers.CategoryScript
		}
	}
	own := next.category
	if next.category == producers.CategoryNone && s.found.categories[o.CategoryID].Script {
		next.category, next.runs = producers.CategoryScript, true
	}
	forcedBy := false
	if n := w.slices.Len(); n > 1 {
		around := w.slices.At(n - 2)
		if next.category == producers.CategoryNone {
			next.category = around.category
		}
		forcedBy = around.runs
		next.runs = next.runs || around.runs
	}
	if next.category == producers.CategoryNone {
		next.category = producers.CategoryOther
	}
	next.cpu.start, _ = o.ThreadTime.Nanos()
	next.cpu.used, next.cpu.known = o.ThreadDuration.Nanos()
	for i := range found {
		switch found[i].kind {
		case usedCPU:
			next.cpu.known, next.cpu.used = true, timeline.Nanos(found[i].value)
		case hasStack:
			forcedBy = true
		case Freed:
			next.freed = found[i].value
		}
	}
	next.forced = forcedBy && (own == producers.CategoryStyle || own == producers.CategoryLayout)
}

// setOf returns the set of the entries of a slice and those around it.
func (s *costing) setOf(w *thread, next *slice, own []entry) SetID {
	n := w.slices.Len()
	set := SetID(0)
	if n > 1 {
		around := w.slices.At(n - 2)
		if set = around.set; around.epoch != next.epoch {
			set = s.rebind(set, next.ts)
		}
	}
	next.own, s.adding = next.own[:0], s.adding[:0]
	own = s.oneOfEachType(own, next.ts)
	for i := range own {
		b := &own[i]
		if b.Via == ViaDescendants {
			if e := s.sets.Of(set, b.Type); e != 0 && s.sets.Members[e].Via != ViaDescendants {
				continue
			}
		}
		if b.Via == ViaIsolate {
			s.trigger(next, set)
		}
		s.adding = append(s.adding, s.bind(b, next.ts))
		next.begins(b.Type, b.Via)
	}
	return s.sets.withAll(set, s.adding)
}

// oneOfEachType decides between the entries of one type that begin with a slice, in place. Several come of flows into
// asynchronous slices, and into slices that were cut before: their other entries are complete by then. What the slice says
// itself and the isolate count more than what flows bring (attribution.md, rule 6), between flows rule 4 decides.
func (s *costing) oneOfEachType(own []entry, ts timeline.Nanos) []entry {
	out := own[:0]
	for _, b := range own {
		old := ofType(out, b.Type)
		switch {
		case old == nil:
			out = append(out, b)
		case b.Via == ViaFlow && old.Via == ViaFlow:
			*old = span(s.contexts, s.sets, old, &b, ts)
		case b.Via != ViaFlow || old.Via != ViaArgs && old.Via != ViaIsolate:
			*old = b
		}
	}
	return out
}

// trigger keeps the frame in effect when garbage is collected as the one that provoked it (attribution.md, rule 9).
func (s *costing) trigger(next *slice, set SetID) {
	frame := s.sets.Of(set, TypeFrame)
	if frame == 0 {
		return
	}
	e := s.sets.Members[frame]
	if e.Node == 0 || s.contexts.Nodes[e.Node].Scope == ScopeIsolate {
		return
	}
	e.Type = TypeTrigger
	next.begins(TypeTrigger, e.Via)
	s.adding = append(s.adding, s.sets.Member(e))
}

// rebind returns a set with the states that its contexts have at a time.
func (s *costing) rebind(set SetID, ts timeline.Nanos) SetID {
	changed := false
	s.merged = s.merged[:0]
	for _, id := range s.sets.Lists.At(uint32(set)) {
		e := s.sets.Members[id]
		if now := s.stateOf(e.Node, ts); now != e.Snapshot {
			e.Snapshot = now
			id, changed = s.sets.Member(e), true
		}
		s.merged = append(s.merged, id)
	}
	if !changed {
		return set
	}
	if out := s.sets.Set(s.merged); out != 0 {
		return out
	}
	return set // there is no room for another one
}

// settle finds out what is in effect on a thread after something has ended or was entered.
func (s *costing) settle(w *thread) {
	w.current = s.effective(w, w.explicit)
	if w.charged = w.current; w.busy >= 0 && w.busy < w.slices.Len()-1 {
		w.charged = s.effectiveIn(w, w.busy, w.explicit)
	}
}

// effective returns the set in effect in the innermost slice of a thread, given the explicit contexts.
func (s *costing) effective(w *thread, innermost []Explicit) SetID {
	return s.effectiveIn(w, w.slices.Len()-1, innermost)
}

// effectiveIn returns the set in effect in an open slice, by its index, -1 for outside of all.
func (s *costing) effectiveIn(w *thread, slice int, innermost []Explicit) SetID {
	set, ts := SetID(0), timeline.Nanos(0)
	if slice >= 0 {
		set, ts = w.slices.At(slice).set, w.slices.At(slice).ts
	}
	s.adding = s.adding[:0]
	for i := range innermost {
		if s.explicitIsInner(w, slice, &innermost[i]) {
			ts := max(ts, innermost[i].Began)
			s.adding = append(s.adding, s.bind(&entry{Type: innermost[i].Type, Node: innermost[i].Node, Via: ViaExplicit}, ts))
		}
	}
	return s.sets.withAll(set, s.adding)
}

// explicitIsInner decides between an explicit context and the innermost entry of its type in an open slice.
func (s *costing) explicitIsInner(w *thread, last int, t *Explicit) bool {
	if last < 0 || s.sets.Of(w.slices.At(last).set, t.Type) == 0 {
		return true
	}
	for i := last; i >= below(last); i-- {
		around := w.slices.At(i)
		if !around.types.Has(t.Type) {
			continue
		}
		for _, own := range around.own {
			if own.typ == t.Type {
				return explicitWins(&t.Entered, own.via, around.ts)
			}
		}
	}
	return true
}

// epochAt returns the number of the epoch of a time, which does not decrease from call to call for a thread.
func (s *costing) epochAt(w *thread, ts timeline.Nanos) int {
	if rest := s.contexts.epochs[w.epoch:]; len(rest) > 0 && rest[0] <= ts {
		w.epoch += sort.Search(len(rest), func(i int) bool { return rest[i] > ts })
	}
	return w.epoch
}

// closeUntil ends the slices of a thread up to a time.
func (s *costing) closeUntil(w *thread, ts timeline.Nanos) {
	for top := w.slices.Ended(ts); top != nil; top = w.slices.Ended(ts) {
		end := w.slices.End(w.slices.Len() - 1)
		s.costs.advance(w, end)
		if top.endless {
			w.endless--
		}
		if top.costs {
			s.costs.end(w)
			w.busy = top.up
		}
		if s.opts.EndWithSlice && !top.endless && w.active.endSlice(top.ts, end, top.event) {
			w.explicit = w.active.appendInnermost(w.explicit[:0])
		}
		w.slices.Pop()
		s.settle(w)
	}
}

// push opens a slice and returns it.
func (w *thread) push(end timeline.Nanos) *slice {
	next := w.slices.Push(end)
	*next = slice{own: next.own[:0], shares: next.shares[:0]}
	return next
}

// usedUntil notes the CPU time of the thread at the end of a slice.
func (w *thread) usedUntil(beginEvent uint32, threadTime timeline.Nanos) {
	last := w.slices.Len() - 1
	for i := last; i >= below(last); i-- {
		if s := w.slices.At(i); s.event == beginEvent {
			if s.cpu.start != timeline.NoTime && threadTime >= s.cpu.start {
				s.cpu.known, s.cpu.used = true, Add(threadTime, -s.cpu.start)
			}
			return
		}
	}
}

// finishRequests returns the requests that were seen, with their sets.
func (s *costing) finishRequests(seen []sentRequest) []Request {
	list := make([]Request, len(seen))
	for i := range seen {
		r := &seen[i]
		list[i] = Request{ID: s.found.Requests.Ids[i], Start: r.Start, End: r.End, Bytes: r.Bytes, Thread: r.Thread}
		if r.Bytes < 0 {
			list[i].Bytes = r.fromData
		}
		for k := range r.Entries {
			list[i].Set = s.sets.With(list[i].Set, s.bind(&r.Entries[k], r.Start))
		}
	}
	return list
}
