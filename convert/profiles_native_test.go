package convert_test

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/gen/perfetto/protos"
	"github.com/weft-trace/weft/pftrace"
	"github.com/weft-trace/weft/trace"
)

// native builds a Perfetto trace from packets in text form. Sequence 2 is thread 2 of process 1, and sequence 9 is thread 9.
func native(t *testing.T, packets ...string) string {
	t.Helper()
	text := `packet { trusted_packet_sequence_id: 2 sequence_flags: 1 track_descriptor { uuid: 1 process { pid: 1 } } }
		packet { trusted_packet_sequence_id: 2 trace_packet_defaults { track_event_defaults { track_uuid: 12 } }
			track_descriptor { uuid: 12 parent_uuid: 1 thread { pid: 1 tid: 2 } } }
		packet { trusted_packet_sequence_id: 9 sequence_flags: 1 trace_packet_defaults { track_event_defaults { track_uuid: 19 } }
			track_descriptor { uuid: 19 parent_uuid: 1 thread { pid: 1 tid: 9 } } }` + strings.Join(packets, "\n")
	var trace protos.Trace
	if err := prototext.Unmarshal([]byte(text), &trace); err != nil {
		t.Fatal(err)
	}
	b, err := proto.Marshal(&trace)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// nativeEvent returns a packet with an event at a time in µs.
func nativeEvent(sequence, ts int, name, rest string) string {
	return fmt.Sprintf(`packet { trusted_packet_sequence_id: %d timestamp: %d000 track_event { name: %q %s } }`, sequence, ts, name, rest)
}

// nativePiece returns a legacy event with phase P and with data as JSON text in the given field of its annotation.
func nativePiece(sequence, ts int, name string, id int, field, data string) string {
	return nativeEvent(sequence, ts, name, fmt.Sprintf(
		`debug_annotations { name: "data" %s: %s } legacy_event { phase: 80 unscoped_id: %d }`, field, strconv.Quote(data), id))
}

func nativeHead(ts, id int, source string) string {
	return nativePiece(2, ts, "Profile", id, "legacy_json_value", fmt.Sprintf(`{"startTime":%d,"source":%q}`, ts-3, source))
}

// sampled returns the data of a piece: the nodes running 10 and 20 µs after the start of its profile. Trace id 7 belongs to f.
func sampled(first, second int) string {
	return fmt.Sprintf(`{"cpuProfile":{%s,"samples":[%d,%d],"trace_ids":{"7":2}},"timeDeltas":[10,10]}`, twoNodes, first, second)
}

func nativeChunk(ts, id, first, second int) string {
	return nativePiece(9, ts, "ProfileChunk", id, "legacy_json_value", sampled(first, second))
}

// running lists the calls, states and samples of a profile that starts at 100 µs with f running.
var running = []string{"110 1/2 sample", "110 1/2 f +10", "110 1/2/track:V8_state script +20", "120 1/2 sample"}

// byTraceID lists the same for a profile whose samples contain no functions, but where f was running at 105 µs according to a
// trace id.
var byTraceID = []string{"105 1/2 f +5", "110 1/2 sample", "110 1/2/track:V8_state program +20", "120 1/2 sample"}

// nativeCases are profiles in Perfetto traces. Each piece that is kept has an instant.
var nativeCases = []struct {
	name     string
	packets  []string
	opts     convert.Options
	want     []string
	instants int64
	problems string
}{
	{"a profile", []string{nativeHead(100, 1, "Internal"), nativeChunk(150, 1, 2, 2)}, convert.Options{}, running, 1, ""},
	{
		"data as a string", []string{
			nativePiece(2, 100, "Profile", 1, "string_value", `{}`), nativePiece(9, 150, "ProfileChunk", 1, "string_value", sampled(2, 2)),
		}, convert.Options{}, running, 1, "",
	},
	{
		"the thread that a legacy event names", []string{
			nativeEvent(9, 100, "Profile", `track_uuid: 0 legacy_event { phase: 80 unscoped_id: 1 tid_override: 2 }`), nativeChunk(150, 1, 2, 2),
		}, convert.Options{}, running, 1, "",
	},
	{
		"not wanted", []string{nativeHead(100, 1, "Internal"), nativeChunk(150, 1, 2, 2)},
		convert.Options{JSCalls: convert.JSCallsOff, Samples: pftrace.NoSamples}, nil, 2, "",
	},
	{
		"another profile of the thread", []string{
			nativeHead(100, 1, "SelfProfiling"), nativeChunk(150, 1, 1, 1), nativeHead(100, 2, "Internal"), nativeChunk(350, 2, 2, 2),
		}, convert.Options{}, running, 2, "profile_not_chosen×1",
	},
	{
		"another profile of the thread, by process and id", []string{
			nativeHead(100, 1, "SelfProfiling"), nativeChunk(150, 1, 2, 2), nativeHead(300, 2, "Internal"), nativeChunk(350, 2, 2, 2),
		}, convert.Options{Profile: "1:0x1"}, running, 2, "profile_not_chosen×1",
	},
	{
		"one without head", []string{nativeChunk(150, 1, 2, 2)}, convert.Options{},
		[]string{"140 1/1 sample", "140 1/1 f +10", "140 1/1/track:V8_state script +20", "150 1/1 sample"}, 0, "profile_without_head×1",
	},
	{
		// Each piece continues the previous one. Perfetto writes the rest of one thread before the rest of another.
		"the last piece first in the file", []string{
			nativeHead(100, 1, ""), nativePiece(2, 200, "ProfileChunk", 1, "legacy_json_value", `{"cpuProfile":{"samples":[1]},"timeDeltas":[30]}`),
			nativeChunk(150, 1, 2, 2),
		}, convert.Options{}, []string{
			"110 1/2 sample", "110 1/2 f +40", "110 1/2/track:V8_state script +40", "120 1/2 sample", "150 1/2 sample",
			"150 1/2/track:V8_state program +20",
		}, 1, "",
	},
	{
		"data that is not a text", []string{
			nativeEvent(9, 150, "ProfileChunk", `debug_annotations { name: "data" dict_entries { name: "source" string_value: "x" } } legacy_event { phase: 80 unscoped_id: 1 }`),
		}, convert.Options{}, nil, 1, "",
	},
	{
		"damaged data", []string{nativeHead(100, 1, ""), nativePiece(9, 150, "ProfileChunk", 1, "string_value", sampled(2, 2)+"{")},
		convert.Options{}, running, 1, "profile_malformed×1",
	},
	{
		// This head belongs to a thread that is never described.
		"a thread that is not known", []string{
			`packet { trusted_packet_sequence_id: 3 sequence_flags: 1 timestamp: 100000 track_event { track_uuid: 77 name: "Profile" legacy_event { phase: 80 } } }`,
		}, convert.Options{}, nil, 1, "",
	},
	{
		"what weft has kept", []string{
			nativeEvent(2, 100, "Profile", `type: TYPE_INSTANT debug_annotations { name: "weft" dict_entries { name: "ph" string_value: "P" } }`),
			nativeEvent(9, 150, "ProfileChunk", `type: TYPE_INSTANT debug_annotations { name: "data" legacy_json_value: `+strconv.Quote(sampled(2, 2))+` }`),
		}, convert.Options{}, nil, 2, "",
	},
	{
		"an instant without trace id", []string{
			nativeHead(100, 1, ""), nativeChunk(150, 1, 2, 2), nativeEvent(2, 115, "i", `type: TYPE_INSTANT`),
			nativeEvent(2, 115, "I", `legacy_event { phase: 73 }`),
		}, convert.Options{}, running, 3, "",
	},
	{
		// According to the DevTools rules, it ends the calls outside invocations.
		"a mark", []string{nativeHead(100, 1, ""), nativeChunk(150, 1, 2, 2), nativeEvent(2, 115, "R", `legacy_event { phase: 82 }`)},
		convert.Options{JSCalls: convert.JSCallsDevTools},
		[]string{"110 1/2 sample", "110 1/2 f +5", "110 1/2/track:V8_state script +20", "120 1/2 sample", "120 1/2 f +0"}, 2, "",
	},
	{"trace id in data", traced(`debug_annotations { name: "data" dict_entries { name: "sampleTraceId" uint_value: 7 } }`), convert.Options{}, byTraceID, 2, ""},
	{"trace id in JSON", traced(`debug_annotations { name: "data" legacy_json_value: "{\"sampleTraceId\":7}" }`), convert.Options{}, byTraceID, 2, ""},
	{
		"trace id in a nested value",
		traced(`debug_annotations { name: "data" nested_value { nested_type: DICT dict_keys: "sampleTraceId" dict_values { int_value: 7 } } }`),
		convert.Options{}, byTraceID, 2, "",
	},
	{"trace id in the arguments", traced(`debug_annotations { name: "sampleTraceId" int_value: 7 }`), convert.Options{}, byTraceID, 2, ""},
	{
		"trace id in beginData", traced(`debug_annotations { name: "sampleTraceId" int_value: 8 }
			debug_annotations { name: "beginData" dict_entries { name: "sampleTraceId" uint_value: 7 } }`), convert.Options{}, byTraceID, 2, "",
	},
	{
		"arguments left out", traced(`debug_annotations { name: "data" dict_entries { name: "sampleTraceId" uint_value: 7 } }`),
		convert.Options{NoArgs: true}, byTraceID, 2, "",
	},
	{
		"a beginData without", traced(`debug_annotations { name: "sampleTraceId" int_value: 7 } debug_annotations { name: "beginData" string_value: "" }`),
		convert.Options{}, byTraceID[1:], 2, "",
	},
}

// traced returns a profile with samples of the root only, and an instant with arguments before its first sample.
func traced(annotations string) []string {
	return []string{nativeHead(100, 1, ""), nativeChunk(150, 1, 1, 1), nativeEvent(2, 105, "at", "type: TYPE_INSTANT "+annotations)}
}

// TestNativeProfiles checks the conversion of V8 profiles in Chrome's Perfetto traces.
func TestNativeProfiles(t *testing.T) {
	for _, c := range nativeCases {
		t.Run(c.name, func(t *testing.T) {
			lines, report := sampledTimeline(t, native(t, c.packets...), c.opts)
			if diff := gocmp.Diff(c.want, lines); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if report.Events.Instants != c.instants {
				t.Errorf("%d instants, want %d", report.Events.Instants, c.instants)
			}
			if got := problemCounts(report); got != c.problems {
				t.Errorf("problems %q, want %q", got, c.problems)
			}
		})
	}
}

// TestNativeProfileList checks that reports list the profiles in Perfetto traces and that one can be chosen.
func TestNativeProfileList(t *testing.T) {
	_, report := sampledTimeline(t, native(t, nativeHead(100, 1, "Internal"), nativeChunk(150, 1, 2, 2)), convert.Options{})
	want := []convert.Profile{{
		PID: trace.NewValue(1), TID: trace.NewValue(2), Process: report.Profiles[0].Process, ID: "0x1", Source: "Internal", Samples: 2,
		Start: report.Profiles[0].Start, End: report.Profiles[0].End, Chosen: true,
	}}
	if !reflect.DeepEqual(report.Profiles, want) {
		t.Errorf("profiles %+v, want %+v", report.Profiles, want)
	}
	if _, _, err := loadText(t, native(t, nativeChunk(150, 1, 2, 2)), convert.Options{Profile: "0x2"}); err == nil ||
		err.Error() != "there is no V8 profile 0x2; the trace has 0x1" {
		t.Errorf("error %v", err)
	}
}

// A trace has one description for its samples: V8 samples do not weigh nanoseconds if other samples in the trace count something
// else, and those other samples do not become nanoseconds. In a trace that contains only the profile, its samples weigh 10 µs
// each.
func TestProfilesBesideOtherSamples(t *testing.T) {
	perf := `packet { trusted_packet_sequence_id: 2 timestamp: 90000 perf_sample { cpu: 1 pid: 1 tid: 2 } }`
	profile := []string{nativeHead(100, 1, ""), nativeChunk(150, 1, 2, 2)}
	for _, c := range []struct {
		name, trace string
		described   string
		weights     []uint64
		problems    string
	}{
		{"Perfetto", native(t, profile...), `source: "legacy_v8" primary_descriptor { name: "time (ns)" unit: UNIT_NANOSECONDS }`, []uint64{10_000, 10_000}, ""},
		{
			"Perfetto, beside linux.perf", native(t, append([]string{perf}, profile...)...),
			`source: "linux.perf" primary_descriptor { name: "samples" unit: UNIT_COUNT }`, []uint64{1, 1, 1}, "profile_weight_dropped×2",
		},
		{
			"JSON", "[" + head(2, 100, "1", "") + "," + piece(150, "1") + "]",
			`source: "legacy_v8" primary_descriptor { name: "time (ns)" unit: UNIT_NANOSECONDS }`, []uint64{10_000, 10_000}, "",
		},
		{
			"JSON, beside an event with a stack", `[{"ph":"P","name":"tick","pid":1,"tid":2,"ts":90,"stack":["g"]},` + head(2, 100, "1", "") + "," + piece(150, "1") + "]",
			`source: "trace_event" primary_descriptor { name: "samples" unit: UNIT_COUNT }`, []uint64{1, 1, 1}, "profile_weight_dropped×2",
		},
		{
			"JSON, beside a list of samples", `{"traceEvents":[` + head(2, 100, "1", "") + "," + piece(150, "1") + `],
				"stackFrames":{"1":{"name":"g"}},"samples":[{"tid":2,"ts":90,"sf":1,"weight":3}]}`,
			`source: "trace_event" primary_descriptor { name: "samples" unit: UNIT_COUNT }`, []uint64{3, 1, 1}, "profile_weight_dropped×2",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			report, err := convert.Convert(t.Context(), &out, strings.NewReader(c.trace), convert.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := problemCounts(report); got != c.problems {
				t.Errorf("problems %q, want %q", got, c.problems)
			}
			var trace protos.Trace
			if err := proto.Unmarshal(out.Bytes(), &trace); err != nil {
				t.Fatal(err)
			}
			want := new(protos.StackSampleDefaults)
			if err := prototext.Unmarshal([]byte(c.described), want); err != nil {
				t.Fatal(err)
			}
			var weights []uint64
			for _, p := range trace.GetPacket() {
				if s := cmp.Or(p.GetStackSample(), p.GetWeftIdleSample()); s != nil {
					weights = append(weights, s.GetPrimaryWeight())
				}
				if d := p.GetTracePacketDefaults().GetStackSampleDefaults(); d != nil && !proto.Equal(d, want) {
					t.Errorf("samples are described as %v, want %v", d, want)
				}
			}
			if diff := gocmp.Diff(c.weights, weights); diff != "" {
				t.Errorf("weights (-want +got):\n%s", diff)
			}
		})
	}
}
