package pfwire

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/weft-trace/weft/gen/perfetto/protos"
	"github.com/weft-trace/weft/internal/timeline"
)

// The timeline's description of its samples becomes the defaults of all samples.
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
		if diff := gocmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.described, diff)
		}
	}
}

// The file name of a frame does not contain the line, because viewers append it. The column is in a field that only weft reads,
// so that functions at two columns of a line share everything else.
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
	if diff := gocmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Samples of an idle thread are not stack samples, because viewers would show the process of the last sample. A script's function
// named (idle) is not idle.
func TestIdleSamples(t *testing.T) {
	tl := build(t, "", func(b *timeline.Builder) {
		thread := b.Thread(b.Process(timeline.ProcessKey{Num: 1}), timeline.ThreadKey{Num: 2})
		root := b.PushFrame(0, b.Frame(timeline.Frame{Function: "(root)"}))
		idle := b.PushFrame(root, b.Frame(timeline.Frame{Function: "(idle)"}))
		named := b.PushFrame(root, b.Frame(timeline.Frame{Function: "(idle)", File: "a.js"}))
		for i, stack := range []timeline.CallstackID{root, idle, 0, named, b.PushFrame(idle, b.Frame(timeline.Frame{Function: "f"}))} {
			addSamples(t, b, timeline.Event{Track: thread, TS: timeline.Nanos(i), Callstack: stack, Value: timeline.Int(7)})
		}
	})
	got := ""
	for _, p := range decode(t, write(t, tl, Options{})).Packet {
		for form, s := range map[string]*protos.StackSample{"work": p.GetStackSample(), "idle": p.GetWeftIdleSample()} {
			if s != nil {
				got += fmt.Sprintf("%d %s %d\n", p.GetTimestamp(), form, s.GetPrimaryWeight())
			}
		}
	}
	if want := "0 work 7\n1 idle 7\n2 idle 7\n3 work 7\n4 work 7\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Sample properties that Perfetto cannot represent are counted, with their position.
func TestSampleProblems(t *testing.T) {
	const samples = `
S 1/1 1 10 stack=main
S 1/1 0 11 stack=main
S 1/1 -5 12 stack=main
S 1/1 2.5 13 stack=main
S 1/1 NaN 14 stack=main
S 1/1 1e300 15 stack=main
S 1/1 2.0 16 stack=main
S 1/1 1 17
`
	for _, c := range []struct {
		form     SampleForm
		problems string
		weights  []uint64
	}{
		{StackSamples, "sample_weight_changed 4: events 2 3 4 5", []uint64{1, 0, 0, 3, 0, 1<<63 - 1, 2, 1}},
		{NoSamples, "", nil},
	} {
		tl := build(t, samples, nil)
		var weights []uint64
		for _, p := range decode(t, write(t, tl, Options{Samples: c.form})).Packet {
			if s := cmp.Or(p.GetStackSample(), p.GetWeftIdleSample()); s != nil {
				weights = append(weights, s.GetPrimaryWeight())
			}
		}
		if !slices.Equal(weights, c.weights) {
			t.Errorf("%v: weights %v", c.form, weights)
		}
		var problems []string
		for _, total := range tl.Problems().Totals() {
			text := fmt.Sprintf("%s %d: events", total.Kind, total.Count)
			for _, found := range total.Cases {
				text += fmt.Sprintf(" %d", found.Position.Event)
			}
			problems = append(problems, text)
		}
		if got := strings.Join(problems, "; "); got != c.problems {
			t.Errorf("%v: %q", c.form, got)
		}
	}
}

// If samples are omitted, the output is the same as for a trace without samples, except for the track of their thread.
func TestNoSamples(t *testing.T) {
	const slices = "X 1/2 a 10 20 stack=main\nX 1/3 b 10 20\n"
	with := build(t, slices+"S 1/2 5 12 stack=main;f\nS 1/3 5 13\n", nil)
	without := build(t, slices, nil)
	if got, want := write(t, with, Options{Samples: NoSamples}), write(t, without, Options{Samples: NoSamples}); !bytes.Equal(got, want) {
		t.Error(gocmp.Diff(decode(t, want), decode(t, got), protocmp.Transform()))
	}
}

func addSamples(t *testing.T, b *timeline.Builder, samples ...timeline.Event) {
	t.Helper()
	for i := range samples {
		s := &samples[i]
		s.Kind, s.Event = timeline.Sample, uint32(i)
		if err := b.Add(s); err != nil {
			t.Fatal(err)
		}
	}
}
