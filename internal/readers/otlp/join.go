package otlp

import (
	"cmp"
	"context"
	"errors"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// mention is a span, or a reference to one, under the key of the span.
type mention struct {
	spanKey
	kind    mentionKind
	event   uint32 // of the span that it is, or that refers
	number  uint32 // of this span
	track   timeline.TrackID
	process timeline.TrackID
	linked  bool // of a parent: emitter.link has said so
	ts      timeline.Nanos
	offset  int64
}

// mentionKind says what a mention is. Spans come before the references to them.
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
	// Ids of spans differ more than those of traces. They are random in all bits, of which a few leave room for a place in the order.
	Key: func(m *mention) uint64 { return m.id >> 28 },
}

// joiner finds the spans that others refer to, and draws arrows.
type joiner struct {
	c        *collector
	mentions *extsort.Sorter[mention]
	ancestry ancestry
	flows    uint64

	spans []mention // of the current key
	out   timeline.FlowEvent
}

// maxTwins bounds the spans with one key that are remembered.
const maxTwins = 64

func newJoiner(c *collector) *joiner {
	memory := c.opts.Budget(8)
	return &joiner{
		c: c, mentions: extsort.New(mentionOrder, memory, c.opts.TempDir), ancestry: ancestry{limit: int(memory / 8)},
	}
}

// run draws the arrows to all that refers to another span.
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
			break
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
	j.ancestry.countCycles(j.c.log)
	return nil
}

// span remembers a span for the references to it.
func (j *joiner) span(m *mention) {
	if len(j.spans) > 0 {
		j.c.log.Add(problem.SpanIDDuplicate, at(m.offset), "")
	}
	if len(j.spans) < maxTwins {
		j.spans = append(j.spans, *m)
	}
}

// refer draws the arrow from the span that m refers to.
func (j *joiner) refer(m *mention) error {
	to := j.find(m)
	switch {
	case to == nil:
		return j.outside(m)
	case m.kind == isParent:
		j.ancestry.set(m, to.number)
	}
	return j.arrow(to, m)
}

// find returns the span that m refers to: of several with its key the first in the process of m, else the first, but never m
// itself; nil if there is none.
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

// arrow draws an arrow between two spans. Perfetto's arrows lead from what begins first to what begins later.
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

// ancestry finds circles of parents. Spans are numbered in the order of their begins, so a circle has a parent that begins after its
// child; only if there is one is anything looked for.
type ancestry struct {
	parents []uint32 // by number: that of the parent and 1; 0: none
	late    []lateParent
	limit   int // spans that are remembered; circles among further ones are not found
}

// lateParent is a child whose parent begins after it.
type lateParent struct {
	child  uint32
	offset int64
}

// maxLate bounds the children with late parents that are remembered.
const maxLate = 1 << 16

// set notes the parent of a span.
func (a *ancestry) set(child *mention, parent uint32) {
	a.note(child.number, parent)
	if parent >= child.number && len(a.late) < maxLate {
		a.late = append(a.late, lateParent{child.number, child.offset})
	}
}

// note is set for a parent that begins first.
func (a *ancestry) note(child, parent uint32) {
	if int(child) >= a.limit {
		return
	}
	for int(child) >= len(a.parents) {
		a.parents = append(a.parents, 0)
	}
	a.parents[child] = parent + 1
}

// countCycles counts the circles.
func (a *ancestry) countCycles(log *problem.Log) {
	if len(a.late) == 0 {
		return
	}
	seen := make([]uint32, len(a.parents)) // by which walk, counted from 1
	for walk := range a.late {
		number := a.late[walk].child
		for int(number) < len(a.parents) && seen[number] == 0 && a.parents[number] != 0 {
			seen[number] = uint32(walk) + 1
			number = a.parents[number] - 1
		}
		if int(number) < len(a.parents) && seen[number] == uint32(walk)+1 && a.parents[number] != 0 {
			log.Add(problem.SpanParentCycle, at(a.late[walk].offset), "")
		}
	}
}
