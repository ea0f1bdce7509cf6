package profilecalls

import (
	"errors"
	"math"

	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
)

// Mode says by which rules calls are built.
type Mode uint8

const (
	// DevTools gives the calls that Chrome DevTools shows (profile-calls.md 5).
	DevTools Mode = iota
	// Refined looks ahead: an event is only inside calls that are on the stack in all samples taken during it, and no
	// call begins in a garbage collection (profile-calls.md 7).
	Refined
)

// Event is a slice or instant of the thread.
type Event struct {
	TS, End timeline.Nanos // equal for instants, and for slices that never end
	Class   producers.Class
	// TraceID is the sampleTraceId of the event, 0 if it has none.
	TraceID uint64
	// LegacyInstant marks an instant of the phase I; instants of i and R are not marked.
	LegacyInstant bool
}

// Stats says what became of the samples.
type Stats struct {
	Calls int64

	// A sample of JavaScript is lost if no call of its innermost function is open at its time
	// (profile-calls.md 5). The times are the sums of the times from such samples to the next ones. Where events overlap without nesting,
	// a call may end before a sample that was processed while it was open; such samples are not among the lost ones.
	Samples, LostSamples int64
	Time, LostTime       timeline.Nanos

	// LostPositions are the samples that say where they were taken and are in no call of their function.
	LostPositions int64

	// TooDeep are the samples whose innermost functions make no calls, because their stacks have more than MaxStack frames.
	TooDeep int64
}

// Builder builds the calls of one thread from its events and the samples of its profile. Apart from the profile it keeps
// what is open only.
type Builder struct {
	frames  *Frames
	samples *v8profile.Samples
	mode    Mode
	emit    func(*Call)

	events timeline.OpenSlices[producers.Class]
	locks  []int32 // of open events: how many calls were open when they began; those cannot end before them
	calls  []openCall
	fake   bool // the open calls belong to no event that runs JavaScript

	// now is up to when the open calls last, as far as is known. Every change of the stack sets the end of all open
	// calls, not only of those that it closes (truncate in profile-calls.md 5), so one time serves them all.
	now     timeline.Nanos
	next    int                 // the first sample that was not processed
	seen    v8profile.NodeIndex // the innermost frame of the last sample; for a garbage collection, of the one before
	applied int64               // samples that were processed and have, or change, open calls

	// stack holds the frames of the stack that was compared last, outermost first. Of it, the frames from on up to to
	// are known to be equal to the open calls at the same places, as far as there are such calls. Samples mostly share
	// the greater part of their stacks with the sample before, so that few frames are looked at.
	stack    []v8profile.NodeIndex
	from, to int

	ahead *lookahead // nil but by the refined rules
	call  Call       // what emit gets
	lost  lostTime

	placed *placedSamples // nil if positions are not known
	stats  Stats
}

// openCall is a call that has not ended.
type openCall struct {
	node     v8profile.NodeIndex
	function uint32
	ts       timeline.Nanos
	sample   int
	applied  int64 // value of Builder.applied before its first sample
	order    int64
	placed   int32 // its list of positions, see placedSamples
}

// NewBuilder returns a Builder for a thread. It calls emit for each call when that ends, inner calls before outer ones;
// Call.Order is the order of their creation. The Call is valid during the call of emit only.
func NewBuilder(f *Frames, mode Mode, emit func(*Call)) *Builder {
	return newBuilder(f, f.profile.Samples(), mode, emit)
}

// Beside returns another Builder for the thread, by other rules. Both get the same events at the same time, so they read samples
// together.
func (b *Builder) Beside(mode Mode, emit func(*Call)) *Builder {
	return newBuilder(b.frames, b.samples, mode, emit)
}

func newBuilder(f *Frames, samples *v8profile.Samples, mode Mode, emit func(*Call)) *Builder {
	b := &Builder{
		frames: f, samples: samples, mode: mode, emit: emit, now: math.MinInt64, seen: noStack, lost: newLostTime(f),
		placed: newPlacedSamples(f.profile),
	}
	if mode == Refined {
		b.ahead = newLookahead(f, samples)
	}
	return b
}

// Event adds the next event of the thread. Events come sorted by TS, then by End from late to early, and equal times in the order
// of the trace.
func (b *Builder) Event(ev *Event) {
	if ev.LegacyInstant && ev.TraceID == 0 {
		return
	}
	// A sample at the start of an event counts as inside it, unless the event has no inside.
	b.samplesUntil(ev.TS, ev.End <= ev.TS)
	b.endEvents(ev.TS)
	if b.mode == Refined {
		b.beginRefined(ev)
	} else {
		b.begin(ev)
	}
}

// Finish processes the samples after the last event and ends everything. It returns what became of the samples. The error is one
// of reading them.
func (b *Builder) Finish() (Stats, error) {
	b.samplesUntil(math.MaxInt64, true)
	b.endEvents(math.MaxInt64)
	b.popTo(0)
	b.lost.settle(&b.stats)
	return b.stats, b.err()
}

// err returns the first error of reading samples.
func (b *Builder) err() error {
	if b.ahead != nil {
		return errors.Join(b.samples.Err(), b.ahead.far.Err())
	}
	return b.samples.Err()
}

// samplesUntil processes the samples before a time, and those at that time if at is set.
func (b *Builder) samplesUntil(ts timeline.Nanos, at bool) {
	for n := b.frames.profile.Len(); b.next < n; {
		t := b.samples.Time(b.next)
		if t > ts || t == ts && !at {
			return
		}
		b.endEvents(t)
		b.sample(t)
		b.next++
	}
}

// endEvents ends the innermost events that end at or before a time.
func (b *Builder) endEvents(ts timeline.Nanos) {
	for b.events.Ended(ts) != nil {
		end := b.events.End(b.events.Len() - 1)
		b.events.Pop()
		b.truncate(b.popLock(), end)
	}
}

// begin processes the start of an event by the rules of DevTools.
func (b *Builder) begin(ev *Event) {
	if ev.Class == producers.Task || ev.Class == producers.Microtasks {
		b.locks = b.locks[:0]
		b.truncate(0, ev.TS)
		b.fake = false
	}
	if b.fake {
		b.truncate(b.popLock(), ev.TS)
		b.fake = false
	}
	node, known := v8profile.NoNode, false
	if ev.TraceID != 0 {
		node, known = b.frames.profile.TraceID(ev.TraceID)
	}
	if known {
		b.apply(b.frames.nodes[node].top, ev.TS, -1)
	}
	b.now = ev.TS
	if ev.TraceID != 0 && !b.inInvocation() {
		b.fake = true // step N of profile-calls.md 5
	}
	b.locks = append(b.locks, int32(len(b.calls)))
	*b.events.Push(ev.End) = ev.Class
}

// sample processes the next sample.
func (b *Builder) sample(ts timeline.Nanos) {
	node := b.samples.At(b.next)
	collects := node == b.frames.profile.Collector
	if !collects { // garbage is collected on behalf of what runs (profile-calls.md 5)
		b.seen = b.frames.nodes[node].top
		if b.frames.tooDeep != nil && b.frames.tooDeep[node] {
			b.stats.TooDeep++
		}
	}
	stack := b.seen
	switch {
	case b.mode == Refined:
		b.refinedSample(stack, ts, collects)
	case b.inInvocation() || b.fake:
		b.applySample(stack, ts)
	case len(b.calls) == 0:
		b.fake = true
		b.applySample(stack, ts)
		b.locks = append(b.locks, 0)
	}
	if stack != noStack && !collects {
		b.lost.sample(b, stack, ts)
	} else {
		stack = noStack
	}
	if b.placed != nil {
		if line, column := b.samples.Position(b.next); line != 0 || column != 0 {
			b.place(stack, line, column)
		}
	}
}

// inInvocation reports whether the innermost open event runs JavaScript.
func (b *Builder) inInvocation() bool {
	class := b.events.Innermost()
	return class != nil && class.Invokes()
}

// lock returns how many of the open calls cannot end before the innermost event does.
func (b *Builder) lock() int {
	if len(b.locks) == 0 {
		return 0
	}
	return int(b.locks[len(b.locks)-1])
}

// popLock forgets the innermost lock and returns it, 0 if there is none. There may be less locks than events, because a
// task ends all locks, and more, because a sample outside of all invocations sets one of its own.
func (b *Builder) popLock() int {
	lock := b.lock()
	b.locks = b.locks[:max(0, len(b.locks)-1)]
	return lock
}

// truncate makes all open calls last up to a time, and ends those from depth on which are not locked.
func (b *Builder) truncate(depth int, ts timeline.Nanos) {
	b.now = ts
	b.popTo(max(depth, b.lock()))
}

// popTo ends the calls from depth on.
func (b *Builder) popTo(depth int) {
	for i := len(b.calls) - 1; i >= depth; i-- {
		c := &b.calls[i]
		b.call = Call{
			Node: c.node, TS: c.ts, Dur: max(b.now-c.ts, 0),
			Sample: c.sample, Samples: b.applied - c.applied, Order: c.order,
		}
		if c.placed != 0 {
			b.call.Positions = b.placed.end(c.placed)
		}
		b.lost.end(c.function, c.ts+b.call.Dur)
		b.emit(&b.call)
		b.calls = b.calls[:i]
	}
}

// push opens a call.
func (b *Builder) push(node v8profile.NodeIndex, ts timeline.Nanos, sample int) {
	function := b.frames.nodes[node].function
	b.calls = append(b.calls, openCall{
		node: node, function: function, ts: ts, sample: sample, applied: b.applied, order: b.stats.Calls,
	})
	b.stats.Calls++
	b.lost.begin(function, ts)
}

// applySample makes the open calls match a sample's stack.
func (b *Builder) applySample(stack v8profile.NodeIndex, ts timeline.Nanos) {
	b.apply(stack, ts, b.next)
	if stack != noStack {
		b.applied++
	}
}

// place counts the place of a sample for the innermost open call of its innermost function. That is the last call, unless the
// sample was dropped; if there is none, the place is lost.
func (b *Builder) place(stack v8profile.NodeIndex, line, column int32) {
	for i := len(b.calls) - 1; i >= 0 && stack != noStack; i-- {
		if c := &b.calls[i]; c.function == b.frames.nodes[stack].function {
			c.placed = b.placed.add(c.placed, line, column)
			return
		}
	}
	b.stats.LostPositions++
}

// apply makes the open calls above the lock match a stack.
func (b *Builder) apply(stack v8profile.NodeIndex, ts timeline.Nanos, sample int) {
	b.setStack(stack)
	lock := b.lock()
	equal := b.equalFrom(lock, len(b.stack))
	b.truncate(equal, ts)
	for _, n := range b.stack[min(equal, len(b.stack)):] {
		b.push(n, ts, sample)
	}
	b.from, b.to = lock, len(b.stack)
}

// setStack makes stack the one with the given innermost frame. It walks down from that frame to where the stack is the
// same as the one before.
func (b *Builder) setStack(top v8profile.NodeIndex) {
	height := 0
	if top != noStack {
		height = int(b.frames.nodes[top].height)
	}
	known := len(b.stack)
	for len(b.stack) < height {
		b.stack = append(b.stack, noStack)
	}
	b.stack = b.stack[:height]
	i := height - 1
	for n := top; i >= 0 && (i >= known || b.stack[i] != n); i-- {
		b.stack[i] = n
		n = b.frames.nodes[n].up
	}
	b.to = min(b.to, i+1)
}

// equalFrom returns the end of the frames from i on, and before the given limit, that are equal to the open calls at
// their places.
func (b *Builder) equalFrom(i, limit int) int {
	limit = min(limit, len(b.stack), len(b.calls))
	for i < limit {
		if b.from <= i && i < b.to {
			i = min(b.to, limit)
			continue
		}
		if b.calls[i].function != b.frames.nodes[b.stack[i]].function {
			break
		}
		i++
	}
	return i
}
