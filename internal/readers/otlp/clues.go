package otlp

import (
	"fmt"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// The kinds of spans.
const (
	kindServer   = 2
	kindClient   = 3
	kindProducer = 4
	kindConsumer = 5
)

// linkRole returns the role of a span of a kind for the ids in it: spans with the same ids in other recordings are its
// other side or its children.
func linkRole(kind uint64) timeline.LinkRole {
	switch kind {
	case kindServer:
		return timeline.LinkServe
	case kindConsumer:
		return timeline.LinkReceive
	case kindClient:
		return timeline.LinkCall
	}
	return timeline.LinkSend // to its children
}

// serves reports whether spans of a kind are the other side of their parents.
func serves(kind uint64) bool { return kind == kindServer || kind == kindConsumer }

// link records the possible other side, in other inputs, of the span added last: a request with its ids or, if the span
// serves one, with its parent's. Other children of spans in other inputs are known only when all spans are read
// (joiner.outside).
func (e *emitter) link(h *head, fields *spanFields) error {
	step := timeline.StepOf(h.start) // also for the end: JavaScript's SDK adds an exact length to a start in whole milliseconds
	if o := e.b.Observer(); o != nil {
		o.Step(step)
	}
	if !e.b.WantsLinks() || !h.key().isValid() {
		return nil
	}
	l := timeline.Link{
		Key: h.key().link(), Role: linkRole(fields.kind), Track: e.out.Track, Event: e.out.Event, Offset: h.offset, TS: h.start, Dur: timeline.NoTime,
		Step: step,
	}
	if h.end != timeline.NoTime {
		l.Dur = h.end - h.start
	}
	if err := e.b.AddLink(&l); err != nil || h.parent == 0 || !serves(fields.kind) {
		return err
	}
	l.Key, l.To = h.parentKey().link(), timeline.LinkToCaller
	return e.b.AddLink(&l)
}

// outside handles a reference to a span outside the input. Another input of a merge may have it; whether one does is
// counted when all are read.
func (j *joiner) outside(m *mention) error {
	alone := !j.c.b.WantsLinks() || !m.isValid()
	switch {
	case alone && m.kind == isLink:
		j.c.log.Add(problem.SpanLinkUnknown, at(m.offset), "")
		return nil
	case alone:
		j.c.log.Add(problem.SpanParentUnknown, at(m.offset), "")
		return nil
	case m.linked:
		return nil
	}
	l := timeline.Link{
		Key: m.link(), Role: timeline.LinkMember, To: timeline.LinkToParent, Track: m.track, Event: m.event, Offset: m.offset,
		TS: m.ts, Dur: timeline.NoTime,
	}
	if m.kind == isLink {
		l.To = timeline.LinkToLinked
	}
	return j.c.b.AddLink(&l)
}

// link returns the key of a span for other inputs.
func (k spanKey) link() string {
	return timeline.TraceContextKey(fmt.Sprintf("%016x%016x", k.trace.high, k.trace.low), fmt.Sprintf("%016x", k.id))
}
