// Package wire appends and reads the protobuf wire format without generated code.
//
// All of weft's encoding tricks are here. The generated structs in gen/ are for users of the format, and an independent reference
// for tests; this package appends the millions of packets of a trace directly to a byte slice. It is fast because:
//
//   - tags are constants: the caller passes the field number, and the compiler reduces Tag to one or two stores;
//   - a message of unknown length gets one length byte, which is set when the message is complete. Almost all messages in a
//     trace are shorter than 128 bytes; longer ones are moved to make space for the rest of the length (EndMessage);
//   - nothing is allocated: every function appends to a given slice and returns it.
package wire

import "math"

// Wire types.
const (
	Varint  = 0
	Fixed64 = 1
	Len     = 2
	Fixed32 = 5
)

// AppendVarint appends v as a varint.
func AppendVarint(b []byte, v uint64) []byte {
	if v < 1<<7 {
		return append(b, byte(v))
	}
	return appendLongVarint(b, v)
}

func appendLongVarint(b []byte, v uint64) []byte {
	switch {
	case v < 1<<14:
		return append(b, byte(v)|0x80, byte(v>>7))
	case v < 1<<21:
		return append(b, byte(v)|0x80, byte(v>>7)|0x80, byte(v>>14))
	}
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

// SizeVarint returns the number of bytes that AppendVarint appends.
func SizeVarint(v uint64) int {
	n := 1
	for v >= 0x80 {
		v >>= 7
		n++
	}
	return n
}

// AppendTag appends the tag of a field.
func AppendTag(b []byte, field, wireType int) []byte {
	if field < 1<<4 {
		return append(b, byte(field<<3|wireType))
	}
	return appendLongTag(b, field, wireType)
}

func appendLongTag(b []byte, field, wireType int) []byte {
	return AppendVarint(b, uint64(field)<<3|uint64(wireType))
}

// AppendUint appends a varint field of type uint64, uint32 or enum.
func AppendUint(b []byte, field int, v uint64) []byte {
	return AppendVarint(AppendTag(b, field, Varint), v)
}

// AppendInt appends a varint field of type int64 or int32. Negative values take ten bytes.
func AppendInt(b []byte, field int, v int64) []byte { return AppendUint(b, field, uint64(v)) }

// AppendSint appends a field of type sint64, which is zigzag-encoded.
func AppendSint(b []byte, field int, v int64) []byte {
	return AppendUint(b, field, uint64(v<<1)^uint64(v>>63))
}

// AppendBool appends a bool field.
func AppendBool(b []byte, field int, v bool) []byte {
	if v {
		return append(AppendTag(b, field, Varint), 1)
	}
	return append(AppendTag(b, field, Varint), 0)
}

// AppendFixed64 appends a fixed64 field.
func AppendFixed64(b []byte, field int, v uint64) []byte {
	b = AppendTag(b, field, Fixed64)
	return append(b, byte(v), byte(v>>8), byte(v>>16), byte(v>>24), byte(v>>32), byte(v>>40), byte(v>>48), byte(v>>56))
}

// AppendFixed32 appends a fixed32 field.
func AppendFixed32(b []byte, field int, v uint32) []byte {
	b = AppendTag(b, field, Fixed32)
	return append(b, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
}

// AppendDouble appends a double field.
func AppendDouble(b []byte, field int, v float64) []byte {
	return AppendFixed64(b, field, math.Float64bits(v))
}

// AppendBytes appends a bytes or message field.
func AppendBytes(b []byte, field int, v []byte) []byte {
	b = AppendVarint(AppendTag(b, field, Len), uint64(len(v)))
	return append(b, v...)
}

// AppendString appends a string field. v must be UTF-8.
func AppendString(b []byte, field int, v string) []byte {
	b = AppendVarint(AppendTag(b, field, Len), uint64(len(v)))
	return append(b, v...)
}

// BeginMessage appends the tag of a message field and one byte for its length. The caller passes mark to EndMessage.
func BeginMessage(b []byte, field int) (out []byte, mark int) {
	b = append(AppendTag(b, field, Len), 0)
	return b, len(b)
}

// EndMessage sets the length of the message started at mark. If the length takes more than one byte, the message is moved.
func EndMessage(b []byte, mark int) []byte {
	n := len(b) - mark
	if n < 1<<7 {
		b[mark-1] = byte(n)
		return b
	}
	extra := SizeVarint(uint64(n)) - 1
	for range extra {
		b = append(b, 0)
	}
	copy(b[mark+extra:], b[mark:mark+n])
	AppendVarint(b[:mark-1], uint64(n))
	return b
}
