package message

import (
	"fmt"

	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/wire"
)

// SequenceKey identifies a packet sequence. Each machine of a trace assigns its own ids.
type SequenceKey struct {
	Machine, ID uint32
}

// TracePacket decodes a TracePacket message (perfetto.md 2).
type TracePacket struct {
	Timestamp    uint64
	HasTimestamp bool
	ClockID      uint32 // 0: the default clock of the sequence
	Sequence     SequenceKey

	Cleared      bool // flag 1, or its old form: the state of the sequence is reset before this packet
	NeedsState   bool // flag 2
	Dropped      bool // packets before this one were lost
	InternedData []byte
	Defaults     []byte // nil if missing; not nil if empty

	ThreadTime    int64 // thread time of an instant, see weft_thread_time in the schema
	HasThreadTime bool

	ThreadTimeDelta    int64 // see weft_thread_time_delta in the schema
	HasThreadTimeDelta bool

	DidNotEnd bool   // see weft_did_not_end in the schema
	FlowSteps []byte // see weft_flow_steps in the schema: numbers, packed
	Levels    uint64 // see weft_levels in the schema
	Thread    uint64 // uuid; 0: missing; see weft_thread in the schema
	Mistyped  int    // number of one of these fields that has the wrong wire type and is ignored; 0: none

	// Payload is the number of the packet's payload field, Data its contents; 0: no payload. The payload is a oneof: the last
	// payload field wins.
	Payload int
	Data    []byte
	Idle    bool // a track event or sample of an idle thread: see weft_idle and weft_idle_sample in the schema
	Folded  bool // a track event that viewers skip: see weft_folded in the schema

	// Bundle is a compressed stream of packets, or nil if the packet is not a bundle. It takes precedence over the rest of the
	// packet.
	Bundle     []byte
	BundleZstd bool // the stream is compressed with zstd
}

// Parse decodes msg.
func (p *TracePacket) Parse(msg []byte) error {
	*p = TracePacket{}
	r := wire.NewReader(msg)
	for r.Next() {
		switch field := r.Field(); field {
		case schema.TracePacket_Timestamp:
			p.Timestamp, p.HasTimestamp = r.Uint(), true
		case schema.TracePacket_TrustedPacketSequenceID:
			p.Sequence.ID = uint32(r.Uint())
		case schema.TracePacket_InternedData:
			p.InternedData = r.Bytes()
		case schema.TracePacket_SequenceFlags:
			p.Cleared = p.Cleared || r.Uint()&schema.TracePacket_SeqIncrementalStateCleared != 0
			p.NeedsState = r.Uint()&schema.TracePacket_SeqNeedsIncrementalState != 0
		case schema.TracePacket_IncrementalStateCleared:
			p.Cleared = p.Cleared || r.Bool()
		case schema.TracePacket_PreviousPacketDropped:
			p.Dropped = r.Uint() != 0
		case schema.TracePacket_TimestampClockID:
			p.ClockID = uint32(r.Uint())
		case schema.TracePacket_TracePacketDefaults:
			p.Defaults = r.Bytes()
		case schema.TracePacket_MachineID:
			p.Sequence.Machine = uint32(r.Uint())
		case schema.TracePacket_TrustedUID, schema.TracePacket_TrustedPID, schema.TracePacket_FirstPacketOnSequence:
			// readers do not need these
		case schema.TracePacket_CompressedPackets, schema.TracePacket_ZstdCompressedPackets:
			p.Payload, p.Data = field, r.Bytes()
			if r.Type() == wire.Len {
				p.Bundle, p.BundleZstd = r.Bytes(), field == schema.TracePacket_ZstdCompressedPackets
			}
		case schema.TracePacket_WeftThreadTime, schema.TracePacket_WeftThreadTimeDelta, schema.TracePacket_WeftDidNotEnd,
			schema.TracePacket_WeftThread, schema.TracePacket_WeftLevels:
			p.parseNumber(&r)
		case schema.TracePacket_WeftFlowSteps:
			if p.FlowSteps = r.Bytes(); r.Type() != wire.Len {
				p.Mistyped = field
			}
		case schema.TracePacket_WeftFolded:
			if p.Payload, p.Data = field, r.Bytes(); r.Type() == wire.Len {
				p.Payload, p.Folded = schema.TracePacket_TrackEvent, true
			}
		case schema.TracePacket_WeftIdle:
			if p.Payload, p.Data = field, r.Bytes(); r.Type() == wire.Len {
				p.Payload, p.Idle = schema.TracePacket_TrackEvent, true
			}
		case schema.TracePacket_WeftIdleSample:
			if p.Payload, p.Data = field, r.Bytes(); r.Type() == wire.Len {
				p.Payload, p.Idle = schema.TracePacket_StackSample, true
			}
		default:
			p.Payload, p.Data = field, r.Bytes()
		}
	}
	return r.Err()
}

// parseNumber decodes one of weft's own varint fields.
func (p *TracePacket) parseNumber(r *wire.Reader) {
	if r.Type() != wire.Varint {
		p.Mistyped = r.Field()
		return
	}
	switch r.Field() {
	case schema.TracePacket_WeftThreadTime:
		p.ThreadTime, p.HasThreadTime = r.Int(), true
	case schema.TracePacket_WeftThreadTimeDelta:
		p.ThreadTimeDelta, p.HasThreadTimeDelta = r.Sint(), true
	case schema.TracePacket_WeftDidNotEnd:
		p.DidNotEnd = r.Bool()
	case schema.TracePacket_WeftThread:
		p.Thread = r.Uint()
	case schema.TracePacket_WeftLevels:
		p.Levels = r.Uint()
	}
}

// DescribesClocks reports whether the payload is of a type that does not advance an incremental clock despite a timestamp: a
// clock snapshot, service event or extension descriptor.
func (p *TracePacket) DescribesClocks() bool {
	return p.Payload == schema.TracePacket_ClockSnapshot || p.Payload == schema.TracePacket_ServiceEvent || p.Payload == schema.TracePacket_ExtensionDescriptor
}

// TracePacketDefaults decodes a TracePacketDefaults message: default values for events on a sequence.
type TracePacketDefaults struct {
	ClockID           uint32
	TrackUUID         uint64
	HasTrackUUID      bool
	ExtraTracks       []uint64 // as in TrackEvent
	ExtraDoubleTracks []uint64
	StackSample       []byte // a StackSampleDefaults
}

// Parse decodes msg.
func (d *TracePacketDefaults) Parse(msg []byte) error {
	*d = TracePacketDefaults{ExtraTracks: d.ExtraTracks[:0], ExtraDoubleTracks: d.ExtraDoubleTracks[:0]}
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Field() {
		case schema.TracePacketDefaults_TrackEventDefaults:
			if err := d.parseTrackEvent(r.Bytes()); err != nil {
				return fmt.Errorf("track_event_defaults: %w", err)
			}
		case schema.TracePacketDefaults_TimestampClockID:
			d.ClockID = uint32(r.Uint())
		case schema.TracePacketDefaults_StackSampleDefaults:
			d.StackSample = r.Bytes()
		}
	}
	return r.Err()
}

func (d *TracePacketDefaults) parseTrackEvent(msg []byte) error {
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Field() {
		case schema.TrackEventDefaults_TrackUUID:
			d.TrackUUID, d.HasTrackUUID = r.Uint(), true
		case schema.TrackEventDefaults_ExtraCounterTrackUUIDs:
			d.ExtraTracks = appendVarints(d.ExtraTracks, &r)
		case schema.TrackEventDefaults_ExtraDoubleCounterTrackUUIDs:
			d.ExtraDoubleTracks = appendVarints(d.ExtraDoubleTracks, &r)
		}
	}
	return r.Err()
}

// ClockSnapshot decodes a ClockSnapshot message.
type ClockSnapshot struct{ fields }

// Parse decodes msg.
func (s *ClockSnapshot) Parse(msg []byte) error { return s.parse(msg, schema.MessageClockSnapshot) }

// Clocks returns a list of encoded ClockReadings.
func (s *ClockSnapshot) Clocks() List     { return s.list(schema.ClockSnapshot_Clocks) }
func (s *ClockSnapshot) HasPrimary() bool { return s.has(schema.ClockSnapshot_PrimaryTraceClock) }
func (s *ClockSnapshot) PrimaryClock() uint32 {
	return uint32(s.uint(schema.ClockSnapshot_PrimaryTraceClock))
}

// ClockReading decodes a ClockSnapshot.Clock message.
type ClockReading struct{ fields }

// Parse decodes msg.
func (c *ClockReading) Parse(msg []byte) error { return c.parse(msg, schema.MessageClockSnapshotClock) }

func (c *ClockReading) ID() uint32       { return uint32(c.uint(schema.ClockSnapshotClock_ClockID)) }
func (c *ClockReading) Timestamp() int64 { return c.int(schema.ClockSnapshotClock_Timestamp) }

// IsWorkedOut reports whether weft computed the reading instead of reading a clock.
func (c *ClockReading) IsWorkedOut() bool { return c.has(schema.ClockSnapshotClock_WeftErrorNS) }
func (c *ClockReading) IsIncremental() bool {
	return c.uint(schema.ClockSnapshotClock_IsIncremental) != 0
}

// Multiplier returns the length of a unit in nanoseconds, or 1 if it is missing or invalid.
func (c *ClockReading) Multiplier() int64 {
	if m := c.int(schema.ClockSnapshotClock_UnitMultiplierNS); m > 0 {
		return m
	}
	return 1
}
