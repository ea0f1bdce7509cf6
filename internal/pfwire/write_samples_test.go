package pfwire

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

// The file of a frame is bare: viewers put the line after it. The column has a field that only weft reads, so that functions
// at two columns of a line share all else.
func TestFramePosition(t *testing.T) {
	tl := build(t, "", func(b *timeline.Builder) {
		thread := b.Thread(b.Process(timeline.ProcessKey{Num: 1}), timeline.ThreadKey{Num: 2})
		first := b.PushFrame(0, b.Frame(timeline.Frame{Function: "f", File: "http://127.0.0.1/main.js", Line: 14, Column: 19}))
		second := b.PushFrame(first, b.Frame(timeline.Frame{Function: "f", File: "http://127.0.0.1/main.js", Line: 14, Column: 70}))
		addSamples(t, b, timeline.Event{Track: thread, TS: 5, Callstack: second, Value: timeline.Int(1)})
	})
	want := new(protos.InternedData)
	if err := prototext.Unmarshal([]byte(`
		function_names { iid: 1 str: "f" } source_paths { iid: 1 str: "http://127.0.0.1/main.js" }
		frames { iid: 1 function_name_id: 1 source_path_iid: 1 line_number: 14 weft_column: 19 }
		frames { iid: 2 function_name_id: 1 source_path_iid: 1 line_number: 14 weft_column: 70 }
		callstacks { iid: 1 frame_ids: 1 frame_ids: 2 }`), want); err != nil {
		t.Fatal(err)
	}
	got := new(protos.InternedData)
	for _, p := range decode(t, write(t, tl, Options{})).Packet {
		if in := p.GetInternedData(); in != nil {
			got.FunctionNames = append(got.FunctionNames, in.FunctionNames...)
			got.SourcePaths = append(got.SourcePaths, in.SourcePaths...)
			got.Frames = append(got.Frames, in.Frames...)
			got.Callstacks = append(got.Callstacks, in.Callstacks...)
		}
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
