package attribution

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/timeline"
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
	r      *Result
	stamps *extsort.Sorted[stamp]
	args   []timeline.Args // by SetID; nil: to be encoded when it is asked for
}

// maxNotes bounds the bytes of notes that are held encoded. Real traces have some kilobytes of them.
const maxNotes = 16 << 20

// From implements timeline.Notes.
func (n *notes) From(ordinal uint64) (timeline.NoteCursor, error) {
	i, err := n.stamps.Search(func(s *stamp) bool { return s.ordinal >= ordinal })
	if err != nil {
		return nil, err
	}
	return &noteCursor{notes: n, at: n.stamps.From(i)}, nil
}

// Close implements timeline.Notes.
func (n *notes) Close() error { return n.stamps.Close() }

type noteCursor struct {
	notes *notes
	at    *extsort.Cursor[stamp]
	next  stamp
	enc   *timeline.ArgsEncoder // of notes that are not held, nil as long as none was asked for
}

// Next implements timeline.NoteCursor.
func (c *noteCursor) Next(n *timeline.Note) (bool, error) {
	for {
		ok, err := c.at.Next(&c.next)
		if err != nil || !ok {
			return ok, err
		}
		args := c.notes.args[c.next.set]
		if args == nil {
			args = c.encode()
		}
		if args = underKey(args, c.next.key); args != nil {
			*n = timeline.Note{Ordinal: c.next.ordinal, Args: args}
			return true, nil
		}
	}
}

// encode encodes a note that is not held, with names and texts as they are: cursors do not change the timeline.
func (c *noteCursor) encode() timeline.Args {
	if c.enc == nil {
		c.enc = timeline.NewInlineArgs()
	}
	return slices.Clone(c.notes.r.encodeInline(c.enc, c.next.set))
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
	n := &notes{r: r, stamps: r.stamps, args: make([]timeline.Args, r.sets.sets.len())}
	r.stamps = nil
	enc := r.t.NewArgs()
	for set, held := 0, 0; set < len(n.args) && held < r.c.most.notes; set++ {
		if r.used.has(SetID(set)) {
			enc.Reset()
			r.encode(enc, SetID(set), func(text string) { enc.InternedString(text) })
			n.args[set] = slices.Clone(enc.Args())
			held += len(n.args[set])
		}
	}
	return n
}

// encodeInline encodes a set with names and texts as they are. The result is valid until the next use of the encoder.
func (r *Result) encodeInline(enc *timeline.ArgsEncoder, set SetID) timeline.Args {
	enc.Reset()
	r.encode(enc, set, func(text string) { enc.String([]byte(text)) })
	return enc.Args()
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
			text(r.c.labelOf(e.node, e.snapshot))
		} else {
			text(unattributed)
			enc.Key([]byte("name"))
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

// others is the row of a table for what has no row of its own, because there are too many.
const others = "(others)"

// byTypeName returns the entries of a set in the order of their types' names.
func (r *Result) byTypeName(set SetID) []entryID {
	list := slices.Clone(r.sets.sets.at(uint32(set)))
	slices.SortFunc(list, func(a, b entryID) int {
		return cmp.Compare(r.c.types[r.sets.entries[a].typ], r.c.types[r.sets.entries[b].typ])
	})
	return list
}

// labelOf is how a context is called in the state in which an entry means it: the url, else class and id, else the id. One
// that is bound to no state although there are some is called by its id (attribution.md, rule 3).
func (c *catalogue) labelOf(node NodeID, snapshot snapshotID) string {
	if snapshot == 0 {
		if int(node) < len(c.states) && lastKnown(c.states[node]) != 0 {
			return c.nodes[node].ID
		}
		return c.label(node, lastTime)
	}
	if url := c.snapshots[snapshot].url; url != "" {
		return url
	}
	return c.label(node, c.snapshots[snapshot].ts)
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
	table, err := r.Table(TableOptions{Type: typ, Limit: attributeRows})
	if err != nil {
		return nil, err
	}
	for rows := attributeRows; ; {
		text, err := table.JSON()
		if err != nil || len(text) <= maxAttribute || rows == 1 {
			return text, err
		}
		rows /= 2
		table.cut(rows)
	}
}

// cut leaves out the rows of a table behind a limit.
func (t *Table) cut(limit int) {
	kept := t.Rows[:0]
	for i := range t.Rows {
		if t.keeps(i, &t.Rows[i], limit) {
			kept = append(kept, t.Rows[i])
		}
	}
	t.Omitted += len(t.Rows) - len(kept)
	t.Rows = kept
}

// Costs among the facts about a trace have the first attributeRows rows, or fewer: of longer texts than maxAttribute
// bytes readers, weft's own among them, keep nothing.
const (
	attributeRows = 20
	maxAttribute  = 16 << 10
)
