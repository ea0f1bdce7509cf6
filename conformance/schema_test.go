package conformance

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "github.com/weft-trace/weft/gen/perfetto/protos"
)

// numbers lists the fields on the wire according to upstream's schema, not ours. A wrong number or type in a subset
// causes no error: writers and readers that share the mistake understand each other, but Perfetto understands nothing.
const numbers = `
Trace: packet 1
TracePacket: timestamp 8, timestamp_clock_id 58, trusted_packet_sequence_id 10, sequence_flags 13, interned_data 12,
	trace_packet_defaults 59, first_packet_on_sequence 87, previous_packet_dropped 42, incremental_state_cleared 41,
	machine_id 98, trusted_uid 3, trusted_pid 79, track_event 11, track_descriptor 60, clock_snapshot 6, process_tree 2,
	chrome_events 5, process_descriptor 43, thread_descriptor 44, trace_uuid 89, service_event 69, perf_sample 66,
	streaming_profile_packet 54, stack_sample 135, extension_descriptor 72, trace_attributes 126,
	compressed_packets 50, zstd_compressed_packets 133, synchronization_marker 36, system_info 45, remote_clock_sync 107
SystemInfo: machine_name 17
RemoteClockSync: synced_clocks 1
RemoteClockSync.SyncedClocks: client_clocks 2, host_clocks 3
TracePacketDefaults: timestamp_clock_id 58, track_event_defaults 11, stack_sample_defaults 100
TrackEvent: type 9, track_uuid 11, name_iid 10, name 23, category_iids 3, categories 22, counter_value 30,
	double_counter_value 44, extra_counter_track_uuids 31, extra_counter_values 12,
	extra_double_counter_track_uuids 45, extra_double_counter_values 46, flow_ids 47, terminating_flow_ids 48,
	flow_ids_old 36, terminating_flow_ids_old 42, correlation_id 52, correlation_id_str 53, correlation_id_str_iid 54,
	callstack 55, callstack_iid 56, callstack_weight 57, debug_annotations 4, log_message 21, screenshot 50,
	source_location 33, source_location_iid 34, task_execution 5, legacy_event 6, timestamp_delta_us 1,
	timestamp_absolute_us 16, thread_time_delta_us 2, thread_time_absolute_us 17, thread_instruction_count_delta 8,
	thread_instruction_count_absolute 20
TrackEvent.LegacyEvent: name_iid 1, phase 2, duration_us 3, thread_duration_us 4, unscoped_id 6, local_id 10,
	global_id 11, id_scope 7, bind_id 8, bind_to_enclosing 12, flow_direction 13, instant_event_scope 14,
	use_async_tts 9, thread_instruction_delta 15, pid_override 18, tid_override 19
TrackEventDefaults: track_uuid 11, extra_counter_track_uuids 31, extra_double_counter_track_uuids 45
TrackDescriptor: uuid 1, parent_uuid 5, name 2, static_name 10, atrace_name 13, description 14, process 3, thread 4,
	counter 8, state 18, chrome_process 6, chrome_thread 7, disallow_merging_with_system_tracks 9, child_ordering 11,
	sibling_order_rank 12, sibling_merge_behavior 15, sibling_merge_key 16, sibling_merge_key_int 17,
	process_ordering 19, thread_ordering 20
ProcessDescriptor: pid 1, cmdline 2, process_name 6, process_labels 8, start_timestamp_ns 7, legacy_sort_index 3
ThreadDescriptor: pid 1, tid 2, thread_name 5, reference_timestamp_us 6, reference_thread_time_us 7,
	legacy_sort_index 3
CounterDescriptor: type 1, categories 2, unit 3, unit_multiplier 4, is_incremental 5, unit_name 6, y_axis_share_key 7
InternedData: event_categories 1, event_names 2, debug_annotation_names 3, source_locations 4, function_names 5,
	frames 6, callstacks 7, build_ids 16, mapping_paths 17, source_paths 18, mappings 19, log_message_body 20,
	debug_annotation_value_type_names 27, debug_annotation_string_values 29, correlation_id_str 43,
	stack_sample_task_contexts 48, stack_sample_execution_contexts 49, stack_sample_counter_descriptors 50,
	stack_sample_async_context_descriptors 51
Mapping: iid 1, build_id 2, start_offset 3, start 4, end 5, load_bias 6, path_string_ids 7, exact_offset 8
Frame: iid 1, function_name_id 2, mapping_id 3, rel_pc 4, source_path_iid 5, line_number 6, kind 7, kind_str 8
Callstack: iid 1, frame_ids 2
DebugAnnotation: name_iid 1, name 10, bool_value 2, uint_value 3, int_value 4, double_value 5, string_value 6,
	string_value_iid 17, pointer_value 7, nested_value 8, legacy_json_value 9, dict_entries 11, array_values 12,
	proto_type_name 16, proto_type_name_iid 13, proto_value 14
DebugAnnotation.NestedValue: nested_type 1, dict_keys 2, dict_values 3, array_values 4, int_value 5, double_value 6,
	bool_value 7, string_value 8
ClockSnapshot: clocks 1, primary_trace_clock 2
ClockSnapshot.Clock: clock_id 1, timestamp 2, is_incremental 3, unit_multiplier_ns 4
StackSample: task_context 1, task_context_iid 2, execution_context 3, execution_context_iid 4, callstack 5,
	callstack_iid 6, unwind_error 7, unwind_error_iid 8, primary_descriptor 9, primary_descriptor_iid 10,
	primary_weight 11, follower_descriptors 12, follower_descriptor_iids 13, follower_weights 14
StackSample.TaskContext: iid 1, pid 2, tid 3, async_id 4
StackSample.CounterDescriptor: iid 1, name 2, unit 3, unit_str 4, unit_multiplier 5, description 6
StackSampleDefaults: source 1, primary_descriptor 2, follower_descriptors 3
StreamingProfilePacket: callstack_iid 1, timestamp_delta_us 2, process_priority 3
PerfSample: cpu 1, pid 2, tid 3, callstack_iid 4, cpu_mode 5, timebase_count 6
TraceAttributes.Attribute: key 1, long_value 2, string_value 3
`

func TestFieldNumbers(t *testing.T) {
	// Continuation lines are indented.
	for line := range strings.SplitSeq(strings.ReplaceAll(strings.TrimSpace(numbers), "\n\t", " "), "\n") {
		name, fields, _ := strings.Cut(line, ": ")
		message := find(t, name)
		for field := range strings.SplitSeq(fields, ", ") {
			var fieldName string
			var number int
			if _, err := fmt.Sscan(field, &fieldName, &number); err != nil {
				t.Fatalf("%s: %q: %v", name, field, err)
			}
			fd := message.Fields().ByName(protoreflect.Name(fieldName))
			if fd == nil {
				t.Errorf("%s has no field %s", name, fieldName)
			} else if int(fd.Number()) != number {
				t.Errorf("%s.%s has the number %d, want %d", name, fieldName, fd.Number(), number)
			}
		}
	}
}

// TestTypes checks the types that are easily wrong in a handmade subset.
func TestTypes(t *testing.T) {
	for _, want := range []struct {
		message, field string
		kind           protoreflect.Kind
		list, packed   bool
	}{
		{"ProcessDescriptor", "pid", protoreflect.Int32Kind, false, false},
		{"ThreadDescriptor", "pid", protoreflect.Int32Kind, false, false},
		{"ThreadDescriptor", "tid", protoreflect.Int64Kind, false, false},
		{"StackSample.TaskContext", "tid", protoreflect.Uint32Kind, false, false},
		{"TrackEvent", "flow_ids", protoreflect.Fixed64Kind, true, false},
		{"TrackEvent", "terminating_flow_ids", protoreflect.Fixed64Kind, true, false},
		{"TrackEvent", "flow_ids_old", protoreflect.Uint64Kind, true, false},
		{"TrackEvent", "counter_value", protoreflect.Int64Kind, false, false},
		{"TrackEvent", "extra_counter_values", protoreflect.Int64Kind, true, false},
		{"TrackEvent", "extra_counter_track_uuids", protoreflect.Uint64Kind, true, false},
		{"TrackEvent", "callstack_weight", protoreflect.DoubleKind, false, false},
		{"TrackDescriptor", "sibling_order_rank", protoreflect.Int32Kind, false, false},
		{"StackSample", "primary_weight", protoreflect.Uint64Kind, false, false},
		{"StackSample", "follower_weights", protoreflect.Uint64Kind, true, true},
		{"StackSample", "follower_descriptor_iids", protoreflect.Uint64Kind, true, true},
		{"Callstack", "frame_ids", protoreflect.Uint64Kind, true, false},
		{"InternedString", "str", protoreflect.BytesKind, false, false},
		{"TracePacket", "timestamp", protoreflect.Uint64Kind, false, false},
	} {
		fd := find(t, want.message).Fields().ByName(protoreflect.Name(want.field))
		if fd.Kind() != want.kind || fd.IsList() != want.list || fd.IsPacked() != want.packed {
			t.Errorf("%s.%s is %v, list %v, packed %v; want %v, %v, %v", want.message, want.field,
				fd.Kind(), fd.IsList(), fd.IsPacked(), want.kind, want.list, want.packed)
		}
	}

	sequence := find(t, "TracePacket").Fields().ByName("trusted_packet_sequence_id")
	if sequence.ContainingOneof() == nil {
		t.Error("TracePacket.trusted_packet_sequence_id is not in a oneof, as it is upstream")
	}
}

func find(t *testing.T, name string) protoreflect.MessageDescriptor {
	t.Helper()
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName("perfetto.protos." + name))
	if err != nil {
		t.Fatal(err)
	}
	return d.(protoreflect.MessageDescriptor)
}
