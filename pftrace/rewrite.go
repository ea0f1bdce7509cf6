package pftrace

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/weft-trace/weft/internal/wire"
	"github.com/weft-trace/weft/timeline"
)

// Rewrite copies a trace packet by packet and adds to it (spec perfetto.md 16). What it does not change stays byte for
// byte, what it does not understand included; packets in bundles come into bundles of the same codec. Places where no
// packet can be read are left out.
type Rewrite struct {
	// Notes gives the debug annotations that track events get, in the order of their packets, and false at the end. nil:
	// there are none.
	Notes func(*PacketNote) (bool, error)
	// IsNote says of an encoded debug annotation of a track event that an earlier Rewrite has added it: it is left out.
	// nil: there are none.
	IsNote func(annotation []byte) bool
	// Drop is the sequence that an earlier Rewrite has appended, which is left out; 0: there is none.
	Drop uint32
	// Append adds packets behind those of the input. nil: there are none.
	Append func(*Appender) error
	// Clock is the clock of the times that Append gives.
	Clock timeline.Clock
}

// PacketNote is what the track event of a packet gets.
type PacketNote struct {
	Packet      int64  // its Packet.Index
	Annotations []byte // encoded debug_annotations fields, with names and texts as they are: iids belong to others
}

// Run copies the trace in src, which must not be compressed as a whole, to dst. The error is one of either, of the
// functions, or ctx's.
func (rw *Rewrite) Run(ctx context.Context, dst io.Writer, src io.Reader) error {
	c := &copier{rw: rw, dst: dst}
	if err := c.nextNote(); err != nil {
		return err
	}
	packets := NewPacketReader(src)
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		p, err := packets.Next()
		if err == io.EOF {
			break
		}
		if bad := (*PacketError)(nil); errors.As(err, &bad) {
			continue
		}
		if err != nil {
			return err
		}
		if err := c.packet(&p); err != nil {
			return err
		}
	}
	if rw.Append != nil {
		a := &Appender{copier: c, sequence: c.lastSequence + 1, clock: rw.Clock}
		if err := a.begin(); err != nil {
			return err
		}
		if err := rw.Append(a); err != nil {
			return err
		}
	}
	return c.flush()
}

// copier writes packets, in bundles where they came in bundles.
type copier struct {
	rw   *Rewrite
	dst  io.Writer
	out  *bundler
	in   Codec // of out
	note PacketNote
	have bool // note is valid

	lastSequence uint32
	event        []byte
	body         []byte
}

func (c *copier) nextNote() (err error) {
	c.have = false
	if c.rw.Notes != nil {
		c.have, err = c.rw.Notes(&c.note)
	}
	return err
}

// packet copies a packet.
func (c *copier) packet(p *Packet) error {
	body := p.Bytes
	sequence := sequenceOf(body)
	if c.rw.Drop != 0 && sequence == c.rw.Drop {
		return nil
	}
	c.lastSequence = max(c.lastSequence, sequence)
	for c.have && c.note.Packet < p.Index {
		if err := c.nextNote(); err != nil {
			return err
		}
	}
	var note []byte
	if c.have && c.note.Packet == p.Index {
		note = c.note.Annotations
	}
	if note != nil || c.rw.IsNote != nil {
		body = c.annotate(body, note)
	}
	return c.write(body, p.Bundle.Codec)
}

// sequenceOf returns the sequence of a packet, 0 if it has none.
func sequenceOf(packet []byte) (id uint32) {
	for r := wire.NewReader(packet); r.Next(); {
		if r.Field() == packetSequenceID {
			id = uint32(r.Uint())
		}
	}
	return id
}

// annotate returns a packet whose track event has a note, and none of an earlier Rewrite. Of several track events the
// last one counts.
func (c *copier) annotate(packet, note []byte) []byte {
	at := -1
	var raw, event []byte
	r := wire.NewReader(packet)
	for r.Next() {
		if r.Field() == packetTrackEvent {
			at, raw, event = int(r.Offset()), r.Raw(), r.Bytes()
		}
	}
	if at < 0 || r.Err() != nil {
		return packet
	}
	c.event = c.event[:0]
	from, changed := 0, note != nil
	if c.rw.IsNote != nil {
		for r := wire.NewReader(event); r.Next(); {
			if r.Field() == eventDebugAnnotation && c.rw.IsNote(r.Bytes()) {
				c.event = append(c.event, event[from:r.Offset()]...)
				from, changed = int(r.Offset())+len(r.Raw()), true
			}
		}
	}
	if !changed {
		return packet
	}
	c.event = append(append(c.event, event[from:]...), note...)
	const tag = packetTrackEvent<<3 | wire.Len
	width := len(raw) - len(event) - 1 // of the length, for which some producers reserve room
	c.body = append(append(c.body[:0], packet[:at]...), tag)
	c.body = append(appendLength(c.body, len(c.event), width), c.event...)
	c.body = append(c.body, packet[at+len(raw):]...)
	return c.body
}

// appendLength appends a length in at least width bytes.
func appendLength(b []byte, length, width int) []byte {
	v := uint64(length)
	for n := 1; v >= 0x80 || n < width; n++ {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

// write writes a packet into a bundle of a codec, or as it is.
func (c *copier) write(body []byte, codec Codec) error {
	if codec == Gzip {
		codec = Zlib // both are deflate; weft writes the form that Perfetto itself writes
	}
	if c.out == nil || c.in != codec {
		if err := c.flush(); err != nil {
			return err
		}
		c.in = codec
		c.out = newBundler(codec, func(b []byte) ([]byte, error) {
			_, err := c.dst.Write(b)
			return b, err
		})
	}
	c.out.buf = wire.AppendBytes(c.out.buf, tracePacket, body)
	return c.out.packetDone()
}

func (c *copier) flush() error {
	if c.out == nil {
		return nil
	}
	return c.out.flush()
}

// Appender adds packets behind those of a trace, on a sequence of their own.
type Appender struct {
	*copier
	sequence uint32
	clock    timeline.Clock
	uuid     uint64
	packet   []byte
}

// firstAppendedUUID is where the uuids of appended tracks begin: others are random numbers or small ones.
const firstAppendedUUID = 0x77656674_00000000

// Sequence returns the id of the sequence, for Rewrite.Drop.
func (a *Appender) Sequence() uint32 { return a.sequence }

// head begins a packet of the sequence.
func (a *Appender) head(flags uint64) []byte {
	b := wire.AppendUint(a.packet[:0], packetSequenceID, uint64(a.sequence))
	if flags != 0 {
		b = wire.AppendUint(b, packetSequenceFlags, flags)
	}
	return b
}

func (a *Appender) done(b []byte) error {
	a.packet = b
	return a.write(b, a.in)
}

// begin writes the packet with which the sequence starts.
func (a *Appender) begin() error { return a.done(a.head(bitCleared)) }

// Attributes adds facts about the trace.
func (a *Appender) Attributes(list []timeline.Attribute) error {
	if err := a.done(appendAttributes(a.head(0), list)); err != nil {
		return err
	}
	return a.done(appendChromeMetadata(a.head(0), list))
}

// Thread adds a track that stands for a thread, to be the parent of others, and returns its uuid.
func (a *Appender) Thread(pid int32, tid int64) (uint64, error) {
	a.uuid++
	b, d := wire.BeginMessage(a.head(0), packetDescriptor)
	b = wire.AppendUint(b, descriptorUUID, firstAppendedUUID+a.uuid)
	b, th := wire.BeginMessage(b, descriptorThread)
	b = wire.AppendInt(b, threadPID, int64(pid))
	b = wire.AppendInt(b, threadTID, tid)
	return firstAppendedUUID + a.uuid, a.done(wire.EndMessage(wire.EndMessage(b, th), d))
}

// Track adds a track below another one, or below none with 0, and returns its uuid.
func (a *Appender) Track(parent uint64, name string) (uint64, error) {
	a.uuid++
	b, d := wire.BeginMessage(a.head(0), packetDescriptor)
	b = wire.AppendUint(b, descriptorUUID, firstAppendedUUID+a.uuid)
	if parent != 0 {
		b = wire.AppendUint(b, descriptorParent, parent)
	}
	b = wire.AppendString(b, descriptorName, name)
	return firstAppendedUUID + a.uuid, a.done(wire.EndMessage(b, d))
}

// Event adds an event to a track. Its Args have names and texts as they are; the Track and the Name of it do not count.
func (a *Appender) Event(track uint64, name string, e *timeline.OverlayEvent) error {
	if int(e.Kind) >= len(eventTypes) {
		return fmt.Errorf("an item of kind %d is no event", e.Kind)
	}
	b := wire.AppendUint(a.head(0), packetTimestamp, uint64(e.TS))
	if a.clock != 0 && a.clock != timeline.ClockBoottime {
		b = wire.AppendUint(b, packetClockID, uint64(a.clock))
	}
	b, event := wire.BeginMessage(b, packetTrackEvent)
	b = wire.AppendUint(b, eventType, eventTypes[e.Kind])
	b = wire.AppendUint(b, eventTrackUUID, track)
	if e.Kind != timeline.ItemEnd {
		b = wire.AppendString(b, eventName, name)
		b = append(b, e.Args...)
		if e.Correlation != "" {
			b = wire.AppendString(b, eventCorrelation, e.Correlation)
		}
	}
	return a.done(wire.EndMessage(b, event))
}

// packetClockID is TracePacket.timestamp_clock_id.
const packetClockID = 58
