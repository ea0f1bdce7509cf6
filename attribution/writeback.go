package attribution

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/timeline"
)

// WriteBack says what of an attribution goes into the trace. The zero value writes everything. Whatever is written, all
// that an earlier attribution has written is taken away.
type WriteBack struct {
	NoNotes     bool // no argument "contexts" on slices and instants
	NoTracks    bool // no track for each thread and type with the times at which contexts are in effect
	NoCatalogue bool // no track with the contexts and what is known of them
	NoCosts     bool // no cost tables among the facts about the trace
}

// nothing reports whether nothing is written.
func (w WriteBack) nothing() bool {
	return w == WriteBack{NoNotes: true, NoTracks: true, NoCatalogue: true, NoCosts: true}
}

// Attach puts the result into the timeline, in place of that of an earlier attribution, for whoever walks or writes it
// next. Nothing else of the trace changes. It comes at most once; the timeline closes what it needs of the result.
func (r *Result) Attach(w WriteBack) error {
	r.takeAway()
	if w.nothing() {
		return nil
	}
	if !w.NoNotes {
		r.t.AttachNotes(r.notes())
	}
	if !w.NoTracks || !w.NoCatalogue {
		if err := r.attachOverlay(w); err != nil {
			return err
		}
	}
	r.t.SetAttribute(timeline.Attribute{Key: formAttribute, Text: formConverted})
	if w.NoCosts {
		return nil
	}
	costs, err := r.costAttributes()
	for _, a := range costs {
		r.t.SetAttribute(a)
	}
	return err
}

// takeAway leaves out of the timeline what an earlier attribution has written.
func (r *Result) takeAway() {
	if !r.attributed {
		return
	}
	r.t.HideTracks(r.own.tracks, r.own.slices, r.own.instants)
	r.t.HideArg(func(args timeline.Args) int {
		place, _ := noteIn(r.t, args)
		return place
	})
	r.t.DropAttributes(isOwnAttribute)
}

// notes are the annotations of all sets that slices have.
type notes struct {
	stamps *extsort.Sorted[stamp]
	args   []timeline.Args // by SetID
}

// From implements timeline.Notes.
func (n *notes) From(ordinal uint64) (timeline.NoteCursor, error) {
	i, err := n.stamps.Search(func(s *stamp) bool { return s.ordinal >= ordinal })
	if err != nil {
		return nil, err
	}
	return &noteCursor{n, n.stamps.From(i), stamp{}}, nil
}

// Close implements timeline.Notes.
func (n *notes) Close() error { return n.stamps.Close() }

type noteCursor struct {
	*notes
	at   *extsort.Cursor[stamp]
	next stamp
}

// Next implements timeline.NoteCursor.
func (c *noteCursor) Next(n *timeline.Note) (bool, error) {
	for {
		ok, err := c.at.Next(&c.next)
		if err != nil || !ok {
			return ok, err
		}
		if args := underKey(c.args[c.next.set], c.next.key); args != nil {
			*n = timeline.Note{Ordinal: c.next.ordinal, Args: args}
			return true, nil
		}
	}
}

// underKey returns a note under another name than NoteKey, by index of noteKeys; nil if there is none.
func underKey(note timeline.Args, key uint8) timeline.Args {
	switch {
	case key == 0:
		return note
	case int(key) < len(noteKeys):
		return note.Renamed(noteKeys[key])
	}
	return nil
}

// notes hands the stamps over, with the annotation for every set.
func (r *Result) notes() *notes {
	n := &notes{stamps: r.stamps, args: make([]timeline.Args, r.sets.sets.len())}
	r.stamps = nil
	enc := r.t.NewArgs()
	for set := range r.sets.sets.len() {
		if r.used.has(SetID(set)) {
			enc.Reset()
			r.encode(enc, SetID(set), func(text string) { enc.InternedString(text) })
			n.args[set] = slices.Clone(enc.Args())
		}
	}
	return n
}

// encode encodes a set: its contexts by type, in the order of the types' names.
func (r *Result) encode(enc *timeline.ArgsEncoder, set SetID, text func(string)) {
	enc.Key([]byte(NoteKey))
	enc.BeginDict()
	for _, id := range r.byTypeName(set) {
		e := &r.sets.entries[id]
		enc.Key([]byte(r.c.types[e.typ]))
		enc.BeginDict()
		enc.Key([]byte("id"))
		if e.node != 0 {
			text(r.c.nodes[e.node].Identity.String())
			enc.Key([]byte("name"))
			text(r.labelOf(e))
		} else {
			text(unattributed)
		}
		enc.Key([]byte("via"))
		text(e.via.String())
		if e.hops > 0 {
			enc.Key([]byte("hops"))
			enc.Int(int64(e.hops))
		}
		if e.candidates != 0 {
			enc.Key([]byte("candidates"))
			enc.BeginArray()
			for _, n := range r.sets.lists.at(uint32(e.candidates)) {
				text(r.c.nodes[n].Identity.String())
			}
			enc.EndArray()
		}
		enc.EndDict()
	}
	enc.EndDict()
}

// unattributed is what stands where no context of a type is in effect.
const unattributed = "(unattributed)"

// byTypeName returns the entries of a set in the order of their types' names.
func (r *Result) byTypeName(set SetID) []entryID {
	list := slices.Clone(r.sets.sets.at(uint32(set)))
	slices.SortFunc(list, func(a, b entryID) int {
		return cmp.Compare(r.c.types[r.sets.entries[a].typ], r.c.types[r.sets.entries[b].typ])
	})
	return list
}

// labelOf is how a context is called in the state in which an entry means it.
func (r *Result) labelOf(e *entry) string {
	if e.snapshot != 0 {
		if url := r.c.snapshots[e.snapshot].url; url != "" {
			return url
		}
		return r.c.label(e.node, r.c.snapshots[e.snapshot].ts)
	}
	return r.c.label(e.node, lastTime)
}

// overlayRow is an event of the overlay: the begin or end of an interval, or an instant of the catalogue.
type overlayRow struct {
	ts, dur timeline.Nanos
	track   timeline.TrackID
	name    timeline.NameID
	kind    timeline.ItemKind
	ref     uint32 // begin: node; instant: index in args
}

var overlayCodec = extsort.Codec[overlayRow]{
	Size: 29,
	Put: func(b []byte, o *overlayRow) {
		le := binary.LittleEndian
		_ = b[28]
		le.PutUint64(b, uint64(o.ts))
		le.PutUint64(b[8:], uint64(o.dur))
		le.PutUint32(b[16:], uint32(o.track))
		le.PutUint32(b[20:], uint32(o.name))
		le.PutUint32(b[24:], o.ref)
		b[28] = byte(o.kind)
	},
	Get: func(b []byte, o *overlayRow) {
		le := binary.LittleEndian
		_ = b[28]
		*o = overlayRow{
			ts: timeline.Nanos(le.Uint64(b)), dur: timeline.Nanos(le.Uint64(b[8:])), track: timeline.TrackID(le.Uint32(b[16:])),
			name: timeline.NameID(le.Uint32(b[20:])), ref: le.Uint32(b[24:]), kind: timeline.ItemKind(b[28]),
		}
	},
}

// compareOverlay sorts by time, and at one time the ends first.
func compareOverlay(a, b *overlayRow) int {
	return cmp.Or(cmp.Compare(a.ts, b.ts), cmp.Compare(endLast(b.kind), endLast(a.kind)), cmp.Compare(a.track, b.track))
}

func endLast(k timeline.ItemKind) int {
	if k == timeline.ItemEnd {
		return 1
	}
	return 0
}

// overlay are the tracks that attribution adds.
type overlay struct {
	rows  *extsort.Sorted[overlayRow]
	names []string        // of nodes, for Correlation
	args  []timeline.Args // of instants

	slices, instants int64
}

// After implements timeline.Overlay.
func (o *overlay) After(ts timeline.Nanos) (timeline.OverlayCursor, error) {
	i, err := o.rows.Search(func(r *overlayRow) bool { return r.ts > ts })
	if err != nil {
		return nil, err
	}
	return &overlayCursor{o, o.rows.From(i), overlayRow{}}, nil
}

// Close implements timeline.Overlay.
func (o *overlay) Close() error { return o.rows.Close() }

type overlayCursor struct {
	*overlay
	at  *extsort.Cursor[overlayRow]
	row overlayRow
}

// Next implements timeline.OverlayCursor.
func (c *overlayCursor) Next(e *timeline.OverlayEvent) (bool, error) {
	ok, err := c.at.Next(&c.row)
	if !ok || err != nil {
		return false, err
	}
	r := &c.row
	*e = timeline.OverlayEvent{Kind: r.kind, TS: r.ts, Dur: r.dur, Track: r.track, Name: r.name}
	switch r.kind {
	case timeline.ItemBegin:
		e.Correlation = c.names[r.ref]
	case timeline.ItemInstant:
		e.Args = c.args[r.ref]
	}
	return true, nil
}

// overlayTarget is where the tracks of an attribution go.
type overlayTarget interface {
	addTrack(parent timeline.TrackID, spec timeline.TrackSpec) timeline.TrackID
	name(text string) timeline.NameID
	encoder() *timeline.ArgsEncoder
}

// attached is the timeline as an overlayTarget.
type attached struct {
	t   *timeline.Timeline
	enc *timeline.ArgsEncoder
}

func (a *attached) addTrack(parent timeline.TrackID, spec timeline.TrackSpec) timeline.TrackID {
	return a.t.AddTrack(parent, spec)
}
func (a *attached) name(text string) timeline.NameID { return a.t.InternName(text) }
func (a *attached) encoder() *timeline.ArgsEncoder   { return a.enc }

// attachOverlay makes the tracks.
func (r *Result) attachOverlay(w WriteBack) error {
	rows, o, err := r.overlayRows(w, &attached{r.t, r.t.NewArgs()})
	if err != nil {
		return err
	}
	defer rows.Close()
	if o.rows, err = rows.Sort(); err != nil {
		return err
	}
	r.t.AttachOverlay(o, o.slices, o.instants)
	return nil
}

// overlayRows makes the events of the tracks, which must be closed.
func (r *Result) overlayRows(w WriteBack, to overlayTarget) (*extsort.Sorter[overlayRow], *overlay, error) {
	rows := extsort.New(overlayCodec, compareOverlay, r.t.Memory()/16, r.t.TempDir())
	o := &overlay{names: make([]string, len(r.c.nodes))}
	var err error
	if !w.NoTracks && r.shown != nil {
		err = r.addIntervals(rows, o, to)
	}
	if !w.NoCatalogue && err == nil {
		err = r.addCatalogue(rows, o, to)
	}
	if err != nil {
		return nil, nil, errors.Join(err, rows.Close())
	}
	return rows, o, nil
}

// addIntervals adds a track for each thread and type, with the contexts in effect.
func (r *Result) addIntervals(rows *extsort.Sorter[overlayRow], o *overlay, to overlayTarget) error {
	order := make([]intervalTrack, 0, len(r.shown.used))
	for track := range r.shown.used {
		order = append(order, track)
	}
	slices.SortFunc(order, func(a, b intervalTrack) int {
		return cmp.Or(cmp.Compare(a.thread, b.thread), cmp.Compare(r.c.types[a.typ], r.c.types[b.typ]))
	})
	tracks := map[intervalTrack]timeline.TrackID{}
	for _, t := range order {
		tracks[t] = to.addTrack(t.thread, timeline.TrackSpec{Name: intervalsPrefix + r.c.types[t.typ], Description: intervalsDescription})
	}
	var i interval
	for {
		ok, err := r.shown.sorted.Next(&i)
		if err != nil || !ok {
			return err
		}
		o.slices++
		if o.names[i.node] == "" {
			o.names[i.node] = r.c.nodes[i.node].Identity.String()
		}
		row := overlayRow{
			ts: i.from, dur: i.to - i.from, track: tracks[intervalTrack{i.thread, i.typ}], kind: timeline.ItemBegin,
			name: to.name(r.c.label(i.node, i.from)), ref: uint32(i.node),
		}
		err = rows.Add(row)
		row.ts, row.kind = i.to, timeline.ItemEnd
		if err = errors.Join(err, rows.Add(row)); err != nil {
			return err
		}
	}
}

// maxCatalogue bounds the instants of the catalogue.
const maxCatalogue = 1 << 16

// addCatalogue adds a track with an instant for every context and each of its states.
func (r *Result) addCatalogue(rows *extsort.Sorter[overlayRow], o *overlay, to overlayTarget) error {
	track, made := timeline.TrackID(0), false
	enc := to.encoder()
	for id := range r.c.nodes {
		node := NodeID(id)
		if node == 0 || !r.c.nodes[node].context || r.c.logicalOf(node) != node {
			continue
		}
		if !made {
			track, made = to.addTrack(0, timeline.TrackSpec{Name: catalogueTrack, Description: catalogueDescription}), true
		}
		for _, ts := range r.statesOf(node) {
			if o.instants == maxCatalogue {
				return nil
			}
			enc.Reset()
			r.describe(enc, node, ts)
			o.args = append(o.args, slices.Clone(enc.Args()))
			row := overlayRow{
				ts: ts, track: track, name: to.name(r.c.label(node, ts)), kind: timeline.ItemInstant, ref: uint32(o.instants),
			}
			if err := rows.Add(row); err != nil {
				return err
			}
			o.instants++
		}
	}
	return nil
}

// statesOf returns the times at which something becomes known of a logical node, at least one.
func (r *Result) statesOf(node NodeID) []timeline.Nanos {
	start := r.t.Start()
	var times []timeline.Nanos
	for _, m := range r.c.membersOf(node) {
		if int(m) >= len(r.c.states) {
			continue
		}
		for _, s := range r.c.states[m] {
			if s.snapshot != 0 {
				times = append(times, max(s.from, start))
			}
		}
	}
	if len(times) == 0 {
		return []timeline.Nanos{start}
	}
	slices.Sort(times)
	return slices.Compact(times)
}

// describe encodes what is known of a logical node at a time.
func (r *Result) describe(enc *timeline.ArgsEncoder, node NodeID, ts timeline.Nanos) {
	put := func(key, text string) {
		if text != "" {
			enc.Key([]byte(key))
			enc.InternedString(text)
		}
	}
	put("id", r.c.nodes[node].Identity.String())
	put("class", r.c.class(node, ts))
	put("url", r.c.url(node, ts))
	if parent := r.c.parent(node, ts); parent != 0 {
		put("parent", r.c.nodes[parent].Identity.String())
	}
	if pid, ok := r.c.pid(node, ts); ok {
		enc.Key([]byte("pid"))
		enc.Int(pid)
	}
	if members := r.c.membersOf(node); len(members) > 1 {
		enc.Key([]byte("members"))
		enc.BeginArray()
		for _, m := range members {
			enc.InternedString(r.c.nodes[m].Identity.String())
		}
		enc.EndArray()
	}
	if n, ok := r.inputOf(node); ok {
		n.describe(enc, put)
	}
}

// inputOf returns the input event that a context is.
func (r *Result) inputOf(node NodeID) (*Input, bool) {
	i, ok := r.inputIndex[node]
	if !ok {
		return nil, false
	}
	return &r.inputs[i], true
}

// costAttributes are the cost tables as facts about the trace.
func (r *Result) costAttributes() ([]timeline.Attribute, error) {
	var list []timeline.Attribute
	for _, typ := range r.Types() {
		text, err := r.costText(typ)
		if err != nil {
			return nil, fmt.Errorf("cost of %s: %w", typ, err)
		}
		list = append(list, timeline.Attribute{Key: costAttribute + typ, Text: string(text)})
	}
	return list, nil
}

// costText returns the first rows of a cost table.
func (r *Result) costText(typ string) ([]byte, error) {
	for rows := attributeRows; ; rows /= 2 {
		table, err := r.Table(TableOptions{Type: typ, Limit: rows})
		if err != nil {
			return nil, err
		}
		text, err := table.JSON()
		if err != nil || len(text) <= maxAttribute || rows == 1 {
			return text, err
		}
	}
}

// Costs among the facts about a trace have the first attributeRows rows, or fewer: of longer texts than maxAttribute
// bytes readers, weft's own among them, keep nothing.
const (
	attributeRows = 20
	maxAttribute  = 16 << 10
)
