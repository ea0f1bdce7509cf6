package otlp

import (
	"fmt"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// Span kinds.
const (
	kindServer   = 2
	kindClient   = 3
	kindProducer = 4
	kindConsumer = 5
)

// linkRole returns the role of a span of the given kind in links by the ids of the span. In other recordings, the spans
// with the same ids are the other side of the span, or its children.
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

// serves reports whether spans of the given kind are the other side of their parents.
func serves(kind uint64) bool { return kind == kindServer || kind == kindConsumer }

// link links the span added last to its possible other side in other inputs: a request with the span's ids or, if the
// span serves a request, with the ids of the span's parent. Other children of spans in other inputs can be linked only
// when all spans have been read (joiner.outside).
func (e *emitter) link(h *head, fields *spanFields) error {
	step := timeline.StepOf(h.start) // for the end too: JavaScript's SDK adds an exact duration to a start in whole milliseconds
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

// outside handles a reference to a span outside the input. Another input of a merge may contain the span. If no input
// contains it, the reference is counted when all inputs have been read.
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

// link returns the key by which other inputs identify a span.
func (k spanKey) link() string {
	return timeline.TraceContextKey(fmt.Sprintf("%016x%016x", k.trace.high, k.trace.low), fmt.Sprintf("%016x", k.id))
}
