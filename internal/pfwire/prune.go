package pfwire

import (
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/wire"
)

// maxPruneDepth limits how deeply nested messages are checked, as in verification.
const maxPruneDepth = 600

var packetSchema = &schema.Messages[schema.MessageTracePacket]

// isWhole reports whether a packet and everything in it can be parsed.
func isWhole(packet []byte) bool { return parsesMessage(packetSchema, packet, 0) }

// prune appends a message to dst, except the fields that cannot be parsed, which the reader also skips. It drops list elements
// as a whole. It returns false, and appends nothing, if the message itself is truncated or has an invalid field.
func prune(dst, msg []byte, m *schema.Message, depth int) (_ []byte, ok bool) {
	from := len(dst)
	r := wire.NewReader(msg)
	for r.Next() {
		f := fieldOf(m, r.Field())
		switch {
		case f == nil:
		case f.Message != 0 && !f.Repeated && r.Type() == wire.Len && depth < maxPruneDepth:
			pruned, ok := prune(nil, r.Bytes(), &schema.Messages[f.Message], depth+1)
			switch {
			case ok && len(pruned) != len(r.Bytes()):
				dst = wire.AppendBytes(dst, r.Field(), pruned)
				continue
			case !ok:
				continue
			}
		case !parses(f, &r, depth):
			continue
		}
		dst = append(dst, r.Raw()...)
	}
	if r.Err() != nil {
		return dst[:from], false
	}
	return dst, true
}

// parses reports whether a field has the schema's type, and everything in it can be parsed.
func parses(f *schema.Field, r *wire.Reader, depth int) bool {
	switch {
	case f.Repeated && f.WireType != wire.Len && r.Type() == wire.Len:
		return parsesPacked(int(f.WireType), r.Bytes())
	case int(f.WireType) != r.Type() || depth >= maxPruneDepth:
		return false
	case f.Message == 0:
		return true
	}
	return parsesMessage(&schema.Messages[f.Message], r.Bytes(), depth+1)
}

func parsesMessage(m *schema.Message, msg []byte, depth int) bool {
	r := wire.NewReader(msg)
	for r.Next() {
		if f := fieldOf(m, r.Field()); f != nil && !parses(f, &r, depth) {
			return false
		}
	}
	return r.Err() == nil
}

func parsesPacked(wireType int, b []byte) bool {
	switch wireType {
	case wire.Fixed64:
		return len(b)%8 == 0
	case wire.Fixed32:
		return len(b)%4 == 0
	}
	p := wire.NewPacked(b)
	for p.Next() {
	}
	return p.Err() == nil
}

// fieldOf returns a field of a message, or nil if weft's part of the schema lacks it.
func fieldOf(m *schema.Message, number int) *schema.Field {
	for i := range m.Fields {
		if int(m.Fields[i].Number) == number {
			return &m.Fields[i]
		}
	}
	return nil
}
