package pfwire

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/wire"
)

// LooksLikeTrace reports whether the head of an input looks like a Perfetto trace: packets, each preceded by the tag of field 1
// (perfetto.md 2). Other protobuf files start with that tag too, and a line feed is the same byte, so one of the packets must
// look valid, unless all are empty.
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
	rest := head[r.Offset():]
	if !errors.Is(r.Err(), wire.ErrTruncated) || rest[0] != packetTag {
		return empty && errors.Is(r.Err(), wire.ErrTruncated)
	}
	_, n := binary.Uvarint(rest[1:])
	return isPacket(rest[1+max(n, 0):], true)
}

// packetTag is the tag of a packet in a trace.
const packetTag = schema.Trace_Packet<<3 | wire.Len

// IsPacket reports whether a message can be a packet: it has fields, all with the types of the schema, and at most one payload.
func IsPacket(msg []byte) bool { return isPacket(msg, false) }

// isPacket is like IsPacket, but for a message that may be truncated.
func isPacket(msg []byte, truncated bool) bool {
	fields, payloads := 0, 0
	fits := func(tag uint64) bool {
		ok, isPayload := packetField(tag)
		if fields++; isPayload {
			payloads++
		}
		return ok && payloads <= 1
	}
	r := wire.NewReader(msg)
	for r.Next() {
		if !fits(uint64(r.Tag())) {
			return false
		}
	}
	if r.Err() != nil {
		if !truncated || !errors.Is(r.Err(), wire.ErrTruncated) {
			return false
		}
		if tag, n := binary.Uvarint(msg[r.Offset():]); n > 0 && !fits(tag) {
			return false
		}
	}
	return fields > 0 || truncated
}

// packetField reports whether packets can have a field with the given tag, and whether it is a payload. Message fields with
// unknown numbers count as payloads, because weft knows only part of Perfetto's schema.
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
		return true, false // another wire type is counted later
	case schema.TracePacket_InternedData, schema.TracePacket_TracePacketDefaults:
		return tag&7 == wire.Len, false
	default:
		return tag&7 == wire.Len && field > 0 && field <= lastExtension, true
	}
}

// isJSON reports whether the head of an input is JSON, perhaps after white space. Such text is not a packet: the contents of
// packets never start with a quote or a bracket.
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
