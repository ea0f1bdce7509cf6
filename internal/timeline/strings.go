package timeline

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// stringTable interns texts: equal texts get equal ids, 1, 2, 3 … in order of first use. When maxInternedBytes are
// held, the table is full and stays so; texts that are not in it are then kept with the records that use them. The
// limit is a constant, not a share of the memory budget, so that the output does not depend on the budget.
type stringTable struct {
	text  []byte   // all texts, one after the other
	ends  []uint32 // ends[id]: end of text id; its start is ends[id-1]
	slots []slot   // hash table, a power of two long
	seed  uint64   // so that no input can be made to collide
	full  bool

	wanted func(text string) bool // has a place of its own when the table is full; nil: nothing has
	late   int                    // bytes of such texts
}

type slot struct {
	hash uint32
	id   uint32
}

// maxInternedBytes and maxInterned bound one table. Real traces hold a few thousand names.
const (
	maxInternedBytes = 16 << 20
	maxInterned      = 1 << 19
	// maxInternedLength keeps a single huge name from filling the table.
	maxInternedLength = 1 << 16
	// maxLateBytes and maxLateLength bound the texts that a full table takes because weft knows them.
	maxLateBytes  = 64 << 10
	maxLateLength = 256
)

func newStringTable() *stringTable {
	return &stringTable{ends: []uint32{0}, slots: make([]slot, 256), seed: rand.Uint64()}
}

// intern returns the id of a text, or 0 and false if it is not in the table and the table is full. The id of the empty
// text is 0.
func (t *stringTable) intern(text []byte) (id uint32, ok bool) {
	if len(text) == 0 {
		return 0, true
	}
	h := hashText(text, t.seed)
	mask := uint32(len(t.slots) - 1)
	i := h & mask
	for ; t.slots[i].id != 0; i = (i + 1) & mask {
		if t.slots[i].hash == h && string(t.get(t.slots[i].id)) == string(text) {
			return t.slots[i].id, true
		}
	}
	if len(text) > maxInternedLength {
		return 0, false
	}
	if !t.full && (len(t.text)+len(text) > maxInternedBytes || len(t.ends) >= maxInterned) {
		t.full = true // several goroutines look at a snapshot, which is full: nothing is written to one
	}
	if t.full {
		if len(text) > maxLateLength || t.late >= maxLateBytes || t.wanted == nil || !t.wanted(string(text)) {
			return 0, false
		}
		t.late += len(text)
	}
	t.text = append(t.text, text...)
	t.ends = append(t.ends, uint32(len(t.text)))
	id = uint32(len(t.ends) - 1)
	t.slots[i] = slot{hash: h, id: id}
	if len(t.ends)*2 > len(t.slots) {
		t.grow()
	}
	return id, true
}

// knows reports whether a text is in the table.
func (t *stringTable) knows(text string) bool {
	h, mask := hashText([]byte(text), t.seed), uint32(len(t.slots)-1)
	for i := h & mask; t.slots[i].id != 0; i = (i + 1) & mask {
		if t.slots[i].hash == h && string(t.get(t.slots[i].id)) == text {
			return true
		}
	}
	return false
}

// has interns a text and reports whether that is possible.
func (t *stringTable) has(text []byte) bool {
	_, ok := t.intern(text)
	return ok
}

// snapshot returns a table that has what t has now, and does not grow. Texts are only ever appended to t, so that they
// can be shared.
func (t *stringTable) snapshot() *stringTable {
	return &stringTable{
		text: t.text[:len(t.text):len(t.text)], ends: t.ends[:len(t.ends):len(t.ends)],
		slots: slices.Clone(t.slots), seed: t.seed, full: true,
	}
}

// get returns the text of an id; it must not be changed.
func (t *stringTable) get(id uint32) []byte {
	if id == 0 || uint(id) >= uint(len(t.ends)) { // an id may be a hash of 32 bits
		return nil
	}
	return t.text[t.ends[id-1]:t.ends[id]]
}

// len returns the number of texts; their ids are 1 to len.
func (t *stringTable) len() int { return len(t.ends) - 1 }

func (t *stringTable) grow() {
	old := t.slots
	t.slots = make([]slot, 2*len(old))
	mask := uint32(len(t.slots) - 1)
	for _, s := range old {
		if s.id == 0 {
			continue
		}
		i := s.hash & mask
		for t.slots[i].id != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = s
	}
}

// hashText is a multiply-and-fold hash. Nearly all names have at most 16 bytes, which take one multiplication.
func hashText(b []byte, seed uint64) uint32 {
	const m1, m2 = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93
	le := binary.LittleEndian
	n := uint64(len(b))
	h := seed ^ n*m1
	for len(b) > 16 {
		hi, lo := bits.Mul64(h^le.Uint64(b), le.Uint64(b[8:])^m2)
		h = hi ^ lo
		b = b[16:]
	}
	var first, last uint64
	switch {
	case len(b) >= 8:
		first, last = le.Uint64(b), le.Uint64(b[len(b)-8:])
	case len(b) >= 4:
		first, last = uint64(le.Uint32(b)), uint64(le.Uint32(b[len(b)-4:]))
	case len(b) > 0:
		first = uint64(b[0])<<16 | uint64(b[len(b)/2])<<8 | uint64(b[len(b)-1])
	}
	hi, lo := bits.Mul64(h^first, last^m2)
	h = hi ^ lo
	return uint32(h ^ h>>32)
}
