package pfwire

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/weft-trace/weft/gen/perfetto/protos"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// onSequences returns the packets of all sequences but that of the events.
func onSequences(t *testing.T, trace []byte) []*protos.TracePacket {
	t.Helper()
	var packets []*protos.TracePacket
	for _, p := range decode(t, trace).Packet {
		if p.GetTrustedPacketSequenceId() > 1 {
			packets = append(packets, p)
		}
	}
	return packets
}

func packetsOf(t *testing.T, text string) []*protos.TracePacket {
	t.Helper()
	var want protos.Trace
	if err := prototext.Unmarshal([]byte(text), &want); err != nil {
		t.Fatal(err)
	}
	return want.Packet
}

// addSamples adds samples with frames that have a place in a file; the text form has functions only.
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

// Each thread has a sequence; frames have a mapping for their file, and an address in it that is theirs; times are in
// whole microseconds, the nearest ones, and count from the one before.
func TestStreamingProfile(t *testing.T) {
	tl := build(t, "X 1/2 slice 1000 5000 stack=outer", func(b *timeline.Builder) {
		process := b.Process(timeline.ProcessKey{Num: 1})
		two, three := b.Thread(process, timeline.ThreadKey{Num: 2}), b.Thread(process, timeline.ThreadKey{Num: 3 << 32})
		main := b.PushFrame(0, b.Frame(timeline.Frame{Function: "main", File: "a.js", Line: 3}))
		anonymous := b.PushFrame(main, b.Frame(timeline.Frame{File: "a.js", Line: 1, Column: 70}))
		native := b.PushFrame(0, b.Frame(timeline.Frame{Function: "poll"}))
		addSamples(t, b,
			timeline.Event{Track: two, TS: 1499, Callstack: anonymous, Value: timeline.Int(1)},
			timeline.Event{Track: three, TS: 1500, Callstack: native, Value: timeline.Int(1)},
			timeline.Event{Track: two, TS: 2500, Callstack: main, Value: timeline.Int(1)},
			timeline.Event{Track: two, TS: 9_000_000_999, Callstack: anonymous, Value: timeline.Int(1)},
		)
	})
	trace := write(t, tl, Options{Samples: StreamingProfiles})
	want := packetsOf(t, `
	packet { trusted_packet_sequence_id: 3 sequence_flags: 1 thread_descriptor { pid: 1 tid: 2 reference_timestamp_us: 1 } }
	packet { trusted_packet_sequence_id: 4 sequence_flags: 1 thread_descriptor { pid: 1 tid: 12884901888 reference_timestamp_us: 2 } }
	packet { trusted_packet_sequence_id: 3 sequence_flags: 2
		interned_data {
			function_names { iid: 1 str: "main" }
			source_paths { iid: 1 str: "a.js" } mapping_paths { iid: 1 str: "a.js" }
			mappings { iid: 1 path_string_ids: 1 }
			frames { iid: 1 function_name_id: 1 mapping_id: 1 rel_pc: 1 source_path_iid: 1 line_number: 3 }
			frames { iid: 2 mapping_id: 1 rel_pc: 2 source_path_iid: 1 line_number: 1 weft_column: 70 }
			callstacks { iid: 1 frame_ids: 1 frame_ids: 2 } callstacks { iid: 2 frame_ids: 1 }
		}
		streaming_profile_packet {
			callstack_iid: 1 callstack_iid: 2 callstack_iid: 1
			timestamp_delta_us: 0 timestamp_delta_us: 2 timestamp_delta_us: 8999998
		}
	}
	packet { trusted_packet_sequence_id: 4 sequence_flags: 2
		interned_data {
			function_names { iid: 1 str: "poll" } mappings { iid: 1 }
			frames { iid: 3 function_name_id: 1 mapping_id: 1 rel_pc: 3 } callstacks { iid: 1 frame_ids: 3 }
		}
		streaming_profile_packet { callstack_iid: 1 timestamp_delta_us: 0 }
	}`)
	if diff := cmp.Diff(want, onSequences(t, trace), protocmp.Transform()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if n := len(tl.Problems().Totals()); n != 0 {
		t.Errorf("problems %v", tl.Problems().Totals())
	}
	// The sequence of events has the stack of the slice and none of the samples.
	var stacks []*protos.Callstack
	var frames []*protos.Frame
	for _, p := range decode(t, trace).Packet {
		if p.GetTrustedPacketSequenceId() == 1 {
			stacks = append(stacks, p.GetInternedData().GetCallstacks()...)
			frames = append(frames, p.GetInternedData().GetFrames()...)
		}
		if p.GetStackSample() != nil || p.GetTracePacketDefaults() != nil {
			t.Errorf("%v", p)
		}
	}
	if len(stacks) != 1 || len(frames) != 1 || stacks[0].FrameIds[0] != frames[0].GetIid() {
		t.Errorf("the sequence of events has the stacks %v and frames %v", stacks, frames)
	}
}

// The times of streaming profiles are those of MONOTONIC. Where the input says how that clock compares with its own they
// are converted, and a snapshot always says how.
func TestStreamingProfileClock(t *testing.T) {
	const wall = 1_700_000_000_000_000_000
	for _, c := range []struct {
		name     string
		clocks   timeline.Clocks
		snapshot string
		us       int64 // of the sample at wall+10 µs
	}{
		{"unknown", timeline.Clocks{},
			`clocks { clock_id: 6 timestamp: 1700000000000010000 } clocks { clock_id: 3 timestamp: 1700000000000010000 }`, wall/1000 + 10},
		{"wall time", timeline.Clocks{Trace: 1},
			`clocks { clock_id: 6 timestamp: 1700000000000010000 } clocks { clock_id: 1 timestamp: 1700000000000010000 }
			clocks { clock_id: 3 timestamp: 1700000000000010000 }`, wall/1000 + 10},
		{"monotonic known", timeline.Clocks{Trace: 1, Readings: []timeline.ClockReading{{Clock: 1, Time: wall}, {Clock: 3, Time: 7_000_000}}},
			`clocks { clock_id: 6 timestamp: 1700000000000000000 } clocks { clock_id: 1 timestamp: 1700000000000000000 }
			clocks { clock_id: 3 timestamp: 7000000 }`, 7010},
		{"boottime known", timeline.Clocks{Trace: 3, Readings: []timeline.ClockReading{{Clock: 3, Time: wall}, {Clock: 6, Time: wall + 5000}}},
			`clocks { clock_id: 3 timestamp: 1700000000000000000 } clocks { clock_id: 6 timestamp: 1700000000000005000 }
			primary_trace_clock: BUILTIN_CLOCK_MONOTONIC`, wall/1000 + 10},
	} {
		tl := build(t, fmt.Sprintf("S 1/2 1 %d stack=main", int64(wall+10_000)), func(b *timeline.Builder) { b.SetClocks(c.clocks) })
		trace := write(t, tl, Options{Samples: StreamingProfiles})
		want := packetsOf(t, fmt.Sprintf("packet { clock_snapshot { %s } }", c.snapshot))
		if got := decode(t, trace).Packet[:1]; !cmp.Equal(want, got, protocmp.Transform()) {
			t.Errorf("%s: %v", c.name, cmp.Diff(want, got, protocmp.Transform()))
		}
		if got := onSequences(t, trace)[0].GetThreadDescriptor().GetReferenceTimestampUs(); got != c.us {
			t.Errorf("%s: at %d µs, want %d", c.name, got, c.us)
		}
	}
	// Nothing of that without samples.
	if p := decode(t, write(t, build(t, "I 1/1 a 7", nil), Options{Samples: StreamingProfiles})).Packet[0]; p.GetClockSnapshot() != nil {
		t.Errorf("%v", p)
	}
}

func TestMicroseconds(t *testing.T) {
	const most = 1<<63 - 1
	for _, c := range []struct {
		ts, offset timeline.Nanos
		want       int64
	}{
		{0, 0, 0}, {499, 0, 0}, {500, 0, 1}, {1499, 0, 1}, {1500, 0, 2},
		{0, -1, 0}, {0, -500, 0}, {0, -501, -1}, {1000, -2000, -1},
		{most, 0, most / 1000}, {most, 5, most / 1000}, {most - 1, -1000, most / 1000},
	} {
		if got := microseconds(c.ts, c.offset); got != c.want {
			t.Errorf("%d%+d: %d µs, want %d", c.ts, c.offset, got, c.want)
		}
	}
}

// What Perfetto cannot hold of samples is counted, where it is.
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
		{StreamingProfiles, "sample_without_stack 1: events 7; sample_detail_dropped 6: events 1 2 3 4 5", nil},
		{NoSamples, "", nil},
	} {
		tl := build(t, samples, nil)
		var weights []uint64
		profiled := 0
		for _, p := range decode(t, write(t, tl, Options{Samples: c.form})).Packet {
			if s := p.GetStackSample(); s != nil {
				weights = append(weights, s.GetPrimaryWeight())
			}
			profiled += len(p.GetStreamingProfilePacket().GetCallstackIid())
		}
		if !slices.Equal(weights, c.weights) || c.form == StreamingProfiles != (profiled == 7) {
			t.Errorf("%v: weights %v, %d samples in profiles", c.form, weights, profiled)
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

// profiledSamples reads the samples of streaming profiles, as lines "µs pid/tid outer;inner", with nothing but the
// generated structs.
func profiledSamples(t *testing.T, trace []byte) (lines []string) {
	t.Helper()
	type sequence struct {
		thread    *protos.ThreadDescriptor
		us        int64
		functions map[uint64]string
		frames    map[uint64]*protos.Frame
		stacks    map[uint64][]uint64
	}
	sequences := map[uint32]*sequence{}
	for _, p := range onSequences(t, trace) {
		s := sequences[p.GetTrustedPacketSequenceId()]
		if p.GetSequenceFlags() == 1 {
			s = &sequence{functions: map[uint64]string{}, frames: map[uint64]*protos.Frame{}, stacks: map[uint64][]uint64{}}
			sequences[p.GetTrustedPacketSequenceId()] = s
		}
		if d := p.GetThreadDescriptor(); d != nil {
			s.thread, s.us = d, d.GetReferenceTimestampUs()
		}
		for _, e := range p.GetInternedData().GetFunctionNames() {
			s.functions[e.GetIid()] = string(e.GetStr())
		}
		for _, e := range p.GetInternedData().GetFrames() {
			s.frames[e.GetIid()] = e
		}
		for _, e := range p.GetInternedData().GetCallstacks() {
			s.stacks[e.GetIid()] = e.GetFrameIds()
		}
		profile := p.GetStreamingProfilePacket()
		for i, iid := range profile.GetCallstackIid() {
			s.us += profile.GetTimestampDeltaUs()[i]
			var names []string
			for _, f := range s.stacks[iid] {
				names = append(names, s.functions[s.frames[f].GetFunctionNameId()])
			}
			lines = append(lines, fmt.Sprintf("%d %d/%d %s", s.us, s.thread.GetPid(), s.thread.GetTid(), strings.Join(names, ";")))
		}
	}
	return lines
}

// Samples of many segments and threads are all there, each with its stack; workers make no difference.
func TestStreamingProfileSegments(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	var want []string
	for i := range 90_000 {
		tid, stack := 2+r.IntN(3), fmt.Sprintf("main;f%d;g%d", r.IntN(40), r.IntN(20))
		fmt.Fprintf(&text, "S 1/%d 1 %d stack=%s\n", tid, i*1000, stack)
		want = append(want, fmt.Sprintf("%d 1/%d %s", i, tid, stack))
	}
	tl := build(t, text.String(), nil)
	if tl.SegmentCount() < 2 {
		t.Fatal("one segment only")
	}
	trace := write(t, tl, Options{Samples: StreamingProfiles, Workers: 1})
	if again := write(t, tl, Options{Samples: StreamingProfiles, Workers: 3}); !bytes.Equal(trace, again) {
		t.Error("3 workers give other bytes than 1")
	}
	got := profiledSamples(t, trace)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%d samples, want %d: %s", len(got), len(want), cmp.Diff(want[:min(len(want), 20)], got[:min(len(got), 20)]))
	}
}

// A segment defines a bounded number of frames: of further stacks only the innermost ones.
func TestStreamingProfileDeepStacks(t *testing.T) {
	tl := build(t, "", func(b *timeline.Builder) {
		thread := b.Thread(b.Process(timeline.ProcessKey{Num: 1}), timeline.ThreadKey{Num: 2})
		var deep timeline.CallstackID
		for i := range timeline.MaxStackDepth - 1 {
			deep = b.PushFrame(deep, b.Frame(timeline.Frame{Function: "f", Line: int64(i)}))
		}
		var samples []timeline.Event
		for i := range maxProfileFrames/timeline.MaxStackDepth + 2 {
			leaf := b.PushFrame(deep, b.Frame(timeline.Frame{Function: "leaf", Line: int64(i)}))
			samples = append(samples, timeline.Event{Track: thread, TS: timeline.Nanos(i), Callstack: leaf, Value: timeline.Int(1)})
		}
		addSamples(t, b, samples...)
	})
	var out bytes.Buffer
	if err := Write(context.Background(), &out, tl, Options{Samples: StreamingProfiles}); err != nil {
		t.Fatal(err)
	}
	depths := map[int]int{}
	for _, p := range onSequences(t, out.Bytes()) {
		for _, s := range p.GetInternedData().GetCallstacks() {
			depths[len(s.FrameIds)]++
		}
	}
	want := map[int]int{timeline.MaxStackDepth: maxProfileFrames / timeline.MaxStackDepth, shortProfileStack: 2}
	if diff := cmp.Diff(want, depths); diff != "" {
		t.Errorf("stacks by depth (-want +got):\n%s", diff)
	}
	if n := tl.Problems().Count(problem.StackLimit); n != 2 {
		t.Errorf("%d stacks were cut", n)
	}
}

// Without samples the output is that of a trace that has none, apart from the track of their thread.
func TestNoSamples(t *testing.T) {
	const slices = "X 1/2 a 10 20 stack=main\nX 1/3 b 10 20\n"
	with := build(t, slices+"S 1/2 5 12 stack=main;f\nS 1/3 5 13\n", nil)
	without := build(t, slices, nil)
	if got, want := write(t, with, Options{Samples: NoSamples}), write(t, without, Options{Samples: NoSamples}); !bytes.Equal(got, want) {
		t.Error(cmp.Diff(decode(t, want), decode(t, got), protocmp.Transform()))
	}
}
