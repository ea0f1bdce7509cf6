package writeback

import (
	"slices"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/timeline"
)

// notes holds the encoded arguments for the sets of slices and instants.
type notes struct {
	r    *attribution.Result
	args []timeline.Args // by SetID; nil: encoded on demand
	sets *extsort.Sorted[attribution.EventSet]
}

// maxNotes bounds the size in bytes of the notes that are encoded in advance. Real traces have a few kilobytes.
const maxNotes = 16 << 20

// notes encodes the notes of sets, up to maxNotes, with interned or inline texts.
func (a *Additions) notes(enc *timeline.ArgsEncoder, interned bool) *notes {
	r := a.result
	n := &notes{r: r, sets: r.EventSets, args: make([]timeline.Args, r.Sets.Lists.Len())}
	text := func(s string) { enc.String([]byte(s)) }
	if interned {
		text = func(s string) { enc.InternedString(s) }
	}
	for set, size := 0, 0; set < len(n.args) && size < r.Contexts.Limits.Of(maxNotes); set++ {
		if r.Used.Has(attribution.SetID(set)) {
			n.args[set] = slices.Clone(n.encode(enc, attribution.SetID(set), text))
			size += len(n.args[set])
		}
	}
	return n
}

// argsOf returns the note of a set under the name that an EventSet.Key selects, or nil if there is none. Notes that were not
// encoded in advance have inline names and texts, because the tables of the timeline must not change. Such notes are valid until
// the next use of the encoder.
func (n *notes) argsOf(set attribution.SetID, key uint8, inline *timeline.ArgsEncoder) timeline.Args {
	args := n.args[set]
	if args == nil {
		args = n.encode(inline, set, func(s string) { inline.String([]byte(s)) })
	}
	switch {
	case key == 0:
		return args
	case int(key) < len(attribution.NoteKeys):
		return args.Renamed(attribution.NoteKeys[key])
	}
	return nil
}

// From implements timeline.Attached.
func (n *notes) From(ordinal uint64) (func(*timeline.Note) (bool, error), error) {
	i, err := n.sets.Search(func(s *attribution.EventSet) bool { return s.Ordinal >= ordinal })
	if err != nil {
		return nil, err
	}
	at, inline := n.sets.From(i), timeline.NewInlineArgs()
	var set attribution.EventSet
	return func(out *timeline.Note) (bool, error) {
		for {
			ok, err := at.Next(&set)
			if err != nil || !ok {
				return ok, err
			}
			if args := n.argsOf(set.Set, set.Key, inline); args != nil {
				if n.args[set.Set] == nil {
					args = slices.Clone(args) // the walk reads ahead, which reuses inline
				}
				*out = timeline.Note{Ordinal: set.Ordinal, Args: args}
				return true, nil
			}
		}
	}, nil
}

// Close implements timeline.Attached.
func (n *notes) Close() error { return n.sets.Close() }

// encode encodes the contexts of a set, sorted by type name.
func (n *notes) encode(enc *timeline.ArgsEncoder, set attribution.SetID, text func(string)) timeline.Args {
	enc.Reset()
	enc.Key([]byte(attribution.NoteKey))
	enc.BeginDict()
	for _, id := range n.r.ByTypeName(set) {
		e := &n.r.Sets.Members[id]
		enc.Key([]byte(n.r.Contexts.Types[e.Type]))
		enc.BeginDict()
		id, name := attribution.Unattributed, attribution.Unattributed
		if e.Node != 0 {
			id, name = n.r.Contexts.Nodes[e.Node].Identity.String(), n.r.Contexts.LabelOf(e.Node, e.Snapshot)
		}
		enc.Key([]byte("id"))
		text(id)
		enc.Key([]byte("name"))
		text(name)
		enc.Key([]byte("via"))
		text(e.Via.String())
		if e.Hops > 0 {
			enc.Key([]byte("hops"))
			enc.Int(int64(e.Hops))
		}
		if e.Candidates != 0 {
			enc.Key([]byte("candidates"))
			enc.BeginArray()
			for _, node := range n.r.Sets.Candidates.At(uint32(e.Candidates)) {
				text(n.r.Contexts.Nodes[node].Identity.String())
			}
			enc.EndArray()
		}
		enc.EndDict()
	}
	enc.EndDict()
	return enc.Args()
}
