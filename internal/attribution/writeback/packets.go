package writeback

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/timeline"
)

// Packets records which packets contain the events of a Perfetto trace, and the uuids of its threads. It must be closed.
type Packets struct {
	sorted *extsort.Sorter[located]
	uuids  map[timeline.TrackID]uint64
	err    error
}

// located is an event and one of the packets that contain it.
type located struct {
	packet int64
	event  uint32
}

var byEvent = extsort.Order[located]{Compare: func(a, b *located) int { return cmp.Compare(a.event, b.event) }}

// NewPackets returns empty Packets. Beyond the given number of bytes in memory, the Packets use temporary files in dir.
func NewPackets(memory int64, dir string) *Packets {
	return &Packets{uuids: map[timeline.TrackID]uint64{}, sorted: extsort.New(byEvent, memory, dir)}
}

// Add records a packet that contains an event.
func (p *Packets) Add(event uint32, packet int64) {
	if p.err == nil {
		p.err = p.sorted.Add(located{packet, event})
	}
}

// AddThread records the uuid in the descriptor of a thread. It ignores descriptors that an earlier attribution appended,
// because Rewrite removes them.
func (p *Packets) AddThread(thread timeline.TrackID, uuid uint64) {
	if !pfwire.IsAppended(uuid) {
		p.uuids[thread] = uuid
	}
}

// Close frees the memory and temporary files.
func (p *Packets) Close() error { return p.sorted.Close() }

// CanRewrite reports whether Rewrite can write the attribution into the trace from which the timeline was read. Rewrite cannot do
// so if a conversion has written an attribution as part of the trace.
func (a *Additions) CanRewrite() bool {
	form := attribution.FormOf(a.result.Timeline)
	return form == "" || form == attribution.FormAppended
}

// Rewrite copies src, the Perfetto trace from which the timeline was read, packet by packet, and inserts the additions. They
// replace the additions of an earlier attribution. src must not be compressed as a whole.
func (a *Additions) Rewrite(ctx context.Context, dst io.Writer, src io.Reader, events *Packets) error {
	rw := pfwire.Rewrite{Marker: timeline.AppendedAttribute, Clock: a.result.Timeline.Clocks().Trace, Problems: a.result.Timeline.Problems()}
	if !a.parts.NoNotes {
		sets, err := a.setsOfPackets(events)
		if err != nil {
			return err
		}
		defer sets.Close()
		notes, enc := a.notes(timeline.NewInlineArgs(), false), timeline.NewInlineArgs()
		var next packetSet
		rw.Notes = func(out *pfwire.PacketNote) (bool, error) {
			ok, err := sets.Next(&next)
			if ok {
				*out = pfwire.PacketNote{Packet: next.packet, Annotations: notes.argsOf(next.set, next.key, enc)}
			}
			return ok, err
		}
	}
	if a.result.Attributed {
		rw.FindNote = attribution.NoteAmong
	}
	if !a.parts.nothing() {
		rw.Append = func(to *pfwire.Appender) error { return a.append(to, events.uuids) }
	}
	return rw.Run(ctx, dst, src)
}

// packetSet is the set of contexts of the event in a packet.
type packetSet struct {
	packet int64
	set    attribution.SetID
	key    uint8 // EventSet.Key
}

var byPacket = extsort.Order[packetSet]{Compare: func(a, b *packetSet) int { return cmp.Compare(a.packet, b.packet) }}

// setsOfPackets joins the sets of events with their packets.
func (a *Additions) setsOfPackets(events *Packets) (_ *extsort.Sorter[packetSet], err error) {
	if events.err != nil {
		return nil, events.err
	}
	memory, dir := a.result.Timeline.Memory()/16, a.result.Timeline.TempDir()
	found := extsort.New(extsort.Order[attribution.EventSet]{
		Compare: func(a, b *attribution.EventSet) int { return cmp.Compare(a.Event, b.Event) },
		Key:     func(s *attribution.EventSet) uint64 { return uint64(s.Event) },
	}, memory, dir)
	defer found.Close()
	var s attribution.EventSet
	for c := a.result.EventSets.From(0); ; {
		ok, err := c.Next(&s)
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if err := found.Add(s); err != nil {
			return nil, err
		}
	}
	sets := extsort.New(byPacket, memory, dir)
	defer func() {
		if err != nil {
			err = errors.Join(err, sets.Close())
		}
	}()
	at := attribution.Cursor[located]{Next: events.sorted.Next, Ordinal: func(l *located) uint64 { return uint64(l.event) }}
	for {
		ok, err := found.Next(&s)
		if err != nil || !ok {
			return sets, err
		}
		packets, err := at.Of(uint64(s.Event))
		if err != nil {
			return sets, err
		}
		for _, p := range packets {
			if err := sets.Add(packetSet{p.packet, s.Set, s.Key}); err != nil {
				return sets, err
			}
		}
	}
}

// append appends the tracks and attributes to the packets of a trace.
func (a *Additions) append(to *pfwire.Appender, threads map[timeline.TrackID]uint64) error {
	facts, err := a.attributes(attribution.FormAppended)
	for i := 0; i < len(facts) && err == nil; i++ {
		err = to.Attributes(facts[i : i+1])
	}
	if err != nil {
		return err
	}
	p := &appended{t: a.result.Timeline, to: to, threads: threads, enc: timeline.NewInlineArgs()}
	rows, o, err := a.overlayRows(p)
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
		if err := to.On(p.machines[row.track]); err != nil {
			return err
		}
		if err := to.Event(p.uuids[row.track], p.names[row.name], &e); err != nil {
			return err
		}
	}
}

// appended is the overlayTarget of an attribution that is appended to a trace.
type appended struct {
	t        *timeline.Timeline
	to       *pfwire.Appender
	threads  map[timeline.TrackID]uint64 // uuids of the threads that the trace describes
	uuids    []uint64                    // by the track number that addTrack returned
	machines []uint32                    // by the same number
	names    []string
	byName   map[string]timeline.NameID
	enc      *timeline.ArgsEncoder
	err      error
}

// addTrack implements overlayTarget.
func (p *appended) addTrack(parent timeline.TrackID, spec timeline.TrackSpec) timeline.TrackID {
	up, machine := uint64(0), p.t.Machine(parent)
	p.machines = append(p.machines, machine)
	if p.err == nil {
		p.err = p.to.On(machine)
	}
	if parent != 0 && p.err == nil {
		if up = p.threads[parent]; up == 0 {
			tr := p.t.Track(parent)
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

// category implements overlayTarget.
func (p *appended) category([]byte) timeline.CategoryID { return 0 }

// encoder implements overlayTarget.
func (p *appended) encoder() *timeline.ArgsEncoder { return p.enc }
