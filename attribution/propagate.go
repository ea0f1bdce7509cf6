package attribution

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/flowbind"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// begun is an entry that begins and ends with a slice, or with an instant (attribution.md, The model). Those of asynchronous
// slices are all that they have.
type begun struct {
	ordinal    uint64
	node       NodeID
	candidates candidatesID
	typ        TypeID
	via        Via
	hops       uint8
}

var begunCodec = extsort.Codec[begun]{
	Size: 20,
	Key:  func(e *begun) uint64 { return e.ordinal },
	Put: func(b []byte, e *begun) {
		le := binary.LittleEndian
		_ = b[19]
		le.PutUint64(b, e.ordinal)
		le.PutUint32(b[8:], uint32(e.node))
		le.PutUint32(b[12:], uint32(e.candidates))
		le.PutUint16(b[16:], uint16(e.typ))
		b[18], b[19] = byte(e.via), e.hops
	},
	Get: func(b []byte, e *begun) {
		le := binary.LittleEndian
		_ = b[19]
		*e = begun{
			ordinal: le.Uint64(b), node: NodeID(le.Uint32(b[8:])), candidates: candidatesID(le.Uint32(b[12:])),
			typ: TypeID(le.Uint16(b[16:])), via: Via(b[18]), hops: b[19],
		}
	},
}

func compareBegun(a, b *begun) int { return cmp.Compare(a.ordinal, b.ordinal) }

func begunOrdinal(e *begun) uint64 { return e.ordinal }

// propagation is the second pass. It follows contexts through the trace in the order of time: into asynchronous slices,
// over flows, with requests. It leaves behind the entries of every slice, by its ordinal; what they mean inside other
// slices is the third pass' affair, because an entry may be found after what lies in its slice.
type propagation struct {
	problems  *problem.Log
	contexts  *catalogue
	found     *found
	opts      Options
	sets      *sets
	out       *extsort.Sorter[begun]
	evidence  cursor[evidence]
	steps     *flowbind.Steps
	step      flowbind.Step
	hasStep   bool
	taken     int // steps between two times of the trace
	cancelled func() error
	stepsAt   timeline.Nanos // time of the steps that are being handled

	threads  []*openThread // by TrackID; nil: nothing was there
	asyncs   map[timeline.TrackID][]openAsync
	pending  map[uint64][]begun // what flows bring to slices that have not begun
	last     uint64             // ordinal up to which everything has begun
	flows    map[uint64]*carried
	kinds    []evidence // of the group, with
	actions  []action
	effect   []begun // result of inEffect
	held     int     // bytes, see hold
	now      timeline.Nanos
	patience int // how often hold fails before what is over is looked for again
}

// openThread is what is open on a thread at some time.
type openThread struct {
	id          timeline.TrackID
	slices      []openSlice
	collections int // open slices that collect garbage
	endless     int // open slices without end
	active      active
	endedAt     timeline.Nanos
	ended       []ended
	endedSets   []begun // of all ended
}

// ended is a slice that has ended at the latest time.
type ended struct {
	ordinal uint64
	until   int // end of its set in endedSets
}

// openSlice is a slice that is open. The slices in it are kept for the next slice at its place.
type openSlice struct {
	ordinal   uint64
	ts, end   timeline.Nanos
	event     uint32
	collector bool
	types     typeSet // of own
	endless   bool    // it has no end of its own
	own       []begun
	frames    foundFrames
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
	end     timeline.Nanos
	set     []begun
}

// action is something of a group that happens after its slices have begun, in the order of the input.
type action struct {
	event uint32
	at    int // index in the group, -1: the step
	first int // index of its evidence in kinds
	count int
	step  flowbind.Step
}

func newPropagation(f *found, steps *flowbind.Steps, opts Options) *propagation {
	p := &propagation{
		problems: f.t.Problems(), contexts: f.contexts, found: f, opts: opts, sets: newSets(&f.contexts.most), steps: steps,
		out:     extsort.New(begunCodec, compareBegun, f.t.Memory()/16, f.t.TempDir()),
		threads: make([]*openThread, len(f.places)), asyncs: map[timeline.TrackID][]openAsync{}, flows: map[uint64]*carried{}, pending: map[uint64][]begun{}, stepsAt: timeline.NoTime,
	}
	p.evidence = cursor[evidence]{next: f.evidence.Next, ordinal: evidenceOrdinal}
	return p
}

// run goes through the trace.
func (p *propagation) run(ctx context.Context) error {
	p.cancelled = ctx.Err
	if err := p.nextStep(); err != nil {
		return err
	}
	if err := p.found.walk(ctx, p.group); err != nil {
		return err
	}
	if err := p.stepsUntil(lastTime); err != nil {
		return err
	}
	for _, th := range p.threads {
		if th == nil {
			continue
		}
		if err := p.closeUntil(th, lastTime); err != nil {
			return err
		}
		if n := th.active.entered; n > 0 {
			p.problems.AddN(problem.NeverLeft, uint64(n), problem.NoPosition, "")
		}
	}
	return nil
}

// nextStep reads the next step of a flow.
func (p *propagation) nextStep() (err error) {
	if p.opts.has(ViaFlow) {
		p.hasStep, err = p.steps.Next(&p.step)
	}
	return err
}

// stepsUntil handles the steps before a time.
func (p *propagation) stepsUntil(ts timeline.Nanos) error {
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
func (p *propagation) group(group []timeline.Occurrence, inOrder bool) error {
	ts := group[0].TS
	if err := p.stepsUntil(ts); err != nil {
		return err
	}
	p.kinds, p.actions = p.kinds[:0], p.actions[:0]
	if p.hasStep && p.step.At == ts {
		p.stepsAt = ts
	}
	p.last, p.now = group[len(group)-1].Ordinal, ts
	if !inOrder {
		for i := range group {
			p.last = max(p.last, group[i].Ordinal)
		}
	}
	p.evidence.group(inOrder)
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
func (p *propagation) occurrence(o *timeline.Occurrence, at int) error {
	list, err := p.evidence.of(o.Ordinal)
	if err != nil {
		return err
	}
	place := &p.found.places[o.Track]
	if o.Kind == timeline.OccursSlice && place.role == roleThread {
		return p.begin(o, place.thread, list)
	}
	if o.Kind == timeline.OccursSlice && place.role == roleAsync || len(list) > 0 {
		p.actions = append(p.actions, action{event: o.Event, at: at, first: len(p.kinds), count: len(list)})
		p.kinds = append(p.kinds, list...)
	} else if o.Kind == timeline.OccursInstant && place.role == roleAsync {
		p.actions = append(p.actions, action{event: o.Event, at: at})
	}
	return nil
}

// thread returns what is open on a thread.
func (p *propagation) thread(id timeline.TrackID) *openThread {
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
func (p *propagation) begin(o *timeline.Occurrence, thread timeline.TrackID, list []evidence) error {
	th := p.thread(thread)
	if err := p.closeUntil(th, o.TS); err != nil {
		return err
	}
	end, endless := o.End, o.End == timeline.NoTime
	switch {
	case endless && th.endless < maxEndless:
		end = lastTime
		th.endless++
	case endless:
		end, endless = o.TS, false // what follows is not in it
	}
	if n := len(th.slices); n > 0 {
		end = min(end, th.slices[n-1].end)
	}
	s := th.push()
	s.ordinal, s.ts, s.end, s.event, s.collector, s.endless = o.Ordinal, o.TS, end, o.Event, false, endless
	for i := range list {
		p.beginWith(th, s, &list[i])
	}
	for i := range list { // after what the slice says itself
		if list[i].kind == handles && p.opts.has(ViaRequest) {
			p.handle(th, s, int(list[i].node))
		}
	}
	if len(p.pending) > 0 {
		brought := p.pending[o.Ordinal]
		for _, b := range brought {
			p.enter(th, len(th.slices)-1, b)
		}
		p.held -= begunSize * len(brought)
		delete(p.pending, o.Ordinal)
	}
	return nil
}

// push makes room for one more open slice and returns it, with the memory of the one that was there before.
func (th *openThread) push() *openSlice {
	if n := len(th.slices); n < cap(th.slices) {
		th.slices = th.slices[:n+1]
	} else {
		th.slices = append(th.slices, openSlice{})
	}
	s := &th.slices[len(th.slices)-1]
	s.own, s.frames.list = s.own[:0], s.frames.list[:0]
	s.frames.common, s.frames.any = 0, false
	s.types = typeSet{}
	return s
}

// beginWith gives a slice that begins what is evident about it.
func (p *propagation) beginWith(th *openThread, s *openSlice, e *evidence) {
	b := begun{ordinal: s.ordinal, typ: e.typ, node: e.node, via: ViaArgs}
	switch e.kind {
	case ownContext:
		if p.opts.has(ViaArgs) && s.of(e.typ) == nil {
			s.add(b)
		}
	case collects:
		if p.opts.has(ViaIsolate) && th.collections == 0 && !p.found.explicit[th.id] {
			b.typ, b.via, b.node = TypeFrame, ViaIsolate, p.found.isolates[th.id]
			s.collector = true
			th.collections++
			s.put(b)
		}
	case dispatches:
		if p.opts.has(ViaArgs) && !th.within(TypeInputEvent, ViaArgs) {
			if b.node = p.found.inputs.dispatched(th.id, e.typ, s.ts, timeline.Nanos(e.value)); b.node != 0 {
				b.typ = TypeInputEvent
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
	for i := len(th.slices) - 1; i >= below(len(th.slices)-1); i-- {
		if b := th.slices[i].of(typ); b != nil && b.via == via {
			return true
		}
	}
	return false
}

// of returns the entry of a type that begins with the slice; nil if there is none.
func (s *openSlice) of(typ TypeID) *begun {
	if !s.types.has(typ) {
		return nil
	}
	for i := range s.own {
		if s.own[i].typ == typ {
			return &s.own[i]
		}
	}
	return nil
}

// put makes an entry that of its type.
func (s *openSlice) put(b begun) {
	if old := s.of(b.typ); old != nil {
		*old = b
		return
	}
	s.add(b)
}

// add adds an entry of a type that the slice has none of.
func (s *openSlice) add(b begun) {
	s.own = append(s.own, b)
	s.types.add(b.typ)
}

// act does what is to be done at a time after its slices have begun.
func (p *propagation) act(a *action, group []timeline.Occurrence) error {
	if a.at < 0 {
		return p.flowStep(&a.step)
	}
	o := &group[a.at]
	place := &p.found.places[o.Track]
	list := p.kinds[a.first : a.first+a.count]
	if o.Kind != timeline.OccursEnd && place.role == roleAsync {
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
func (p *propagation) instant(o *timeline.Occurrence, place *place, list []evidence, e *evidence) error {
	thread := cmp.Or(o.Thread, place.thread)
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
		return p.out.Add(begun{ordinal: o.Ordinal, typ: e.typ, node: e.node, via: ViaArgs})
	case e.kind == inherited:
		if via, hops := inheritedVia(e.value); p.opts.has(via) {
			return p.out.Add(begun{ordinal: o.Ordinal, typ: e.typ, node: e.node, via: via, hops: hops})
		}
	case e.kind == sends || e.kind == receives || e.kind == finishes:
		p.request(o, thread, list, e)
	case e.kind == handles && p.opts.has(ViaRequest): // where nothing is in effect, see stamper.instant
		for _, b := range p.found.requests.list[e.node].begun {
			b.ordinal, b.via = o.Ordinal, ViaRequest
			if err := p.out.Add(b); err != nil {
				return err
			}
		}
	}
	return nil
}

// closeUntil ends the slices that end up to a time. Those that end at that very time are remembered: a flow event of
// this time may belong to them.
func (p *propagation) closeUntil(th *openThread, ts timeline.Nanos) error {
	if th.endedAt != ts {
		p.held -= begunSize * len(th.endedSets)
		th.endedAt, th.ended, th.endedSets = ts, th.ended[:0], th.endedSets[:0]
		if cap(th.endedSets) > maxEnded {
			th.endedSets = nil
		}
	}
	for n := len(th.slices); n > 0 && th.slices[n-1].end <= ts; n = len(th.slices) {
		s := &th.slices[n-1]
		if s.end == ts && p.stepsAt == ts {
			p.remember(th, n-1)
		}
		if err := p.close(th, s); err != nil {
			return err
		}
		if s.collector {
			th.collections--
		}
		switch {
		case s.endless:
			th.endless--
		case p.opts.EndWithSlice:
			th.active.endSlice(s.ts, s.end, s.event)
		}
		th.slices = th.slices[:n-1]
	}
	return nil
}

// remember keeps the set of an open slice that ends.
func (p *propagation) remember(th *openThread, slice int) {
	set := p.inEffect(th, slice)
	if len(th.ended) >= maxEnded || !p.hold(begunSize*len(set)) {
		return
	}
	th.endedSets = append(th.endedSets, set...)
	th.ended = append(th.ended, ended{th.slices[slice].ordinal, len(th.endedSets)})
}

// endedSet returns the set of a slice that has ended at the latest time; false if it has not, or was not remembered.
func (th *openThread) endedSet(ordinal uint64) ([]begun, bool) {
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
func (p *propagation) close(th *openThread, s *openSlice) error {
	frame := s.of(TypeFrame)
	if frame == nil && s.frames.any && p.opts.has(ViaDescendants) {
		s.add(p.fromDescendants(s))
	}
	for i := range s.own {
		if err := p.out.Add(s.own[i]); err != nil {
			return err
		}
	}
	n := len(th.slices) - 1
	if n == 0 || !p.opts.has(ViaDescendants) {
		return nil
	}
	up := &th.slices[n-1].frames
	if frame != nil && frame.via != ViaIsolate && frame.node != 0 {
		up.add(p.contexts, p.contexts.logicalOf(frame.node), s.ts)
	}
	up.addAll(p.contexts, &s.frames, s.ts)
	return nil
}

// fromDescendants is the entry that a slice has because of the frames of what is in it (attribution.md, rule 10).
func (p *propagation) fromDescendants(s *openSlice) begun {
	b := begun{ordinal: s.ordinal, typ: TypeFrame, node: s.frames.common, via: ViaDescendants}
	if len(s.frames.list) > 1 {
		b.candidates = p.sets.candidates(s.frames.list)
	}
	return b
}

// add adds a frame.
func (f *foundFrames) add(c *catalogue, frame NodeID, ts timeline.Nanos) {
	f.note(frame)
	f.meet(c, frame, ts)
}

// addAll adds the frames of a slice inside.
func (f *foundFrames) addAll(c *catalogue, inner *foundFrames, ts timeline.Nanos) {
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

// meet makes the common ancestor that of another frame as well; 0 has none in common with anything.
func (f *foundFrames) meet(c *catalogue, frame NodeID, ts timeline.Nanos) {
	if !f.any {
		f.common, f.any = frame, true
		return
	}
	f.common = c.commonAncestor(f.common, frame, ts)
}
