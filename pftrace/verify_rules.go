package pftrace

// rule identifies one rule of perfetto.md 18.
type rule uint8

// ruleClass is the severity of a rule.
type ruleClass uint8

const (
	// alwaysViolation: the rule applies to all producers.
	alwaysViolation ruleClass = iota
	// ownViolation: the rule applies to weft. Traces from other producers may break it, with only a warning: Chrome traces, for
	// example, start in the middle of slices and flows.
	ownViolation
	// alwaysWarning: valid, but worth reporting.
	alwaysWarning
)

const (
	ruleFirstByte rule = iota
	ruleNotAPacket
	ruleFraming
	rulePacketCut
	rulePacketSize
	ruleMalformed
	ruleFieldType
	ruleMessageDepth
	ruleRepeatedField

	ruleBundleBroken
	ruleBundleSize
	ruleBundleNested
	ruleBundleMixed

	ruleSequenceMissing
	ruleStateNotCleared
	ruleInternedZero
	ruleInternedRedefined
	ruleInternedUndefined

	ruleTrackUndescribed
	ruleCounterUndescribed
	ruleParentUnknown
	ruleParentLoop
	ruleParentDepth
	ruleRootParent
	ruleProcessTwice
	ruleThreadTwice
	ruleDescriptorConflict
	ruleReservedID
	ruleSequenceThread

	ruleTimestampMissing
	ruleTimestampRange
	ruleClockUnknown
	ruleClockIncremental

	ruleEndWithoutBegin
	ruleEndNamed
	ruleSliceDepth
	ruleSliceOverlap
	ruleCompleteEvent
	ruleFoldedCalls

	ruleCounterValue
	ruleExtraValues

	ruleFlowRepeated
	ruleFlowOnCounter
	ruleFlowInactive
	ruleFlowOldForm

	ruleAnnotationName
	ruleAnnotationValue
	ruleAnnotationRepeated

	ruleCallstackEmpty
	ruleFrameAddress
	ruleSampleID
	ruleProfileThread
	ruleProfileTimes

	ruleBeginWithoutEnd
	ruleTimeOrder
	ruleUnknownField
	ruleNeedsVersion
	ruleThreadTimeName
	ruleStateLost
	ruleClockLate
	ruleOrderUnchecked

	numRules
)

// rules holds the sections and sentences of the rules, and their names, which are part of weft's interface.
var rules = [numRules]struct {
	name     string
	class    ruleClass
	section  string // of docs/formats/perfetto.md
	sentence string
}{
	ruleFirstByte:     {"first_byte", alwaysViolation, "2", "A trace begins with the byte 0x0A, or Perfetto does not recognise it; an empty file is not a trace."},
	ruleNotAPacket:    {"not_a_packet", alwaysViolation, "2", "A file holds packets only; other fields at the top are skipped."},
	ruleFraming:       {"framing", alwaysViolation, "2", "The bytes are not a field of a trace; what is after them cannot be found."},
	rulePacketCut:     {"packet_cut", alwaysViolation, "2", "The file ends in the middle of a packet, which is lost."},
	rulePacketSize:    {"packet_size", alwaysViolation, "2", "A packet is larger than 256 MiB and is not read."},
	ruleMalformed:     {"malformed_message", alwaysViolation, "2", "A message in the packet cannot be parsed."},
	ruleFieldType:     {"field_type", alwaysViolation, "2", "A field does not have the wire type of the schema."},
	ruleMessageDepth:  {"message_depth", alwaysViolation, "2", "Messages are nested too deep to be checked."},
	ruleRepeatedField: {"repeated_field", alwaysViolation, "3", "A message that is not a list comes twice in a packet: only the last one is read."},

	ruleBundleBroken: {"bundle_broken", alwaysViolation, "12", "A bundle is not a valid stream of complete packets."},
	ruleBundleSize:   {"bundle_size", alwaysViolation, "12", "A bundle must be smaller than 512 KiB."},
	ruleBundleNested: {"bundle_nested", alwaysViolation, "12", "A bundle must not hold a bundle."},
	ruleBundleMixed:  {"bundle_mixed", alwaysViolation, "12", "zlib and zstd bundles must not be mixed in one file."},

	ruleSequenceMissing:   {"sequence_missing", alwaysViolation, "3", "Events, interned data and defaults need a sequence id; without one they are dropped."},
	ruleStateNotCleared:   {"state_not_cleared", alwaysViolation, "3", "Interned data, defaults and flag 2 count only after a packet with flag 1 on the sequence."},
	ruleInternedZero:      {"interned_zero", alwaysViolation, "3", "An interned entry needs an id of at least 1."},
	ruleInternedRedefined: {"interned_redefined", alwaysViolation, "3", "An interned id is defined again with other content: the first one counts."},
	ruleInternedUndefined: {"interned_undefined", alwaysViolation, "3", "An interned id is used that was not defined before on the sequence."},

	ruleTrackUndescribed:   {"track_undescribed", alwaysViolation, "5", "An event uses a track that has no descriptor anywhere in the file."},
	ruleCounterUndescribed: {"counter_undescribed", alwaysViolation, "5", "A counter value comes before a counter descriptor of its track and is dropped."},
	ruleParentUnknown:      {"parent_unknown", alwaysViolation, "5", "The parent of a track has no descriptor."},
	ruleParentLoop:         {"parent_loop", alwaysViolation, "5", "A track is its own ancestor."},
	ruleParentDepth:        {"parent_depth", alwaysViolation, "5", "A track has more than 100 ancestors."},
	ruleRootParent:         {"root_parent", alwaysViolation, "5", "Track uuid 0 is the root and has no parent."},
	ruleProcessTwice:       {"process_twice", alwaysViolation, "5", "A second uuid for a process makes a second row of it."},
	ruleThreadTwice:        {"thread_twice", alwaysViolation, "5", "A second uuid for a thread makes a second row of it."},
	ruleDescriptorConflict: {"descriptor_conflict", alwaysViolation, "5", "A track is described again with another process, thread, parent or counter setting."},
	ruleReservedID:         {"reserved_id", alwaysViolation, "5", "Process id 0 and thread id 0 mean the idle process."},
	ruleSequenceThread:     {"sequence_thread", ownViolation, "5", "A thread that is described on a sequence is shown for the events of the sequence that are on no thread."},

	ruleTimestampMissing: {"timestamp_missing", alwaysViolation, "3", "An event without timestamp is dropped."},
	ruleTimestampRange:   {"timestamp_range", alwaysViolation, "4", "A timestamp that is negative as int64 is dropped."},
	ruleClockUnknown:     {"clock_unknown", alwaysViolation, "4", "A clock of a sequence is used before a snapshot on this sequence."},
	ruleClockIncremental: {"clock_incremental", alwaysViolation, "4", "Only clocks of a sequence (64 to 127) may be incremental."},

	ruleEndWithoutBegin: {"end_without_begin", ownViolation, "6", "An END closes nothing: no slice is open on its track."},
	ruleEndNamed:        {"end_named", ownViolation, "6", "A name or category on an END is a filter that may leave the slice open."},
	ruleSliceDepth:      {"slice_depth", ownViolation, "6", "A slice or instant nested deeper than 512 levels is dropped. Instants of one time nest in each other."},
	ruleSliceOverlap:    {"slice_overlap", ownViolation, "6", "A complete event overlaps another slice of its track without nesting: one of them is dropped or truncated."},
	ruleCompleteEvent:   {"complete_event", ownViolation, "6", "A complete event without a duration, or on a track that is not a thread's own, is dropped."},
	ruleFoldedCalls:     {"folded_calls", ownViolation, "6", "A slice that shows a recursion is not followed by as many folded calls as it says."},

	ruleCounterValue: {"counter_value", alwaysViolation, "7", "A counter event needs exactly one value."},
	ruleExtraValues:  {"extra_values", alwaysViolation, "7", "An event has at most 8 extra counter values, each with a track uuid."},

	ruleFlowRepeated:  {"flow_repeated", ownViolation, "8", "A flow id twice in one event makes an arrow from the slice to itself."},
	ruleFlowOnCounter: {"flow_on_counter", ownViolation, "8", "A flow id on a counter event is ignored."},
	ruleFlowInactive:  {"flow_inactive", ownViolation, "8", "A terminating flow id that is not active is ignored: the arrow is missing."},
	ruleFlowOldForm:   {"flow_old_form", ownViolation, "8", "Flow ids are written as fixed64 (fields 47, 48); the varint fields 36 and 42 are old."},

	ruleAnnotationName: {"annotation_name", alwaysViolation, "9", "An annotation or dictionary entry has no name."},
	// Chrome writes empty dictionaries and lists as annotations without a value, in every larger recording.
	ruleAnnotationValue:    {"annotation_value", ownViolation, "9", "An annotation needs exactly one value; without one it vanishes."},
	ruleAnnotationRepeated: {"annotation_repeated", ownViolation, "9", "What weft adds to an event is in one dictionary named weft, not in two."},

	ruleCallstackEmpty: {"callstack_empty", alwaysViolation, "10", "A call stack has no frames."},
	ruleFrameAddress:   {"frame_address", alwaysViolation, "10", "A frame with a mapping needs rel_pc."},
	ruleSampleID:       {"sample_id", alwaysViolation, "10", "The process and thread ids of a stack sample must fit 32 bits."},

	ruleProfileThread: {"profile_thread", alwaysViolation, "10", "A streaming profile needs a thread descriptor before it on its sequence: it does not say whose samples it holds."},
	ruleProfileTimes:  {"profile_times", alwaysViolation, "10", "A streaming profile needs a time for each call stack; samples without one are dropped."},

	ruleBeginWithoutEnd: {"begin_without_end", alwaysWarning, "6", "A slice never ends."},
	ruleTimeOrder:       {"time_order", alwaysWarning, "6", "Packets are not in time order, which costs Perfetto a full sort."},
	ruleUnknownField:    {"unknown_field", alwaysWarning, "2", "A field is not in weft's part of the schema and was not checked."},
	ruleNeedsVersion:    {"needs_version", alwaysWarning, "14", "Perfetto versions before the one named ignore this silently."},
	ruleThreadTimeName:  {"thread_time_name", alwaysWarning, "7", "A thread-time counter with a name other than thread_time gives no thread durations."},
	ruleStateLost:       {"state_lost", alwaysWarning, "15", "The producer lost packets; those that need the lost state are dropped."},
	ruleClockLate:       {"clock_late", alwaysWarning, "4", "No snapshot so far relates a packet's clock to the trace's; readers defer the packet to the end of the file."},
	ruleOrderUnchecked:  {"order_unchecked", alwaysWarning, "6", "Events come so far out of time order that nesting and flows were not checked from here on."},
}
