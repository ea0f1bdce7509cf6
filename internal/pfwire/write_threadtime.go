package pfwire

import (
	"context"

	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/wire"
)

// threadTimes is the state passed on from segment to segment: thread time counters are incremental, so the first value of a
// thread in a segment depends on the last value before it.
//
// A segment that is written concurrently holds its packets back until its turn. Until then, the packets lack the first value of
// each thread. The segment passes on its state before compressing its packets, so that segments wait for each other only briefly.
type threadTimes struct {
	last []int64         // by counter: the value before the segment whose turn it is
	turn []chan struct{} // by segment: closed at its turn
}

// segmentTimes holds the thread times of the current segment.
type segmentTimes struct {
	segment int
	times   []segmentTime // by counter
	seen    []int         // the counters with a value
	missing []missingTime // in packet order
	wait    func() error  // blocks until the segment's turn
	ready   bool          // it is the segment's turn
}

// segmentTime is the last value of a counter in a segment, in the counter's unit.
type segmentTime struct {
	value int64
	seen  bool
}

// missingTime is a value to be inserted in a packet: the first one of its counter in the segment.
type missingTime struct {
	packet  int // its offset in the held-back packets
	event   int // the offset of its event's length field from the first field of the packet
	counter int
	value   int64
}

// newThreadTimes returns nil if thread times are to be written as absolute values: in plain packets, and if Perfetto's sums, which are
// doubles, would be rounded.
func (w *writer) newThreadTimes() *threadTimes {
	counters := int(w.lastClock + 1 - w.firstClock)
	if !w.compact.on || counters == 0 || !w.t.ThreadTimesAreExactInDoubles() {
		return nil
	}
	t := &threadTimes{last: make([]int64, counters), turn: make([]chan struct{}, w.t.SegmentCount()+1)}
	for i := range t.turn {
		t.turn[i] = make(chan struct{})
	}
	close(t.turn[0])
	return t
}

// beginThreadTimes prepares the thread times of a segment.
func (w *writer) beginThreadTimes(ctx context.Context, segment int) {
	t := w.threadTimes
	if t == nil {
		return
	}
	w.segmentTimes = segmentTimes{segment: segment, times: make([]segmentTime, len(t.last)), ready: w.alone}
	w.wait = func() error {
		select {
		case <-t.turn[segment]:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if !w.alone {
		w.out.holdBack(w.maxHeldBack, w.releaseThreadTimes)
	}
}

// appendThreadTime appends the thread time of a slice as a value of its thread's counter: the difference from the previous value
// if the counter is incremental. The parameter event is as in missingTime.
func (w *writer) appendThreadTime(b []byte, track timeline.TrackID, at timeline.Nanos, event int) []byte {
	clock := w.clocks[track]
	if clock == 0 {
		return b
	}
	if clock != w.compact.threadTime {
		b = wire.AppendUint(b, schema.TrackEvent_ExtraCounterTrackUUIDs, clock)
	}
	value := int64(at / w.compact.threadUnit)
	if w.threadTimes == nil {
		return wire.AppendInt(b, schema.TrackEvent_ExtraCounterValues, value)
	}
	counter := int(clock - w.firstClock)
	last := &w.times[counter]
	before := last.value
	if !last.seen {
		w.seen = append(w.seen, counter)
		if !w.ready {
			w.missing = append(w.missing, missingTime{len(w.out.buf), event, counter, value})
			*last = segmentTime{value, true}
			return b
		}
		before = w.threadTimes.last[counter]
	}
	*last = segmentTime{value, true}
	return wire.AppendInt(b, schema.TrackEvent_ExtraCounterValues, value-before)
}

// appendHiddenThreadTime appends the thread time of an event to its packet in a form that viewers ignore: as the difference from
// its thread's counter if the counter has a value in the segment, otherwise as an absolute value.
func (w *writer) appendHiddenThreadTime(b []byte, track timeline.TrackID, at timeline.Nanos) []byte {
	if clock := w.clocks[track]; clock != 0 && w.threadTimes != nil {
		if last := &w.times[clock-w.firstClock]; last.seen {
			return wire.AppendSint(b, schema.TracePacket_WeftThreadTimeDelta, int64(at/w.compact.threadUnit)-last.value)
		}
	}
	return wire.AppendInt(b, schema.TracePacket_WeftThreadTime, int64(at))
}

// releaseThreadTimes waits for the segment's turn and releases packets.
func (w *writer) releaseThreadTimes() error {
	if err := w.takeTurn(); err != nil {
		return err
	}
	return w.releasePackets()
}

// takeTurn waits for the segment's turn, and converts missing values to differences.
func (w *writer) takeTurn() error {
	if w.ready {
		return nil
	}
	if err := w.wait(); err != nil {
		return err
	}
	w.ready = true
	for i := range w.missing {
		m := &w.missing[i]
		m.value -= w.threadTimes.last[m.counter]
	}
	return nil
}

// releasePackets releases the packets that were held back, with the missing values.
func (w *writer) releasePackets() error {
	next := 0
	return w.out.release(func(b []byte, at int, packet []byte) []byte {
		if next == len(w.missing) || w.missing[next].packet != at {
			return append(b, packet...)
		}
		m := &w.missing[next]
		next++
		return appendWithThreadTime(b, packet, m.event, m.value)
	})
}

// appendWithThreadTime appends a packet with a thread time at the end of its event. The parameter event is as in missingTime.
func appendWithThreadTime(b, packet []byte, event int, value int64) []byte {
	_, n := decodeVarint(packet[1:]) // after the tag
	body := packet[1+n:]
	size, n := decodeVarint(body[event:])
	end := event + n + int(size)
	b, outer := wire.BeginMessage(b, schema.Trace_Packet)
	b = append(append(b, body[:event]...), 0)
	inner := len(b)
	b = wire.AppendInt(append(b, body[event+n:end]...), schema.TrackEvent_ExtraCounterValues, value)
	return wire.EndMessage(append(wire.EndMessage(b, inner), body[end:]...), outer)
}

// endThreadTimes passes the segment's values on to the next one, and releases the remaining packets.
func (w *writer) endThreadTimes() error {
	t := w.threadTimes
	if t == nil {
		return nil
	}
	if err := w.takeTurn(); err != nil {
		return err
	}
	for _, counter := range w.seen {
		t.last[counter] = w.times[counter].value
	}
	close(t.turn[w.segment+1])
	if !w.out.hold {
		return nil
	}
	return w.releasePackets()
}
