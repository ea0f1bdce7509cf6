package pfwire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/weft-trace/weft/internal/pfwire/message"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/wire"
)

// Rewrite copies a trace packet by packet and adds to it. Everything that it does not change stays identical, even data that it
// does not understand. Packets from bundles go into new bundles with the same codec (zlib for gzip), which are filled anew, so
// that additions by an earlier Rewrite leave no trace. Unreadable packets, and parts of packets that cannot be parsed, are
// dropped.
type Rewrite struct {
	// Notes returns the debug annotations to add to track events, in packet order, and false at the end. nil: none.
	Notes func(*PacketNote) (bool, error)
	// FindNote receives the encoded debug annotations of a track event. It returns the index of the annotation that an earlier
	// Rewrite added and that must be dropped, or -1. It is not called for events that end a slice. nil: no annotation is dropped.
	FindNote func(annotations [][]byte) int
	// Marker is the key of the attribute that identifies appended packets: the first appended packet has the attribute, with the
	// id of its sequence as the value. Packets that an earlier Rewrite appended are dropped: the packet with the attribute, and
	// the following packets up to a packet on another sequence. "": no packets are marked or dropped.
	Marker string
	// Append adds packets after the input's, on a sequence that the input does not use. nil: none.
	Append func(*Appender) error
	// Clock is the clock of the times used by Append.
	Clock timeline.Clock
	// Problems counts packets with parts that cannot be parsed, unless the reader of the trace counted them, and packets that
	// became too large and were shortened. nil: they are not counted.
	Problems *problem.Log
}

// PacketNote is an addition to a packet's track event.
type PacketNote struct {
	Packet      int64  // index of the packet among the readable packets
	Annotations []byte // encoded debug_annotations fields with inline names and texts: iids belong to the input
}

// Run copies the trace in src, which must not be compressed as a whole, to dst. Errors come from src, dst, the functions in
// Rewrite or ctx.
func (rw *Rewrite) Run(ctx context.Context, dst io.Writer, src io.Reader) error {
	c := &copier{rw: rw, dst: dst, sequences: newSequenceSet()}
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
		if err := c.append(); err != nil {
			return err
		}
	}
	err := c.flush()
	if rw.Problems != nil && rw.Problems.Count(problem.PacketMalformed) == 0 {
		rw.Problems.AddN(problem.PacketMalformed, c.malformed, problem.NoPosition, "")
	}
	for _, out := range c.outs {
		if out != nil && rw.Problems != nil {
			rw.Problems.AddN(problem.EventSizeLimit, out.shortened, problem.NoPosition, "")
		}
	}
	return err
}

// append writes the packets that Append adds, in separate bundles if the input has bundles.
func (c *copier) append() error {
	sequence, err := c.sequences.free()
	if err != nil {
		return err
	}
	if err := c.flush(); err != nil {
		return err
	}
	if err := c.open(c.codec); err != nil {
		return err
	}
	a := &Appender{copier: c, sequence: sequence, clock: c.rw.Clock, begun: map[uint32]bool{0: true}, started: map[uint32]bool{}, details: map[uint64]*details{}}
	if err := a.begin(); err != nil {
		return err
	}
	return c.rw.Append(a)
}

// copier writes packets, in bundles if they came in bundles.
type copier struct {
	rw    *Rewrite
	dst   io.Writer
	out   *bundler           // current bundler; nil before the first packet
	outs  [Zstd + 1]*bundler // by codec; nil: not needed so far
	in    Codec              // codec of out
	codec Codec              // codec of the last bundle written; packets too large for a bundle do not count
	note  PacketNote
	have  bool // note is valid

	packets   int64  // number of packets read
	malformed uint64 // number of packets with parts that cannot be parsed
	dropping  uint32 // the appended sequence that is being dropped; 0: none
	sequences *sequenceSet
	event     []byte
	body      []byte

	annotations [][]byte // annotations of the current event
	places      [][2]int // positions of these annotations in the event
}

func (c *copier) nextNote() (err error) {
	c.have = false
	if c.rw.Notes != nil {
		c.have, err = c.rw.Notes(&c.note)
	}
	return err
}

// packet copies a packet with its note, or drops it.
func (c *copier) packet(p *Packet) error {
	body, index := p.Bytes, c.packets
	c.packets++
	if !isWhole(body) {
		c.malformed++
		var ok bool
		if body, ok = prune(nil, body, packetSchema, 0); !ok {
			return nil
		}
	}
	sequence := p.Fields.Sequence.ID
	if c.dropping != 0 && sequence == c.dropping {
		return nil
	}
	c.dropping = 0
	if p.Fields.Payload == schema.TracePacket_TraceAttributes && sequence != 0 && c.rw.Marker != "" && isMarked(p.Fields.Data, c.rw.Marker, sequence) {
		c.dropping = sequence
		return nil
	}
	c.sequences.add(sequence)
	for c.have && c.note.Packet < index {
		if err := c.nextNote(); err != nil {
			return err
		}
	}
	var note []byte
	if c.have && c.note.Packet == index {
		note = c.note.Annotations
	}
	if note != nil || c.rw.FindNote != nil {
		body = c.annotate(body, note)
	}
	if err := c.open(p.Bundle.Codec); err != nil {
		return err
	}
	return c.write(body)
}

// isMarked reports whether attributes mark the start of an appended sequence.
func isMarked(attributes []byte, marker string, sequence uint32) bool {
	var all message.TraceAttributes
	if all.Parse(attributes) != nil {
		return false
	}
	for l := all.Attributes(); l.Next(); {
		var a message.Attribute
		if a.Parse(l.Bytes()) == nil && string(a.Key()) == marker && a.IsInt() && a.Int() == int64(sequence) {
			return true
		}
	}
	return false
}

// sequenceSet records the packet sequences used in a trace, as far as needed to find a free one.
type sequenceSet struct {
	last uint32
	low  []uint64 // one bit for each of the lowest ids
}

// lowSequences is how many of the lowest ids are recorded individually. A trace that uses all of them has at least as many
// packets.
const lowSequences = 1 << 20

func newSequenceSet() *sequenceSet { return &sequenceSet{low: make([]uint64, lowSequences/64)} }

func (s *sequenceSet) add(id uint32) {
	s.last = max(s.last, id)
	if id < lowSequences {
		s.low[id/64] |= 1 << (id % 64)
	}
}

// free returns an unused id: the highest id plus 1 or, if that is out of range, the lowest unused id.
func (s *sequenceSet) free() (uint32, error) {
	if s.last < math.MaxUint32 {
		return s.last + 1, nil
	}
	for id := uint32(1); id < lowSequences; id++ {
		if s.low[id/64]>>(id%64)&1 == 0 {
			return id, nil
		}
	}
	return 0, errors.New("cannot add to the trace: it uses all packet sequences")
}

// annotate adds a note to a packet's track event and removes the note that an earlier Rewrite added. If a packet has several
// track events, the last one counts.
func (c *copier) annotate(packet, note []byte) []byte {
	at, field := -1, 0
	var raw, event []byte
	r := wire.NewReader(packet)
	for r.Next() {
		if f := r.Field(); f == schema.TracePacket_TrackEvent || f == schema.TracePacket_WeftFolded {
			at, field, raw, event = r.Offset(), f, r.Raw(), r.Bytes()
		}
	}
	if at < 0 || r.Err() != nil {
		return packet
	}
	from, to := 0, 0 // range of the old note
	if c.rw.FindNote != nil {
		from, to = c.findNote(event)
	}
	if note == nil && from == to {
		return packet
	}
	c.event = append(append(append(c.event[:0], event[:from]...), event[to:]...), note...)
	tag := wire.AppendTag(nil, field, wire.Len)
	width := len(raw) - len(event) - len(tag) // width of the length field; some producers reserve more bytes than needed
	if width == len(appendLength(nil, len(event), 1)) {
		width = 1
	}
	c.body = append(append(c.body[:0], packet[:at]...), tag...)
	c.body = append(appendLength(c.body, len(c.event), width), c.event...)
	c.body = append(c.body, packet[at+len(raw):]...)
	return c.body
}

// findNote returns the range of an earlier Rewrite's note in an event, or an empty range if the event has no such note.
func (c *copier) findNote(event []byte) (from, to int) {
	c.annotations, c.places = c.annotations[:0], c.places[:0]
	for r := wire.NewReader(event); r.Next(); {
		switch r.Field() {
		case schema.TrackEvent_Type:
			if r.Uint() == eventTypes[timeline.ItemEnd] {
				return 0, 0
			}
		case schema.TrackEvent_DebugAnnotations:
			at := r.Offset()
			c.annotations = append(c.annotations, r.Bytes())
			c.places = append(c.places, [2]int{at, at + len(r.Raw())})
		}
	}
	if len(c.annotations) == 0 {
		return 0, 0
	}
	if i := c.rw.FindNote(c.annotations); i >= 0 {
		return c.places[i][0], c.places[i][1]
	}
	return 0, 0
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

// copyLevel is the compression level of each codec for copied packets: the level that the tracing service uses, so that a copy is
// not larger than the original.
var copyLevel = [...]int{NoCodec: 0, Zlib: 6, Zstd: 3}

// open sends further packets to bundles with the given codec, or directly to the file.
func (c *copier) open(codec Codec) error {
	if codec == Gzip {
		codec = Zlib // both contain deflate data; weft writes the form that Perfetto writes
	}
	if c.out != nil && c.in == codec {
		return nil
	}
	if err := c.flush(); err != nil {
		return err
	}
	if c.outs[codec] == nil {
		c.outs[codec] = newBundler(bundleForm{codec, copyLevel[codec]}, func(b []byte) ([]byte, error) {
			_, err := c.dst.Write(b)
			return b, err
		})
	}
	c.out, c.in = c.outs[codec], codec
	c.out.bundles = 0
	return nil
}

// write writes a packet with the encoded contents body.
func (c *copier) write(body []byte) error {
	c.out.buf = wire.AppendBytes(c.out.buf, schema.Trace_Packet, body)
	return c.out.packetDone()
}

func (c *copier) flush() error {
	if c.out == nil {
		return nil
	}
	err := c.out.flush()
	if c.out.bundles > 0 {
		c.codec = c.in
	}
	return err
}

// Appender adds packets to the end of a trace, on a separate sequence.
type Appender struct {
	*copier
	sequence uint32
	clock    timeline.Clock
	machine  uint32          // machine of the packets being added
	begun    map[uint32]bool // machines with added packets
	uuid     uint64
	started  map[uint32]bool     // machines with added events
	details  map[uint64]*details // by thread uuid
	packet   []byte
}

// firstAppendedUUID is the base for uuids of appended tracks. Other uuids are random or small.
const firstAppendedUUID = 0x77656674_00000000

// IsAppended reports whether a uuid belongs to an appended track.
func IsAppended(uuid uint64) bool { return uuid>>32 == firstAppendedUUID>>32 }

// head starts a packet on the appended sequence.
func (a *Appender) head(flags uint64) []byte {
	b := a.packet[:0]
	if a.machine != 0 {
		b = wire.AppendUint(b, schema.TracePacket_MachineID, uint64(a.machine))
	}
	b = wire.AppendUint(b, schema.TracePacket_TrustedPacketSequenceID, uint64(a.sequence))
	if flags != 0 {
		b = wire.AppendUint(b, schema.TracePacket_SequenceFlags, flags)
	}
	return b
}

func (a *Appender) done(b []byte) error {
	a.packet = b
	return a.write(b)
}

// begin writes the packet that marks the sequence. The state of the sequence starts with the first event: if a thread were
// described after that, Perfetto would show it for all events that are on no thread (perfetto.md 5.7).
func (a *Appender) begin() error {
	b := a.head(0)
	if marker := a.rw.Marker; marker != "" {
		b = appendAttributes(b, []timeline.Attribute{{Key: marker, Int: int64(a.sequence), IsInt: true}})
	}
	return a.done(b)
}

// On sets the machine for further additions.
func (a *Appender) On(machine uint32) error {
	a.machine = machine
	if a.begun[machine] {
		return nil
	}
	a.begun[machine] = true
	return a.begin()
}

// Attributes adds facts about the trace.
func (a *Appender) Attributes(list []timeline.Attribute) error {
	return a.done(appendAttributes(a.head(0), list))
}

// Thread adds the track of a thread, as a parent for others, and returns its uuid. Threads must be added before events.
func (a *Appender) Thread(pid int32, tid int64) (uint64, error) {
	if a.started[a.machine] {
		return 0, errors.New("a thread is described after an event")
	}
	a.uuid++
	b, d := wire.BeginMessage(a.head(0), schema.TracePacket_TrackDescriptor)
	b = wire.AppendUint(b, schema.TrackDescriptor_UUID, firstAppendedUUID+a.uuid)
	b, th := wire.BeginMessage(b, schema.TrackDescriptor_Thread)
	b = wire.AppendInt(b, schema.ThreadDescriptor_PID, int64(pid))
	b = wire.AppendInt(b, schema.ThreadDescriptor_TID, tid)
	return firstAppendedUUID + a.uuid, a.done(wire.EndMessage(wire.EndMessage(b, th), d))
}

// Track adds a track below parent, or a root track if parent is 0, and returns its uuid. The rank in the spec is ignored. A track
// with details of its parent, a thread, goes below the track for details.
func (a *Appender) Track(parent uint64, spec timeline.TrackSpec) (uint64, error) {
	if parent == 0 || !isDetail(&spec) {
		return a.track(parent, spec, nil)
	}
	d := a.details[parent]
	if d == nil {
		uuid, err := a.track(parent, detailsSpec, nil)
		if err != nil {
			return 0, err
		}
		d = &details{uuid, map[string]int32{}}
		a.details[parent] = d
	}
	rank := d.rank(&spec)
	return a.track(d.uuid, spec, &rank)
}

func (a *Appender) track(parent uint64, spec timeline.TrackSpec, rank *int32) (uint64, error) {
	a.uuid++
	b, d := wire.BeginMessage(a.head(0), schema.TracePacket_TrackDescriptor)
	b = wire.AppendUint(b, schema.TrackDescriptor_UUID, firstAppendedUUID+a.uuid)
	if parent != 0 {
		b = wire.AppendUint(b, schema.TrackDescriptor_ParentUUID, parent)
	}
	b = wire.AppendString(b, schema.TrackDescriptor_Name, spec.Name)
	b = appendSpec(b, &spec)
	b = appendMark(b, &timeline.Track{Kind: timeline.NamedTrack, Spec: &spec}, false, "")
	if rank != nil {
		b = wire.AppendInt(b, schema.TrackDescriptor_SiblingOrderRank, int64(*rank))
	}
	return firstAppendedUUID + a.uuid, a.done(wire.EndMessage(b, d))
}

// Event adds an event to a track. Its Args must have inline names and texts; its Track and Name are ignored.
func (a *Appender) Event(track uint64, name string, e *timeline.Item) error {
	if int(e.Kind) >= len(eventTypes) {
		return fmt.Errorf("an item of kind %d is not an event", e.Kind)
	}
	flags := uint64(0)
	if !a.started[a.machine] {
		a.started[a.machine], flags = true, schema.TracePacket_SeqIncrementalStateCleared
	}
	b := wire.AppendUint(a.head(flags), schema.TracePacket_Timestamp, uint64(e.TS))
	if a.clock != 0 && a.clock != timeline.ClockBoottime {
		b = wire.AppendUint(b, packetClockID, uint64(a.clock))
	}
	b, event := wire.BeginMessage(b, schema.TracePacket_TrackEvent)
	b = wire.AppendUint(b, schema.TrackEvent_Type, eventTypes[e.Kind])
	b = wire.AppendUint(b, schema.TrackEvent_TrackUUID, track)
	if e.Kind != timeline.ItemEnd {
		b = wire.AppendString(b, schema.TrackEvent_Name, name)
		for category := range splitCategories(e.Category) {
			b = wire.AppendBytes(b, schema.TrackEvent_Categories, category)
		}
		b = append(b, e.Args...)
		if e.Correlation != "" {
			b = wire.AppendString(b, schema.TrackEvent_CorrelationIDStr, e.Correlation)
		}
	}
	return a.done(wire.EndMessage(b, event))
}

// packetClockID is TracePacket.timestamp_clock_id.
const packetClockID = 58
