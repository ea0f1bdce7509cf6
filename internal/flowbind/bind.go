package flowbind

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sort"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// Key identifies a flow in the input.
type Key struct {
	Space          timeline.FlowSpace
	TextID         bool
	Input          uint32 // number of the input; 0 for link keys
	ID             uint64
	Category, Name uint32 // FlowV1 only
}

// end is one end of a flow, bound to a slice.
type end struct {
	Key
	role    timeline.FlowRole
	input   uint32         // number of the input, for an end of a link
	ts      timeline.Nanos // usually the time of the event with the end
	order   uint64         // position of the carrier in the order of starts, for ends at the same time
	nth     uint32         // index among the ends on the carrier
	event   uint32         // index of the event in the input
	offset  int64
	slice   Slice
	unbound bool // a Chrome start or step that binds to no slice: no flow can start there, see linker.breakFlow
}

// Slice is a slice or instant to which flows bind.
type Slice struct {
	Ordinal uint64
	TS, End timeline.Nanos // End is NoTime if the slice never ends
	Track   timeline.TrackID
	Lane    uint32
	Event   uint32 // index of the event in the input
}

func (e *end) position() problem.Position {
	return problem.Position{Event: int64(e.event), Offset: e.offset}
}

// compareEnds sorts ends by key, and then in the order in which they take effect: by time, order and event (chrome-json.md 15).
// Link ends that refer to a span come after the span's own ends, because clocks may differ.
func compareEnds(a, b *end) int {
	if a.Key != b.Key {
		return compareKeys(&a.Key, &b.Key)
	}
	if a.Space == timeline.FlowLink && a.refers() != b.refers() {
		return cmp.Compare(boolInt(a.refers()), boolInt(b.refers()))
	}
	return compareTimes(a, b)
}

// compareTimes sorts the ends with equal keys by time.
func compareTimes(a, b *end) int {
	return cmp.Or(cmp.Compare(a.ts, b.ts), cmp.Compare(a.order, b.order), cmp.Compare(a.event, b.event))
}

func compareKeys(a, b *Key) int {
	return cmp.Or(
		cmp.Compare(a.ID, b.ID), cmp.Compare(a.Input, b.Input), cmp.Compare(a.Space, b.Space), cmp.Compare(a.Category, b.Category),
		cmp.Compare(a.Name, b.Name), cmp.Compare(boolInt(a.TextID), boolInt(b.TextID)),
	)
}

func boolInt(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

var endOrder = extsort.Order[end]{
	Compare: compareEnds,
	Key:     func(e *end) uint64 { return e.ID },
}

// binder finds the slices for flow ends while it scans the timeline.
type binder struct {
	ctx          context.Context
	timeline     *timeline.Timeline
	ends         *extsort.Sorter[end]
	members      func(timeline.FlowRef) error // receives ends that bind to nothing
	unboundCount int64                        // number of ends that bind to nothing
	problems     *problem.Log
	byTime       bool // some ends bind by time
	native       bool // some ends are on Perfetto end events

	threads []*thread        // by TrackID
	open    map[uint32]Slice // open slices, by index of their start event

	// For the current timestamp:
	starts  []timeline.Record
	byEvent map[uint32]int    // by event: index in starts; built on demand
	inFile  []latestStart     // built on demand
	endedBy map[uint32]uint32 // end event by start event
	ending  map[uint32]uint32 // start event by end event
	later   map[timeline.TrackID][]laterStart

	latest uint32 // latest event with a flow end
	nth    uint32 // index of that event's last end
}

// thread is the state of a thread for binding by time.
type thread struct {
	active    []active // slices that may contain later events, in start order; on all lanes, so they need not nest
	compacted int      // length of active after the last call of compact
	waiting   []end    // ends that bind to the next slice that starts
}

type active struct {
	Slice
	complete bool
}

// maxSearch limits the number of slices that are examined for one end. Only slices that start at the time of the end are examined
// in vain, so real traces stay far below the limit.
const maxSearch = 1 << 14

func newBinder(ctx context.Context, p *pass, ends *extsort.Sorter[end]) *binder {
	t := p.timeline
	return &binder{
		timeline: t, ends: ends, members: p.write, problems: p.problems,
		byTime: t.HasFlows(timeline.FlowV1), native: t.HasFlows(timeline.FlowNative),
		threads: make([]*thread, t.TrackCount()), open: map[uint32]Slice{},
		byEvent: map[uint32]int{}, endedBy: map[uint32]uint32{}, ending: map[uint32]uint32{},
		later: map[timeline.TrackID][]laterStart{}, ctx: ctx,
	}
}

// finish counts the ends that are still waiting as unbound and returns the number of ends that bind to nothing.
func (b *binder) finish() (unbound int64, err error) {
	for _, th := range b.threads {
		if th != nil {
			for i := range th.waiting {
				if err := b.unbound(problem.FlowNoNextSlice, &th.waiting[i]); err != nil {
					return 0, err
				}
			}
		}
	}
	return b.unboundCount, nil
}

// group processes all records of one timestamp.
func (b *binder) group(group []timeline.Record) error {
	b.starts = b.starts[:0]
	b.reset()
	flows := 0
	for _, r := range group {
		switch r.Kind() {
		case timeline.End:
			b.endedBy[r.BeginEvent()] = r.Event()
			b.ending[r.Event()] = r.BeginEvent()
		case timeline.FlowStep:
			flows++
		default:
			b.starts = append(b.starts, r)
			if b.native && r.Kind() == timeline.Begin {
				b.open[r.Event()] = sliceOf(r)
			}
		}
	}
	if b.byTime {
		if err := b.startThreads(); err != nil {
			return err
		}
	}
	if flows > 0 {
		for i, r := range group {
			if i%(1<<10) == 0 && b.ctx.Err() != nil {
				return b.ctx.Err()
			}
			if r.Kind() == timeline.FlowStep {
				if err := b.flow(r); err != nil {
					return err
				}
			}
		}
	}
	if b.native {
		for begin := range b.endedBy {
			delete(b.open, begin)
		}
	}
	return nil
}

// reset clears the state of the previous timestamp. Most of this state is usually empty.
func (b *binder) reset() {
	if len(b.byEvent) > 0 {
		clear(b.byEvent)
	}
	if len(b.endedBy) > 0 {
		clear(b.endedBy)
		clear(b.ending)
	}
	if len(b.later) > 0 {
		clear(b.later)
	}
	b.inFile = b.inFile[:0]
}

func sliceOf(r timeline.Record) Slice {
	return Slice{Ordinal: r.Ordinal, TS: r.TS(), End: r.End(), Track: r.Track(), Lane: r.Lane(), Event: r.Event()}
}

func (b *binder) thread(id timeline.TrackID) *thread {
	th := b.threads[id]
	if th == nil {
		th = &thread{}
		b.threads[id] = th
	}
	return th
}

// startThreads adds the slices that start at this time and binds the ends that were waiting for them.
func (b *binder) startThreads() error {
	for _, r := range b.starts {
		if !b.timeline.BindsFlows(r.Track()) {
			continue
		}
		th, s := b.thread(r.Track()), sliceOf(r)
		for j := range th.waiting {
			th.waiting[j].slice = s
			if err := b.ends.Add(th.waiting[j]); err != nil {
				return err
			}
		}
		th.waiting = th.waiting[:0]
		th.compact(s.TS)
		th.active = append(th.active, active{Slice: s, complete: r.Kind() == timeline.Slice && s.End > s.TS})
	}
	return nil
}

// drop removes the innermost slices that ended before now.
func (th *thread) drop(now timeline.Nanos) {
	for n := len(th.active); n > 0 && th.active[n-1].over(now); n = len(th.active) {
		th.active = th.active[:n-1]
	}
}

func (a *active) over(now timeline.Nanos) bool { return a.End != timeline.NoTime && a.End < now }

// flow binds the flow end in a record.
func (b *binder) flow(r timeline.Record) error {
	e := end{Key: Key{Space: r.Space()}, role: r.Role(), ts: r.TS(), event: r.Event(), offset: r.Offset()}
	if e.Space == timeline.FlowLink {
		e.input = b.timeline.InputOf(e.event)
	} else {
		e.Input = b.timeline.FlowInput(e.event)
	}
	if b.nth++; e.event != b.latest {
		b.latest, b.nth = e.event, 0
	}
	e.nth = b.nth
	e.ID, e.TextID = r.FlowID()
	e.Name, e.Category = r.FlowName()
	e.slice.Ordinal = r.Ordinal // the end's own position, until it is bound
	e.slice.Track, e.slice.Lane = r.Fallback()
	switch r.Binding() {
	case timeline.BindCarrier:
		e.ts = addTime(e.ts, r.After())
		return b.carrier(&e)
	case timeline.BindNext:
		return b.next(&e, r.Track())
	case timeline.BindNothing: // the reader has already counted the reason
		return b.breakFlow(&e)
	}
	th := b.thread(r.Track())
	a := b.enclosing(th, &e)
	if a == nil {
		if err := b.unbound(problem.FlowNoEnclosingSlice, &e); err != nil {
			return err
		}
		return b.breakFlow(&e)
	}
	e.slice = a.Slice
	return b.ends.Add(e)
}

// addTime adds an offset from the input, which can have any value, to a time.
func addTime(ts, after timeline.Nanos) timeline.Nanos {
	switch sum := ts + after; {
	case after > 0 && sum < ts:
		return math.MaxInt64
	case after < 0:
		return max(sum, 0)
	default:
		return sum
	}
}

// breakFlow adds a start or step that binds to nothing, because it affects the preceding flow.
func (b *binder) breakFlow(e *end) error {
	if e.role == timeline.FlowEnd || e.Space != timeline.FlowV1 && e.Space != timeline.FlowV2 {
		return nil
	}
	e.unbound = true
	if e.Space == timeline.FlowV2 {
		e.order = b.startBefore(e.event)
	}
	return b.ends.Add(*e)
}

// latestStart is a start at this time, in input order. ordinal is the largest ordinal among the starts up to this one.
type latestStart struct {
	event   uint32
	ordinal uint64
}

// startBefore returns the position, in start order, of an event that starts nothing. It is the position of the last start at this
// time that precedes the event in the input.
func (b *binder) startBefore(event uint32) uint64 {
	if len(b.inFile) == 0 {
		for _, r := range b.starts {
			b.inFile = append(b.inFile, latestStart{r.Event(), r.Ordinal})
		}
		slices.SortFunc(b.inFile, func(a, b latestStart) int { return cmp.Compare(a.event, b.event) })
		for i := 1; i < len(b.inFile); i++ {
			b.inFile[i].ordinal = max(b.inFile[i].ordinal, b.inFile[i-1].ordinal)
		}
	}
	i := sort.Search(len(b.inFile), func(i int) bool { return b.inFile[i].event >= event })
	if i == 0 {
		return 0
	}
	return b.inFile[i-1].ordinal
}

// unbound counts an end that binds to nothing and keeps it as an instant at its own position.
func (b *binder) unbound(k problem.Kind, e *end) error {
	b.problems.Add(k, e.position(), "")
	b.unboundCount++
	b.timeline.MarkUsed(e.slice.Track, e.slice.Lane)
	if e.slice.Lane > 0 {
		b.problems.Add(problem.InstantDepthLimit, e.position(), "")
	}
	return b.members(timeline.FlowRef{Ordinal: e.slice.Ordinal, Previous: timeline.NoOrdinal})
}

// carrier binds an end to the slice or instant of its own event, or to the slice that this event ends.
func (b *binder) carrier(e *end) error {
	if len(b.byEvent) == 0 {
		for i, r := range b.starts {
			b.byEvent[r.Event()] = i
		}
	}
	if i, ok := b.byEvent[e.event]; ok {
		e.slice = sliceOf(b.starts[i])
		if e.Space == timeline.FlowV2 {
			e.order = e.slice.Ordinal
		}
		return b.ends.Add(*e)
	}
	if begin, ends := b.ending[e.event]; ends {
		if s, ok := b.open[begin]; ok {
			e.slice = s
			return b.ends.Add(*e)
		}
	}
	b.problems.Add(problem.FlowNoEnclosingSlice, e.position(), "")
	return b.breakFlow(e)
}

// next binds an end to the next slice that starts on its thread. At the time of the end itself, a complete event has already
// started; a Begin, an instant or a zero-length event is next if it comes later in the input.
func (b *binder) next(e *end, track timeline.TrackID) error {
	later := b.laterStarts(track)
	i := sort.Search(len(later), func(i int) bool { return later[i].event > e.event })
	if i < len(later) {
		e.slice = sliceOf(b.starts[later[i].start])
		return b.ends.Add(*e)
	}
	th := b.thread(track)
	th.waiting = append(th.waiting, *e)
	return nil
}

// laterStart is a start at this time that may be next. The field event is the largest input index among such starts on the thread
// up to this one, so that a binary search finds the first start after an event.
type laterStart struct {
	event uint32
	start int // index in starts
}

// laterStarts returns the starts on a thread at this time that may be next for an end at this time.
func (b *binder) laterStarts(track timeline.TrackID) []laterStart {
	if list, ok := b.later[track]; ok {
		return list
	}
	first := sort.Search(len(b.starts), func(i int) bool { return b.starts[i].Track() >= track }) // starts are sorted by track
	var list []laterStart
	for i := first; i < len(b.starts) && b.starts[i].Track() == track; i++ {
		r := b.starts[i]
		if r.Kind() == timeline.Slice && r.End() != r.TS() {
			continue
		}
		event := r.Event()
		if n := len(list); n > 0 {
			event = max(event, list[n-1].event)
		}
		list = append(list, laterStart{event, i})
	}
	b.later[track] = list
	return list
}

// enclosing returns the innermost slice or instant on a thread that contains the time of e, where slices include their ends. It
// returns nil if there is none. At the edges, the input order decides (chrome-json.md 15): a complete event that starts now has
// already started; any other start must come before e, and any end event after e.
func (b *binder) enclosing(th *thread, e *end) *active {
	th.compact(e.ts)
	for i, n := len(th.active)-1, 0; i >= 0 && n < maxSearch; i, n = i-1, n+1 {
		a := &th.active[i]
		if a.over(e.ts) {
			continue
		}
		if a.TS == e.ts && !a.complete && a.Event > e.event {
			continue
		}
		if by, ok := b.endedBy[a.Event]; ok && a.End == e.ts && by < e.event {
			continue
		}
		return a
	}
	return nil
}

// compact removes all slices that ended before now if there may be many.
func (th *thread) compact(now timeline.Nanos) {
	th.drop(now)
	if len(th.active) < 2*th.compacted+64 {
		return
	}
	th.active = slices.DeleteFunc(th.active, func(a active) bool { return a.over(now) })
	th.compacted = len(th.active)
}
