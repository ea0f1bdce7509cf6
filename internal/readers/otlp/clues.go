package otlp

import (
	"fmt"

	"github.com/weft-trace/weft/internal/timeline"
)

// The kinds of spans.
const (
	kindServer   = 2
	kindClient   = 3
	kindProducer = 4
	kindConsumer = 5
)

// linkRoles says what spans do with what their ids name: others of the same ids, in other recordings, are their other sides.
var linkRoles = map[uint64]timeline.LinkRole{
	kindServer: timeline.LinkServe, kindConsumer: timeline.LinkReceive, kindClient: timeline.LinkCall, kindProducer: timeline.LinkSend,
}

// link says that the span that was just added is the other side of what other inputs may have: a request with its ids, or, if it serves
// one, with those of its parent.
func (e *emitter) link(h *head, fields *spanFields) error {
	if !e.b.WantsLinks() || !h.key().isValid() {
		return nil
	}
	l := timeline.Link{
		Key: h.key().link(), Role: linkRoles[fields.kind], Track: e.out.Track, Event: e.out.Event, Offset: h.offset, TS: h.start, Dur: timeline.NoTime,
	}
	if h.end != timeline.NoTime {
		l.Dur = h.end - h.start
	}
	if err := e.b.AddLink(&l); err != nil || h.parent == 0 || fields.kind != kindServer && fields.kind != kindConsumer {
		return err
	}
	l.Key = h.parentKey().link()
	return e.b.AddLink(&l)
}

// link returns the key of a span as other inputs have it.
func (k spanKey) link() string {
	return timeline.TraceContextKey(fmt.Sprintf("%016x%016x", k.trace.high, k.trace.low), fmt.Sprintf("%016x", k.id))
}
