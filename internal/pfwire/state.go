package pfwire

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/weft-trace/weft/internal/pfwire/message"
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/wire"
)

// PacketFields are the fields of one TracePacket that a reader needs before it looks at the payload
// (perfetto.md 2). Its byte slices are parts of the packet.
type PacketFields struct {
	Timestamp    uint64
	HasTimestamp bool
	ClockID      uint32 // 0: the default clock of the sequence
	Sequence     SequenceKey

	Cleared      bool // flag 1, or its old form: the sequence starts anew with this packet
	NeedsState   bool // flag 2
	Dropped      bool // packets before this one were lost
	InternedData []byte
	Defaults     []byte // nil if the packet has none; not nil if they are empty

	// Payload is the number of the field that says what the packet is, Data its content; 0 if there is none. The
	// payload is a oneof: of several the last one counts.
	Payload int
	Data    []byte
}

// SequenceKey identifies a packet sequence. Sequence ids are given out by each machine of a trace for itself.
type SequenceKey struct {
	Machine, ID uint32
}

// Parse reads the fields of packet. Of a field that comes twice the last one counts, as in Perfetto.
func (f *PacketFields) Parse(packet []byte) error {
	*f = PacketFields{}
	r := wire.NewReader(packet)
	for r.Next() {
		switch field := r.Field(); field {
		case schema.TracePacket_Timestamp:
			f.Timestamp, f.HasTimestamp = r.Uint(), true
		case schema.TracePacket_TrustedPacketSequenceID:
			f.Sequence.ID = uint32(r.Uint())
		case schema.TracePacket_InternedData:
			f.InternedData = r.Bytes()
		case schema.TracePacket_SequenceFlags:
			f.Cleared = f.Cleared || r.Uint()&schema.TracePacket_SeqIncrementalStateCleared != 0
			f.NeedsState = r.Uint()&schema.TracePacket_SeqNeedsIncrementalState != 0
		case schema.TracePacket_IncrementalStateCleared:
			f.Cleared = f.Cleared || r.Bool()
		case schema.TracePacket_PreviousPacketDropped:
			f.Dropped = r.Uint() != 0
		case schema.TracePacket_TimestampClockID:
			f.ClockID = uint32(r.Uint())
		case schema.TracePacket_TracePacketDefaults:
			f.Defaults = r.Bytes()
		case schema.TracePacket_MachineID:
			f.Sequence.Machine = uint32(r.Uint())
		case schema.TracePacket_TrustedUID, schema.TracePacket_TrustedPID, schema.TracePacket_FirstPacketOnSequence:
			// nothing that a reader acts on
		default:
			f.Payload, f.Data = field, r.Bytes()
		}
	}
	return r.Err()
}

// ErrStateLost says that a packet needs state of its sequence that was lost before it. Such a packet must be dropped.
var ErrStateLost = errors.New("the state of the sequence is lost")

// maxSequences bounds the number of sequences whose state is kept. A trace has one for each thread that writes.
const maxSequences = 1 << 20

// State is what the packets read so far say about those that follow: the state of every packet sequence, and the
// clocks.
type State struct {
	Clocks    Clocks
	sequences map[SequenceKey]*Sequence
}

// NewState returns the state at the start of a trace.
func NewState() *State {
	return &State{sequences: make(map[SequenceKey]*Sequence)}
}

// Apply brings the state of the packet's sequence up to date with the packet: first flags, then defaults, then interned
// data. It returns the sequence, in whose state the payload is to be read; nil for a packet without sequence id.
// The error ErrStateLost says that the packet is to be dropped; other errors that a part of it cannot be parsed.
func (s *State) Apply(f *PacketFields) (*Sequence, error) {
	if f.Sequence.ID == 0 {
		return nil, nil
	}
	seq, ok := s.sequences[f.Sequence]
	if !ok {
		if len(s.sequences) >= maxSequences {
			return nil, fmt.Errorf("more than %d packet sequences", maxSequences)
		}
		seq = newSequence(f.Sequence)
		s.sequences[f.Sequence] = seq
	}
	// Chrome sets both flags on the first packet of a sequence: the new start wins.
	switch {
	case f.Cleared:
		seq.clear()
	case f.Dropped:
		seq.valid = false
	}
	if f.NeedsState && !seq.valid {
		return seq, ErrStateLost
	}
	if f.Defaults != nil {
		if err := seq.setDefaults(f.Defaults); err != nil {
			return seq, fmt.Errorf("trace_packet_defaults: %w", err)
		}
	}
	if len(f.InternedData) > 0 && seq.valid {
		if err := seq.Interned.define(f.InternedData); err != nil {
			return seq, fmt.Errorf("interned_data: %w", err)
		}
	}
	return seq, nil
}

// Sequence is the state of one packet sequence.
type Sequence struct {
	Key      SequenceKey
	Interned *Interned // replaced, never emptied, when the sequence starts anew
	Defaults Defaults
	Thread   SequenceThread

	valid    bool
	clocks   map[uint32]*sequenceClock
	counters map[uint64]*accumulator
}

// Defaults are the values that events of a sequence have unless they say otherwise (trace_packet_defaults).
type Defaults struct {
	ClockID             uint32
	TrackUUID           uint64
	HasTrackUUID        bool
	ExtraCounters       []uint64 // extra_counter_track_uuids
	ExtraDoubleCounters []uint64 // extra_double_counter_track_uuids
	StackSample         []byte   // an encoded StackSampleDefaults
}

// SequenceThread is the thread that wrote a sequence, as its last thread descriptor says. It outlives a new start of the
// sequence's other state.
type SequenceThread struct {
	Known    bool
	PID      int32
	TID      int64
	TimeUS   int64 // what timestamp_delta_us adds to
	CPUUS    int64 // what thread_time_delta_us adds to
	SampleUS int64 // what the deltas of streaming profile packets add to
}

func newSequence(key SequenceKey) *Sequence {
	return &Sequence{Key: key, Interned: new(Interned)}
}

// clear forgets everything but the thread and the clocks, which a producer may have described before. The tables are
// replaced, not emptied, because events that wait for a clock still need the old ones.
func (s *Sequence) clear() {
	*s = Sequence{Key: s.Key, Interned: new(Interned), Thread: s.Thread, clocks: s.clocks, valid: true}
}

// Valid reports whether the state is complete: the sequence has started, and nothing was lost since.
func (s *Sequence) Valid() bool { return s.valid }

func (s *Sequence) setDefaults(msg []byte) error {
	d := Defaults{}
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Field() {
		case schema.TracePacketDefaults_TrackEventDefaults:
			if err := d.setTrackEvent(r.Bytes()); err != nil {
				return err
			}
		case schema.TracePacketDefaults_TimestampClockID:
			d.ClockID = uint32(r.Uint())
		case schema.TracePacketDefaults_StackSampleDefaults:
			d.StackSample = bytes.Clone(r.Bytes())
		}
	}
	s.Defaults = d
	return r.Err()
}

func (d *Defaults) setTrackEvent(msg []byte) error {
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Field() {
		case schema.TrackEventDefaults_TrackUUID:
			d.TrackUUID, d.HasTrackUUID = r.Uint(), true
		case schema.TrackEventDefaults_ExtraCounterTrackUUIDs:
			d.ExtraCounters = message.AppendVarints(d.ExtraCounters, &r)
		case schema.TrackEventDefaults_ExtraDoubleCounterTrackUUIDs:
			d.ExtraDoubleCounters = message.AppendVarints(d.ExtraDoubleCounters, &r)
		}
	}
	return r.Err()
}

// SetThread takes over a ThreadDescriptor: that of a thread_descriptor packet or of a track descriptor of the sequence.
func (s *Sequence) SetThread(msg []byte) error {
	t := s.Thread // a descriptor that is repeated without reference times does not turn the clock back
	t.Known, t.PID, t.TID = true, 0, 0
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Field() {
		case schema.ThreadDescriptor_PID:
			t.PID = int32(r.Uint())
		case schema.ThreadDescriptor_TID:
			t.TID = r.Int()
		case schema.ThreadDescriptor_ReferenceTimestampUS:
			t.TimeUS, t.SampleUS = r.Int(), r.Int()
		case schema.ThreadDescriptor_ReferenceThreadTimeUS:
			t.CPUUS = r.Int()
		}
	}
	s.Thread = t
	return r.Err()
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

// AddInt adds delta to the running value of the incremental counter with this track uuid and returns it. The values
// start at 0 when the sequence starts anew.
func (s *Sequence) AddInt(uuid uint64, delta int64) int64 {
	a := s.accumulator(uuid)
	a.whole += delta
	return a.whole
}

// AddDouble is AddInt for counters with decimal values.
func (s *Sequence) AddDouble(uuid uint64, delta float64) float64 {
	a := s.accumulator(uuid)
	a.decimal += delta
	return a.decimal
}
