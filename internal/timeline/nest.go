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

// maxDepth is the number of slices that Perfetto nests on one track; it drops deeper ones. Instants of one time nest in each
// other as well, until a slice begins or ends (perfetto.md 6).
const maxDepth = 512

// nester orders the starts of every timestamp and finds the lane of every slice: 0 is the track itself, others are
// tracks beside it. Intervals never change: of two that overlap without nesting, the one that starts later moves to a
// lane (chrome-json.md 8, 9).
type nester struct {
	t       *Timeline
	tracks  []*lanes  // by TrackID; nil: nothing is open
	live    []TrackID // those that are not nil
	spare   []*lanes
	sweepAt int
	ordinal uint64 // of the first record of the group
	sampled *sampleCursor

	openCount int // slices that were open at the end of the last segment

	unboundAt Nanos
	unbound   map[TrackID]uint32 // flow ends of that time that may show as instants on a track, see countUnbound
}

// lanes are the open slices of one track, lane by lane.
type lanes struct {
	lanes  []lane
	free   collections.Heap[freeLane] // of those beyond maxLanesTried
	recent uint32                     // the one of these that was used last
	long   int                        // the long task that may be running, as longTasks.partOf takes it; 0: none is

	now      Nanos
	instants []uint32 // by lane: the instants of that time, until a slice comes after them
}

// lane are the open slices of a lane.
type lane = OpenSlices[pendingEnd]

// noEnd is the end of a slice that never ends.
const noEnd Nanos = math.MaxInt64

// Nest pairs begins with ends and finds how slices nest. It must be called once, before Walk.
func (t *Timeline) Nest(ctx context.Context) error { return t.NestAndScan(ctx, nil) }

// NestAndScan is Nest and Scan at once, which saves going through all records once more.
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
	t.table.forgetUse()
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

// samplesBefore counts the samples of the table before a time.
func (n *nester) samplesBefore(ts Nanos) error {
	for n.sampled.before(ts) {
		if err := n.nextSamples(); err != nil {
			return err
		}
	}
	return nil
}

// nextSamples counts the samples of the table at one time at which there is no record.
func (n *nester) nextSamples() error {
	ts := n.sampled.ts
	err := n.samplesAt(ts)
	n.endSegment(ts)
	return err
}

// samplesAt counts the samples of the table of a time, which are the next ones.
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

// segmentLen is the number of records and samples after which the walk may be entered again, see segment.
const segmentLen = 1 << 15

// endSegment starts a new segment after the group of the given time, if the current one is long enough. What is open is noted
// with it; so that all segments together stay small beside the records, a segment is at least eight times as long as
// the next one's note.
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

// joiner gives Begins on disk the lengths that the matcher found.
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

// group brings the records of one timestamp into the order in which they start: first everything that starts nothing,
// then track by track the slices and instants.
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
			n.place(r, n.ordinal+uint64(i))
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

// countUnbound gives the flow ends of one time lanes, should they bind to nothing and show as instants: they come before all
// that starts. It is asked for only where so much happens at one time that a track may have too many instants.
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

// instantsAt makes the lanes ready for what starts at a time.
func (n *nester) instantsAt(l *lanes, track TrackID, ts Nanos) {
	if l.now == ts {
		return
	}
	l.now, l.instants = ts, l.instants[:0]
	if len(n.unbound) > 0 && n.unboundAt == ts {
		for left := n.unbound[track]; left > 0; left -= min(left, maxDepth) {
			l.instants = append(l.instants, min(left, maxDepth))
		}
	}
	for i := len(l.lanes); i < len(l.instants); i++ {
		l.lanes = append(l.lanes, lane{})
		if i >= maxLanesTried {
			l.free.Push(freeLane{ts + 1, uint32(i)})
		}
	}
}

// rank is the place of a record among the records of its track and timestamp: things that start nothing, slices with a
// length, then what has no length or no end.
func (r *record) rank() int {
	switch {
	case !r.starts():
		return 0
	case r.Kind() != Instant && r.dur > 0:
		return 1
	}
	return 2
}

// compareStarts compares two records of one time: first comes what starts nothing; then, of each track, what has a length, the
// longest first, and what has none.
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
	return cmp.Compare(a.event, b.event) // a reader or a pass may add a slice before the one around it
}

// order sorts the records of a group. Mostly they are in order, or, being calls that a pass made as they ended, the other way
// round.
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
		slices.SortStableFunc(g.order, func(i, j uint32) int { return compareStarts(g.place(i), g.place(j)) })
	}
	for i := 0; i < g.len(); {
		j := i + 1
		for j < g.len() && g.at(j).track == g.at(i).track && g.at(j).starts() == g.at(i).starts() {
			j++
		}
		if j-i > 1 && g.at(i).starts() {
			mergeByPlace(g, g.order[i:j])
		}
		i = j
	}
}

// endsFirst moves ends before all else.
func endsFirst(g *group) {
	others := 0
	for i := range g.len() {
		if g.at(i).Kind() != End {
			others++
		} else if others > 0 {
			slices.SortStableFunc(g.order, func(i, j uint32) int { return cmp.Compare(g.place(i).isEnd(), g.place(j).isEnd()) })
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

// mergeByPlace moves things of length 0 and Begins without an End before the Begins that come later in the input,
// as far as no X with a length comes after (chrome-json.md 8: after every longer X, otherwise at their place).
// order holds the starts of one track and timestamp: those with a length, longest first, then the others.
func mergeByPlace(g *group, order []uint32) {
	split := 0
	for split < len(order) && g.place(order[split]).rank() == 1 {
		split++
	}
	if split == len(order) {
		return
	}
	split += callsByPlace(g, order, split)
	openBehindX(g, order[split:])
	lastX := split
	for lastX > 0 && !g.place(order[lastX-1]).goesFirst() {
		lastX--
	}
	mergeByEvent(g, order[lastX:], split-lastX)
}

// callsByPlace moves calls of length 0 before the calls that were made after them, with which they have nothing to do, as far as no
// slice of the input comes after. It returns how many there are; they are the first of what has no length.
func callsByPlace(g *group, order []uint32, split int) (calls int) {
	for split+calls < len(order) && g.place(order[split+calls]).flags&flagDerived != 0 {
		calls++
	}
	first := split
	for calls > 0 && first > 0 && g.place(order[first-1]).flags&flagDerived != 0 {
		first--
	}
	mergeByEvent(g, order[first:split+calls], split-first)
	return calls
}

// mergeByEvent merges what is before and what is from a split on by the places in the input.
func mergeByEvent(g *group, order []uint32, split int) {
	if split == 0 || split == len(order) {
		return
	}
	long, short := slices.Clone(order[:split]), slices.Clone(order[split:])
	out := order[:0]
	for len(long) > 0 && len(short) > 0 {
		if g.place(short[0]).event < g.place(long[0]).event {
			out, short = append(out, short[0]), short[1:]
		} else {
			out, long = append(out, long[0]), long[1:]
		}
	}
	copy(order[len(out):], append(long, short...))
}

// goesFirst reports whether the record is an X: a slice that came as one event and whose place is not its own.
func (r *record) goesFirst() bool { return r.Kind() == Slice && r.flags&flagInOrder == 0 }

// openBehindX moves begins without end after the last X among short, which are in the order of the input
// (chrome-json.md 8: after every X).
func openBehindX(g *group, short []uint32) {
	last := len(short) - 1
	for last >= 0 && !g.place(short[last]).goesFirst() {
		last--
	}
	if last < 0 {
		return
	}
	slices.SortStableFunc(short[:last+1], func(i, j uint32) int {
		return cmp.Compare(open(g.place(i)), open(g.place(j)))
	})
}

func open(r *record) int {
	if r.Kind() == Begin && r.dur == NoTime {
		return 1
	}
	return 0
}

// place finds the lane of a slice or instant.
func (n *nester) place(r *record, ordinal uint64) {
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
		end = n.withoutEnd(r, l)
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
		l.long = len(n.t.longTasks.list)
	} else if l.long != 0 && r.Kind() != Instant && r.lane == 0 && r.dur != NoTime {
		l.long = n.t.longTasks.partOf(l.long, r)
	}
	l.follow(r)
	if end > r.ts {
		l.lanes[r.lane].Push(end).set(r, ordinal)
	}
	if end != noEnd {
		n.t.totals.End = max(n.t.totals.End, end)
	}
}

// withoutEnd finds and counts where a Begin without an End ends: with the slice around it, where the matcher found that the next
// task begins, or never.
func (n *nester) withoutEnd(r *record, l *lanes) (end Nanos) {
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

// sweep forgets tracks on which nothing is open, each time their number has doubled: most asynchronous ids are used
// once.
func (n *nester) sweep(now Nanos) {
	if len(n.live) < n.sweepAt {
		return
	}
	kept := n.live[:0]
	for _, id := range n.live {
		l := n.tracks[id]
		open := l.now == now && len(l.instants) > 0
		for i := range l.lanes {
			l.lanes[i].Close(now)
			open = open || l.lanes[i].Len() > 0
		}
		if open {
			kept = append(kept, id)
			continue
		}
		n.tracks[id] = nil
		if len(l.lanes) == 1 {
			n.spare = append(n.spare, l)
		}
	}
	n.live = kept
	n.sweepAt = max(2*len(kept), 1<<12)
}

func (n *nester) newLanes() *lanes {
	if i := len(n.spare); i > 0 {
		l := n.spare[i-1]
		n.spare = n.spare[:i-1]
		l.now, l.instants = NoTime, l.instants[:0]
		return l
	}
	return &lanes{lanes: make([]lane, 1), free: collections.NewHeap((*freeLane).before), now: NoTime}
}

// maxLanesTried bounds the search for a lane that is in use and has room.
const maxLanesTried = 64

// find returns the first lane in which the interval nests properly, and makes one if there is none. Beyond
// maxLanesTried it tries the lane that was used last, and then takes the one that has been free for longest, so that
// the search stays short for any number of lanes.
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
		end++ // until then the lane is not free for others
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

// fits reports whether something nests in what is on a lane.
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

// instantsOn returns the number of instants on a lane in which a further one of the same time would nest.
func (l *lanes) instantsOn(lane int) int {
	if lane >= len(l.instants) {
		return 0
	}
	return int(l.instants[lane])
}

// follow notes what has come after the instants of a lane: one more, or a slice, in which they are not.
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

// freeLane is a lane and the time at which its last slice ends.
type freeLane struct {
	end  Nanos
	lane uint32
}

func (a *freeLane) before(b *freeLane) bool {
	return a.end < b.end || a.end == b.end && a.lane < b.lane
}

// takeFree returns the lane that is free since longest at the given time.
func (l *lanes) takeFree(now Nanos) (uint32, bool) {
	if l.free.Len() == 0 || l.free.Top().end > now {
		return 0, false
	}
	i := l.free.Pop().lane
	l.lanes[i].Close(now)
	return i, true
}
