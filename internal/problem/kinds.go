package problem

// The kinds of problems, in the order of docs/data-problems.md. The first group comes from docs/formats/chrome-json.md,
// section 18.
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

	// Stacks, objects, memory dumps.
	StackFrameUnknown
	StackLimit
	MemoryDumpDetailDropped
	StackAmbiguous
	StackFrameCycle
	ObjectEndWithoutBegin

	// Samples.
	SampleWeightChanged
	SampleWithoutStack
	SampleDetailDropped

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
	SelfProfileWeightDropped
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
	PacketMissingTimestamp
	PacketUnresolvedClock
	InternedIDUnknown
	TrackIDReused
	TrackRoleInvalid

	numKinds
)

var kinds = [numKinds]struct {
	name     string
	severity Severity
	sentence string
}{
	0: {"none", Info, ""},

	ContainerDamaged: {"container_damaged", Lost, "The compressed input is cut or damaged; what could be unpacked was used."},

	JSONPartialEvent:      {"json_partial_event", Lost, "The input ends in the middle of an event or of another value; that is dropped whole."},
	JSONMalformedEvent:    {"json_malformed_event", Lost, "An event is no readable JSON, and reading went on at the next one; or something else is none, and reading ended there."},
	JSONNotAnEvent:        {"json_not_an_event", Lost, "An element of the event list is not an object and was skipped."},
	JSONTrailingData:      {"json_trailing_data", Lost, "There are bytes behind the end of the JSON value, or behind the place where it is no JSON any more; they were ignored (count: bytes)."},
	JSONUnterminated:      {"json_unterminated", Repaired, "The input ends before its closing bracket; all complete events were used."},
	JSONInvalidUTF8:       {"json_invalid_utf8", Repaired, "Bytes that are no UTF-8 became U+FFFD."},
	JSONLoneSurrogate:     {"json_lone_surrogate", Repaired, "An unpaired surrogate escape became U+FFFD."},
	JSONBadEscape:         {"json_bad_escape", Repaired, "An unknown escape became the character behind the backslash."},
	JSONNonstandardNumber: {"json_nonstandard_number", Repaired, "A bare word that is no JSON: NaN and Infinity became doubles, other words text."},
	JSONBigInteger:        {"json_big_integer", Repaired, "An integer beyond 64 bits became the nearest double."},
	ArgDepthLimit:         {"arg_depth_limit", Repaired, "Arguments nested deeper than 512 levels were kept as raw JSON text."},
	JSONTrailingComma:     {"json_trailing_comma", Info, "Leading, doubled, trailing or missing commas were tolerated (counted once for a file)."},
	JSONControlCharacter:  {"json_control_character", Info, "A string holds raw control characters; they were kept."},
	JSONDuplicateKey:      {"json_duplicate_key", Info, "An object has a key twice; the last one counts."},
	JSONEmptyEvent:        {"json_empty_event", Info, "An empty object in the event list was ignored."},

	SystemTraceSkipped:    {"system_trace_skipped", Lost, "An embedded system trace (systemTraceEvents) is not converted."},
	TopLevelMemberSkipped: {"top_level_member_skipped", Lost, "A member beside the event list has no place in a Perfetto trace, or is too large for an attribute, and was skipped."},
	MetadataValueOmitted:  {"metadata_value_omitted", Lost, "A metadata value over 16 KiB was left out."},
	MetadataInvalid:       {"metadata_invalid", Lost, "A metadata event has no usable value."},
	EventUnknownMember:    {"event_unknown_member", Info, "Events have a member that the format does not know; it was ignored (counted once for a key)."},

	EventMissingPhase:      {"event_missing_phase", Lost, "An event without phase was skipped."},
	EventInvalidTimestamp:  {"event_invalid_timestamp", Lost, "An event without usable timestamp was skipped."},
	EventNegativeTimestamp: {"event_negative_timestamp", Lost, "An event before time 0 was dropped; Perfetto cannot hold it."},
	EventInvalidDuration:   {"event_invalid_duration", Lost, "An event with an unusable duration was skipped."},
	EventUnknownPhase:      {"event_unknown_phase", Repaired, "An event of an unknown phase became an instant on the track Other events."},
	EventInvalidThreadTime: {"event_invalid_thread_time", Repaired, "An unusable thread time was ignored; the event was kept."},
	ProducerDataLoss:       {"producer_data_loss", Info, "The producer says that it lost data while recording."},

	PidRemapped: {"pid_remapped", Repaired, "A process or thread id that Perfetto cannot hold was replaced by a free number; weft shows the original everywhere."},
	TextID:      {"text_id", Info, "The id of a process or thread is a text; it is the name, and Perfetto gets a free number."},

	EndWithoutBegin:         {"end_without_begin", Lost, "An end matches no open slice and was dropped."},
	CompleteWithoutDuration: {"complete_without_duration", Lost, "A complete event without duration was dropped."},
	SliceNegativeDuration:   {"slice_negative_duration", Lost, "A slice with a negative duration was dropped."},
	BeginClosedByParent:     {"begin_closed_by_parent", Repaired, "A slice without end inside a finished slice ends with it."},
	SliceDepthLimit:         {"slice_depth_limit", Repaired, "A slice nested deeper than 512 levels was moved to a lane of its own."},
	BeginWithoutEnd:         {"begin_without_end", Info, "A slice never ends and stays open."},
	SliceOverlapMoved:       {"slice_overlap_moved", Info, "A slice that overlaps another without nesting was moved to a lane of its own."},
	InstantDepthLimit:       {"instant_depth_limit", Info, "An instant on a track with 512 others of the same time was moved to a lane of its own."},
	InstantMissingPid:       {"instant_missing_pid", Lost, "An instant of a process does not say which process and was dropped."},
	InstantUnknownScope:     {"instant_unknown_scope", Repaired, "An instant of unknown scope was taken as an instant of its thread."},

	AsyncMissingID:       {"async_missing_id", Lost, "An asynchronous event without id was dropped."},
	AsyncMissingPid:      {"async_missing_pid", Lost, "An asynchronous event without process id was dropped."},
	AsyncEndWithoutBegin: {"async_end_without_begin", Lost, "An asynchronous end matches no open slice and was dropped."},
	AsyncUnfinished:      {"async_unfinished", Info, "An asynchronous slice never ends."},
	AsyncCrossProcess:    {"async_cross_process", Info, "An asynchronous slice begins in one process and ends in another."},
	AsyncOverlapMoved:    {"async_overlap_moved", Info, "Slices of one asynchronous id overlap without nesting; one was moved to a track beside."},

	CounterInvalidValue:  {"counter_invalid_value", Lost, "A counter value that is no number was skipped."},
	CounterWithoutValues: {"counter_without_values", Lost, "A counter event without values was dropped."},

	FlowMissingID:        {"flow_missing_id", Lost, "A flow event, or an event with flow_in or flow_out, has no usable id; it makes no arrow."},
	FlowNoEnclosingSlice: {"flow_no_enclosing_slice", Lost, "A flow event outside any slice: no arrow was drawn; it was kept as an instant on the track Other events."},
	FlowNoNextSlice:      {"flow_no_next_slice", Lost, "No slice follows the end of a flow on its thread; it makes no arrow and became an instant on the track Other events."},
	FlowWithoutDirection: {"flow_without_direction", Lost, "An event has a bind_id that leads nowhere: no direction, or not on a slice."},
	FlowDuplicateStart:   {"flow_duplicate_start", Lost, "A flow that is still open was started again; the second start was ignored."},
	FlowStepWithoutStart: {"flow_step_without_start", Lost, "A flow step has no start; it makes no arrow."},
	FlowEndWithoutStart:  {"flow_end_without_start", Lost, "A flow end has no start; it makes no arrow."},
	FlowSelf:             {"flow_self", Lost, "A flow from a slice to itself was dropped."},
	FlowBackwards:        {"flow_backwards", Repaired, "A flow leads to a slice that begins earlier; Perfetto draws the arrow in start order."},
	FlowFanOut:           {"flow_fan_out", Info, "A flow has several ends; each further arrow got an id of its own."},
	FlowUnfinished:       {"flow_unfinished", Info, "A flow was started and never taken up."},

	StackFrameUnknown:       {"stack_frame_unknown", Lost, "A stack frame id is not in the dictionary; that stack was dropped."},
	StackLimit:              {"stack_limit", Lost, "A call stack has too many frames, or the stacks together have; the outermost frames were dropped."},
	MemoryDumpDetailDropped: {"memory_dump_detail_dropped", Lost, "The tree and graph of a memory dump were dropped; totals and top-level allocators were kept."},
	StackAmbiguous:          {"stack_ambiguous", Repaired, "An event gives its stack in two forms; the frame id was used."},
	StackFrameCycle:         {"stack_frame_cycle", Repaired, "The parents of a stack frame form a cycle; it was cut."},
	ObjectEndWithoutBegin:   {"object_end_without_begin", Repaired, "The deletion of an object that was never created became an instant."},

	SampleWeightChanged: {"sample_weight_changed", Repaired, "The weight of a sample is negative or no whole number; it became the nearest number that Perfetto can hold."},
	SampleWithoutStack:  {"sample_without_stack", Lost, "A sample without call stack was dropped: a streaming profile has no place for it."},
	SampleDetailDropped: {"sample_detail_dropped", Repaired, "A sample lost its weight, counter and processor: in a streaming profile each sample counts as one."},

	ProfileMalformed:         {"profile_malformed", Lost, "The arguments of a CPU profile event cannot be read to their end; what stands before was used."},
	ProfileInvalidValue:      {"profile_invalid_value", Repaired, "A value of a CPU profile has the wrong type or is out of range; it counts as missing."},
	ProfileLimit:             {"profile_limit", Lost, "A CPU profile has more nodes or samples than weft takes; the rest was dropped."},
	ProfileWithoutHead:       {"profile_without_head", Repaired, "A CPU profile has no head event; it was taken for one of the main thread of its process that began where its first piece did."},
	ProfileWithoutNodes:      {"profile_without_nodes", Lost, "A CPU profile has no nodes, so that its samples mean nothing."},
	ProfileNotChosen:         {"profile_not_chosen", Info, "Another CPU profile samples the same thread; the calls are those of the other one."},
	ProfileLengthMismatch:    {"profile_length_mismatch", Lost, "A CPU profile has samples without times, or times, lines or columns without samples; what has no counterpart was left out (count: pieces)."},
	ProfileTimesMissing:      {"profile_times_missing", Repaired, "A CPU profile does not say when its samples were taken; they were spread evenly from its start to its end."},
	ProfileNodeWithoutID:     {"profile_node_without_id", Lost, "A node of a CPU profile has no usable id and was dropped."},
	ProfileNodeDuplicate:     {"profile_node_duplicate", Repaired, "A node of a CPU profile is defined twice, or is the child of several nodes; the last definition and one parent count."},
	ProfileNodeUnknownParent: {"profile_node_unknown_parent", Lost, "A node of a CPU profile does not lead to the root, or is only named as a child; it was left out."},
	ProfileRootLost:          {"profile_root_lost", Repaired, "The root of a CPU profile is missing; stacks begin at the outermost node that is known (counted once for a profile)."},
	ProfileSampleUnknownNode: {"profile_sample_unknown_node", Lost, "A sample of a CPU profile has a node that is not in the tree; it was dropped."},
	ProfileSamplesReordered:  {"profile_samples_reordered", Info, "A sample of a CPU profile is earlier than the one before; the samples were sorted by time."},
	ProfileSliceClamped:      {"profile_slice_clamped", Repaired, "A call or state of a CPU profile begins before time 0 and ends behind it; it was cut to begin there, because Perfetto cannot hold what is earlier."},
	ProfileWeightDropped:     {"profile_weight_dropped", Repaired, "The samples beside those of a CPU profile do not weigh nanoseconds, and a trace has one unit; the sample of the profile counts as one."},
	ProfilePositionLost:      {"profile_position_lost", Lost, "A sample of a CPU profile was kept without its line number, because no reconstructed call covers it."},

	TextRedecoded:            {"text_redecoded", Repaired, "All names of a self-profile that are not ASCII are UTF-8 read as Latin-1; they were decoded again (count: names)."},
	BadStack:                 {"bad_stack", Lost, "The stack of a sample is unknown, incomplete or runs in a circle; the sample was kept without it."},
	SelfProfileListMissing:   {"selfprofile_list_missing", Lost, "A list of a JS self-profile is missing; what its samples say by it is lost."},
	SelfProfileWeightDropped: {"selfprofile_weight_dropped", Repaired, "The samples of the trace that a JS self-profile was joined to do not weigh nanoseconds, and a trace has one unit; the sample of the profile counts as one."},
	SelfProfileFrameInvalid:  {"selfprofile_frame_invalid", Lost, "A frame or resource of a JS self-profile cannot be used as it is; what could not be read of it is missing."},
	TimeOriginUnknown:        {"time_origin_unknown", Repaired, "A JS self-profile does not say when it was recorded, as others in the file do; it was put where the earliest of these begins."},
	SamplesOutOfOrder:        {"samples_out_of_order", Info, "A sample is earlier than the one before; the samples were sorted by time."},
	SamplingGap:              {"sampling_gap", Info, "No sample was taken for more than five intervals; nothing is known of that time."},

	Drops:           {"drops", Lost, "The tracer lost events because its buffers were full (count: events that it admits)."},
	TracerError:     {"tracer_error", Lost, "The tracer could not record a firing, and says why."},
	BadLine:         {"bad_line", Lost, "A line of a probe record cannot be read: it is cut, or has too few fields or bad numbers."},
	UnknownLine:     {"unknown_line", Lost, "A line among probe records is none, and nothing that a tracer is known to say; it was left out."},
	ProbeLimit:      {"probe_limit", Lost, "There are more probes, names, declarations or open starts than weft keeps; what had no room was left out, or ends with the recording."},
	UnbalancedStart: {"unbalanced_start", Repaired, "The start of a probe has no end inside the slice around it; its slice ends with that."},
	EndWithoutStart: {"end_without_start", Repaired, "The end of a probe matches no open start; it became an instant."},
	NeverEnded:      {"never_ended", Repaired, "The start of a probe has no end; its slice ends with the last record."},
	UnknownHeader:   {"unknown_header", Info, "A header of probe lines is not known or cannot be read whole; what is understood counts."},
	TextCut:         {"text_cut", Info, "A text is as long as the tracer keeps texts, and may have been cut by it."},

	FirefoxNewerVersion:   {"firefox_newer_version", Info, "A Firefox profile is of a newer version than weft knows; it was read as far as its shape is known."},
	FirefoxValueInvalid:   {"firefox_value_invalid", Lost, "A part of a Firefox profile is not of the kind that the format asks for and was skipped."},
	FirefoxIndexInvalid:   {"firefox_index_invalid", Lost, "An index of a Firefox profile leads nowhere: there is no such string, stack, frame or function; what it stands for is missing."},
	FirefoxColumnShort:    {"firefox_column_short", Lost, "A column of a table of a Firefox profile is missing or short; rows without a needed value were dropped (count: rows)."},
	ArgumentValuesSkipped: {"argument_values_skipped", Lost, "A sample has values of function arguments, which have no place in a Perfetto trace."},
	MarkerFieldMismatch:   {"marker_field_mismatch", Repaired, "A field of a marker contradicts the format that its schema gives; the value was kept as it is."},
	MarkerIncomplete:      {"marker_incomplete", Repaired, "A marker has a start or an end only; it reaches to the edge of what is known of its thread."},
	MarkerOverlapMoved:    {"marker_overlap_moved", Info, "A marker that should nest on its thread does not; it was moved to a track of its name beside."},
	PageUnknown:           {"page_unknown", Info, "A marker or sample names a window that is not among the pages; its id was kept."},
	ScreenshotOmitted:     {"screenshot_omitted", Lost, "The picture of a screenshot was left out; the marker was kept."},

	ContextWithoutID:    {"context_without_id", Lost, "An event that enters or leaves a context has no id; it was ignored."},
	ContextBadID:        {"context_bad_id", Lost, "An event that enters or leaves a context, or tells of an object, has two kinds of id, or one without value; it was ignored."},
	ContextLimit:        {"context_limit", Lost, "There are more contexts, or states of contexts, than attribution keeps; work for the others is unattributed."},
	CostLimit:           {"cost_limit", Lost, "A cost is beyond what attribution can divide or add up; what was divided of it adds up still."},
	IntervalLimit:       {"interval_limit", Lost, "More contexts begin and end than the tracks of contexts have room for; slices and costs have them."},
	ParentCycle:         {"parent_cycle", Repaired, "An object would be its own ancestor in the tree of contexts; that edge was left out."},
	LeaveWithoutActive:  {"leave_without_active", Info, "A context was left that is not the active one of its type; nothing happened."},
	LeaveStacked:        {"leave_stacked", Info, "A context was left that is covered by another one of its type; nothing happened."},
	NeverLeft:           {"never_left", Info, "A context was entered and never left; it holds to the end of its thread."},
	UnresolvedReference: {"unresolved_reference", Info, "An object refers to one that the trace does not have."},
	FlowConflict:        {"flow_conflict", Info, "A flow brought a context to a slice for which another one was in effect that is not its ancestor."},
	FlowReturned:        {"flow_returned", Info, "A flow came back to a slice that it had passed; its contexts were not entered again."},
	FlowHopLimit:        {"flow_hop_limit", Info, "A context was handed on over 64 arrows and not further."},
	Clipped:             {"clipped", Info, "A slice ends after the one that it lies in; for cost it ends with that one."},
	SlicesWithoutEnd:    {"slices_without_end", Info, "A slice has no end and takes no part in cost."},

	PacketTruncated:        {"packet_truncated", Lost, "The trace ends in the middle of a packet; that packet was dropped."},
	PacketMalformed:        {"packet_malformed", Lost, "A packet cannot be parsed and was dropped."},
	PacketInvalidState:     {"packet_invalid_state", Lost, "A packet needs state of its sequence that was lost, and was dropped."},
	PacketNotConverted:     {"packet_not_converted", Lost, "A packet or field has no counterpart in weft's event model (counted once for a kind and packet)."},
	PacketMissingTimestamp: {"packet_missing_timestamp", Lost, "An event packet without timestamp was dropped."},
	PacketUnresolvedClock:  {"packet_unresolved_clock", Lost, "A timestamp is in a clock that no snapshot explains; that packet was dropped."},
	InternedIDUnknown:      {"interned_id_unknown", Repaired, "A packet uses an interned id that was never defined; its text is missing."},
	TrackRoleInvalid:       {"track_role_invalid", Info, "A track's mark of weft is damaged; the track is read like one of another producer."},
	TrackIDReused:          {"track_id_reused", Repaired, "A process or thread has a second track uuid; what is on it was moved to a track beside."},
}
