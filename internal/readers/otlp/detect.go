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

// isJSONMessage reports whether a text begins like a message in JSON: with a list of a signal.
func isJSONMessage(b []byte) bool {
	rest, ok := bytes.CutPrefix(b, []byte("{"))
	return ok && bytes.HasPrefix(bytes.TrimLeft(rest, whiteSpace), []byte(`"resource`))
}

// bounded returns the first bytes of b, at most size.
func bounded(b []byte, size uint64) []byte { return b[:min(uint64(len(b)), size)] }

// answer is a field's evidence about the message that it is in.
type answer uint8

const (
	no    answer = iota // it is not the one that is looked for
	maybe               // the next field may tell
	yes
)

func yesIf(is bool, otherwise answer) answer {
	if is {
		return yes
	}
	return otherwise
}

// isMessage reports whether a message, of which b may be only the beginning, is the one that ask looks for: ask answers for its first
// fields, one after the other.
func isMessage(b []byte, fields int, ask func(tag uint32, inner []byte) answer) bool {
	for n := 0; len(b) > 0 && n < fields; n++ {
		tag, inner, rest, ok := cutField(b)
		if !ok {
			return false
		}
		if a := ask(tag, inner); a != maybe {
			return a == yes
		}
		b = rest
	}
	return false
}

// isTraces reports whether a message is TracesData with something in it that no other kind of file has there: an attribute of a
// resource, a scope or a span. The fields of a message have no order: the Collector writes the last ones first.
func isTraces(b []byte) bool {
	return isMessage(b, detectFields, func(tag uint32, inner []byte) answer {
		if tag != wire.Tag(tracesResourceSpans, wire.Len) {
			return no
		}
		return yesIf(isResourceSpans(inner), maybe)
	})
}

// isResourceSpans reports whether a message begins like ResourceSpans: with a resource that has an attribute, or with a span.
func isResourceSpans(b []byte) bool {
	return isMessage(b, detectFields, func(tag uint32, inner []byte) answer {
		switch tag {
		case wire.Tag(resourceSpansResource, wire.Len):
			return yesIf(isAttributed(inner, resourceAttributes), maybe)
		case wire.Tag(resourceSpansScopeSpans, wire.Len), wire.Tag(resourceSpansLibraries, wire.Len):
			return yesIf(isScopeSpans(inner), maybe)
		case wire.Tag(resourceSpansSchemaURL, wire.Len):
			return maybe
		}
		return no
	})
}

// isScopeSpans reports whether a message begins like ScopeSpans, with a span among its first fields.
func isScopeSpans(b []byte) bool {
	return isMessage(b, detectFields, func(tag uint32, inner []byte) answer {
		switch tag {
		case wire.Tag(scopeSpansSpans, wire.Len):
			return yesIf(looksLikeSpan(inner), no)
		case wire.Tag(scopeSpansScope, wire.Len), wire.Tag(scopeSpansSchemaURL, wire.Len):
			return maybe
		}
		return no
	})
}

// looksLikeSpan reports whether a message begins like a span: with fields that spans have, or may have in a later version of the schema,
// and among them the id of a trace, or an attribute.
func looksLikeSpan(b []byte) bool {
	found := false
	withID := isMessage(b, spanFieldsSeen, func(tag uint32, inner []byte) answer {
		switch {
		case tag == wire.Tag(spanTraceID, wire.Len):
			found = false // the id tells
			return yesIf(len(inner) == traceIDSize, no)
		case !spanMessage.hasTag(tag) && tag>>3 <= spanFlags:
			found = false
			return no
		case tag == wire.Tag(spanAttributes, wire.Len):
			found = found || isKeyValue(inner)
		case tag == wire.Tag(spanEvents, wire.Len):
			found = found || isAttributed(inner, eventAttributes)
		}
		return maybe
	})
	return withID || found
}

// isAttributed reports whether a message has an attribute among its first fields. number is the field number of its list of attributes.
func isAttributed(b []byte, number int) bool {
	return isMessage(b, detectFields, func(tag uint32, inner []byte) answer {
		if tag != wire.Tag(number, wire.Len) {
			return maybe
		}
		return yesIf(isKeyValue(inner), no)
	})
}

// isKeyValue reports whether a message begins like an attribute: with a text and a value.
func isKeyValue(b []byte) bool {
	return isMessage(b, 2, func(tag uint32, inner []byte) answer {
		switch tag {
		case wire.Tag(keyValueKey, wire.Len):
			return yesIf(len(inner) > 0 && bytes.IndexFunc(inner, isControl) < 0 && utf8.Valid(inner), no)
		case wire.Tag(keyValueValue, wire.Len):
			return maybe
		}
		return no
	})
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
