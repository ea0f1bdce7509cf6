package pftrace

import (
	"slices"

	"github.com/weft-trace/weft/internal/wire"
	"github.com/weft-trace/weft/timeline"
)

// Field numbers of ClockSnapshot (spec perfetto.md 2.6).
const (
	snapshotClocks  = 1
	snapshotPrimary = 2
	clockID         = 1
	clockTimestamp  = 2
)

// A Chrome trace in JSON names its clock in its metadata.
const (
	attributeClockDomain      = "metadata.clock-domain"
	linuxMonotonicClockDomain = "LINUX_CLOCK_MONOTONIC"
)

// traceClocks returns which clock the times are of, if the input says so.
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

// clockSnapshot says which clock that of the trace is, and what others showed at one moment (spec perfetto.md 4). Trace
// time is BOOTTIME to Perfetto; where the input says nothing about that clock, it is taken to be the same as the clock
// that the input names.
func (w *writer) clockSnapshot() error {
	c := w.traceClocks()
	if c.Trace == 0 {
		return nil
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
	b, packet := wire.BeginMessage(w.out.buf, tracePacket)
	b, snapshot := wire.BeginMessage(b, packetClockSnapshot)
	for _, r := range c.Readings {
		var clock int
		b, clock = wire.BeginMessage(b, snapshotClocks)
		b = wire.AppendUint(b, clockID, uint64(r.Clock))
		b = wire.EndMessage(wire.AppendUint(b, clockTimestamp, uint64(r.Time)), clock)
	}
	if boottime && c.Trace != timeline.ClockBoottime {
		b = wire.AppendUint(b, snapshotPrimary, uint64(c.Trace))
	}
	w.out.buf = wire.EndMessage(wire.EndMessage(b, snapshot), packet)
	return w.out.packetDone()
}
