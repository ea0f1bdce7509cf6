package pfwire

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/weft-trace/weft/internal/pfwire/message"
)

// ErrStateLost means that a packet needs state of its sequence that was lost. Such a packet must be dropped.
var ErrStateLost = errors.New("the state of the sequence is lost")

// maxSequences limits the number of sequences with state. A trace has one for each thread that writes.
const maxSequences = 1 << 20

// State is the state of all packet sequences, and of the clocks, after the packets read so far.
type State struct {
	Clocks Clocks
	// Hold is called with changes in the memory used for sequences, in bytes. nil: not called.
	Hold      func(n int)
	sequences map[message.SequenceKey]*Sequence
	latest    *Sequence // nil before the first one
}

// NewState returns the state at the start of a trace.
func NewState() *State {
	return &State{sequences: make(map[message.SequenceKey]*Sequence)}
}

// Apply updates the state of the packet's sequence: first flags, then defaults, then interned data. It returns the sequence for
// decoding the payload, or nil for a packet without a sequence id. After ErrStateLost the packet must be dropped; other errors
// mean that a part of the packet cannot be parsed.
func (s *State) Apply(f *message.TracePacket) (*Sequence, error) {
	if f.Sequence.ID == 0 {
		return nil, nil
	}
	seq, err := s.sequence(f.Sequence)
	if err != nil {
		return nil, err
	}
	// Chrome sets both flags on the first packet of a sequence: the reset wins.
	switch {
	case f.Cleared:
		s.hold(-seq.Interned.bytes)
		seq.clear()
	case f.Dropped:
		seq.valid = false
	}
	if f.NeedsState && !seq.valid {
		return seq, ErrStateLost
	}
	if f.Defaults != nil {
		var d message.TracePacketDefaults
		if err := d.Parse(f.Defaults); err != nil { // the earlier defaults stay
			return seq, fmt.Errorf("trace_packet_defaults: %w", err)
		}
		d.StackSample = bytes.Clone(d.StackSample)
		seq.Defaults = d
	}
	if len(f.InternedData) > 0 && seq.valid {
		before := seq.Interned.bytes
		err := seq.Interned.define(f.InternedData)
		s.hold(seq.Interned.bytes - before)
		if err != nil {
			return seq, fmt.Errorf("interned_data: %w", err)
		}
	}
	return seq, nil
}

// sequence returns the sequence with the given key.
func (s *State) sequence(key message.SequenceKey) (*Sequence, error) {
	if s.latest != nil && s.latest.Key == key {
		return s.latest, nil
	}
	seq, ok := s.sequences[key]
	if !ok {
		if len(s.sequences) >= maxSequences {
			return nil, fmt.Errorf("more than %d packet sequences", maxSequences)
		}
		seq = newSequence(key)
		s.sequences[key] = seq
		s.hold(sequenceBytes)
	}
	s.latest = seq
	return seq, nil
}

// sequenceBytes is the estimated memory of a sequence, including what readers store for it.
const sequenceBytes = 640

func (s *State) hold(n int) {
	if s.Hold != nil {
		s.Hold(n)
	}
}

// Sequence is the state of one packet sequence.
type Sequence struct {
	Key      message.SequenceKey
	Interned *Interned // replaced, never cleared, when the sequence is reset
	Defaults message.TracePacketDefaults
	Thread   SequenceThread

	valid    bool
	clocks   []*sequenceClock // by id, from firstSequenceClock on
	counters map[uint64]*accumulator
}

// SequenceThread is the thread that writes a sequence, as given by its last thread descriptor. It survives a reset of the
// sequence.
type SequenceThread struct {
	Known    bool
	PID      int32
	TID      int64
	TimeUS   int64 // base of timestamp_delta_us
	CPUUS    int64 // base of thread_time_delta_us
	SampleUS int64 // base of deltas in streaming profile packets
}

func newSequence(key message.SequenceKey) *Sequence {
	return &Sequence{Key: key, Interned: new(Interned)}
}

// clear resets everything except the thread and the clocks, which a producer may have described earlier. The tables are replaced
// rather than cleared, because events that wait for a clock still need the old ones.
func (s *Sequence) clear() {
	*s = Sequence{Key: s.Key, Interned: new(Interned), Thread: s.Thread, clocks: s.clocks, valid: true}
}

// Valid reports whether the state is complete: the sequence was reset, and nothing has been lost since.
func (s *Sequence) Valid() bool { return s.valid }

// SetThread sets the thread that writes the sequence, from a thread_descriptor packet or a track descriptor on the sequence.
func (s *Sequence) SetThread(d *message.ThreadDescriptor) {
	t := &s.Thread
	t.Known, t.PID, t.TID = true, d.PID(), d.TID()
	if d.HasTime() { // a repeated descriptor without reference times does not reset the clock
		t.TimeUS, t.SampleUS = d.TimeUS(), d.TimeUS()
	}
	if d.HasThreadTime() {
		t.CPUUS = d.ThreadTimeUS()
	}
}

// accumulator is the running value of an incremental counter.
type accumulator struct {
	whole   int64
	decimal float64
}

func (s *Sequence) accumulator(uuid uint64) *accumulator {
	a := s.counters[uuid]
	if a == nil {
		if s.counters == nil {
			s.counters = make(map[uint64]*accumulator)
		}
		a = new(accumulator)
		s.counters[uuid] = a
	}
	return a
}

// AddInt adds delta to the running value of the incremental counter with this track uuid and returns the sum. Values restart at 0
// when the sequence is reset.
func (s *Sequence) AddInt(uuid uint64, delta int64) int64 {
	a := s.accumulator(uuid)
	a.whole += delta
	return a.whole
}

// AddDouble is like AddInt, but for counters with floating-point values.
func (s *Sequence) AddDouble(uuid uint64, delta float64) float64 {
	a := s.accumulator(uuid)
	a.decimal += delta
	return a.decimal
}
