package perfetto

import (
	"bytes"
	"context"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weft-trace/weft/gen/perfetto/protos"
	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/pftrace"
)

// The start of tracing is kept as an event from the tracing service, on the clock of the trace.
func TestStartedIsKept(t *testing.T) {
	const snapshot = `packet { clock_snapshot { clocks { clock_id: 6 timestamp: 1000 } clocks { clock_id: 3 timestamp: 400 } primary_trace_clock: BUILTIN_CLOCK_MONOTONIC } }`
	for name, c := range map[string]struct {
		trace string
		want  int64
		clock uint32
	}{
		"without clocks":       {`packet { timestamp: 90 service_event { tracing_started: true } }`, 90, 0},
		"in BOOTTIME":          {snapshot + `packet { timestamp: 900 service_event { tracing_started: true } }`, 300, 3},
		"before the snapshot":  {`packet { timestamp: 900 service_event { tracing_started: true } }` + snapshot, 300, 3},
		"in a clock that says": {snapshot + `packet { timestamp: 300 timestamp_clock_id: 3 service_event { tracing_started: true } }`, 300, 3},
		"another event":        {`packet { timestamp: 90 service_event { } }`, -1, 0},
		"without time":         {`packet { service_event { tracing_started: true } }`, -1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			encoded := encode(t, oneThread+c.trace+`packet { trusted_packet_sequence_id: 1 timestamp: 500 track_event { type: TYPE_INSTANT track_uuid: 2 name: "a" } }`)
			for range 2 { // and read back
				tl := readTrace(t, encoded).timeline
				got := int64(-1)
				for _, a := range tl.Attributes() {
					if a.Key == pfwire.AttributeStarted && a.IsInt {
						got = a.Int
					}
				}
				if got != c.want {
					t.Errorf("%d, want %d", got, c.want)
				}
				var out bytes.Buffer
				if err := pftrace.Write(context.Background(), &out, traceOf(context.Background(), tl), pftrace.Options{}); err != nil {
					t.Fatal(err)
				}
				encoded = out.Bytes()
				checkStarted(t, encoded, c.want, c.clock)
			}
		})
	}
}

// checkStarted looks for the event in the packets of a trace.
func checkStarted(t *testing.T, encoded []byte, want int64, clock uint32) {
	t.Helper()
	var written protos.Trace
	if err := proto.Unmarshal(encoded, &written); err != nil {
		t.Fatal(err)
	}
	events := 0
	for _, p := range written.Packet {
		if p.GetServiceEvent().GetTracingStarted() {
			events++
			if int64(p.GetTimestamp()) != want || p.GetTimestampClockId() != clock || p.GetTrustedPacketSequenceId() != 0 {
				t.Errorf("%v, want %d", p, want)
			}
		}
	}
	if events > 1 || events == 0 && want >= 0 {
		t.Errorf("%d events of the service", events)
	}
	if report, err := pftrace.Verify(context.Background(), bytes.NewReader(encoded), pftrace.VerifyOptions{}); err != nil || !report.OK() {
		t.Errorf("%v, %+v", err, report)
	}
}
