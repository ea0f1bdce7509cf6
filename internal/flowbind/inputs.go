package flowbind

import (
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// maxLinked limits the number of events that one key can identify: a key that more events have does not identify anything. Any
// number of events may refer to the same span.
const maxLinked = 64

// links holds the events with one key: first its own events, which the key identifies, and then references to the key, both in
// time order (compareEnds). Arrows are drawn in time order, each as soon as the next event is known.
type links struct {
	own       []end
	ambiguous bool // there are more than maxLinked own events
	several   bool // the events so far come from several inputs
	reference end  // the last reference, whose arrow has not been drawn
	waiting   bool // there is such a reference

	drawn   int    // number of own events whose arrows have been drawn
	sender  end    // the last own event, from which arrows lead to references
	from    Slice  // start of the arrow to the next own event: the sender, or the work done for the sender
	referer uint64 // 1 + ordinal of the last reference; 0: none
}

// refers reports whether an event refers to the span identified by the key, as the span's children do.
func (e *end) refers() bool { return e.role != timeline.FlowContinue }

// linkEnd processes the next event with the current key.
func (l *linker) linkEnd(e *end) {
	switch k := &l.links; {
	case k.ambiguous:
	case len(k.own) == 0 && e.refers():
		l.unknown(e)
	case e.refers():
		k.several = k.several || e.input != k.own[0].input
		l.drawReference(e)
		k.reference, k.waiting = *e, true
	case len(k.own) == maxLinked:
		k.ambiguous = true
		l.count(problem.LinkAmbiguous, &k.own[0])
	default:
		k.own = append(k.own, *e)
		k.several = k.several || e.input != k.own[0].input
	}
}

// finishLink ends the flow of the events with one key.
func (l *linker) finishLink() {
	if k := &l.links; !k.ambiguous {
		l.drawReference(nil)
		l.drawOwn(nil)
	}
	if l.state != none {
		l.visitor.End(false)
		l.endChain()
		l.state = none
	}
	l.links = links{own: l.links.own[:0]}
}

// drawOwn draws the arrows to the own events before the given event, or to all own events if the given event is nil. Events from
// several inputs form one chain of request, work and response. Within one input, the input's reader draws the arrows.
func (l *linker) drawOwn(before *end) {
	k := &l.links
	if !k.several {
		return
	}
	for ; k.drawn < len(k.own) && (before == nil || compareTimes(&k.own[k.drawn], before) < 0); k.drawn++ {
		e := &k.own[k.drawn]
		if k.drawn > 0 && e.slice.Ordinal != k.sender.slice.Ordinal { // an event may contain its key twice
			l.lead(k.from, e, true)
		}
		k.sender, k.from = *e, e.slice
	}
}

// drawReference draws the arrow from the span to the waiting reference; the parameter next is the following reference, or nil.
// Every reference to a span has its own arrow.
func (l *linker) drawReference(next *end) {
	k := &l.links
	if !k.waiting || !k.several {
		return
	}
	e := &k.reference
	l.drawOwn(e)
	if k.drawn == 0 { // clocks differ
		k.sender, k.from = k.own[0], k.own[0].slice
	}
	answered := k.drawn > 0 && k.drawn < len(k.own) && (next == nil || compareTimes(&k.own[k.drawn], next) < 0)
	l.refer(e, answered && e.role == timeline.FlowServe)
}

// refer draws the arrow from the sender to a reference. It draws nothing if both are in the same input, because the reader of the
// input draws that arrow, or if the last arrow leads to the same event. If answered is set, the arrow to the next own event
// starts at the reference.
func (l *linker) refer(e *end, answered bool) {
	k := &l.links
	if e.input == k.sender.input || e.slice.Ordinal+1 == k.referer { // a span can be both parent and link of the event
		return
	}
	k.referer = e.slice.Ordinal + 1
	l.lead(k.sender.slice, e, answered)
	if answered {
		k.from = e.slice
	}
}

// lead draws an arrow from a slice to the slice of e. If on is set, the flow continues from e.
func (l *linker) lead(from Slice, e *end, on bool) {
	k := &l.links
	if l.state == none {
		l.begin(&k.sender)
		l.steps.step(&k.sender, none)
	}
	l.producer, l.sent = from, passed{event: from.Event}
	l.arrow(e)
	if e.ts >= k.sender.ts { // otherwise, there is nothing to propagate yet
		step := *e
		if step.role = timeline.FlowEnd; on {
			step.role = timeline.FlowContinue
		}
		l.steps.step(&step, open)
	}
}

// unknown counts a reference to a span that is not in any input.
func (l *linker) unknown(e *end) {
	if e.role == timeline.FlowReference {
		l.count(problem.SpanLinkUnknown, e)
	} else {
		l.count(problem.SpanParentUnknown, e)
	}
}
