package flowbind

import (
	"slices"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

const (
	// maxLinked is how many events one key may link, apart from those that refer to the span that it names: more have something in common
	// that says nothing of them.
	maxLinked = 64
	// maxHeld is how many events with one key are looked at together. Any number of them may refer to one span.
	maxHeld = 1 << 14
)

// links are the events that carry one key, in the order of time.
type links struct {
	held    []end // not handled yet
	own     int   // events that do not refer to another one
	input   uint32
	several bool // the events are of several inputs

	known   bool   // there is a sender
	sender  end    // the last event that does not refer to another one: it leads to those that do
	from    Slice  // what leads to the next such event: the sender, or what was done for it
	referer uint64 // 1 + ordinal of the last event that refers; 0: none
}

// refers reports whether an event refers to the span that the key names, as its children do.
func (e *end) refers() bool { return e.role != timeline.FlowContinue }

// linkEnd takes the next event with the current key.
func (l *linker) linkEnd(e *end) {
	k := &l.links
	if len(k.held) == 0 && k.own == 0 {
		k.input = e.input
	}
	k.several = k.several || k.input != e.input
	if !e.refers() {
		k.own++
	}
	if k.own <= maxLinked {
		k.held = append(k.held, *e)
	}
	if len(k.held) == maxHeld {
		l.drawLinks()
	}
}

// finishLink ends the flow of the events that carry one key.
func (l *linker) finishLink() {
	if k := &l.links; k.own > maxLinked {
		l.count(problem.LinkAmbiguous, &k.held[0])
	} else {
		l.drawLinks()
	}
	if l.state != none {
		l.visitor.End(false)
		l.endChain()
		l.state = none
	}
	l.links = links{held: l.links.held[:0]}
}

// drawLinks makes a flow of the events that are held, if they are of several inputs: request, work and response are one chain. Of several
// events that refer to one span, each has an arrow from it.
func (l *linker) drawLinks() {
	k := &l.links
	first := -1 // the sender of events that refer to it and begin earlier, because clocks differ
	if !k.known {
		first = slices.IndexFunc(k.held, func(e end) bool { return !e.refers() })
	}
	if first >= 0 {
		k.known, k.sender, k.from = true, k.held[first], k.held[first].slice
	}
	for i := range k.held {
		switch e := &k.held[i]; {
		case !k.known:
			l.unknown(e)
		case e.refers():
			l.refer(e, e.role == timeline.FlowServe && i > first && i+1 < len(k.held) && !k.held[i+1].refers())
		case k.several && e.slice.Ordinal != k.sender.slice.Ordinal: // an event may carry its key twice
			l.lead(k.from, e, true)
			fallthrough
		default:
			k.sender, k.from = *e, e.slice
		}
	}
	k.held = k.held[:0]
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

// lead draws an arrow; on says that others follow from where it leads.
func (l *linker) lead(from Slice, e *end, on bool) {
	k := &l.links
	if l.state == none {
		l.begin(&k.sender)
		l.steps.step(&k.sender, none)
	}
	l.producer = from
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
