package pfwire

import "github.com/weft-trace/weft/internal/pfwire/message"

// Interned holds the interned data of a sequence since it last started anew. Most sequences have few kinds of it.
type Interned struct {
	tables []internedTable
	places [message.NumInternedKinds]uint8 // by kind, of its table plus one; 0: there is none
	bytes  int                             // that the entries take
}

// internedTable maps the ids of one kind to their entries. Producers count ids up from 1, so most live in a slice.
type internedTable struct {
	dense  [][]byte
	sparse map[uint64][]byte
}

// Text returns the text of an interned id, or the encoded entry of a kind that is not a text.
func (t *Interned) Text(kind message.InternedKind, iid uint64) ([]byte, bool) {
	place := t.places[kind]
	if place == 0 {
		return nil, false
	}
	table := &t.tables[place-1]
	if iid < uint64(len(table.dense)) && table.dense[iid] != nil {
		return table.dense[iid], true
	}
	text, ok := table.sparse[iid]
	return text, ok
}

// define enters the entries of an InternedData message. An id that is already defined keeps its meaning, as in Perfetto.
func (t *Interned) define(msg []byte) error {
	d := message.NewInternedData(msg)
	for d.Next() {
		if d.IID == 0 {
			continue
		}
		if t.places[d.Kind] == 0 {
			t.tables = append(t.tables, internedTable{})
			t.places[d.Kind] = uint8(len(t.tables))
		}
		t.bytes += t.tables[t.places[d.Kind]-1].define(d.IID, d.Entry)
	}
	return d.Err()
}

// entryBytes is what an entry takes beside its bytes, and what readers remember of one.
const entryBytes = 96

// define enters an entry and returns how many bytes that takes.
func (t *internedTable) define(iid uint64, text []byte) int {
	n := uint64(len(t.dense))
	if iid < n && t.dense[iid] != nil {
		return 0
	}
	if _, ok := t.sparse[iid]; ok {
		return 0
	}
	text = append([]byte{}, text...) // never nil: nil means undefined
	// An id may be a little beyond the slice; one far beyond would let a few bytes of input claim much memory.
	if iid >= n && iid-n < 16+n {
		grown := make([][]byte, iid+1-n)
		t.dense = append(t.dense, grown...)
		n = uint64(len(t.dense))
	}
	if iid < n {
		t.dense[iid] = text
		return entryBytes + len(text)
	}
	if t.sparse == nil {
		t.sparse = make(map[uint64][]byte)
	}
	t.sparse[iid] = text
	return entryBytes + len(text)
}
