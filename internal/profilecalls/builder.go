package profilecalls

import (
	"errors"
	"math"

	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
)

// Mode selects the rules for building calls.
type Mode uint8

const (
	// DevTools builds the calls that Chrome DevTools shows (profile-calls.md 5).
	DevTools Mode = iota
	// Refined looks ahead: an event is inside only those calls that are on the stack in all samples taken during it, and no call
	// begins in a garbage collection (profile-calls.md 7).
	Refined
)

// Event is a slice or instant of the thread.
type Event struct {
	TS, End timeline.Nanos // equal for instants, and for slices without an end
	Class   producers.Class
	TraceID uint64 // sampleTraceId; 0: none
	// LegacyInstant is set for an instant with phase I, not i or R.
	LegacyInstant bool
}

// Stats summarizes how samples became calls.
type Stats struct {
	Calls int64

	// A JavaScript sample is lost if no call of its innermost function is open at the time of the sample (profile-calls.md 5).
	// LostTime is the sum of the times from each such sample to the next one. If events overlap without nesting, a call may end
	// before a sample that was processed while the call was open; such samples are not counted as lost.
	Samples, LostSamples int64
	Time, LostTime       timeline.Nanos

	// LostPositions is the number of samples with a position but without an open call of their function.
	LostPositions int64

	// TooDeep is the number of samples whose innermost functions have no call, because their stacks have more than MaxStack frames.
	TooDeep int64
}

// Builder builds the calls of one thread from its events and the samples of its profile. Apart from the profile, it stores only
// open events and calls.
type Builder struct {
	frames  *Frames
	samples *v8profile.Samples
	mode    Mode
	emit    func(*Call)

	events timeline.OpenSlices[producers.Class]
	locks  []int32 // by open event: the number of calls that are open at its start and cannot end before its end
	calls  []openCall
	fake   bool // the open calls belong to no event that runs JavaScript

	// now is the time up to which the open calls are known to last. Every change of the stack sets the end of all open calls, not
	// only of the calls that it closes (truncate in profile-calls.md 5), so one time is enough.
	now     timeline.Nanos
	next    int                 // the first unprocessed sample
	seen    v8profile.NodeIndex // the innermost frame of the last sample; for a garbage collection, of the sample before it
	applied int64               // number of processed samples that have, or change, open calls

	// stack is the stack that was compared last, outermost frame first. Its frames from index from up to, but not including,
	// index to are known to equal the open calls at the same depths, if that many calls are open. Most samples share most of
	// their stack with the previous sample, so few frames must be compared.
	stack    []v8profile.NodeIndex
	from, to int

	ahead *lookahead // nil in DevTools mode
	call  Call       // argument of emit
	lost  lostTime

	positions *openPositions // nil without positions
	stats     Stats
}

// openCall is a call that has not ended.
type openCall struct {
	node      v8profile.NodeIndex
	function  uint32
	ts        timeline.Nanos
	sample    int
	applied   int64 // value of Builder.applied before its first sample
	order     int64
	positions int32 // its list of positions, see openPositions
}

// NewBuilder returns a Builder for a thread. It calls emit at the end of each call, inner calls before outer ones; Call.Order is
// the order of creation. The Call is valid only during the call to emit.
func NewBuilder(f *Frames, mode Mode, emit func(*Call)) *Builder {
	return newBuilder(f, f.profile.Samples(), mode, emit)
}

// Beside returns another Builder for the thread, with a different mode. Both must receive the same events at the same time, as
// they share a sample reader.
func (b *Builder) Beside(mode Mode, emit func(*Call)) *Builder {
	return newBuilder(b.frames, b.samples, mode, emit)
}

func newBuilder(f *Frames, samples *v8profile.Samples, mode Mode, emit func(*Call)) *Builder {
	b := &Builder{
		frames: f, samples: samples, mode: mode, emit: emit, now: math.MinInt64, seen: noStack, lost: newLostTime(f),
		positions: newOpenPositions(f.profile),
	}
	if mode == Refined {
		b.ahead = newLookahead(f, samples)
	}
	return b
}

// Event adds the next event of the thread. Events are sorted by TS, then by descending End, then in trace order.
func (b *Builder) Event(ev *Event) {
	if ev.LegacyInstant && ev.TraceID == 0 {
		return
	}
	// A sample at the start of an event is inside it, unless the event has no length.
	b.samplesUntil(ev.TS, ev.End <= ev.TS)
	b.endEvents(ev.TS)
	if b.mode == Refined {
		b.beginRefined(ev)
	} else {
		b.begin(ev)
	}
}

// Finish processes the samples after the last event and ends all calls. Errors are from reading samples.
func (b *Builder) Finish() (Stats, error) {
	b.samplesUntil(math.MaxInt64, true)
	b.endEvents(math.MaxInt64)
	b.popTo(0)
	b.lost.settle(&b.stats)
	return b.stats, b.err()
}

// err returns the first error from reading samples.
func (b *Builder) err() error {
	if b.ahead != nil {
		return errors.Join(b.samples.Err(), b.ahead.far.Err())
	}
	return b.samples.Err()
}

// samplesUntil processes the samples before a time and, if at is set, the samples at that time.
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

// begin processes the start of an event according to the DevTools rules.
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
	if !collects { // garbage is collected for the running function (profile-calls.md 5)
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
	if b.positions != nil {
		if line, column := b.samples.Position(b.next); line != 0 || column != 0 {
			b.addPosition(stack, line, column)
		}
	}
}

// inInvocation reports whether the innermost open event runs JavaScript.
func (b *Builder) inInvocation() bool {
	class := b.events.Innermost()
	return class != nil && class.Invokes()
}

// lock returns the number of open calls that cannot end before the innermost event.
func (b *Builder) lock() int {
	if len(b.locks) == 0 {
		return 0
	}
	return int(b.locks[len(b.locks)-1])
}

// popLock removes the innermost lock and returns it, or returns 0 if there are no locks. There may be fewer locks than events,
// because a task removes all locks, or more, because a sample outside all invocations adds one.
func (b *Builder) popLock() int {
	lock := b.lock()
	b.locks = b.locks[:max(0, len(b.locks)-1)]
	return lock
}

// truncate extends all open calls to a time, and ends the calls from depth on that are not locked.
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
		if c.positions != 0 {
			b.call.Positions = b.positions.end(c.positions)
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

// addPosition adds the position of a sample to the innermost open call of its innermost function. That is the last call, unless
// the sample was dropped; if there is no such call, the position is lost.
func (b *Builder) addPosition(stack v8profile.NodeIndex, line, column int32) {
	for i := len(b.calls) - 1; i >= 0 && stack != noStack; i-- {
		if c := &b.calls[i]; c.function == b.frames.nodes[stack].function {
			c.positions = b.positions.add(c.positions, line, column)
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

// setStack sets b.stack to the stack with the given innermost frame. It walks down from that frame until the stack is the same as
// the previous stack.
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

// equalFrom returns the end of the range of frames, from i on and below the limit, that equal the open calls at the same
// depths.
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
