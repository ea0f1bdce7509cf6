package pfwire

import (
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/wire"
)

// maxCompleteMicros is the longest duration of a complete event that readers accept, in microseconds.
const maxCompleteMicros = 1 << 52

// isComplete reports whether the slice of an item becomes one packet, a complete event, instead of two. It is the only
// implementation of the rule in perfetto.md 6.6: a complete event has durations in microseconds, Perfetto accepts it only on
// thread tracks, and simultaneous zero-length events would nest in each other.
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

// appendComplete appends the phase and durations of a complete event.
func appendComplete(b []byte, it *timeline.Item) []byte {
	b, legacy := wire.BeginMessage(b, schema.TrackEvent_LegacyEvent)
	b = wire.AppendUint(b, schema.TrackEventLegacyEvent_Phase, 'X')
	b = wire.AppendUint(b, schema.TrackEventLegacyEvent_DurationUS, uint64(it.Dur/timeline.Microsecond))
	if used, ok := it.ThreadDuration.Nanos(); ok {
		b = wire.AppendUint(b, schema.TrackEventLegacyEvent_ThreadDurationUS, uint64(used/timeline.Microsecond))
	}
	return wire.EndMessage(b, legacy)
}
