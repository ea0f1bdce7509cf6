package perfetto

import (
	"errors"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/pfwire/message"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/schema"
)

// lookahead delays packets that need information from later in the file:
//
//   - a later snapshot may define the clock of an event (perfetto.md 4);
//   - the descriptor of typed fields is near the end of Chrome's traces (observed).
//
// From the first such packet on, all packets wait, so that they are read in file order once the information is found.
// If the file lacks the information, the packets are read without it, and problems are counted. Waiting packets stay in
// memory up to maxLookahead bytes; further packets go to a temporary file.
type lookahead struct {
	reason  waitReason
	clock   pfwire.Clock // the missing clock, for waitClock
	gaveUp  [waitDescriptor + 1]bool
	rounds  int
	waiting *readers.Spool[waiting]   // nil: none
	spools  []*readers.Spool[waiting] // all, for close
}

// waiting is a waiting packet; the spool stores its bytes as the payload.
type waiting struct{ offset int64 }

var waitingForm = extsort.FormOf[waiting]()

type waitReason uint8

const (
	noWait waitReason = iota
	waitClock
	waitDescriptor
)

// Limits on lookahead. A trace has few clocks, so packets wait a few times at most.
const (
	maxLookahead       = 16 << 20
	maxLookaheadRounds = 16
)

// isTimed reports whether packets with the given payload need their time.
func isTimed(payload int) bool {
	switch payload {
	case schema.TracePacket_TrackEvent, schema.TracePacket_StreamingProfilePacket, schema.TracePacket_PerfSample, schema.TracePacket_StackSample:
		return true
	}
	return false
}

// mustWait returns the reason why the current packet must wait, or noWait.
func (r *reader) mustWait() waitReason {
	switch {
	case r.needsClock() && !r.ahead.gaveUp[waitClock]:
		return waitClock
	case r.needsDescriptor() && !r.ahead.gaveUp[waitDescriptor]:
		return waitDescriptor
	}
	return noWait
}

// needsClock reports whether the current packet is an event on a clock that only a later snapshot can define. Sequence
// clocks must be defined before their first use, so packets do not wait for them.
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

// wait adds a packet to the waiting packets. If the packet contains the missing information, wait reads all waiting
// packets.
func (r *reader) wait(p *pfwire.Packet) error {
	l, f := &r.ahead, p.Fields
	if l.waiting == nil {
		l.waiting = readers.NewSpool(r.memory, r.tempDir, waitingForm, func(*waiting) int64 { return 0 }) // in file order
		l.spools = append(l.spools, l.waiting)
	}
	if err := l.waiting.Add(&waiting{p.Offset}, p.Bytes); err != nil || p.Err != nil {
		return err
	}
	switch {
	case l.reason == waitClock && f.Payload == schema.TracePacket_ClockSnapshot:
		// Read only the clocks of the whole trace now; the sequence gets its own when the packet is read.
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

// release reads the packets that are still waiting at the end of the file.
func (r *reader) release() error {
	for r.ahead.reason != noWait {
		r.ahead.gaveUp[r.ahead.reason] = true
		if err := r.replay(); err != nil {
			return err
		}
	}
	return nil
}

// replay reads the waiting packets. A packet that must wait for something else starts a new queue.
func (r *reader) replay() error {
	l := &r.ahead
	if l.rounds++; l.rounds >= maxLookaheadRounds {
		l.gaveUp = [...]bool{waitClock: true, waitDescriptor: true}
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
