package report

import (
	"math"

	"github.com/weft-trace/weft/internal/timeline"
)

// layoutReader counts the layout slices of a timeline as they begin and end.
type layoutReader struct {
	tl     *timeline.Timeline
	out    *Layout
	events map[string]phaseEvent
	wanted *timeline.ArgSelection
	known  []bool        // by NameID: the name is already in phases
	phases []*phaseEvent // by NameID

	threads []*layoutThread        // by TrackID; tracks of one thread share an entry
	last    []timeline.Nanos       // by TrackID: time of the last slice start, instant or sample
	open    map[uint64]*openLayout // by ordinal
	pending map[pendingKey]*pendingStart
}

// layoutThread is the state of one thread.
type layoutThread struct {
	id    timeline.TrackID
	top   *openLayout    // the open slice that began last
	since timeline.Nanos // the time of top is counted up to here
	spans map[*layoutCell]*layoutSpan

	// innermost is the first slice that ended at endedAt; neverEnded is the first of these slices without an end of its own.
	innermost, neverEnded *openLayout
	endedAt               timeline.Nanos
}

// openLayout is a layout slice that has not ended.
type openLayout struct {
	layoutStart
	thread       *layoutThread
	below, above *openLayout // the open slices that began before and after it, on any track of the thread; they need not nest
	ts, dur      timeline.Nanos
	cell         *layoutCell // nil: not counted
}

// layoutSpan is a period in which slices of one context and phase are open on a thread.
type layoutSpan struct {
	depth int
	since timeline.Nanos
}

// pendingKey is the key under which ByDTrace remembers a start.
type pendingKey struct {
	thread   timeline.TrackID
	provider string
	layoutKey
}

// pendingStart is the start that ByDTrace remembers.
type pendingStart struct {
	start
	before  start          // the start that was remembered until the time given by changed
	changed timeline.Nanos // when start was set
	ending  bool           // a slice that began at this time ends later
}

// start is the time of a start; 0 means no start, as in the script.
type start struct {
	at   timeline.Nanos
	cell *layoutCell
}

// Limits on what may be open at the same time: starts that wait for an end, and slices.
const (
	maxPending = 1 << 18
	maxOpen    = 1 << 18
)

func newLayoutReader(tl *timeline.Timeline, opts LayoutOptions) *layoutReader {
	c := &layoutReader{
		tl: tl, events: opts.events(),
		out:     &Layout{cells: map[layoutKey]*layoutCell{}, counts: map[layoutCountKey]int64{}, nesting: map[[2]string]int64{}},
		known:   make([]bool, tl.NameCount()+1),
		phases:  make([]*phaseEvent, tl.NameCount()+1),
		threads: make([]*layoutThread, tl.TrackCount()),
		last:    make([]timeline.Nanos, tl.TrackCount()),
		open:    map[uint64]*openLayout{},
		pending: map[pendingKey]*pendingStart{},
	}
	c.wanted = tl.SelectArgs(func(name string) bool {
		switch name {
		case "data", "beginData", "frame", "innerWindowID", "type", timeline.OwnArgs, "marker":
			return true
		}
		return false
	})
	return c
}

// thread returns the thread that a track belongs to.
func (c *layoutReader) thread(id timeline.TrackID) *layoutThread {
	if c.threads[id] == nil {
		of := c.threadTrack(id)
		if c.threads[of] == nil {
			c.threads[of] = &layoutThread{id: of, spans: map[*layoutCell]*layoutSpan{}, endedAt: math.MinInt64}
		}
		c.threads[id] = c.threads[of]
	}
	return c.threads[id]
}

// threadTrack returns the track of the thread that a track belongs to; a track without a thread counts as its own
// thread.
func (c *layoutReader) threadTrack(id timeline.TrackID) timeline.TrackID {
	for up := id; up != 0; up = c.tl.TrackParent(up) {
		if c.tl.TrackKind(up) == timeline.ThreadTrack {
			return up
		}
	}
	return id
}

func (c *layoutReader) item(it *timeline.Item) error {
	if c.tl.Role(it.Track) == timeline.RoleInput {
		return nil // the slices of the more detailed recorder count
	}
	if it.Kind != timeline.ItemEnd {
		c.last[it.Track] = it.TS
	}
	switch it.Kind {
	case timeline.ItemBegin:
		if s, ok := c.start(it); ok {
			c.begin(&s, it)
		}
	case timeline.ItemInstant:
		if p, ok := readProbe(c.tl, it.Args, isLayoutEnd); ok && p.flags&flagEndWithoutStart != 0 {
			s := p.layoutStart()
			c.out.Probes = true
			c.out.UnmatchedEnds++
			c.unmatchedEnd(&s, c.thread(it.Track).id, it.TS)
		}
	case timeline.ItemEnd:
		if o := c.open[it.Ordinal]; o != nil {
			delete(c.open, it.Ordinal)
			c.end(o, it.TS)
		}
	}
	return nil
}

func isLayoutStart(name string) bool { return name == "layout-start" }
func isLayoutEnd(name string) bool   { return name == "layout-end" || name == "layout-done" }

// start returns the layout data of a slice that begins. It returns false if the slice is not a layout phase.
func (c *layoutReader) start(it *timeline.Item) (layoutStart, bool) {
	if p, ok := readProbe(c.tl, it.Args, isLayoutStart); ok {
		c.out.Probes = true
		return p.layoutStart(), true
	}
	if e, name := c.phaseOf(it); e != nil {
		s, ok := c.eventStart(e, name, it)
		s.end = s.key
		return s, ok
	}
	return layoutStart{}, false
}

// begin handles the start of a layout slice.
func (c *layoutReader) begin(s *layoutStart, it *timeline.Item) {
	if len(c.open) >= maxOpen {
		c.out.Uncounted++
		return
	}
	th := c.thread(it.Track)
	if it.Dur == timeline.NoTime {
		s.missing |= flagNeverEnded
	}
	if s.missing != 0 {
		c.out.UnbalancedStarts++
	}
	o := &openLayout{layoutStart: *s, thread: th, ts: it.TS, dur: it.Dur, cell: c.out.count(s)}
	if o.cell == nil {
		o.key, o.layoutStart.end = layoutKey{}, layoutKey{} // releases texts of any length
	} else {
		c.remember(o, it.TS)
	}
	if around := th.around(o); around != nil && o.cell != nil && around.cell != nil {
		c.out.addNesting(around.key.phase, o.key.phase)
	}
	th.charge(it.TS)
	if th.top != nil {
		o.below, th.top.above = th.top, o
	}
	th.top = o
	th.enter(o, it.TS)
	c.open[it.Ordinal] = o
}

// maxAround bounds the search for the slice around another slice, among the slices that overlap the inner one.
const maxAround = 512

// around returns the innermost layout slice around a slice that begins now.
func (th *layoutThread) around(o *openLayout) *openLayout {
	if o.dur == 0 && o.missing != 0 && th.endedAt == o.ts {
		// The slice that has just ended closed o at the same time, so o lies inside that slice.
		closer := th.innermost
		if o.missing&flagNeverEnded != 0 {
			closer = th.neverEnded
		}
		if closer != nil {
			return closer
		}
	}
	end := o.finish()
	around := th.top
	for range maxAround {
		if around == nil || around.finish() >= end {
			break
		}
		around = around.below
	}
	if around != nil && around.finish() < end {
		return nil
	}
	return around
}

// finish returns the end of a slice; the far future if it never ends.
func (o *openLayout) finish() timeline.Nanos {
	if o.dur == timeline.NoTime {
		return math.MaxInt64
	}
	return o.ts + min(o.dur, math.MaxInt64-max(o.ts, 0))
}

// charge adds the time up to now to the innermost slice.
func (th *layoutThread) charge(now timeline.Nanos) {
	if th.top != nil && th.top.cell != nil {
		sum(&th.top.cell.exclusive, now-th.since)
	}
	th.since = now
}

// enter handles the start of a slice: it increments the count of open slices with the same context and phase.
func (th *layoutThread) enter(o *openLayout, now timeline.Nanos) {
	if o.cell == nil {
		return
	}
	span := th.spans[o.cell]
	if span == nil {
		span = &layoutSpan{since: now}
		th.spans[o.cell] = span
	}
	span.depth++
}

// leave handles the end of a slice: it decrements the count that enter has incremented. When the count reaches 0, leave adds the
// time since the first of these slices began.
func (th *layoutThread) leave(o *openLayout, now timeline.Nanos) {
	if o.cell == nil {
		return
	}
	span := th.spans[o.cell]
	if span.depth--; span.depth == 0 {
		sum(&o.cell.inclusive, now-span.since)
		delete(th.spans, o.cell)
	}
}

func (c *layoutReader) end(o *openLayout, now timeline.Nanos) {
	th := o.thread
	th.charge(now)
	th.leave(o, now)
	if o.above != nil {
		o.above.below = o.below
	} else {
		th.top = o.below
	}
	if o.below != nil {
		o.below.above = o.above
	}
	o.above, o.below = nil, nil
	th.note(o, now)
	if o.missing != 0 || o.cell == nil {
		return
	}
	o.cell.ended++
	sum(&o.cell.total, o.dur)
	o.cell.max = max(o.cell.max, o.dur)
	c.use(pendingKey{th.id, o.provider, o.layoutStart.end}, now)
}

// note remembers a slice that has ended, for slices that start at the time of its end.
func (th *layoutThread) note(o *openLayout, now timeline.Nanos) {
	if th.endedAt != now {
		th.innermost, th.neverEnded, th.endedAt = o, nil, now
	}
	if th.neverEnded == nil && o.missing&flagNeverEnded != 0 {
		th.neverEnded = o
	}
}

// finish ends the slices that never end: their time extends to the last event of their thread, after which nothing is
// known. Viewers draw them up to the end of the trace, which may be long after the end of the process.
func (c *layoutReader) finish() {
	ends := map[*layoutThread]timeline.Nanos{}
	for id, last := range c.last {
		if th := c.threads[c.threadTrack(timeline.TrackID(id))]; th != nil && th.top != nil {
			ends[th] = max(ends[th], last, th.since)
		}
	}
	for th, end := range ends {
		for th.top != nil {
			c.end(th.top, end)
		}
	}
}

// remember does what the script does at a start: it replaces the previous start.
func (c *layoutReader) remember(o *openLayout, now timeline.Nanos) {
	key := pendingKey{o.thread.id, o.provider, o.key}
	p := c.pending[key]
	if p == nil {
		if len(c.pending) >= maxPending {
			c.out.Uncounted++
			return
		}
		p = &pendingStart{changed: math.MinInt64}
		c.pending[key] = p
	}
	if p.changed != now {
		p.before, p.changed, p.ending = p.start, now, false
	}
	p.start = start{now, o.cell}
	p.ending = p.ending || o.dur != 0
}

// use does what the script does at an end: it uses up the remembered start.
func (c *layoutReader) use(key pendingKey, now timeline.Nanos) {
	if p := c.pending[key]; p != nil {
		p.start.count(now)
		if p.changed != now || !p.ending {
			delete(c.pending, key)
		}
	}
}

// unmatchedEnd is like use, but for an end without a start in its slice, such as the end of an interval that crosses other
// intervals.
func (c *layoutReader) unmatchedEnd(s *layoutStart, thread timeline.TrackID, now timeline.Nanos) {
	key := pendingKey{thread, s.provider, s.key}
	if p := c.pending[key]; p != nil && p.changed == now && p.ending {
		p.before.count(now) // the end came before the start at the same time, so it does not end that start
		return
	}
	c.use(key, now)
}

// count counts an interval, rounded down to microseconds.
func (s *start) count(now timeline.Nanos) {
	if s.at != 0 && s.cell != nil {
		s.cell.intervals++
		sum(&s.cell.micros, int64((now-s.at)/timeline.Microsecond))
	}
	*s = start{}
}

// sum adds n to a number without overflow; a negative n counts as 0.
func sum[N ~int64](to *N, n N) { *to += min(max(n, 0), math.MaxInt64-*to) }
