package pftrace

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/weft-trace/weft/gen/perfetto/protos"
	"github.com/weft-trace/weft/internal/timeline"
)

// What the timeline says of its samples are the defaults of all samples.
func TestSampleDefaults(t *testing.T) {
	for _, c := range []struct {
		described timeline.SampleDescription
		want      string
	}{
		{timeline.SampleDescription{}, `source: "trace_event" primary_descriptor { name: "samples" unit: UNIT_COUNT }`},
		{timeline.SampleDescription{Source: "chrome"}, `source: "chrome" primary_descriptor { name: "samples" unit: UNIT_COUNT }`},
		{timeline.SampleDescription{Source: "gecko", Counter: "cpu", Unit: 1}, `source: "gecko" primary_descriptor { name: "cpu" unit: UNIT_NANOSECONDS }`},
		{timeline.SampleDescription{Counter: "cpu"}, `source: "trace_event" primary_descriptor { name: "cpu" }`},
		{timeline.SampleDescription{Counter: "fuel", UnitName: "l"}, `source: "trace_event" primary_descriptor { name: "fuel" unit_str: "l" }`},
	} {
		tl := build(t, "S 1/1 5 7 stack=a;b", func(b *timeline.Builder) { b.DescribeSamples(c.described) })
		want := new(protos.StackSampleDefaults)
		if err := prototext.Unmarshal([]byte(c.want), want); err != nil {
			t.Fatal(err)
		}
		var got *protos.StackSampleDefaults
		for _, p := range decode(t, write(t, tl, Options{})).Packet {
			if d := p.GetTracePacketDefaults(); d != nil {
				got = d.GetStackSampleDefaults()
			}
		}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.described, diff)
		}
	}
}
