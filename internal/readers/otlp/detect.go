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
// file has there: an attribute of a resource, a scope or a span.
func isTraces(b []byte) bool {
	resourceSpans, ok := first(b, tracesResourceSpans)
	if !ok {
		return false
	}
	for n := 0; len(resourceSpans) > 0 && n < detectFields; n++ {
		field, inner, rest, ok := cutField(resourceSpans)
		switch {
		case !ok:
			return false
		case field == resourceSpansResource && isAttributed(inner, resourceAttributes):
			return true
		case field == resourceSpansScopeSpans || field == resourceSpansLibraries:
			return isScopeSpans(inner)
		case field > resourceSpansSchemaURL:
			return false
		}
		resourceSpans = rest
	}
	return false
}

// isScopeSpans reports whether a message begins like ScopeSpans: with a scope that has a name, or with a span.
func isScopeSpans(b []byte) bool {
	for n := 0; len(b) > 0 && n < detectFields; n++ {
		field, inner, rest, ok := cutField(b)
		switch {
		case !ok || field > scopeSpansSchemaURL:
			return false
		case field == scopeSpansSpans:
			id, ok := first(inner, spanTraceID)
			return ok && len(id) == traceIDSize
		}
		b = rest
	}
	return false
}

// isAttributed reports whether a message begins with an attribute: a text and a value.
func isAttributed(b []byte, number int) bool {
	attribute, ok := first(b, number)
	if !ok {
		return false
	}
	field, key, rest, ok := cutField(attribute)
	if !ok || field != keyValueKey || len(key) == 0 || bytes.IndexFunc(key, isControl) >= 0 || !utf8.Valid(key) {
		return false
	}
	field, _, _, ok = cutField(rest)
	return len(rest) == 0 || ok && field == keyValueValue
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// first returns the content of the first field of a message, if that has the given number.
func first(b []byte, number int) ([]byte, bool) {
	field, inner, _, ok := cutField(b)
	return inner, ok && field == number
}

// cutField returns the number and the content of the first field of a message, which must be one with a length, and what comes after
// it. Of a field that goes on after the end of b it returns what there is.
func cutField(b []byte) (field int, inner, rest []byte, ok bool) {
	tag, n := binary.Uvarint(b)
	if n <= 0 || tag&7 != wire.Len || tag>>3 == 0 || tag > math.MaxUint32 {
		return 0, nil, nil, false
	}
	b = b[n:]
	size, n := binary.Uvarint(b)
	if n <= 0 || size > math.MaxInt64 {
		return 0, nil, nil, false
	}
	inner = bounded(b[n:], size)
	return int(tag >> 3), inner, b[n+len(inner):], true
}
