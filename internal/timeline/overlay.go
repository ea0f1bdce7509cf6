package timeline

import (
	"context"
	"errors"
	"slices"

	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/wire"
)

// Note is an additional argument for a slice or instant.
type Note struct {
	Ordinal uint64 // see Item.Ordinal
	Args    Args
}

func (n Note) ordinal() uint64 { return n.Ordinal }

// AttachNotes sets the timeline's notes. Walk returns them as Item.Notes, and closing the timeline closes them. It requires Nest.
func (t *Timeline) AttachNotes(n Attached[Note]) { t.notes = n }

// HideArg makes Walk omit an argument of slices and instants, such as a note from an earlier pass. find returns the index of the
// argument in the ArgList, or -1 if it is absent; several goroutines may call find at once.
func (t *Timeline) HideArg(find func(Args) int) { t.hiddenArg = find }

// Overlay is a set of events that a pass adds on tracks of its own, see AttachOverlay.
type Overlay interface {
	// After returns a reader for the events later than ts. The reader stores the next event in an empty Item, or returns false at
	// the end. Events are in time order, and ends of slices come first at each time. An event is an ItemBegin with its Dur, an
	// ItemEnd or an ItemInstant, with TS, Track, NameID or Name, Args and Correlation. Several readers can be used at once.
	After(ts Nanos) (next func(*Item) (bool, error), err error)
	// Close frees memory and removes files.
	Close() error
}

// AttachOverlay adds an overlay, which Walk merges with the other events. It adds the given numbers of slices and instants, which
// the overlay contains, to the totals. The overlay is closed with the timeline. It requires Nest. Events of an earlier overlay
// precede simultaneous events of a later one, except that ends come first.
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

// joinedOverlay combines two overlays.
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

// InternCategory returns the id of a category list for use in an overlay, or 0 if the table is full.
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

// CountOn counts the slices and instants on the given tracks. It requires Nest.
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

// HideTracks hides tracks that weft added, and subtracts their slices and instants from the totals.
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

// DropAttributes removes the facts about the whole trace for which drop returns true.
func (t *Timeline) DropAttributes(drop func(key string) bool) {
	t.attributes = slices.DeleteFunc(t.attributes, func(a Attribute) bool { return drop(a.Key) })
}

// InternName returns the id of a name for use in an overlay, or 0 if the table is full.
func (t *Timeline) InternName(name string) NameID {
	id, _ := t.names.intern([]byte(name))
	return NameID(id)
}

// addNote adds the note of an item and removes its hidden argument.
func (w *walker) addNote(ordinal uint64) {
	if w.t.hiddenArg != nil && len(w.item.Args) > 0 {
		if i := w.t.hiddenArg(w.item.Args); i >= 0 {
			w.item.Args = w.removeArg(w.item.Args, i)
		}
	}
	if notes := w.notes.find(ordinal); notes != nil {
		w.item.Notes = notes[0].Args
	}
}

// removeArg returns args without the argument at index i.
func (w *walker) removeArg(args Args, i int) Args {
	for r := wire.NewReader(args); r.Next(); {
		if r.Field() != schema.TrackEvent_DebugAnnotations {
			continue
		}
		if i == 0 {
			at := r.Offset()
			w.filtered = append(append(w.filtered[:0], args[:at]...), args[at+len(r.Raw()):]...)
			return w.filtered
		}
		i--
	}
	return args
}

// overlayUpTo writes the overlay's events up to the given time, each after the ends that precede it.
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

// Renamed returns a copy of a, which must contain exactly one argument, with that argument renamed.
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

// NewArgs returns an encoder for the arguments of notes and overlays.
func (t *Timeline) NewArgs() *ArgsEncoder { return t.encoder() }

// ValueCount returns the number of interned argument values; their ids count from 1.
func (t *Timeline) ValueCount() int { return t.values.len() }

// Value returns an interned argument value.
func (t *Timeline) Value(id uint32) []byte { return t.values.get(id) }

// NewInlineArgs returns an encoder for arguments that belong to no timeline: it writes names and texts inline.
func NewInlineArgs() *ArgsEncoder {
	e := &ArgsEncoder{keys: &stringTable{ends: []uint32{0}, slots: make([]slot, 1), full: true}}
	e.Reset()
	return e
}
