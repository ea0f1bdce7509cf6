package pfwire

import (
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/wire"
)

// maxCompleteMicros is the longest duration in microseconds of a complete event: readers take no longer one.
const maxCompleteMicros = 1 << 52

// isComplete reports whether a slice, whose start or end the item is, becomes one packet: a complete event instead of two packets.
// It is the rule of perfetto.md 6.6, and its only place. A complete event has its durations in microseconds, Perfetto takes it on
// tracks of threads only, and two without length at one time would nest in each other.
func (w *writer) isComplete(it *timeline.Item) bool {
	if !w.compact.on || !it.Whole || it.Idle || it.Lane > 0 || it.Dur <= 0 || !wholeMicros(it.Dur) {
		return false
	}
	if used, ok := it.ThreadDuration.Nanos(); ok && (used < 0 || !wholeMicros(used)) {
		return false
	}
	return w.t.TrackKind(it.Track) == timeline.ThreadTrack && !w.streams[it.Track]
}

func wholeMicros(t timeline.Nanos) bool {
	return t%timeline.Microsecond == 0 && t/timeline.Microsecond <= maxCompleteMicros
}

// appendComplete appends what makes an event a complete one: its phase and its durations.
func appendComplete(b []byte, it *timeline.Item) []byte {
	b, legacy := wire.BeginMessage(b, schema.TrackEvent_LegacyEvent)
	b = wire.AppendUint(b, schema.TrackEventLegacyEvent_Phase, 'X')
	b = wire.AppendUint(b, schema.TrackEventLegacyEvent_DurationUS, uint64(it.Dur/timeline.Microsecond))
	if used, ok := it.ThreadDuration.Nanos(); ok {
		b = wire.AppendUint(b, schema.TrackEventLegacyEvent_ThreadDurationUS, uint64(used/timeline.Microsecond))
	}
	return wire.EndMessage(b, legacy)
}
