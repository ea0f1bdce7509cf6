package otlp

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/wire"
)

// emitter adds spans to the timeline in order of their start times.
type emitter struct {
	*collector
	ctx   context.Context
	hosts hosts
	join  *joiner

	group      []groupedSpan // the spans with the current start
	buf        []byte        // their payloads
	spans      uint32        // number of spans so far
	events     uint32        // index of the next event
	scopeCache []scope       // by entry, filled on demand

	rows      map[timeline.TrackID]*rows // by process or thread
	onThreads map[processSpan]*rows      // by open span

	requests requests
	failed   []byte // scratch for a name

	args encoder
	out  timeline.Event
}

// groupedSpan is a span in a group of spans with the same start. Its payload is in emitter.buf.
type groupedSpan struct {
	head
	from, to int
}

// maxGroup and maxGroupSize limit the number and total bytes of the spans with the same start that are sorted together;
// beyond these limits, parents may be placed after their children, with arrows from the children.
const (
	maxGroup     = 1 << 14
	maxGroupSize = 16 << 20
)

// emit adds all spans of the collector.
func emit(ctx context.Context, c *collector) (err error) {
	e := &emitter{collector: c, ctx: ctx, rows: map[timeline.TrackID]*rows{}, onThreads: map[processSpan]*rows{}}
	e.join = &joiner{c: c, mentions: extsort.New(mentionOrder, c.opts.Budget(8), c.opts.TempDir)}
	defer func() { err = errors.Join(err, e.join.mentions.Close()) }()
	e.args = encoder{ArgsEncoder: c.b.Args(), log: c.log, keep: c.opts.Args, names: map[string]timeline.KeyID{}}
	e.hosts, e.requests = newHosts(c), newRequests()
	e.scopeCache = make([]scope, len(c.scopes.entries))
	if err := c.spans.Each(e.add); err != nil {
		return err
	}
	if err := e.flush(); err != nil {
		return err
	}
	return e.join.run(ctx)
}

// add adds the next span. Spans with the same start are processed together.
func (e *emitter) add(h *head, payload []byte) error {
	if n := len(e.group); n > 0 && (e.group[0].start != h.start || n == maxGroup || len(e.buf) > maxGroupSize) {
		if err := e.flush(); err != nil {
			return err
		}
	}
	from := len(e.buf)
	e.buf = append(e.buf, payload...)
	w := groupedSpan{*h, from, len(e.buf)}
	w.resource, w.scope = e.resources.refs[h.resource], e.scopes.refs[h.scope]
	e.group = append(e.group, w)
	return nil
}

// flush adds the spans of the group: each span before any span that refers to it as its parent or in a link; otherwise,
// the longest span first.
func (e *emitter) flush() error {
	if e.ctx.Err() != nil {
		return e.ctx.Err()
	}
	if len(e.group) > 1 {
		e.sortGroup()
	}
	for i := range e.group {
		w := &e.group[i]
		if err := e.span(&w.head, e.buf[w.from:w.to]); err != nil {
			return err
		}
	}
	e.group, e.buf = e.group[:0], e.buf[:0]
	if cap(e.buf) > maxKept {
		e.buf = nil
	}
	return nil
}

// maxKept limits the buffer of payloads that is reused for the next group.
const maxKept = 1 << 20

func (h *head) endOrEndless() timeline.Nanos {
	if h.end == timeline.NoTime {
		return endless
	}
	return h.end
}

// sortGroup sorts the group. Arrows lead from earlier to later events, so spans that other spans refer to come first;
// otherwise, the longest spans come first.
func (e *emitter) sortGroup() {
	slices.SortStableFunc(e.group, func(a, b groupedSpan) int { return cmp.Compare(b.endOrEndless(), a.endOrEndless()) })
	byKey := make(map[spanKey]int, len(e.group))
	for i := range e.group {
		if key := e.group[i].key(); key.isValid() {
			byKey[key] = i
		}
	}
	o := ordering{causes: make([][]int, len(e.group)), seen: make([]bool, len(e.group))}
	for i := range e.group {
		o.causes[i] = e.causes(&e.group[i], byKey)
	}
	for i := range e.group {
		o.add(i)
	}
	sorted := make([]groupedSpan, 0, len(e.group))
	for _, i := range o.order {
		sorted = append(sorted, e.group[i])
	}
	copy(e.group, sorted)
}

// causes returns the spans of the group that a span refers to: its parent and the targets of its links.
func (e *emitter) causes(w *groupedSpan, byKey map[spanKey]int) (found []int) {
	add := func(key spanKey) {
		if i, ok := byKey[key]; ok {
			found = append(found, i)
		}
	}
	if w.parent != 0 {
		add(w.parentKey())
	}
	for r := wire.NewReader(e.buf[w.from:w.to]); r.Next(); {
		if r.Tag() == wire.Tag(spanLinks, wire.Len) {
			add(linkKey(r.Bytes()))
		}
	}
	return found
}

// ordering is a stable order in which items come after their causes. In a cycle, an item can come before one of its
// causes.
type ordering struct {
	causes [][]int
	seen   []bool
	stack  []int // each item is a cause of the previous one
	order  []int
}

// add appends an item to the order, after its causes.
func (o *ordering) add(i int) {
	if o.seen[i] {
		return
	}
	o.seen[i] = true
	o.stack = append(o.stack[:0], i)
	for len(o.stack) > 0 {
		top := o.stack[len(o.stack)-1]
		causes := o.causes[top]
		if len(causes) == 0 {
			o.order, o.stack = append(o.order, top), o.stack[:len(o.stack)-1]
			continue
		}
		o.causes[top] = causes[1:]
		if cause := causes[0]; !o.seen[cause] {
			o.seen[cause] = true
			o.stack = append(o.stack, cause)
		}
	}
}

// span adds a span with its events and records its references.
func (e *emitter) span(h *head, encoded []byte) error {
	e.args.at = at(h.offset)
	fields := readSpan(encoded)
	process := e.hosts.process(h)
	rows := e.rowsOf(process, h, &fields)
	track, nested := rows.place(h, e.spans)
	e.spans++
	e.out = timeline.Event{Kind: timeline.Slice, TS: h.start, Dur: h.end - h.start, Track: track, Name: e.name(&fields)}
	if h.end == timeline.NoTime {
		e.out.Kind, e.out.Dur = timeline.Begin, 0
	}
	scope := e.scope(h.scope)
	e.args.request = nil
	if e.requests.begins(h, fields.kind) {
		e.args.request = e.requests.nameOf(e.hosts.identities[h.resource].name(), &fields)
	}
	e.out.Category, e.out.Args = scope.name, e.args.span(&fields, h, scope, e.resourceOf(h))
	event := e.events
	if err := e.emit(h.offset); err != nil {
		return err
	}
	if err := e.link(h, &fields); err != nil {
		return err
	}
	m := mention{event: event, track: track, process: process, ts: h.start, offset: h.offset}
	if err := e.mention(h, &fields, m, nested); err != nil {
		return err
	}
	return e.spanEvents(h, &fields, track, scope)
}

// name returns the name of a span's slice.
func (e *emitter) name(fields *spanFields) []byte {
	name := e.args.text(fields.name)
	if fields.statusCode != statusError {
		return name
	}
	e.failed = append(append(e.failed[:0], timeline.FailedMark...), name...)
	return e.failed
}

func (e *emitter) emit(offset int64) error {
	e.out.Event, e.out.Offset = e.events, offset
	e.events++
	return e.b.Add(&e.out)
}

// mention records a span and its references for the joiner.
func (e *emitter) mention(h *head, fields *spanFields, m mention, nested bool) error {
	var err error
	add := func(key spanKey, kind mentionKind) {
		m.spanKey, m.kind = key, kind
		err = errors.Join(err, e.join.mentions.Add(m))
	}
	if h.key().isValid() {
		add(h.key(), isSpan)
	}
	switch {
	case h.parent == 0:
	case h.parent == h.id:
		e.log.Add(problem.SpanParentCycle, at(h.offset), "a span that is its own parent")
	case !nested:
		m.linked = serves(fields.kind) && h.key().isValid()
		add(h.parentKey(), isParent)
		m.linked = false
	}
	for links := fields.links(); links.Next(); {
		if links.Tag() != wire.Tag(spanLinks, wire.Len) {
			continue
		}
		if key := linkKey(links.Bytes()); key.isValid() {
			add(key, isLink)
		} else {
			e.log.Add(problem.SpanLinkUnknown, at(h.offset), "a link without valid ids")
		}
	}
	return err
}

// spanEvents adds the events of a span as instants.
func (e *emitter) spanEvents(h *head, fields *spanFields, track timeline.TrackID, scope *scope) error {
	for r := wire.NewReader(fields.encoded); r.Next(); {
		if r.Tag() != wire.Tag(spanEvents, wire.Len) {
			continue
		}
		ev := readEvent(r.Bytes())
		ts, ok := timeline.NoTime, false
		if ev.time != timeline.NoTime {
			ts, ok = e.shift(ev.time)
		}
		if !ok {
			e.log.Add(problem.SpanEventWithoutTime, at(h.offset), string(e.args.text(ev.name)))
			ts = h.start
		}
		e.out = timeline.Event{
			Kind: timeline.Instant, TS: ts, Track: track, Name: e.args.text(ev.name), Category: scope.name, Args: e.args.event(&ev, fields.spanID),
		}
		if err := e.emit(h.offset); err != nil {
			return err
		}
	}
	return nil
}

// rowsOf returns the tracks of a span's thread, if the span names one; otherwise the tracks of its parent's thread, if
// the parent is running and ends no earlier; otherwise the tracks of its process.
func (e *emitter) rowsOf(process timeline.TrackID, h *head, fields *spanFields) *rows {
	parent := process
	if key, ok := fields.thread.key(); ok {
		parent = e.b.Thread(process, key)
		e.b.SetThreadName(parent, 0, e.args.text(fields.thread.name))
	} else if r := e.onThreads[processSpan{process, h.parentKey()}]; r != nil && h.parent != 0 && r.holds(h.parentKey(), h) {
		return r
	}
	r := e.rows[parent]
	if r == nil {
		r = newRows(e.b, process, parent, e.onThreads)
		r.description = e.describe(h)
		e.rows[parent] = r
	}
	return r
}
