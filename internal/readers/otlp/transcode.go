package otlp

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"math"
	"slices"
	"strconv"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/wire"
)

// transcoder writes messages of OTLP's JSON as protobuf, so that all that follows reads one form. Deviations of OTLP's JSON from
// protobuf's are in its specification: ids are hex. Beyond it, ids in base64, names of enum values and names of fields as in the
// schema are tolerated, because producers write them.
type transcoder struct {
	s     *jsonscan.Scanner
	buf   []byte
	found []finding // in the current message; counted when it is complete
	id    [traceIDSize]byte
}

// finding is a problem of a value, which counts when the message around it was read.
type finding struct {
	kind   problem.Kind
	detail string
}

// maxDepth is how deep values of attributes are taken apart (section 4).
const maxDepth = 64

// start begins a message; what an earlier, incomplete attempt wrote is forgotten.
func (t *transcoder) start(s *jsonscan.Scanner) {
	t.s, t.buf, t.found = s, t.buf[:0], t.found[:0]
}

func (t *transcoder) invalid(key []byte) {
	t.found = append(t.found, finding{problem.OTLPValueInvalid, string(key)})
}

// members writes the members of an object whose bracket was read. key reads its keys: with the Reader's method for the outermost
// object, which counts duplicates, otherwise with the scanner's.
func (t *transcoder) members(m *message, key func() ([]byte, bool), depth int) {
	for name, ok := key(); ok; name, ok = key() {
		f := m.find(name)
		if f == nil {
			t.found = append(t.found, finding{problem.EventUnknownMember, string(name)})
			t.s.Skip()
			continue
		}
		if !f.list {
			t.value(f, name, depth)
			continue
		}
		switch kind, _ := t.s.Value(); kind {
		case jsonscan.Array:
			for t.s.Elem() {
				t.value(f, name, depth)
			}
		case jsonscan.Object:
			t.invalid(name)
			t.s.SkipRest(kind)
		case jsonscan.Null, jsonscan.Invalid:
		default:
			t.invalid(name)
		}
	}
}

// value writes one value of a field. null is the same as nothing.
func (t *transcoder) value(f *field, name []byte, depth int) {
	if f.typ == typeMessage {
		t.message(f, name, depth)
		return
	}
	kind, text := t.s.Value()
	ok := false
	switch kind {
	case jsonscan.Null, jsonscan.Invalid:
		return
	case jsonscan.Object, jsonscan.Array:
		t.s.SkipRest(kind)
	default:
		ok = t.scalar(f, kind, text)
	}
	if !ok {
		t.invalid(name)
	}
}

// message writes a value that is a message. Arrays and maps deeper than maxDepth are kept as text.
func (t *transcoder) message(f *field, name []byte, depth int) {
	switch f.message {
	case anyValue:
		depth++
	case arrayValue, keyValueList:
		if depth > maxDepth {
			t.tooDeep()
			return
		}
	}
	kind, _ := t.s.Value()
	if kind != jsonscan.Object {
		if kind != jsonscan.Null && kind != jsonscan.Invalid {
			t.s.SkipRest(kind)
			t.invalid(name)
		}
		return
	}
	var mark int
	t.buf, mark = wire.BeginMessage(t.buf, f.number)
	t.members(f.message, t.s.Key, depth)
	if t.s.Err() != nil {
		return // the message is read again, or dropped as a whole
	}
	t.buf = wire.EndMessage(t.buf, mark)
}

// tooDeep writes an array or map that is the value around it as a text of JSON.
func (t *transcoder) tooDeep() {
	if raw := t.s.Raw(); raw != nil {
		t.found = append(t.found, finding{problem.ArgDepthLimit, ""})
		t.buf = wire.AppendBytes(t.buf, valueString, t.s.ValidText(raw))
	}
}

// scalar writes a value of any other type; false if it is not one of the field.
func (t *transcoder) scalar(f *field, kind jsonscan.Kind, text []byte) (ok bool) {
	switch f.typ {
	case typeString:
		if kind == jsonscan.String {
			t.buf = wire.AppendBytes(t.buf, f.number, text)
			return true
		}
	case typeID, typeBytes:
		var v []byte
		if v, ok = t.decodeBytes(text, f.typ == typeID); ok && kind == jsonscan.String {
			t.buf = wire.AppendBytes(t.buf, f.number, v)
			return true
		}
	case typeBool:
		if kind == jsonscan.True || kind == jsonscan.False {
			t.buf = wire.AppendBool(t.buf, f.number, kind == jsonscan.True)
			return true
		}
	case typeDouble:
		return t.double(f, kind, text)
	case typeEnum:
		return t.enum(f, kind, text)
	default:
		return t.integer(f, kind, text)
	}
	return false
}

// integer writes a number that may be a text: JSON's own numbers end at 2^53 in many programs.
func (t *transcoder) integer(f *field, kind jsonscan.Kind, text []byte) bool {
	if kind == jsonscan.Number {
		return t.whole(f, text)
	}
	if kind != jsonscan.Integer && (kind != jsonscan.String || !jsonscan.IsNumber(text)) {
		return false
	}
	v, ok := jsonscan.Int64(text)
	u := uint64(v)
	if !ok {
		u, ok = jsonscan.Uint64(text)
		ok = ok && f.typ == typeFixed64
	}
	switch {
	case !ok:
		return false
	case f.typ == typeFixed64:
		if len(text) > 0 && text[0] == '-' {
			return false
		}
		t.buf = wire.AppendFixed64(t.buf, f.number, u)
	case f.typ == typeFixed32:
		if u > math.MaxUint32 {
			return false
		}
		t.buf = wire.AppendFixed32(t.buf, f.number, uint32(u))
	default:
		t.buf = wire.AppendUint(t.buf, f.number, u)
	}
	return true
}

// whole writes a number with a point or an exponent, such as 1.7e18, if it is an integer: programs with one type of numbers write such.
func (t *transcoder) whole(f *field, text []byte) bool {
	v, ok := jsonscan.Decimal(text, 0)
	unit := int64(1e9)
	for digits := 9; ok && digits > 0; digits-- { // as many after the point as fit
		if scaled, fits := jsonscan.Decimal(text, digits); fits {
			ok = scaled == v*unit
			break
		}
		unit /= 10
	}
	return ok && t.integer(f, jsonscan.Integer, strconv.AppendInt(nil, v, 10))
}

func (t *transcoder) double(f *field, kind jsonscan.Kind, text []byte) bool {
	switch kind {
	case jsonscan.Integer, jsonscan.Number:
	case jsonscan.String, jsonscan.Word:
		if s := string(text); s != "NaN" && s != "Infinity" && s != "-Infinity" && !jsonscan.IsNumber(text) {
			return false
		}
	default:
		return false
	}
	v, _ := jsonscan.Float64(text)
	t.buf = wire.AppendDouble(t.buf, f.number, v)
	return true
}

// enum writes a value of an enum, given as its number or its name, with or without the prefix of the enum.
func (t *transcoder) enum(f *field, kind jsonscan.Kind, text []byte) bool {
	if kind == jsonscan.String && !jsonscan.IsNumber(text) {
		name := bytes.TrimPrefix(bytes.ToLower(text), []byte(f.prefix))
		if string(name) == "unspecified" || string(name) == "unset" {
			return true
		}
		i := slices.Index(f.names, string(name))
		if i <= 0 {
			return false
		}
		t.buf = wire.AppendUint(t.buf, f.number, uint64(i))
		return true
	}
	return t.integer(f, kind, text)
}

// The bytes of the two kinds of ids.
const (
	traceIDSize = 16
	spanIDSize  = 8
)

// decodeBytes decodes hex (of ids) or base64. An id of 16 or 8 bytes is recognized by its length: in hex it has 32 or 16 digits,
// in base64 at most 24 or 12 characters. What is returned is valid until the next call.
func (t *transcoder) decodeBytes(text []byte, id bool) ([]byte, bool) {
	if id && (len(text) == 2*traceIDSize || len(text) == 2*spanIDSize) {
		v := t.id[:len(text)/2]
		_, err := hex.Decode(v, text)
		return v, err == nil
	}
	encoding := base64.RawStdEncoding
	if bytes.ContainsAny(text, "-_") {
		encoding = base64.RawURLEncoding
	}
	text = bytes.TrimRight(text, "=")
	v := make([]byte, encoding.DecodedLen(len(text)))
	n, err := encoding.Decode(v, text)
	return v[:n], err == nil && (!id || n == 0 || n == traceIDSize || n == spanIDSize)
}
