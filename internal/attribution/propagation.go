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

// entry is an entry that begins and ends with a slice, or with an instant (attribution.md, The model). Asynchronous slices have no
// other entries.
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

// pass is the second pass. It follows contexts through the trace in the order of time: into asynchronous slices,
// over flows, with requests. It leaves behind the entries of every slice, by its ordinal; what they mean inside other
// slices is the third pass' affair, because an entry may be found after what lies in its slice.
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
	taken     int // steps between two times of the trace
	cancelled func() error
	stepsAt   timeline.Nanos // time of the steps that are being handled

	threads  []*openThread // by TrackID; nil: nothing was there
	asyncs   map[timeline.TrackID]timeline.OpenSlices[openAsync]
	pending  map[uint64][]entry // what flows bring to slices that have not begun
	last     uint64             // ordinal up to which everything has begun
	flows    map[uint64]*carried
	kinds    []Evidence // of the group, with
	actions  []action
	effect   []entry // result of inEffect
	instants []entry // what instants of the group name
	held     int     // bytes, see hold
	now      timeline.Nanos
	patience int // how often hold fails before what is over is looked for again
}

// openThread is what is open on a thread at some time.
type openThread struct {
	id          timeline.TrackID
	slices      timeline.OpenSlices[openSlice]
	collections int // open slices that collect garbage
	endless     int // open slices without end
	active      active
	endedAt     timeline.Nanos
	ended       []ended
	endedSets   []entry // of all ended
}

// ended is a slice that has ended at the latest time.
type ended struct {
	ordinal uint64
	until   int // end of its set in endedSets
}

// openSlice is what is known of an open slice.
type openSlice struct {
	ordinal  uint64
	ts       timeline.Nanos
	event    uint32
	collects bool
	types    TypeSet // of own
	endless  bool    // it has no end of its own
	own      []entry
	frames   foundFrames
}

// foundFrames are the frames that the slices inside a slice name.
type foundFrames struct {
	list   []NodeID // different ones, in the order in which they were found; at most maxCandidates
	common NodeID   // their lowest common ancestor; 0: none
	any    bool
}

// openAsync is an asynchronous slice that is open.
type openAsync struct {
	ordinal uint64
	set     []entry
}

// action is something of a group that happens after its slices have begun, in the order of the input.
type action struct {
	event uint32
	at    int // index in the group, -1: the step
	first int // index of its evidence in kinds
	count int
	step  flowbind.Step
}

// Entries are what the second pass leaves to the third: what begins with each slice and instant, by ordinal.
type Entries struct {
	Sorted   *extsort.Sorter[entry]
	Sets     *Sets
	Requests []sentRequest // by number
}

// Run is the second pass.
func propagate(ctx context.Context, f *found, steps *flowbind.Steps, opts Rules) (*Entries, error) {
	p := newPropagating(f, steps, opts)
	if err := p.run(ctx); err != nil {
		return nil, errors.Join(err, p.out.Close())
	}
	return &Entries{p.out, p.sets, p.requests}, nil
}

func newPropagating(f *found, steps *flowbind.Steps, opts Rules) *propagating {
	p := &propagating{
		requests: make([]sentRequest, len(f.Requests.Ids)), problems: f.T.Problems(), contexts: f.Contexts, found: f, opts: opts, sets: newSets(f.Contexts.Room), steps: steps,
		out:     extsort.New(entryOrder, f.T.Memory()/16, f.T.TempDir()),
		threads: make([]*openThread, len(f.tracks)), asyncs: map[timeline.TrackID]timeline.OpenSlices[openAsync]{}, flows: map[uint64]*carried{}, pending: map[uint64][]entry{}, stepsAt: timeline.NoTime,
	}
	for i := range p.requests {
		p.requests[i] = sentRequest{Start: timeline.NoTime, End: timeline.NoTime, Bytes: -1}
	}
	p.evidence = Cursor[Evidence]{Next: f.Evidence.Next, Ordinal: evidenceOrdinal}
	return p
}

// run goes through the trace.
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

// nextStep reads the next step of a flow.
func (p *propagating) nextStep() (err error) {
	if p.opts.has(ViaFlow) {
		p.hasStep, err = p.steps.Next(&p.step)
	}
	return err
}

// stepsUntil handles the steps before a time.
func (p *propagating) stepsUntil(ts timeline.Nanos) error {
	for p.hasStep && p.step.At < ts {
		p.stepsAt = p.step.At
		if p.taken++; p.taken%(1<<12) == 0 && p.cancelled() != nil {
			return p.cancelled()
		}
		err := p.flowStep(&p.step)
		if err = errors.Join(err, p.nextStep()); err != nil {
			return err
		}
	}
	return nil
}

// group handles everything that happens at one time: first the slices begin, the enclosing ones before those in them,
// then the rest in the order of the input.
func (p *propagating) group(group []timeline.Head, inOrder bool) error {
	ts := group[0].TS
	if err := p.stepsUntil(ts); err != nil {
		return err
	}
	p.kinds, p.actions, p.instants = p.kinds[:0], p.actions[:0], p.instants[:0]
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

// occurrence begins a slice, or notes what is to be done when all slices of the time have begun.
func (p *propagating) occurrence(o *timeline.Head, at int) error {
	list, err := p.evidence.Of(o.Ordinal)
	if err != nil {
		return err
	}
	place := &p.found.tracks[o.Track]
	if o.Kind == timeline.ItemBegin && place.Place == PlaceThread {
		return p.begin(o, place.Thread, list)
	}
	if o.Kind == timeline.ItemBegin && place.Place == placeAsync || len(list) > 0 {
		p.actions = append(p.actions, action{event: o.Event, at: at, first: len(p.kinds), count: len(list)})
		p.kinds = append(p.kinds, list...)
	} else if o.Kind == timeline.ItemInstant && place.Place == placeAsync {
		p.actions = append(p.actions, action{event: o.Event, at: at})
	}
	return nil
}

// thread returns what is open on a thread.
func (p *propagating) thread(id timeline.TrackID) *openThread {
	th := p.threads[id]
	if th == nil {
		th = &openThread{id: id, endedAt: timeline.NoTime}
		p.threads[id] = th
	}
	return th
}

// maxEndless bounds the slices without end that are open on a thread. Those beyond it hold nothing but themselves.
const maxEndless = 1 << 9

// begin begins a slice of a thread. One without end holds what follows, as far as the slice around it does.
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
		end, endless = o.TS, false // what follows is not in it
	}
	if n := th.slices.Len(); n > 0 {
		end = min(end, th.slices.End(n-1))
	}
	s := th.push(end)
	s.ordinal, s.ts, s.event, s.collects, s.endless = o.Ordinal, o.TS, o.Event, false, endless
	for i := range list {
		p.beginWith(th, s, &list[i])
	}
	for i := range list { // after what the slice says itself
		if list[i].kind == handles && p.opts.has(viaRequest) {
			p.handle(th, s, int(list[i].Node))
		}
	}
	if len(p.pending) > 0 {
		brought := p.pending[o.Ordinal]
		for _, b := range brought {
			p.enter(th, th.slices.Len()-1, b)
		}
		p.held -= begunSize * len(brought)
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

// beginWith gives a slice that begins what is evident about it.
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
			s.put(b)
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

// maxSearch bounds how many of the slices around a place are looked at. Deeper nesting is an error of the producer.
const maxSearch = 1 << 9

// below returns where a search from the slice of an index outwards ends.
func below(slice int) int { return max(slice-maxSearch, 0) }

// within reports whether an open slice has an entry of a type that came a certain way.
func (th *openThread) within(typ TypeID, via Via) bool {
	last := th.slices.Len() - 1
	for i := last; i >= below(last); i-- {
		if b := th.slices.At(i).of(typ); b != nil && b.Via == via {
			return true
		}
	}
	return false
}

// of returns the entry of a type that begins with the slice; nil if there is none.
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

// put makes an entry the one of its type.
func (s *openSlice) put(b entry) {
	if old := s.of(b.Type); old != nil {
		*old = b
		return
	}
	s.add(b)
}

// add adds an entry of a type that the slice has none of.
func (s *openSlice) add(b entry) {
	s.own = append(s.own, b)
	s.types.Add(b.Type)
}

// act does what is to be done at a time after its slices have begun.
func (p *propagating) act(a *action, group []timeline.Head) error {
	if a.at < 0 {
		return p.flowStep(&a.step)
	}
	o := &group[a.at]
	place := &p.found.tracks[o.Track]
	list := p.kinds[a.first : a.first+a.count]
	if o.Kind != timeline.ItemEnd && place.Place == placeAsync {
		return p.async(o, list)
	}
	for i := range list {
		if err := p.instant(o, place, list, &list[i]); err != nil {
			return err
		}
	}
	return nil
}

// instant handles one of the things in list that are evident about an instant, or the end event of an object.
func (p *propagating) instant(o *timeline.Head, place *track, list []Evidence, e *Evidence) error {
	thread := cmp.Or(o.Thread, place.Thread)
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
		if p.stepsAt == o.TS && len(p.instants) < maxEnded { // a flow may take it along
			p.instants = append(p.instants, own)
		}
		return p.out.Add(own)
	case e.kind == inherited:
		if via, hops := inheritedVia(e.value); p.opts.has(via) {
			return p.out.Add(entry{ordinal: o.Ordinal, Type: e.Type, Node: e.Node, Via: via, hops: hops})
		}
	case e.kind == sends || e.kind == receives || e.kind == finishes:
		p.request(o, thread, list, e)
	case e.kind == handles && p.opts.has(viaRequest): // where nothing is in effect, see costing.instant
		for _, b := range p.requests[e.Node].Entries {
			b.ordinal, b.Via = o.Ordinal, viaRequest
			if err := p.out.Add(b); err != nil {
				return err
			}
		}
	}
	return nil
}

// closeUntil ends the slices that end up to a time. Those that end at that very time are remembered: a flow event of
// this time may belong to them.
func (p *propagating) closeUntil(th *openThread, ts timeline.Nanos) error {
	if th.endedAt != ts {
		p.held -= begunSize * len(th.endedSets)
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

// remember keeps the set of an open slice that ends.
func (p *propagating) remember(th *openThread, slice int) {
	set := p.inEffect(th, slice)
	if len(th.ended) >= maxEnded || !p.hold(begunSize*len(set)) {
		return
	}
	th.endedSets = append(th.endedSets, set...)
	th.ended = append(th.ended, ended{th.slices.At(slice).ordinal, len(th.endedSets)})
}

// endedSet returns the set of a slice that has ended at the latest time; false if it has not, or was not remembered.
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

// close ends the slice on top of a thread: its entries are complete now, and so are the frames in it.
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

// fromDescendants is the entry that a slice has because of the frames of what is in it (attribution.md, rule 10).
func (p *propagating) fromDescendants(s *openSlice) entry {
	b := entry{ordinal: s.ordinal, Type: TypeFrame, Node: s.frames.common, Via: ViaDescendants}
	if len(s.frames.list) > 1 {
		b.candidates = p.sets.Intern(s.frames.list)
	}
	return b
}

// add adds a frame.
func (f *foundFrames) add(c *Catalogue, frame NodeID, ts timeline.Nanos) {
	f.note(frame)
	f.meet(c, frame, ts)
}

// addAll adds the frames of a slice inside.
func (f *foundFrames) addAll(c *Catalogue, inner *foundFrames, ts timeline.Nanos) {
	if !inner.any {
		return
	}
	for _, frame := range inner.list {
		f.note(frame)
	}
	f.meet(c, inner.common, ts)
}

// note adds a frame to the list.
func (f *foundFrames) note(frame NodeID) {
	if len(f.list) < maxCandidates && !slices.Contains(f.list, frame) {
		f.list = append(f.list, frame)
	}
}

// meet lowers the common ancestor so that it is above another frame as well; 0 has no ancestor in common with anything.
func (f *foundFrames) meet(c *Catalogue, frame NodeID, ts timeline.Nanos) {
	if !f.any {
		f.common, f.any = frame, true
		return
	}
	f.common = c.commonAncestor(f.common, frame, ts)
}
