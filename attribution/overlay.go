package attribution

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/radix"
	"github.com/weft-trace/weft/internal/timeline"
)

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
	Key:  func(o *overlayRow) uint64 { return radix.KeyOf(int64(o.ts)) },
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
	c     *catalogue
	rows  *extsort.Sorted[overlayRow]
	names []string        // of logical nodes, for Correlation; "": not held
	args  []timeline.Args // of instants

	slices, instants int64
}

// nameOf returns the name of a logical node.
func (o *overlay) nameOf(node NodeID) string {
	if name := o.names[node]; name != "" {
		return name
	}
	return o.c.nodes[node].Identity.String()
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
	overlay *overlay
	at      *extsort.Cursor[overlayRow]
	row     overlayRow
}

// Next implements timeline.OverlayCursor.
func (c *overlayCursor) Next(e *timeline.Item) (bool, error) {
	ok, err := c.at.Next(&c.row)
	if !ok || err != nil {
		return false, err
	}
	*e = c.overlay.event(&c.row)
	return true, nil
}

// event returns the event of a row, whose track and name are those of the overlay's target.
func (o *overlay) event(r *overlayRow) timeline.Item {
	e := timeline.Item{Kind: r.kind, TS: r.ts, Dur: r.dur, Track: r.track, NameID: r.name}
	switch r.kind {
	case timeline.ItemBegin:
		e.Correlation = o.nameOf(NodeID(r.ref))
	case timeline.ItemInstant:
		e.Args = o.args[r.ref]
	}
	return e
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
	o := &overlay{c: r.c, names: make([]string, len(r.c.nodes))}
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

// catalogueSpec describes the track with all contexts.
var catalogueSpec = timeline.TrackSpec{
	Name: timeline.RoleCatalogue.String(), Role: timeline.RoleCatalogue,
	Description: "All contexts and what is known of them, found by weft",
}

// intervalsSpec describes the track of a thread with the contexts of a type for which it worked.
func intervalsSpec(typ string) timeline.TrackSpec {
	return timeline.TrackSpec{
		Name: "Context: " + typ, Role: timeline.RoleContexts, Subject: typ,
		Description: "Contexts for which the thread worked, found by weft",
	}
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
		tracks[t] = to.addTrack(t.thread, intervalsSpec(r.c.types[t.typ]))
	}
	var i interval
	for held := 0; ; {
		ok, err := r.shown.sorted.Next(&i)
		if err != nil || !ok {
			return err
		}
		o.slices++
		logical := r.c.logicalOf(i.node)
		if o.names[logical] == "" && held < r.c.most.names {
			o.names[logical] = r.c.nodes[logical].Identity.String()
			held += len(o.names[logical])
		}
		row := overlayRow{
			ts: i.from, dur: i.to - i.from, track: tracks[intervalTrack{i.thread, i.typ}], kind: timeline.ItemBegin,
			name: to.name(r.c.labelOf(i.node, i.snapshot)), ref: uint32(logical),
		}
		err = rows.Add(row)
		row.ts, row.kind = i.to, timeline.ItemEnd
		if err = errors.Join(err, rows.Add(row)); err != nil {
			return err
		}
	}
}

// maxNames bounds the bytes of the names of contexts that are held. Real traces have some kilobytes of them; what is beyond it
// is made anew whenever it is asked for.
const maxNames = 8 << 20

// Limits of the catalogue, for every budget: a recording of 190 MB has more than 8,000 instants in it.
const (
	maxCatalogue     = 1 << 16
	maxCatalogueSize = 16 << 20 // bytes of their arguments
)

// known is an entry of the catalogue: a context from the time on at which something becomes known of it.
type known struct {
	ts   timeline.Nanos
	node NodeID
}

// addCatalogue adds a track with an instant for every context and each of its states. No two are at one time, because
// Perfetto would stack them: those that would be follow each other, a nanosecond apart.
func (r *Result) addCatalogue(rows *extsort.Sorter[overlayRow], o *overlay, to overlayTarget) error {
	entries := r.catalogueEntries()
	times := make([]timeline.Nanos, len(entries))
	for i := range entries {
		times[i] = entries[i].ts
	}
	tracks := make([]timeline.TrackID, r.uses.apart(times))
	size := 0
	enc := to.encoder()
	for i, e := range entries {
		if size >= maxCatalogueSize {
			r.catalogueCut()
			return nil
		}
		if i < len(tracks) {
			tracks[i] = to.addTrack(0, catalogueSpec)
		}
		enc.Reset()
		r.describe(enc, e.node, e.ts)
		size += len(enc.Args())
		o.args = append(o.args, slices.Clone(enc.Args()))
		row := overlayRow{
			ts: times[i], track: tracks[i%len(tracks)], name: to.name(r.c.label(e.node, e.ts)), kind: timeline.ItemInstant,
			ref: uint32(o.instants),
		}
		if err := rows.Add(row); err != nil {
			return err
		}
		o.instants++
	}
	return nil
}

// catalogueEntries returns what is in the catalogue, in the order of time.
func (r *Result) catalogueEntries() []known {
	var entries []known
	for id := range r.c.nodes {
		node := NodeID(id)
		if node == 0 || !r.c.nodes[node].context || r.c.logicalOf(node) != node {
			continue
		}
		for _, ts := range r.statesOf(node) {
			if len(entries) == maxCatalogue {
				r.catalogueCut()
				return inOrder(entries)
			}
			entries = append(entries, known{ts, node})
		}
	}
	return inOrder(entries)
}

func inOrder(entries []known) []known {
	slices.SortStableFunc(entries, func(a, b known) int { return cmp.Compare(a.ts, b.ts) })
	return entries
}

func (r *Result) catalogueCut() {
	r.t.Problems().Add(problem.ContextLimit, problem.NoPosition, "in the catalogue")
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
