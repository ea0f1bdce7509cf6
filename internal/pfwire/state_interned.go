package pfwire

import "github.com/weft-trace/weft/internal/pfwire/message"

// Interned is the interned data of a sequence since its last reset. Most sequences have few kinds of it.
type Interned struct {
	tables []internedTable
	index  [message.NumInternedKinds]uint8 // by kind: index into tables plus 1; 0: none
	bytes  int                             // memory of the entries
}

// internedTable maps the ids of one kind to their entries. Producers count ids from 1, so most entries are in a slice.
type internedTable struct {
	dense  [][]byte
	sparse map[uint64][]byte
}

// Text returns the text with an interned id, or the encoded entry of a kind without texts.
func (t *Interned) Text(kind message.InternedKind, iid uint64) ([]byte, bool) {
	i := t.index[kind]
	if i == 0 {
		return nil, false
	}
	table := &t.tables[i-1]
	if iid < uint64(len(table.dense)) && table.dense[iid] != nil {
		return table.dense[iid], true
	}
	text, ok := table.sparse[iid]
	return text, ok
}

// define adds the entries of an InternedData message. An id that is already defined keeps its meaning, as in Perfetto.
func (t *Interned) define(msg []byte) error {
	d := message.NewInternedData(msg)
	for d.Next() {
		if d.IID == 0 {
			continue
		}
		if t.index[d.Kind] == 0 {
			t.tables = append(t.tables, internedTable{})
			t.index[d.Kind] = uint8(len(t.tables))
		}
		t.bytes += t.tables[t.index[d.Kind]-1].define(d.IID, d.Entry)
	}
	return d.Err()
}

// entryBytes is the estimated memory of an entry except its bytes, including what readers store for it.
const entryBytes = 96

// define adds an entry and returns its memory in bytes.
func (t *internedTable) define(iid uint64, text []byte) int {
	n := uint64(len(t.dense))
	if iid < n && t.dense[iid] != nil {
		return 0
	}
	if _, ok := t.sparse[iid]; ok {
		return 0
	}
	text = append([]byte{}, text...) // never nil: nil means undefined
	// The slice grows for an id slightly beyond its end. If it grew for any id, a few bytes of input could allocate much memory.

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
