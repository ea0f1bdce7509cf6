package message

import (
	"encoding/binary"

	"github.com/weft-trace/weft/internal/wire"
)

// List iterates over the messages of a repeated field. The zero List is empty.
type List struct {
	r     wire.Reader
	field int
}

func newList(msg []byte, field int) List { return List{wire.NewReader(msg), field} }

// Next advances to the next message.
func (l *List) Next() bool {
	for l.r.Next() {
		if l.r.Field() == l.field {
			return true
		}
	}
	return false
}

// Bytes returns the current message.
func (l *List) Bytes() []byte { return l.r.Bytes() }

// Err returns the error that stopped Next, if any.
func (l *List) Err() error { return l.r.Err() }

// appendVarints appends the values of r's current field, a repeated varint field in packed or plain form. From a broken packed
// field, it appends the values before the error.
func appendVarints(to []uint64, r *wire.Reader) []uint64 {
	if r.Type() != wire.Len {
		return append(to, r.Uint())
	}
	for p := wire.NewPacked(r.Bytes()); p.Next(); {
		to = append(to, p.Uint())
	}
	return to
}

// appendFixed64s is like appendVarints, but for a field of eight-byte values.
func appendFixed64s(to []uint64, r *wire.Reader) []uint64 {
	if r.Type() != wire.Len {
		return append(to, r.Uint())
	}
	for b := r.Bytes(); len(b) >= 8; b = b[8:] {
		to = append(to, binary.LittleEndian.Uint64(b))
	}
	return to
}
