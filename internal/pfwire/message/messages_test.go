package message

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/weft-trace/weft/gen/perfetto/protos"
	"github.com/weft-trace/weft/internal/wire"
)

// values are the fields of a message, read by a decoder and by a generated struct.
type values struct {
	got, want []any
}

func (v *values) same(got, want any) {
	v.got, v.want = append(v.got, got), append(v.want, want)
}

// count returns the number of messages in a list.
func count(l List) (n int) {
	for l.Next() {
		n++
	}
	return n
}

func texts(list []string) (all [][]byte) {
	for _, s := range list {
		all = append(all, []byte(s))
	}
	return all
}

// A witness decodes a message with the generated struct.
type witness struct {
	seed    string // in text form
	message proto.Message
	compare func(v *values, msg []byte, want proto.Message) error

	mistyped func(msg []byte) []int // the result of Mistyped; nil: the decoder has no such method
}

// against returns a witness that compares a decoder with a generated struct.
func against[T any, P interface {
	*T
	Parse([]byte) error
}, W proto.Message](seed string, message W, compare func(v *values, got P, want W)) witness {
	w := witness{seed: seed, message: message, compare: func(v *values, msg []byte, want proto.Message) error {
		var got T
		err := P(&got).Parse(msg)
		compare(v, &got, want.(W))
		return err
	}}
	if _, ok := any(new(T)).(interface{ Mistyped() []int }); ok {
		w.mistyped = func(msg []byte) []int {
			var got T
			P(&got).Parse(msg)
			return any(&got).(interface{ Mistyped() []int }).Mistyped()
		}
	}
	return w
}

var witnesses = []witness{
	against(`timestamp: 5 trusted_packet_sequence_id: 7 sequence_flags: 3 timestamp_clock_id: 64 machine_id: 2 track_event { type: TYPE_INSTANT }`,
		&protos.TracePacket{}, func(v *values, got *TracePacket, want *protos.TracePacket) {
			v.same(got.Timestamp, want.GetTimestamp())
			v.same(got.HasTimestamp, want.Timestamp != nil)
			v.same(got.ClockID, want.GetTimestampClockId())
			v.same(got.Sequence, SequenceKey{want.GetMachineId(), want.GetTrustedPacketSequenceId()})
			v.same(got.NeedsState, want.GetSequenceFlags()&2 != 0)
			v.same(got.Cleared || want.GetSequenceFlags()&1 == 0 && !want.GetIncrementalStateCleared(), true)
			v.same(got.Dropped, want.GetPreviousPacketDropped() != 0)
			v.same(got.Defaults != nil, want.TracePacketDefaults != nil)
			v.same(got.InternedData != nil, want.InternedData != nil)
			v.same(got.Payload == 0, want.Data == nil)
			v.same(got.Payload == 11, want.GetTrackEvent() != nil || want.GetWeftIdle() != nil || want.GetWeftFolded() != nil)
			v.same(got.Payload == 135, want.GetStackSample() != nil || want.GetWeftIdleSample() != nil)
			v.same(got.ThreadTime, want.GetWeftThreadTime())
			v.same(got.ThreadTimeDelta, want.GetWeftThreadTimeDelta())
			v.same(got.DidNotEnd, want.GetWeftDidNotEnd())
			v.same(got.Thread, want.GetWeftThread())
			v.same(uint32(got.Levels), want.GetWeftLevels())
			v.same(got.Folded || want.GetWeftFolded() == nil, true)
			v.same(got.Payload == 60, want.GetTrackDescriptor() != nil)
		}),
	against(`timestamp_clock_id: 64 track_event_defaults { track_uuid: 5 extra_counter_track_uuids: [1, 2] extra_double_counter_track_uuids: 3 }`,
		&protos.TracePacketDefaults{}, func(v *values, got *TracePacketDefaults, want *protos.TracePacketDefaults) {
			v.same(got.ClockID, want.GetTimestampClockId())
			v.same(got.TrackUUID, want.GetTrackEventDefaults().GetTrackUuid())
			v.same(got.ExtraTracks, want.GetTrackEventDefaults().GetExtraCounterTrackUuids())
			v.same(got.ExtraDoubleTracks, want.GetTrackEventDefaults().GetExtraDoubleCounterTrackUuids())
			v.same(got.StackSample != nil, want.StackSampleDefaults != nil)
		}),
	against(`primary_trace_clock: BUILTIN_CLOCK_MONOTONIC clocks { clock_id: 6 }`, &protos.ClockSnapshot{}, func(v *values, got *ClockSnapshot, want *protos.ClockSnapshot) {
		v.same(got.HasPrimary(), want.PrimaryTraceClock != nil)
		v.same(got.PrimaryClock(), uint32(want.GetPrimaryTraceClock()))
		v.same(count(got.Clocks()), len(want.Clocks))
	}),
	against(`clock_id: 64 timestamp: 9 is_incremental: true unit_multiplier_ns: 1000`, &protos.ClockSnapshot_Clock{}, func(v *values, got *ClockReading, want *protos.ClockSnapshot_Clock) {
		v.same(got.ID(), want.GetClockId())
		v.same(got.Timestamp(), int64(want.GetTimestamp()))
		v.same(got.IsIncremental(), want.GetIsIncremental())
		if m := want.GetUnitMultiplierNs(); m > 0 && m <= math.MaxInt64 { // other multipliers are 1
			v.same(uint64(got.Multiplier()), want.GetUnitMultiplierNs())
		}
	}),
	against(`uuid: 1 parent_uuid: 2 static_name: "a" description: "d" thread { } child_ordering: EXPLICIT sibling_order_rank: -3
		sibling_merge_behavior: SIBLING_MERGE_BEHAVIOR_NONE sibling_merge_key_int: 7 weft_mark { role: 5 }`,
		&protos.TrackDescriptor{}, func(v *values, got *TrackDescriptor, want *protos.TrackDescriptor) {
			v.same(got.UUID(), want.GetUuid())
			v.same(got.ParentUUID(), want.GetParentUuid())
			v.same(string(got.Name()), want.GetName()+want.GetStaticName()+want.GetAtraceName())
			v.same(string(got.Description()), want.GetDescription())
			v.same(got.Process() != nil, want.Process != nil)
			v.same(got.Thread() != nil, want.Thread != nil)
			v.same(got.Counter() != nil, want.Counter != nil)
			v.same(got.IsState(), want.State != nil)
			v.same(got.HasChromeProcess(), want.ChromeProcess != nil)
			v.same(got.HasChromeThread(), want.ChromeThread != nil)
			v.same(int32(got.ChildOrdering()), int32(want.GetChildOrdering()))
			v.same(got.HasRank(), want.SiblingOrderRank != nil)
			v.same(got.Rank(), want.GetSiblingOrderRank())
			v.same(int32(got.MergeBehavior()), int32(want.GetSiblingMergeBehavior()))
			text, number, _ := got.MergeKey()
			v.same(string(text), want.GetSiblingMergeKey())
			v.same(number, want.GetSiblingMergeKeyInt())
			v.same(got.Mark() != nil, want.WeftMark != nil)
		}),
	against(`pid: -5 cmdline: ["a", "-b"] process_name: "p" process_labels: "l" start_timestamp_ns: 9`, &protos.ProcessDescriptor{}, func(v *values, got *ProcessDescriptor, want *protos.ProcessDescriptor) {
		v.same(got.PID(), want.GetPid())
		v.same(got.CommandLine(), texts(want.Cmdline))
		v.same(string(got.Name()), want.GetProcessName())
		v.same(got.Labels(), texts(want.ProcessLabels))
		v.same(got.StartNS(), want.GetStartTimestampNs())
	}),
	against(`pid: 1 tid: 5000000000 thread_name: "t" reference_timestamp_us: 9 reference_thread_time_us: 8`, &protos.ThreadDescriptor{}, func(v *values, got *ThreadDescriptor, want *protos.ThreadDescriptor) {
		v.same(got.PID(), want.GetPid())
		v.same(got.TID(), want.GetTid())
		v.same(string(got.Name()), want.GetThreadName())
		v.same(got.HasTime(), want.ReferenceTimestampUs != nil)
		v.same(got.TimeUS(), want.GetReferenceTimestampUs())
		v.same(got.HasThreadTime(), want.ReferenceThreadTimeUs != nil)
		v.same(got.ThreadTimeUS(), want.GetReferenceThreadTimeUs())
	}),
	against(`type: COUNTER_THREAD_TIME_NS unit: UNIT_TIME_NS unit_multiplier: 1000 is_incremental: true unit_name: "u" y_axis_share_key: "k"`,
		&protos.CounterDescriptor{}, func(v *values, got *CounterDescriptor, want *protos.CounterDescriptor) {
			v.same(int32(got.Type()), int32(want.GetType()))
			v.same(int32(got.Unit()), int32(want.GetUnit()))
			v.same(string(got.UnitName()), want.GetUnitName())
			v.same(got.HasMultiplier(), want.UnitMultiplier != nil)
			v.same(got.Multiplier(), want.GetUnitMultiplier())
			v.same(got.IsIncremental(), want.GetIsIncremental())
			v.same(string(got.ShareKey()), want.GetYAxisShareKey())
		}),
	against(`role: 5 subject: "s" input_id { number: 3 }`, &protos.WeftTrackMark{}, func(v *values, got *TrackMark, want *protos.WeftTrackMark) {
		v.same(uint32(got.Role()), want.GetRole())
		v.same(string(got.Subject()), want.GetSubject())
		v.same(got.InputID() != nil, want.InputId != nil)
	}),
	against(`number: -3 text: "t" text_is_number: true name: "n"`, &protos.WeftInputID{}, func(v *values, got *InputID, want *protos.WeftInputID) {
		v.same(got.HasNumber(), want.Number != nil)
		v.same(got.Number(), want.GetNumber())
		v.same(string(got.Text()), want.GetText())
		v.same(got.TextIsNumber(), want.GetTextIsNumber())
		v.same(string(got.Name()), want.GetName())
	}),
	against(`pid: 1 ppid: 2 cmdline: "c" uid: 3`, &protos.ProcessTree_Process{}, func(v *values, got *ProcessTreeProcess, want *protos.ProcessTree_Process) {
		v.same(got.PID(), want.GetPid())
		v.same(got.PPID(), want.GetPpid())
		v.same(got.UID(), want.GetUid())
		v.same(got.CommandLine(), texts(want.Cmdline))
	}),
	against(`tid: 1 name: "n" tgid: 2`, &protos.ProcessTree_Thread{}, func(v *values, got *ProcessTreeThread, want *protos.ProcessTree_Thread) {
		v.same(got.TID(), want.GetTid())
		v.same(got.PID(), want.GetTgid())
		v.same(string(got.Name()), want.GetName())
	}),
	against(`iid: 1 frame_ids: [3, 4]`, &protos.Callstack{}, func(v *values, got *Callstack, want *protos.Callstack) {
		v.same(got.AppendFrameIIDs(nil), want.FrameIds)
	}),
	against(`iid: 1 function_name_id: 2 mapping_id: 3 rel_pc: 0 source_path_iid: 4 line_number: 5 kind_str: "js" weft_column: 6`, &protos.Frame{}, func(v *values, got *Frame, want *protos.Frame) {
		v.same(got.FunctionIID(), want.GetFunctionNameId())
		v.same(got.MappingIID(), want.GetMappingId())
		v.same(got.SourcePathIID(), want.GetSourcePathIid())
		v.same(got.Line(), want.GetLineNumber())
		v.same(got.Column(), want.GetWeftColumn())
		v.same(got.HasRelPC(), want.RelPc != nil)
		v.same(got.RelPC(), want.GetRelPc())
		v.same(got.HasKind() || got.HasKindText(), want.KindField != nil)
	}),
	against(`iid: 1 build_id: 2 path_string_ids: [3, 4] weft_relative: true`, &protos.Mapping{}, func(v *values, got *Mapping, want *protos.Mapping) {
		v.same(got.BuildIDIID(), want.GetBuildId())
		v.same(got.AppendPathIIDs(nil), want.PathStringIds)
		v.same(got.IsRelative(), want.GetWeftRelative())
		v.same(got.HasPlace(), want.StartOffset != nil || want.Start != nil || want.End != nil || want.LoadBias != nil || want.ExactOffset != nil)
	}),
	against(`function_name: "f" source_file: "s" line_number: 3`, &protos.TrackEvent_Callstack_Frame{}, func(v *values, got *InlineFrame, want *protos.TrackEvent_Callstack_Frame) {
		v.same(string(got.Function()), want.GetFunctionName())
		v.same(string(got.File()), want.GetSourceFile())
		v.same(got.Line(), want.GetLineNumber())
	}),
	against(`task_context_iid: 2 execution_context { cpu: 1 } callstack_iid: 3 primary_descriptor_iid: 4 primary_weight: 5 follower_descriptor_iids: [6, 7] unwind_error: "e"`,
		&protos.StackSample{}, func(v *values, got *StackSample, want *protos.StackSample) {
			v.same(got.Task().IID, want.GetTaskContextIid())
			v.same(got.Task().Msg != nil, want.GetTaskContext() != nil)
			v.same(got.Execution().IID, want.GetExecutionContextIid())
			v.same(got.Execution().Msg != nil, want.GetExecutionContext() != nil)
			v.same(got.Callstack().IID, want.GetCallstackIid())
			v.same(got.Callstack().Msg != nil, want.GetCallstack() != nil)
			v.same(got.Counter().IID, want.GetPrimaryDescriptorIid())
			v.same(got.Counter().Msg != nil, want.GetPrimaryDescriptor() != nil)
			v.same(got.HasWeight(), want.PrimaryWeight != nil)
			v.same(got.Weight(), want.GetPrimaryWeight())
			v.same(got.AppendFollowerIIDs(nil), want.FollowerDescriptorIids)
			if want.UnwindErrorField != nil {
				v.same(len(got.Other()) > 0, true)
			}
		}),
	against(`pid: 1 tid: 2 async_id: 3`, &protos.StackSample_TaskContext{}, func(v *values, got *TaskContext, want *protos.StackSample_TaskContext) {
		v.same(uint32(got.PID()), want.GetPid())
		v.same(uint32(got.TID()), want.GetTid())
		v.same(got.HasAsyncID(), want.AsyncId != nil)
	}),
	against(`cpu: 1 mode: MODE_KERNEL`, &protos.StackSample_ExecutionContext{}, func(v *values, got *ExecutionContext, want *protos.StackSample_ExecutionContext) {
		v.same(got.HasCPU(), want.Cpu != nil)
		v.same(got.CPU(), want.GetCpu())
		v.same(got.HasMode(), want.Mode != nil)
	}),
	against(`iid: 1 name: "n" unit_str: "u" description: "d"`, &protos.StackSample_CounterDescriptor{}, func(v *values, got *SampleCounter, want *protos.StackSample_CounterDescriptor) {
		unit, text := got.Unit()
		v.same(string(got.Name()), want.GetName())
		v.same(int32(unit), int32(want.GetUnit()))
		v.same(string(text), want.GetUnitStr())
		v.same(len(got.Other()) > 0, want.UnitMultiplier != nil || want.Description != nil || hasUnknown(want.ProtoReflect()))
	}),
	against(`source: "s" primary_descriptor { }`, &protos.StackSampleDefaults{}, func(v *values, got *StackSampleDefaults, want *protos.StackSampleDefaults) {
		v.same(string(got.Source()), want.GetSource())
		v.same(got.Counter() != nil, want.PrimaryDescriptor != nil)
		v.same(len(got.Other()) > 0, len(want.FollowerDescriptors) > 0 || hasUnknown(want.ProtoReflect()))
	}),
	against(`cpu: 1 pid: 2 tid: 3 callstack_iid: 4 timebase_count: 5`, &protos.PerfSample{}, func(v *values, got *PerfSample, want *protos.PerfSample) {
		v.same(got.HasCPU(), want.Cpu != nil)
		v.same(got.CPU(), want.GetCpu())
		v.same(got.PID(), want.GetPid())
		v.same(got.TID(), want.GetTid())
		v.same(got.CallstackIID(), want.GetCallstackIid())
	}),
	against(`callstack_iid: [1, 2] timestamp_delta_us: [3, -4]`, &protos.StreamingProfilePacket{}, func(v *values, got *StreamingProfile, want *protos.StreamingProfilePacket) {
		var deltas []uint64
		for _, d := range want.TimestampDeltaUs {
			deltas = append(deltas, uint64(d))
		}
		v.same(got.AppendCallstackIIDs(nil), want.CallstackIid)
		v.same(got.AppendTimeDeltasUS(nil), deltas)
	}),
	against(`key: "k" long_value: -2`, &protos.TraceAttributes_Attribute{}, func(v *values, got *Attribute, want *protos.TraceAttributes_Attribute) {
		_, isInt := want.Value.(*protos.TraceAttributes_Attribute_LongValue)
		v.same(string(got.Key()), want.GetKey())
		if v.same(got.IsInt(), isInt); isInt {
			v.same(got.Int(), want.GetLongValue())
		} else {
			v.same(string(got.Text()), want.GetStringValue())
		}
	}),
	against(`name: "n" json_value: "{}"`, &protos.ChromeMetadata{}, func(v *values, got *ChromeMetadata, want *protos.ChromeMetadata) {
		v.same(string(got.Name()), want.GetName())
		v.same(string(got.Text()), want.GetStringValue()+want.GetJsonValue())
		v.same(got.IsInt() && got.Int() != 0, want.GetIntValue() != 0)
		v.same(got.IsBool() && got.Bool(), want.GetBoolValue())
	}),
	against(`window: 1 tab: 2 embedder: 3 url: "u" is_private: true`, &protos.WeftPage{}, func(v *values, got *Page, want *protos.WeftPage) {
		v.same(got.HasWindow(), want.Window != nil)
		v.same(got.Window(), want.GetWindow())
		v.same(got.Tab(), want.GetTab())
		v.same(got.Embedder(), want.GetEmbedder())
		v.same(string(got.URL()), want.GetUrl())
		v.same(got.IsPrivate(), want.GetIsPrivate())
	}),
	against(`msb: 1 lsb: 2`, &protos.TraceUuid{}, func(v *values, got *TraceUUID, want *protos.TraceUuid) {
		v.same(int64(got.MSB()), want.GetMsb())
		v.same(int64(got.LSB()), want.GetLsb())
	}),
	against(`tracing_started: true`, &protos.TracingServiceEvent{}, func(v *values, got *ServiceEvent, want *protos.TracingServiceEvent) {
		v.same(got.TracingStarted(), want.GetTracingStarted())
	}),
	against(`extension_set_gzip: "z"`, &protos.ExtensionDescriptor{}, func(v *values, got *ExtensionDescriptor, want *protos.ExtensionDescriptor) {
		v.same(got.SetGzip(), want.ExtensionSetGzip)
	}),
	against(`posted_from_iid: 3`, &protos.TaskExecution{}, func(v *values, got *TaskExecution, want *protos.TaskExecution) {
		v.same(got.PostedFromIID(), want.GetPostedFromIid())
	}),
	against(`source_location_iid: 1 body_iid: 2 prio: PRIO_WARN`, &protos.LogMessage{}, func(v *values, got *LogMessage, want *protos.LogMessage) {
		v.same(got.SourceLocationIID(), want.GetSourceLocationIid())
		v.same(got.BodyIID(), want.GetBodyIid())
		v.same(got.HasPriority(), want.Prio != nil)
		v.same(int32(got.Priority()), int32(want.GetPrio()))
	}),
	against(`iid: 1 file_name: "a" function_name: "f" line_number: 3`, &protos.SourceLocation{}, func(v *values, got *SourceLocation, want *protos.SourceLocation) {
		v.same(string(got.File()), want.GetFileName())
		v.same(string(got.Function()), want.GetFunctionName())
		v.same(got.HasLine(), want.LineNumber != nil)
		v.same(uint32(got.Line()), want.GetLineNumber())
	}),
	against(`nested_type: DICT dict_keys: "a" dict_values { int_value: 3 }`, &protos.DebugAnnotation_NestedValue{}, func(v *values, got *NestedValue, want *protos.DebugAnnotation_NestedValue) {
		v.same(got.Kind == DictAnnotation, want.GetNestedType() == protos.DebugAnnotation_NestedValue_DICT)
		v.same(got.Kind == ArrayAnnotation, want.GetNestedType() == protos.DebugAnnotation_NestedValue_ARRAY)
		switch got.Kind {
		case DictAnnotation:
			v.same(count(got.Keys()), len(want.DictKeys))
			v.same(count(got.Values()), len(want.DictValues))
		case ArrayAnnotation:
			v.same(count(got.Values()), len(want.ArrayValues))
		case TextAnnotation:
			v.same(string(got.Text), want.GetStringValue())
		}
	}),
}

// thinksOtherwise reports whether the decoders may read a message with unknown fields differently from the generated structs:
// they do not know the values of enums, count mistyped messages in lists, and, if they are structs, accept fields with any wire
// type or number, such as the payload of a packet.
func thinksOtherwise(m protoreflect.Message, isStruct bool) (otherwise bool) {
	for unknown := m.GetUnknown(); len(unknown) > 0; {
		number, wireType, n := protowire.ConsumeField(unknown)
		fd := m.Descriptor().Fields().ByNumber(number)
		otherwise = otherwise || isStruct || fd != nil && (fd.IsList() || fd.Enum() != nil && wireType == protowire.VarintType)
		unknown = unknown[n:]
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if fd.Message() != nil && !fd.IsList() {
			otherwise = otherwise || hasUnknown(v.Message())
		}
		return true
	})
	return otherwise
}

// hasUnknown reports whether a message, or one inside it, has unknown fields.
func hasUnknown(m protoreflect.Message) (unknown bool) {
	unknown = len(m.GetUnknown()) > 0
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if fd.Message() != nil && !fd.IsList() {
			unknown = unknown || hasUnknown(v.Message())
		}
		return true
	})
	return unknown
}

// check compares a decoder with the generated struct.
func (w *witness) check(t *testing.T, msg []byte) {
	t.Helper()
	want := proto.Clone(w.message)
	readable := proto.Unmarshal(msg, want) == nil
	var v values
	err := w.compare(&v, msg, want)
	if !readable || thinksOtherwise(want.ProtoReflect(), w.mistyped == nil) {
		return
	}
	if errors.Is(err, wire.ErrType) {
		return // a group, which the generated structs skip
	}
	if err != nil {
		t.Fatalf("%T: %v", want, err)
	}
	for i := range v.got {
		if a, b := reflect.ValueOf(v.got[i]), reflect.ValueOf(v.want[i]); a.Kind() == reflect.Slice && a.Len()+b.Len() == 0 {
			continue
		}
		if !reflect.DeepEqual(v.got[i], v.want[i]) {
			t.Errorf("%T, comparison %d: %v, want %v\n%v", want, i, v.got[i], v.want[i], want)
		}
	}
}

// encodeSeed returns the seed of a witness as a message.
func (w *witness) encodeSeed(t testing.TB) []byte {
	m := proto.Clone(w.message)
	if err := prototext.Unmarshal([]byte(w.seed), m); err != nil {
		t.Fatal(err)
	}
	msg, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return msg
}

// A field with a wire type other than the schema's is treated as unknown and reported, alone and after a valid one.
func TestMistypedFields(t *testing.T) {
	forms := map[protowire.Type][]byte{
		protowire.VarintType: {7}, protowire.Fixed32Type: {7, 0, 0, 0}, protowire.Fixed64Type: {7, 0, 0, 0, 0, 0, 0, 0}, protowire.BytesType: {1, 'x'},
	}
	for _, w := range witnesses {
		if w.mistyped == nil {
			continue
		}
		seed, fields := w.encodeSeed(t), w.message.ProtoReflect().Descriptor().Fields()
		for i := range fields.Len() {
			for wireType, value := range forms {
				number := fields.Get(i).Number()
				field := append(protowire.AppendTag(nil, number, wireType), value...)
				m := proto.Clone(w.message)
				if err := proto.Unmarshal(field, m); err != nil || len(m.ProtoReflect().GetUnknown()) == 0 || int(number) != weftField && number >= numFields {
					continue // it can have this wire type, or no decoder reads it
				}
				w.check(t, field)
				w.check(t, append(bytes.Clone(seed), field...))
				mistyped := w.mistyped(field)
				isEnum, isWefts := fields.Get(i).Enum() != nil && wireType == protowire.VarintType, fields.Get(i).Message() != nil && number == weftField
				if !isEnum && !isWefts && !slices.Equal(mistyped, []int{int(number)}) { // marks and pages are reported elsewhere
					t.Errorf("%T: field %d as wire type %d: Mistyped returns %v", w.message, number, wireType, mistyped)
				}
			}
		}
	}
}

// No input makes a decoder panic, and input that the generated structs can read is decoded in the same way.
func FuzzMessages(f *testing.F) {
	for i, w := range witnesses {
		msg := w.encodeSeed(f)
		f.Add(uint8(i), msg)
		f.Add(uint8(i), append(bytes.Clone(msg), msg...))
	}
	f.Fuzz(func(t *testing.T, kind uint8, msg []byte) {
		witnesses[int(kind)%len(witnesses)].check(t, msg)
	})
}

// Decoding allocates only lists.
func TestParseAllocatesNothing(t *testing.T) {
	msg := []byte("\x08\x01\x10\x02\x18\x03\x20\x04")
	var sink uint64
	if n := testing.AllocsPerRun(100, func() {
		var f Frame
		var s StackSample
		if f.Parse(msg) == nil && s.Parse(msg) == nil {
			sink += f.FunctionIID() + f.MappingIID() + s.Task().IID
		}
		for d := NewInternedData(msg); d.Next(); {
			sink += d.IID
		}
	}); n != 0 || sink == 0 {
		t.Errorf("%v allocations, sum %d", n, sink)
	}
}
