package profileexport

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
)

// collector adds up the selected part of a timeline.
type collector struct {
	tl   *timeline.Timeline
	opts Options
	p    *Profile

	owners  []timeline.TrackID // by TrackID: the thread of a track's slices or samples; 0: not counted
	threads map[timeline.TrackLane]int
	sampled map[timeline.TrackID]*sampledThread
	sums    map[sumKey]int
}

type sumKey struct {
	thread   int
	stack    StackID
	contexts contextsID
	category timeline.CategoryID
}

// sampledThread is the state of a thread with samples.
type sampledThread struct {
	untimed    bool // some samples have weights that are not times
	last       timeline.Nanos
	gaps       []timeline.Nanos // between samples, until the interval is known
	any        bool
	interval   timeline.Nanos
	pending    sample // the last sample, until the next one
	hasPending bool
}

// sample is a sample of the timeline.
type sample struct {
	sumKey
	ts       timeline.Nanos
	selected bool
	idle     bool // idle samples are omitted
}

// openSlice is a slice that has not ended.
type openSlice struct {
	stack StackID // including the slice
	// timed is the sum to which the time is added: the slice's own or, if the slice has no end, the enclosing slice's.
	timed    sumKey
	selected bool // timed is selected
	hasTime  bool // timed is set
	since    timeline.Nanos

	finite             bool
	contexts           contextsID
	ordinal            uint64
	start, length      timeline.Nanos
	cpuStart, cpuInner timeline.Nanos
	hasCPU             bool
}

func newCollector(p *Profile, opts Options) *collector {
	tl := p.tl
	c := &collector{
		tl: tl, opts: opts, p: p, owners: make([]timeline.TrackID, tl.TrackCount()), threads: map[timeline.TrackLane]int{},
		sampled: map[timeline.TrackID]*sampledThread{}, sums: map[sumKey]int{},
	}
	for id := range timeline.TrackID(tl.TrackCount()) {
		if opts.Selected.Track(id) {
			c.owners[id] = ownerOf(tl, id)
		}
	}
	return c
}

// ownerOf returns the thread whose work a track shows, or the track itself if the producer created the track. It returns 0 if the
// track shows states, intervals or something outside a thread.
func ownerOf(tl *timeline.Timeline, id timeline.TrackID) timeline.TrackID {
	if tl.TrackKind(id) == timeline.ThreadTrack {
		return id
	}
	if tl.TrackKind(id) != timeline.NamedTrack {
		return 0
	}
	switch tl.Role(id) {
	case timeline.NoRole:
		return id
	case timeline.RoleLane, timeline.RoleStream, timeline.RoleCalls, timeline.RoleJSTracer:
		if parent := tl.TrackParent(id); tl.TrackKind(parent) == timeline.ThreadTrack {
			return parent
		}
	}
	return 0
}

// measure determines the interval of samples whose weights are not times.
func (c *collector) measure(ctx context.Context) error {
	nanos := c.tl.SampleDescription().Unit == timeline.SampleUnitNanos
	err := c.tl.Walk(ctx, func(it *timeline.Item) error {
		if it.Kind != timeline.ItemSample || c.owners[it.Track] == 0 {
			return nil
		}
		t := c.sampled[it.Track]
		if t == nil {
			t = &sampledThread{untimed: !nanos}
			c.sampled[it.Track] = t
		}
		t.untimed = t.untimed || !it.Value.IsInt() || len(it.Name) > 0
		if t.untimed && t.any {
			t.gaps = append(t.gaps, it.TS-t.last)
		}
		t.last, t.any = it.TS, true
		return nil
	})
	for _, t := range c.sampled {
		var ok bool
		if t.interval, ok = v8profile.SampleInterval(t.gaps); !ok {
			t.interval = v8profile.DefaultInterval
		}
		t.gaps = nil
	}
	return err
}

// item adds an item of the timeline. The parameter open holds the slices around the item.
func (c *collector) item(it *timeline.Item, open *timeline.OpenSlices[openSlice]) error {
	owner := c.owners[it.Track]
	if owner == 0 {
		return nil
	}
	switch {
	case it.Kind == timeline.ItemBegin && c.opts.Of == Samples:
		return c.setContexts(it, open)
	case it.Kind == timeline.ItemBegin:
		return c.begin(it, owner, open)
	case it.Kind == timeline.ItemEnd && c.opts.Of == Slices:
		return c.end(it, open)
	case it.Kind == timeline.ItemSample && c.opts.Of == Samples:
		return c.sample(it, owner, open)
	}
	return nil
}

// setContexts stores the contexts of a slice for the samples inside it.
func (c *collector) setContexts(it *timeline.Item, open *timeline.OpenSlices[openSlice]) (err error) {
	o := open.Innermost()
	o.ordinal = it.Ordinal
	o.contexts, err = c.p.contexts.find(it.Ordinal)
	return err
}

// sample counts a sample if its weight is a time. Otherwise, it counts the previous sample, whose length is then known.
func (c *collector) sample(it *timeline.Item, owner timeline.TrackID, open *timeline.OpenSlices[openSlice]) error {
	stack, whole := c.p.stacks.sampled(c.tl, it.Callstack)
	if !whole {
		c.p.Folded++
	}
	s := sample{ts: it.TS, sumKey: sumKey{stack: stack, category: it.CategoryID}}
	ordinal := it.Ordinal
	if o := open.Innermost(); o != nil {
		s.contexts, it.Ordinal = o.contexts, o.ordinal
	}
	s.selected = c.opts.Selected.MatchesAnyTime(it)
	it.Ordinal = ordinal
	s.idle = !c.opts.Idle && c.p.stacks.isIdle(stack)
	if s.selected && !s.idle {
		s.thread = c.thread(timeline.TrackLane{Track: owner})
	}
	t := c.sampled[it.Track]
	if !t.untimed {
		return c.add(&s, min(max(timeline.Nanos(it.Value.Int()), 0), math.MaxInt64-it.TS))
	}
	if t.hasPending {
		length, _ := v8profile.SampleLength(s.ts-t.pending.ts, t.interval)
		if err := c.add(&t.pending, length); err != nil {
			return err
		}
	}
	t.pending, t.hasPending = s, true
	return nil
}

// add counts the part of a sample's time that is in the window.
func (c *collector) add(s *sample, length timeline.Nanos) error {
	if !s.selected || !c.opts.Selected.Overlaps(s.ts, length) {
		return nil
	}
	from, to := c.opts.Selected.Clip(s.ts, s.ts+min(length, math.MaxInt64-max(s.ts, 0)))
	if s.idle {
		if from == s.ts {
			c.p.Idle++
		}
		grow(&c.p.IdleTime, to-from)
		return nil
	}
	sum := c.sum(&s.sumKey)
	if from == s.ts {
		sum.Count++
		c.p.Threads[s.thread].Count++
	}
	return c.spend(&s.sumKey, from, to)
}

// begin counts a slice and chooses the sum for its time, after counting the time of the enclosing slice up to its start.
func (c *collector) begin(it *timeline.Item, owner timeline.TrackID, open *timeline.OpenSlices[openSlice]) error {
	o := open.Innermost()
	var enclosing openSlice
	if n := open.Len(); n > 1 {
		outer := open.At(n - 2)
		if err := c.spendOpen(outer, it.TS); err != nil {
			return err
		}
		enclosing = *outer
	}
	frame := c.p.stacks.frame(c.sliceFrame(it))
	stack, whole := c.p.stacks.push(enclosing.stack, frame)
	if !whole || c.p.stacks.frames[frame] == others {
		c.p.Folded++
	}
	contexts, err := c.p.contexts.find(it.Ordinal)
	if err != nil {
		return err
	}
	*o = openSlice{stack: stack, contexts: contexts, since: it.TS, start: it.TS, length: it.Dur, finite: it.Dur != timeline.NoTime && !it.DidNotEnd}
	key := sumKey{stack: stack, contexts: contexts, category: it.CategoryID}
	selected := c.opts.Selected.MatchesAnyTime(it)
	if selected {
		key.thread = c.thread(c.profileAt(it, owner))
		if from, to := c.opts.Selected.Window(); it.TS >= from && it.TS < to {
			c.sum(&key).Count++
			c.p.Threads[key.thread].Count++
		}
	}
	if o.timed, o.selected, o.hasTime = key, selected, true; !o.finite {
		o.timed, o.selected, o.hasTime = enclosing.timed, enclosing.selected, enclosing.hasTime
	}
	o.cpuStart, o.hasCPU = it.ThreadTime.Nanos()
	return nil
}

// profileAt returns the track and lane that identify the profile of a slice. Calls on a separate track repeat the slices of the
// thread, so they have a separate profile; lanes belong to the thread's profile, unless stacks are in time order.
func (c *collector) profileAt(it *timeline.Item, owner timeline.TrackID) timeline.TrackLane {
	switch role := c.tl.Role(it.Track); {
	case c.opts.Ordered:
		return timeline.TrackLane{Track: it.Track, Lane: it.Lane}
	case role == timeline.RoleCalls || role == timeline.RoleJSTracer:
		return timeline.TrackLane{Track: it.Track}
	}
	return timeline.TrackLane{Track: owner}
}

// end counts the time and the CPU time of a slice at its end.
func (c *collector) end(it *timeline.Item, open *timeline.OpenSlices[openSlice]) error {
	o := open.Innermost()
	if o == nil {
		return nil
	}
	if err := c.spendOpen(o, it.TS); err != nil {
		return err
	}
	var enclosing *openSlice
	if n := open.Len(); n > 1 {
		enclosing = open.At(n - 2)
		enclosing.since = it.TS
	}
	c.endCPU(it, o, enclosing)
	return nil
}

// endCPU counts the CPU time of a slice if the whole slice is in the window.
func (c *collector) endCPU(it *timeline.Item, o, enclosing *openSlice) {
	used := o.cpuInner
	if end, ok := it.ThreadTime.Nanos(); ok && o.hasCPU && o.finite && end >= o.cpuStart {
		used = end - o.cpuStart
		from, to := c.opts.Selected.Clip(o.start, it.TS)
		if o.selected && from == o.start && to == it.TS {
			grow(&c.sum(&o.timed).CPU, max(used-o.cpuInner, 0))
			c.p.HasCPU = true
		}
	}
	if enclosing != nil {
		grow(&enclosing.cpuInner, used)
	}
}

// spendOpen counts the time of the innermost slice up to now.
func (c *collector) spendOpen(o *openSlice, now timeline.Nanos) error {
	from := o.since
	o.since = now
	if !o.hasTime || !o.selected {
		return nil
	}
	if from, now = c.opts.Selected.Clip(from, now); from >= now {
		return nil
	}
	return c.spend(&o.timed, from, now)
}

// spend adds a time range to a sum and its thread.
func (c *collector) spend(key *sumKey, from, to timeline.Nanos) error {
	grow(&c.sum(key).Time, to-from)
	t := &c.p.Threads[key.thread]
	if !t.spent {
		t.Start, t.spent = from, true
	}
	t.Start, t.End = min(t.Start, from), max(t.End, to)
	grow(&t.Time, to-from)
	if c.p.pieces == nil {
		return nil
	}
	return c.p.pieces.Add(piece{start: from, length: to - from, thread: int32(key.thread), stack: key.stack, contexts: key.contexts})
}

// grow adds to a sum, saturating at the largest number.
func grow(sum *timeline.Nanos, by timeline.Nanos) { *sum += min(by, math.MaxInt64-max(*sum, 0)) }

// sum returns the sum for a key or, if there are too many sums, the thread's sum for the empty stack.
func (c *collector) sum(key *sumKey) *Sum {
	i, ok := c.sums[*key]
	if ok {
		return &c.p.Sums[i]
	}
	if rest := (sumKey{thread: key.thread}); len(c.p.Sums) >= maxSums && *key != rest {
		c.p.Folded++
		return c.sum(&rest)
	}
	i = len(c.p.Sums)
	c.sums[*key] = i
	c.p.Sums = append(c.p.Sums, Sum{Thread: key.thread, stack: key.stack, contexts: key.contexts, Category: key.category})
	return &c.p.Sums[i]
}

// thread returns the index of the profile for a track and lane.
func (c *collector) thread(at timeline.TrackLane) int {
	if i, ok := c.threads[at]; ok {
		return i
	}
	tr := c.tl.Track(at.Track)
	t := Thread{Name: tr.Title(), TID: tr.InputID}
	for up := tr.Parent; up != 0 && t.Process == ""; up = c.tl.TrackParent(up) {
		switch process := c.tl.Track(up); process.Kind {
		case timeline.ProcessTrack:
			t.Process, t.PID = process.Title(), process.InputID
		case timeline.ThreadTrack:
			t.Name, t.TID = process.Title()+": "+tr.Name, process.InputID
		}
	}
	if at.Lane > 0 {
		t.Name += " (lane " + strconv.FormatUint(uint64(at.Lane), 10) + ")"
	}
	i := len(c.p.Threads)
	c.threads[at] = i
	c.p.Threads = append(c.p.Threads, t)
	return i
}

// frameOf converts a frame of the timeline.
func frameOf(f timeline.Frame) Frame {
	name := f.Function
	switch {
	case name != "":
	case f.Address != 0:
		name = fmt.Sprintf("0x%x", f.Address)
	default:
		name = anonymous
	}
	return Frame{Name: name, File: f.File, Line: max(f.Line, 0), Column: max(f.Column, 0)}
}

// sliceFrame returns the frame for a slice; the arguments of a call contain the position of its function.
func (c *collector) sliceFrame(it *timeline.Item) Frame {
	f := Frame{Name: string(it.Name)}
	for arg := range c.tl.ArgList(it.Args) {
		switch {
		case arg.Kind == timeline.ArgString && string(arg.Key) == "url":
			f.File = string(arg.Text())
		case arg.Kind == timeline.ArgInt && string(arg.Key) == "line":
			f.Line = max(arg.Int(), 0)
		case arg.Kind == timeline.ArgInt && string(arg.Key) == "column":
			f.Column = max(arg.Int(), 0)
		}
	}
	if f.File == "" {
		f.Line, f.Column = 0, 0
	}
	if f.Name == "" {
		f.Name = anonymous
	}
	return f
}

// finish counts the last sample of each thread and sorts the sums.
func (c *collector) finish() error {
	for id := range timeline.TrackID(c.tl.TrackCount()) {
		if t := c.sampled[id]; t != nil && t.hasPending {
			if err := c.add(&t.pending, t.interval); err != nil {
				return err
			}
		}
	}
	c.p.sort()
	return nil
}
