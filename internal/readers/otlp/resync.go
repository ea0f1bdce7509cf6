package otlp

import (
	"encoding/binary"

	"github.com/weft-trace/weft/internal/wire"
)

// After damage in what is around spans, such as a wrong length, reading goes on at the next place at which an element of the same message
// seems to begin: what is searched for comes by chance only once in 10^14 bytes.

// isElement reports whether a text begins with a field of a message that holds spans, an element of its list.
func isElement(message string, text []byte) bool {
	switch message {
	case tracesMessage:
		return isTraces(text)
	case resourceSpansMessage:
		tag, inner, _, ok := cutField(text)
		return ok && tag == wire.Tag(resourceSpansScopeSpans, wire.Len) && isScopeSpans(inner)
	}
	_, ok := spanField(text)
	return ok
}

// spanField returns the length of what is before the content of a field of ScopeSpans that has a span with its two ids. Beyond
// spanFieldsSeen, or the end of the text, ids are not found.
func spanField(text []byte) (head int, ok bool) {
	if len(text) < 2 || text[0] != byte(wire.Tag(scopeSpansSpans, wire.Len)) {
		return 0, false
	}
	size, n := binary.Uvarint(text[1:])
	if n <= 0 || size < idsSize || size > maxMessage {
		return 0, false
	}
	return 1 + n, hasIDs(bounded(text[1+n:], size))
}

// hasIDs reports whether the first fields of a message are those of a span, with its two ids.
func hasIDs(b []byte) bool {
	trace, span := false, false
	for n := 0; len(b) > 0 && n < spanFieldsSeen && !(trace && span); n++ {
		tag, inner, rest, ok := cutField(b)
		if !ok || !mayBeOfSpan(tag) {
			return false
		}
		trace = trace || tag == wire.Tag(spanTraceID, wire.Len) && len(inner) == traceIDSize
		span = span || tag == wire.Tag(spanSpanID, wire.Len) && len(inner) == spanIDSize
		b = rest
	}
	return trace && span
}

// idsSize is the length of the fields of both ids of a span.
const idsSize = 2 + traceIDSize + 2 + spanIDSize

// resync goes to the next element of a message, or to the end of the message.
func (r *protoReader) resync(message string, end int64) error {
	for r.at < end {
		text, err := r.in.Peek(int(min(int64(r.in.Size()), end-r.at)))
		if len(text) == 0 {
			return err
		}
		last := len(text) - resyncWithin // an element that begins later may go on after the text
		if err != nil || int64(len(text)) == end-r.at {
			last = len(text) - 1
		}
		i := 0
		for i <= last && !isElement(message, text[i:min(len(text), i+resyncWithin)]) {
			i++
		}
		if err := r.skip(int64(i)); err != nil || i <= last {
			return err
		}
	}
	return nil
}

// resyncWithin is how much of an element is looked at.
const resyncWithin = 4 << 10

// swallowed takes the spans in a malformed one, whose length may be wrong.
func (r *protoReader) swallowed(encoded []byte, take func(at int, span []byte) error) error {
	for i := 1; i < len(encoded); i++ {
		head, ok := spanField(encoded[i:])
		if !ok {
			continue
		}
		size, _ := binary.Uvarint(encoded[i+1:])
		if size > uint64(len(encoded)-i-head) {
			continue
		}
		if err := take(i, encoded[i+head:][:size]); err != nil {
			return err
		}
		i += head + int(size) - 1
	}
	return nil
}
