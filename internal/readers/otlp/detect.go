package otlp

import (
	"bytes"
	"encoding/binary"
	"math"
	"unicode/utf8"

	"github.com/weft-trace/weft/internal/inputs"
	"github.com/weft-trace/weft/internal/wire"
)

const (
	// detectWithin is the number of bytes of an input that Detect examines.
	detectWithin = 64 << 10
	// detectFields limits the number of fields of a message that are examined. In a message of the expected kind, one
	// of the first few fields shows the kind. After damage, every byte may start a message.
	detectFields = 8
	// spanFieldsSeen is the limit for a span, whose ids may come after its attributes and events.
	spanFieldsSeen = 64
)

// form is the framing of protobuf messages in a file.
type form uint8

const (
	noForm     form = iota
	formPlain       // one TracesData, or a concatenation of several, which is also a TracesData
	formVarint      // each preceded by its length as a varint, as protobuf libraries write them
	formFrames      // each preceded by its 4-byte big-endian length, as in the Collector's file exporter; possibly compressed
)

// Detect reports whether an input that starts with head contains OTLP spans in protobuf. OTLP JSON is detected by
// its members.
func Detect(head []byte) bool { return formOf(head) != noForm }

// formOf returns the form of an input that starts with head.
func formOf(head []byte) form {
	if isTraces(head) {
		return formPlain
	}
	if len(head) > 4 {
		message := bounded(head[4:], uint64(binary.BigEndian.Uint32(head)))
		if isTraces(message) || inputs.IsZstd(message) || isJSONMessage(message) {
			return formFrames
		}
	}
	if size, n := binary.Uvarint(head); n > 0 && isTraces(bounded(head[n:], size)) {
		return formVarint
	}
	return noForm
}

// isJSONMessage reports whether text starts like a JSON message: with the list of a signal.
func isJSONMessage(b []byte) bool {
	rest, ok := bytes.CutPrefix(b, []byte("{"))
	return ok && bytes.HasPrefix(bytes.TrimLeft(rest, whiteSpace), []byte(`"resource`))
}

// bounded returns at most the first size bytes of b.
func bounded(b []byte, size uint64) []byte { return b[:min(uint64(len(b)), size)] }

// answer is the conclusion from a field about its message.
type answer uint8

const (
	no    answer = iota // not the expected message
	maybe               // the next field may decide
	yes
)

func yesIf(is bool, otherwise answer) answer {
	if is {
		return yes
	}
	return otherwise
}

// isMessage reports whether a message, possibly truncated, is the expected one. The callback ask examines the first
// fields one by one, until one of them decides.
func isMessage(b []byte, fields int, ask func(tag uint32, inner []byte) answer) bool {
	for n := 0; len(b) > 0 && n < fields; n++ {
		tag, inner, rest, ok := nextField(b)
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

// isTraces reports whether a message is TracesData with something that no other kind of file has there: a resource
// attribute or a span. Fields can come in any order: the Collector writes the last fields first.
func isTraces(b []byte) bool {
	return isMessage(b, detectFields, func(tag uint32, inner []byte) answer {
		if tag != wire.Tag(tracesResourceSpans, wire.Len) {
			return no
		}
		return yesIf(isResourceSpans(inner), maybe)
	})
}

// isResourceSpans reports whether a message starts like ResourceSpans: with a resource that has an attribute, or with a
// span.
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

// isScopeSpans reports whether a message starts like ScopeSpans, with a span among its first fields.
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

// looksLikeSpan reports whether a message starts like a span: with span fields of this or a later version of the
// schema, including a trace id or an attribute.
func looksLikeSpan(b []byte) bool {
	found := false
	withID := isMessage(b, spanFieldsSeen, func(tag uint32, inner []byte) answer {
		switch {
		case tag == wire.Tag(spanTraceID, wire.Len):
			found = false // the id decides
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

// isAttributed reports whether the first fields of a message include an attribute. The parameter number is the field
// number of its attributes.
func isAttributed(b []byte, number int) bool {
	return isMessage(b, detectFields, func(tag uint32, inner []byte) answer {
		if tag != wire.Tag(number, wire.Len) {
			return maybe
		}
		return yesIf(isKeyValue(inner), no)
	})
}

// isKeyValue reports whether a message starts like an attribute: with a text as key, before or after the value.
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

// nextField returns the tag and the content of the first field of a message, and the rest of the message. Only a
// length-delimited field has content, which is truncated at the end of b.
func nextField(b []byte) (tag uint32, inner, rest []byte, ok bool) {
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
