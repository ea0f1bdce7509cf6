package perfetto

import (
	"bufio"
	"encoding/binary"
	"io"
	"os"

	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/pfwire/message"
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
	waiting spool
	active  []*spool // being read; more than one if waiting began again while waiting packets were read
}

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
	if err := l.waiting.add(p.Bytes, p.Offset, r.memory, r.tempDir); err != nil || p.Err != nil {
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
	l.waiting, l.reason = spool{}, noWait
	l.active = append(l.active, &packets)
	err := packets.read(func(packet []byte, offset int64) error {
		if err := r.interrupted(); err != nil {
			return err
		}
		var fields message.TracePacket
		p := pfwire.Packet{Bytes: packet, Offset: offset, Fields: &fields, Err: fields.Parse(packet)}
		return r.packet(&p)
	})
	l.active = l.active[:len(l.active)-1]
	if closeErr := packets.close(); err == nil {
		err = closeErr
	}
	return err
}

// close removes the temporary files.
func (l *lookahead) close() {
	l.waiting.close()
	for _, s := range l.active {
		s.close()
	}
}

// spool is a queue of packets, in memory first, then in a temporary file.
type spool struct {
	buf  []byte
	file *os.File
}

// add appends a packet: its length and offset, then its bytes. More than memory bytes go to a file in dir.
func (s *spool) add(packet []byte, offset int64, memory int, dir string) error {
	s.buf = binary.LittleEndian.AppendUint64(s.buf, uint64(len(packet)))
	s.buf = binary.LittleEndian.AppendUint64(s.buf, uint64(offset))
	s.buf = append(s.buf, packet...)
	if len(s.buf) < memory {
		return nil
	}
	if s.file == nil {
		f, err := os.CreateTemp(dir, "weft-packets-*")
		if err != nil {
			return err
		}
		s.file = f
		// Where the system allows it the name goes at once, so that not even a kill leaves the file behind.
		os.Remove(f.Name())
	}
	_, err := s.file.Write(s.buf)
	s.buf = s.buf[:0]
	return err
}

// read gives the packets in the order of add. Their bytes are valid during the call.
func (s *spool) read(fn func(packet []byte, offset int64) error) error {
	if s.file != nil {
		if _, err := s.file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		if err := readSpooled(bufio.NewReaderSize(s.file, 1<<20), fn); err != nil {
			return err
		}
	}
	for b := s.buf; len(b) > 0; {
		end := 16 + binary.LittleEndian.Uint64(b)
		if err := fn(b[16:end:end], int64(binary.LittleEndian.Uint64(b[8:]))); err != nil {
			return err
		}
		b = b[end:]
	}
	return nil
}

func readSpooled(src io.Reader, fn func(packet []byte, offset int64) error) error {
	var head [16]byte
	var packet []byte
	for {
		if _, err := io.ReadFull(src, head[:]); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		size := int(binary.LittleEndian.Uint64(head[:]))
		if size > cap(packet) {
			packet = make([]byte, size)
		}
		packet = packet[:size]
		if _, err := io.ReadFull(src, packet); err != nil {
			return err
		}
		if err := fn(packet, int64(binary.LittleEndian.Uint64(head[8:]))); err != nil {
			return err
		}
	}
}

func (s *spool) close() error {
	if s.file == nil {
		return nil
	}
	name := s.file.Name()
	err := s.file.Close()
	s.file = nil
	os.Remove(name) // fails if that was possible before
	return err
}
