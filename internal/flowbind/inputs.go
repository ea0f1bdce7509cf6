package flowbind

import (
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// maxLinked is how many events one key may link, apart from those that refer to the span that it names: more have something in common that
// says nothing of them. Any number of events may refer to one span.
const maxLinked = 64

// links are the events that carry one key. Those that name it as their own come first, then those that refer to it, both in the order of
// time (compareEnds). They are drawn in the order of time, as soon as it is known what comes next.
type links struct {
	own       []end // events that do not refer to another one
	ambiguous bool  // there are more than maxLinked of them
	several   bool  // the events so far are of several inputs
	reference end   // the last event that refers, which is not drawn yet
	waiting   bool  // there is one

	drawn   int    // of own
	sender  end    // the last event that does not refer to another one: it leads to those that do
	from    Slice  // what leads to the next such event: the sender, or what was done for it
	referer uint64 // 1 + ordinal of the last event that refers; 0: none
}

// refers reports whether an event refers to the span that the key names, as its children do.
func (e *end) refers() bool { return e.role != timeline.FlowContinue }

// linkEnd takes the next event with the current key.
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

// finishLink ends the flow of the events that carry one key.
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

// drawOwn draws the events that do not refer to another one and come before an event, or all of them. If the events are of several inputs,
// they are one chain of request, work and response; the reader of an input shows what is in it alone.
func (l *linker) drawOwn(before *end) {
	k := &l.links
	if !k.several {
		return
	}
	for ; k.drawn < len(k.own) && (before == nil || compareTimes(&k.own[k.drawn], before) < 0); k.drawn++ {
		e := &k.own[k.drawn]
		if k.drawn > 0 && e.slice.Ordinal != k.sender.slice.Ordinal { // an event may carry its key twice
			l.lead(k.from, e, true)
		}
		k.sender, k.from = *e, e.slice
	}
}

// drawReference draws the event that refers to the span and was taken last; next is the one that follows it, if any. Of several events that
// refer to one span, each has an arrow from it.
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

// refer draws the arrow to an event that refers to the sender. The reader of an input shows what is in it alone. If the next event is an
// answer, it comes from the one that refers.
func (l *linker) refer(e *end, answered bool) {
	k := &l.links
	if e.input == k.sender.input || e.slice.Ordinal+1 == k.referer { // it may be the parent and a link
		return
	}
	k.referer = e.slice.Ordinal + 1
	l.lead(k.sender.slice, e, answered)
	if answered {
		k.from = e.slice
	}
}

// lead draws an arrow; on: others follow from where it leads.
func (l *linker) lead(from Slice, e *end, on bool) {
	k := &l.links
	if l.state == none {
		l.begin(&k.sender)
		l.steps.step(&k.sender, none)
	}
	l.producer, l.sent = from, passed{event: from.Event}
	l.arrow(e)
	if e.ts >= k.sender.ts { // else nothing has been handed to the sender by then
		step := *e
		if step.role = timeline.FlowEnd; on {
			step.role = timeline.FlowContinue
		}
		l.steps.step(&step, open)
	}
}

// unknown counts an event that refers to a span which is in no input.
func (l *linker) unknown(e *end) {
	if e.role == timeline.FlowReference {
		l.count(problem.SpanLinkUnknown, e)
	} else {
		l.count(problem.SpanParentUnknown, e)
	}
}
