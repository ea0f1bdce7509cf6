package timeline

import (
	"context"
	"errors"
	"slices"

	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/wire"
)

// Note is an argument that a slice or instant gets.
type Note struct {
	Ordinal uint64 // see Item.Ordinal
	Args    Args
}

func (n Note) ordinal() uint64 { return n.Ordinal }

// AttachNotes gives the timeline notes, which are closed with it: Walk hands them out as Item.Notes. Nest comes first.
func (t *Timeline) AttachNotes(n Attached[Note]) { t.notes = n }

// HideArg makes Walk leave out an argument of slices and instants, the note of an earlier pass for example. The function
// returns its place in the ArgList, -1 if there is none. It may be called by several goroutines at once.
func (t *Timeline) HideArg(find func(Args) int) { t.hiddenArg = find }

// Overlay are events that a pass adds on tracks of its own, see AttachOverlay.
type Overlay interface {
	// After returns a reader of the events later than a time. It stores the next one in an empty Item and returns false if there
	// is no more. Events come in the order of time; at one time, ends of slices come first: an ItemBegin with its Dur, an ItemEnd
	// or an ItemInstant, with TS, Track, NameID or Name, Args and Correlation. Several may be used at once.
	After(ts Nanos) (next func(*Item) (bool, error), err error)
	// Close frees what is held.
	Close() error
}

// AttachOverlay gives the timeline events of weft's own, which Walk merges with the others, and counts them. The overlay is closed with the
// timeline. Nest comes first. Of several overlays, the events of the first come first where nothing else decides.
func (t *Timeline) AttachOverlay(o Overlay, slices, instants int64) {
	if t.overlay != nil {
		o = &joinedOverlay{t.overlay, o}
	}
	t.overlay = o
	t.totals.Slices += slices
	t.totals.Instants += instants
	t.totals.OwnSlices += slices
	t.totals.OwnInstants += instants
}

// joinedOverlay are two overlays.
type joinedOverlay struct{ first, second Overlay }

// After implements Overlay.
func (j *joinedOverlay) After(ts Nanos) (func(*Item) (bool, error), error) {
	var a, b readAhead[Item]
	var errA, errB error
	a.next, errA = j.first.After(ts)
	b.next, errB = j.second.After(ts)
	return func(e *Item) (bool, error) {
		x, errX := a.peek()
		y, errY := b.peek()
		if err := errors.Join(errX, errY); err != nil || x == nil && y == nil {
			return false, err
		}
		from := &a
		if x == nil || y != nil && (y.TS < x.TS || y.TS == x.TS && y.Kind == ItemEnd && x.Kind != ItemEnd) {
			from, x = &b, y
		}
		*e = *x
		from.have, *x = false, Item{}
		return true, nil
	}, errors.Join(errA, errB)
}

// Close implements Overlay.
func (j *joinedOverlay) Close() error { return errors.Join(j.first.Close(), j.second.Close()) }

// InternCategory returns the id of a category list for use in an overlay; 0 if the table is full.
func (t *Timeline) InternCategory(list []byte) CategoryID {
	id, _ := t.categories.intern(list)
	return CategoryID(id)
}

// AddTrack adds a track for an overlay, below the root, a process or a thread.
func (t *Timeline) AddTrack(parent TrackID, spec TrackSpec) TrackID {
	t.table.specs = append(t.table.specs, spec)
	id := t.table.add(track{kind: NamedTrack, parent: parent, index: uint32(len(t.table.specs) - 1)})
	t.table.use(id)
	return id
}

// CountOn returns how many slices and instants are on some tracks. Nest comes first.
func (t *Timeline) CountOn(ids []TrackID) (slices, instants int64, err error) {
	on := make([]bool, len(t.table.tracks))
	for _, id := range ids {
		on[id] = true
	}
	err = t.groups(context.Background(), false, func(g *group) error {
		for i := range g.len() {
			switch r := g.at(i); {
			case !on[r.track] || !r.starts():
			case r.Kind() == Instant:
				instants++
			default:
				slices++
			}
		}
		return nil
	})
	return slices, instants, err
}

// HideTracks leaves tracks of weft's own out, with the slices and instants on them, of which there are the given numbers.
func (t *Timeline) HideTracks(ids []TrackID, slices, instants int64) {
	t.ids, t.hides = nil, t.hides || len(ids) > 0
	for _, id := range ids {
		row := &t.table.tracks[id]
		row.hidden, row.used = true, false
	}
	t.totals.Slices -= slices
	t.totals.Instants -= instants
	t.totals.OwnSlices -= slices
	t.totals.OwnInstants -= instants
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

// note gives an item its note, and takes the hidden argument away.
func (w *walker) note(ordinal uint64) {
	if w.t.hiddenArg != nil && len(w.item.Args) > 0 {
		if i := w.t.hiddenArg(w.item.Args); i >= 0 {
			w.item.Args = w.without(w.item.Args, i)
		}
	}
	if notes := w.notes.of(ordinal); notes != nil {
		w.item.Notes = notes[0].Args
	}
}

// without returns arguments without the one at a place.
func (w *walker) without(args Args, i int) Args {
	for r := wire.NewReader(args); r.Next(); {
		if r.Field() != schema.TrackEvent_DebugAnnotations {
			continue
		}
		if i == 0 {
			at := r.Offset()
			w.shown = append(append(w.shown[:0], args[:at]...), args[at+len(r.Raw()):]...)
			return w.shown
		}
		i--
	}
	return args
}

// overlayUpTo writes the events of the overlay up to a time, and the ends that come before each.
func (w *walker) overlayUpTo(ts Nanos) error {
	for {
		e, err := w.overlay.peek()
		if err != nil || e == nil || e.TS > ts {
			return err
		}
		if err := w.closeUpTo(e.TS); err != nil {
			return err
		}
		w.item = *e
		w.item.Added, w.item.Ordinal = true, NoOrdinal
		if e.NameID != 0 {
			w.item.Name = w.t.names.get(uint32(e.NameID))
		}
		w.overlay.have, *e = false, Item{}
		if err := w.emit(&w.item); err != nil {
			return err
		}
	}
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
	e := &ArgsEncoder{keys: t.keys, values: t.values, correlated: t.correlated}
	e.Reset()
	return e
}

// ValueCount returns the number of interned values of arguments, which have ids from 1 on.
func (t *Timeline) ValueCount() int { return t.values.len() }

// Value returns an interned value of arguments.
func (t *Timeline) Value(id uint32) []byte { return t.values.get(id) }

// NewInlineArgs returns an encoder for arguments that are not part of any timeline: names and texts are written as they
// are.
func NewInlineArgs() *ArgsEncoder {
	e := &ArgsEncoder{keys: &stringTable{ends: []uint32{0}, slots: make([]slot, 1), full: true}}
	e.Reset()
	return e
}
