package wire

import (
	"encoding/binary"
	"errors"
	"math"
)

// Errors from a Reader, which describe the bytes at Reader.Offset.
var (
	// ErrTruncated: the message ends in the middle of a field.
	ErrTruncated = errors.New("message ends inside a field")
	// ErrVarint: a varint is longer than ten bytes or does not fit in 64 bits.
	ErrVarint = errors.New("varint does not fit 64 bits")
	// ErrField: a field number is 0 or above MaxField.
	ErrField = errors.New("invalid field number")
	// ErrType: the wire type of a field is unknown. Groups count as unknown: traces do not use them, and Perfetto cannot read
	// them.
	ErrType = errors.New("invalid wire type")
)

// MaxField is the largest protobuf field number.
const MaxField = 1<<29 - 1

// Reader iterates over the fields of an encoded message. It neither allocates nor copies, and never panics:
//
//	for r := wire.NewReader(b); r.Next(); {
//		switch r.Field() {
//		case 8:
//			ts = r.Uint()
//		}
//	}
//
// After the loop, r.Err() reports whether the whole message was read. A Reader does not know the message's schema; callers that
// must distinguish wire types check Type or Tag. Accessors of the wrong type return zero values.
type Reader struct {
	buf   []byte
	pos   int // end of the current field
	start int // start of the current field's tag
	body  int // start of the current field's bytes; 0: it has none
	tag   uint32
	value uint64
	err   error
}

// NewReader returns a Reader for the message in b, without copying it.
func NewReader(b []byte) Reader { return Reader{buf: b} }

// Next advances to the next field. It returns false at the end of the message and at the first error.
func (r *Reader) Next() bool {
	pos := r.pos
	if pos >= len(r.buf) || r.err != nil {
		return false
	}
	r.start, r.value, r.body = pos, 0, 0
	var err error
	tag := uint64(r.buf[pos])
	if pos++; tag >= 0x80 {
		if tag, pos, err = longVarint(r.buf, pos-1); err != nil {
			return r.fail(err)
		}
	}
	if tag>>3 == 0 || tag>>3 > MaxField {
		return r.fail(ErrField)
	}
	r.tag = uint32(tag)
	switch tag & 7 {
	case Varint:
		if pos < len(r.buf) && r.buf[pos] < 0x80 {
			r.value = uint64(r.buf[pos])
			pos++
		} else if r.value, pos, err = longVarint(r.buf, pos); err != nil {
			return r.fail(err)
		}
	case Len:
		var n uint64
		if pos < len(r.buf) && r.buf[pos] < 0x80 {
			n = uint64(r.buf[pos])
			pos++
		} else if n, pos, err = longVarint(r.buf, pos); err != nil {
			return r.fail(err)
		}
		if n > uint64(len(r.buf)-pos) {
			return r.fail(ErrTruncated)
		}
		r.body = pos
		pos += int(n)
	case Fixed64:
		if len(r.buf)-pos < 8 {
			return r.fail(ErrTruncated)
		}
		r.value = binary.LittleEndian.Uint64(r.buf[pos:])
		pos += 8
	case Fixed32:
		if len(r.buf)-pos < 4 {
			return r.fail(ErrTruncated)
		}
		r.value = uint64(binary.LittleEndian.Uint32(r.buf[pos:]))
		pos += 4
	default:
		return r.fail(ErrType)
	}
	r.pos = pos
	return true
}

func (r *Reader) fail(err error) bool {
	r.err = err
	r.tag, r.value, r.body = 0, 0, 0
	return false
}

// Field returns the number of the current field.
func (r *Reader) Field() int { return int(r.tag >> 3) }

// Type returns the wire type of the current field: Varint, Fixed64, Len or Fixed32.
func (r *Reader) Type() int { return int(r.tag & 7) }

// Tag returns the field number and wire type, encoded as by the function Tag.
func (r *Reader) Tag() uint32 { return r.tag }

// Tag returns the tag of a field.
func Tag(field, wireType int) uint32 { return uint32(field)<<3 | uint32(wireType) }

// Uint returns the value of a field of type uint64, uint32, fixed64, fixed32 or enum.
func (r *Reader) Uint() uint64 { return r.value }

// Int returns the value of a field of type int64, int32 or sfixed64.
func (r *Reader) Int() int64 { return int64(r.value) }

// Sint returns the value of a field of type sint64, which is zigzag-encoded.
func (r *Reader) Sint() int64 { return int64(r.value>>1) ^ -int64(r.value&1) }

// Bool returns the value of a bool field.
func (r *Reader) Bool() bool { return r.value != 0 }

// Double returns the value of a double field.
func (r *Reader) Double() float64 { return math.Float64frombits(r.value) }

// Bytes returns the contents of a string, bytes, message or packed field, as a slice of the Reader's buffer.
func (r *Reader) Bytes() []byte {
	if r.body == 0 {
		return nil
	}
	return r.buf[r.body:r.pos:r.pos]
}

// Raw returns the encoded current field including its tag, as a slice of the Reader's buffer.
func (r *Reader) Raw() []byte {
	if r.err != nil {
		return nil
	}
	return r.buf[r.start:r.pos:r.pos]
}

// Offset returns the position of the current field in the message, or of the field with the error.
func (r *Reader) Offset() int { return r.start }

// Err returns the error that stopped Next, if any.
func (r *Reader) Err() error { return r.err }

// Packed iterates over the varints of a packed repeated field. Errors are as in Reader.
type Packed struct {
	buf   []byte
	pos   int
	value uint64
	err   error
}

// NewPacked returns a Packed for the contents of a packed field.
func NewPacked(b []byte) Packed { return Packed{buf: b} }

// Next advances to the next value.
func (p *Packed) Next() bool {
	if p.err != nil || p.pos >= len(p.buf) {
		return false
	}
	p.value, p.pos, p.err = longVarint(p.buf, p.pos)
	return p.err == nil
}

// Uint returns the current value.
func (p *Packed) Uint() uint64 { return p.value }

// Err returns the error that stopped Next, if any.
func (p *Packed) Err() error { return p.err }

// longVarint reads the varint at pos, which may be the end of b, and returns the position after it. Next itself reads varints of
// one byte, the most common ones.
func longVarint(b []byte, pos int) (v uint64, next int, err error) {
	for i, c := range b[pos:] {
		if i == 9 && c > 1 {
			return 0, pos, ErrVarint
		}
		v |= uint64(c&0x7f) << (7 * i & 63)
		if c < 0x80 {
			return v, pos + i + 1, nil
		}
	}
	return 0, pos, ErrTruncated
}
