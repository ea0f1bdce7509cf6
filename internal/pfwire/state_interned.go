package pfwire

import "github.com/weft-trace/weft/internal/pfwire/message"

// Interned holds the interned data of a sequence since it last started anew.
type Interned struct {
	tables [message.NumInternedKinds]internedTable
}

// internedTable maps the ids of one kind to their entries. Producers count ids up from 1, so most live in a slice.
type internedTable struct {
	dense  [][]byte
	sparse map[uint64][]byte
}

// Text returns the text of an interned id, or the encoded entry of a kind that is not a text.
func (t *Interned) Text(kind message.InternedKind, iid uint64) ([]byte, bool) {
	table := &t.tables[kind]
	if iid < uint64(len(table.dense)) && table.dense[iid] != nil {
		return table.dense[iid], true
	}
	text, ok := table.sparse[iid]
	return text, ok
}

// Dense returns how many ids of a kind, from 0 on, are kept in a list: what a reader of the trace remembers of these takes about as
// much memory as that does.
func (t *Interned) Dense(kind message.InternedKind) int { return len(t.tables[kind].dense) }

// define enters the entries of an InternedData message. An id that is already defined keeps its meaning, as in Perfetto.
func (t *Interned) define(msg []byte) error {
	d := message.NewInternedData(msg)
	for d.Next() {
		if d.IID != 0 {
			t.tables[d.Kind].define(d.IID, d.Entry)
		}
	}
	return d.Err()
}

func (t *internedTable) define(iid uint64, text []byte) {
	n := uint64(len(t.dense))
	if iid < n && t.dense[iid] != nil {
		return
	}
	if _, ok := t.sparse[iid]; ok {
		return
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
		return
	}
	if t.sparse == nil {
		t.sparse = make(map[uint64][]byte)
	}
	t.sparse[iid] = text
}
