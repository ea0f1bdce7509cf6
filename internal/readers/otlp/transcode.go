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

// transcoder converts OTLP JSON messages to protobuf, so that all other code reads only one form. OTLP's JSON differs from
// protobuf's JSON as listed in the OTLP specification; for example, ids are in hex. Some producers write ids in base64, enum
// values by name, or field names as in the schema. transcoder tolerates these deviations.
type transcoder struct {
	s        *jsonscan.Scanner
	buf      []byte
	findings []finding // in the current message, counted when it is complete
	id       [traceIDSize]byte
}

// finding is a problem with a value, counted when the message is complete.
type finding struct {
	kind   problem.Kind
	detail string
}

// maxDepth is the maximum depth of attribute values that are encoded as structure (section 4).
const maxDepth = 64

// start starts a message and discards the output of an incomplete attempt.
func (t *transcoder) start(s *jsonscan.Scanner) {
	t.s, t.buf, t.findings = s, t.buf[:0], t.findings[:0]
}

func (t *transcoder) invalid(key []byte) {
	t.findings = append(t.findings, finding{problem.OTLPValueInvalid, string(key)})
}

// members writes the members of an object whose opening bracket was read. The callback key reads the keys: for the outermost
// object, it is the Document's method, which counts duplicates; otherwise, the scanner's.
func (t *transcoder) members(m *message, key func() ([]byte, bool), depth int) {
	for name, ok := key(); ok; name, ok = key() {
		f := m.find(name)
		if f == nil {
			t.findings = append(t.findings, finding{problem.EventUnknownMember, string(name)})
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

// value writes a value of a field. It ignores null.
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

// message writes a message value. Arrays and maps deeper than maxDepth are kept as text.
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
		return // the message will be read again, or dropped as a whole
	}
	t.buf = wire.EndMessage(t.buf, mark)
}

// tooDeep writes the current array or map as JSON text.
func (t *transcoder) tooDeep() {
	if raw := t.s.Raw(); raw != nil {
		t.findings = append(t.findings, finding{problem.ArgDepthLimit, ""})
		t.buf = wire.AppendBytes(t.buf, valueString, t.s.ValidText(raw))
	}
}

// scalar writes a value of any other type. It returns false if the value does not fit the field.
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

// integer writes a number or numeric string: many programs support JSON numbers only up to 2^53.
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

// whole writes a number with a point or exponent, such as 1.7e18, if it is an integer: programs with a single number
// type write such numbers.
func (t *transcoder) whole(f *field, text []byte) bool {
	v, ok := jsonscan.Decimal(text, 0)
	unit := int64(1e9)
	for digits := 9; ok && digits > 0; digits-- { // as many decimals as fit
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

// enum writes an enum value given by number or by name, with or without the enum's prefix.
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

// Sizes of ids in bytes.
const (
	traceIDSize = 16
	spanIDSize  = 8
)

// decodeBytes decodes base64 or, for ids, hex. The length shows how an id is encoded: an id of 16 or 8 bytes has 32 or
// 16 digits in hex, at most 24 or 12 characters in base64. The result is valid until the next call.
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
