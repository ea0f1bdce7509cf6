package attribution

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"sort"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// stamp is the set of contexts that a slice or instant has, by its ordinal.
type stamp struct {
	ordinal uint64
	event   uint32
	set     SetID
	key     uint8 // under which the set is noted, by index of noteKeys; len(noteKeys): it is not
}

var stampCodec = extsort.Codec[stamp]{
	Size: 17,
	Key:  func(s *stamp) uint64 { return s.ordinal },
	Put: func(b []byte, s *stamp) {
		le := binary.LittleEndian
		_ = b[16]
		le.PutUint64(b, s.ordinal)
		le.PutUint32(b[8:], uint32(s.set))
		le.PutUint32(b[12:], s.event)
		b[16] = s.key
	},
	Get: func(b []byte, s *stamp) {
		le := binary.LittleEndian
		_ = b[16]
		*s = stamp{ordinal: le.Uint64(b), set: SetID(le.Uint32(b[8:])), event: le.Uint32(b[12:]), key: b[16]}
	},
}

func compareStamps(a, b *stamp) int { return cmp.Compare(a.ordinal, b.ordinal) }

// stamper is the third pass. It gives every slice and instant its set of contexts and adds up what every set costs.
type stamper struct {
	problems *problem.Log
	contexts *catalogue
	found    *found
	sets     *sets
	opts     Options
	evidence cursor[evidence]
	kinds    []evidence // of the group
	entries  cursor[begun]
	stamps   *extsort.Sorter[stamp]
	costs    *costs

	workers []*worker // by TrackID; nil: nothing was there
	ranges  []int     // of the group: where the evidence of each occurrence ends in kinds
	marks   []mark
	merged  []entryID
	adding  []entryID // to a set
	used    bitset    // sets that something has
	key     uint8     // for the note of what is stamped now, by index of noteKeys
	uses    firstUses

	// orders holds for threads with explicit events at this time what was entered when each start came
	// (attribution.md, rule 1), and ordered these threads in the order of the input.
	orders  map[timeline.TrackID]*history
	ordered []timeline.TrackID
	tops    []top // of what starts
}

// worker is a thread in the third pass.
type worker struct {
	id      timeline.TrackID
	slices  []work
	active  active
	tops    []top          // of active
	current SetID          // in effect in the innermost slice
	endless int            // open slices without end
	busy    int            // index of the innermost slice that has an end, to which time is charged; -1: none
	charged SetID          // in effect in that
	until   timeline.Nanos // time up to which costs are added up
	epoch   int
	account account
}

// top is the active explicit context of a type.
type top struct {
	typ TypeID
	entered
}

// work is an open slice in the third pass.
type work struct {
	ordinal  uint64
	ts, end  timeline.Nanos
	event    uint32
	set      SetID // of the entries of this slice and those around it
	stamp    SetID // in effect at its start
	own      []ownType
	types    typeSet // of own
	epoch    int     // of the states of contexts
	up       int     // index of the next slice outwards that has an end; -1: none
	category Category
	endless  bool  // it has no end and no cost, but holds what follows
	runs     bool  // it, or a slice around it, runs a script
	forced   bool  // style or layout that a script waits for
	freed    int64 // bytes, by a garbage collection
	cpu      cpuTime

	shares    []share        // its own intervals
	joined    int            // length of shares when some of them were joined last
	uncounted timeline.Nanos // its own time that has no share
}

// ownType says that an entry of a type begins with a slice.
type ownType struct {
	typ TypeID
	via Via
}

// begins notes that an entry of a type begins with the slice.
func (s *work) begins(typ TypeID, via Via) {
	s.own = append(s.own, ownType{typ, via})
	s.types.add(typ)
}

// mark is an explicit event of this time.
type mark struct {
	thread   timeline.TrackID
	at       int // in the group
	evidence evidence
}

func newStamper(p *propagation, costs *costs) *stamper {
	s := &stamper{
		problems: p.problems, contexts: p.contexts, found: p.found, sets: p.sets, opts: p.opts, costs: costs,
		stamps:  extsort.New(stampCodec, compareStamps, p.found.t.Memory()/16, p.found.t.TempDir()),
		workers: make([]*worker, len(p.found.places)), orders: map[timeline.TrackID]*history{},
	}
	s.evidence = cursor[evidence]{next: p.found.evidence.Next, ordinal: evidenceOrdinal}
	s.entries = cursor[begun]{next: p.out.Next, ordinal: begunOrdinal}
	return s
}

// run goes through the trace.
func (s *stamper) run(ctx context.Context) error {
	if err := s.found.evidence.Rewind(); err != nil {
		return err
	}
	if err := s.found.walk(ctx, s.group); err != nil {
		return err
	}
	for _, w := range s.workers {
		if w == nil {
			continue
		}
		s.closeUntil(w, lastTime)
		s.costs.finishThread(w)
	}
	return nil
}

// group handles everything that happens at one time.
func (s *stamper) group(group []timeline.Occurrence, inOrder bool) error {
	s.evidence.group(inOrder)
	s.entries.group(inOrder)
	s.kinds, s.ranges = s.kinds[:0], s.ranges[:0]
	explicit := false
	for i := range group {
		list, err := s.evidence.of(group[i].Ordinal)
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
		w := s.worker(id)
		s.closeUntil(w, group[0].TS)
		s.costs.advance(w, group[0].TS)
		w.tops = w.active.appendTops(w.tops[:0])
		s.settle(w)
	}
	return nil
}

// evidenceOf returns the evidence of an occurrence of the group.
func (s *stamper) evidenceOf(at int) []evidence {
	first := 0
	if at > 0 {
		first = s.ranges[at-1]
	}
	return s.kinds[first:s.ranges[at]]
}

// orderExplicit finds out which contexts are entered on a thread when each of its starts comes, for threads with explicit
// events at this time: what is earlier in the input counts, whatever the order in which slices nest.
func (s *stamper) orderExplicit(group []timeline.Occurrence) {
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
		o, w := &group[m.at], s.worker(m.thread)
		h := s.orders[m.thread]
		if h == nil {
			s.closeUntil(w, o.TS)
			h = new(history)
			h.begin(&w.active)
			s.orders[m.thread], s.ordered = h, append(s.ordered, m.thread)
		}
		h.apply(&w.active, s.contexts, &m.evidence, &explicitAt{o.TS, o.Offset, o.Event, m.thread}, nil)
	}
}

// topsAt returns the explicit contexts of a thread when something starts; false if they are those of the thread. They are
// valid until the next call.
func (s *stamper) topsAt(w *worker, event uint32) ([]top, bool) {
	h := s.orders[w.id]
	if h == nil {
		return w.tops, false
	}
	s.tops = h.appendTops(s.tops[:0], event)
	return s.tops, true
}

// threadOf returns the thread of an occurrence, 0 if it is unknown.
func (s *stamper) threadOf(o *timeline.Occurrence) timeline.TrackID {
	return cmp.Or(o.Thread, s.found.places[o.Track].thread)
}

// appendTops appends the active contexts of all types.
func (a *active) appendTops(tops []top) []top {
	for i := range a.stacks {
		if e := a.stacks[i].entered; len(e) > 0 {
			tops = append(tops, top{a.stacks[i].typ, e[len(e)-1]})
		}
	}
	return tops
}

func (s *stamper) worker(id timeline.TrackID) *worker {
	w := s.workers[id]
	if w == nil {
		w = &worker{id: id, busy: -1}
		s.workers[id] = w
	}
	return w
}

// occurrence stamps what starts, and begins slices of threads.
func (s *stamper) occurrence(o *timeline.Occurrence, found []evidence) error {
	own, err := s.entries.of(o.Ordinal)
	if err != nil {
		return err
	}
	s.key = noteKeyBeside(found)
	place := &s.found.places[o.Track]
	if place.role != roleOwn {
		s.uses.spans(o)
	}
	switch {
	case o.Kind == timeline.OccursEnd:
		if place.role == roleThread && o.ThreadTime != timeline.NoTime {
			s.worker(place.thread).usedUntil(o.BeginEvent, o.ThreadTime)
		}
		return nil
	case place.role == roleNone, place.role == roleOwn, place.role == roleObjects, place.role == roleOther:
		return nil
	case o.Kind == timeline.OccursSlice && place.role == roleThread:
		return s.begin(o, s.worker(place.thread), found, own)
	case place.role == roleAsync:
		set := SetID(0)
		s.adding = s.adding[:0]
		own = s.oneOfEachType(own, o.TS)
		for i := range own {
			s.adding = append(s.adding, s.bind(&own[i], o.TS))
		}
		set = s.sets.withAll(set, s.adding)
		if !place.sampled {
			s.costs.async(o, place.process, set)
		}
		return s.put(o, set)
	}
	thread := s.threadOf(o)
	if thread == 0 {
		return s.instant(o, nil, own)
	}
	return s.instant(o, s.worker(thread), own)
}

// put keeps the set of a slice or instant.
func (s *stamper) put(o *timeline.Occurrence, set SetID) error {
	if set == 0 {
		return nil
	}
	if !s.used.has(set) {
		s.used.add(set)
		for _, id := range s.sets.sets.at(uint32(set)) {
			s.uses.add(s.contexts.logicalOf(s.sets.entries[id].node), o.TS)
		}
	}
	return s.stamps.Add(stamp{ordinal: o.Ordinal, event: o.Event, set: set, key: s.key})
}

// instant stamps a point in time, on a thread if that is known. Its contexts have the states of that time
// (attribution.md, rule 3), whenever the slice around it began.
func (s *stamper) instant(o *timeline.Occurrence, w *worker, own []begun) error {
	set := SetID(0)
	if w != nil {
		s.closeUntil(w, o.TS)
		set = w.current
		if tops, ok := s.topsAt(w, o.Event); ok {
			set = s.effective(w, tops)
		}
		if n := len(w.slices); set != 0 && (n == 0 || w.slices[n-1].epoch != s.epochAt(w, o.TS)) {
			set = s.rebind(set, o.TS)
		}
	}
	s.adding = s.adding[:0]
	var added typeSet
	for i := range own {
		if typ := own[i].typ; own[i].via == ViaArgs || s.sets.of(set, typ) == 0 && !added.has(typ) {
			s.adding = append(s.adding, s.bind(&own[i], o.TS))
			added.add(typ)
		}
	}
	set = s.sets.withAll(set, s.adding)
	if w != nil && s.found.places[o.Track].role == roleThread {
		s.costs.instant(w.id, set, o.TS)
	}
	return s.put(o, set)
}

// bind makes an entry of what a pass found: the state of the object is that which is valid at a time.
func (s *stamper) bind(b *begun, ts timeline.Nanos) entryID {
	return s.sets.entry(entry{
		typ: b.typ, via: b.via, hops: b.hops, node: b.node, candidates: b.candidates, snapshot: s.stateOf(b.node, ts),
	})
}

// stateOf returns the snapshot of a context that is valid at a time: its own, else that of another member of its node.
func (s *stamper) stateOf(node NodeID, ts timeline.Nanos) snapshotID {
	if node == 0 {
		return 0
	}
	return s.contexts.at(node, ts)
}

// begin begins a slice of a thread.
func (s *stamper) begin(o *timeline.Occurrence, w *worker, found []evidence, own []begun) error {
	s.closeUntil(w, o.TS)
	s.costs.advance(w, o.TS)
	tops, _ := s.topsAt(w, o.Event)
	next := w.push()
	next.ordinal, next.ts, next.end, next.event = o.Ordinal, o.TS, o.End, o.Event
	if o.End == timeline.NoTime {
		next.end = lastTime
	}
	next.epoch = s.epochAt(w, o.TS)
	s.nest(w, next, o, found)
	next.set = s.setOf(w, next, own)
	next.stamp = s.effective(w, tops)
	set := next.stamp
	if o.End != timeline.NoTime {
		w.current, w.charged = set, set
		next.up, w.busy = w.busy, len(w.slices)-1
		s.costs.begin(w, next)
		return s.put(o, set)
	}
	s.problems.Add(problem.SlicesWithoutEnd, problem.Position{Event: int64(o.Event), Offset: o.Offset}, "")
	if next.endless = w.endless < maxEndless; next.endless {
		next.up = w.busy
		w.endless++
	} else {
		w.pop()
	}
	s.settle(w)
	return s.put(o, set)
}

// nest gives a slice what it has from the slices around it, and its CPU time.
func (s *stamper) nest(w *worker, next *work, o *timeline.Occurrence, found []evidence) {
	name := &s.found.names[o.Name]
	next.category, next.runs = name.category, name.runs
	for i := range found {
		if found[i].kind == ownCategory {
			next.category = Category(found[i].value)
			next.runs = next.category == CategoryScript
		}
	}
	own := next.category
	if next.category == CategoryNone && s.found.categories[o.Category].script {
		next.category, next.runs = CategoryScript, true
	}
	forcedBy := false
	if n := len(w.slices); n > 1 {
		around := &w.slices[n-2]
		if o.End == timeline.NoTime {
			next.end = around.end
		} else if o.End > around.end {
			s.problems.Add(problem.Clipped, problem.Position{Event: int64(o.Event), Offset: o.Offset}, "")
			next.end = around.end
		}
		if next.category == CategoryNone {
			next.category = around.category
		}
		forcedBy = around.runs
		next.runs = next.runs || around.runs
	}
	if next.category == CategoryNone {
		next.category = CategoryOther
	}
	next.cpu = cpuTime{known: o.ThreadDuration != timeline.NoTime, used: o.ThreadDuration, start: o.ThreadTime}
	for i := range found {
		switch found[i].kind {
		case usedCPU:
			next.cpu.known, next.cpu.used = true, timeline.Nanos(found[i].value)
		case hasStack:
			forcedBy = true
		case freed:
			next.freed = found[i].value
		}
	}
	next.forced = forcedBy && (own == CategoryStyle || own == CategoryLayout)
}

// setOf returns the set of the entries of a slice and those around it.
func (s *stamper) setOf(w *worker, next *work, own []begun) SetID {
	n := len(w.slices)
	set := SetID(0)
	if n > 1 {
		around := &w.slices[n-2]
		if set = around.set; around.epoch != next.epoch {
			set = s.rebind(set, next.ts)
		}
	}
	next.own, s.adding = next.own[:0], s.adding[:0]
	own = s.oneOfEachType(own, next.ts)
	for i := range own {
		b := &own[i]
		if b.via == ViaDescendants {
			if e := s.sets.of(set, b.typ); e != 0 && s.sets.entries[e].via != ViaDescendants {
				continue
			}
		}
		if b.via == ViaIsolate {
			s.trigger(next, set)
		}
		s.adding = append(s.adding, s.bind(b, next.ts))
		next.begins(b.typ, b.via)
	}
	return s.sets.withAll(set, s.adding)
}

// oneOfEachType decides between the entries of one type that begin with a slice, in place. Several come of flows into
// asynchronous slices, and into slices that were cut before: their other entries are complete by then. What the slice says
// itself and the isolate count more than what flows bring (attribution.md, rule 6), between flows rule 4 decides.
func (s *stamper) oneOfEachType(own []begun, ts timeline.Nanos) []begun {
	out := own[:0]
	for _, b := range own {
		old := ofType(out, b.typ)
		switch {
		case old == nil:
			out = append(out, b)
		case b.via == ViaFlow && old.via == ViaFlow:
			*old = span(s.contexts, s.sets, old, &b, ts)
		case b.via != ViaFlow || old.via != ViaArgs && old.via != ViaIsolate:
			*old = b
		}
	}
	return out
}

// trigger keeps the frame in effect when garbage is collected as the one that provoked it (attribution.md, rule 9).
func (s *stamper) trigger(next *work, set SetID) {
	frame := s.sets.of(set, TypeFrame)
	if frame == 0 {
		return
	}
	e := s.sets.entries[frame]
	if e.node == 0 || s.contexts.nodes[e.node].Scope == ScopeIsolate {
		return
	}
	e.typ = TypeTrigger
	next.begins(TypeTrigger, e.via)
	s.adding = append(s.adding, s.sets.entry(e))
}

// rebind returns a set with the states that its contexts have at a time.
func (s *stamper) rebind(set SetID, ts timeline.Nanos) SetID {
	changed := false
	s.merged = s.merged[:0]
	for _, id := range s.sets.sets.at(uint32(set)) {
		e := s.sets.entries[id]
		if now := s.stateOf(e.node, ts); now != e.snapshot {
			e.snapshot = now
			id, changed = s.sets.entry(e), true
		}
		s.merged = append(s.merged, id)
	}
	if !changed {
		return set
	}
	if out := s.sets.set(s.merged); out != 0 {
		return out
	}
	return set // there is no room for another one
}

// settle finds out what is in effect on a thread after something has ended or was entered.
func (s *stamper) settle(w *worker) {
	w.current = s.effective(w, w.tops)
	if w.charged = w.current; w.busy >= 0 && w.busy < len(w.slices)-1 {
		w.charged = s.effectiveIn(w, w.busy, w.tops)
	}
}

// effective returns the set in effect in the innermost slice of a thread, given the explicit contexts.
func (s *stamper) effective(w *worker, tops []top) SetID {
	return s.effectiveIn(w, len(w.slices)-1, tops)
}

// effectiveIn returns the set in effect in an open slice, by its index, -1 for outside of all.
func (s *stamper) effectiveIn(w *worker, slice int, tops []top) SetID {
	set, ts := SetID(0), timeline.Nanos(0)
	if slice >= 0 {
		set, ts = w.slices[slice].set, w.slices[slice].ts
	}
	s.adding = s.adding[:0]
	for i := range tops {
		if s.explicitIsInner(w, slice, &tops[i]) {
			ts := max(ts, tops[i].began)
			s.adding = append(s.adding, s.bind(&begun{typ: tops[i].typ, node: tops[i].node, via: ViaExplicit}, ts))
		}
	}
	return s.sets.withAll(set, s.adding)
}

// explicitIsInner decides between an explicit context and the innermost entry of its type in an open slice.
func (s *stamper) explicitIsInner(w *worker, last int, t *top) bool {
	if last < 0 || s.sets.of(w.slices[last].set, t.typ) == 0 {
		return true
	}
	for i := last; i >= below(last); i-- {
		if !w.slices[i].types.has(t.typ) {
			continue
		}
		for _, own := range w.slices[i].own {
			if own.typ == t.typ {
				return explicitWins(&t.entered, own.via, w.slices[i].ts)
			}
		}
	}
	return true
}

// epochAt returns the number of the epoch of a time, which does not decrease from call to call for a thread.
func (s *stamper) epochAt(w *worker, ts timeline.Nanos) int {
	if rest := s.contexts.epochs[w.epoch:]; len(rest) > 0 && rest[0] <= ts {
		w.epoch += sort.Search(len(rest), func(i int) bool { return rest[i] > ts })
	}
	return w.epoch
}

// closeUntil ends the slices of a thread up to a time.
func (s *stamper) closeUntil(w *worker, ts timeline.Nanos) {
	for n := len(w.slices); n > 0 && w.slices[n-1].end <= ts; n = len(w.slices) {
		top := &w.slices[n-1]
		s.costs.advance(w, top.end)
		if top.endless {
			w.endless--
		} else {
			s.costs.end(w)
			w.busy = top.up
		}
		if s.opts.EndWithSlice && !top.endless && w.active.endSlice(top.ts, top.end, top.event) {
			w.tops = w.active.appendTops(w.tops[:0])
		}
		w.pop()
		s.settle(w)
	}
}

// pop takes the innermost slice away.
func (w *worker) pop() { w.slices = w.slices[:len(w.slices)-1] }

// push makes room for one more open slice, with the memory of the one that was there before.
func (w *worker) push() *work {
	if n := len(w.slices); n < cap(w.slices) {
		w.slices = w.slices[:n+1]
	} else {
		w.slices = append(w.slices, work{})
	}
	next := &w.slices[len(w.slices)-1]
	*next = work{own: next.own[:0], shares: next.shares[:0]}
	return next
}

// usedUntil notes the CPU time of the thread at the end of a slice.
func (w *worker) usedUntil(beginEvent uint32, threadTime timeline.Nanos) {
	for i := len(w.slices) - 1; i >= below(len(w.slices)-1); i-- {
		if s := &w.slices[i]; s.event == beginEvent {
			if s.cpu.start != timeline.NoTime && threadTime >= s.cpu.start {
				s.cpu.known, s.cpu.used = true, sum(threadTime, -s.cpu.start)
			}
			return
		}
	}
}
