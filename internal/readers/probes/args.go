package probes

import (
	"bytes"
	"encoding/binary"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/weft-trace/weft/internal/timeline"
)

// argument is an argument of a record, read according to its declaration.
type argument struct {
	param *parameter
	kind  argumentKind
	value uint64 // the number, modulo 2^64
	text  []byte // the text, or the label of an argEnum
}

// argumentKind is the kind of an argument.
type argumentKind uint8

const (
	argText argumentKind = iota
	argInt
	argUint
	argPointer
	argEnum  // one of the labels
	argOther // an enum without a label
)

// isNumber reports whether the argument has a numeric value.
func (a *argument) isNumber() bool { return a.kind != argText }

// equals reports whether two arguments have the same value, whatever their notation.
func (a *argument) equals(b *argument) bool {
	if a.isNumber() || b.isNumber() {
		return a.isNumber() && b.isNumber() && a.value == b.value
	}
	return bytes.Equal(a.text, b.text)
}

// appendTo appends the argument as text.
func (a *argument) appendTo(text []byte) []byte {
	switch a.kind {
	case argInt, argOther:
		return strconv.AppendInt(text, int64(a.value), 10)
	case argUint:
		return strconv.AppendUint(text, a.value, 10)
	case argPointer:
		return strconv.AppendUint(append(text, "0x"...), a.value, 16)
	}
	return append(text, a.text...)
}

// maxInternedText limits the length of interned texts.
const maxInternedText = 256

// encode appends the value after its key.
func (a *argument) encode(enc *timeline.ArgsEncoder) {
	switch a.kind {
	case argInt:
		enc.Int(int64(a.value))
	case argUint:
		enc.Uint(a.value)
	case argPointer:
		enc.Pointer(a.value)
	case argOther:
		var digits [20]byte
		enc.InternedText(strconv.AppendInt(digits[:0], int64(a.value), 10))
	default:
		if len(a.text) <= maxInternedText {
			enc.InternedText(a.text)
		} else {
			enc.String(a.text)
		}
	}
}

// arguments are the arguments of one record. They are valid until the next read.
type arguments struct {
	list      []argument
	truncated uint64 // number of possibly truncated texts
	buf       []byte // decoded texts
}

// find returns the argument with the given name, or nil.
func (a *arguments) find(name string) *argument {
	for i := range a.list {
		if a.list[i].param.name == name {
			return &a.list[i]
		}
	}
	return nil
}

// argReader reads arguments according to the headers of a file.
type argReader struct {
	raw         bool // texts are not escaped
	truncatedAt int  // texts of this length or longer may be truncated
	undeclared  []*parameter
}

// maxArgs limits the number of arguments of a record; the last one contains all remaining fields.
const maxArgs = 256

func (p *argReader) read(to *arguments, form form, payload []byte, d *declaration) {
	to.list, to.buf, to.truncated = to.list[:0], to.buf[:0], 0
	switch form {
	case formFields:
		p.readFields(to, payload, d)
	case formTuple:
		p.readTuple(to, payload, d)
	}
}

func (p *argReader) readFields(to *arguments, rest []byte, d *declaration) {
	loose := maxArgs - 1
	if d.isLoose() {
		loose = len(d.params) - 1
	}
	for i := 0; ; i++ {
		field, more := rest, false
		if i < loose {
			field, rest, more = bytes.Cut(rest, tab)
		}
		param := p.param(d, i)
		a := argument{param: param}
		if !a.readNumber(field, param, false) {
			p.text(to, &a, field, p.raw)
		}
		to.list = append(to.list, a)
		if !more {
			return
		}
	}
}

var tab = []byte{'\t'}

func (p *argReader) readTuple(to *arguments, rest []byte, d *declaration) {
	for i := 0; len(rest) > 0; i++ {
		tag := rest[0]
		size, n := binary.Uvarint(rest[1:])
		field := rest[1+n:][:size]
		rest = rest[1+n:][size:]
		a := argument{param: p.param(d, i)}
		if tag == tupleText && a.param.typ == typeAuto || !a.readNumber(field, a.param, true) {
			p.text(to, &a, field, true)
		}
		to.list = append(to.list, a)
	}
}

// param returns the declaration of an argument; for an undeclared argument, it returns a declaration with only a name.
func (p *argReader) param(d *declaration, i int) *parameter {
	if d != nil && i < len(d.params) {
		return &d.params[i]
	}
	for len(p.undeclared) <= i {
		p.undeclared = append(p.undeclared, &parameter{name: undeclaredName(len(p.undeclared))})
	}
	return p.undeclared[i]
}

// readNumber reads a field that is declared as a number, or is undeclared and looks like a number. It returns false for a text.
func (a *argument) readNumber(field []byte, param *parameter, anyInteger bool) (ok bool) {
	var hex bool
	switch param.typ {
	case typeStr:
		return false
	case typeAuto:
		if a.value, hex, ok = number(field); !ok || !anyInteger && !isUndeclaredNumber(field, hex) {
			return false
		}
		switch {
		case hex:
			a.kind = argPointer
		case a.value > math.MaxInt64 && field[0] != '-':
			a.kind = argUint
		default:
			a.kind = argInt
		}
		return true
	}
	if a.value, _, ok = number(field); !ok {
		return false
	}
	switch param.typ {
	case typePtr:
		a.kind = argPointer
	case typeUint:
		a.kind = argUint
	case typeEnum:
		a.kind = argOther
		if a.value < uint64(len(param.labels)) {
			a.kind, a.text = argEnum, param.labels[a.value]
		}
	default:
		a.kind = argInt
	}
	return true
}

// number reads a decimal or hexadecimal number with an optional minus sign, modulo 2^64.
func number(field []byte) (v uint64, hex, ok bool) {
	digits, negative := bytes.CutPrefix(field, []byte("-"))
	base := 10
	if digits, hex = bytes.CutPrefix(digits, []byte("0x")); hex {
		base = 16
	}
	v, err := strconv.ParseUint(string(digits), base, 64)
	if err != nil || negative && v > 1<<63 || len(digits) > 40 {
		return 0, hex, false
	}
	if negative {
		v = -v
	}
	return v, hex, true
}

// isUndeclaredNumber reports whether a number has a notation accepted for undeclared arguments: decimal without leading
// zeros, or hexadecimal without a sign.
func isUndeclaredNumber(field []byte, hex bool) bool {
	if hex {
		return field[0] != '-'
	}
	if field[0] == '-' {
		field = field[1:]
	}
	return len(field) == 1 || field[0] != '0'
}

// text reads a text up to its first NUL.
func (p *argReader) text(to *arguments, a *argument, field []byte, raw bool) {
	start := len(to.buf)
	if !raw && bytes.IndexByte(field, '\\') >= 0 {
		to.buf = appendText(to.buf, field)
		field = to.buf[start:]
	}
	if i := bytes.IndexByte(field, 0); i >= 0 {
		field = field[:i]
	}
	if len(field) >= p.truncatedAt {
		to.truncated++
	}
	if !utf8.Valid(field) {
		start = len(to.buf)
		to.buf = appendValid(to.buf, field, `\x`)
		field = to.buf[start:]
	}
	a.text = field[:len(field):len(field)]
}

// appendText appends an escaped text up to its first NUL.
func appendText(to, field []byte) []byte {
	for len(field) > 0 {
		i := bytes.IndexByte(field, '\\')
		if i < 0 {
			return append(to, field...)
		}
		to = append(to, field[:i]...)
		c, n := escape(field[i:])
		if c == 0 && n > 1 {
			return to
		}
		to = append(to, c)
		field = field[i+n:]
	}
	return to
}

// simpleEscapes maps letters after a backslash to their bytes.
var simpleEscapes = [256]byte{
	'n': '\n', 't': '\t', 'r': '\r', 'a': '\a', 'b': '\b', 'f': '\f', 'v': '\v', '\\': '\\', '"': '"', '\'': '\'', '?': '?',
}

// escape reads a C escape and returns its byte and length. Any other backslash is literal.
func escape(text []byte) (c byte, n int) {
	if len(text) < 2 {
		return '\\', 1
	}
	if c = simpleEscapes[text[1]]; c != 0 {
		return c, 2
	}
	if text[1] == 'x' {
		if c, ok := hexByte(text[2:]); ok {
			return c, 4
		}
		return '\\', 1
	}
	for n = 1; n < len(text) && n < 4 && text[n]-'0' < 8; n++ {
		c = c<<3 | (text[n] - '0')
	}
	if n == 1 {
		return '\\', 1
	}
	return c, n
}

// validName returns the display name of a thread or process.
func (p *argReader) validName(n name) string {
	var to arguments
	var a argument
	p.text(&to, &a, []byte(n.text), n.unescaped || p.raw)
	return string(a.text)
}

// argIDs are the ids of an argument's name, without and with the prefix "end.".
type argIDs struct{ plain, end timeline.KeyID }

// endPrefix is the prefix of the names of an end's arguments.
const endPrefix = "end."

// setKey writes the key of the next value, with endPrefix if ofEnd is set.
func (p *parameter) setKey(enc *timeline.ArgsEncoder, ofEnd bool) {
	id, prefix := &p.ids.plain, ""
	if ofEnd {
		id, prefix = &p.ids.end, endPrefix
	}
	if *id != 0 {
		enc.KeyWithID(*id)
		return
	}
	enc.Key([]byte(prefix + p.name))
	*id = enc.KeyID()
}
