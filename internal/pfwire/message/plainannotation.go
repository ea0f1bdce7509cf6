package message

import (
	"encoding/binary"
	"math"

	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/wire"
)

// PlainAnnotation is a DebugAnnotation in the form that nearly all have: the iid of its name, unless it is the element of an array,
// and one value after it. Such a one is read in one pass, the members of lists included.
type PlainAnnotation struct {
	NameIID uint64

	Scalar
	Bytes   []byte // a text, or JSON
	TextIID uint64 // of a text; 0: see Bytes

	members []byte // those that Next has not given yet
	tag     byte   // of members
}

// The tags of the fields of a PlainAnnotation. That of a text's iid has two bytes.
const (
	nameTag    = schema.DebugAnnotation_NameIID<<3 | wire.Varint
	boolTag    = schema.DebugAnnotation_BoolValue<<3 | wire.Varint
	uintTag    = schema.DebugAnnotation_UintValue<<3 | wire.Varint
	intTag     = schema.DebugAnnotation_IntValue<<3 | wire.Varint
	doubleTag  = schema.DebugAnnotation_DoubleValue<<3 | wire.Fixed64
	textTag    = schema.DebugAnnotation_StringValue<<3 | wire.Len
	jsonTag    = schema.DebugAnnotation_LegacyJSONValue<<3 | wire.Len
	pointerTag = schema.DebugAnnotation_PointerValue<<3 | wire.Varint
	dictTag    = schema.DebugAnnotation_DictEntries<<3 | wire.Len
	arrayTag   = schema.DebugAnnotation_ArrayValues<<3 | wire.Len
	textIIDTag = schema.DebugAnnotation_StringValueIID<<3 | wire.Varint
)

// ParseNamed decodes msg. It returns false if that has another form: then it is for Annotation.
func (a *PlainAnnotation) ParseNamed(msg []byte) bool {
	if len(msg) == 0 || msg[0] != nameTag {
		return false
	}
	iid, n := binary.Uvarint(msg[1:])
	if n <= 0 || iid == 0 {
		return false
	}
	a.NameIID = iid
	return a.parseValue(msg[1+n:])
}

// ParseElement is ParseNamed for the element of an array, which has no name.
func (a *PlainAnnotation) ParseElement(msg []byte) bool {
	a.NameIID = 0
	return a.parseValue(msg)
}

func (a *PlainAnnotation) parseValue(msg []byte) bool {
	if len(msg) < 2 {
		return false
	}
	rest := msg[1:]
	switch msg[0] {
	case intTag:
		return a.parseScalar(IntAnnotation, rest)
	case dictTag, arrayTag:
		if a.Kind = DictAnnotation; msg[0] == arrayTag {
			a.Kind = ArrayAnnotation
		}
		a.members, a.tag = msg, msg[0]
		return true
	case textTag, jsonTag:
		if a.Kind = TextAnnotation; msg[0] == jsonTag {
			a.Kind = JSONAnnotation
		}
		text, end, ok := lengthDelimited(rest)
		a.Bytes, a.TextIID = text, 0
		return ok && end == len(rest)
	case boolTag:
		return a.parseScalar(BoolAnnotation, rest)
	case uintTag:
		return a.parseScalar(UintAnnotation, rest)
	case pointerTag:
		return a.parseScalar(PointerAnnotation, rest)
	case doubleTag:
		if len(rest) != 8 {
			return false
		}
		a.Kind, a.scalar = DoubleAnnotation, binary.LittleEndian.Uint64(rest)
		return true
	case textIIDTag&0x7f | 0x80:
		if rest[0] != textIIDTag>>7 || !a.parseScalar(TextAnnotation, rest[1:]) {
			return false
		}
		a.TextIID = a.scalar
		return a.TextIID != 0
	}
	return false
}

// parseScalar decodes a varint, after which the message ends.
func (a *PlainAnnotation) parseScalar(kind AnnotationKind, b []byte) bool {
	a.Kind = kind
	if len(b) == 1 && b[0] < 0x80 {
		a.scalar = uint64(b[0])
		return true
	}
	v, n := binary.Uvarint(b)
	a.scalar = v
	return n > 0 && n == len(b)
}

// lengthDelimited returns the bytes at the start of b, which come after their length, and where they end.
func lengthDelimited(b []byte) (value []byte, end int, ok bool) {
	size, n := uint64(0), 1
	if len(b) > 0 && b[0] < 0x80 {
		size = uint64(b[0])
	} else if size, n = binary.Uvarint(b); n <= 0 {
		return nil, 0, false
	}
	if size > math.MaxInt32 || size > uint64(len(b)-n) {
		return nil, 0, false
	}
	end = n + int(size)
	return b[n:end:end], end, true
}

// Next returns the next entry of a dictionary or element of an array. It returns nil after the last one, and where the message has
// something else: then Complete is false.
func (a *PlainAnnotation) Next() []byte {
	if len(a.members) == 0 || a.members[0] != a.tag {
		return nil
	}
	member, end, ok := lengthDelimited(a.members[1:])
	if !ok {
		return nil
	}
	a.members = a.members[1+end:]
	return member
}

// Complete reports whether Next has given all that a dictionary or an array has.
func (a *PlainAnnotation) Complete() bool { return len(a.members) == 0 }
