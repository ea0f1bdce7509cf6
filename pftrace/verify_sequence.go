package pftrace

import (
	"bytes"
	"errors"

	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/pfwire/message"
	"github.com/weft-trace/weft/internal/schema"
)

// verifySequence is the verifier's state for a packet sequence, in addition to pfwire.State.
type verifySequence struct {
	*pfwire.Sequence
	number  uint32 // index in verifyOrder.sequences
	started bool   // a packet had flag 1
	lost    bool   // a packet reported that earlier packets were dropped

	threaded       bool // Perfetto assigns its events to a thread
	threadReported bool

	folded pfwire.Folded

	// The track for events without a uuid, which Perfetto assigns to the sequence's thread.
	thread    uint32 // index in verifyTracks.list
	hasThread bool

	// Call stacks, frames and mappings checked since the last reset of the sequence, so that each is reported only once.
	checkedStacks, checkedFrames, checkedMappings map[uint64]bool
}

// packet checks one packet: its structure, the state of its sequence, its time, then its payload.
func (v *verifier) packet(p *pfwire.Packet) {
	v.fields = message.TracePacket{}
	if !v.checkStructure(p.Bytes) {
		return
	}
	v.fields = *p.Fields
	f := &v.fields
	seq := v.checkSequence()
	if seq != nil && !seq.Valid() && f.NeedsState {
		return // readers drop such packets
	}
	at, ok := v.packetTime(seq)
	switch f.Payload {
	case schema.TracePacket_ClockSnapshot:
		v.clockSnapshot(seq)
	case schema.TracePacket_RemoteClockSync:
		_, err := v.state.Clocks.Sync(f.Sequence.Machine, f.Data)
		v.parsed(err)
	case schema.TracePacket_TrackEvent:
		v.trackEvent(seq, at, ok)
	case schema.TracePacket_TrackDescriptor:
		v.trackDescriptor(seq)
	case schema.TracePacket_ProcessDescriptor:
		if pid := v.processID(f.Data); pid == 0 {
			v.found(ruleReservedID, "process descriptor: process id 0")
		}
	case schema.TracePacket_ThreadDescriptor:
		if pid, tid := v.thread(seq, f.Data); pid == 0 || tid == 0 {
			v.found(ruleReservedID, "thread descriptor: process id %d, thread id %d", pid, tid)
		}
	case schema.TracePacket_StreamingProfilePacket, schema.TracePacket_PerfSample, schema.TracePacket_StackSample:
		v.sample(seq, at, ok)
	case schema.TracePacket_TraceAttributes:
		v.traceAttributes()
	}
}

// parsed reports an error from the decoders that the verifier shares with the reader.
func (v *verifier) parsed(err error) {
	if err != nil {
		v.found(ruleMalformed, "%v", err)
	}
}

// isEventPayload reports whether a packet contains an event or a sample, which need a time and a sequence.
func isEventPayload(payload int) bool {
	switch payload {
	case schema.TracePacket_TrackEvent, schema.TracePacket_StreamingProfilePacket, schema.TracePacket_PerfSample,
		schema.TracePacket_StackSample:
		return true
	}
	return false
}

// checkSequence applies the packet's flags, defaults and interned data, and returns the packet's sequence, or nil if the packet
// has none.
func (v *verifier) checkSequence() *verifySequence {
	f := &v.fields
	hasData := len(f.InternedData) > 0 || f.Defaults != nil
	if f.Sequence.ID == 0 && (isEventPayload(f.Payload) || hasData) {
		v.found(ruleSequenceMissing, "packet with field %d", f.Payload)
	}
	state, err := v.state.Apply(f)
	if err != nil && !errors.Is(err, pfwire.ErrStateLost) {
		v.found(ruleMalformed, "%v", err)
	}
	if state == nil {
		return nil
	}
	seq := v.sequences[f.Sequence]
	if seq == nil {
		seq = &verifySequence{Sequence: state, number: v.order.addSequence(f.Sequence)}
		v.sequences[f.Sequence] = seq
	}
	switch {
	case f.Cleared:
		seq.started, seq.lost = true, false
		seq.checkedStacks, seq.checkedFrames, seq.checkedMappings = nil, nil, nil
	case f.Dropped:
		seq.lost = true
	}
	switch {
	case seq.Valid():
		v.internedData(seq)
	case !hasData && !f.NeedsState:
	case seq.lost:
		v.found(ruleStateLost, "sequence %d", f.Sequence.ID)
	default:
		v.found(ruleStateNotCleared, "sequence %d", f.Sequence.ID)
	}
	return seq
}

// internedData checks the entries that the packet defines. The first definition of an id is already in the tables.
func (v *verifier) internedData(seq *verifySequence) {
	d := message.NewInternedData(v.fields.InternedData)
	for d.Next() {
		if d.IID == 0 {
			v.found(ruleInternedZero, "entry of interned_data field %d", d.Kind)
			continue
		}
		if first, ok := seq.Interned.Text(d.Kind, d.IID); ok && !bytes.Equal(first, d.Entry) {
			v.found(ruleInternedRedefined, "id %d of interned_data field %d", d.IID, d.Kind)
		}
		switch d.Kind {
		case message.InternedCallstacks:
			v.checkCallstackMessage(nil, d.Entry)
		case message.InternedFrames:
			v.checkFrameMessage(d.Entry)
		}
	}
}

// useInterned checks that an id is defined and returns its entry. Id 0 means unset.
func (v *verifier) useInterned(seq *verifySequence, kind message.InternedKind, iid uint64) (entry []byte, ok bool) {
	if seq == nil || iid == 0 {
		return nil, false
	}
	entry, ok = seq.Interned.Text(kind, iid)
	if !ok {
		v.found(ruleInternedUndefined, "id %d of interned_data field %d", iid, kind)
	}
	return entry, ok
}

// packetTime returns the packet's trace time. ok is false if the time is missing or unusable. An unusable time is reported unless
// the packet needs no time.
func (v *verifier) packetTime(seq *verifySequence) (at int64, ok bool) {
	f := &v.fields
	if !f.HasTimestamp {
		return 0, false
	}
	var state *pfwire.Sequence
	if seq != nil {
		state = seq.Sequence
	}
	stamp, err := state.Stamp(f)
	if err == nil {
		at, err = v.state.Clocks.TraceTime(stamp)
	}
	switch {
	case err == nil:
		return at, true
	case f.DescribesClocks():
		// Such a packet may precede the snapshot for its clock, or be that snapshot.
	case errors.Is(err, pfwire.ErrTimeRange):
		if isEventPayload(f.Payload) {
			v.found(ruleTimestampRange, "timestamp %d", int64(f.Timestamp))
		}
	case pfwire.IsSequenceClock(stamp.Clock.ID):
		v.found(ruleClockUnknown, "clock %d of sequence %d", stamp.Clock.ID, f.Sequence.ID)
	default:
		v.found(ruleClockLate, "clock %d", stamp.Clock.ID)
	}
	return 0, false
}

// clockSnapshot checks the snapshot for incremental clocks and applies it.
func (v *verifier) clockSnapshot(seq *verifySequence) {
	var s message.ClockSnapshot
	v.parsed(s.Parse(v.fields.Data))
	for l := s.Clocks(); l.Next(); {
		var c message.ClockReading
		v.parsed(c.Parse(l.Bytes()))
		if c.IsIncremental() && !pfwire.IsSequenceClock(c.ID()) {
			v.found(ruleClockIncremental, "clock %d", c.ID())
		}
		if seq == nil && pfwire.IsSequenceClock(c.ID()) {
			v.found(ruleSequenceMissing, "snapshot of clock %d", c.ID())
			return
		}
	}
	var state *pfwire.Sequence
	if seq != nil {
		state = seq.Sequence
	}
	v.parsed(v.state.Clocks.Snapshot(state, v.fields.Sequence.Machine, v.fields.Data))
}

// traceAttributes searches for the attribute that identifies packets written by weft.
func (v *verifier) traceAttributes() {
	var all message.TraceAttributes
	v.parsed(all.Parse(v.fields.Data))
	for l := all.Attributes(); l.Next(); {
		var a message.Attribute
		if v.parsed(a.Parse(l.Bytes())); string(a.Key()) != pfwire.AttributeVersion {
			continue
		}
		v.report.Producer = string(a.Text())
		if v.fields.Sequence.ID == 0 {
			v.ownAll = true
		} else {
			v.own[v.fields.Sequence] = true
		}
	}
}
