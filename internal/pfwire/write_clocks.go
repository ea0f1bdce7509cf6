package pfwire

import (
	"cmp"
	"math"
	"slices"

	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/wire"
)

// Chrome's JSON traces name their clock in the metadata.
const (
	attributeClockDomain      = "metadata.clock-domain"
	linuxMonotonicClockDomain = "LINUX_CLOCK_MONOTONIC"
)

// traceClocks returns the clock of the trace, if the input identifies it, and the readings of all clocks.
func (w *writer) traceClocks() timeline.Clocks {
	c := w.t.Clocks()
	if c.Trace != 0 {
		return c
	}
	for _, a := range w.t.Attributes() {
		if a.Key == attributeClockDomain && a.Text == linuxMonotonicClockDomain {
			c.Trace = timeline.ClockMonotonic
		}
	}
	return c
}

// snapshot returns the readings for the output's clock snapshot (nil if it needs no snapshot) and, if the trace's clock must be
// named, that clock. Perfetto's default trace time is BOOTTIME; if the input has no reading of it, BOOTTIME is assumed to equal
// the input's clock.
func (w *writer) snapshot() (readings []timeline.ClockReading, primary timeline.Clock) {
	c := w.traceClocks()
	if c.Trace == 0 {
		if c.Date == nil {
			return nil, 0
		}
		c.Trace = timeline.ClockBoottime
	}
	at, ok := c.Reading(c.Trace)
	if !ok {
		at = w.t.Start()
		c.Readings = []timeline.ClockReading{{Clock: c.Trace, Time: at}}
	}
	_, boottime := c.Reading(timeline.ClockBoottime)
	if !boottime {
		c.Readings = slices.Insert(slices.Clone(c.Readings), 0, timeline.ClockReading{Clock: timeline.ClockBoottime, Time: at})
	}
	if boottime && c.Trace != timeline.ClockBoottime {
		if len(w.machines) == 0 {
			return c.Readings, c.Trace
		}
		c.Readings = withBoottime(c.Readings, at) // machines share only BOOTTIME
	}
	return c.Readings, 0
}

// withBoottime returns a copy of readings with a different time for BOOTTIME.
func withBoottime(readings []timeline.ClockReading, at timeline.Nanos) []timeline.ClockReading {
	readings = slices.Clone(readings)
	for i := range readings {
		if readings[i].Clock == timeline.ClockBoottime {
			readings[i].Time = at
		}
	}
	return readings
}

// clockSnapshot writes the clock of the trace, and simultaneous readings of other clocks (perfetto.md 4).
func (w *writer) clockSnapshot() error {
	readings, primary := w.snapshot()
	if len(readings) == 0 {
		return nil
	}
	b, packet := wire.BeginMessage(w.out.buf, schema.Trace_Packet)
	b, snapshot := wire.BeginMessage(append(b, w.machineID...), schema.TracePacket_ClockSnapshot)
	for _, r := range readings {
		b = appendReading(b, r.Clock, r.Time)
	}
	c := timeline.Clocks{Readings: readings}
	b = appendDate(b, &c, cmp.Or(primary, timeline.ClockBoottime), w.t.Clocks().Date)
	boottime, _ := c.Reading(timeline.ClockBoottime)
	b = w.appendFileClock(b, boottime)
	if primary != 0 {
		b = wire.AppendUint(b, schema.ClockSnapshot_PrimaryTraceClock, uint64(primary))
	}
	w.out.buf = wire.EndMessage(wire.EndMessage(b, snapshot), packet)
	return w.out.packetDone()
}

// appendDate computes the wall clock time at the reading of the trace's clock from date, and appends it as a reading.
func appendDate(b []byte, c *timeline.Clocks, trace timeline.Clock, date *timeline.Anchor) []byte {
	at, ok := c.Reading(trace)
	if date == nil || !ok || at-date.At < -date.Wall || at-date.At > math.MaxInt64-date.Wall {
		return b
	}
	b, reading := wire.BeginMessage(b, schema.ClockSnapshot_Clocks)
	b = wire.AppendUint(b, schema.ClockSnapshotClock_ClockID, uint64(timeline.ClockRealtime))
	b = wire.AppendUint(b, schema.ClockSnapshotClock_Timestamp, uint64(at-date.At+date.Wall))
	return wire.EndMessage(wire.AppendUint(b, schema.ClockSnapshotClock_WeftErrorNS, uint64(max(-date.Low, date.High))), reading)
}

func appendReading(b []byte, clock timeline.Clock, t timeline.Nanos) []byte {
	b, reading := wire.BeginMessage(b, schema.ClockSnapshot_Clocks)
	b = wire.AppendUint(b, schema.ClockSnapshotClock_ClockID, uint64(clock))
	return wire.EndMessage(wire.AppendUint(b, schema.ClockSnapshotClock_Timestamp, uint64(t)), reading)
}

// appendFileClock appends a reading that snapshots of further machines need: without it, Perfetto v58 assumes the machine's BOOTTIME for
// the whole trace, and drops later packets of all other machines.
func (w *writer) appendFileClock(b []byte, t timeline.Nanos) []byte {
	if len(w.machineID) == 0 {
		return b
	}
	return appendReading(b, schema.BuiltinClockTraceFile, t)
}
