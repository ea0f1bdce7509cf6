package pfwire

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/weft-trace/weft/gen/perfetto/protos"
	"github.com/weft-trace/weft/internal/timeline"
)

// There is one clock snapshot if the input identifies its clock, and none otherwise.
func TestClockSnapshot(t *testing.T) {
	readings := []timeline.ClockReading{{Clock: 3, Time: 100}, {Clock: 1, Time: 5000}}
	for _, c := range []struct {
		name    string
		prepare func(*timeline.Builder)
		want    string
	}{
		{"unknown", nil, ""},
		{"domain", func(b *timeline.Builder) { b.SetAttribute(attributeClockDomain, linuxMonotonicClockDomain) },
			`clocks { clock_id: 6 timestamp: 7 } clocks { clock_id: 3 timestamp: 7 }`},
		{"named", func(b *timeline.Builder) { b.SetClocks(timeline.Clocks{Trace: 3}) },
			`clocks { clock_id: 6 timestamp: 7 } clocks { clock_id: 3 timestamp: 7 }`},
		{"wall time", func(b *timeline.Builder) { b.SetClocks(timeline.Clocks{Trace: 3, Readings: readings}) },
			`clocks { clock_id: 6 timestamp: 100 } clocks { clock_id: 3 timestamp: 100 } clocks { clock_id: 1 timestamp: 5000 }`},
		{"boottime known", func(b *timeline.Builder) {
			b.SetClocks(timeline.Clocks{Trace: 3, Readings: append(readings, timeline.ClockReading{Clock: 6, Time: 900})})
		}, `clocks { clock_id: 3 timestamp: 100 } clocks { clock_id: 1 timestamp: 5000 } clocks { clock_id: 6 timestamp: 900 } primary_trace_clock: BUILTIN_CLOCK_MONOTONIC`},
	} {
		trace := write(t, build(t, "I 1/1 a 7", c.prepare), Options{})
		var got []*protos.ClockSnapshot
		for _, p := range decode(t, trace).Packet {
			if s := p.GetClockSnapshot(); s != nil {
				got = append(got, s)
			}
		}
		var want []*protos.ClockSnapshot
		if c.want != "" {
			want = append(want, new(protos.ClockSnapshot))
			if err := prototext.Unmarshal([]byte(c.want), want[0]); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// A trace contains the version of the weft that wrote it exactly once.
func TestVersionIsWrittenOnce(t *testing.T) {
	trace := write(t, build(t, "I 1/1 a 7", func(b *timeline.Builder) { b.SetOwnAttribute(timeline.Attribute{Key: AttributeVersion, Text: "0.0.1"}) }), Options{})
	for _, p := range decode(t, trace).Packet {
		for _, a := range p.GetTraceAttributes().GetAttribute() {
			if a.GetStringValue() != Version {
				t.Errorf("attribute %v", a)
			}
		}
	}
}
