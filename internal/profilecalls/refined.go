package profilecalls

import (
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
)

// beginRefined processes the start of an event by the refined rules (profile-calls.md 7).
func (b *Builder) beginRefined(ev *Event) {
	end := ev.End
	if n := b.events.Len(); n > 0 {
		end = min(end, b.events.End(n-1))
	}
	b.now = ev.TS
	class := ev.Class
	if b.collecting() {
		class = producers.Collection
	} else {
		b.callers(ev, end)
	}
	b.locks = append(b.locks, int32(len(b.calls)))
	*b.events.Push(end) = class
}

// collecting reports whether the innermost event is, or lies in, a garbage collection, in which no call begins or ends.
func (b *Builder) collecting() bool {
	class := b.events.Innermost()
	return class != nil && class.Collects()
}

// callers makes the open calls those that an event lies in.
func (b *Builder) callers(ev *Event, end timeline.Nanos) {
	inside := b.ahead.inside(b.next, end)
	if ev.TraceID != 0 {
		if node, known := b.frames.profile.TraceID(ev.TraceID); known {
			top := b.frames.nodes[node].top
			if inside.known {
				top = b.frames.outer(top, b.ahead.shared(top, inside.top))
			}
			b.replace(top, ev.TS, -1)
			return
		}
	}
	switch {
	case inside.known:
		b.callersSeen(ev, end, inside)
	case ev.Class == producers.Task || ev.Class == producers.Microtasks:
		b.truncate(0, ev.TS)
	case !ev.Class.OnStack() && !b.inInvocation() && len(b.calls) > b.lock():
		// Only a next sample with the same functions shows that they run around the event.
		b.keep(b.stackAfter(end), ev.TS)
	}
}

// callersSeen is callers for an event during which samples were taken. What called it is on the stack of all of them.
func (b *Builder) callersSeen(ev *Event, end timeline.Nanos, inside commonStack) {
	if ev.Class == producers.Task {
		b.truncate(0, ev.TS)
		return
	}
	around := inside.top
	calls := ev.Class == producers.Invocation || ev.Class == producers.Microtasks
	if calls && !b.inInvocation() && around != noStack && b.frames.height(around) == b.frames.height(inside.first) {
		around = b.frames.nodes[around].up // the innermost function is what it invoked
	}
	b.keep(around, ev.TS)
	callers := inside.top
	if !ev.Class.Collects() && ev.Class != producers.Engine {
		// What began and ended in it is on the stack of all of them as well; what is still there after it called it.
		if !b.inInvocation() && len(b.calls) == 0 {
			return
		}
		height := b.ahead.shared(inside.top, b.stackAfter(end))
		if ev.Class.Invokes() && height > 0 && height == b.frames.height(inside.first) {
			height-- // it invoked something
		}
		callers = b.frames.outer(inside.top, height)
	}
	if b.frames.height(callers) > len(b.calls) {
		b.replace(callers, ev.TS, inside.sample)
	}
}

// stackAfter returns the stack of the first sample at or after a time if it is in the innermost open event, otherwise noStack.
func (b *Builder) stackAfter(ts timeline.Nanos) v8profile.NodeIndex {
	s, ok := b.ahead.first(b.next, ts)
	if n := b.events.Len(); !ok || n > 0 && b.ahead.far.Time(s) >= b.events.End(n-1) {
		return noStack
	}
	return b.ahead.stack(s)
}

// refinedSample processes a sample by the refined rules.
func (b *Builder) refinedSample(stack v8profile.NodeIndex, ts timeline.Nanos, collects bool) {
	if b.collecting() || collects {
		b.truncate(len(b.calls), ts) // what is open lasts longer
	} else {
		b.replace(stack, ts, b.next)
	}
	if stack != noStack {
		b.applied++
	}
}

// keep ends the calls that are not on a stack, as far as no open event holds them.
func (b *Builder) keep(stack v8profile.NodeIndex, ts timeline.Nanos) {
	b.setStack(stack)
	b.truncate(b.equalFrom(0, len(b.stack)), ts)
}

// replace makes the open calls match a stack, unless an open event holds a call that is not on it.
func (b *Builder) replace(stack v8profile.NodeIndex, ts timeline.Nanos, sample int) {
	b.setStack(stack)
	equal := b.equalFrom(0, len(b.stack))
	b.truncate(equal, ts)
	if len(b.calls) > equal {
		return
	}
	for _, n := range b.stack[equal:] {
		b.push(n, ts, sample)
	}
	b.from, b.to = 0, len(b.stack)
}
