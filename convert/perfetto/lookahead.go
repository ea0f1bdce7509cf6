package perfetto

import (
	"bytes"

	"github.com/weft-trace/weft/pftrace"
)

// maxLookahead bounds the bytes of packets that wait for a clock.
const maxLookahead = 16 << 20

// maxLookaheadRounds bounds how often the reader waits. One trace has few clocks.
const maxLookaheadRounds = 16

// lookahead holds packets back when the clock of an event cannot be converted yet: snapshots may follow the first
// events that need them (spec perfetto.md 4). From that event on all packets wait, so that they are read in file order
// once the snapshot is found. If none comes within maxLookahead, the trace is read without waiting, and what has no
// known clock is dropped and counted.
type lookahead struct {
	enabled bool
	clock   pftrace.Clock // what the first packet waits for
	packets []waitingPacket
	size    int
	rounds  int
}

type waitingPacket struct {
	bytes  []byte
	offset int64
}

func (l *lookahead) waiting() bool { return len(l.packets) > 0 }

// timedPayloads are the payloads whose time matters: track event, streaming profile, perf sample, stack sample.
var timedPayloads = map[int]bool{11: true, 54: true, 66: true, 135: true}

// mustWait reports whether the current packet is an event in a clock that only a later snapshot can explain. A clock
// that belongs to a sequence has to be described before its first use and is never waited for.
func (r *reader) mustWait() bool {
	if !r.ahead.enabled || !r.fields.HasTimestamp || !timedPayloads[r.fields.Payload] {
		return false
	}
	clock, ok := r.seq.Clock(&r.fields)
	if !ok || r.state.Clocks.Knows(clock) {
		return false
	}
	r.ahead.clock = clock
	return true
}

// wait puts a packet into the queue, and reads the queue when the packet is the snapshot that it waits for.
func (r *reader) wait(packet []byte, offset int64) error {
	l := &r.ahead
	l.packets = append(l.packets, waitingPacket{bytes.Clone(packet), offset})
	l.size += len(packet)
	if l.size > maxLookahead {
		return r.release()
	}
	var f pftrace.PacketFields
	if f.Parse(packet) != nil || f.Payload != 6 {
		return nil
	}
	// Only the clocks of the whole trace are taken from the snapshot now; the sequence gets its own in its turn.
	if r.state.Clocks.Snapshot(nil, f.Data) != nil || !r.state.Clocks.Knows(l.clock) {
		return nil
	}
	return r.replay()
}

// release reads the waiting packets although their clock is not known, and ends all waiting.
func (r *reader) release() error {
	r.ahead.enabled = false
	return r.replay()
}

// replay reads the packets that wait. A packet among them that has to wait for another clock starts a new queue.
func (r *reader) replay() error {
	packets := r.ahead.packets
	r.ahead.packets, r.ahead.size = nil, 0
	if r.ahead.rounds++; r.ahead.rounds >= maxLookaheadRounds {
		r.ahead.enabled = false
	}
	for _, p := range packets {
		if err := r.packet(p.bytes, p.offset); err != nil {
			return err
		}
	}
	return nil
}
