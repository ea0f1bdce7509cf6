package timeline

import (
	"context"
	"errors"
	"math"
	"sort"

	"github.com/weft-trace/weft/internal/problem"
)

// ItemKind is the kind of an Item.
type ItemKind uint8

// The kinds of items.
const (
	ItemBegin   ItemKind = iota + 1 // a slice begins
	ItemEnd                         // the innermost open slice on the track and lane ends
	ItemInstant                     // a point in time
	ItemCounter                     // a counter has a value
	ItemSample                      // a call stack was sampled
)

// Head is the part of a resolved event that all passes need. Timeline.Occurrences returns only Heads, many at a time. The byte
// slice of a Head is valid only during the call that receives the Head.
//
// Head is separate from Item because thousands of Heads are read ahead: a Head has 128 bytes and an Item 312. Reading Items ahead
// takes 1.3 to 1.6 times as long (BenchmarkHeads).
type Head struct {
	Kind     ItemKind
	Complete bool // ItemBegin: the slice is one event with a duration in the input
	// Whole marks an ItemBegin or ItemEnd from Walk whose slice has no data at its end: Dur and ThreadDuration are complete.
	Whole    bool
	Deletion bool // the event deletes an object; it is an ItemEnd, or an ItemInstant if the object has no start
	// DidNotEnd marks an ItemBegin with a Dur but without an end in the input: the slice ends with the slice around it, or where
	// the next task begins. In a trace written by weft, DidNotEnd refers to weft's own input.
	DidNotEnd bool
	Track     TrackID

	TS  Nanos
	Dur Nanos // ItemBegin, or ItemEnd if Whole is set: the length of the slice; NoTime if it never ends
	// End is the end of a slice in the input. For a task without an end, and for slices that are still open inside the task, End
	// is the start of the next task. Otherwise, End is NoTime, even if the slice ends with the slice around it. Only Occurrences
	// and Extend set End, BeginEvent and TraceID.
	End Nanos

	// Thread is the thread of the event, if known: its Track, or the thread that wrote an event shown on another track. 0:
	// unknown. Walk sets Thread only for events shown on another track.
	Thread     TrackID
	NameID     NameID     // 0 if the event has no name or the name is not interned
	CategoryID CategoryID // 0 if the event has no category or the category is not interned
	Event      uint32     // index of the event in the input
	BeginEvent uint32     // ItemEnd: index of the event that began the slice
	Lane       uint32     // set by Walk. 0: the track itself; other lanes are additional tracks for slices that do not nest
	Offset     int64      // byte offset of the event in the input

	// Ordinal is the index of the slice or instant in the order of Walk and Scan; flows refer to it. In Walk, an ItemEnd has the
	// ordinal of its slice. Samples may have NoOrdinal; items from an overlay always do.
	Ordinal uint64

	ThreadTime     CPUTime // of the thread at TS
	ThreadDuration CPUTime // CPU time used by a Complete or Whole slice

	// TraceID is the id under which a sampler recorded the stack of the thread for this event; 0: none.
	TraceID uint64

	Args Args    // nil if not requested
	late *record // record whose arguments were not read, see Timeline.ReadArgs and Item.ReadArgs
}

// Item is a resolved event with all the data that an output needs. Its byte slices are valid only during the call that receives
// it.
type Item struct {
	Head

	Name      []byte // ItemBegin, ItemInstant
	Category  []byte // as written in the input
	Callstack CallstackID
	Value     Number    // ItemCounter, ItemSample (its weight)
	CPU       CPU       // ItemSample
	Flows     []FlowRef // ItemBegin, ItemInstant
	Notes     Args      // added by a pass, see AttachNotes
	Idle      bool      // ItemBegin, ItemEnd, ItemSample: see Event.Idle
	Added     bool      // belongs to an overlay and has no ordinal

	walker *walker // reads the arguments of late, see Item.ReadArgs

	// Correlation groups slices from an overlay: those with the same text belong together.
	Correlation string

	// AsyncID and AsyncScope are the id of an asynchronous track, set on its outermost slices and instants.
	AsyncID, AsyncScope string
}

// HasAsyncID reports whether the event carries the id of its track. An empty id has a scope.
func (it *Item) HasAsyncID() bool { return it.AsyncID != "" || it.AsyncScope != "" }

// FlowRef is a resolved flow at a slice or instant. If ID is 0 and Ordinal belongs to a FlowStep, the FlowRef is a flow end that
// is bound to nothing; Walk shows the flow end as an instant on the track "Other events" of its thread.
type FlowRef struct {
	Ordinal     uint64 // of the slice or instant
	ID          uint64 // of the flow
	Previous    uint64 // ordinal of the flow's previous member; NoOrdinal for the first
	Terminating bool   // the flow ends here
	Backwards   bool   // the arrow leads to the previous member, which starts earlier
	After       Nanos  // when the flow passes, relative to the start of the slice
	Event, Nth  uint32 // order of flows that pass at the same time: by Event, then by Nth
}

// NoOrdinal means no ordinal: it is the Previous of a flow's first member, and the Ordinal of some samples and of all items from
// overlays.
const NoOrdinal = math.MaxUint64

func (f FlowRef) ordinal() uint64 { return f.Ordinal }

// AttachedFlows returns the flows passed to AttachFlows, or nil if there are none.
func (t *Timeline) AttachedFlows() Attached[FlowRef] { return t.flows }

// AttachFlows sets the timeline's resolved flows, which are closed with the timeline. It sets the total of flows to arrows, and
// adds unbound, the number of flow ends that are bound to nothing, to the total of instants.
func (t *Timeline) AttachFlows(f Attached[FlowRef], arrows, unbound int64) {
	t.flows = f
	t.totals.Flows = arrows
	t.totals.Instants += unbound
	for _, key := range []string{OwnArgs, "ph", "flow_id"} { // for unbound ends
		t.InternKey(key)
	}
}

// MarkUsed records that an event, such as a FlowStep on its Fallback, is shown on a lane of a track that may have no other
// events.
func (t *Timeline) MarkUsed(id TrackID, lane uint32) {
	t.table.use(id)
	if lane > 0 {
		t.table.useLane(id, lane)
	}
}

// segment is a part of a nested timeline that can be walked independently; see WalkSegment.
type segment struct {
	first       uint64                  // ordinal of its first record
	firstSample int                     // index of its first sample in the table
	after       Nanos                   // latest time before that record and that sample
	open        []openSlice[pendingEnd] // slices that are open at its start and end later
	problems    *problem.Log
}

// walker converts nested records to items.
type walker struct {
	t        *Timeline
	emit     func(*Item) error
	open     pendingEnds
	ordinal  uint64 // of the group's first record
	sampled  *sampleCursor
	flows    attachedCursor[FlowRef]
	notes    attachedCursor[Note]
	overlay  readAhead[Item]
	filtered []byte             // scratch for arguments without the hidden argument
	ends     map[uint32]*record // matched ends in the group, by the event that began their slice
	unused   int                // number of ends that are not yet used
	state    []uint8            // states of the group's records, if flows change their order
	steps    int                // work spent on reordering the group
	item     Item
	args     ArgsEncoder // for unbound flow ends

	late     bool                 // only Item.ReadArgs reads arguments
	only     []bool               // for WalkSlices, by TrackID: the tracks with slices to walk
	numbered func(ordinal uint64) // called for records in order, in place of emit; see NumberEvents

	expanded []byte // scratch for the arguments of a template

	payloads payloads
	problems *problem.Log // outlives the walker
}

// Walk calls fn for all events in the order that Perfetto traces require (perfetto.md 6): by time, and at equal times ends before
// begins, enclosing slices before inner ones, and producers of flows before their consumers. It requires Nest. It stops at an
// error from fn and returns it.
func (t *Timeline) Walk(ctx context.Context, fn func(*Item) error) error {
	for i := range t.SegmentCount() {
		if err := t.WalkSegment(ctx, i, fn); err != nil {
			return err
		}
	}
	return nil
}

// SegmentCount returns the number of segments in the timeline. It does not depend on the memory budget.
func (t *Timeline) SegmentCount() int { return len(t.segments) }

// SegmentAfter returns a time between the given segment and the segments before it or, for the first segment, the start of the
// trace.
func (t *Timeline) SegmentAfter(i int) Nanos {
	if i == 0 {
		return t.totals.Start
	}
	return t.segments[i].after
}

// SegmentOf returns the index of the segment that contains the slice or instant with the given ordinal.
func (t *Timeline) SegmentOf(ordinal uint64) int {
	return sort.Search(len(t.segments), func(i int) bool { return t.segments[i].first > ordinal }) - 1
}

// WalkSegment is Walk for one segment; walking all segments in turn is equivalent to Walk. Different segments can be walked
// concurrently.
func (t *Timeline) WalkSegment(ctx context.Context, i int, fn func(*Item) error) error {
	return t.walkSegment(ctx, i, false, fn)
}

// walkSegment is WalkSegment. If late is set, it reads arguments only on request.
func (t *Timeline) walkSegment(ctx context.Context, i int, late bool, fn func(*Item) error) error {
	seg := &t.segments[i]
	end, endSample := uint64(t.store.len()), t.sampled.len()
	if i+1 < len(t.segments) {
		end, endSample = t.segments[i+1].first, t.segments[i+1].firstSample
	}
	sampled, err := t.sampled.cursor(seg.firstSample, endSample-seg.firstSample)
	if err != nil {
		return err
	}
	w := t.newWalker(fn, seg.first, late, sampled)
	w.problems.DivideAs(t.opts.Problems)
	for _, o := range seg.open {
		w.open.others.Push(o)
	}
	if t.overlay != nil {
		w.overlay.next, err = t.overlay.After(seg.after)
	}
	if err = errors.Join(err, w.flows.open(t.flows, seg.first), w.notes.open(t.notes, seg.first)); err != nil {
		return err
	}
	if err := w.walk(ctx, end, i+1 == len(t.segments)); err != nil {
		return err
	}
	t.segmentDone(seg, w.problems)
	return nil
}

// newWalker returns a walker for records from the given ordinal on. The caller sets the open slices and attached values.
func (t *Timeline) newWalker(fn func(*Item) error, first uint64, late bool, sampled *sampleCursor) *walker {
	return &walker{
		t: t, emit: fn, ordinal: first, late: late, sampled: sampled, ends: map[uint32]*record{}, payloads: t.store.reader(),
		problems: new(problem.Log), open: newPendingEnds(),
	}
}

// walk visits the records before an ordinal, and the samples. After the last segment, it ends all slices that are still open.
func (w *walker) walk(ctx context.Context, end uint64, last bool) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	n := 0
	err := w.t.section(int(w.ordinal), int(end-w.ordinal), func(g *group) error {
		if n++; n%(1<<12) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		return w.group(g)
	})
	for err == nil && w.sampled.more() {
		err = w.nextSample()
	}
	if err == nil && last {
		err = w.endUpTo(math.MaxInt64)
	}
	return err
}

// segmentDone stores the problems found in a segment. When all segments have been walked for the first time, it adds their
// problems to the log, in segment order.
func (t *Timeline) segmentDone(seg *segment, found *problem.Log) {
	t.walking.Lock()
	defer t.walking.Unlock()
	if seg.problems != nil {
		return
	}
	seg.problems = found
	if t.walked++; t.walked == len(t.segments) {
		for i := range t.segments {
			t.opts.Problems.Merge(t.segments[i].problems)
		}
	}
}

// WithOwnProblems calls fn, which may walk the nested timeline, with a copy of the problem log, so that problems found by fn are
// not added to the original log.
func (t *Timeline) WithOwnProblems(fn func() error) error {
	known := t.opts.Problems
	t.opts.Problems = known.Clone()
	defer func() {
		t.opts.Problems, t.walked = known, 0
		for i := range t.segments {
			t.segments[i].problems = nil
		}
	}()
	return fn()
}

// count counts a problem at a record.
func (w *walker) count(k problem.Kind, r *record) {
	w.problems.Add(k, problem.Position{Event: int64(r.event), Offset: r.offset}, "")
}

func (w *walker) group(g *group) error {
	ts := g.at(0).ts
	for w.sampled.before(ts) {
		if err := w.nextSample(); err != nil {
			return err
		}
	}
	if len(w.ends) > 0 {
		clear(w.ends)
	}
	for i := range g.len() {
		if r := g.at(i); r.Kind() == End {
			w.ends[r.BeginEvent()] = r
		}
	}
	w.unused = len(w.ends)
	if err := w.endUpTo(ts); err != nil {
		return err
	}
	end := w.ordinal + uint64(g.len())
	if err := w.flows.read(end); err != nil {
		return err
	}
	if err := w.notes.read(end); err != nil {
		return err
	}
	var err error
	if w.ordered() {
		for i := 0; i < g.len() && err == nil; i++ {
			r := g.at(i)
			if err = w.samplesAt(r); err == nil {
				err = w.record(r, w.ordinal+uint64(i))
			}
		}
	} else {
		err = w.reorder(g)
	}
	for err == nil && w.sampled.more() && w.sampled.ts == ts {
		err = w.sample()
	}
	w.ordinal = end
	// With more than maxGroup records at one time, ends may be in a later group than their slices, which have then ended without
	// the data from these ends.
	for ; w.unused > 0; w.unused-- {
		w.count(problem.EndWithoutBegin, g.at(g.len()-1))
	}
	return err
}

// nextSample writes the next sample from the table, which precedes the next record, after the ends up to the sample's time.
func (w *walker) nextSample() error {
	if err := w.endUpTo(w.sampled.ts); err != nil {
		return err
	}
	return w.sample()
}

// samplesAt writes the samples that precede a record with the same time. If the record starts something, and events are not
// already in their final order, these are all samples at that time; otherwise, they are only the samples of earlier events.
func (w *walker) samplesAt(r *record) error {
	for w.sampled.more() && w.sampled.ts == r.ts && (r.starts() && !w.t.ordered || w.sampled.event < r.event) {
		if err := w.sample(); err != nil {
			return err
		}
	}
	return nil
}

// sample writes the next sample, unless its track is hidden.
func (w *walker) sample() error {
	s := &w.sampled.sampleRow
	if !w.t.table.tracks[s.track].hidden {
		it := &w.item
		*it = Item{}
		it.Kind, it.TS, it.Dur, it.Track = ItemSample, s.ts, NoTime, s.track
		it.Event, it.Offset, it.Ordinal = s.event, noOffset, NoOrdinal
		it.Value, it.Callstack, it.Idle = Int(int64(s.weight&^idleBit)), w.t.stacks.resolve(s.stack), s.weight&idleBit != 0
		if err := w.emit(it); err != nil {
			return err
		}
	}
	return w.sampled.advance()
}

// endUpTo writes the ends up to and including ts, innermost first, and the overlay's events up to ts.
func (w *walker) endUpTo(ts Nanos) error {
	if err := w.overlayUpTo(ts); err != nil {
		return err
	}
	return w.closeUpTo(ts)
}

// closeUpTo writes the ends up to and including ts.
func (w *walker) closeUpTo(ts Nanos) error {
	for o := w.open.pop(ts); o != nil; o = w.open.pop(ts) {
		if err := w.end(&o.value, o.end); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) end(o *pendingEnd, ts Nanos) error {
	if w.t.table.tracks[o.track].hidden {
		return nil
	}
	// Set the fields one by one, because the compiler builds a literal elsewhere and then copies it.
	it := &w.item
	*it = Item{}
	it.Kind, it.TS, it.Dur, it.Track, it.Lane = ItemEnd, ts, NoTime, o.track, o.lane
	it.ThreadTime, it.Event, it.Offset, it.Ordinal, it.Idle = o.threadTime, o.event, o.offset, o.ordinal, o.idle
	if o.whole {
		it.Whole, it.Dur, it.ThreadDuration = true, o.dur, o.used
	}
	if !o.paired {
		return w.emit(&w.item)
	}
	if r := w.ends[o.event]; r != nil {
		w.unused--
		w.item.Event, w.item.Offset = r.event, r.offset
		w.item.ThreadTime, _ = r.threadTimes()
		if err := w.payload(r); err != nil {
			return err
		}
		w.item.Name, w.item.Category = nil, nil
	}
	return w.emit(&w.item)
}

// record writes a record that is not an end, unless the walk omits it.
func (w *walker) record(r *record, ordinal uint64) error {
	if w.numbered != nil {
		w.numbered(ordinal)
		return nil
	}
	if w.t.table.tracks[r.track].hidden || w.only != nil && !w.isWalkedSlice(r) {
		return nil
	}
	it := &w.item
	*it = Item{}
	it.TS, it.Dur, it.Track, it.Lane = r.ts, r.dur, r.track, r.lane
	it.Event, it.Offset, it.Ordinal = r.event, r.offset, ordinal
	it.Name, it.NameID = w.t.names.get(uint32(r.name)), r.name
	it.Category, it.CategoryID = w.t.categories.get(uint32(r.category)), r.category
	switch r.Kind() {
	case Slice, Begin:
		it.Kind, it.DidNotEnd, it.Idle = ItemBegin, r.didNotEnd(), r.flags&flagIdle != 0
		at, used := r.threadTimes()
		if it.ThreadTime = at; r.Kind() == Slice {
			it.Complete, it.Whole, it.ThreadDuration = true, r.whole(), used
		}
	case Instant:
		it.Kind = ItemInstant
		it.ThreadTime, _ = r.threadTimes()
	case Counter:
		it.Kind, it.Value = ItemCounter, r.value()
	case Sample:
		it.Kind, it.Value = ItemSample, r.value()
		it.CPU, it.Lane, it.Callstack = r.sampledOn(), 0, w.t.stacks.resolve(r.sampledStack())
		it.Idle = r.flags&flagIdle != 0
	case FlowStep:
		if w.flows.find(ordinal) == nil {
			return nil
		}
		w.unbound(r)
		return w.emit(it)
	default:
		return nil
	}
	if err := w.payload(r); err != nil {
		return err
	}
	if r.flags&flagOutermost != 0 && w.t.Role(r.track) == RoleAsync {
		it.AsyncID, it.AsyncScope = w.t.AsyncID(r.track), w.t.AsyncScope(r.track)
	}
	if w.only == nil {
		it.Flows = w.flows.find(ordinal)
		w.addNote(ordinal)
	}
	if err := w.emit(it); err != nil {
		return err
	}
	return w.begun(r, ordinal)
}

// unbound converts a flow end that is bound to nothing to an instant on the track that AddFlow reserved.
func (w *walker) unbound(r *record) {
	it := &w.item
	it.Kind, it.Dur = ItemInstant, NoTime
	it.Track, it.Lane = r.Fallback()
	e := &w.args
	e.keys = w.t.keys
	e.Reset()
	e.OwnKey([]byte(OwnArgs))
	e.BeginDict()
	e.Key([]byte("ph"))
	e.String(flowPhases[r.Role()])
	if id, text := r.FlowID(); !text {
		e.Key([]byte("flow_id"))
		e.Uint(id)
	}
	e.EndDict()
	it.Args = e.Args()
}

var flowPhases = [...][]byte{FlowStart: []byte("s"), FlowContinue: []byte("t"), FlowEnd: []byte("f"), FlowServe: []byte("t"), FlowReference: []byte("f")}

// begun adds an open slice, or ends the slice immediately if it has no length.
func (w *walker) begun(r *record, ordinal uint64) error {
	if r.Kind() != Slice && r.Kind() != Begin || r.dur == NoTime {
		return nil
	}
	if r.dur == 0 {
		var o pendingEnd
		o.set(r, ordinal)
		return w.end(&o, r.ts)
	}
	w.open.push(r, ordinal)
	return nil
}

// payload adds the data in a record's payload to the item.
func (w *walker) payload(r *record) error {
	if w.late && (r.flags&flagPayload == flagArgs || r.hasTemplate()) {
		w.item.late, w.item.walker = r, w
		return nil
	}
	if r.flags&flagPayload == 0 {
		if r.hasTemplate() {
			w.expanded = w.t.templates.appendArgs(w.expanded[:0], r)
			w.item.Args = w.expanded
		}
		return nil
	}
	b, err := w.payloads.payload(r.payload)
	if err != nil {
		return err
	}
	p := decodePayload(b, r.flags)
	w.item.Args = p.args
	w.item.Thread = p.sampling.Thread
	if r.flags&flagCallstack != 0 {
		w.item.Callstack = w.t.stacks.resolve(p.callstack)
	}
	if r.flags&flagInlineName != 0 {
		w.item.Name, w.item.NameID = p.name, 0
	}
	if r.flags&flagInlineCategory != 0 {
		w.item.Category, w.item.CategoryID = p.category, 0
	}
	return nil
}

// ordered reports whether every flow member in the group comes after its previous member.
func (w *walker) ordered() bool {
	for i := range w.flows.group {
		if f := &w.flows.group[i]; f.Previous != NoOrdinal && f.Previous > f.Ordinal {
			return false
		}
	}
	return true
}

// maxFlowDepth limits how far producers of producers are moved forward, and maxPullSteps limits the work for one timestamp.
const (
	maxFlowDepth = 1000
	maxPullSteps = 1 << 24
)

// States of a record in reorder.
const (
	waiting uint8 = iota
	started
	written
)

// reorder writes a group in which a flow leads from a record to an earlier one. At one timestamp, tracks are independent of each
// other, so everything up to the producer on its track can be written first. This is impossible if flows form a cycle; the
// affected flow end then does not terminate its flow, because Perfetto would ignore it.
func (w *walker) reorder(g *group) error {
	w.state = append(w.state[:0], make([]uint8, g.len())...)
	w.steps = 0
	for i := range g.len() {
		if w.state[i] == waiting {
			if err := w.samplesAt(g.at(i)); err != nil {
				return err
			}
			if err := w.writeOne(g, i, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeOne writes a record after its producers. Everything before it on its lane must already have been written.
func (w *walker) writeOne(g *group, i, depth int) error {
	w.state[i] = started
	r, refs := g.at(i), w.flows.find(w.ordinal+uint64(i))
	for k := range refs {
		f := &refs[k]
		if f.Previous == NoOrdinal || f.Previous < w.ordinal {
			continue
		}
		p := int(f.Previous - w.ordinal)
		if p < g.len() && w.state[p] == waiting && depth < maxFlowDepth {
			if err := w.pull(g, p, depth+1); err != nil {
				return err
			}
		}
		if p >= g.len() || w.state[p] != written {
			w.reverse(f)
			w.count(problem.FlowBackwards, r)
		}
	}
	if err := w.record(r, w.ordinal+uint64(i)); err != nil {
		return err
	}
	w.state[i] = written
	return nil
}

// reverse reverses the arrow to a record that precedes its producer, because Perfetto draws it that way.
func (w *walker) reverse(f *FlowRef) {
	ends := f.Terminating
	f.Terminating = false
	for i := range w.flows.group {
		if p := &w.flows.group[i]; p.ID == f.ID && p.Ordinal == f.Previous {
			p.Terminating = ends
			p.After, f.After = 0, 0 // the order of these times contradicts the arrow
			p.Previous, f.Previous = f.Ordinal, p.Previous
			return
		}
	}
}

// pull writes a record and the records before it on its lane, unless one of these is currently being written.
func (w *walker) pull(g *group, i, depth int) error {
	r := g.at(i)
	first := i
	for first > 0 && (w.t.ordered || g.at(first-1).track == r.track && g.at(first-1).starts()) {
		first--
	}
	if w.steps += i - first; w.steps > maxPullSteps {
		return nil
	}
	for j := first; j <= i; j++ {
		if w.state[j] == started && g.at(j).sharesLane(r) {
			return nil
		}
	}
	for j := first; j <= i; j++ {
		if w.state[j] != waiting || !g.at(j).sharesLane(r) {
			continue
		}
		if err := w.writeOne(g, j, depth); err != nil {
			return err
		}
	}
	return nil
}
