// Package perfetto reads Perfetto traces from weft, Chrome and other programs that use Perfetto's SDK (perfetto.md 15).
//
// Read reads the packets once, in file order. Package pfwire maintains the state that packets share (interned data,
// defaults, clocks); this package converts the payloads:
//
//	track_event          Begin, End, Instant, Counter and flow records; see event.go, legacy.go, counters.go
//	track_descriptor …   tracks, their names and positions; see tracks.go
//	samples              Sample records; see samples.go
//	V8 profiles          passed to a v8profile.Assembler; see profiles.go
//	metadata             attributes of the trace; see metadata.go
//
// Arguments are debug annotations (annotations.go) or typed fields (extensions.go), which are decoded with the trace's
// descriptor or with the few descriptions in schema.go.
//
// Data without a counterpart in weft's event model is counted as packet_not_converted, once per packet, with the field
// number.
package perfetto

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/pfwire/message"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
)

// Options configures Read.
type Options struct {
	readers.Options

	// Profiles assembles the V8 CPU profiles in the trace; it identifies processes and threads by TrackID. The pieces that it
	// receives are not events of the trace. If Profiles is nil, all pieces stay events.
	Profiles *v8profile.Assembler

	// Located receives, for each event in order, the number of its packet among the readable packets. For the first call of a
	// recursion, it also receives the number of the packet that shows the call to viewers (perfetto.md 6.7). Optional.
	Located func(event uint32, packet int64)
	// Described receives, at the end, the descriptor uuid of each process and thread. Optional.
	Described func(track timeline.TrackID, uuid uint64)

	inlined int // limit on the bytes of interned texts written inline; 0: maxInlined
}

// contextInterval is the number of packets between checks of the context.
const contextInterval = 1024

// Read reads the trace in src, which must not be compressed as a whole, into b. Event indexes count the events and
// samples of the file from 0; offsets locate their packets or the enclosing bundles.
//
// An unreadable or empty src causes an error, as does a src that is not a Perfetto trace. Bad data inside a trace is counted in
// opts.Problems. Errors from b and ctx are returned unchanged.
func Read(ctx context.Context, src io.Reader, b *timeline.Builder, opts Options) error {
	r := newReader(ctx, b, opts)
	defer r.ahead.close()
	defer r.pieces.Close()
	packets := pfwire.NewPacketReader(src)
	messages, known := 0, false // nonempty messages up to the first possible packet
	for n := 0; ; n++ {
		if err := r.interrupted(); err != nil {
			return err
		}
		packet, err := packets.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			if err = r.badPacket(err, n == 0); err != nil {
				return err
			}
			continue
		}
		if !known && len(packet.Bytes) > 0 {
			messages, known = messages+1, pfwire.IsPacket(packet.Bytes)
		}
		if err := r.packet(&packet); err != nil {
			return err
		}
	}
	if messages > 0 && !known {
		return errNoPacket
	}
	offset, truncated := packets.Truncated()
	if offset == 0 && !truncated {
		return errors.New("the trace is empty")
	}
	if err := r.finish(); err != nil {
		return err
	}
	if opts.Described != nil {
		for _, tracks := range r.machines {
			for track, uuid := range tracks.first {
				opts.Described(track, uuid)
			}
		}
	}
	if truncated {
		r.problems.Add(problem.PacketTruncated, problem.Position{Event: -1, Offset: offset}, "")
	}
	return nil
}

// errNoPacket reports a different kind of protobuf file, in which no message can be a packet.
var errNoPacket = errors.New("not a Perfetto trace: none of its messages is a packet")

// badPacket counts a position where no packet can be read. It returns errors from the source, and framing errors at the start of
// the input, because such an input is not a trace.
func (r *reader) badPacket(err error, first bool) error {
	var bad *pfwire.PacketError
	if !errors.As(err, &bad) || first && errors.Is(err, pfwire.ErrFraming) {
		return err
	}
	r.problems.Add(problem.PacketMalformed, problem.Position{Event: -1, Offset: bad.Offset}, bad.Err.Error())
	return nil
}

// reader is the state of one Read.
type reader struct {
	ctx      context.Context
	steps    int // packets so far, counting waiting ones twice
	b        *timeline.Builder
	problems *problem.Log
	args     timeline.ArgFilter

	noScreenshots bool
	memory        int64 // memory limit for waiting packets, in bytes
	tempDir       string

	state   *pfwire.State
	fields  *message.TracePacket // fields of the current packet
	seq     *pfwire.Sequence     // sequence of the current packet; nil if it has none
	seqInfo *sequence            // further state of that sequence
	offset  int64                // offset of the current packet
	index   uint32               // index of the next event
	number  int64                // number of the current packet among the readable packets
	located func(event uint32, packet int64)

	profiles *v8profile.Assembler
	pieces   *readers.Spool[piece]
	traceIDs v8profile.TraceIDs // trace ids in the arguments of the current event
	scan     jsonscan.Scanner   // for JSON arguments

	flowOrder []message.FlowStep // order of the current event's flows, see flowSteps

	maxInlined, inlined int // bytes of interned texts written inline, see bounded

	ahead lookahead
	*machineTracks
	sequences       map[*pfwire.Sequence]*sequence
	extensions      describedTypes
	writer          writer
	builderWasEmpty bool // the Builder has only events from this trace
	ev              trackEvent
	out             timeline.Event
	samples         *timeline.SampleDescription // description of the first sample
	started         *pfwire.Stamp               // start of tracing
	occurs          []occurrence                // stack used by schema.go
	text            []byte                      // scratch
	clues           *producers.ChromeClues
	skipped         map[string]*tally
	tallies         []*tally // in order of first occurrence
}

func newReader(ctx context.Context, b *timeline.Builder, opts Options) *reader {
	none := new(sequence)
	state := pfwire.NewState()
	state.Hold = b.Hold
	r := &reader{
		ctx:      ctx,
		b:        b,
		problems: opts.Problems,
		args:     opts.Args,

		noScreenshots:   opts.NoScreenshots,
		memory:          cmp.Or(opts.Spool, maxLookahead),
		maxInlined:      cmp.Or(opts.inlined, maxInlined),
		tempDir:         opts.TempDir,
		state:           state,
		machineTracks:   newMachineTracks(),
		sequences:       map[*pfwire.Sequence]*sequence{nil: none},
		seqInfo:         none,
		skipped:         make(map[string]*tally),
		fields:          new(message.TracePacket),
		located:         opts.Located,
		profiles:        opts.Profiles,
		number:          -1,
		builderWasEmpty: b.IsEmpty(),
		clues:           producers.NewChromeClues(b),
	}
	// Chrome writes the last pieces of a profile on another sequence, possibly before the earlier pieces, but each piece
	// continues the preceding piece, so sort the pieces by time.
	r.pieces = readers.NewSpool(r.memory, r.tempDir, pieceForm, func(p *piece) int64 { return int64(p.ts) })
	return r
}

// interrupted returns an error if the Builder is full or, checked at intervals, the context is done.
func (r *reader) interrupted() error {
	r.steps++
	if r.steps%contextInterval == 0 {
		return r.ctx.Err()
	}
	return r.b.Full()
}

// packet reads one packet, unless it must wait for information later in the file.
func (r *reader) packet(p *pfwire.Packet) error {
	r.adoptMachine(p.Fields)
	if r.ahead.reason != noWait {
		return r.wait(p)
	}
	return r.readPacket(p)
}

// readPacket updates the state and converts the payload. Errors come from the Builder.
func (r *reader) readPacket(p *pfwire.Packet) error {
	r.offset, r.fields = p.Offset, p.Fields
	if p.Err != nil {
		r.number++
		r.malformed("packet", p.Err)
		return nil
	}
	f := r.fields
	var eventErr error
	if f.Payload == schema.TracePacket_TrackEvent {
		eventErr = r.ev.parse(f.Data)
	}
	// Applying a packet again after waiting has no effect; everything else happens once.
	seq, err := r.state.Apply(f)
	r.setSequence(seq)
	if r.ahead.reason = r.mustWait(); r.ahead.reason != noWait {
		return r.wait(p)
	}
	r.number++
	r.setMachine(f.Sequence.Machine)
	stamp, stampErr := seq.Stamp(f)
	switch {
	case errors.Is(err, pfwire.ErrStateLost):
		r.add(problem.PacketInvalidState, "")
		return nil
	case err != nil:
		r.malformed("packet", err)
		return nil
	case eventErr != nil:
		r.malformed("track_event", eventErr)
		return nil
	}
	return r.payload(stamp, stampErr)
}

// payload converts the payload of the packet.
func (r *reader) payload(stamp pfwire.Stamp, stampErr error) error {
	data := r.fields.Data
	switch r.fields.Payload {
	case 0, schema.TracePacket_SynchronizationMarker: // 0: state only
	case schema.TracePacket_ServiceEvent:
		r.serviceEvent(data)
	case schema.TracePacket_ProcessTree:
		r.processTree(data)
	case schema.TracePacket_ChromeEvents:
		r.chromeEvents(data)
	case schema.TracePacket_ClockSnapshot:
		if err := r.state.Clocks.Snapshot(r.seq, r.fields.Sequence.Machine, data); err != nil {
			r.malformed("clock_snapshot", err)
		}
	case schema.TracePacket_TrackEvent:
		switch {
		case r.fields.Folded && !r.seqInfo.byWeft:
			r.notConverted(fmt.Sprintf("TracePacket field %d", schema.TracePacket_WeftFolded))
			return nil
		case r.seqInfo.byWeft && r.isShown():
			return nil
		}
		return r.trackEvent(stamp, stampErr)
	case schema.TracePacket_ProcessDescriptor:
		r.processDescriptor(data, nil)
	case schema.TracePacket_ThreadDescriptor:
		r.threadDescriptor(data)
	case schema.TracePacket_StreamingProfilePacket:
		return r.streamingProfile(data)
	case schema.TracePacket_TrackDescriptor:
		r.trackDescriptor(data)
	case schema.TracePacket_PerfSample:
		return r.perfSample(data, stamp, stampErr)
	case schema.TracePacket_ExtensionDescriptor:
		r.extensionDescriptor(data)
	case schema.TracePacket_SystemInfo:
		r.systemInfo(data)
	case schema.TracePacket_RemoteClockSync:
		r.remoteClockSync(data)
	case schema.TracePacket_TraceUUID:
		r.traceUUID(data)
	case schema.TracePacket_TraceAttributes:
		r.traceAttributes(data)
	case schema.TracePacket_StackSample:
		return r.stackSample(data, stamp, stampErr)
	default:
		r.notConverted(fmt.Sprintf("TracePacket field %d", r.fields.Payload))
	}
	return nil
}

// finish reads the waiting packets and the profile pieces, and reports the clocks and the data that was not
// converted.
func (r *reader) finish() error {
	if err := r.release(); err != nil {
		return err
	}
	for _, s := range r.sequences { // recursions with missing calls at the end
		if s.folded.Pending() > 0 {
			r.levelsNotConverted()
		}
	}
	if err := r.readPieces(); err != nil {
		return err
	}
	if clocks := r.state.Clocks.Trace(); clocks.Trace != 0 {
		r.b.SetClocks(clocks)
	} else {
		r.clues.Facts()
	}
	r.clues.Date()
	r.setStarted()
	if r.writer.seq != nil && !r.writer.mixed && r.builderWasEmpty {
		r.b.SetOrdered()
	}
	for _, t := range r.tallies {
		kind := problem.PacketNotConverted
		if slices.Contains(details, t.what) {
			kind = problem.PacketDetailSkipped
		}
		r.problems.AddN(kind, t.count, t.first, t.what)
	}
	return nil
}

// position returns the position of the current packet.
func (r *reader) position() problem.Position { return problem.Position{Event: -1, Offset: r.offset} }

func (r *reader) add(kind problem.Kind, detail string) { r.problems.Add(kind, r.position(), detail) }

func (r *reader) malformed(what string, err error) {
	r.add(problem.PacketMalformed, what+": "+err.Error())
}

// tally counts the packets with one kind of data that is not converted.
type tally struct {
	what  string
	count uint64
	first problem.Position
}

// details lists data without events that every Chrome recording contains: settings, statistics and metadata of the
// recording, the system, notes from the tracing service (124), and Chrome's own descriptions of processes and threads.
var details = []string{
	"TracePacket field 33", "TracePacket field 35", "TracePacket field 45", "TracePacket field 51", "TracePacket field 124",
	"TrackDescriptor field 6", "TrackDescriptor field 7",
}

// maxTallies limits how many kinds of data are counted separately.
const maxTallies = 1000

// notConverted counts data without a counterpart. The counts go to the problem log at the end, one case per kind, so
// that a frequent kind does not hide the others.
func (r *reader) notConverted(what string) {
	t := r.skipped[what]
	if t == nil {
		if len(r.tallies) >= maxTallies {
			r.add(problem.PacketNotConverted, what)
			return
		}
		t = &tally{what: what, first: r.position()}
		r.skipped[what] = t
		r.tallies = append(r.tallies, t)
	}
	t.count++
}

// traceTime converts the stamp of an event to trace time. It counts an unusable stamp and returns false.
func (r *reader) traceTime(stamp pfwire.Stamp, err error) (timeline.Nanos, bool) {
	var t int64
	if err == nil {
		t, err = r.state.Clocks.TraceTime(stamp)
	}
	switch {
	case err == nil:
		return timeline.Nanos(t), true
	case errors.Is(err, pfwire.ErrNoTimestamp):
		r.add(problem.PacketMissingTimestamp, "")
	case errors.Is(err, pfwire.ErrTimeRange):
		r.add(problem.EventNegativeTimestamp, "")
	default:
		r.add(problem.PacketUnresolvedClock, err.Error())
	}
	return 0, false
}

// nextIndex returns the index for a new event.
func (r *reader) nextIndex() uint32 {
	i := r.index
	if r.located != nil {
		r.located(i, r.number)
	}
	r.index++
	return i
}
