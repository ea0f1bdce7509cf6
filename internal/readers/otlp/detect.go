package otlp

import (
	"bytes"
	"encoding/binary"
	"math"
	"unicode/utf8"

	"github.com/weft-trace/weft/internal/unpack"
	"github.com/weft-trace/weft/internal/wire"
)

const (
	// detectWithin is how far into an input Detect looks.
	detectWithin = 64 << 10
	// detectFields is how many fields of a message are looked at: an element of it is among the first few. After damage each byte may be where
	// a message begins.
	detectFields = 8
	// spanFieldsSeen is the same for a span, whose ids may come after its attributes and events.
	spanFieldsSeen = 64
)

// form is how messages of protobuf follow each other in a file.
type form uint8

const (
	noForm     form = iota
	formPlain       // one TracesData; several one after the other are one as well
	formVarint      // each after its length as a varint, as protobuf's libraries write them
	formFrames      // each after its length as four bytes, the highest first, as the Collector's file exporter writes them; maybe compressed
)

// Detect reports whether an input that begins with head holds spans of OTLP in protobuf. Its JSON is told by its members.
func Detect(head []byte) bool { return formOf(head) != noForm }

// formOf finds the form of an input.
func formOf(head []byte) form {
	if isTraces(head) {
		return formPlain
	}
	if len(head) > 4 {
		message := bounded(head[4:], uint64(binary.BigEndian.Uint32(head)))
		if isTraces(message) || unpack.IsZstd(message) || isJSONMessage(message) {
			return formFrames
		}
	}
	if size, n := binary.Uvarint(head); n > 0 && isTraces(bounded(head[n:], size)) {
		return formVarint
	}
	return noForm
}

// isJSONMessage reports whether a text begins like a message in JSON.
func isJSONMessage(b []byte) bool {
	rest, ok := bytes.CutPrefix(b, []byte("{"))
	rest, ok2 := bytes.CutPrefix(bytes.TrimLeft(rest, whiteSpace), []byte(signalPrefix))
	return ok && ok2 && isSignal(rest)
}

// bounded returns the first bytes of b, at most size.
func bounded(b []byte, size uint64) []byte { return b[:min(uint64(len(b)), size)] }

// isTraces reports whether a message, of which b may be only the beginning, is TracesData with something in it that no other kind of
// file has there: an attribute of a resource, a scope or a span. The fields of a message have no order: the Collector writes the last ones
// first.
func isTraces(b []byte) bool {
	for n := 0; len(b) > 0 && n < detectFields; n++ {
		tag, resourceSpans, rest, ok := cutField(b)
		if !ok || tag != wire.Tag(tracesResourceSpans, wire.Len) {
			return false
		}
		if isResourceSpans(resourceSpans) {
			return true
		}
		b = rest
	}
	return false
}

// isResourceSpans reports whether a message begins like ResourceSpans: with a resource that has an attribute, or with a span.
func isResourceSpans(b []byte) bool {
	for n := 0; len(b) > 0 && n < detectFields; n++ {
		tag, inner, rest, ok := cutField(b)
		if !ok {
			return false
		}
		switch tag {
		case wire.Tag(resourceSpansResource, wire.Len):
			ok = isAttributed(inner, resourceAttributes)
		case wire.Tag(resourceSpansScopeSpans, wire.Len), wire.Tag(resourceSpansLibraries, wire.Len):
			ok = isScopeSpans(inner)
		case wire.Tag(resourceSpansSchemaURL, wire.Len):
			ok = false
		default:
			return false
		}
		if ok {
			return true
		}
		b = rest
	}
	return false
}

// isScopeSpans reports whether a message begins like ScopeSpans, with a span among its first fields.
func isScopeSpans(b []byte) bool {
	for n := 0; len(b) > 0 && n < detectFields; n++ {
		tag, inner, rest, ok := cutField(b)
		if !ok {
			return false
		}
		switch tag {
		case wire.Tag(scopeSpansSpans, wire.Len):
			return looksLikeSpan(inner)
		case wire.Tag(scopeSpansScope, wire.Len), wire.Tag(scopeSpansSchemaURL, wire.Len):
			b = rest
		default:
			return false
		}
	}
	return false
}

// looksLikeSpan reports whether a message begins like a span: with fields that spans have, and among them the id of a trace, or an attribute where
// many of these come first.
func looksLikeSpan(b []byte) bool {
	found := false
	for n := 0; len(b) > 0 && n < spanFieldsSeen; n++ {
		tag, inner, rest, ok := cutField(b)
		if !ok || !mayBeOfSpan(tag) {
			return false
		}
		switch tag {
		case wire.Tag(spanTraceID, wire.Len):
			return len(inner) == traceIDSize
		case wire.Tag(spanAttributes, wire.Len):
			found = found || isKeyValue(inner)
		case wire.Tag(spanEvents, wire.Len):
			found = found || isAttributed(inner, eventAttributes)
		}
		b = rest
	}
	return found
}

// mayBeOfSpan reports whether spans have a field, or may have it in a later version of the schema.
func mayBeOfSpan(tag uint32) bool { return spanMessage.hasTag(tag) || tag>>3 > spanFlags }

// isAttributed reports whether a message has an attribute among its first fields. number is that of its list of attributes.
func isAttributed(b []byte, number int) bool {
	for n := 0; len(b) > 0 && n < detectFields; n++ {
		tag, inner, rest, ok := cutField(b)
		if !ok {
			return false
		}
		if tag == wire.Tag(number, wire.Len) {
			return isKeyValue(inner)
		}
		b = rest
	}
	return false
}

// isKeyValue reports whether a message is an attribute: a text and a value.
func isKeyValue(b []byte) bool {
	named := false
	for n := 0; len(b) > 0 && n < detectFields; n++ {
		tag, inner, rest, ok := cutField(b)
		switch {
		case !ok:
			return false
		case tag == wire.Tag(keyValueKey, wire.Len):
			named = len(inner) > 0 && bytes.IndexFunc(inner, isControl) < 0 && utf8.Valid(inner)
		case tag != wire.Tag(keyValueValue, wire.Len):
			return false
		}
		b = rest
	}
	return named
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// cutField returns the tag and the content of the first field of a message, and what comes after it. Only a field with a length has
// content. Of a field that goes on after the end of b it returns what there is.
func cutField(b []byte) (tag uint32, inner, rest []byte, ok bool) {
	long, n := binary.Uvarint(b)
	if n <= 0 || long>>3 == 0 || long>>3 > wire.MaxField {
		return 0, nil, nil, false
	}
	b = b[n:]
	size := uint64(0)
	switch long & 7 {
	case wire.Varint:
		_, n = binary.Uvarint(b)
		return uint32(long), nil, b[max(n, 0):], n > 0
	case wire.Fixed64:
		size = 8
	case wire.Fixed32:
		size = 4
	case wire.Len:
		if size, n = binary.Uvarint(b); n <= 0 || size > math.MaxInt64 {
			return 0, nil, nil, false
		}
		inner = bounded(b[n:], size)
		return uint32(long), inner, b[n+len(inner):], true
	default:
		return 0, nil, nil, false
	}
	return uint32(long), nil, b[len(bounded(b, size)):], true
}
