package pfwire

import (
	"testing"

	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/wire"
)

// Input that starts like a trace must contain a message that can be a packet, wherever the head ends.
func TestLooksLikeTrace(t *testing.T) {
	packet := func(msg []byte) []byte { return wire.AppendBytes(nil, schema.Trace_Packet, msg) }
	timed := wire.AppendUint(nil, schema.TracePacket_Timestamp, 1<<40)
	events := wire.AppendBytes(wire.AppendUint(timed, schema.TracePacket_TrustedUID, 9999), 1, []byte{0x08, 0x01})
	for name, head := range map[string][]byte{
		"empty packets":           {packetTag, 0, packetTag, 0},
		"ftrace":                  packet(events),
		"after damage":            append(packet([]byte{0x0f}), packet(timed)...),
		"after another field":     append(packet(nil), append([]byte{0x10, 1}, packet(timed)...)...),
		"bundle":                  packet(wire.AppendBytes(nil, schema.TracePacket_ZstdCompressedPackets, make([]byte, 1000))),
		"interned data":           packet(wire.AppendBytes(timed, schema.TracePacket_InternedData, []byte{0x0a, 0})),
		"payload of a later year": packet(wire.AppendBytes(nil, 999, []byte("x"))),
	} {
		for cut := 2; cut <= len(head); cut++ {
			if name == "after damage" && 2 < cut && cut < 6 {
				continue
			}
			if !LooksLikeTrace(head[:cut]) {
				t.Errorf("%s: the first %d of %d bytes are not recognized", name, cut, len(head))
			}
		}
	}
	for name, head := range map[string][]byte{
		"nothing":           {},
		"new lines":         []byte("\n\n\n"),
		"JSON":              []byte("\n{\"a\":1}"),
		"value type":        packet([]byte{0x08, 1, 0x10, 2}),
		"text":              packet([]byte("text of twenty bytes")),
		"two payloads":      packet(wire.AppendString(wire.AppendString(nil, 1, "name"), 2, "package")),
		"fixed64":           packet(wire.AppendFixed64(nil, schema.TracePacket_Timestamp, 1)),
		"no field":          packet([]byte{0x07}),
		"only other fields": append([]byte{packetTag, 1, 0x0f}, 0x12, 0),
	} {
		if LooksLikeTrace(head) {
			t.Errorf("%s is taken for a trace", name)
		}
	}
}
