package pfwire

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/wire"
)

// LooksLikeTrace reports whether the head of an input is a Perfetto trace: a file of packets, each preceded by the tag of field 1
// (perfetto.md 2). Other files of protobuf begin with that tag as well, and a line feed is the same byte. So one of the packets has to
// look like one, unless all are empty.
func LooksLikeTrace(head []byte) bool {
	if len(head) == 0 || head[0] != packetTag || isJSON(head) {
		return false
	}
	empty := true
	r := wire.NewReader(head)
	for r.Next() {
		if r.Tag() != packetTag || len(r.Bytes()) == 0 {
			continue
		}
		if IsPacket(r.Bytes()) {
			return true
		}
		empty = false
	}
	if r.Err() == nil {
		return empty
	}
	cut := head[r.Offset():]
	if !errors.Is(r.Err(), wire.ErrTruncated) || cut[0] != packetTag {
		return empty && errors.Is(r.Err(), wire.ErrTruncated)
	}
	_, n := binary.Uvarint(cut[1:])
	return isPacket(cut[1+max(n, 0):], true)
}

// packetTag is the tag of a packet in a trace.
const packetTag = schema.Trace_Packet<<3 | wire.Len

// IsPacket reports whether a message may be a packet: it has fields, all with the types that the schema gives them, and at most one payload.
func IsPacket(msg []byte) bool { return isPacket(msg, false) }

// isPacket is IsPacket for a message that may be cut.
func isPacket(msg []byte, cut bool) bool {
	fields, payloads := 0, 0
	take := func(tag uint64) bool {
		ok, isPayload := packetField(tag)
		if fields++; isPayload {
			payloads++
		}
		return ok && payloads <= 1
	}
	r := wire.NewReader(msg)
	for r.Next() {
		if !take(uint64(r.Tag())) {
			return false
		}
	}
	if r.Err() != nil {
		if !cut || !errors.Is(r.Err(), wire.ErrTruncated) {
			return false
		}
		if tag, n := binary.Uvarint(msg[r.Offset():]); n > 0 && !take(tag) {
			return false
		}
	}
	return fields > 0 || cut
}

// packetField reports whether packets have a field with a tag, and whether it is a payload: any message with an unknown number,
// because Perfetto's schema has many more than weft knows.
func packetField(tag uint64) (ok, isPayload bool) {
	const lastExtension = 1999
	switch field := tag >> 3; field {
	case schema.TracePacket_TrustedUID, schema.TracePacket_Timestamp, schema.TracePacket_TrustedPacketSequenceID, schema.TracePacket_SequenceFlags,
		schema.TracePacket_IncrementalStateCleared, schema.TracePacket_PreviousPacketDropped, schema.TracePacket_TimestampClockID,
		schema.TracePacket_TrustedPID, schema.TracePacket_FirstPacketOnSequence, schema.TracePacket_MachineID:
		return tag&7 == wire.Varint, false
	case schema.TracePacket_WeftThreadTime, schema.TracePacket_WeftDidNotEnd, schema.TracePacket_WeftThread, schema.TracePacket_WeftThreadTimeDelta,
		schema.TracePacket_WeftIdle, schema.TracePacket_WeftIdleSample, schema.TracePacket_WeftFlowSteps,
		schema.TracePacket_WeftFolded, schema.TracePacket_WeftLevels:
		return true, false // another type is counted
	case schema.TracePacket_InternedData, schema.TracePacket_TracePacketDefaults:
		return tag&7 == wire.Len, false
	default:
		return tag&7 == wire.Len && field > 0 && field <= lastExtension, true
	}
}

// isJSON reports whether the head of an input is white space and JSON. That wins where both readings are possible: a packet whose content
// would begin with a quote or a bracket does not exist.
func isJSON(head []byte) bool {
	text := bytes.TrimLeft(head, " \t\r\n")
	if len(text) == 0 {
		return true
	}
	inner := bytes.TrimLeft(text[1:], " \t\r\n")
	switch text[0] {
	case '{':
		return len(inner) == 0 || inner[0] == '"' || inner[0] == '}'
	case '[':
		return len(inner) == 0 || inner[0] == '{' || inner[0] == ']' || inner[0] == ','
	}
	return false
}
