package convert

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/collections"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/wire"
)

// endless is an input without end.
type endless struct {
	next func(i int) []byte
	rest []byte
	i    int
}

func (e *endless) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(e.rest) == 0 {
			e.rest = e.next(e.i)
			e.i++
		}
		k := copy(p[n:], e.rest)
		n, e.rest = n+k, e.rest[k:]
	}
	return n, nil
}

// packets returns the packets of an endless trace.
func packets(body func(i int) []byte) func(i int) []byte {
	return func(i int) []byte { return wire.AppendBytes(nil, schema.Trace_Packet, body(i)) }
}

// An input with unlimited data that must stay in memory causes an error; memory use stays within the limit for such data plus the
// other needs of a conversion.
func TestMemoryOfWhatIsHeld(t *testing.T) {
	recording.NeedAll(t, "measures memory")
	text := strings.Repeat("x", 1000)
	chrome := func(format string) func(i int) []byte {
		return func(i int) []byte {
			if i == 0 {
				return []byte("[")
			}
			return fmt.Appendf(nil, format+",\n", i)
		}
	}
	for name, next := range map[string]func(i int) []byte{
		"processes":     chrome(`{"ph":"X","pid":%[1]d,"tid":%[1]d,"ts":1,"dur":1,"name":"a"}`),
		"process names": chrome(`{"ph":"M","pid":%[1]d,"tid":1,"name":"process_name","args":{"name":"` + text + `"}}`),
		"async ids":     chrome(`{"ph":"b","pid":1,"tid":1,"ts":1,"id":%d,"cat":"c","name":"a"}`),
		"sequences": packets(func(i int) []byte {
			event := wire.AppendUint(wire.AppendUint(nil, schema.TrackEvent_Type, 3), schema.TrackEvent_TrackUUID, 1)
			packet := wire.AppendUint(wire.AppendUint(nil, schema.TracePacket_Timestamp, 1), schema.TracePacket_TrustedPacketSequenceID, uint64(i+1))
			packet = wire.AppendUint(packet, schema.TracePacket_SequenceFlags, 1)
			return wire.AppendBytes(packet, schema.TracePacket_TrackEvent, event)
		}),
		"track descriptors": packets(func(i int) []byte {
			track := wire.AppendBytes(wire.AppendUint(nil, schema.TrackDescriptor_UUID, uint64(i+1)), schema.TrackDescriptor_Name, []byte(text))
			return wire.AppendBytes(nil, schema.TracePacket_TrackDescriptor, track)
		}),
		"interned names": packets(func(i int) []byte {
			name := wire.AppendBytes(wire.AppendUint(nil, schema.EventName_IID, uint64(i+1)), schema.EventName_Name, binary.AppendVarint([]byte(text), int64(i)))
			packet := wire.AppendUint(nil, schema.TracePacket_TrustedPacketSequenceID, 1)
			if i == 0 {
				packet = wire.AppendUint(packet, schema.TracePacket_SequenceFlags, 1)
			}
			return wire.AppendBytes(packet, schema.TracePacket_InternedData, wire.AppendBytes(nil, schema.InternedData_EventNames, name))
		}),
	} {
		t.Run(name, func(t *testing.T) {
			w := &recording.MemoryWatch{Input: &endless{next: next}, Every: 4 << 20}
			_, err := Convert(t.Context(), io.Discard, w, Options{Workers: 1, Memory: 32 << 20, TempDir: t.TempDir()})
			var full *collections.MemoryLimitError
			if !errors.As(err, &full) {
				t.Fatalf("error %v after %d MiB", err, w.Size>>20)
			}
			t.Logf("%d MiB live after %d MiB of input", w.Peak>>20, w.Size>>20)
			if most := int64(256+128) << 20; w.Peak > most {
				t.Errorf("%d MiB live, want at most %d", w.Peak>>20, most>>20)
			}
		})
	}
}
