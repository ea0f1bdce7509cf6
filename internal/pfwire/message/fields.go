package message

import (
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/wire"
)

// fields locates the fields of a small or rare message. Such a message embeds fields. It has a method Parse, which names its
// type, and a method for each field that weft reads, which decodes the last occurrence of the field. Missing values are 0, false
// or nil. A field with a wire type other than the schema's counts as unknown, as in protobuf: it is missing, and reported by
// Mistyped.
type fields struct {
	msg      []byte
	types    *wireTypes
	last     [numFields + 1]uint32 // start of the last occurrence, plus 1; 0: missing
	more     bool                  // there are unknown fields
	mistyped bool                  // some of them are known fields with another wire type
}

// numFields is greater than the numbers of all fields except weft's own. A message has at most one of weft's own fields, in the
// last slot.
const (
	numFields = 24
	weftField = schema.TrackDescriptor_WeftMark
	weftSlot  = numFields
)

// parse locates the fields of msg, whose type is schema.Messages[message].
func (f *fields) parse(msg []byte, message int) error {
	*f = fields{msg: msg, types: &messageTypes[message]}
	r := wire.NewReader(msg)
	for r.Next() {
		switch i, ok := slot(r.Field()); {
		case !ok || f.types[i] == unknownField:
			f.more = true
		case f.types[i].fits(r.Type()):
			f.last[i] = uint32(r.Offset()) + 1
		default:
			f.more, f.mistyped = true, true
		}
	}
	return r.Err()
}

// Mistyped returns the numbers of the fields with a wire type other than the schema's, once for each occurrence.
func (f *fields) Mistyped() (numbers []int) {
	if !f.mistyped {
		return nil
	}
	for r := wire.NewReader(f.msg); r.Next(); {
		if i, ok := slot(r.Field()); ok && f.types[i] != unknownField && !f.types[i].fits(r.Type()) {
			numbers = append(numbers, r.Field())
		}
	}
	return numbers
}

// slot returns the index of a field in last and types.
func slot(field int) (i int, ok bool) {
	if field == weftField {
		return weftSlot, true
	}
	return field, field < numFields
}

// at returns the start of a field's last occurrence, plus 1, or 0 if the field is missing.
func (f *fields) at(field int) uint32 {
	i, _ := slot(field)
	return f.last[i]
}

func (f *fields) has(field int) bool { return f.at(field) != 0 }

// field returns a Reader positioned at the last occurrence of a field.
func (f *fields) field(field int) (r wire.Reader) {
	if at := f.at(field); at != 0 {
		r = wire.NewReader(f.msg[at-1:])
		r.Next()
	}
	return r
}

func (f *fields) uint(field int) uint64 {
	r := f.field(field)
	return r.Uint()
}

func (f *fields) int(field int) int64 { return int64(f.uint(field)) }

func (f *fields) bytes(field int) []byte {
	r := f.field(field)
	return r.Bytes()
}

// oneof returns the one of several fields that occurs last, or 0 if all are missing.
func (f *fields) oneof(list ...int) (field int) {
	last := uint32(0)
	for _, n := range list {
		if at := f.at(n); at > last {
			field, last = n, at
		}
	}
	return field
}

// either returns a message or the iid of one, whichever occurs last.
func (f *fields) either(msg, iid int) Ref {
	if f.oneof(msg, iid) == iid {
		return Ref{IID: f.uint(iid)}
	}
	return Ref{Msg: f.bytes(msg)}
}

// Ref is a message, or the iid of an interned one.
type Ref struct {
	Msg []byte // nil: see IID
	IID uint64 // 0: no message
}

// list returns the messages in a repeated field. Mistyped ones are nil.
func (f *fields) list(field int) List { return newList(f.msg, field) }

// texts returns the texts in a repeated field.
func (f *fields) texts(field int) (all [][]byte) {
	for l := f.list(field); l.Next(); {
		all = append(all, l.Bytes())
	}
	return all
}

// varints appends the values in a repeated field.
func (f *fields) varints(to []uint64, field int) []uint64 {
	if !f.has(field) {
		return to
	}
	for r := wire.NewReader(f.msg); r.Next(); {
		if r.Field() == field && (r.Type() == wire.Varint || r.Type() == wire.Len) {
			to = appendVarints(to, &r)
		}
	}
	return to
}

// beyond returns the numbers of all fields except the correctly typed ones in the bit set known.
func (f *fields) beyond(known uint32) (numbers []int) {
	others := f.more
	for n := range f.last {
		others = others || f.last[n] != 0 && known>>n&1 == 0
	}
	if !others {
		return nil
	}
	for r := wire.NewReader(f.msg); r.Next(); {
		if i, ok := slot(r.Field()); !ok || known>>i&1 == 0 || !f.types[i].fits(r.Type()) {
			numbers = append(numbers, r.Field())
		}
	}
	return numbers
}

// fieldType is the wire type of a field plus 1, with the flag repeatedField if the field is repeated.
type fieldType uint8

const (
	unknownField  fieldType = 0
	repeatedField fieldType = 1 << 4
)

// fits reports whether the field can have a wire type: its own or, if the field is repeated, the wire type of packed lists.
func (t fieldType) fits(wireType int) bool {
	return t&^repeatedField == fieldType(wireType)+1 || t&repeatedField != 0 && wireType == wire.Len
}

// wireTypes holds the types of a message's fields, by slot.
type wireTypes [numFields + 1]fieldType

// messageTypes holds the field types of all messages, by index in schema.Messages.
var messageTypes = func() (all [len(schema.Messages)]wireTypes) {
	for m := range schema.Messages {
		for _, f := range schema.Messages[m].Fields {
			i, ok := slot(int(f.Number))
			if !ok {
				continue
			}
			all[m][i] = fieldType(f.WireType) + 1
			if f.Repeated {
				all[m][i] |= repeatedField
			}
		}
	}
	return all
}()
