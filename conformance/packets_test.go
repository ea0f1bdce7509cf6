package conformance

import (
	"bytes"
	"cmp"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"

	pb "github.com/weft-trace/weft/gen/perfetto/protos"
)

// The bits of TracePacket.sequence_flags (perfetto.md 3).
const (
	stateCleared = 1
	needsState   = 2
)

// maxBundle is the maximum unpacked size of a compressed bundle (perfetto.md 12).
const maxBundle = 512 << 10

// timed is a track event with its sequence's data resolved.
type timed struct {
	ts     int64
	event  *pb.TrackEvent
	state  *sequence
	packet int // index of the packet in the unpacked trace, for messages

	threadNS *int64  // CPU time of the thread at an instant, from the packet
	extra    []int64 // extra counter values, incremental counters added up
}

// sequence is the state of one packet sequence: interned texts and defaults.
type sequence struct {
	valid      bool
	categories map[uint64]string
	names      map[uint64]string
	argNames   map[uint64]string
	argTexts   map[uint64]string
	correlated map[uint64]string
	defaults   *pb.TrackEventDefaults
	clocks     map[uint32]*deltaClock // of this sequence, across its intervals
	clock      uint32                 // default clock
	sums       map[uint64]int64       // sums of incremental counters
}

// deltaClock is a clock of a sequence on which the time of each packet is relative to the previous packet.
type deltaClock struct{ now, unit int64 }

// clear drops interned data, as sequence flag 1 requires.
func (s *sequence) clear() {
	*s = sequence{
		clocks:     s.clocks,
		valid:      true,
		categories: map[uint64]string{},
		names:      map[uint64]string{},
		argNames:   map[uint64]string{},
		argTexts:   map[uint64]string{},
		correlated: map[uint64]string{},
		sums:       map[uint64]int64{},
	}
}

// unpack parses a trace and returns its packets, with compressed bundles unpacked in place.
func unpack(data []byte) ([]*pb.TracePacket, error) {
	var trace pb.Trace
	if err := proto.Unmarshal(data, &trace); err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	var packets []*pb.TracePacket
	for i, packet := range trace.GetPacket() {
		bundle, err := bundled(packet)
		if err != nil {
			return nil, fmt.Errorf("packet %d: %w", i, err)
		}
		if bundle == nil {
			packets = append(packets, packet)
			continue
		}
		packets = append(packets, bundle.GetPacket()...)
	}
	return packets, nil
}

// bundled returns the contents of a compressed bundle, or nil for other packets.
func bundled(packet *pb.TracePacket) (*pb.Trace, error) {
	var stream io.Reader
	var err error
	switch {
	case packet.GetCompressedPackets() != nil:
		stream, err = zlib.NewReader(bytes.NewReader(packet.GetCompressedPackets()))
	case packet.GetZstdCompressedPackets() != nil:
		var decoder *zstd.Decoder
		decoder, err = zstd.NewReader(bytes.NewReader(packet.GetZstdCompressedPackets()), zstd.WithDecoderConcurrency(1))
		if err == nil {
			defer decoder.Close()
			stream = decoder
		}
	default:
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(stream, maxBundle+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxBundle {
		return nil, errors.New("compressed bundle unpacks to more than 512 KiB")
	}
	var trace pb.Trace
	if err := proto.Unmarshal(data, &trace); err != nil {
		return nil, err
	}
	for _, inner := range trace.GetPacket() {
		if inner.GetCompressedPackets() != nil || inner.GetZstdCompressedPackets() != nil {
			return nil, errors.New("compressed bundle inside a compressed bundle")
		}
	}
	return &trace, nil
}

// events returns all track events in (timestamp, file) order, in which trace_processor reads them (perfetto.md 6).
func events(packets []*pb.TracePacket) ([]timed, error) {
	sequences := map[uint32]*sequence{}
	tracks, clocks, parents := map[uint64]*pb.TrackDescriptor{}, map[uint64]*pb.TrackDescriptor{}, map[uint64]uint64{} // clocks is by thread
	var all []timed
	for i, packet := range packets {
		if d := packet.GetTrackDescriptor(); d != nil {
			tracks[d.GetUuid()], parents[d.GetUuid()] = d, d.GetParentUuid()
			if d.GetCounter().GetType() == pb.CounterDescriptor_COUNTER_THREAD_TIME_NS {
				clocks[d.GetParentUuid()] = d
			}
		}
		id := packet.GetTrustedPacketSequenceId()
		state := sequences[id]
		if state == nil {
			state = &sequence{}
			sequences[id] = state
		}
		if err := state.update(packet); err != nil {
			return nil, fmt.Errorf("packet %d: %w", i, err)
		}
		ts, err := state.time(packet)
		if err != nil {
			return nil, fmt.Errorf("packet %d: %w", i, err)
		}
		event := eventOf(packet)
		if event == nil {
			continue
		}
		if err := checkEventPacket(packet, ts, state); err != nil {
			return nil, fmt.Errorf("packet %d: %w", i, err)
		}
		// Interned texts are resolved later, so an event keeps the state of its interval: clear creates new maps, and
		// within an interval an id never changes its meaning.
		snapshot := *state
		e := timed{ts: ts, event: event, state: &snapshot, packet: i, threadNS: packet.WeftThreadTime}
		e.extra = slices.Clone(event.GetExtraCounterValues())
		for i, uuid := range e.extraCounters() {
			if i < len(e.extra) && tracks[uuid].GetCounter().GetIsIncremental() {
				state.sums[uuid] += e.extra[i]
				e.extra[i] = state.sums[uuid]
			}
		}
		if packet.WeftThreadTimeDelta != nil {
			clock := clocks[e.track()]
			if clock == nil {
				clock = clocks[parents[e.track()]]
			}
			if clock == nil {
				return nil, fmt.Errorf("packet %d: a thread time as a difference on a track without counter", i)
			}
			ns := (state.sums[clock.GetUuid()] + packet.GetWeftThreadTimeDelta()) * max(clock.GetCounter().GetUnitMultiplier(), 1)
			e.threadNS = &ns
		}
		all = append(all, e)
	}
	slices.SortStableFunc(all, func(a, b timed) int { return cmp.Compare(a.ts, b.ts) })
	return all, nil
}

// eventOf returns the event of a packet, or nil. The event of an idle thread is in a separate field.
func eventOf(packet *pb.TracePacket) *pb.TrackEvent {
	return cmp.Or(packet.GetTrackEvent(), packet.GetWeftIdle())
}

// checkEventPacket reports problems that would make a reader drop or misread an event.
func checkEventPacket(packet *pb.TracePacket, ts int64, state *sequence) error {
	switch {
	case packet.Timestamp == nil:
		return errors.New("event without timestamp")
	case ts < 0:
		return errors.New("event with a negative timestamp")
	case packet.GetTrustedPacketSequenceId() == 0:
		return errors.New("event without packet sequence")
	case packet.GetSequenceFlags()&needsState != 0 && !state.valid:
		return errors.New("event needs the state of its sequence, which was never set up")
	}
	return nil
}

// time returns the time of a packet, or 0. Events are in trace time or on a clock of the sequence on which
// each packet is relative to the previous one (perfetto.md 4).
func (s *sequence) time(packet *pb.TracePacket) (int64, error) {
	id := s.clock
	if packet.TimestampClockId != nil {
		id = packet.GetTimestampClockId()
	}
	if packet.Timestamp == nil || id == 0 || eventOf(packet) == nil && packet.GetStackSample() == nil && packet.GetWeftIdleSample() == nil {
		return int64(packet.GetTimestamp()), nil
	}
	clock := s.clocks[id]
	if clock == nil {
		return 0, fmt.Errorf("no snapshot defines clock %d", id)
	}
	clock.now += int64(packet.GetTimestamp()) * clock.unit
	return clock.now, nil
}

// snapshot sets the clocks of the sequence, which must show trace time in another unit.
func (s *sequence) snapshot(m *pb.ClockSnapshot) error {
	trace := uint64(0)
	for _, c := range m.GetClocks() {
		if id := c.GetClockId(); id < 64 && (m.PrimaryTraceClock == nil || id == uint32(m.GetPrimaryTraceClock())) {
			trace = c.GetTimestamp()
		}
	}
	for _, c := range m.GetClocks() {
		if c.GetClockId() < 64 {
			continue
		}
		clock := &deltaClock{unit: int64(max(c.GetUnitMultiplierNs(), 1))}
		clock.now = int64(c.GetTimestamp()) * clock.unit
		if !c.GetIsIncremental() || uint64(clock.now) != trace {
			return fmt.Errorf("clock %d shows %d when the trace is at %d", c.GetClockId(), clock.now, trace)
		}
		if s.clocks == nil {
			s.clocks = map[uint32]*deltaClock{}
		}
		s.clocks[c.GetClockId()] = clock
	}
	return nil
}

// update applies a packet to its sequence: flags first, then defaults, then interned data.
func (s *sequence) update(packet *pb.TracePacket) error {
	if packet.GetSequenceFlags()&stateCleared != 0 {
		s.clear()
	}
	if defaults := packet.GetTracePacketDefaults(); defaults != nil {
		s.defaults, s.clock = defaults.GetTrackEventDefaults(), defaults.GetTimestampClockId()
	}
	if err := s.snapshot(packet.GetClockSnapshot()); err != nil {
		return err
	}
	interned := packet.GetInternedData()
	if interned == nil {
		return nil
	}
	if !s.valid {
		return errors.New("interned data before the sequence was set up")
	}
	var err error
	for _, e := range interned.GetEventCategories() {
		err = cmp.Or(err, define(s.categories, e.GetIid(), e.GetName()))
	}
	for _, e := range interned.GetEventNames() {
		err = cmp.Or(err, define(s.names, e.GetIid(), e.GetName()))
	}
	for _, e := range interned.GetDebugAnnotationNames() {
		err = cmp.Or(err, define(s.argNames, e.GetIid(), e.GetName()))
	}
	for _, e := range interned.GetDebugAnnotationStringValues() {
		err = cmp.Or(err, define(s.argTexts, e.GetIid(), string(e.GetStr())))
	}
	for _, e := range interned.GetCorrelationIdStr() {
		err = cmp.Or(err, define(s.correlated, e.GetIid(), string(e.GetStr())))
	}
	return err
}

// define adds an interned text. Redefining an id with another text is an error.
func define(table map[uint64]string, iid uint64, text string) error {
	if iid == 0 {
		return fmt.Errorf("interned id 0 for %q", text)
	}
	if old, ok := table[iid]; ok && old != text {
		return fmt.Errorf("interned id %d is %q and later %q", iid, old, text)
	}
	table[iid] = text
	return nil
}

// text returns an interned or inline text, or "".
func text(table map[uint64]string, iid uint64, inline string) (string, error) {
	if iid != 0 {
		interned, ok := table[iid]
		if !ok {
			return "", fmt.Errorf("interned id %d is not defined", iid)
		}
		inline = interned
	}
	if !utf8.ValidString(inline) {
		return "", fmt.Errorf("text %q is not UTF-8", inline)
	}
	return inline, nil
}

// name returns the name of an event.
func (t *timed) name() (string, error) {
	return text(t.state.names, t.event.GetNameIid(), t.event.GetName())
}

// category returns the categories of an event, joined with commas.
func (t *timed) category() (string, error) {
	list := slices.Clone(t.event.GetCategories())
	for _, iid := range t.event.GetCategoryIids() {
		category, err := text(t.state.categories, iid, "")
		if err != nil {
			return "", err
		}
		list = append(list, category)
	}
	return strings.Join(list, ","), nil
}

// track returns the uuid of the event's track, its own or the default of the sequence.
func (t *timed) track() uint64 {
	if t.event.TrackUuid != nil {
		return t.event.GetTrackUuid()
	}
	return t.state.defaults.GetTrackUuid()
}

// extraCounters returns the uuids of the extra counters, from the event or the defaults of the sequence.
func (t *timed) extraCounters() []uint64 {
	if uuids := t.event.GetExtraCounterTrackUuids(); len(uuids) > 0 {
		return uuids
	}
	return t.state.defaults.GetExtraCounterTrackUuids()
}

// threadTime returns the value of the thread-time counter in an event.
func (t *timed) threadTime(tracks map[uint64]*track) (ns int64, ok bool, err error) {
	if t.threadNS != nil {
		return *t.threadNS, true, nil
	}
	uuids := t.extraCounters()
	if len(t.extra) > len(uuids) {
		return 0, false, errors.New("more extra counter values than counters")
	}
	for i, value := range t.extra {
		counter := tracks[uuids[i]]
		if counter == nil || counter.counter.GetType() != pb.CounterDescriptor_COUNTER_THREAD_TIME_NS {
			return 0, false, fmt.Errorf("extra counter value for track %d, which is not a thread time", uuids[i])
		}
		ns, ok = value*max(counter.counter.GetUnitMultiplier(), 1), true
	}
	return ns, ok, nil
}
