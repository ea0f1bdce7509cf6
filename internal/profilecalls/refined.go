package profilecalls

import (
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
)

// beginRefined processes the start of an event according to the refined rules (profile-calls.md 7).
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

// collecting reports whether the innermost event is, or is inside, a garbage collection, where no call begins or ends.
func (b *Builder) collecting() bool {
	class := b.events.Innermost()
	return class != nil && class.Collects()
}

// callers makes the open calls match the calls around an event.
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
		// Only a later sample with the same functions shows that they run around the event.
		b.keep(b.stackAfter(end), ev.TS)
	}
}

// callersSeen is callers for an event with samples inside. Its callers are on the stacks of all these samples.
func (b *Builder) callersSeen(ev *Event, end timeline.Nanos, inside commonStack) {
	if ev.Class == producers.Task {
		b.truncate(0, ev.TS)
		return
	}
	outer := inside.top
	calls := ev.Class == producers.Invocation || ev.Class == producers.Microtasks
	if calls && !b.inInvocation() && outer != noStack && b.frames.height(outer) == b.frames.height(inside.first) {
		outer = b.frames.nodes[outer].up // the event invoked the innermost function
	}
	b.keep(outer, ev.TS)
	callers := inside.top
	if !ev.Class.Collects() && ev.Class != producers.Engine {
		// Functions that began and ended inside the event may be on all these stacks too; only functions that are still on the
		// stack afterwards are its callers.
		if !b.inInvocation() && len(b.calls) == 0 {
			return
		}
		height := b.ahead.shared(inside.top, b.stackAfter(end))
		if ev.Class.Invokes() && height > 0 && height == b.frames.height(inside.first) {
			height-- // the event invoked the innermost function
		}
		callers = b.frames.outer(inside.top, height)
	}
	if b.frames.height(callers) > len(b.calls) {
		b.replace(callers, ev.TS, inside.sample)
	}
}

// stackAfter returns the stack of the first sample at or after a time if that sample is in the innermost open event, otherwise
// noStack.
func (b *Builder) stackAfter(ts timeline.Nanos) v8profile.NodeIndex {
	s, ok := b.ahead.first(b.next, ts)
	if n := b.events.Len(); !ok || n > 0 && b.ahead.far.Time(s) >= b.events.End(n-1) {
		return noStack
	}
	return b.ahead.stack(s)
}

// refinedSample processes a sample according to the refined rules.
func (b *Builder) refinedSample(stack v8profile.NodeIndex, ts timeline.Nanos, collects bool) {
	if b.collecting() || collects {
		b.truncate(len(b.calls), ts) // extend the open calls
	} else {
		b.replace(stack, ts, b.next)
	}
	if stack != noStack {
		b.applied++
	}
}

// keep ends the calls that are not on a stack and not locked by an open event.
func (b *Builder) keep(stack v8profile.NodeIndex, ts timeline.Nanos) {
	b.setStack(stack)
	b.truncate(b.equalFrom(0, len(b.stack)), ts)
}

// replace makes the open calls match a stack, unless an open event locks a call that is not on the stack.
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
