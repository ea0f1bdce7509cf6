package pfwire

import (
	"cmp"

	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/wire"
)

// PacketForm is the form of event packets.
type PacketForm uint8

const (
	// PlainPackets contain their time in nanoseconds and their track. A program that reads a trace packet by packet needs
	// nothing else except interned data.
	PlainPackets PacketForm = iota
	// CompactPackets contain the differences from the previous time and thread time, in microseconds if all times are whole
	// microseconds, and omit the track with the most events. The compressed trace is smaller by a third, or by half if it has no
	// arguments. Chrome writes its traces in this form.
	CompactPackets
)

// deltaClock is the id of the sequence's clock, whose times are relative to the previous packet (perfetto.md 4).
const deltaClock = firstSequenceClock

// compact is the state of the compact form. The zero compact writes plain packets.
type compact struct {
	on         bool
	clock      timeline.Clock // clock of the trace
	unit       timeline.Nanos // unit of times
	threadUnit timeline.Nanos // unit of thread times
	track      uint64         // uuid of the default track; 0: none
	threadTime uint64         // default counter of thread times; 0: none
	last       timeline.Nanos // time of the last packet
}

// newCompact returns the initial state for the events of a machine.
func (w *writer) newCompact(machine uint32) compact {
	_, primary := w.snapshot()
	c := compact{
		on: true, clock: cmp.Or(primary, timeline.ClockBoottime),
		unit: w.t.TimeUnit(), threadUnit: w.t.ThreadTimeUnit(),
	}
	if id, ok := w.t.BusiestTrack(machine); ok {
		c.track, c.threadTime = uint64(id), w.clocks[id]
	}
	return c
}

// appendTime appends the time of a packet, which must not be earlier than the time of the previous packet.
func (w *writer) appendTime(b []byte, ts timeline.Nanos) []byte {
	c := &w.compact
	if !c.on {
		return wire.AppendUint(b, schema.TracePacket_Timestamp, uint64(ts))
	}
	delta := (ts - c.last) / c.unit
	c.last = ts
	return wire.AppendUint(b, schema.TracePacket_Timestamp, uint64(delta))
}

// startClock sets the sequence's clock to the time before the first segment.
func (w *writer) startClock() error {
	c := &w.compact
	if !c.on || w.t.SegmentCount() == 0 {
		return nil
	}
	ts := w.t.SegmentAfter(0)
	b, packet := wire.BeginMessage(w.out.buf, schema.Trace_Packet)
	b = append(b, w.plain...)
	b, snapshot := wire.BeginMessage(b, schema.TracePacket_ClockSnapshot)
	b = w.appendFileClock(appendReading(b, c.clock, ts), ts)
	b, clock := wire.BeginMessage(b, schema.ClockSnapshot_Clocks)
	b = wire.AppendUint(b, schema.ClockSnapshotClock_ClockID, deltaClock)
	b = wire.AppendUint(b, schema.ClockSnapshotClock_Timestamp, uint64(ts/c.unit))
	b = wire.AppendUint(b, schema.ClockSnapshotClock_IsIncremental, 1)
	b = wire.EndMessage(wire.AppendUint(b, schema.ClockSnapshotClock_UnitMultiplierNS, uint64(c.unit)), clock)
	w.out.buf = wire.EndMessage(wire.EndMessage(b, snapshot), packet)
	return w.out.packetDone()
}

// setClocks sets the clocks of all sequences to the time before a segment.
func (w *writer) setClocks(segment int) {
	before := w.t.SegmentAfter(segment)
	w.compact.last = before
	for i := range w.sequences {
		w.sequences[i].compact.last = before
	}
}

// advanceClocks sets the clocks of all sequences to the time before the next segment, with packets that have only a time.
// Segments can then be encoded independently, without clock snapshots, each of which viewers would show.
func (w *writer) advanceClocks(segment int) error {
	if !w.compact.on || segment == w.t.SegmentCount() {
		return nil
	}
	return w.eachSequence(func() error {
		b, packet := wire.BeginMessage(w.out.buf, schema.Trace_Packet)
		w.out.buf = wire.EndMessage(w.appendTime(append(b, w.plain...), w.t.SegmentAfter(segment)), packet)
		return w.out.packetDone()
	})
}

// appendDefaults appends the default clock and track of packets.
func (c *compact) appendDefaults(b []byte) []byte {
	b = wire.AppendUint(b, schema.TracePacketDefaults_TimestampClockID, deltaClock)
	if c.track == 0 {
		return b
	}
	b, event := wire.BeginMessage(b, schema.TracePacketDefaults_TrackEventDefaults)
	b = wire.AppendUint(b, schema.TrackEvent_TrackUUID, c.track)
	if c.threadTime != 0 {
		b = wire.AppendUint(b, schema.TrackEvent_ExtraCounterTrackUUIDs, c.threadTime)
	}
	return wire.EndMessage(b, event)
}
