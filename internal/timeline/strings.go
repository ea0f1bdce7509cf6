package timeline

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// stringTable interns texts: equal texts have equal ids, 1, 2, 3 … in order of first use. At maxInternedBytes, the table is full
// and stays full; further texts are stored with the records that use them. The limit is a constant rather than a share of the
// memory budget, so that the output does not depend on the budget.
type stringTable struct {
	text  []byte   // all texts, concatenated
	ends  []uint32 // ends[id]: end of text id; its start is ends[id-1]
	slots []slot   // hash table, a power of two long
	seed  uint64   // random, so that no input can provoke collisions
	full  bool

	wanted func(text string) bool // selects texts to intern even if the table is full; nil: none
	late   int                    // number of bytes of texts added to a full table
}

type slot struct {
	hash uint32
	id   uint32
}

// maxInternedBytes and maxInterned limit one table. Real traces have a few thousand names.
const (
	maxInternedBytes = 16 << 20
	maxInterned      = 1 << 19
	// maxInternedLength prevents a single huge name from filling the table.
	maxInternedLength = 1 << 16
	// maxLateBytes and maxLateLength limit the wanted texts that are added to a full table.
	maxLateBytes  = 64 << 10
	maxLateLength = 256
)

func newStringTable() *stringTable {
	return &stringTable{ends: []uint32{0}, slots: make([]slot, 256), seed: rand.Uint64()}
}

// intern returns the id of a text, or 0 and false if the table is full and does not contain it. The id of the empty string is 0.
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
		t.full = true // not set again in a full table, because snapshots are full and shared by goroutines
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

func (t *stringTable) knows(text string) bool {
	h, mask := hashText([]byte(text), t.seed), uint32(len(t.slots)-1)
	for i := h & mask; t.slots[i].id != 0; i = (i + 1) & mask {
		if t.slots[i].hash == h && string(t.get(t.slots[i].id)) == text {
			return true
		}
	}
	return false
}

// has interns a text if possible, and reports whether the table contains it.
func (t *stringTable) has(text []byte) bool {
	_, ok := t.intern(text)
	return ok
}

// snapshot returns a copy of the table that is marked as full. The copies share their texts, because texts are only ever
// appended.
func (t *stringTable) snapshot() *stringTable {
	return &stringTable{
		text: t.text[:len(t.text):len(t.text)], ends: t.ends[:len(t.ends):len(t.ends)],
		slots: slices.Clone(t.slots), seed: t.seed, full: true,
	}
}

// get returns the text with the given id; callers must not change it.
func (t *stringTable) get(id uint32) []byte {
	if id == 0 || uint(id) >= uint(len(t.ends)) { // the id may be a 32-bit hash
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

// hashText is a multiply-and-fold hash. Nearly all names have at most 16 bytes, for which one multiplication suffices.
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
