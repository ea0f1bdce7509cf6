package problem

// The kinds of problems, in the order of docs/data-problems.md.
const (
	_ Kind = iota

	// Containers.
	ContainerDamaged

	// Text.
	JSONPartialEvent
	JSONMalformedEvent
	JSONNotAnEvent
	JSONTrailingData
	JSONUnterminated
	JSONInvalidUTF8
	JSONLoneSurrogate
	JSONBadEscape
	JSONNonstandardNumber
	JSONBigInteger
	ArgDepthLimit
	JSONTrailingComma
	JSONControlCharacter
	JSONDuplicateKey
	JSONEmptyEvent

	// Top-level members.
	SystemTraceSkipped
	TopLevelMemberSkipped
	MetadataValueOmitted
	MetadataInvalid
	EventUnknownMember

	// Events.
	EventMissingPhase
	EventInvalidTimestamp
	EventNegativeTimestamp
	EventInvalidDuration
	EventUnknownPhase
	EventInvalidThreadTime
	ProducerDataLoss

	// Identity.
	PidRemapped
	TextID

	// Slices and instants.
	EndWithoutBegin
	CompleteWithoutDuration
	SliceNegativeDuration
	BeginClosedByParent
	BeginClosedByNext
	SliceDepthLimit
	BeginWithoutEnd
	SliceOverlapMoved
	InstantDepthLimit
	InstantMissingPid
	InstantUnknownScope

	// Asynchronous slices.
	AsyncMissingID
	AsyncMissingPid
	AsyncEndWithoutBegin
	AsyncUnfinished
	AsyncCrossProcess
	AsyncIDPerThread
	AsyncOverlapMoved

	// Counters.
	CounterInvalidValue
	CounterWithoutValues

	// Flows.
	FlowMissingID
	FlowNoEnclosingSlice
	FlowNoNextSlice
	FlowWithoutDirection
	FlowDuplicateStart
	FlowStepWithoutStart
	FlowEndWithoutStart
	FlowSelf
	FlowBackwards
	FlowFanOut
	FlowUnfinished

	// Several inputs.
	LinkAmbiguous
	FlowAcrossMachines

	// Stacks, objects, memory dumps.
	StackFrameUnknown
	StackLimit
	MemoryDumpDetailDropped
	StackAmbiguous
	StackFrameCycle
	ObjectEndWithoutBegin

	// Samples.
	SampleWeightChanged

	// CPU profiles.
	ProfileMalformed
	ProfileInvalidValue
	ProfileLimit
	ProfileWithoutHead
	ProfileWithoutNodes
	ProfileNotChosen
	ProfileLengthMismatch
	ProfileTimesMissing
	ProfileNodeWithoutID
	ProfileNodeDuplicate
	ProfileNodeUnknownParent
	ProfileRootLost
	ProfileSampleUnknownNode
	ProfileSamplesReordered
	ProfileSliceClamped
	ProfileWeightDropped
	ProfilePositionLost

	// JS self-profiles.
	TextRedecoded
	BadStack
	SelfProfileListMissing
	SelfProfileFrameInvalid
	TimeOriginUnknown
	SamplesOutOfOrder
	SamplingGap

	// Probe lines.
	Drops
	TracerError
	BadLine
	UnknownLine
	ProbeLimit
	UnbalancedStart
	EndWithoutStart
	NeverEnded
	UnknownHeader
	TextCut

	// OpenTelemetry spans.
	OTLPSignalSkipped
	OTLPMessageMalformed
	OTLPValueInvalid
	OTLPTableLimit
	SpanIDInvalid
	SpanIDDuplicate
	SpanWithoutStart
	SpanEndsBeforeStart
	SpanEventWithoutTime
	SpanParentUnknown
	SpanParentCycle
	SpanLinkUnknown
	AttributeDuplicate

	// HTTP archives.
	HARValueInvalid
	HARTimeWithoutZone
	HARTimeMismatch
	HARRequestUnknown

	// Firefox profiles.
	FirefoxNewerVersion
	FirefoxValueInvalid
	FirefoxIndexInvalid
	FirefoxColumnShort
	ArgumentValuesSkipped
	MarkerFieldMismatch
	MarkerIncomplete
	MarkerOverlapMoved
	PageUnknown
	ScreenshotOmitted
	ScreenshotInvalid
	ScreenshotNotJPEG
	LongTaskLimit

	// Contexts.
	ContextWithoutID
	ContextBadID
	ContextLimit
	CostLimit
	IntervalLimit
	ParentCycle
	LeaveWithoutActive
	LeaveStacked
	NeverLeft
	UnresolvedReference
	FlowConflict
	FlowReturned
	FlowHopLimit
	Clipped
	SlicesWithoutEnd

	// Perfetto input.
	PacketTruncated
	PacketMalformed
	PacketInvalidState
	PacketNotConverted
	PacketDetailSkipped
	PacketMissingTimestamp
	PacketUnresolvedClock
	InternedIDUnknown
	InternedTextLimit
	TrackIDReused
	TrackRoleInvalid
	PageInvalid

	// Exports.
	EventSizeLimit

	numKinds
)

var kinds = [numKinds]struct {
	name     string
	severity Severity
	sentence string
}{
	0: {"none", Info, ""},

	ContainerDamaged: {"container_damaged", Lost, "The compressed input is truncated or damaged; weft used what it could unpack."},

	JSONPartialEvent:      {"json_partial_event", Lost, "The input, or a message of OpenTelemetry in it, ends in the middle of an event or another value; weft dropped that value."},
	JSONMalformedEvent:    {"json_malformed_event", Lost, "An event, or another value, is not valid JSON; after an event weft continued with the next one, in OpenTelemetry with the next span; after any other value it stopped reading."},
	JSONNotAnEvent:        {"json_not_an_event", Lost, "An element of the event list is not an object; weft dropped it."},
	JSONTrailingData:      {"json_trailing_data", Lost, "Bytes follow the end of the JSON value, or the point where it stops being JSON; weft ignored them (count: bytes)."},
	JSONUnterminated:      {"json_unterminated", Repaired, "The input, or a message of OpenTelemetry in it, ends before its closing bracket; weft used all complete events."},
	JSONInvalidUTF8:       {"json_invalid_utf8", Repaired, "weft replaced bytes that are not UTF-8 with U+FFFD."},
	JSONLoneSurrogate:     {"json_lone_surrogate", Repaired, "weft replaced an unpaired surrogate escape with U+FFFD."},
	JSONBadEscape:         {"json_bad_escape", Repaired, "weft replaced an unknown escape with the character after the backslash."},
	JSONNonstandardNumber: {"json_nonstandard_number", Repaired, "A bare word is not JSON; NaN and Infinity became doubles, other words strings."},
	JSONBigInteger:        {"json_big_integer", Repaired, "weft rounded an integer beyond 64 bits to the nearest double."},
	ArgDepthLimit:         {"arg_depth_limit", Repaired, "Arguments are nested deeper than 512 levels (64 in Firefox profiles, spans of OpenTelemetry and HTTP archives); weft kept the deeper levels as raw text, of JSON where the input is JSON."},
	JSONTrailingComma:     {"json_trailing_comma", Info, "Leading, doubled, trailing or missing commas; weft tolerates them (counted once per file)."},
	JSONControlCharacter:  {"json_control_character", Info, "A string contains raw control characters; weft kept them."},
	JSONDuplicateKey:      {"json_duplicate_key", Info, "An object has the same key twice; the last value counts."},
	JSONEmptyEvent:        {"json_empty_event", Info, "weft ignored an empty object in the event list."},

	SystemTraceSkipped:    {"system_trace_skipped", Lost, "weft does not convert the embedded system trace (systemTraceEvents)."},
	TopLevelMemberSkipped: {"top_level_member_skipped", Lost, "weft dropped a top-level member: Perfetto has no place for it, or it is too large for an attribute."},
	MetadataValueOmitted:  {"metadata_value_omitted", Lost, "weft dropped a metadata value larger than 16 KiB."},
	MetadataInvalid:       {"metadata_invalid", Lost, "A metadata event has no usable value; weft dropped it."},
	EventUnknownMember:    {"event_unknown_member", Info, "Events have a member that the format does not define; weft ignored it (counted once per key)."},

	EventMissingPhase:      {"event_missing_phase", Lost, "An event has no phase; weft dropped it."},
	EventInvalidTimestamp:  {"event_invalid_timestamp", Lost, "An event has no usable timestamp; weft dropped it."},
	EventNegativeTimestamp: {"event_negative_timestamp", Lost, "An event is before time 0, which Perfetto cannot represent; weft dropped it."},
	EventInvalidDuration:   {"event_invalid_duration", Lost, "An event has an unusable duration; weft dropped it."},
	EventUnknownPhase:      {"event_unknown_phase", Repaired, "An event has an unknown phase; weft made it an instant on the track Other events."},
	EventInvalidThreadTime: {"event_invalid_thread_time", Repaired, "An event has an unusable thread time; weft kept the event without it."},
	ProducerDataLoss:       {"producer_data_loss", Info, "The producer reports that it lost data while recording."},

	PidRemapped: {"pid_remapped", Repaired, "Perfetto cannot represent a process or thread id; weft assigned another id and shows the original everywhere."},
	TextID:      {"text_id", Info, "A process or thread id is text; weft uses it as the name and assigned a number as the id."},

	EndWithoutBegin:         {"end_without_begin", Lost, "An end matches no open slice; weft dropped it."},
	CompleteWithoutDuration: {"complete_without_duration", Lost, "A complete event has no duration; weft dropped it."},
	SliceNegativeDuration:   {"slice_negative_duration", Lost, "A slice has a negative duration; weft dropped it."},
	BeginClosedByParent:     {"begin_closed_by_parent", Repaired, "A slice has no end but its parent does; weft ended it with the parent."},
	BeginClosedByNext:       {"begin_closed_by_next", Repaired, "A task has no end; weft ended it where the next task of its name begins on the thread, or with the last slice in it."},
	SliceDepthLimit:         {"slice_depth_limit", Repaired, "A slice is nested deeper than 512 levels (64 in Firefox profiles); weft moved it to a lane."},
	BeginWithoutEnd:         {"begin_without_end", Info, "A slice has no end; weft left it open."},
	SliceOverlapMoved:       {"slice_overlap_moved", Info, "A slice overlaps another without nesting; weft moved it to a lane."},
	InstantDepthLimit:       {"instant_depth_limit", Info, "A track has more than 512 instants at one time; weft moved the rest to a lane."},
	InstantMissingPid:       {"instant_missing_pid", Lost, "A process-scoped instant names no process; weft dropped it."},
	InstantUnknownScope:     {"instant_unknown_scope", Repaired, "An instant has an unknown scope; weft put it on its thread."},

	AsyncMissingID:       {"async_missing_id", Lost, "An async event has no id; weft dropped it."},
	AsyncMissingPid:      {"async_missing_pid", Lost, "An async event has no process id; weft dropped it."},
	AsyncEndWithoutBegin: {"async_end_without_begin", Lost, "An async end matches no open slice; weft dropped it."},
	AsyncUnfinished:      {"async_unfinished", Info, "An async slice has no end; weft left it open."},
	AsyncCrossProcess:    {"async_cross_process", Info, "An async slice begins in one process and ends in another."},
	AsyncIDPerThread:     {"async_id_per_thread", Info, "Threads of one process use the same async id for different things; weft gave each thread its own track."},
	AsyncOverlapMoved:    {"async_overlap_moved", Info, "Async slices with the same id overlap without nesting; weft moved one to a lane."},

	CounterInvalidValue:  {"counter_invalid_value", Lost, "A counter value is not a number; weft dropped it."},
	CounterWithoutValues: {"counter_without_values", Lost, "A counter event has no values; weft dropped it."},

	FlowMissingID:        {"flow_missing_id", Lost, "A flow event, or an event with flow_in or flow_out, has no usable id; weft draws no arrow."},
	FlowNoEnclosingSlice: {"flow_no_enclosing_slice", Lost, "A flow event is outside any slice; weft draws no arrow and keeps the event as an instant on the track Other events."},
	FlowNoNextSlice:      {"flow_no_next_slice", Lost, "No slice follows the end of a flow on its thread; weft draws no arrow and keeps the event as an instant on the track Other events."},
	FlowWithoutDirection: {"flow_without_direction", Lost, "The bind_id of an event has no effect: there is no direction, or the event is not a slice."},
	FlowDuplicateStart:   {"flow_duplicate_start", Lost, "A flow that is still open starts again; weft ignored the second start."},
	FlowStepWithoutStart: {"flow_step_without_start", Lost, "A flow step has no start; weft draws no arrow."},
	FlowEndWithoutStart:  {"flow_end_without_start", Lost, "A flow end has no start; weft draws no arrow."},
	FlowSelf:             {"flow_self", Lost, "A flow leads from a slice to itself; weft draws no arrow."},
	FlowBackwards:        {"flow_backwards", Repaired, "A flow leads to a slice that begins earlier; Perfetto draws the arrow in start order."},
	FlowFanOut:           {"flow_fan_out", Info, "A flow has several ends; weft gave each further arrow its own id."},
	FlowUnfinished:       {"flow_unfinished", Info, "A flow starts but has no step or end."},

	LinkAmbiguous:      {"link_ambiguous", Info, "More than 64 events of several inputs carry the same key; weft drew no arrows between them."},
	FlowAcrossMachines: {"flow_across_machines", Lost, "A flow leads from one machine to another; viewers draw no such arrow, and weft wrote none."},

	StackFrameUnknown:       {"stack_frame_unknown", Lost, "A stack refers to a frame id that is not in the dictionary; weft dropped the stack."},
	StackLimit:              {"stack_limit", Lost, "A call stack has too many frames, or all stacks together have; weft dropped the outermost frames."},
	MemoryDumpDetailDropped: {"memory_dump_detail_dropped", Lost, "weft dropped the tree and graph of a memory dump and kept the totals and top-level allocators."},
	StackAmbiguous:          {"stack_ambiguous", Repaired, "An event has its stack in two forms; weft used the frame id."},
	StackFrameCycle:         {"stack_frame_cycle", Repaired, "The parents of a stack frame form a cycle; weft broke it."},
	ObjectEndWithoutBegin:   {"object_end_without_begin", Repaired, "An object is deleted but was never created; weft made the deletion an instant."},

	SampleWeightChanged: {"sample_weight_changed", Repaired, "The weight of a sample is negative or not an integer; weft wrote the nearest number that Perfetto can represent."},

	ProfileMalformed:         {"profile_malformed", Lost, "The arguments of a CPU profile event are damaged; weft used what comes before the damage."},
	ProfileInvalidValue:      {"profile_invalid_value", Repaired, "A value in a CPU profile has the wrong type or is out of range; weft treated it as missing."},
	ProfileLimit:             {"profile_limit", Lost, "A CPU profile has more nodes or samples than weft can hold; weft dropped the rest."},
	ProfileWithoutHead:       {"profile_without_head", Repaired, "A CPU profile has no head event; weft assigned it to the main thread of its process, starting at its first chunk."},
	ProfileWithoutNodes:      {"profile_without_nodes", Lost, "A CPU profile has no nodes, so its samples mean nothing; weft dropped it."},
	ProfileNotChosen:         {"profile_not_chosen", Info, "Several CPU profiles sample the same thread; weft made calls from another one."},
	ProfileLengthMismatch:    {"profile_length_mismatch", Lost, "A CPU profile has samples without times, or times, lines or columns without samples; weft dropped those without a counterpart (count: chunks)."},
	ProfileTimesMissing:      {"profile_times_missing", Repaired, "A CPU profile does not say when its samples were taken; weft spread them evenly from its start to its end."},
	ProfileNodeWithoutID:     {"profile_node_without_id", Lost, "A node of a CPU profile has no usable id; weft dropped it."},
	ProfileNodeDuplicate:     {"profile_node_duplicate", Repaired, "A node of a CPU profile is defined twice, or has several parents; the last definition and one parent count."},
	ProfileNodeUnknownParent: {"profile_node_unknown_parent", Lost, "A node of a CPU profile has no path to the root, or is only listed as a child; weft dropped it."},
	ProfileRootLost:          {"profile_root_lost", Repaired, "The root of a CPU profile is missing; stacks begin at the outermost known node (counted once per profile)."},
	ProfileSampleUnknownNode: {"profile_sample_unknown_node", Lost, "A sample of a CPU profile refers to a node that is not in the tree; weft dropped it."},
	ProfileSamplesReordered:  {"profile_samples_reordered", Info, "A sample of a CPU profile is earlier than the one before; weft sorted the samples by time."},
	ProfileSliceClamped:      {"profile_slice_clamped", Repaired, "A call or state of a CPU profile begins before time 0, which Perfetto cannot represent; weft made it start at 0 and kept the real start as an argument."},
	ProfileWeightDropped:     {"profile_weight_dropped", Repaired, "The other samples in the trace do not weigh nanoseconds, and a trace has one unit; weft counted the sample of a profile as one."},
	ProfilePositionLost:      {"profile_position_lost", Lost, "A sample of a CPU profile is outside all reconstructed calls; weft kept it without its line number."},

	TextRedecoded:           {"text_redecoded", Repaired, "All non-ASCII names of a self-profile are UTF-8 that was read as Latin-1; weft decoded them again (count: names)."},
	BadStack:                {"bad_stack", Lost, "The stack of a sample is unknown, incomplete or cyclic; weft kept the sample without it."},
	SelfProfileListMissing:  {"selfprofile_list_missing", Lost, "A list of a JS self-profile is missing; weft dropped what its samples refer to in it."},
	SelfProfileFrameInvalid: {"selfprofile_frame_invalid", Lost, "A frame or resource of a JS self-profile is invalid; weft dropped the parts that it could not read."},
	TimeOriginUnknown:       {"time_origin_unknown", Repaired, "A JS self-profile does not say when it was recorded, but others in the file do; weft put it where the earliest of these begins."},
	SamplesOutOfOrder:       {"samples_out_of_order", Info, "A sample is earlier than the one before; weft sorted the samples by time."},
	SamplingGap:             {"sampling_gap", Info, "No sample was taken for more than five intervals; nothing is known about that time."},

	Drops:           {"drops", Lost, "The tracer lost events because its buffers were full (count: events that it reports)."},
	TracerError:     {"tracer_error", Lost, "The tracer could not record a firing and says why."},
	BadLine:         {"bad_line", Lost, "A line of a probe record is truncated, has too few fields or has invalid numbers; weft dropped it."},
	UnknownLine:     {"unknown_line", Lost, "A line is neither a probe record nor a known message of a tracer; weft dropped it."},
	ProbeLimit:      {"probe_limit", Lost, "There are more probes, names, declarations or open starts than weft can hold; weft dropped the rest, or ended it with the recording."},
	UnbalancedStart: {"unbalanced_start", Repaired, "The start of a probe has no end inside the enclosing slice; weft ended its slice with that one."},
	EndWithoutStart: {"end_without_start", Repaired, "The end of a probe matches no open start; weft made it an instant."},
	NeverEnded:      {"never_ended", Repaired, "The start of a probe has no end; weft ended its slice at the last record."},
	UnknownHeader:   {"unknown_header", Info, "A header of probe lines is unknown or partly unreadable; weft used the parts that it understands."},
	TextCut:         {"text_cut", Info, "A text has the maximum length that the tracer keeps; the tracer may have truncated it."},

	OTLPSignalSkipped:    {"otlp_signal_skipped", Lost, "An input of OpenTelemetry holds logs, metrics or profiles beside its spans; weft converts the spans only."},
	OTLPMessageMalformed: {"otlp_message_malformed", Lost, "A message of OpenTelemetry is malformed or truncated; weft used what comes before the damage, and continued with the next span that it recognized."},
	OTLPValueInvalid:     {"otlp_value_invalid", Lost, "A value of OpenTelemetry has the wrong type or is out of range; weft dropped it."},
	OTLPTableLimit:       {"otlp_table_limit", Lost, "Resources or scopes of OpenTelemetry take more than 32 MiB; weft kept the spans of the others and dropped the attributes of these."},
	SpanIDInvalid:        {"span_id_invalid", Info, "A span has no valid trace id or span id; weft kept the span, but nothing can refer to it."},
	SpanIDDuplicate:      {"span_id_duplicate", Info, "Several spans have one trace id and span id; weft kept all of them."},
	SpanWithoutStart:     {"span_without_start", Repaired, "A span has an end but no start; weft put it at its end, without length."},
	SpanEndsBeforeStart:  {"span_ends_before_start", Repaired, "A span ends before it starts; weft put it at its start, without length, and kept the end as an argument."},
	SpanEventWithoutTime: {"span_event_without_time", Repaired, "An event of a span has no usable time; weft put it at the start of the span."},
	SpanParentUnknown:    {"span_parent_unknown", Info, "The parent of a span is not in the input; weft kept its id as an argument."},
	SpanParentCycle:      {"span_parent_cycle", Info, "Spans are their own parents; weft kept them."},
	SpanLinkUnknown:      {"span_link_unknown", Info, "A span links to one that is not in the input; weft kept the ids as arguments."},
	AttributeDuplicate:   {"attribute_duplicate", Info, "A span, event or resource has the same attribute twice; the last value counts."},

	HARValueInvalid:    {"har_value_invalid", Repaired, "A value of an HTTP archive has the wrong type; weft kept it as an argument only."},
	HARTimeWithoutZone: {"har_time_without_zone", Repaired, "A time of an HTTP archive has no time zone; weft took it for UTC."},
	HARTimeMismatch:    {"har_time_mismatch", Repaired, "The time of a request is not the sum of its phases, or both are missing; its slice has the longer of the two lengths."},
	HARRequestUnknown:  {"har_request_unknown", Info, "A request was initiated by, or redirected to, one that is not in the archive, or several have its address; weft drew no arrow."},

	FirefoxNewerVersion:   {"firefox_newer_version", Info, "A Firefox profile has a newer version than weft knows; weft read the parts that it knows."},
	FirefoxValueInvalid:   {"firefox_value_invalid", Lost, "A value in a Firefox profile has the wrong type; weft dropped it."},
	FirefoxIndexInvalid:   {"firefox_index_invalid", Lost, "An index in a Firefox profile points to no string, stack, frame or function; what it refers to is missing."},
	FirefoxColumnShort:    {"firefox_column_short", Lost, "A column of a Firefox profile's table is missing or short; weft dropped the rows that need its values (count: rows)."},
	ArgumentValuesSkipped: {"argument_values_skipped", Lost, "A sample has values of function arguments, which Perfetto cannot represent; weft dropped them."},
	MarkerFieldMismatch:   {"marker_field_mismatch", Repaired, "A field of a marker does not match the format in its schema; weft kept the value as it is."},
	MarkerIncomplete:      {"marker_incomplete", Repaired, "A marker has only a start or only an end; weft extended it to the edge of its thread's data."},
	MarkerOverlapMoved:    {"marker_overlap_moved", Info, "A marker overlaps others on its thread without nesting; weft moved it to a separate track with its name."},
	PageUnknown:           {"page_unknown", Info, "A marker, sample or request refers to a page that is not among the pages; weft kept its id."},
	ScreenshotOmitted:     {"screenshot_omitted", Lost, "The picture of a screenshot is larger than 16 MiB; weft dropped it and kept the event."},
	ScreenshotInvalid:     {"screenshot_invalid", Repaired, "The picture of a screenshot is not valid base64; weft kept it as text."},
	ScreenshotNotJPEG:     {"screenshot_not_jpeg", Repaired, "The picture of a screenshot is not JPEG, which Perfetto shows; weft kept it as text."},
	LongTaskLimit:         {"long_task_limit", Lost, "There are more than 65,536 long tasks; weft marked the first ones. The tasks themselves are all there."},

	ContextWithoutID:    {"context_without_id", Lost, "An event that enters or leaves a context has no id; weft ignored it."},
	ContextBadID:        {"context_bad_id", Lost, "An event about a context or an object has two kinds of id, or an id without value; weft ignored it."},
	ContextLimit:        {"context_limit", Lost, "There are more contexts, or states of contexts, than attribution can hold; the time of the others is unattributed."},
	CostLimit:           {"cost_limit", Lost, "A cost is too large or too finely divided for attribution; the parts that it divided still add up."},
	IntervalLimit:       {"interval_limit", Lost, "More contexts begin and end than the context tracks have room for; slices and costs still have them."},
	ParentCycle:         {"parent_cycle", Repaired, "An object would become its own ancestor in the tree of contexts; weft left out that edge."},
	LeaveWithoutActive:  {"leave_without_active", Info, "An event leaves a context that is not the active one of its type; it has no effect."},
	LeaveStacked:        {"leave_stacked", Info, "An event leaves a context that another one of its type covers; it has no effect."},
	NeverLeft:           {"never_left", Info, "A context is entered and never left; it stays active to the end of its thread."},
	UnresolvedReference: {"unresolved_reference", Info, "An object refers to another that is not in the trace."},
	FlowConflict:        {"flow_conflict", Info, "A flow brings a context to a slice that already has an active one, which is not its ancestor."},
	FlowReturned:        {"flow_returned", Info, "A flow returns to a slice that it already passed; weft did not enter its contexts again."},
	FlowHopLimit:        {"flow_hop_limit", Info, "A context has passed over 64 arrows; weft passes it no further."},
	Clipped:             {"clipped", Info, "A slice ends after the slice that contains it; for cost, both end together."},
	SlicesWithoutEnd:    {"slices_without_end", Info, "A slice has no end; it has no cost."},

	PacketTruncated:        {"packet_truncated", Lost, "The trace ends in the middle of a packet; weft dropped that packet."},
	PacketMalformed:        {"packet_malformed", Lost, "A packet, or a part of one, is malformed; weft dropped it."},
	PacketInvalidState:     {"packet_invalid_state", Lost, "A packet needs state of its sequence that was lost; weft dropped the packet."},
	PacketNotConverted:     {"packet_not_converted", Lost, "weft's model has no counterpart for a packet or field; weft dropped it (counted once per kind and packet)."},
	PacketDetailSkipped:    {"packet_detail_skipped", Info, "A packet or field describes the recording, or its processes and threads, and holds no event; weft dropped it (counted once per kind and packet)."},
	PacketMissingTimestamp: {"packet_missing_timestamp", Lost, "An event packet has no timestamp; weft dropped it."},
	PacketUnresolvedClock:  {"packet_unresolved_clock", Lost, "A timestamp uses a clock that no snapshot defines; weft dropped the packet."},
	InternedIDUnknown:      {"interned_id_unknown", Repaired, "A packet refers to an interned id that was never defined; its text is missing."},
	InternedTextLimit:      {"interned_text_limit", Lost, "Events use long interned texts for more than 1 GiB in all, and the tables have no room for them; weft truncated the rest to 256 bytes."},
	TrackRoleInvalid:       {"track_role_invalid", Info, "weft's data about a track is damaged; weft reads the track as one of another producer."},
	PageInvalid:            {"page_invalid", Info, "weft's data about a page is damaged; weft leaves the page out."},

	EventSizeLimit: {"event_size_limit", Lost, "An event takes more than 64 MiB in an export, a packet more than 256 MiB in a trace, or an array makes the arguments of an event larger than 64 MiB; weft truncated what is longest."},

	TrackIDReused: {"track_id_reused", Repaired, "A process or thread has a second track uuid; weft moved the events of the second to a separate track."},
}
