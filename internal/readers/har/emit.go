package har

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"strconv"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
)

// emitter adds pages and entries to the timeline.
type emitter struct {
	*reader
	ctx         context.Context
	description string                         // description of the tracks
	withoutPage *readers.Lanes[timeline.Nanos] // tracks for requests without a page; created on demand
	join        *joiner
	events      uint32
	done        int
	out         timeline.Event
}

func (r *reader) emit(ctx context.Context) (err error) {
	e := &emitter{reader: r, ctx: ctx, description: "HTTP archive", join: &joiner{b: r.b, log: r.Log, mentions: extsort.New(mentionOrder, r.opts.Budget(8), r.opts.TempDir)}}
	defer func() { err = errors.Join(err, e.join.mentions.Close()) }()
	if program := cmp.Or(r.browser.String(), r.creator.String()); program != "" {
		e.description += " of " + program
	}
	for i := range r.pages {
		if err := e.page(&r.pages[i]); err != nil {
			return err
		}
	}
	if err := r.entries.Each(e.entry); err != nil {
		return err
	}
	return e.join.run(ctx)
}

// root returns the spec of a request track below the root of the trace. Tracks with the same key are lanes of one row.
func (e *emitter) root(name, key string) timeline.TrackSpec {
	return timeline.TrackSpec{
		Name: name, Description: e.description, Role: timeline.RoleNetwork, Merge: timeline.MergeByKey, MergeKey: key,
	}
}

// below returns tracks for requests below a track without events of its own: viewers show a track below the root only
// if it has a child (section 3).
func (e *emitter) below(root timeline.TrackID) *readers.Lanes[timeline.Nanos] {
	return readers.NewLanes[timeline.Nanos](e.b, root, timeline.TrackSpec{Name: "Requests", Role: timeline.RoleNetwork})
}

// page creates the track for a page's requests, and below it a track for the page's times, which become instants.
func (e *emitter) page(p *page) error {
	key := p.id
	if p.known {
		key += " " + strconv.FormatInt(int64(p.started), 10) // archives in one trace may contain pages with the same id
	}
	spec := e.root(timeline.RoleNetwork.String()+": "+p.name(), key)
	root := e.b.NewTrack(0, spec)
	if !p.known || p.started == timeline.NoTime {
		p.requests = e.below(root)
		return nil
	}
	p.requests = readers.NewLanes[timeline.Nanos](e.b, 0, spec, root)
	track := e.b.NewTrack(root, timeline.TrackSpec{Name: "Page events"})
	e.out = timeline.Event{Kind: timeline.Instant, TS: p.started, Track: track, Name: []byte("page"), Args: p.args}
	if err := e.add(p.offset); err != nil {
		return err
	}
	for _, m := range p.moments {
		e.out = timeline.Event{Kind: timeline.Instant, TS: p.started + m.at, Track: track, Name: []byte(m.name)}
		if err := e.add(p.offset); err != nil {
			return err
		}
	}
	return nil
}

// lanes returns the tracks for the requests of a page, or for requests without a page.
func (e *emitter) lanes(h *head) *readers.Lanes[timeline.Nanos] {
	if h.page == 0 {
		if e.withoutPage == nil {
			name := timeline.RoleNetwork.String()
			e.withoutPage = e.below(e.b.NewTrack(0, e.root(name, name)))
		}
		return e.withoutPage
	}
	p := &e.pages[h.page-1]
	if !p.known {
		e.Log.Add(problem.PageUnknown, problem.Position{Event: -1, Offset: h.offset}, p.id)
	}
	return p.requests
}

func (e *emitter) add(offset int64) error {
	e.out.Event, e.out.Offset = e.events, offset
	e.events++
	return e.b.Add(&e.out)
}

// entry adds an entry with its phases, messages and links.
func (e *emitter) entry(h *head, payload []byte) error {
	if e.done++; e.done%(1<<12) == 0 && e.ctx.Err() != nil {
		return e.ctx.Err()
	}
	name, payload := nextText(payload)
	category, payload := nextText(payload)
	sentKey, payload := nextText(payload)
	receivedKey, payload := nextText(payload)
	lanes := e.lanes(h)
	if o := e.b.Observer(); o != nil {
		o.Step(timeline.StepOf(h.start))
	}
	track, _ := lanes.Take(h.start, h.start+max(h.dur, 1)) // so that no request nests in a zero-length request
	args, err := e.messages(h, track, payload)
	if err != nil {
		return err
	}
	e.out = timeline.Event{
		Kind: timeline.Slice, TS: h.start, Dur: h.dur, Track: track, Name: name, Category: category, Args: args,
	}
	if err := e.add(h.offset); err != nil {
		return err
	}
	if err := e.mention(h, track); err != nil {
		return err
	}
	if err := e.link(h, string(sentKey), timeline.LinkSend); err != nil {
		return err
	}
	return e.phases(h, track, cmp.Or(string(receivedKey), string(sentKey)))
}

// mention records the request added last, and its references to other requests.
func (e *emitter) mention(h *head, track timeline.TrackID) (err error) {
	m := mention{ts: h.start, offset: h.offset, event: e.out.Event, page: h.page, track: track}
	add := func(a address, kind mentionKind) {
		if a != (address{}) {
			m.address, m.kind = a, kind
			err = errors.Join(err, e.join.mentions.Add(m))
		}
	}
	add(h.self, isRequest)
	add(h.initiator, initiatedBy)
	add(h.redirect, redirectsTo)
	return err
}

// link adds the key of a span to the event added last, e.out (docs/merge.md).
func (e *emitter) link(h *head, key string, role timeline.LinkRole) error {
	if key == "" || !e.b.WantsLinks() {
		return nil
	}
	return e.b.AddLink(&timeline.Link{
		Key: key, Role: role, Track: e.out.Track, Event: e.out.Event, Offset: h.offset, TS: e.out.TS, Dur: e.out.Dur,
		Step: timeline.StepOf(h.start), // the start of the phases
	})
}

// phases adds the phases of a request in sequence, with TLS inside connect or after it. The phase that receives the
// response has the key of the span that sent the response.
func (e *emitter) phases(h *head, track timeline.TrackID, received string) error {
	at := h.start
	for p, d := range h.phases {
		if d <= 0 {
			continue // not applicable, or no measurable time
		}
		start := at
		if phase(p) == tls && !h.tlsAfterConnect {
			start -= d // within connect
		} else {
			at += d
		}
		e.out = timeline.Event{
			Kind: timeline.Slice, TS: start, Dur: d, Track: track, Name: []byte(phaseNames[p]), Category: []byte("network"),
		}
		if err := e.add(h.offset); err != nil {
			return err
		}
		if phase(p) != receive {
			continue
		}
		if err := e.link(h, received, timeline.LinkReceive); err != nil {
			return err
		}
	}
	return nil
}

// nextText returns the first text of a payload and the rest of the payload.
func nextText(payload []byte) (text, rest []byte) {
	n, w := binary.Uvarint(payload)
	return payload[w:][:n], payload[w:][n:]
}
