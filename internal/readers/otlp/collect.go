package otlp

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/wire"
)

// collector collects the spans of an input, in any order, and the data that they share.
type collector struct {
	b    *timeline.Builder
	log  *problem.Log
	opts readers.Options

	spans     *readers.Spool[head]
	resources table
	scopes    table
	unknown   map[unknownField]bool // fields that were already counted
	hasSpans  bool                  // the input has a span, or a list of spans
	hasOthers bool                  // the input has other data instead of spans
	failed    error                 // error from spans
	head      head                  // head of the current span
}

// head is the fixed-size part of a span; its other fields are the payload in the spool.
type head struct {
	start, end timeline.Nanos // NoTime: no end
	trace      traceID
	id, parent uint64 // 0: none
	offset     int64  // position in the input
	resource   uint32 // a reference into the table; the index of an entry once spans are emitted
	scope      uint32 // the same for the scope
	flags      headFlags
}

// headFlags are problems with the times of a span.
type headFlags uint32

const (
	startedAtEnd headFlags = 1 << iota
	endedAtStart
)

// traceID is the id of a trace; zero means none.
type traceID struct{ high, low uint64 }

// spanKey identifies a span.
type spanKey struct {
	trace traceID
	id    uint64
}

func (h *head) key() spanKey       { return spanKey{h.trace, h.id} }
func (h *head) parentKey() spanKey { return spanKey{h.trace, h.parent} }

// isValid reports whether the key can be referred to.
func (k spanKey) isValid() bool { return k.id != 0 && k.trace != traceID{} }

var headForm = extsort.FormOf[head]()

func newCollector(b *timeline.Builder, opts readers.Options) *collector {
	return &collector{
		b: b, log: opts.Problems, opts: opts, resources: newTable(opts.Problems), scopes: newTable(opts.Problems),
		unknown: map[unknownField]bool{},
		spans:   readers.NewSpool(opts.SpoolSize(), opts.TempDir, headForm, func(h *head) int64 { return int64(h.start) }),
	}
}

func at(offset int64) problem.Position { return problem.Position{Event: -1, Offset: offset} }

func (c *collector) span(offset int64, resource, scope uint32, encoded []byte) error {
	c.head = head{offset: offset, resource: resource, scope: scope, start: timeline.NoTime, end: timeline.NoTime}
	h := &c.head
	badID := false
	r := wire.NewReader(encoded)
	for r.Next() {
		switch r.Tag() {
		case wire.Tag(spanTraceID, wire.Len):
			h.trace, badID = idOfTrace(r.Bytes()), badID || len(r.Bytes()) != traceIDSize
		case wire.Tag(spanSpanID, wire.Len):
			h.id, badID = idOfSpan(r.Bytes()), badID || len(r.Bytes()) != spanIDSize
		case wire.Tag(spanParentSpanID, wire.Len):
			h.parent = idOfSpan(r.Bytes())
		case wire.Tag(spanStart, wire.Fixed64):
			h.start = nanos(r.Uint())
		case wire.Tag(spanEnd, wire.Fixed64):
			h.end = nanos(r.Uint())
		case wire.Tag(spanEvents, wire.Len):
			c.checkFields("Event", eventMessage, r.Bytes(), offset)
		case wire.Tag(spanLinks, wire.Len):
			c.checkFields("Link", linkMessage, r.Bytes(), offset)
		case wire.Tag(spanStatus, wire.Len):
			c.checkFields("Status", statusMessageType, r.Bytes(), offset)
		default:
			if !spanMessage.hasTag(r.Tag()) {
				c.countUnknown("Span", r.Field(), offset)
			}
		}
	}
	if r.Err() != nil {
		c.log.Add(problem.OTLPMessageMalformed, at(offset+int64(r.Offset())), "in a span")
	}
	if badID || !h.key().isValid() {
		c.log.Add(problem.SpanIDInvalid, at(offset), "")
	}
	if !c.fixTimes(h) {
		return nil
	}
	c.failed = c.spans.Add(h, encoded)
	return c.failed
}

// unknownField is an unknown field of a message, or one with an unexpected type.
type unknownField struct {
	message string
	number  int
}

// checkFields counts the unknown fields of a message.
func (c *collector) checkFields(name string, m *message, encoded []byte, offset int64) {
	for r := wire.NewReader(encoded); r.Next(); {
		if !m.hasTag(r.Tag()) {
			c.countUnknown(name, r.Field(), offset)
		}
	}
}

// maxUnknown limits the number of unknown fields that are counted.
const maxUnknown = 1000

// countUnknown counts an unknown field the first time it occurs.
func (c *collector) countUnknown(message string, number int, offset int64) {
	key := unknownField{message, number}
	if !c.unknown[key] && len(c.unknown) < maxUnknown {
		c.unknown[key] = true
		c.log.Add(problem.EventUnknownMember, at(offset), fmt.Sprintf("field %d of %s", number, message))
	}
}

// nanos converts a time. It returns NoTime for 0, the value of a missing field, and for times out of range.
func nanos(v uint64) timeline.Nanos {
	if v == 0 || v >= math.MaxInt64 {
		return timeline.NoTime
	}
	return timeline.Nanos(v)
}

// fixTimes completes the times of a span and adds Options.Offset. It returns false if the span has no usable
// time.
func (c *collector) fixTimes(h *head) bool {
	switch {
	case h.start == timeline.NoTime && h.end == timeline.NoTime:
		c.log.Add(problem.EventInvalidTimestamp, at(h.offset), "a span without times")
		return false
	case h.start == timeline.NoTime:
		c.log.Add(problem.SpanWithoutStart, at(h.offset), "")
		h.start, h.flags = h.end, startedAtEnd
	case h.end != timeline.NoTime && h.end < h.start:
		c.log.Add(problem.SpanEndsBeforeStart, at(h.offset), "")
		h.end, h.flags = h.start, endedAtStart
	}
	shifted, ok := c.shift(h.start)
	if !ok {
		c.log.Add(problem.EventNegativeTimestamp, at(h.offset), "")
		return false
	}
	if h.end != timeline.NoTime {
		h.end += shifted - h.start
	}
	h.start = shifted
	return true
}

// shift adds Options.Offset to a time. It returns false if the result is out of range.
func (c *collector) shift(ts timeline.Nanos) (timeline.Nanos, bool) {
	const latest = math.MaxInt64 / 2 // so that an end also stays in range: the year 2116
	offset := c.opts.Offset
	if offset == 0 {
		return ts, true
	}
	if ts > latest || offset > latest || offset < -latest {
		return 0, false
	}
	return ts + offset, ts+offset >= 0
}

// idOfTrace decodes a trace id; it returns zero unless b has 16 bytes.
func idOfTrace(b []byte) traceID {
	if len(b) != traceIDSize {
		return traceID{}
	}
	return traceID{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])}
}

// idOfSpan decodes a span id; it returns 0 unless b has 8 bytes.
func idOfSpan(b []byte) uint64 {
	if len(b) != spanIDSize {
		return 0
	}
	return binary.BigEndian.Uint64(b)
}

// table deduplicates encoded resources or scopes, which many spans share. A span refers to an entry through an index
// into refs, because the entry may follow the spans of its list. Entry 0 is for spans whose entry is missing or exceeds
// the limit.
type table struct {
	log     *problem.Log
	entries []entry
	refs    []uint32          // indexes of entries, by reference
	ids     map[string]uint32 // references by encoded entry
	size    int
}

// entry is a resource or scope.
type entry struct {
	encoded []byte
	schemas []string // schema URLs, usually one
}

// Limits of a table.
const (
	maxTableSize = 32 << 20
	entryCost    = 128 // memory of an entry, except its bytes
	refCost      = 4
	maxSchemas   = 16
)

func newTable(log *problem.Log) table {
	return table{log: log, entries: make([]entry, 1), refs: make([]uint32, 1), ids: map[string]uint32{}}
}

// reserve accounts for memory. At the limit, it counts a problem and returns false.
func (t *table) reserve(size int) bool {
	if t.size+size > maxTableSize {
		t.log.Add(problem.OTLPTableLimit, problem.NoPosition, "")
		return false
	}
	t.size += size
	return true
}

// refer returns a new reference to an entry.
func (t *table) refer(entry int) uint32 {
	t.refs = append(t.refs, uint32(entry))
	return uint32(len(t.refs) - 1)
}

// intern returns the reference to an encoded entry, or 0 at the limit.
func (t *table) intern(encoded []byte) uint32 {
	ref, ok := t.ids[string(encoded)]
	if !ok && t.reserve(len(encoded)+entryCost) {
		t.entries = append(t.entries, entry{encoded: bytes.Clone(encoded)})
		ref = t.refer(len(t.entries) - 1)
		t.ids[string(encoded)] = ref
	}
	return ref
}

// pending is the resource or scope of the current list of spans, which may come before or after the spans.
type pending struct {
	table     *table
	ref       uint32
	state     pendingState
	encoded   []byte // entry that spans already refer to
	schemaURL string
}

type pendingState uint8

const (
	unused     pendingState = iota
	isKnown                 // the entry was read
	isPromised              // spans refer to an entry that may follow
)

// use returns the reference to the entry for a span.
func (p *pending) use() uint32 {
	if p.state == unused {
		p.state = isPromised
		if p.table.reserve(refCost) {
			p.ref = p.table.refer(0)
		}
	}
	return p.ref
}

// set adds encoded fields to the entry. Repeated messages are merged, as in protobuf.
func (p *pending) set(encoded []byte) error {
	switch {
	case p.state == isPromised && p.table.size+len(p.encoded)+len(encoded) > maxTableSize:
		p.table.log.Add(problem.OTLPTableLimit, problem.NoPosition, "")
	case p.state == isPromised:
		p.encoded = append(p.encoded, encoded...)
	case p.state == isKnown:
		p.ref = p.table.intern(slices.Concat(p.table.entries[p.table.refs[p.ref]].encoded, encoded))
	default:
		p.state, p.ref = isKnown, p.table.intern(encoded)
	}
	return nil
}

// end stores the data that may follow the spans: the entry that they refer to, and its schema.
func (p *pending) end() {
	if p.state == isPromised && p.ref != 0 && len(p.encoded)+len(p.schemaURL) > 0 {
		p.table.refs[p.ref] = p.table.refs[p.table.intern(p.encoded)]
	}
	id := p.table.refs[p.ref]
	if p.schemaURL == "" || id == 0 {
		return
	}
	e := &p.table.entries[id]
	if len(e.schemas) < maxSchemas && !slices.Contains(e.schemas, p.schemaURL) && p.table.size+len(p.schemaURL) <= maxTableSize {
		p.table.size += len(p.schemaURL)
		e.schemas = append(e.schemas, p.schemaURL)
	}
}

func (p *pending) setSchema(url []byte) error {
	p.schemaURL = string(bytes.ToValidUTF8(url, []byte("\ufffd")))
	return nil
}
