package timeline

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/weft-trace/weft/internal/collections"
	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/problem"
)

// maxDepth is the maximum number of nested slices that Perfetto shows on one track; Perfetto drops deeper slices. Simultaneous
// instants also nest in each other, until a slice begins or ends (perfetto.md 6).
const maxDepth = 512

// nester orders the starts at each timestamp and assigns a lane to every slice: 0 is the track itself, and other lanes are
// additional tracks. Intervals never change: if two overlap without nesting, the interval that starts later moves to another lane
// (chrome-json.md 8, 9).
type nester struct {
	t       *Timeline
	tracks  []*lanes  // by TrackID; nil: nothing is open
	live    []TrackID // tracks with open slices
	spare   []*lanes
	sweepAt int
	ordinal uint64 // of the first record of the group
	sampled *sampleCursor

	openCount int // number of open slices at the end of the last segment

	unboundAt Nanos
	unbound   map[TrackID]uint32 // by track: number of flow ends at unboundAt that may be shown as instants, see countUnbound
}

// lanes holds the open slices of one track, lane by lane.
type lanes struct {
	lanes  []lane
	free   collections.Heap[freeLane] // lanes from maxLanesTried on, ordered by when they become free
	recent uint32                     // the most recently used of these lanes
	task   int                        // long task that may be running, for longTasks.partOf; 0: none

	instantsTS Nanos
	instants   []uint32 // by lane: number of instants at instantsTS since the last slice
}

type lane = OpenSlices[pendingEnd]

// noEnd represents the end of a slice that never ends.
const noEnd Nanos = math.MaxInt64

// Nest pairs begins with ends and nests the slices. It must be called exactly once, before Walk.
func (t *Timeline) Nest(ctx context.Context) error { return t.NestAndScan(ctx, nil) }

// NestAndScan performs Nest and Scan in one pass over the records.
func (t *Timeline) NestAndScan(ctx context.Context, fn func(group []Record) error) error {
	found, err := t.match(ctx)
	if found != nil {
		defer found.Close()
	}
	if err != nil {
		return err
	}
	sampled, err := t.sampled.cursor(0, t.sampled.len())
	if err != nil {
		return err
	}
	n := &nester{t: t, tracks: make([]*lanes, len(t.table.tracks)), sweepAt: 1 << 12, sampled: sampled}
	join := joiner{found: found}
	t.segments = []segment{{after: math.MinInt64}}
	t.events = make(ordinalSet, t.store.len()/64+1)
	t.table.clearUsed()
	scan := scanner{t: t, fn: fn}
	err = t.groups(ctx, true, func(g *group) error {
		if err := join.group(g); err != nil {
			return err
		}
		ts := g.at(0).ts
		if err := n.samplesBefore(ts); err != nil {
			return err
		}
		n.group(g)
		if err := n.samplesAt(ts); err != nil {
			return err
		}
		n.endSegment(ts)
		return scan.group(g)
	})
	for err == nil && sampled.more() {
		err = n.nextSamples()
	}
	if err != nil {
		return err
	}
	t.table.propagate()
	return nil
}

// samplesBefore counts the samples before ts.
func (n *nester) samplesBefore(ts Nanos) error {
	for n.sampled.before(ts) {
		if err := n.nextSamples(); err != nil {
			return err
		}
	}
	return nil
}

// nextSamples counts the samples at the next timestamp, which has no records.
func (n *nester) nextSamples() error {
	ts := n.sampled.ts
	err := n.samplesAt(ts)
	n.endSegment(ts)
	return err
}

// samplesAt counts the samples at ts, which must be the next ones.
func (n *nester) samplesAt(ts Nanos) error {
	for n.sampled.more() && n.sampled.ts == ts {
		n.t.totals.addSample(ts)
		n.t.table.tracks[n.sampled.track].used = true
		if err := n.sampled.advance(); err != nil {
			return err
		}
	}
	return nil
}

// segmentLen is the minimum number of records and samples in a segment.
const segmentLen = 1 << 15

// endSegment starts a new segment after the group of the given time if the current segment is long enough. The new segment stores
// the open slices. A segment has at least eight times as many records and samples as the next segment stores open slices, so that
// the stored slices stay few compared with records.
func (n *nester) endSegment(now Nanos) {
	last := &n.t.segments[len(n.t.segments)-1]
	length := n.ordinal - last.first + uint64(n.sampled.at-last.firstSample)
	if length < segmentLen || length < 8*uint64(n.openCount) {
		return
	}
	next := segment{first: n.ordinal, firstSample: n.sampled.at, after: now}
	for _, id := range n.live {
		for _, lane := range n.tracks[id].lanes {
			for _, o := range lane.slices {
				if o.end > now && o.end != noEnd {
					next.open = append(next.open, o)
				}
			}
		}
	}
	n.openCount = len(next.open)
	n.t.segments = append(n.t.segments, next)
}

// joiner copies the slice lengths found by the matcher into the Begins on disk.
type joiner struct {
	found   *extsort.Sorter[foundEnd]
	ordinal uint64
	next    foundEnd
	have    bool
	done    bool
}

func (j *joiner) group(g *group) error {
	if j.found == nil {
		return nil
	}
	for i := range g.len() {
		if !j.have && !j.done {
			ok, err := j.found.Next(&j.next)
			if err != nil {
				return err
			}
			j.have, j.done = ok, !ok
		}
		if j.have && j.next.ordinal == j.ordinal {
			r := g.at(i)
			r.dur = j.next.dur
			r.flags |= j.next.flags
			j.have = false
		}
		j.ordinal++
	}
	return nil
}

// group orders the records of one timestamp: first all records that start nothing, then the slices and instants, track by track.
// It also assigns lanes to the slices and instants, and counts the records.
func (n *nester) group(g *group) {
	if g.len() > 1 {
		n.order(g)
	}
	if g.len() > maxDepth || len(n.unbound) > 0 {
		n.countUnbound(g)
	}
	for i := range g.len() {
		r := g.at(i)
		n.t.totals.add(r, n.t.table.isOwn(r.track))
		switch {
		case r.starts():
			n.assignLane(r, n.ordinal+uint64(i))
			n.t.events.add(n.ordinal + uint64(i))
		case r.Kind() == Counter:
			n.t.events.add(n.ordinal + uint64(i))
			fallthrough
		case r.Kind() == Sample:
			n.t.table.tracks[r.track].used = true
		}
	}
	n.ordinal += uint64(g.len())
}

// countUnbound assigns lanes to the flow ends at one timestamp in case they bind to nothing and are shown as instants, which
// precede all starts. This is needed only if a track might have too many instants at one timestamp.
func (n *nester) countUnbound(g *group) {
	if ts := g.at(0).ts; n.unbound == nil || n.unboundAt != ts {
		n.unboundAt, n.unbound = ts, map[TrackID]uint32{}
	}
	for i := range g.len() {
		if r := g.at(i); r.Kind() == FlowStep && r.Space() == FlowV1 {
			shown, _ := r.Fallback()
			r.setFallbackLane(uint32(n.unbound[shown] / maxDepth))
			n.unbound[shown]++
		}
	}
}

// instantsAt prepares the lanes for starts at the given time.
func (n *nester) instantsAt(l *lanes, track TrackID, ts Nanos) {
	if l.instantsTS == ts {
		return
	}
	l.instantsTS, l.instants = ts, l.instants[:0]
	if len(n.unbound) > 0 && n.unboundAt == ts {
		for rest := n.unbound[track]; rest > 0; rest -= min(rest, maxDepth) {
			l.instants = append(l.instants, min(rest, maxDepth))
		}
	}
	for i := len(l.lanes); i < len(l.instants); i++ {
		l.lanes = append(l.lanes, lane{})
		if i >= maxLanesTried {
			l.free.Push(freeLane{ts + 1, uint32(i)})
		}
	}
}

// rank orders the records of one track and timestamp: first records that start nothing, then slices with a length, then instants
// and slices without a length or end.
func (r *record) rank() int {
	switch {
	case !r.starts():
		return 0
	case r.Kind() != Instant && r.dur > 0:
		return 1
	}
	return 2
}

// compareStarts orders two records of one timestamp: first records that start nothing; then, by track, slices with a length,
// longest first, followed by the rest.
func compareStarts(a, b *record) int {
	ra, rb := a.rank(), b.rank()
	if ra == 0 || rb == 0 {
		return cmp.Compare(min(ra, 1), min(rb, 1))
	}
	if c := cmp.Compare(a.track, b.track); c != 0 {
		return c
	}
	if c := cmp.Compare(ra, rb); c != 0 {
		return c
	}
	if ra == 1 {
		if c := cmp.Compare(b.dur, a.dur); c != 0 {
			return c
		}
	}
	if c := cmp.Compare(b.flags&flagDerived, a.flags&flagDerived); c != 0 {
		return c
	}
	return cmp.Compare(a.event, b.event) // a reader or a pass may add a slice before the slice that encloses it
}

// order sorts the records of a group. Usually they are already in order, or in reverse order if a pass added calls as they ended.
func (n *nester) order(g *group) {
	if n.t.ordered {
		endsFirst(g)
		return
	}
	up, down := true, true
	for i := 1; i < g.len() && (up || down); i++ {
		c := compareStarts(g.at(i-1), g.at(i))
		up, down = up && c <= 0, down && c > 0
	}
	switch {
	case up:
	case down:
		slices.Reverse(g.order)
	default:
		slices.SortStableFunc(g.order, func(i, j uint32) int { return compareStarts(g.record(i), g.record(j)) })
	}
	for i := 0; i < g.len(); {
		j := i + 1
		for j < g.len() && g.at(j).track == g.at(i).track && g.at(j).starts() == g.at(i).starts() {
			j++
		}
		if j-i > 1 && g.at(i).starts() {
			orderShort(g, g.order[i:j])
		}
		i = j
	}
}

// endsFirst moves ends to the start of the order.
func endsFirst(g *group) {
	others := 0
	for i := range g.len() {
		if g.at(i).Kind() != End {
			others++
		} else if others > 0 {
			slices.SortStableFunc(g.order, func(i, j uint32) int { return cmp.Compare(g.record(i).isEnd(), g.record(j).isEnd()) })
			return
		}
	}
}

func (r *record) isEnd() int {
	if r.Kind() == End {
		return 0
	}
	return 1
}

// orderShort orders zero-length starts and Begins without an End: they come after every X with a length, and are otherwise in
// input order (chrome-json.md 8). The parameter order contains the starts of one track and timestamp: those with a length,
// longest first, then the others.
func orderShort(g *group, order []uint32) {
	split := 0
	for split < len(order) && g.record(order[split]).rank() == 1 {
		split++
	}
	if split == len(order) {
		return
	}
	split += orderShortCalls(g, order, split)
	openAfterX(g, order[split:])
	lastX := split
	for lastX > 0 && !g.record(order[lastX-1]).isUnorderedX() {
		lastX--
	}
	mergeByEvent(g, order[lastX:], split-lastX)
}

// orderShortCalls orders zero-length calls: they come after every slice from the input with a length, and are otherwise in the
// order of the calls' events. It returns the number of zero-length calls, which are the first of the starts without a length.
func orderShortCalls(g *group, order []uint32, split int) (calls int) {
	for split+calls < len(order) && g.record(order[split+calls]).flags&flagDerived != 0 {
		calls++
	}
	first := split
	for calls > 0 && first > 0 && g.record(order[first-1]).flags&flagDerived != 0 {
		first--
	}
	mergeByEvent(g, order[first:split+calls], split-first)
	return calls
}

// mergeByEvent merges order[:split] and order[split:] by the positions of the events in the input.
func mergeByEvent(g *group, order []uint32, split int) {
	if split == 0 || split == len(order) {
		return
	}
	long, short := slices.Clone(order[:split]), slices.Clone(order[split:])
	out := order[:0]
	for len(long) > 0 && len(short) > 0 {
		if g.record(short[0]).event < g.record(long[0]).event {
			out, short = append(out, short[0]), short[1:]
		} else {
			out, long = append(out, long[0]), long[1:]
		}
	}
	copy(order[len(out):], append(long, short...))
}

// isUnorderedX reports whether the record is an X, a slice recorded as one event, whose position in the input does not matter.
func (r *record) isUnorderedX() bool { return r.Kind() == Slice && r.flags&flagInOrder == 0 }

// openAfterX moves begins without an end after the last X in short, which is in input order (chrome-json.md 8: after every X).
func openAfterX(g *group, short []uint32) {
	last := len(short) - 1
	for last >= 0 && !g.record(short[last]).isUnorderedX() {
		last--
	}
	if last < 0 {
		return
	}
	slices.SortStableFunc(short[:last+1], func(i, j uint32) int {
		return cmp.Compare(open(g.record(i)), open(g.record(j)))
	})
}

func open(r *record) int {
	if r.Kind() == Begin && r.dur == NoTime {
		return 1
	}
	return 0
}

// assignLane sets the lane of a slice or instant, infers its end if necessary, and updates the open slices and long tasks of its
// track.
func (n *nester) assignLane(r *record, ordinal uint64) {
	l := n.tracks[r.track]
	if l == nil {
		n.sweep(r.ts)
		l = n.newLanes()
		n.tracks[r.track] = l
		n.live = append(n.live, r.track)
		n.t.table.tracks[r.track].used = true
	}
	end, ends := r.end()
	if !ends || r.flags&flagClosed != 0 {
		end = n.inferEnd(r, l)
	}
	n.instantsAt(l, r.track, r.ts)
	r.lane = l.find(r.ts, end, r.Kind() == Instant)
	if l.lanes[r.lane].Len() == 0 {
		r.flags |= flagOutermost
	}
	if row := &n.t.table.tracks[r.track]; r.lane == 0 && row.kind == ThreadTrack {
		n.t.table.threads[row.index].starts++
	}
	if row := &n.t.table.tracks[r.track]; row.kind == NamedTrack && n.t.table.specs[row.index].Role == RoleInput {
		n.t.table.specs[row.index].starts++
	}
	if r.lane > 0 {
		n.countMoved(r, l, end)
		n.t.table.useLane(r.track, r.lane)
	}
	if n.t.longTasks.add(n.t, r) {
		l.task = len(n.t.longTasks.list)
	} else if l.task != 0 && r.Kind() != Instant && r.lane == 0 && r.dur != NoTime {
		l.task = n.t.longTasks.partOf(l.task, r)
	}
	l.follow(r)
	if end > r.ts {
		l.lanes[r.lane].Push(end).set(r, ordinal)
	}
	if end != noEnd {
		n.t.totals.End = max(n.t.totals.End, end)
	}
}

// inferEnd infers the end of a Begin without an End, and counts the problem. The slice ends with the slice around it or, if the
// matcher found a next task that starts earlier, at the start of that task. If there is neither, the slice never ends.
func (n *nester) inferEnd(r *record, l *lanes) (end Nanos) {
	end, kind := noEnd, problem.BeginWithoutEnd
	if next, ok := r.end(); ok {
		end, kind = next, problem.BeginClosedByNext
	}
	l.lanes[0].Close(r.ts)
	if depth := l.lanes[0].Len(); depth > 0 && l.lanes[0].End(depth-1) < end {
		end, kind = l.lanes[0].End(depth-1), problem.BeginClosedByParent
		r.flags &^= flagMatched
		if l.lanes[0].Innermost().closed {
			r.flags |= flagMatched
		}
	}
	if n.t.table.tracks[r.track].kind == AsyncTrack {
		kind = problem.AsyncUnfinished
	}
	n.t.count(kind, r)
	if end == noEnd {
		n.t.totals.Unfinished++
		return noEnd
	}
	r.dur = end - r.ts
	r.flags |= flagClosed
	return end
}

func (n *nester) countMoved(r *record, l *lanes, end Nanos) {
	kind := problem.SliceOverlapMoved
	if depth := l.lanes[0].Len(); r.Kind() == Instant && depth < maxDepth {
		kind = problem.InstantDepthLimit
	} else if depth > 0 && l.lanes[0].End(depth-1) >= end {
		kind = problem.SliceDepthLimit
	} else if n.t.table.tracks[r.track].kind == AsyncTrack {
		kind = problem.AsyncOverlapMoved
	}
	n.t.count(kind, r)
}

// sweep releases tracks without open slices each time the number of live tracks has doubled, because most asynchronous ids are
// used once.
func (n *nester) sweep(now Nanos) {
	if len(n.live) < n.sweepAt {
		return
	}
	live := n.live[:0]
	for _, id := range n.live {
		l := n.tracks[id]
		open := l.instantsTS == now && len(l.instants) > 0
		for i := range l.lanes {
			l.lanes[i].Close(now)
			open = open || l.lanes[i].Len() > 0
		}
		if open {
			live = append(live, id)
			continue
		}
		n.tracks[id] = nil
		if len(l.lanes) == 1 {
			n.spare = append(n.spare, l)
		}
	}
	n.live = live
	n.sweepAt = max(2*len(live), 1<<12)
}

func (n *nester) newLanes() *lanes {
	if i := len(n.spare); i > 0 {
		l := n.spare[i-1]
		n.spare = n.spare[:i-1]
		l.instantsTS, l.instants = NoTime, l.instants[:0]
		return l
	}
	return &lanes{lanes: make([]lane, 1), free: collections.NewHeap((*freeLane).before), instantsTS: NoTime}
}

// maxLanesTried limits the search for a used lane into which a slice fits.
const maxLanesTried = 64

// find returns the first lane in which the interval nests, adding one if necessary. Beyond maxLanesTried, it tries only the most
// recently used lane and then takes the lane that has been free for longest, so that the search stays short for any number of
// lanes.
func (l *lanes) find(start, end Nanos, instant bool) uint32 {
	for i := 0; i < len(l.lanes) && i < maxLanesTried; i++ {
		if l.fits(i, start, end, instant) {
			return uint32(i)
		}
	}
	if i := int(l.recent); i >= maxLanesTried && l.fits(i, start, end, instant) && l.lanes[i].Len()+l.instantsOn(i) > 0 {
		return l.recent
	}
	if instant {
		end++ // the lane is free only after the instant
	}
	i, ok := l.takeFree(start)
	if !ok {
		l.lanes = append(l.lanes, lane{})
		i = uint32(len(l.lanes) - 1)
	}
	if i >= maxLanesTried {
		l.free.Push(freeLane{end, i})
		l.recent = i
	}
	return i
}

// fits reports whether an interval nests inside the open slices and instants on a lane.
func (l *lanes) fits(i int, start, end Nanos, instant bool) bool {
	lane := &l.lanes[i]
	lane.Close(start)
	depth := lane.Len()
	if instant {
		depth += l.instantsOn(i)
	}
	if depth == 0 {
		return true
	}
	return depth < maxDepth && (lane.Len() == 0 || lane.End(lane.Len()-1) >= end)
}

// instantsOn returns the number of instants on a lane in which another instant at the same time would nest.
func (l *lanes) instantsOn(lane int) int {
	if lane >= len(l.instants) {
		return 0
	}
	return int(l.instants[lane])
}

// follow counts an instant on a lane, or resets the count after a slice, because the slice is not nested in the instants.
func (l *lanes) follow(r *record) {
	switch {
	case r.Kind() == Instant:
		for int(r.lane) >= len(l.instants) {
			l.instants = append(l.instants, 0)
		}
		l.instants[r.lane]++
	case int(r.lane) < len(l.instants):
		l.instants[r.lane] = 0
	}
}

// freeLane is a lane and the end of the last slice on it.
type freeLane struct {
	end  Nanos
	lane uint32
}

func (a *freeLane) before(b *freeLane) bool {
	return a.end < b.end || a.end == b.end && a.lane < b.lane
}

// takeFree returns the lane that has been free for longest at the given time, if any.
func (l *lanes) takeFree(now Nanos) (uint32, bool) {
	if l.free.Len() == 0 || l.free.Top().end > now {
		return 0, false
	}
	i := l.free.Pop().lane
	l.lanes[i].Close(now)
	return i, true
}
