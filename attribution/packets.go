package attribution

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/timeline"
)

// Packets says in which packets of a Perfetto trace its events stand, and which uuids its threads have. It must be closed.
type Packets struct {
	sorted *extsort.Sorter[located]
	uuids  map[timeline.TrackID]uint64
	err    error
}

// located is an event and its packet.
type located struct {
	packet int64
	event  uint32
}

var locatedCodec = extsort.Codec[located]{
	Size: 12,
	Put: func(b []byte, l *located) {
		binary.LittleEndian.PutUint64(b, uint64(l.packet))
		binary.LittleEndian.PutUint32(b[8:], l.event)
	},
	Get: func(b []byte, l *located) {
		*l = located{int64(binary.LittleEndian.Uint64(b)), binary.LittleEndian.Uint32(b[8:])}
	},
}

// NewPackets returns Packets that hold nothing yet; beyond memory bytes they are kept in dir.
func NewPackets(memory int64, dir string) *Packets {
	return &Packets{uuids: map[timeline.TrackID]uint64{}, sorted: extsort.New(locatedCodec, func(a, b *located) int { return cmp.Compare(a.event, b.event) }, memory, dir)}
}

// Add says in which packet an event stands.
func (p *Packets) Add(event uint32, packet int64) {
	if p.err == nil {
		p.err = p.sorted.Add(located{packet, event})
	}
}

// AddThread says which uuid the descriptor of a thread has. A descriptor that an earlier attribution has appended, for a
// thread that had none, does not count: it will be left out.
func (p *Packets) AddThread(thread timeline.TrackID, uuid uint64) {
	if !pfwire.IsAppended(uuid) {
		p.uuids[thread] = uuid
	}
}

// Close frees what is held.
func (p *Packets) Close() error { return p.sorted.Close() }

// CanRewrite reports whether Rewrite can write the attribution into the trace from which the timeline was read: not into
// one that holds an attribution as a part of what a conversion has written.
func (r *Result) CanRewrite() bool {
	form := formOf(r.t)
	return form == "" || form == formAppended
}

// Rewrite copies the Perfetto trace from which the timeline was read, packet by packet, and writes the attribution into
// the copy, in place of an earlier one. src is that trace, which must not be compressed as a whole.
func (r *Result) Rewrite(ctx context.Context, dst io.Writer, src io.Reader, events *Packets, w WriteBack) error {
	notes, err := r.packetNotes(events, w)
	if err != nil {
		return err
	}
	defer notes.Close()
	rw := pfwire.Rewrite{Marker: sequenceAttribute, Clock: r.t.Clocks().Trace, Notes: notes.next}
	if r.attributed {
		rw.FindNote = noteAmong
	}
	if !w.nothing() {
		rw.Append = func(a *pfwire.Appender) error { return r.append(a, events.uuids, w) }
	}
	return rw.Run(ctx, dst, src)
}

// packetNotes are the sets of events by the packets that they stand in.
type packetNotes struct {
	r     *Result
	sets  *extsort.Sorter[packetSet]
	args  map[SetID]timeline.Args // those that are held
	held  int                     // bytes of these
	enc   *timeline.ArgsEncoder
	ahead packetSet
}

type packetSet struct {
	packet int64
	set    SetID
	key    uint8 // as in stamp
}

var packetSetCodec = extsort.Codec[packetSet]{
	Size: 13,
	Put: func(b []byte, p *packetSet) {
		binary.LittleEndian.PutUint64(b, uint64(p.packet))
		binary.LittleEndian.PutUint32(b[8:], uint32(p.set))
		b[12] = p.key
	},
	Get: func(b []byte, p *packetSet) {
		*p = packetSet{int64(binary.LittleEndian.Uint64(b)), SetID(binary.LittleEndian.Uint32(b[8:])), b[12]}
	},
}

// Close frees what is held.
func (n *packetNotes) Close() error { return n.sets.Close() }

// next gives one note after the other.
func (n *packetNotes) next(out *pfwire.PacketNote) (bool, error) {
	ok, err := n.sets.Next(&n.ahead)
	if ok {
		*out = pfwire.PacketNote{Packet: n.ahead.packet, Annotations: underKey(n.note(n.ahead.set), n.ahead.key)}
	}
	return ok, err
}

// note returns the annotation of a set, which is valid until the next call.
func (n *packetNotes) note(set SetID) timeline.Args {
	if args, ok := n.args[set]; ok {
		return args
	}
	args := n.r.encodeInline(n.enc, set)
	if n.held += len(args); n.held < n.r.c.most.notes {
		n.args[set] = slices.Clone(args)
	}
	return args
}

// packetNotes joins the sets of events with their packets.
func (r *Result) packetNotes(events *Packets, w WriteBack) (_ *packetNotes, err error) {
	if events.err != nil {
		return nil, events.err
	}
	memory, dir := r.t.Memory()/16, r.t.TempDir()
	codec := stampCodec
	codec.Key = func(s *stamp) uint64 { return uint64(s.event) }
	byEvent := extsort.New(codec, func(a, b *stamp) int { return cmp.Compare(a.event, b.event) }, memory, dir)
	defer byEvent.Close()
	n := &packetNotes{r: r, args: map[SetID]timeline.Args{}, enc: timeline.NewInlineArgs(), sets: extsort.New(packetSetCodec, func(a, b *packetSet) int { return cmp.Compare(a.packet, b.packet) }, memory, dir)}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close())
		}
	}()
	if w.NoNotes {
		return n, nil
	}
	var s stamp
	for c := r.stamps.From(0); ; {
		ok, err := c.Next(&s)
		if err != nil {
			return n, err
		}
		if !ok {
			break
		}
		if err := byEvent.Add(s); err != nil {
			return n, err
		}
	}
	at := cursor[located]{next: events.sorted.Next, ordinal: func(l *located) uint64 { return uint64(l.event) }}
	for {
		ok, err := byEvent.Next(&s)
		if err != nil || !ok {
			return n, err
		}
		places, err := at.of(uint64(s.event))
		if err != nil {
			return n, err
		}
		if len(places) > 0 {
			if err := n.sets.Add(packetSet{places[0].packet, s.set, s.key}); err != nil {
				return n, err
			}
		}
	}
}

// append adds the tracks and facts of the attribution.
func (r *Result) append(a *pfwire.Appender, threads map[timeline.TrackID]uint64, w WriteBack) error {
	facts := []timeline.Attribute{{Key: formAttribute, Text: formAppended}}
	if !w.NoCosts {
		costs, err := r.costAttributes()
		if err != nil {
			return err
		}
		facts = append(facts, costs...)
	}
	for i := range facts {
		if err := a.Attributes(facts[i : i+1]); err != nil {
			return err
		}
	}
	p := &appended{result: r, to: a, threads: threads, enc: timeline.NewInlineArgs()}
	rows, o, err := r.overlayRows(w, p)
	if err != nil {
		return err
	}
	defer rows.Close()
	var row overlayRow
	for {
		ok, err := rows.Next(&row)
		if err != nil || !ok {
			return errors.Join(err, p.err)
		}
		e := o.event(&row)
		if err := a.Event(p.uuids[row.track], p.names[row.name], &e); err != nil {
			return err
		}
	}
}

// appended is where overlayRows puts the tracks and names of an attribution that is appended to a trace.
type appended struct {
	result  *Result
	to      *pfwire.Appender
	threads map[timeline.TrackID]uint64 // uuids of the threads that the trace describes
	uuids   []uint64                    // of tracks, by the number that addTrack returned
	names   []string
	byName  map[string]timeline.NameID
	enc     *timeline.ArgsEncoder
	err     error
}

// addTrack implements overlayTarget.
func (p *appended) addTrack(parent timeline.TrackID, spec timeline.TrackSpec) timeline.TrackID {
	up := uint64(0)
	if parent != 0 && p.err == nil {
		if up = p.threads[parent]; up == 0 {
			tr := p.result.t.Track(parent)
			up, p.err = p.to.Thread(tr.PID, tr.TID)
			p.threads[parent] = up
		}
	}
	uuid := uint64(0)
	if p.err == nil {
		uuid, p.err = p.to.Track(up, spec)
	}
	p.uuids = append(p.uuids, uuid)
	return timeline.TrackID(len(p.uuids) - 1)
}

// name implements overlayTarget.
func (p *appended) name(text string) timeline.NameID {
	if p.byName == nil {
		p.byName, p.names = map[string]timeline.NameID{}, []string{""}
	}
	id, ok := p.byName[text]
	if !ok {
		id = timeline.NameID(len(p.names))
		p.names = append(p.names, text)
		p.byName[text] = id
	}
	return id
}

// encoder implements overlayTarget.
func (p *appended) encoder() *timeline.ArgsEncoder { return p.enc }
