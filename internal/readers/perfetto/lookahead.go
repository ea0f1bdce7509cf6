package perfetto

import (
	"errors"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/pfwire/message"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/schema"
)

// lookahead holds packets back that cannot be read yet because what explains them comes later in the file:
//
//   - the clock of an event may be described by a later snapshot (perfetto.md 4);
//   - the descriptor of typed fields is near the end of the traces that Chrome writes (observed).
//
// From the first such packet on all packets wait, so that they are read in file order once the explanation is found. If
// the file has none, they are read without it, and what remains unexplained is counted. Waiting packets lie in memory
// up to maxLookahead, beyond it in a temporary file.
type lookahead struct {
	reason  waitReason
	clock   pfwire.Clock // for waitClock
	over    [waitDescriptor + 1]bool
	rounds  int
	waiting *readers.Spool[waiting]   // nil: no packet waits
	spools  []*readers.Spool[waiting] // all that there were
}

// waiting is a packet that waits, which is the payload in the spool.
type waiting struct{ offset int64 }

var waitingForm = extsort.FormOf[waiting]()

type waitReason uint8

const (
	noWait waitReason = iota
	waitClock
	waitDescriptor
)

// Limits of lookahead. One trace has few clocks, so the reader waits a few times at most.
const (
	maxLookahead       = 16 << 20
	maxLookaheadRounds = 16
)

// isTimed reports whether the time of a payload matters.
func isTimed(payload int) bool {
	switch payload {
	case schema.TracePacket_TrackEvent, schema.TracePacket_StreamingProfilePacket, schema.TracePacket_PerfSample, schema.TracePacket_StackSample:
		return true
	}
	return false
}

// mustWait returns what the current packet has to wait for.
func (r *reader) mustWait() waitReason {
	switch {
	case r.needsClock() && !r.ahead.over[waitClock]:
		return waitClock
	case r.needsDescriptor() && !r.ahead.over[waitDescriptor]:
		return waitDescriptor
	}
	return noWait
}

// needsClock reports whether the current packet is an event in a clock that only a later snapshot can explain. A clock
// that belongs to a sequence has to be described before its first use and is never waited for.
func (r *reader) needsClock() bool {
	if !r.fields.HasTimestamp || !isTimed(r.fields.Payload) {
		return false
	}
	clock, ok := r.seq.Clock(r.fields)
	if !ok || r.state.Clocks.Knows(clock) {
		return false
	}
	r.ahead.clock = clock
	return true
}

// needsDescriptor reports whether the current packet has typed fields, or interns the type names of typed annotations,
// before their descriptor.
func (r *reader) needsDescriptor() bool {
	if r.extensions.messages != nil {
		return false
	}
	if r.fields.Payload == schema.TracePacket_TrackEvent {
		for _, t := range r.ev.Other {
			if t.Number >= firstExtension && t.Number <= lastExtension {
				return true
			}
		}
	}
	if len(r.fields.InternedData) == 0 {
		return false
	}
	types := message.InternedOf(r.fields.InternedData, message.InternedValueTypeNames)
	return types.Next()
}

// wait lets a packet wait, unless it is the explanation that the others wait for.
func (r *reader) wait(p *pfwire.Packet) error {
	l, f := &r.ahead, p.Fields
	if l.waiting == nil {
		l.waiting = readers.NewSpool(r.memory, r.tempDir, waitingForm, func(*waiting) int64 { return 0 }) // in the order of the file
		l.spools = append(l.spools, l.waiting)
	}
	if err := l.waiting.Add(&waiting{p.Offset}, p.Bytes); err != nil || p.Err != nil {
		return err
	}
	switch {
	case l.reason == waitClock && f.Payload == schema.TracePacket_ClockSnapshot:
		// Only the clocks of the whole trace are taken from the snapshot now; the sequence gets its own in its turn.
		if r.state.Clocks.Snapshot(nil, f.Sequence.Machine, f.Data) != nil || !r.state.Clocks.Knows(l.clock) {
			return nil
		}
	case l.reason == waitDescriptor && f.Payload == schema.TracePacket_ExtensionDescriptor:
		if set, err := descriptorSet(f.Data); err != nil || r.extensions.add(set) != nil {
			return nil
		}
	default:
		return nil
	}
	return r.replay()
}

// release is called at the end of the file: packets that still wait are read without an explanation.
func (r *reader) release() error {
	for r.ahead.reason != noWait {
		r.ahead.over[r.ahead.reason] = true
		if err := r.replay(); err != nil {
			return err
		}
	}
	return nil
}

// replay reads the packets that wait. A packet among them that has to wait for something else starts a new queue.
func (r *reader) replay() error {
	l := &r.ahead
	if l.rounds++; l.rounds >= maxLookaheadRounds {
		l.over = [...]bool{waitClock: true, waitDescriptor: true}
	}
	packets := l.waiting
	l.waiting, l.reason = nil, noWait
	err := packets.Each(func(w *waiting, packet []byte) error {
		if err := r.interrupted(); err != nil {
			return err
		}
		var fields message.TracePacket
		return r.packet(&pfwire.Packet{Bytes: packet, Offset: w.offset, Fields: &fields, Err: fields.Parse(packet)})
	})
	return errors.Join(err, packets.Close())
}

// close removes the temporary files.
func (l *lookahead) close() {
	for _, s := range l.spools {
		s.Close()
	}
}
