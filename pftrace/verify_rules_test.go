package pftrace

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/weft-trace/weft/gen/perfetto/protos"
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/testkit"
	"github.com/weft-trace/weft/internal/wire"
)

// prelude is a trace by weft that obeys every rule. The test cases append packets to it.
var prelude = []string{
	`sequence_flags: 1 trace_attributes { attribute { key: "weft.version" string_value: "test" } }`,
	`track_descriptor { uuid: 1 process { pid: 7 process_name: "p" } }`,
	`trusted_packet_sequence_id: 0 track_descriptor { uuid: 2 thread { pid: 7 tid: 8 thread_name: "t" } }`,
	`track_descriptor { uuid: 3 parent_uuid: 2 counter { type: COUNTER_THREAD_TIME_NS } }`,
	`track_descriptor { uuid: 4 parent_uuid: 1 name: "async" }`,
	`track_descriptor { uuid: 5 parent_uuid: 1 name: "counter" counter { unit: UNIT_COUNT } }`,
	`sequence_flags: 2 interned_data {
		event_categories { iid: 1 name: "cat" } event_names { iid: 1 name: "work" } event_names { iid: 2 name: "" }
		debug_annotation_names { iid: 1 name: "key" } debug_annotation_string_values { iid: 1 str: "value" }
		source_paths { iid: 1 str: "a.js" } function_names { iid: 1 str: "f" } mapping_paths { iid: 1 str: "lib" }
		build_ids { iid: 1 str: "id" } mappings { iid: 1 build_id: 1 path_string_ids: 1 }
		frames { iid: 1 function_name_id: 1 source_path_iid: 1 } frames { iid: 2 function_name_id: 1 mapping_id: 1 rel_pc: 16 }
		callstacks { iid: 1 frame_ids: 1 frame_ids: 2 }
		stack_sample_task_contexts { iid: 1 pid: 7 tid: 8 }
	}`,
	`timestamp: 100 sequence_flags: 2 track_event { type: TYPE_SLICE_BEGIN track_uuid: 2 name_iid: 1 category_iids: 1
		flow_ids: 1 callstack_iid: 1 extra_counter_track_uuids: 3 extra_counter_values: 50
		debug_annotations { name_iid: 1 string_value_iid: 1 }
		debug_annotations { name: "list" array_values { int_value: 1 } array_values { dict_entries { name: "x" bool_value: true } } } }`,
	`timestamp: 150 track_event { type: TYPE_INSTANT track_uuid: 4 name: "now" terminating_flow_ids: 1 }`,
	`timestamp: 160 track_event { type: TYPE_COUNTER track_uuid: 5 double_counter_value: 1.5 }`,
	`timestamp: 170 sequence_flags: 2 stack_sample { task_context_iid: 1 callstack_iid: 1 }`,
	`timestamp: 200 track_event { type: TYPE_SLICE_END track_uuid: 2 extra_counter_track_uuids: 3 extra_counter_values: 90 }`,
}

// snapshotPacket is required by streaming profiles, whose times are on the MONOTONIC clock.
const snapshotPacket = `clock_snapshot { clocks { clock_id: 3 timestamp: 100 } clocks { clock_id: 6 timestamp: 100 } }`

// packetText encodes a packet given in text form, on sequence 1 by default.
func packetText(t testing.TB, text string) []byte {
	t.Helper()
	var p protos.TracePacket
	if err := prototext.Unmarshal([]byte(text), &p); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if p.OptionalTrustedPacketSequenceId == nil {
		p.OptionalTrustedPacketSequenceId = &protos.TracePacket_TrustedPacketSequenceId{TrustedPacketSequenceId: 1}
	}
	body, err := proto.Marshal(&p)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// buildTrace joins packets and returns the trace and the offset of each packet.
func buildTrace(packets ...[]byte) (trace []byte, offsets []int64) {
	for _, p := range packets {
		offsets = append(offsets, int64(len(trace)))
		trace = wire.AppendBytes(trace, schema.Trace_Packet, p)
	}
	return trace, offsets
}

// preludePackets returns the packets of prelude, followed by more.
func preludePackets(t testing.TB, more ...string) (packets [][]byte) {
	t.Helper()
	for _, text := range slices.Concat(prelude, more) {
		packets = append(packets, packetText(t, text))
	}
	return packets
}

// Packets from different machines are checked separately: the same id has a different meaning on each machine, and a track and its
// parent are on the same machine.
func TestVerifyMachines(t *testing.T) {
	machine := func(texts ...string) (packets [][]byte) {
		packets = preludePackets(t)
		for _, text := range texts {
			packets = append(packets, packetText(t, "machine_id: 3 "+text))
		}
		return packets
	}
	good := machine(
		`sequence_flags: 1 system_info { machine_name: "m" }`,
		`track_descriptor { uuid: 1 process { pid: 7 process_name: "other" } }`,
		`trusted_packet_sequence_id: 0 track_descriptor { uuid: 2 thread { pid: 7 tid: 8 } }`,
		`track_descriptor { uuid: 4 parent_uuid: 2 name: "below" }`,
		`timestamp: 300 track_event { type: TYPE_SLICE_BEGIN track_uuid: 4 name: "s" flow_ids: 77 }`,
		`timestamp: 350 track_event { type: TYPE_SLICE_END track_uuid: 4 }`,
	)
	trace, _ := buildTrace(good...)
	if report := verifyBytes(t, trace, VerifyOptions{}); !report.OK() {
		t.Errorf("%+v", report.Findings)
	}
	for want, text := range map[string]string{
		"parent_unknown":    `track_descriptor { uuid: 9 parent_uuid: 5 name: "below a track of the trace itself" }`,
		"track_undescribed": begin(400, 5) + "\n",
		"flow_inactive":     `timestamp: 400 track_event { type: TYPE_INSTANT track_uuid: 4 name: "i" terminating_flow_ids: 1 }`,
		"process_twice":     `track_descriptor { uuid: 9 process { pid: 7 } }`,
	} {
		trace, _ := buildTrace(append(slices.Clone(good), packetText(t, "machine_id: 3 "+text))...)
		report := verifyBytes(t, trace, VerifyOptions{Strict: true})
		if !slices.ContainsFunc(report.Findings, func(f VerifyFinding) bool { return f.Rule == want }) {
			t.Errorf("%s: %+v", want, report.Findings)
		}
	}
}

func TestVerifyCleanTrace(t *testing.T) {
	trace, _ := buildTrace(preludePackets(t)...)
	report := verifyBytes(t, trace, VerifyOptions{})
	if !report.OK() || report.Producer != "test" || report.Packets != int64(len(prelude)) || report.Events != 5 {
		t.Errorf("%+v", report)
	}
	for _, f := range report.Findings {
		if f.Rule != "needs_version" {
			t.Errorf("warning %s: %v", f.Rule, f.Cases)
		}
	}
	for name, bundled := range map[string][]byte{
		"zlib": testkit.Packet(50, testkit.Zlib(t, trace)), "gzip": testkit.Packet(50, testkit.Gzip(t, trace)), "zstd": testkit.Packet(133, testkit.Zstd(t, trace)),
	} {
		inBundle := verifyBytes(t, bundled, VerifyOptions{})
		if !inBundle.OK() || inBundle.Packets != report.Packets || inBundle.Bundles != 1 {
			t.Errorf("%s: %+v", name, inBundle)
		}
	}
}

// begin and end return events on a track of the prelude.
func begin(ts, track int) string {
	return fmt.Sprintf(`timestamp: %d track_event { type: TYPE_SLICE_BEGIN track_uuid: %d name: "s" }`, ts, track)
}

func end(ts, track int) string {
	return fmt.Sprintf(`timestamp: %d track_event { type: TYPE_SLICE_END track_uuid: %d }`, ts, track)
}

// complete returns a complete event on a track of the prelude.
func complete(ts, micros, track int) string {
	return fmt.Sprintf(`timestamp: %d track_event { track_uuid: %d name: "s" legacy_event { phase: 88 duration_us: %d } }`, ts, track, micros)
}

// foldedSlice represents a recursion with several calls; foldedCall is one of these calls.
func foldedSlice(levels uint32) string {
	return fmt.Sprintf(`%s weft_levels: %d`, complete(1000, 1, 2), levels)
}

const foldedCall = `timestamp: 1000 weft_folded { track_uuid: 2 name: "s" legacy_event { phase: 88 duration_us: 1 } }`

// nestedTracks describes n tracks, each a child of the previous one.
func nestedTracks(n int) (texts []string) {
	for i := range n {
		parent := 0
		if i > 0 {
			parent = 999 + i
		}
		texts = append(texts, fmt.Sprintf(`track_descriptor { uuid: %d parent_uuid: %d name: "n" }`, 1000+i, parent))
	}
	return texts
}

// deepSlices begins n slices on one track and then ends them.
func deepSlices(n int) (texts []string) {
	for i := range n {
		texts = append(texts, begin(300+i, 4))
	}
	for i := range n {
		texts = append(texts, end(5000+i, 4))
	}
	return texts
}

// instantsAt returns n simultaneous instants on one track.
func instantsAt(ts, n int) (texts []string) {
	for range n {
		texts = append(texts, fmt.Sprintf(`timestamp: %d track_event { type: TYPE_INSTANT track_uuid: 4 name: "i" }`, ts))
	}
	return texts
}

// verifyTestCase is a sequence of packets after the prelude, one of which breaks a rule.
type verifyTestCase struct {
	name    string // name of the rule, with a suffix for the case
	packets []string
	bad     int // index of the reported packet
	detail  string
}

var verifyCases = []verifyTestCase{
	{"sequence_missing event", []string{`trusted_packet_sequence_id: 0 timestamp: 300 track_event { type: TYPE_INSTANT track_uuid: 4 name: "i" }`}, 0, "field 11"},
	{"sequence_missing interned", []string{`trusted_packet_sequence_id: 0 interned_data { event_names { iid: 9 name: "n" } }`}, 0, ""},
	{"sequence_missing snapshot", []string{`trusted_packet_sequence_id: 0 clock_snapshot { clocks { clock_id: 64 timestamp: 1 } clocks { clock_id: 6 timestamp: 1 } }`}, 0, "clock 64"},
	{"state_not_cleared interned", []string{`trusted_packet_sequence_id: 2 interned_data { event_names { iid: 1 name: "n" } }`}, 0, "sequence 2"},
	{"state_not_cleared defaults", []string{`trusted_packet_sequence_id: 2 trace_packet_defaults { timestamp_clock_id: 6 }`}, 0, "sequence 2"},
	{"state_not_cleared flag 2", []string{`trusted_packet_sequence_id: 2 sequence_flags: 2`}, 0, "sequence 2"},

	{"interned_zero", []string{`interned_data { event_names { name: "n" } }`}, 0, "field 2"},
	{"interned_redefined text", []string{`interned_data { event_names { iid: 1 name: "work" } }`, `interned_data { event_names { iid: 1 name: "other" } }`}, 1, "id 1 of interned_data field 2"},
	{"interned_redefined message", []string{`interned_data { frames { iid: 1 function_name_id: 1 } }`}, 0, "id 1 of interned_data field 6"},
	{"interned_undefined name", []string{`timestamp: 300 track_event { type: TYPE_INSTANT track_uuid: 4 name_iid: 99 }`}, 0, "id 99 of interned_data field 2"},
	{"interned_undefined category", []string{`timestamp: 300 track_event { type: TYPE_INSTANT track_uuid: 4 name: "i" category_iids: 1 category_iids: 98 }`}, 0, "id 98 of interned_data field 1"},
	{"interned_undefined annotation", []string{`timestamp: 300 track_event { type: TYPE_INSTANT track_uuid: 4 debug_annotations { name: "d" dict_entries { name_iid: 5 int_value: 1 } } }`}, 0, "id 5 of interned_data field 3"},
	{"interned_undefined value", []string{`timestamp: 300 track_event { type: TYPE_INSTANT track_uuid: 4 debug_annotations { name: "d" string_value_iid: 6 } }`}, 0, "id 6 of interned_data field 29"},
	{"interned_undefined source location", []string{`timestamp: 300 track_event { type: TYPE_INSTANT track_uuid: 4 source_location_iid: 1 }`}, 0, "field 4"},
	{"interned_undefined correlation", []string{`timestamp: 300 track_event { type: TYPE_INSTANT track_uuid: 4 correlation_id_str_iid: 1 }`}, 0, "field 43"},
	{"interned_undefined legacy name", []string{`timestamp: 300 track_event { track_uuid: 4 legacy_event { name_iid: 9 phase: 73 } }`}, 0, "id 9 of interned_data field 2"},
	{"interned_undefined log body", []string{`timestamp: 300 track_event { type: TYPE_INSTANT track_uuid: 4 log_message { body_iid: 3 } }`}, 0, "field 20"},
	{"interned_undefined log location", []string{`timestamp: 300 track_event { type: TYPE_INSTANT track_uuid: 4 log_message { source_location_iid: 3 } }`}, 0, "field 4"},
	{"interned_undefined after a new start", []string{`sequence_flags: 1`, `timestamp: 300 track_event { type: TYPE_INSTANT track_uuid: 4 name_iid: 1 }`}, 1, "id 1 of interned_data field 2"},
	{"interned_undefined on another sequence", []string{`trusted_packet_sequence_id: 2 sequence_flags: 1 timestamp: 300 track_event { type: TYPE_INSTANT track_uuid: 4 name_iid: 1 }`}, 0, "id 1 of interned_data field 2"},
	{"interned_undefined call stack", []string{`timestamp: 300 track_event { type: TYPE_INSTANT track_uuid: 4 callstack_iid: 4 }`}, 0, "id 4 of interned_data field 7"},
	{"interned_undefined frame", []string{`interned_data { callstacks { iid: 2 frame_ids: 77 } }`, `timestamp: 300 stack_sample { callstack_iid: 2 }`}, 1, "id 77 of interned_data field 6"},
	{"interned_undefined function", []string{`interned_data { frames { iid: 3 function_name_id: 55 } callstacks { iid: 2 frame_ids: 3 } }`, `timestamp: 300 perf_sample { callstack_iid: 2 }`}, 1, "id 55 of interned_data field 5"},
	{"interned_undefined mapping", []string{`interned_data { frames { iid: 3 mapping_id: 55 rel_pc: 1 } callstacks { iid: 2 frame_ids: 3 } }`, `thread_descriptor { pid: 7 tid: 8 }`, `timestamp: 300 streaming_profile_packet { callstack_iid: 2 timestamp_delta_us: 1 }`}, 2, "id 55 of interned_data field 19"},
	{"interned_undefined task context", []string{`timestamp: 300 stack_sample { task_context_iid: 2 }`}, 0, "field 48"},

	{"track_undescribed", []string{`timestamp: 300 track_event { type: TYPE_INSTANT track_uuid: 44 name: "i" }`, `timestamp: 301 track_event { type: TYPE_INSTANT track_uuid: 44 name: "i" }`}, 0, "track 44"},
	{"counter_undescribed", []string{`timestamp: 300 track_event { type: TYPE_COUNTER track_uuid: 45 counter_value: 1 }`, `track_descriptor { uuid: 45 counter { } }`}, 0, "track 45 has no descriptor so far"},
	{"counter_undescribed slice track", []string{`timestamp: 300 track_event { type: TYPE_COUNTER track_uuid: 4 counter_value: 1 }`}, 0, "track 4 is not a counter track"},
	{"counter_undescribed extra value", []string{`timestamp: 300 track_event { type: TYPE_INSTANT track_uuid: 4 extra_double_counter_track_uuids: 2 extra_double_counter_values: 1 }`}, 0, "track 2 is not a counter track"},
	{"parent_unknown", []string{`track_descriptor { uuid: 45 parent_uuid: 46 name: "n" }`}, 0, "track 45 has parent 46"},
	{"parent_loop", []string{`track_descriptor { uuid: 45 parent_uuid: 46 name: "n" }`, `track_descriptor { uuid: 46 parent_uuid: 45 name: "n" }`}, 0, "track 45"},
	{"parent_depth", nestedTracks(104), 101, "track 1101"},
	{"root_parent", []string{`track_descriptor { uuid: 0 parent_uuid: 1 }`}, 0, "parent 1"},
	{"process_twice", []string{`track_descriptor { uuid: 45 process { pid: 7 } }`}, 0, "process 7 has tracks 1 and 45"},
	{"thread_twice", []string{`track_descriptor { uuid: 45 thread { pid: 7 tid: 8 } }`}, 0, "thread 8 of process 7 has tracks 2 and 45"},
	{"descriptor_conflict parent", []string{`track_descriptor { uuid: 4 parent_uuid: 2 name: "async" }`}, 0, "track 4 was plain (parent 1), now plain (parent 2)"},
	{"descriptor_conflict pid", []string{`track_descriptor { uuid: 1 process { pid: 9 } }`}, 0, "track 1 was process 7 (parent 0), now process 9 (parent 0)"},
	{"descriptor_conflict counter", []string{`track_descriptor { uuid: 5 parent_uuid: 1 name: "counter" counter { unit: UNIT_COUNT is_incremental: true } }`}, 0, "track 5 was counter"},
	{"reserved_id process", []string{`track_descriptor { uuid: 45 process { pid: 0 } }`}, 0, "process id 0"},
	{"reserved_id old process", []string{`process_descriptor { process_name: "p" }`}, 0, "process id 0"},
	{"reserved_id old thread", []string{`thread_descriptor { pid: 7 }`}, 0, "thread id 0"},
	{"reserved_id thread", []string{`track_descriptor { uuid: 45 thread { pid: 7 tid: 0 } }`}, 0, "thread id 0"},

	{"sequence_thread", []string{`trusted_packet_sequence_id: 0 track_descriptor { uuid: 45 thread { pid: 7 tid: 9 } }`, `track_descriptor { uuid: 45 thread { pid: 7 tid: 9 } }`, begin(300, 4), end(301, 4)}, 2, "thread 9 of process 7"},
	{"sequence_thread old form", []string{`thread_descriptor { pid: 7 tid: 9 }`, begin(300, 4), end(301, 4)}, 1, "thread 9 of process 7"},

	{"timestamp_missing event", []string{`track_event { type: TYPE_SLICE_BEGIN track_uuid: 4 name: "i" }`}, 0, "track 4"},
	{"timestamp_missing sample", []string{`stack_sample { callstack_iid: 1 }`}, 0, "a sample"},
	{"timestamp_range", []string{`timestamp: 18446744073709551615 track_event { type: TYPE_INSTANT track_uuid: 4 name: "i" }`}, 0, "timestamp -1"},
	{"clock_unknown", []string{`trusted_packet_sequence_id: 2 sequence_flags: 1 clock_snapshot { clocks { clock_id: 64 timestamp: 1 } clocks { clock_id: 6 timestamp: 300 } }`,
		`timestamp: 300 timestamp_clock_id: 64 track_event { type: TYPE_INSTANT track_uuid: 4 name: "i" }`}, 1, "clock 64 of sequence 1"},
	{"clock_unknown without built-in clock", []string{`clock_snapshot { clocks { clock_id: 64 timestamp: 1 } }`,
		`timestamp: 300 timestamp_clock_id: 64 track_event { type: TYPE_INSTANT track_uuid: 4 name: "i" }`}, 1, "clock 64 of sequence 1"},
	{"clock_incremental", []string{`clock_snapshot { clocks { clock_id: 3 timestamp: 1 is_incremental: true } }`}, 0, "clock 3"},

	{"end_without_begin", []string{end(300, 4)}, 0, "track 4 at 300 ns"},
	{"end_without_begin on track 0", []string{begin(300, 4), end(300, 0), end(300, 4)}, 1, "track 0 at 300 ns"},
	{"end_without_begin without uuid", []string{begin(300, 0), `timestamp: 300 track_event { type: TYPE_SLICE_END }`, end(300, 0)}, 1, "track 0 at 300 ns"},
	{"end_without_begin earlier in time than in the file", []string{begin(400, 4), end(500, 4), end(300, 4)}, 2, "track 4 at 300 ns"},
	{"end_named name", []string{begin(300, 4), `timestamp: 301 track_event { type: TYPE_SLICE_END track_uuid: 4 name: "s" }`}, 1, "track 4"},
	{"end_named category", []string{begin(300, 4), `timestamp: 301 track_event { type: TYPE_SLICE_END track_uuid: 4 category_iids: 1 }`}, 1, "track 4"},
	{"slice_overlap of complete events", []string{complete(300, 2, 2), complete(1000, 1, 2), complete(1500, 3, 2)}, 2, "a slice of track 2 ends at 4500 ns, after one around it, at 2000 ns"},
	{"slice_overlap of a complete event in a begin", []string{begin(300, 2), complete(1000, 2, 2), begin(1500, 2), complete(1600, 2, 2)}, 3, "track 2 ends at 3600 ns, after one around it, at 3000 ns"},
	{"slice_overlap of a begin that is open", []string{complete(1000, 2, 2), begin(1500, 2), complete(3500, 1, 2)}, 1, "a slice of track 2 is still open when the one around it ends, at 3000 ns"},
	{"slice_overlap of an end in a complete event", []string{begin(1000, 2), complete(1002, 8, 2), end(1005, 2), complete(1006, 2, 2)}, 2, "a slice of track 2 ends at 1005 ns, before one inside of it, at 9002 ns"},
	{"complete_event on a process", []string{complete(1000, 2, 1)}, 0, "track 1"},
	{"complete_event without duration", []string{`timestamp: 1000 track_event { track_uuid: 2 name: "s" legacy_event { phase: 88 } }`}, 0, "no duration"},
	{"slice_depth", deepSlices(513), 512, "512 slices are open on track 4"},
	{"slice_depth of an instant", append(deepSlices(512), instantsAt(2000, 1)...), 1024,
		"512 slices are open on track 4"},
	{"slice_depth of instants of one time", instantsAt(300, 513), 512, "0 slices are open on track 4, which has 512 instants at 300 ns"},
	{"slice_depth of instants in a slice", append(deepSlices(1), instantsAt(300, 512)...), 513,
		"1 slices are open on track 4, which has 511 instants at 300 ns"},

	{"counter_value none", []string{`timestamp: 300 track_event { type: TYPE_COUNTER track_uuid: 5 }`}, 0, "0 values"},
	{"extra_values without track", []string{`timestamp: 300 track_event { type: TYPE_INSTANT track_uuid: 4 extra_counter_values: 1 extra_counter_values: 2 extra_counter_track_uuids: 3 }`}, 0, "2 values for 1 tracks"},
	{"extra_values too many", []string{`timestamp: 300 track_event { type: TYPE_INSTANT track_uuid: 4
		extra_counter_track_uuids: [3, 3, 3, 3, 3] extra_counter_values: [1, 2, 3, 4, 5]
		extra_double_counter_track_uuids: [5, 5, 5, 5] extra_double_counter_values: [1, 2, 3, 4] }`}, 0, "9 values"},

	{"flow_repeated", []string{`timestamp: 300 track_event { type: TYPE_INSTANT track_uuid: 4 name: "i" flow_ids: 9 terminating_flow_ids: 9 }`}, 0, "flow 9"},
	{"flow_on_counter", []string{`timestamp: 300 track_event { type: TYPE_COUNTER track_uuid: 5 counter_value: 1 flow_ids: 9 }`}, 0, "1 ids"},
	{"flow_inactive never started", []string{`timestamp: 300 track_event { type: TYPE_INSTANT track_uuid: 4 name: "i" terminating_flow_ids: 9 }`}, 0, "flow 9 at 300 ns"},
	{"flow_inactive already ended", []string{`timestamp: 300 track_event { type: TYPE_INSTANT track_uuid: 4 name: "i" terminating_flow_ids: 1 }`}, 0, "flow 1 at 300 ns"},
	{"flow_inactive consumer before producer", []string{`timestamp: 300 track_event { type: TYPE_INSTANT track_uuid: 4 name: "i" terminating_flow_ids: 9 }`,
		`timestamp: 300 track_event { type: TYPE_INSTANT track_uuid: 2 name: "i" flow_ids: 9 }`}, 0, "flow 9 at 300 ns"},
	{"flow_old_form", []string{`timestamp: 300 track_event { type: TYPE_INSTANT track_uuid: 4 name: "i" flow_ids_old: 9 }`}, 0, "track 4"},

	{"annotation_name", []string{`timestamp: 300 track_event { type: TYPE_INSTANT track_uuid: 4 name: "i" debug_annotations { int_value: 1 } }`}, 0, "an annotation of 2 bytes"},
	{"annotation_name dictionary entry", []string{`timestamp: 300 track_event { type: TYPE_INSTANT track_uuid: 4 name: "i" debug_annotations { name: "d" dict_entries { int_value: 1 } } }`}, 0, "an annotation of 2 bytes"},
	{"annotation_value none", []string{`timestamp: 300 track_event { type: TYPE_INSTANT track_uuid: 4 name: "i" debug_annotations { name: "d" } }`}, 0, "0 values"},
	{"annotation_value two", []string{`timestamp: 300 track_event { type: TYPE_INSTANT track_uuid: 4 name: "i" debug_annotations { name: "d" int_value: 1 dict_entries { name: "x" int_value: 1 } } }`}, 0, "2 values"},

	{"folded_calls too few", []string{foldedSlice(2), foldedCall, begin(2000, 2), end(3000, 2)}, 2, "missing calls: 1"},
	{"folded_calls at the end", []string{foldedSlice(4294967295), foldedCall}, 1, "missing calls: 4294967294"},
	{"folded_calls too many", []string{foldedSlice(1), foldedCall, foldedCall}, 2, "missing calls: 0"},
	{"annotation_repeated", []string{`timestamp: 300 track_event { type: TYPE_INSTANT track_uuid: 4 name: "i" debug_annotations { name: "weft" dict_entries { name: "x" int_value: 1 } } debug_annotations { name: "weft" dict_entries { name: "y" int_value: 1 } } }`}, 0, "2 dictionaries"},

	{"callstack_empty interned", []string{`interned_data { callstacks { iid: 3 } }`}, 0, ""},
	{"callstack_empty inline", []string{`timestamp: 300 track_event { type: TYPE_INSTANT track_uuid: 4 callstack { } }`}, 0, ""},
	{"callstack_empty sample", []string{`timestamp: 300 stack_sample { callstack { } }`}, 0, ""},
	{"frame_address", []string{`interned_data { frames { iid: 9 mapping_id: 1 } }`}, 0, "mapping 1"},
	{"profile_thread", []string{snapshotPacket, `trusted_packet_sequence_id: 2 sequence_flags: 1`,
		`trusted_packet_sequence_id: 2 streaming_profile_packet { }`}, 2, "sequence 2"},
	{"profile_times", []string{snapshotPacket, `thread_descriptor { pid: 7 tid: 8 }`, `streaming_profile_packet { callstack_iid: 1 callstack_iid: 1 timestamp_delta_us: 5 }`}, 2,
		"2 call stacks, 1 times"},
}

// TestVerifyRules adds packets that break one rule to a valid trace, and expects exactly one finding: for that rule, at the right
// position.
func TestVerifyRules(t *testing.T) {
	for _, tt := range verifyCases {
		t.Run(tt.name, func(t *testing.T) {
			at := len(prelude) + tt.bad
			trace, offsets := buildTrace(preludePackets(t, tt.packets...)...)
			rule, _, _ := strings.Cut(tt.name, " ")
			expectViolation(t, trace, rule, int64(at), offsets[at], tt.detail)

			// The same packets in a bundle: the offset is the bundle's.
			expectViolation(t, testkit.Packet(50, testkit.Zlib(t, trace)), rule, int64(at), 0, tt.detail)
		})
	}
}

// Perfetto accepts complete events that touch, are equal, nest in each other or enclose properly nested begins and ends.
func TestVerifyCompleteEvents(t *testing.T) {
	texts := []string{
		complete(1000, 2, 2), complete(3000, 2, 2), complete(5000, 4, 2), complete(5000, 4, 2), complete(6000, 3, 2),
		complete(10_000, 10, 2), begin(12_000, 2), complete(13_000, 2, 2), end(20_000, 2), `timestamp: 20000 track_event { type: TYPE_INSTANT track_uuid: 2 name: "i" }`,
		begin(30_000, 2), complete(31_000, 1, 2), complete(32_000, 1, 2), end(33_000, 2), `timestamp: 9223372036854770000 track_event { track_uuid: 2 name: "s" legacy_event { phase: 88 duration_us: 9 } }`,
	}
	trace, _ := buildTrace(preludePackets(t, texts...)...)
	for _, f := range verifyBytes(t, trace, VerifyOptions{}).Findings {
		if f.Rule != "needs_version" {
			t.Errorf("%s: %v", f.Rule, f.Cases)
		}
	}
}

// Viewers do not draw folded calls, so their number is not limited.
func TestVerifyFoldedCalls(t *testing.T) {
	calls := slices.Repeat([]string{foldedCall}, 600)
	trace, _ := buildTrace(preludePackets(t, slices.Insert(calls, 0, foldedSlice(600))...)...)
	if report := verifyBytes(t, trace, VerifyOptions{}); !report.OK() {
		t.Errorf("%v", report.Findings)
	}
}

// Simultaneous instants nest in each other, but neither slices nor later instants nest in them.
func TestVerifyDepthOfInstants(t *testing.T) {
	texts := append(instantsAt(300, 512), begin(300, 4), end(300, 4))
	texts = append(texts, instantsAt(300, 512)...)
	texts = append(texts, instantsAt(301, 512)...)
	texts = append(texts, begin(302, 4))
	texts = append(texts, instantsAt(302, 511)...)
	texts = append(texts, end(303, 4))
	texts = append(texts, instantsAt(303, 512)...)
	trace, _ := buildTrace(preludePackets(t, texts...)...)
	if report := verifyBytes(t, trace, VerifyOptions{}); !report.OK() {
		t.Errorf("%+v", report.Findings)
	}
}

// expectViolation verifies a trace that must break exactly one rule at exactly one position.
func expectViolation(t *testing.T, trace []byte, rule string, packet, offset int64, detail string) {
	t.Helper()
	report := verifyBytes(t, trace, VerifyOptions{})
	var got []string
	for _, f := range report.Findings {
		if f.Warning {
			continue
		}
		for _, c := range f.Cases {
			got = append(got, fmt.Sprintf("%s %v", f.Rule, c))
		}
	}
	place := fmt.Sprintf("%s packet %d (byte %d): ", rule, packet, offset)
	if packet < 0 {
		place = fmt.Sprintf("%s byte %d: ", rule, offset)
	}
	if report.Violations != 1 || len(got) != 1 || !strings.HasPrefix(got[0], place) || !strings.Contains(got[0], detail) {
		t.Errorf("%d violations:\n%s\nwant\n%s… %s", report.Violations, strings.Join(got, "\n"), place, detail)
	}
}

// Rules that structured packets cannot break are tested with raw bytes.
func TestVerifyRulesOfTheWire(t *testing.T) {
	event := func(fields []byte) []byte { // an instant on track 4 with additional fields
		e := wire.AppendUint(wire.AppendUint(nil, 9, schema.TrackEvent_TypeInstant), 11, 4)
		p := wire.AppendUint(wire.AppendUint(nil, 10, 1), 8, 300)
		return wire.AppendBytes(p, schema.TracePacket_TrackEvent, append(e, fields...))
	}
	var deep []byte
	for range maxMessageDepth {
		deep = wire.AppendBytes(wire.AppendString(nil, 10, "d"), 11, deep)
	}
	deep = wire.AppendBytes(nil, 4, deep)
	twoValues := wire.AppendDouble(wire.AppendUint(wire.AppendUint(wire.AppendUint(nil, 9, schema.TrackEvent_TypeCounter), 11, 5), 30, 1), 44, 1)
	negativeTID := wire.AppendBytes(nil, 1, wire.AppendInt(wire.AppendUint(nil, 2, 7), 3, -1))
	sampleAt := func(msg []byte) []byte {
		return wire.AppendBytes(wire.AppendUint(wire.AppendUint(nil, 10, 1), 8, 300), schema.TracePacket_StackSample, msg)
	}
	tests := []struct {
		rule   string
		packet []byte
		detail string
	}{
		{"repeated_field", append(event(nil), event(nil)...), "field 11 comes twice"},
		{"malformed_message", []byte{0x0b}, "TracePacket: at byte 0 of it: invalid wire type"},
		{"malformed_message", event([]byte{0x22, 0x05, 0x01}), "TrackEvent: at byte 4 of it: message ends inside a field"},
		{"malformed_message", event(wire.AppendBytes(nil, 4, []byte{0x08})), "DebugAnnotation: at byte 0"},
		{"malformed_message", event(wire.AppendBytes(nil, 47, make([]byte, 9))), "packed field 47 of TrackEvent"},
		{"field_type", event(wire.AppendUint(nil, 47, 5)), "field 47 of TrackEvent has wire type 0, not 1"},
		{"message_depth", event(deep), "DebugAnnotation is nested"},
		{"counter_value", wire.AppendBytes(wire.AppendUint(wire.AppendUint(nil, 10, 1), 8, 300), schema.TracePacket_TrackEvent, twoValues), "2 values"},
		{"annotation_value", event(wire.AppendBytes(nil, 4, wire.AppendUint(wire.AppendUint(wire.AppendString(nil, 10, "d"), 4, 1), 4, 2))), "2 values"},
		{"sample_id", sampleAt(negativeTID), "field 3 of the task context is -1"},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			packets := append(preludePackets(t), tt.packet, packetText(t, begin(400, 4)), packetText(t, end(400, 4)))
			trace, offsets := buildTrace(packets...)
			at := len(prelude)
			expectViolation(t, trace, tt.rule, int64(at), offsets[at], tt.detail)
		})
	}
}

func TestVerifyFraming(t *testing.T) {
	clean, _ := buildTrace(preludePackets(t)...)
	half := testkit.Packet(50, testkit.Zlib(t, clean))
	after := int64(len(prelude))
	size := int64(len(clean))
	one := testkit.Plain(300, 0)
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	noise := make([]byte, 600<<10)
	for i, x := 0, uint32(1); i < len(noise); i++ {
		x = x*1664525 + 1013904223
		noise[i] = byte(x >> 24)
	}
	huge := wire.AppendBytes(nil, schema.Trace_Packet, wire.AppendBytes(nil, 36, noise))

	tests := []struct {
		rule           string
		trace          []byte
		packet, offset int64
		detail         string
	}{
		{"not_a_packet", join(clean, wire.AppendUint(nil, 2, 1)), -1, size, "field 2"},
		{"framing", join(clean, []byte{0x0b, 1, 2, 3}), after, size, "0x0b010203"},
		{"packet_cut", clean[:size-1], after - 1, 0, "the file ends after"},
		{"bundle_broken", join(clean, testkit.Packet(50, []byte("no zlib"))), after, size, "zlib"},
		{"bundle_broken", join(clean, testkit.Packet(50, append(testkit.Zlib(t, one), 0))), after, size, "1 bytes follow the end"},
		{"bundle_broken", join(clean, testkit.Packet(50, testkit.Zlib(t, one[:2]))), after, size, "message ends inside a field"},
		{"bundle_size", join(clean, testkit.Packet(50, testkit.Zlib(t, huge))), after, size, "bytes"},
		{"bundle_nested", testkit.Packet(50, testkit.Zlib(t, join(clean, half))), after, 0, ""},
		{"bundle_mixed", join(half, testkit.Packet(133, testkit.Zstd(t, one))), after, int64(len(half)), "zstd after zlib"},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			if tt.rule == "packet_cut" {
				_, offsets := buildTrace(preludePackets(t)...)
				tt.offset = offsets[len(offsets)-1]
			}
			expectViolation(t, tt.trace, tt.rule, tt.packet, tt.offset, tt.detail)
		})
	}
	t.Run("empty", func(t *testing.T) { expectViolation(t, nil, "first_byte", -1, 0, "the file is empty") })
	// A file with the wrong first byte has two findings: the byte itself, and a field that is not a packet.
	t.Run("first_byte", func(t *testing.T) {
		report := verifyBytes(t, join(wire.AppendUint(nil, 2, 1), clean), VerifyOptions{})
		if report.Violations != 2 || report.Findings[0].Rule != "first_byte" || report.Findings[1].Rule != "not_a_packet" {
			t.Errorf("%+v", report.Findings)
		}
	})
}

// Each rule is broken by a case in verifyCases or verifyWarnings, or by another test, listed here.
func TestVerifyRulesAreTested(t *testing.T) {
	tested := map[string]bool{"malformed_message": true, "repeated_field": true, "field_type": true, "message_depth": true, "sample_id": true,
		"first_byte": true, "not_a_packet": true, "framing": true, "packet_cut": true, "bundle_broken": true,
		"bundle_size": true, "bundle_nested": true, "bundle_mixed": true,
		"packet_size":     true, // TestPacketReaderLimits: the limit is too large for a trace in a test
		"order_unchecked": true, "unknown_field": true}
	for _, c := range verifyCases {
		name, _, _ := strings.Cut(c.name, " ")
		tested[name] = true
	}
	for _, c := range verifyWarnings {
		name, _, _ := strings.Cut(c.name, " ")
		tested[name] = true
	}
	seen := make(map[string]bool)
	for _, r := range rules {
		if !tested[r.name] {
			t.Errorf("no test for rule %q", r.name)
		}
		if seen[r.name] || r.sentence == "" || r.section == "" {
			t.Errorf("rule %q is not described, or twice", r.name)
		}
		seen[r.name] = true
	}
}

var verifyWarnings = []verifyTestCase{
	{"begin_without_end", []string{begin(300, 4)}, 0, "track 4"},
	{"time_order", []string{begin(400, 4), end(500, 4), `timestamp: 350 track_event { type: TYPE_INSTANT track_uuid: 2 name: "i" }`}, 2, "350 ns after 500 ns"},
	{"needs_version", []string{`timestamp: 300 track_event { type: TYPE_STATE track_uuid: 4 name: "i" }`}, 0, "v57"},
	{"thread_time_name", []string{`track_descriptor { uuid: 45 parent_uuid: 2 name: "cpu" counter { type: COUNTER_THREAD_TIME_NS } }`}, 0, "cpu"},
	{"state_lost", []string{`trusted_packet_sequence_id: 2 sequence_flags: 1`, `trusted_packet_sequence_id: 2 previous_packet_dropped: 1 sequence_flags: 2`}, 1, "sequence 2"},
	{"clock_late profile", []string{`thread_descriptor { pid: 7 tid: 8 }`, `streaming_profile_packet { callstack_iid: 1 timestamp_delta_us: 5 }`}, 1, "clock 3"},
	{"clock_late", []string{`timestamp: 300 timestamp_clock_id: 130 track_event { type: TYPE_INSTANT track_uuid: 4 name: "i" }`}, 0, "clock 130"},
}

func TestVerifyWarnings(t *testing.T) {
	for _, tt := range verifyWarnings {
		t.Run(tt.name, func(t *testing.T) {
			at := len(prelude) + tt.bad
			trace, offsets := buildTrace(preludePackets(t, tt.packets...)...)
			report := verifyBytes(t, trace, VerifyOptions{})
			if !report.OK() {
				t.Fatalf("%+v", report.Findings)
			}
			for _, f := range report.Findings {
				if rule, _, _ := strings.Cut(tt.name, " "); f.Rule != rule {
					continue
				}
				last := f.Cases[len(f.Cases)-1]
				if last.Packet != int64(at) || last.Offset != offsets[at] || !strings.Contains(last.Detail, tt.detail) {
					t.Errorf("got %v, want packet %d (byte %d): %s", last, at, offsets[at], tt.detail)
				}
				return
			}
			t.Errorf("no warning: %+v", report.Findings)
		})
	}
}

func TestVerifyUnknownFields(t *testing.T) {
	packets := append(preludePackets(t), nil, nil)
	unknown := wire.AppendUint(wire.AppendUint(nil, 999, 1), 998, 1)
	packets[len(prelude)], packets[len(prelude)+1] = unknown, unknown[:3]
	trace, offsets := buildTrace(packets...)
	report := verifyBytes(t, trace, VerifyOptions{})
	want := []VerifyCase{
		{Packet: int64(len(prelude)), Offset: offsets[len(prelude)], Detail: "field 998 of TracePacket, 1 times"},
		{Packet: int64(len(prelude)), Offset: offsets[len(prelude)], Detail: "field 999 of TracePacket, 2 times"},
	}
	for _, f := range report.Findings {
		if f.Rule == "unknown_field" {
			if f.Count != 3 || fmt.Sprint(f.Cases) != fmt.Sprint(want) {
				t.Errorf("%d: %v", f.Count, f.Cases)
			}
			return
		}
	}
	t.Error("unknown fields are not reported")
}

// A trace from another producer may start in the middle of slices and flows; with Strict, or in weft's own traces, this is a
// violation. In a trace annotated by weft, the producer's own packets still cause only warnings.
func TestVerifyOtherProducers(t *testing.T) {
	foreign := []string{
		`trusted_packet_sequence_id: 9 sequence_flags: 1 track_descriptor { uuid: 40 name: "n" }`,
		`trusted_packet_sequence_id: 9 timestamp: 10 track_event { type: TYPE_SLICE_END track_uuid: 40 name: "x" terminating_flow_ids: 77 }`,
	}
	var packets [][]byte
	for _, text := range foreign {
		packets = append(packets, packetText(t, text))
	}
	alone, _ := buildTrace(packets...)
	annotated, _ := buildTrace(append(packets, preludePackets(t)...)...)
	for name, tt := range map[string]struct {
		trace  []byte
		strict bool
		want   uint64
	}{
		"foreign": {alone, false, 0}, "annotated by weft": {annotated, false, 0}, "strict": {alone, true, 3},
	} {
		report := verifyBytes(t, tt.trace, VerifyOptions{Strict: tt.strict})
		if report.Violations != tt.want {
			t.Errorf("%s: %d violations, want %d: %+v", name, report.Violations, tt.want, report.Findings)
		}
	}
}

// A trace can be in any order if the events to buffer fit within the limit. Events in time order need no large buffer. Beyond the
// limit, the order is not checked, which is not a violation.
func TestVerifyOrderLimit(t *testing.T) {
	for name, test := range map[string]struct {
		first, step, length, limit int
		unchecked                  bool
	}{
		"descending":                 {2000, -10, 5, 1000, false},
		"descending above the limit": {2000, -10, 5, 16, true},
		"ascending":                  {1000, 10, 10, 16, false},
	} {
		var texts []string
		for i := range 100 {
			at := test.first + i*test.step
			texts = append(texts, begin(at, 4), end(at+test.length, 4))
		}
		trace, _ := buildTrace(preludePackets(t, texts...)...)
		report := verifyBytes(t, trace, VerifyOptions{MaxBuffered: test.limit})
		unchecked := slices.ContainsFunc(report.Findings, func(f VerifyFinding) bool { return f.Rule == "order_unchecked" })
		if !report.OK() || unchecked != test.unchecked {
			t.Errorf("%s: %+v", name, report.Findings)
		}
	}
}

func TestVerifyReportIsJSON(t *testing.T) {
	trace, _ := buildTrace(preludePackets(t, end(300, 4))...)
	report := verifyBytes(t, trace, VerifyOptions{})
	data, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`{"producer":"test","bytes":%d,"packets":13,"bundles":0,"events":6,"violations":1,"warnings":1,"findings":[`+
		`{"rule":"end_without_begin","warning":false,`, len(trace))
	if !strings.HasPrefix(string(data), want) {
		t.Errorf("got  %s\nwant %s", data, want)
	}
}

func TestVerifyBoundsCases(t *testing.T) {
	trace, _ := buildTrace(preludePackets(t, slices.Repeat([]string{end(300, 4)}, 20)...)...)
	report := verifyBytes(t, trace, VerifyOptions{MaxCases: 3})
	if f := report.Findings[0]; f.Count != 20 || len(f.Cases) != 3 || report.Violations != 20 {
		t.Errorf("%+v", f)
	}
}

func TestVerifyCancelled(t *testing.T) {
	trace, _ := buildTrace(preludePackets(t)...)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Verify(ctx, bytes.NewReader(trace), VerifyOptions{}); err != context.Canceled {
		t.Errorf("error %v", err)
	}
}

func FuzzVerify(f *testing.F) {
	trace, _ := buildTrace(preludePackets(f)...)
	f.Add(trace)
	f.Add(testkit.Packet(50, testkit.Zlib(f, trace)))
	for _, c := range verifyCases {
		if len(c.packets) > 0 && len(c.packets) < 5 {
			trace, _ := buildTrace(preludePackets(f, c.packets...)...)
			f.Add(trace)
		}
	}
	f.Fuzz(func(t *testing.T, trace []byte) {
		report := verifyBytes(t, trace, VerifyOptions{MaxBuffered: 64})
		if _, err := json.Marshal(report); err != nil {
			t.Fatal(err)
		}
		for _, finding := range report.Findings {
			if finding.Count == 0 || len(finding.Cases) > maxUnknownCases {
				t.Fatalf("%+v", finding)
			}
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	packets := preludePackets(b)
	event := packetText(b, begin(1000, 4))
	for range 20000 {
		packets = append(packets, event, packetText(b, end(1000, 4)))
	}
	trace, _ := buildTrace(packets...)
	b.SetBytes(int64(len(trace)))
	b.ReportAllocs()
	for b.Loop() {
		verifyBytes(b, trace, VerifyOptions{})
	}
}
