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

// EventSet is the set of contexts of a slice or instant.
type EventSet struct {
	Ordinal uint64
	Event   uint32
	Set     SetID
	Key     uint8 // index in NoteKeys of the note's name; len(NoteKeys): no note
}

var eventSetOrder = extsort.Order[EventSet]{
	Compare: compareEventSets,
	Key:     func(s *EventSet) uint64 { return s.Ordinal },
}

func compareEventSets(a, b *EventSet) int { return cmp.Compare(a.Ordinal, b.Ordinal) }

// costing is the third pass. It computes the set of every slice and instant, and sums the costs of every set.
type costing struct {
	problems      *problem.Log
	contexts      *Catalogue
	found         *found
	sets          *Sets
	opts          Rules
	evidence      Cursor[Evidence]
	groupEvidence []Evidence // evidence of the whole group
	entries       Cursor[entry]
	eventSets     *extsort.Sorter[EventSet]
	costs         *costs

	threads []*thread // by TrackID; nil: no events
	ranges  []int     // by event of the group: end of its evidence in groupEvidence
	marks   []mark
	merged  []memberID
	adding  []memberID    // members to add to a set
	used    Bitset[SetID] // sets of slices and instants
	key     uint8         // EventSet.Key of the current event
	uses    firstUses

	// orders holds, for threads with explicit events at the current time, the explicit contexts before each event
	// (attribution.md, rule 1); ordered lists these threads in input order.
	orders   map[timeline.TrackID]*history
	ordered  []timeline.TrackID
	explicit []Explicit // result of explicitAt
}

// thread is the state of a thread in the third pass.
type thread struct {
	id       timeline.TrackID
	spans    bool // a track of spans, which has no intervals: each span names its contexts
	slices   timeline.OpenSlices[slice]
	active   active
	explicit []Explicit     // innermost contexts of active
	current  SetID          // set in effect in the innermost slice
	endless  int            // number of open slices without an end
	busy     int            // index of the innermost slice with an end, to which time is charged; -1: none
	charged  SetID          // set in effect in that slice
	until    timeline.Nanos // time up to which costs are charged
	epoch    int
	account  account
}

// slice is an open slice in the third pass.
type slice struct {
	ordinal  uint64
	ts       timeline.Nanos
	event    uint32
	set      SetID // entries of this slice and the enclosing ones
	atStart  SetID // set in effect at the start
	own      []ownType
	types    TypeSet // of own
	epoch    int     // of the states of contexts
	up       int     // index of the next enclosing slice with an end; -1: none
	category producers.Category
	costs    bool  // has an end; slices without an end have no cost, but enclose later ones
	excluded bool  // not selected by CostOptions.Counts
	endless  bool  // never ends
	runs     bool  // runs a script, or an enclosing slice does
	forced   bool  // style or layout that a script waits for
	freed    int64 // bytes freed by a garbage collection
	cpu      cpuTime

	shares    []share        // of its own time
	joined    int            // length of shares after the last joinShares
	uncounted timeline.Nanos // own time without a share
}

// ownType is the type and source of an entry that starts with a slice.
type ownType struct {
	typ TypeID
	via Via
}

// begins records that an entry of a type starts with the slice.
func (s *slice) begins(typ TypeID, via Via) {
	s.own = append(s.own, ownType{typ, via})
	s.types.Add(typ)
}

// mark is an explicit event at the current time.
type mark struct {
	thread   timeline.TrackID
	at       int // index in the group
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

// run computes the sets and costs of all events.
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

// group computes the sets and costs of all events of one timestamp.
func (s *costing) group(group []timeline.Head, inOrder bool) error {
	s.evidence.Group(inOrder)
	s.entries.Group(inOrder)
	s.groupEvidence, s.ranges = s.groupEvidence[:0], s.ranges[:0]
	explicit := false
	for i := range group {
		list, err := s.evidence.Of(group[i].Ordinal)
		if err != nil {
			return err
		}
		for k := range list {
			explicit = explicit || list[k].isExplicit() && s.opts.has(ViaExplicit)
		}
		s.groupEvidence = append(s.groupEvidence, list...)
		s.ranges = append(s.ranges, len(s.groupEvidence))
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

// evidenceOf returns the evidence of an event in the group.
func (s *costing) evidenceOf(at int) []Evidence {
	first := 0
	if at > 0 {
		first = s.ranges[at-1]
	}
	return s.groupEvidence[first:s.ranges[at]]
}

// orderExplicit records the history of explicit contexts for threads with explicit events at the current time: the input order
// of events counts, not the order in which slices nest.
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

// explicitAt returns the explicit contexts of a thread before an event, and whether they may differ from thread.explicit. The
// contexts are valid until the next call.
func (s *costing) explicitAt(w *thread, event uint32) ([]Explicit, bool) {
	h := s.orders[w.id]
	if h == nil {
		return w.explicit, false
	}
	s.explicit = h.appendInnermost(s.explicit[:0], event)
	return s.explicit, true
}

// threadOf returns the thread of an event, or 0 if it is unknown.
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

// occurrence computes the set of a slice or instant, and starts slices of threads.
func (s *costing) occurrence(o *timeline.Head, found []Evidence) error {
	own, err := s.entries.Of(o.Ordinal)
	if err != nil {
		return err
	}
	s.key = freeNoteKey(found)
	tr := &s.found.tracks[o.Track]
	if tr.Place != placeOwn {
		s.uses.extend(o)
	}
	switch {
	case o.Kind == timeline.ItemEnd:
		if at, ok := o.ThreadTime.Nanos(); ok && tr.Place == PlaceThread {
			s.thread(tr.Thread).usedUntil(o.BeginEvent, at)
		}
		return nil
	case tr.Place == placeNone, tr.Place == placeOwn, tr.Place == placeObjects, tr.Place == placeOther:
		return nil
	case o.Kind == timeline.ItemBegin && tr.Place == PlaceThread:
		return s.begin(o, s.thread(tr.Thread), found, own)
	case tr.Place == placeAsync:
		s.adding = s.adding[:0]
		own = s.oneOfEachType(own, o.TS)
		for i := range own {
			s.adding = append(s.adding, s.bind(&own[i], o.TS))
		}
		set := s.sets.withAll(0, s.adding)
		if !tr.sampled && !tr.duplicate && s.costs.counts(o) {
			s.costs.async(o, tr.process, set)
		}
		return s.store(o, set)
	}
	thread := s.threadOf(o)
	if thread == 0 {
		return s.instant(o, nil, own)
	}
	return s.instant(o, s.thread(thread), own)
}

// store adds the set of a slice or instant to the result.
func (s *costing) store(o *timeline.Head, set SetID) error {
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

// instant computes the set of an instant, on its thread if known. The contexts in the set are in their states at the time of the
// instant (attribution.md, rule 3), not at the start of the enclosing slice.
func (s *costing) instant(o *timeline.Head, w *thread, own []entry) error {
	set := SetID(0)
	if w != nil {
		s.closeUntil(w, o.TS)
		set = w.current
		if innermost, ok := s.explicitAt(w, o.Event); ok {
			set = s.effective(w, innermost)
		}
		if enclosing := w.slices.Innermost(); set != 0 && (enclosing == nil || enclosing.epoch != s.epochAt(w, o.TS)) {
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
	return s.store(o, set)
}

// bind returns the Member for an entry, with the state of its object at ts.
func (s *costing) bind(b *entry, ts timeline.Nanos) memberID {
	return s.sets.Member(Member{
		Type: b.Type, Via: b.Via, Hops: b.hops, Node: b.Node, Candidates: b.candidates, Snapshot: s.stateOf(b.Node, ts),
	})
}

// stateOf returns the snapshot of a context that is valid at ts, or 0 if there is none.
func (s *costing) stateOf(node NodeID, ts timeline.Nanos) SnapshotID {
	if node == 0 {
		return 0
	}
	return s.contexts.At(node, ts)
}

// begin starts a slice of a thread and computes its set, after charging the time up to its start.
func (s *costing) begin(o *timeline.Head, w *thread, found []Evidence, own []entry) error {
	s.closeUntil(w, o.TS)
	s.costs.advance(w, o.TS)
	innermost, _ := s.explicitAt(w, o.Event)
	next := w.push(s.endOf(w, o))
	next.ordinal, next.ts, next.event = o.Ordinal, o.TS, o.Event
	next.epoch = s.epochAt(w, o.TS)
	next.excluded = !s.costs.counts(o)
	s.nest(w, next, o, found)
	next.set = s.setOf(w, next, own)
	next.atStart = s.effective(w, innermost)
	set := next.atStart
	if next.costs = o.End != timeline.NoTime && !o.DidNotEnd; next.costs {
		w.current, w.charged = set, set
		next.up, w.busy = w.busy, w.slices.Len()-1
		s.costs.begin(w, next)
		return s.store(o, set)
	}
	s.problems.Add(problem.SlicesWithoutEnd, problem.Position{Event: int64(o.Event), Offset: o.Offset}, "")
	switch {
	case o.End != timeline.NoTime: // ended at the next task
	case w.endless < maxEndless:
		next.endless = true
		w.endless++
	default:
		w.slices.Pop()
	}
	s.settle(w)
	return s.store(o, set)
}

// endOf returns the end of a slice, at most the end of the enclosing slice.
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

// nest sets the category, CPU time and other facts of a slice from its evidence and the enclosing slice.
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
		enclosing := w.slices.At(n - 2)
		if next.category == producers.CategoryNone {
			next.category = enclosing.category
		}
		forcedBy = enclosing.runs
		next.runs = next.runs || enclosing.runs
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

// setOf returns the set of the entries of a slice and of the enclosing slices.
func (s *costing) setOf(w *thread, next *slice, own []entry) SetID {
	n := w.slices.Len()
	set := SetID(0)
	if n > 1 {
		enclosing := w.slices.At(n - 2)
		if set = enclosing.set; enclosing.epoch != next.epoch {
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

// oneOfEachType chooses, in place, between entries of one type that start with a slice. There are several if a flow leads into
// an asynchronous slice, or into a slice that was truncated earlier: then the second pass had already written its entries.
// Arguments and isolates take precedence over flows (attribution.md, rule 6); rule 4 decides between flows.
func (s *costing) oneOfEachType(own []entry, ts timeline.Nanos) []entry {
	out := own[:0]
	for _, b := range own {
		old := ofType(out, b.Type)
		switch {
		case old == nil:
			out = append(out, b)
		case b.Via == ViaFlow && old.Via == ViaFlow:
			*old = mergeEntries(s.contexts, s.sets, old, &b, ts)
		case b.Via != ViaFlow || old.Via != ViaArgs && old.Via != ViaIsolate:
			*old = b
		}
	}
	return out
}

// trigger records the frame in effect at a garbage collection as its Trigger (attribution.md, rule 9).
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

// rebind returns a set with the states of its contexts at ts.
func (s *costing) rebind(set SetID, ts timeline.Nanos) SetID {
	changed := false
	s.merged = s.merged[:0]
	for _, id := range s.sets.Lists.At(uint32(set)) {
		e := s.sets.Members[id]
		if state := s.stateOf(e.Node, ts); state != e.Snapshot {
			e.Snapshot = state
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
	return set // the table is full
}

// settle updates the sets in effect on a thread after a slice has ended or an explicit event has been applied.
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

// effectiveIn returns the set in effect in the open slice with the given index, or outside all slices if the index is -1.
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

// explicitIsInner reports whether an explicit context takes precedence over the innermost entry of the same type in an open
// slice.
func (s *costing) explicitIsInner(w *thread, last int, t *Explicit) bool {
	if last < 0 || s.sets.Of(w.slices.At(last).set, t.Type) == 0 {
		return true
	}
	for i := last; i >= searchEnd(last); i-- {
		enclosing := w.slices.At(i)
		if !enclosing.types.Has(t.Type) {
			continue
		}
		for _, own := range enclosing.own {
			if own.typ == t.Type {
				return explicitWins(&t.Entered, own.via, enclosing.ts)
			}
		}
	}
	return true
}

// epochAt returns the number of epochs up to ts. For each thread, times must not decrease from call to call.
func (s *costing) epochAt(w *thread, ts timeline.Nanos) int {
	if rest := s.contexts.epochs[w.epoch:]; len(rest) > 0 && rest[0] <= ts {
		w.epoch += sort.Search(len(rest), func(i int) bool { return rest[i] > ts })
	}
	return w.epoch
}

// closeUntil ends the slices of a thread that end at or before ts.
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

// usedUntil sets the CPU time of a slice from the thread time at its end.
func (w *thread) usedUntil(beginEvent uint32, threadTime timeline.Nanos) {
	last := w.slices.Len() - 1
	for i := last; i >= searchEnd(last); i-- {
		if s := w.slices.At(i); s.event == beginEvent {
			if s.cpu.start != timeline.NoTime && threadTime >= s.cpu.start {
				s.cpu.known, s.cpu.used = true, Add(threadTime, -s.cpu.start)
			}
			return
		}
	}
}

// finishRequests returns the requests with their sets.
func (s *costing) finishRequests(sent []sentRequest) []Request {
	list := make([]Request, len(sent))
	for i := range sent {
		r := &sent[i]
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
