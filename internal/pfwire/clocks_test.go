package pfwire

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/timeline"
)

// stampOf applies a packet and converts its time.
func stampOf(t *testing.T, s *State, packet string) (int64, error) {
	t.Helper()
	seq, f, err := applyPacket(t, s, packet)
	if err != nil {
		t.Fatal(err)
	}
	stamp, err := seq.Stamp(f)
	if err != nil {
		return 0, err
	}
	return s.Clocks.TraceTime(stamp)
}

func TestTraceTime(t *testing.T) {
	s := NewState()
	for _, step := range []struct {
		packet string
		want   int64
		err    error
	}{
		{packet: `timestamp: 5`, want: 5},
		{packet: `timestamp: 5 timestamp_clock_id: 6`, want: 5}, // trace time is BOOTTIME
		{packet: `timestamp: 5 timestamp_clock_id: 3`, err: ErrUnknownClock},
		{packet: `timestamp: 1`, want: 1},
		{packet: `track_event { }`, err: ErrNoTimestamp},
		{packet: `timestamp: 18446744073709551615`, err: ErrTimeRange},
		{packet: `timestamp: 9223372036854775807`, err: ErrTimeRange},
		{packet: `clock_snapshot { clocks { clock_id: 3 timestamp: 100 } clocks { clock_id: 6 timestamp: 1100 } }`, err: ErrNoTimestamp},
		{packet: `clock_snapshot { clocks { clock_id: 3 timestamp: 300 } clocks { clock_id: 6 timestamp: 2300 } }`, err: ErrNoTimestamp},
		{packet: `timestamp: 50 timestamp_clock_id: 3`, want: 1050}, // before the first snapshot
		{packet: `timestamp: 299 timestamp_clock_id: 3`, want: 1299},
		{packet: `timestamp: 300 timestamp_clock_id: 3`, want: 2300},
		{packet: `clock_snapshot { clocks { clock_id: 200 timestamp: 7 } clocks { clock_id: 3 timestamp: 300 } }`, err: ErrNoTimestamp},
		{packet: `timestamp: 8 timestamp_clock_id: 200`, want: 2301}, // through MONOTONIC
		{packet: `clock_snapshot { primary_trace_clock: BUILTIN_CLOCK_MONOTONIC }`, err: ErrNoTimestamp},
		{packet: `timestamp: 8 timestamp_clock_id: 200`, want: 301},
		{packet: `timestamp: 1200 timestamp_clock_id: 6`, want: 200},
		{packet: `timestamp: 10 timestamp_clock_id: 6`, err: ErrTimeRange},
	} {
		got, err := stampOf(t, s, step.packet)
		if got != step.want || !errors.Is(err, step.err) {
			t.Errorf("%s: %d, %v; want %d, %v", step.packet, got, err, step.want, step.err)
		}
	}
}

func TestSequenceClocks(t *testing.T) {
	s := NewState()
	const snapshot = `trusted_packet_sequence_id: 1 timestamp: %d clock_snapshot {
		clocks { clock_id: 6 timestamp: %d } clocks { clock_id: 64 timestamp: %d is_incremental: true unit_multiplier_ns: 1000 }
		clocks { clock_id: 65 timestamp: %d unit_multiplier_ns: 1000 } }`
	for _, step := range []struct {
		packet string
		want   int64
		err    error
	}{
		{packet: `trusted_packet_sequence_id: 1 sequence_flags: 1 timestamp: 1 timestamp_clock_id: 64`, err: ErrUnknownClock},
		{packet: fmt.Sprintf(snapshot, 0, 5000000, 700, 700), want: 0},
		{packet: `trusted_packet_sequence_id: 1 timestamp: 2 timestamp_clock_id: 64`, want: 5002000},
		{packet: `trusted_packet_sequence_id: 1 timestamp: 3 timestamp_clock_id: 64 track_descriptor { uuid: 1 }`, want: 5005000},
		{packet: `trusted_packet_sequence_id: 1 timestamp: 9 timestamp_clock_id: 64 service_event { }`, want: 5014000},
		{packet: `trusted_packet_sequence_id: 1 timestamp: 9 timestamp_clock_id: 64 extension_descriptor { }`, want: 5014000},
		{packet: `trusted_packet_sequence_id: 1 timestamp: 1 timestamp_clock_id: 64`, want: 5006000},
		{packet: `trusted_packet_sequence_id: 1 timestamp: 18446744073709551615 timestamp_clock_id: 64`, want: 5005000},
		{packet: `trusted_packet_sequence_id: 1 timestamp: 701 timestamp_clock_id: 65`, want: 5001000},
		{packet: `trusted_packet_sequence_id: 2 sequence_flags: 1 timestamp: 1 timestamp_clock_id: 65`, err: ErrUnknownClock},
		{packet: `timestamp: 1 timestamp_clock_id: 65`, err: ErrUnknownClock},
		{packet: `trusted_packet_sequence_id: 1 sequence_flags: 1 trace_packet_defaults { timestamp_clock_id: 65 } timestamp: 702`, want: 5002000},
	} {
		got, err := stampOf(t, s, step.packet)
		if got != step.want || !errors.Is(err, step.err) {
			t.Errorf("%s: %d, %v; want %d, %v", step.packet, got, err, step.want, step.err)
		}
	}
}

// However many snapshots there are, memory is limited, and times near any of them are right.
func TestManySnapshots(t *testing.T) {
	l := new(clockLink)
	const n = 3 * maxLinkPoints
	for i := range int64(n) {
		l.add(clockPoint{i * 1000, i*1000 + i}, maxLinkPoints)
	}
	if len(l.points) > maxLinkPoints {
		t.Errorf("%d points kept", len(l.points))
	}
	for _, i := range []int64{1, n / 2, n - 1} {
		if got := l.convert(i * 1000); got < i*1000+i-4 || got > i*1000+i {
			t.Errorf("time %d became %d", i*1000, got)
		}
	}
}

// The readings of the system clocks come from the first snapshot that contains the clock of the trace.
func TestClockOfTheTrace(t *testing.T) {
	const boottimeFirst = `clock_snapshot { clocks { clock_id: 6 timestamp: 900 } clocks { clock_id: 3 timestamp: 100 } }`
	for _, c := range []struct {
		name    string
		packets []string
		want    timeline.Clocks
	}{
		{"nothing", []string{`timestamp: 5`}, timeline.Clocks{}},
		{"one clock", []string{`clock_snapshot { clocks { clock_id: 6 timestamp: 9 } }`}, timeline.Clocks{}},
		{"boottime", []string{boottimeFirst, `clock_snapshot { clocks { clock_id: 6 timestamp: 1900 } clocks { clock_id: 1 timestamp: 7 } }`},
			timeline.Clocks{Trace: 6, Readings: []timeline.ClockReading{{Clock: 6, Time: 900}, {Clock: 3, Time: 100}}}},
		{"named later", []string{boottimeFirst, `clock_snapshot { primary_trace_clock: BUILTIN_CLOCK_MONOTONIC }`},
			timeline.Clocks{Trace: 3, Readings: []timeline.ClockReading{{Clock: 6, Time: 900}, {Clock: 3, Time: 100}}}},
		{"named only", []string{`clock_snapshot { primary_trace_clock: BUILTIN_CLOCK_MONOTONIC }`}, timeline.Clocks{Trace: 3}},
		{"others", []string{`clock_snapshot { primary_trace_clock: BUILTIN_CLOCK_MONOTONIC clocks { clock_id: 6 timestamp: 9 } clocks { clock_id: 1 timestamp: 9 } }`},
			timeline.Clocks{Trace: 3}},
		{"clocks of a sequence", []string{`trusted_packet_sequence_id: 1 clock_snapshot { clocks { clock_id: 6 timestamp: 9 } clocks { clock_id: 64 timestamp: 9 } clocks { clock_id: 200 timestamp: 9 } }`},
			timeline.Clocks{}},
	} {
		s := NewState()
		for _, text := range c.packets {
			if _, err := stampOf(t, s, text); err != nil && !errors.Is(err, ErrNoTimestamp) {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(c.want, s.Clocks.Trace()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
