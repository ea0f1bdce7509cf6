package attribution

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/flowbind"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// entry is a context that is in effect from the start to the end of a slice, or at an instant (attribution.md, The model).
type entry struct {
	ordinal    uint64
	Node       NodeID
	candidates candidatesID
	Type       TypeID
	Via        Via
	hops       uint8
}

var entryOrder = extsort.Order[entry]{
	Compare: compareEntries,
	Key:     func(e *entry) uint64 { return e.ordinal },
}

func compareEntries(a, b *entry) int { return cmp.Compare(a.ordinal, b.ordinal) }

func entryOrdinal(e *entry) uint64 { return e.ordinal }

// propagating is the second pass. It follows contexts through the trace in time order: into asynchronous slices, along flows and
// through requests. Its result is the entries of every slice, by ordinal. The third pass nests the entries, because an entry can
// be found only after the slices inside its slice.
type propagating struct {
	problems  *problem.Log
	contexts  *Catalogue
	found     *found
	opts      Rules
	sets      *Sets
	requests  []sentRequest // by number
	out       *extsort.Sorter[entry]
	evidence  Cursor[Evidence]
	steps     *flowbind.Steps
	step      flowbind.Step
	hasStep   bool
	stepCount int // number of steps, to check for cancellation periodically
	cancelled func() error
	stepsAt   timeline.Nanos // time of the steps being handled

	threads  []*openThread // by TrackID; nil: no events
	asyncs   map[timeline.TrackID]timeline.OpenSlices[openAsync]
	pending  map[uint64][]entry // entries from flows for slices that have not started
	last     uint64             // highest ordinal so far
	flows    map[uint64]*carried
	queued   []Evidence // evidence for the actions
	actions  []action
	effect   []entry // result of inEffect
	instants []entry // contexts named by instants of the group
	held     int     // bytes, see reserve
	now      timeline.Nanos
	patience int // number of reserve failures before the next sweep
}

// openThread is the state of a thread.
type openThread struct {
	id          timeline.TrackID
	slices      timeline.OpenSlices[openSlice]
	collections int // number of open slices that collect garbage
	endless     int // number of open slices without an end
	active      active
	endedAt     timeline.Nanos
	ended       []ended
	endedSets   []entry // sets of ended, concatenated
}

// ended is a slice that ended at openThread.endedAt.
type ended struct {
	ordinal uint64
	until   int // end of its set in endedSets
}

type openSlice struct {
	ordinal  uint64
	ts       timeline.Nanos
	event    uint32
	collects bool
	types    TypeSet // of own
	endless  bool    // has no end event
	own      []entry
	frames   foundFrames
}

// foundFrames holds the frames named by the slices inside a slice.
type foundFrames struct {
	list   []NodeID // distinct, in order of discovery; at most maxCandidates
	common NodeID   // their lowest common ancestor; 0: none
	any    bool
}

// openAsync is an open asynchronous slice.
type openAsync struct {
	ordinal uint64
	set     []entry
}

// action is an event or flow step that is handled, in input order, after the slices of its timestamp have started.
type action struct {
	event uint32
	at    int // index in the group; -1: the flow step
	first int // index of its evidence in queued
	count int
	step  flowbind.Step
}

// Entries is the result of the second pass: the entries of each slice and instant, by ordinal.
type Entries struct {
	Sorted   *extsort.Sorter[entry]
	Sets     *Sets
	Requests []sentRequest // by number
}

// propagate runs the second pass.
func propagate(ctx context.Context, f *found, steps *flowbind.Steps, opts Rules) (*Entries, error) {
	p := newPropagating(f, steps, opts)
	if err := p.run(ctx); err != nil {
		return nil, errors.Join(err, p.out.Close())
	}
	return &Entries{p.out, p.sets, p.requests}, nil
}

func newPropagating(f *found, steps *flowbind.Steps, opts Rules) *propagating {
	p := &propagating{
		requests: make([]sentRequest, len(f.Requests.Ids)), problems: f.T.Problems(), contexts: f.Contexts, found: f, opts: opts, sets: newSets(f.Contexts.Limits), steps: steps,
		out:     extsort.New(entryOrder, f.T.Memory()/16, f.T.TempDir()),
		threads: make([]*openThread, len(f.tracks)), asyncs: map[timeline.TrackID]timeline.OpenSlices[openAsync]{}, flows: map[uint64]*carried{}, pending: map[uint64][]entry{}, stepsAt: timeline.NoTime,
	}
	for i := range p.requests {
		p.requests[i] = sentRequest{Start: timeline.NoTime, End: timeline.NoTime, Bytes: -1}
	}
	p.evidence = Cursor[Evidence]{Next: f.Evidence.Next, Ordinal: evidenceOrdinal}
	return p
}

// run follows the contexts through all events and flow steps, and counts contexts that were never left.
func (p *propagating) run(ctx context.Context) error {
	p.cancelled = ctx.Err
	if err := p.nextStep(); err != nil {
		return err
	}
	if err := p.found.walk(ctx, p.group); err != nil {
		return err
	}
	if err := p.stepsUntil(LastTime); err != nil {
		return err
	}
	for _, th := range p.threads {
		if th == nil {
			continue
		}
		if err := p.closeUntil(th, LastTime); err != nil {
			return err
		}
		if n := th.active.entered; n > 0 {
			p.problems.AddN(problem.NeverLeft, uint64(n), problem.NoPosition, "")
		}
	}
	return nil
}

// nextStep reads the next flow step.
func (p *propagating) nextStep() (err error) {
	if p.opts.has(ViaFlow) {
		p.hasStep, err = p.steps.Next(&p.step)
	}
	return err
}

// stepsUntil handles the steps before ts.
func (p *propagating) stepsUntil(ts timeline.Nanos) error {
	for p.hasStep && p.step.At < ts {
		p.stepsAt = p.step.At
		if p.stepCount++; p.stepCount%(1<<12) == 0 && p.cancelled() != nil {
			return p.cancelled()
		}
		err := p.flowStep(&p.step)
		if err = errors.Join(err, p.nextStep()); err != nil {
			return err
		}
	}
	return nil
}

// group handles all events of one timestamp: first the starts of slices, outermost first, then the rest in input order.
func (p *propagating) group(group []timeline.Head, inOrder bool) error {
	ts := group[0].TS
	if err := p.stepsUntil(ts); err != nil {
		return err
	}
	p.queued, p.actions, p.instants = p.queued[:0], p.actions[:0], p.instants[:0]
	if p.hasStep && p.step.At == ts {
		p.stepsAt = ts
	}
	p.last, p.now = group[len(group)-1].Ordinal, ts
	if !inOrder {
		for i := range group {
			p.last = max(p.last, group[i].Ordinal)
		}
	}
	p.evidence.Group(inOrder)
	for i := range group {
		if err := p.occurrence(&group[i], i); err != nil {
			return err
		}
	}
	for p.hasStep && p.step.At == ts {
		p.actions = append(p.actions, action{event: p.step.Event, at: -1, step: p.step})
		if err := p.nextStep(); err != nil {
			return err
		}
	}
	if len(p.actions) > 1 {
		slices.SortStableFunc(p.actions, func(a, b action) int { return cmp.Compare(a.event, b.event) })
	}
	for i := range p.actions {
		if err := p.act(&p.actions[i], group); err != nil {
			return err
		}
	}
	return nil
}

// occurrence starts a slice of a thread, or queues other events until all slices of the timestamp have started.
func (p *propagating) occurrence(o *timeline.Head, at int) error {
	list, err := p.evidence.Of(o.Ordinal)
	if err != nil {
		return err
	}
	tr := &p.found.tracks[o.Track]
	if o.Kind == timeline.ItemBegin && tr.Place == PlaceThread {
		return p.begin(o, tr.Thread, list)
	}
	if o.Kind != timeline.ItemEnd && tr.Place == placeAsync || len(list) > 0 {
		p.actions = append(p.actions, action{event: o.Event, at: at, first: len(p.queued), count: len(list)})
		p.queued = append(p.queued, list...)
	}
	return nil
}

// thread returns the state of a thread, which it creates if necessary.
func (p *propagating) thread(id timeline.TrackID) *openThread {
	th := p.threads[id]
	if th == nil {
		th = &openThread{id: id, endedAt: timeline.NoTime}
		p.threads[id] = th
	}
	return th
}

// maxEndless bounds the number of open slices without an end on a thread. Further slices without an end enclose no later slices.
const maxEndless = 1 << 9

// begin starts a slice of a thread. A slice without an end encloses all later slices inside its parent.
func (p *propagating) begin(o *timeline.Head, thread timeline.TrackID, list []Evidence) error {
	th := p.thread(thread)
	if err := p.closeUntil(th, o.TS); err != nil {
		return err
	}
	end, endless := o.End, o.End == timeline.NoTime
	switch {
	case endless && th.endless < maxEndless:
		end = LastTime
		th.endless++
	case endless:
		end, endless = o.TS, false // it encloses no later slices
	}
	if n := th.slices.Len(); n > 0 {
		end = min(end, th.slices.End(n-1))
	}
	s := th.push(end)
	s.ordinal, s.ts, s.event, s.collects, s.endless = o.Ordinal, o.TS, o.Event, false, endless
	for i := range list {
		p.beginWith(th, s, &list[i])
	}
	for i := range list { // contexts named by the slice take precedence
		if list[i].kind == handles && p.opts.has(viaRequest) {
			p.handle(th, s, int(list[i].Node))
		}
	}
	if len(p.pending) > 0 {
		pending := p.pending[o.Ordinal]
		for _, b := range pending {
			p.enter(th, th.slices.Len()-1, b)
		}
		p.held -= entrySize * len(pending)
		delete(p.pending, o.Ordinal)
	}
	return nil
}

// push opens a slice and returns it.
func (th *openThread) push(end timeline.Nanos) *openSlice {
	s := th.slices.Push(end)
	s.own, s.frames.list = s.own[:0], s.frames.list[:0]
	s.frames.common, s.frames.any = 0, false
	s.types = TypeSet{}
	return s
}

// beginWith applies evidence to a slice that starts.
func (p *propagating) beginWith(th *openThread, s *openSlice, e *Evidence) {
	b := entry{ordinal: s.ordinal, Type: e.Type, Node: e.Node, Via: ViaArgs}
	switch e.kind {
	case ownContext:
		if p.opts.has(ViaArgs) && s.of(e.Type) == nil {
			s.add(b)
		}
	case collects:
		if p.opts.has(ViaIsolate) && th.collections == 0 && !p.found.Explicit[th.id] {
			b.Type, b.Via, b.Node = TypeFrame, ViaIsolate, p.found.isolates[th.id]
			s.collects = true
			th.collections++
			s.set(b)
		}
	case dispatches:
		if p.opts.has(ViaArgs) && !th.within(TypeInputEvent, ViaArgs) {
			if b.Node = p.found.dispatched(th.id, e.Type, s.ts, timeline.Nanos(e.value)); b.Node != 0 {
				b.Type = TypeInputEvent
				s.add(b)
			}
		}
	}
}

// maxSearch bounds the number of enclosing slices in a search. Deeper nesting is a producer error.
const maxSearch = 1 << 9

// searchEnd returns the index of the outermost slice in a search that starts at a slice.
func searchEnd(slice int) int { return max(slice-maxSearch, 0) }

// within reports whether an open slice has an entry with the given type and source.
func (th *openThread) within(typ TypeID, via Via) bool {
	last := th.slices.Len() - 1
	for i := last; i >= searchEnd(last); i-- {
		if b := th.slices.At(i).of(typ); b != nil && b.Via == via {
			return true
		}
	}
	return false
}

// of returns the slice's own entry of a type, or nil if there is none.
func (s *openSlice) of(typ TypeID) *entry {
	if !s.types.Has(typ) {
		return nil
	}
	for i := range s.own {
		if s.own[i].Type == typ {
			return &s.own[i]
		}
	}
	return nil
}

// set adds an entry or replaces the entry of the same type.
func (s *openSlice) set(b entry) {
	if old := s.of(b.Type); old != nil {
		*old = b
		return
	}
	s.add(b)
}

// add adds an entry of a new type.
func (s *openSlice) add(b entry) {
	s.own = append(s.own, b)
	s.types.Add(b.Type)
}

// act applies the evidence or the flow step of an action.
func (p *propagating) act(a *action, group []timeline.Head) error {
	if a.at < 0 {
		return p.flowStep(&a.step)
	}
	o := &group[a.at]
	tr := &p.found.tracks[o.Track]
	list := p.queued[a.first : a.first+a.count]
	if o.Kind != timeline.ItemEnd && tr.Place == placeAsync {
		return p.async(o, list)
	}
	for i := range list {
		if err := p.instant(o, tr, list, &list[i]); err != nil {
			return err
		}
	}
	return nil
}

// instant handles evidence about an instant or the deletion of an object. list holds all evidence of the event.
func (p *propagating) instant(o *timeline.Head, tr *track, list []Evidence, e *Evidence) error {
	thread := cmp.Or(o.Thread, tr.Thread)
	switch {
	case e.isExplicit() && thread != 0:
		if p.opts.has(ViaExplicit) {
			th := p.thread(thread)
			if err := p.closeBefore(th, o.TS); err != nil {
				return err
			}
			th.active.apply(p.contexts, e, &explicitAt{o.TS, o.Offset, o.Event, thread}, p.problems)
		}
	case e.kind == ownContext && p.opts.has(ViaArgs):
		own := entry{ordinal: o.Ordinal, Type: e.Type, Node: e.Node, Via: ViaArgs}
		if p.stepsAt == o.TS && len(p.instants) < maxEnded { // a flow may pick it up
			p.instants = append(p.instants, own)
		}
		return p.out.Add(own)
	case e.kind == inherited:
		if via, hops := inheritedVia(e.value); p.opts.has(via) {
			return p.out.Add(entry{ordinal: o.Ordinal, Type: e.Type, Node: e.Node, Via: via, hops: hops})
		}
	case e.kind == sends || e.kind == receives || e.kind == finishes:
		p.request(o, thread, list, e)
	case e.kind == handles && p.opts.has(viaRequest): // costing.instant ignores types with a context in effect
		for _, b := range p.requests[e.Node].Entries {
			b.ordinal, b.Via = o.Ordinal, viaRequest
			if err := p.out.Add(b); err != nil {
				return err
			}
		}
	}
	return nil
}

// closeUntil closes the slices that end at or before ts. It remembers slices that end exactly at ts, because a flow event at ts
// may belong to these slices.
func (p *propagating) closeUntil(th *openThread, ts timeline.Nanos) error {
	if th.endedAt != ts {
		p.held -= entrySize * len(th.endedSets)
		th.endedAt, th.ended, th.endedSets = ts, th.ended[:0], th.endedSets[:0]
		if cap(th.endedSets) > maxEnded {
			th.endedSets = nil
		}
	}
	for s := th.slices.Ended(ts); s != nil; s = th.slices.Ended(ts) {
		last := th.slices.Len() - 1
		end := th.slices.End(last)
		if end == ts && p.stepsAt == ts {
			p.remember(th, last)
		}
		if err := p.close(th, s); err != nil {
			return err
		}
		if s.collects {
			th.collections--
		}
		switch {
		case s.endless:
			th.endless--
		case p.opts.EndWithSlice:
			th.active.endSlice(s.ts, end, s.event)
		}
		th.slices.Pop()
	}
	return nil
}

// remember stores the set of a slice that ends.
func (p *propagating) remember(th *openThread, slice int) {
	set := p.inEffect(th, slice)
	if len(th.ended) >= maxEnded || !p.reserve(entrySize*len(set)) {
		return
	}
	th.endedSets = append(th.endedSets, set...)
	th.ended = append(th.ended, ended{th.slices.At(slice).ordinal, len(th.endedSets)})
}

// endedSet returns the set of a slice that closeUntil remembered, or false if it did not remember the slice.
func (th *openThread) endedSet(ordinal uint64) ([]entry, bool) {
	i := slices.IndexFunc(th.ended, func(e ended) bool { return e.ordinal == ordinal })
	if i < 0 {
		return nil, false
	}
	first := 0
	if i > 0 {
		first = th.ended[i-1].until
	}
	return th.endedSets[first:th.ended[i].until], true
}

// close writes the entries of the innermost slice and passes its frames on to the enclosing slice.
func (p *propagating) close(th *openThread, s *openSlice) error {
	frame := s.of(TypeFrame)
	if frame == nil && s.frames.any && p.opts.has(ViaDescendants) {
		s.add(p.fromDescendants(s))
	}
	for i := range s.own {
		if err := p.out.Add(s.own[i]); err != nil {
			return err
		}
	}
	n := th.slices.Len() - 1
	if n == 0 || !p.opts.has(ViaDescendants) {
		return nil
	}
	up := &th.slices.At(n - 1).frames
	if frame != nil && frame.Via != ViaIsolate && frame.Node != 0 {
		up.add(p.contexts, p.contexts.LogicalOf(frame.Node), s.ts)
	}
	up.addAll(p.contexts, &s.frames, s.ts)
	return nil
}

// fromDescendants returns the entry that follows from the frames of inner slices (attribution.md, rule 10).
func (p *propagating) fromDescendants(s *openSlice) entry {
	b := entry{ordinal: s.ordinal, Type: TypeFrame, Node: s.frames.common, Via: ViaDescendants}
	if len(s.frames.list) > 1 {
		b.candidates = p.sets.Intern(s.frames.list)
	}
	return b
}

// add adds a frame.
func (f *foundFrames) add(c *Catalogue, frame NodeID, ts timeline.Nanos) {
	f.addToList(frame)
	f.meet(c, frame, ts)
}

// addAll adds the frames of an inner slice.
func (f *foundFrames) addAll(c *Catalogue, inner *foundFrames, ts timeline.Nanos) {
	if !inner.any {
		return
	}
	for _, frame := range inner.list {
		f.addToList(frame)
	}
	f.meet(c, inner.common, ts)
}

func (f *foundFrames) addToList(frame NodeID) {
	if len(f.list) < maxCandidates && !slices.Contains(f.list, frame) {
		f.list = append(f.list, frame)
	}
}

// meet updates the common ancestor to include another frame; 0 has no common ancestor with anything.
func (f *foundFrames) meet(c *Catalogue, frame NodeID, ts timeline.Nanos) {
	if !f.any {
		f.common, f.any = frame, true
		return
	}
	f.common = c.commonAncestor(f.common, frame, ts)
}
