package timeline

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/pfwire/message"
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/wire"
)

// Perfetto drops array members without a value and moves up later members: it shows the third member of [[8],[],[3]] as the
// second. An array with an empty dictionary or array anywhere inside is therefore written as JSON text, in which Perfetto keeps
// positions (docs/formats/chrome-json.md 16), and is read back as an array.
//
// In the encoder, and in arrays read from JSON text, an empty member is an annotation with a dictionary or array of length 0.

// emptyMember appends an empty dictionary or array to the open array. The outermost array then becomes text.
func (e *ArgsEncoder) emptyMember(array bool) {
	field := schema.DebugAnnotation_DictEntries
	if array {
		field = schema.DebugAnnotation_ArrayValues
	}
	e.buf = appendEmptyMember(e.buf, schema.DebugAnnotation_ArrayValues, field)
	for i := range e.open {
		if e.open[i].array {
			e.open[i].keepsPlaces = true // the outermost array becomes text
			return
		}
	}
}

func appendEmptyMember(b []byte, as, field int) []byte {
	b, mark := wire.BeginMessage(b, as)
	return wire.EndMessage(wire.AppendBytes(b, field, nil), mark)
}

// arrayAsText rewrites the most recently closed array as JSON text if it still has an empty member. The parameter start is the
// offset of the array's annotation.
func (e *ArgsEncoder) arrayAsText(start int) {
	r := wire.NewReader(e.buf[start:])
	r.Next()
	field, msg := r.Field(), r.Bytes()
	if e.removed && !holdsEmpty(msg) {
		return // a repeated key has replaced the empty member
	}
	e.text = e.text[:0]
	if m := wire.NewReader(msg); m.Next() && m.Field() != schema.DebugAnnotation_ArrayValues {
		e.text = append(e.text, m.Raw()...) // the name
	}
	n := len(e.text)
	var array message.Annotation
	array.ParseHead(msg)
	e.text = e.appendText(e.text, &array)
	var mark int
	e.buf, mark = wire.BeginMessage(e.buf[:start], field)
	e.buf = append(e.buf, e.text[:n]...)
	e.buf = wire.EndMessage(wire.AppendBytes(e.buf, schema.DebugAnnotation_LegacyJSONValue, e.text[n:]), mark)
}

// holdsEmpty reports whether an annotation contains an empty dictionary or array at any depth.
func holdsEmpty(annotation []byte) bool {
	var a message.Annotation
	a.ParseHead(annotation)
	for m := a.Members(); m.Next(); {
		if member := m.Bytes(); len(member) == 0 || holdsEmpty(member) {
			return true
		}
	}
	return false
}

// appendText appends an annotation's value as JSON text that Perfetto imports without loss: numbers that Perfetto cannot
// represent, such as integers beyond 63 bits, become strings, and doubles do not look like integers.
func (e *ArgsEncoder) appendText(b []byte, a *message.Annotation) []byte {
	switch a.Kind {
	case message.BoolAnnotation:
		return strconv.AppendBool(b, a.Bool())
	case message.UintAnnotation:
		return append(strconv.AppendUint(append(b, '"'), a.Uint(), 10), '"')
	case message.IntAnnotation:
		return strconv.AppendInt(b, a.Int(), 10)
	case message.DoubleAnnotation:
		return appendDoubleText(b, a.Double())
	case message.TextAnnotation:
		text := a.Bytes
		if a.TextIID != 0 && e.values != nil {
			text = e.values.get(uint32(a.TextIID))
		}
		return appendQuoted(b, text)
	case message.PointerAnnotation:
		return append(strconv.AppendUint(append(b, `"0x`...), a.Uint(), 16), '"')
	case message.JSONAnnotation:
		if !json.Valid(a.Bytes) {
			return appendQuoted(b, a.Bytes)
		}
		return append(b, a.Bytes...)
	case message.DictAnnotation, message.ArrayAnnotation:
		return e.appendMembersText(b, a)
	}
	return append(b, "null"...)
}

// appendMembersText appends a dictionary or array as JSON text, without its empty members.
func (e *ArgsEncoder) appendMembersText(b []byte, list *message.Annotation) []byte {
	open, closing := byte('{'), byte('}')
	if list.Kind == message.ArrayAnnotation {
		open, closing = '[', ']'
	}
	sep := open
	var member message.Annotation // declared here to allocate it once
	for m := list.Members(); m.Next(); {
		if len(m.Bytes()) == 0 {
			continue
		}
		member.ParseHead(m.Bytes())
		b = append(b, sep)
		if list.Kind == message.DictAnnotation {
			if member.NameIID != 0 {
				member.Name = e.keys.get(uint32(member.NameIID))
			}
			b = append(appendQuoted(b, member.Name), ':')
		}
		b = e.appendText(b, &member)
		sep = ','
	}
	if sep == open {
		b = append(b, open)
	}
	return append(b, closing)
}

// appendDoubleText appends v as JSON text that does not look like an integer. NaN and infinities become strings.
func appendDoubleText(b []byte, v float64) []byte {
	switch abs := math.Abs(v); {
	case math.IsNaN(v):
		return append(b, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(v, -1):
		return append(b, `"-Infinity"`...)
	case abs != 0 && abs < 1e-6 || abs >= 1e18:
		return strconv.AppendFloat(b, v, 'e', -1, 64)
	}
	n := len(b)
	b = strconv.AppendFloat(b, v, 'f', -1, 64)
	if bytes.IndexByte(b[n:], '.') < 0 {
		b = append(b, ".0"...)
	}
	return b
}

// appendQuoted appends text as a JSON string, escaping only what JSON requires.
func appendQuoted(b, text []byte) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for len(text) > 0 {
		c := text[0]
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ':
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		case c < utf8.RuneSelf:
			b = append(b, c)
		default:
			r, size := utf8.DecodeRune(text)
			b = utf8.AppendRune(b, r)
			text = text[size:]
			continue
		}
		text = text[1:]
	}
	return append(b, '"')
}

// maxTextDepth limits the nesting depth of parsed JSON text.
const maxTextDepth = 512

// arrayOfText converts a JSON array to annotation members; it returns false for any other text. Like Perfetto, it drops null.
func arrayOfText(text []byte) ([]byte, bool) {
	if len(text) == 0 || text[0] != '[' || !json.Valid(text) {
		return nil, false
	}
	var t textReader
	t.s.Reset(text)
	t.s.Value()
	b := t.members(make([]byte, 0, len(text)+len(text)/4), jsonscan.Array, 1)
	return b, !t.tooDeep
}

// textReader converts JSON text to annotations.
type textReader struct {
	s       jsonscan.Scanner
	tooDeep bool
}

// members appends the members of an array or object whose opening bracket has been read.
func (t *textReader) members(b []byte, list jsonscan.Kind, depth int) []byte {
	if depth > maxTextDepth {
		t.tooDeep = true
	}
	if list == jsonscan.Array {
		for !t.tooDeep && t.s.Elem() {
			b = t.member(b, schema.DebugAnnotation_ArrayValues, nil, depth)
		}
		return b
	}
	for !t.tooDeep {
		key, ok := t.s.Key()
		if !ok {
			break
		}
		b = t.member(b, schema.DebugAnnotation_DictEntries, key, depth)
	}
	return b
}

// member appends the next value as a member of a dictionary or array.
func (t *textReader) member(b []byte, as int, key []byte, depth int) []byte {
	kind, text := t.s.Value()
	if kind == jsonscan.Null {
		return b
	}
	b, mark := wire.BeginMessage(b, as)
	if as == schema.DebugAnnotation_DictEntries {
		b = wire.AppendBytes(b, schema.DebugAnnotation_Name, key)
	}
	switch kind {
	case jsonscan.True, jsonscan.False:
		b = wire.AppendBool(b, schema.DebugAnnotation_BoolValue, kind == jsonscan.True)
	case jsonscan.Integer, jsonscan.Number:
		b = appendNumberOfText(b, text)
	case jsonscan.Object, jsonscan.Array:
		field := schema.DebugAnnotation_DictEntries
		if kind == jsonscan.Array {
			field = schema.DebugAnnotation_ArrayValues
		}
		n := len(b)
		if b = t.members(b, kind, depth+1); len(b) == n {
			b = wire.AppendBytes(b, field, nil)
		}
	default:
		b = wire.AppendBytes(b, schema.DebugAnnotation_StringValue, text)
	}
	return wire.EndMessage(b, mark)
}

// appendNumberOfText appends a number, as an integer if it fits into 64 bits.
func appendNumberOfText(b, text []byte) []byte {
	if v, ok := jsonscan.Int64(text); ok {
		return wire.AppendInt(b, schema.DebugAnnotation_IntValue, v)
	}
	if v, ok := jsonscan.Uint64(text); ok {
		return wire.AppendUint(b, schema.DebugAnnotation_UintValue, v)
	}
	v, _ := jsonscan.Float64(text)
	return wire.AppendDouble(b, schema.DebugAnnotation_DoubleValue, v)
}
