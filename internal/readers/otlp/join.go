package otlp

import (
	"cmp"
	"context"
	"errors"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// mention is a span, or a reference to one, sorted by the span's key.
type mention struct {
	spanKey
	kind    mentionKind
	event   uint32 // event of the span, or of the span that refers to it
	track   timeline.TrackID
	process timeline.TrackID
	linked  bool // for a parent: emitter.link added a link
	ts      timeline.Nanos
	offset  int64
}

// mentionKind is the kind of a mention. Spans come before the references to them.
type mentionKind uint32

const (
	isSpan mentionKind = iota
	isParent
	isLink
)

var mentionOrder = extsort.Order[mention]{
	Compare: func(a, b *mention) int {
		return cmp.Or(
			cmp.Compare(a.id, b.id), cmp.Compare(a.trace.high, b.trace.high), cmp.Compare(a.trace.low, b.trace.low),
			cmp.Compare(a.kind, b.kind), cmp.Compare(a.event, b.event),
		)
	},
	// Span ids differ more than trace ids. All their bits are random, so some of them are enough.
	Key: func(m *mention) uint64 { return m.id >> 28 },
}

// joiner resolves references to spans and adds arrows.
type joiner struct {
	c        *collector
	mentions *extsort.Sorter[mention]
	flows    uint64

	spans []mention // spans with the current key
	out   timeline.FlowEvent
}

// maxPerKey limits the number of stored spans with the same key.
const maxPerKey = 64

// run adds the arrows for all references.
func (j *joiner) run(ctx context.Context) error {
	var m mention
	for n := 0; ; n++ {
		if n%(1<<14) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		ok, err := j.mentions.Next(&m)
		if err != nil {
			return err
		}
		if !ok {
			return nil
		}
		if len(j.spans) > 0 && j.spans[0].spanKey != m.spanKey {
			j.spans = j.spans[:0]
		}
		if m.kind == isSpan {
			j.span(&m)
		} else if err := j.refer(&m); err != nil {
			return err
		}
	}
}

// span stores a span for the references to it.
func (j *joiner) span(m *mention) {
	if len(j.spans) > 0 {
		j.c.log.Add(problem.SpanIDDuplicate, at(m.offset), "")
	}
	if len(j.spans) < maxPerKey {
		j.spans = append(j.spans, *m)
	}
}

// refer adds the arrow for a reference.
func (j *joiner) refer(m *mention) error {
	if to := j.find(m); to != nil {
		return j.arrow(to, m)
	}
	return j.outside(m)
}

// find returns the span that m refers to, but never m itself: the first span with the key in the process of m,
// otherwise the first span with the key in any process, or nil.
func (j *joiner) find(m *mention) (found *mention) {
	for i := range j.spans {
		s := &j.spans[i]
		switch {
		case s.event == m.event:
		case s.process == m.process:
			return s
		case found == nil:
			found = s
		}
	}
	return found
}

// arrow adds an arrow between two spans. Perfetto's arrows point forward in time.
func (j *joiner) arrow(from, to *mention) error {
	if to.ts < from.ts || to.ts == from.ts && to.event < from.event {
		j.c.log.Add(problem.FlowBackwards, at(to.offset), "")
		from, to = to, from
	}
	j.flows++
	return errors.Join(j.end(from, timeline.FlowStart), j.end(to, timeline.FlowEnd))
}

func (j *joiner) end(m *mention, role timeline.FlowRole) error {
	j.out = timeline.FlowEvent{
		Space: timeline.FlowNative, Role: role, Binding: timeline.BindCarrier, Track: m.track, Event: m.event, Offset: m.offset,
		TS: m.ts, ID: j.flows,
	}
	return j.c.b.AddFlow(&j.out)
}
