package timeline

import (
	"cmp"
	"slices"

	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/wire"
)

// Notes are arguments that a pass gives to slices and instants of a nested timeline, see AttachNotes.
type Notes interface {
	// From returns the notes of the given ordinal and behind, sorted by ordinal. Several cursors may be used at once.
	From(ordinal uint64) (NoteCursor, error)
	// Close frees what is held.
	Close() error
}

// NoteCursor gives Notes one by one.
type NoteCursor interface {
	// Next stores the next note and reports whether there was one.
	Next(*Note) (bool, error)
}

// Note is an argument that a slice or instant gets.
type Note struct {
	Ordinal uint64 // see Item.Ordinal
	Args    Args
}

// AttachNotes gives the timeline notes, which are closed with it: Walk hands them out as Item.Notes. Nest comes first.
func (t *Timeline) AttachNotes(n Notes) { t.notes = n }

// HideArg makes Walk leave out an argument of slices and instants, the note of an earlier pass for example. The function
// returns its place in the ArgList, -1 if there is none. It may be called by several goroutines at once.
func (t *Timeline) HideArg(find func(Args) int) { t.hiddenArg = find }

// Overlay are events that a pass adds on tracks of its own, see AttachOverlay.
type Overlay interface {
	// After returns the events later than a time, in the order of time; at one time those that end a slice come first.
	// Several cursors may be used at once.
	After(ts Nanos) (OverlayCursor, error)
	// Close frees what is held.
	Close() error
}

// OverlayCursor gives the events of an Overlay one by one.
type OverlayCursor interface {
	// Next stores the next event in an empty Item and reports whether there was one: an ItemBegin with its Dur, an ItemEnd or
	// an ItemInstant, with TS, Track, NameID, Args and Correlation.
	Next(*Item) (bool, error)
}

// AttachOverlay gives the timeline events that Walk merges with its own, and counts them. The overlay is closed with the
// timeline. Nest comes first, and at most one overlay is attached.
func (t *Timeline) AttachOverlay(o Overlay, slices, instants int64) {
	t.overlay = o
	t.totals.Slices += slices
	t.totals.Instants += instants
}

// AddTrack adds a track for an overlay, below the root, a process or a thread.
func (t *Timeline) AddTrack(parent TrackID, spec TrackSpec) TrackID {
	t.table.specs = append(t.table.specs, spec)
	id := t.table.add(track{kind: NamedTrack, parent: parent, index: uint32(len(t.table.specs) - 1)})
	t.table.use(id)
	return id
}

// HideTracks leaves tracks out, with the slices and instants on them, of which there are the given numbers.
func (t *Timeline) HideTracks(ids []TrackID, slices, instants int64) {
	for _, id := range ids {
		row := &t.table.tracks[id]
		row.hidden, row.used = true, false
	}
	t.totals.Slices -= slices
	t.totals.Instants -= instants
}

// DropAttributes takes away facts about the whole trace.
func (t *Timeline) DropAttributes(drop func(key string) bool) {
	t.attributes = slices.DeleteFunc(t.attributes, func(a Attribute) bool { return drop(a.Key) })
}

// InternName returns the id of a name for use in an overlay; 0 if the table is full.
func (t *Timeline) InternName(name string) NameID {
	id, _ := t.names.intern([]byte(name))
	return NameID(id)
}

// additions is the part of a walker that hands out notes and overlays.
type additions struct {
	cursor NoteCursor // nil at the end
	ahead  Note
	have   bool
	notes  []Note // of the group
	shown  []byte // arguments without the one that is hidden

	overlay   OverlayCursor // nil at the end
	next      Item
	haveEvent bool
}

// startAdditions opens the cursors of a segment.
func (w *walker) startAdditions(seg *segment) (err error) {
	if w.t.notes != nil {
		if w.add.cursor, err = w.t.notes.From(seg.first); err != nil {
			return err
		}
	}
	if w.t.overlay == nil {
		return nil
	}
	w.add.overlay, err = w.t.overlay.After(seg.after)
	return err
}

// readNotes reads the notes of the next n records.
func (w *walker) readNotes(n uint64) error {
	a := &w.add
	a.notes = a.notes[:0]
	for a.cursor != nil {
		if !a.have {
			ok, err := a.cursor.Next(&a.ahead)
			if err != nil {
				return err
			}
			if !ok {
				a.cursor = nil
				return nil
			}
			a.have = true
		}
		if a.ahead.Ordinal >= w.ordinal+n {
			return nil
		}
		a.notes = append(a.notes, a.ahead)
		a.have = false
	}
	return nil
}

// note gives an item its note, and takes the hidden argument away.
func (w *walker) note(ordinal uint64) {
	if w.t.hiddenArg != nil && len(w.item.Args) > 0 {
		if i := w.t.hiddenArg(w.item.Args); i >= 0 {
			w.item.Args = w.without(w.item.Args, i)
		}
	}
	i, found := slices.BinarySearchFunc(w.add.notes, ordinal, func(n Note, ordinal uint64) int {
		return cmp.Compare(n.Ordinal, ordinal)
	})
	if found {
		w.item.Notes = w.add.notes[i].Args
	}
}

// without returns arguments without the one at a place.
func (w *walker) without(args Args, i int) Args {
	for r := wire.NewReader(args); r.Next(); {
		if r.Field() != schema.TrackEvent_DebugAnnotations {
			continue
		}
		if i == 0 {
			at := int(r.Offset())
			w.add.shown = append(append(w.add.shown[:0], args[:at]...), args[at+len(r.Raw()):]...)
			return w.add.shown
		}
		i--
	}
	return args
}

// overlayUpTo writes the events of the overlay up to a time, and the ends that come before each.
func (w *walker) overlayUpTo(ts Nanos) error {
	a := &w.add
	for a.overlay != nil {
		if !a.haveEvent {
			a.next = Item{}
			ok, err := a.overlay.Next(&a.next)
			if err != nil {
				return err
			}
			if !ok {
				a.overlay = nil
				return nil
			}
			a.haveEvent = true
		}
		if a.next.TS > ts {
			return nil
		}
		if err := w.closeUpTo(a.next.TS); err != nil {
			return err
		}
		w.item = a.next
		w.item.Name = w.t.names.get(uint32(a.next.NameID))
		a.haveEvent = false
		if err := w.emit(&w.item); err != nil {
			return err
		}
	}
	return nil
}

// Renamed returns the one argument that is encoded in a, under another name.
func (a Args) Renamed(name string) Args {
	r := wire.NewReader(a)
	if !r.Next() {
		return nil
	}
	value := wire.NewReader(r.Bytes())
	value.Next() // the name comes first
	b, m := wire.BeginMessage(nil, schema.TrackEvent_DebugAnnotations)
	b = wire.AppendString(b, schema.DebugAnnotation_Name, name)
	return wire.EndMessage(append(b, r.Bytes()[len(value.Raw()):]...), m)
}

// NewArgs returns an encoder for arguments of notes and overlays.
func (t *Timeline) NewArgs() *ArgsEncoder {
	e := &ArgsEncoder{keys: t.keys, values: t.values}
	e.Reset()
	return e
}

// ValueCount returns the number of interned values of arguments, which have ids from 1 on.
func (t *Timeline) ValueCount() int { return t.values.len() }

// Value returns an interned value of arguments.
func (t *Timeline) Value(id uint32) []byte { return t.values.get(id) }

// NewInlineArgs returns an encoder for arguments that are no part of any timeline: names and texts are written as they
// are.
func NewInlineArgs() *ArgsEncoder {
	e := &ArgsEncoder{keys: &stringTable{ends: []uint32{0}, slots: make([]slot, 1), full: true}}
	e.Reset()
	return e
}
