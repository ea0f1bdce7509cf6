package attribution

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// SetID identifies a set of contexts, at most one of each type. Equal sets have equal ids; 0 is the empty set.
type SetID uint32

// entryID identifies an entry: a context of a type with the way it came.
type entryID uint32

// candidatesID identifies a list of contexts of which none could be chosen, or their common ancestor was; 0 is none.
type candidatesID uint32

// entry is a context of a type as it is in effect somewhere.
type entry struct {
	typ        TypeID
	via        Via
	hops       uint8        // edges of flows since a slice that had the context from another source
	node       NodeID       // 0: unattributed, there are candidates only
	snapshot   snapshotID   // which state of the object is meant; 0: none is known
	candidates candidatesID // what was found where several contexts apply (spec contexts.md S6)
}

// maxHops is the number of edges over which a context is handed on (spec contexts.md S8).
const maxHops = 64

// Limits of the tables of sets. When one is full, further sets lack what is new in them.
const (
	maxEntries    = 1 << 21
	maxSets       = 1 << 21
	maxCandidates = 64 // of one entry
)

// sets interns entries, sets and lists of candidates.
type sets struct {
	entries []entry // by entryID
	byEntry map[entry]entryID

	lists   [][]NodeID // by candidatesID
	byNodes map[string]candidatesID

	sets   [][]entryID // by SetID, sorted by type
	bySet  map[string]SetID
	withs  map[setChange]SetID // results of with
	key    []byte
	merged []entryID
	full   bool
}

// setChange is a set and the entry that is put into it.
type setChange struct {
	set   SetID
	entry entryID
}

func newSets() *sets {
	return &sets{
		entries: make([]entry, 1), byEntry: map[entry]entryID{}, lists: make([][]NodeID, 1),
		byNodes: map[string]candidatesID{}, sets: make([][]entryID, 1), bySet: map[string]SetID{"": 0},
		withs: map[setChange]SetID{},
	}
}

// entry interns an entry; 0 if there are too many.
func (s *sets) entry(e entry) entryID {
	if id, ok := s.byEntry[e]; ok {
		return id
	}
	if len(s.entries) >= maxEntries {
		s.full = true
		return 0
	}
	id := entryID(len(s.entries))
	s.entries = append(s.entries, e)
	s.byEntry[e] = id
	return id
}

// candidates interns a list of contexts.
func (s *sets) candidates(list []NodeID) candidatesID {
	if len(list) == 0 {
		return 0
	}
	if len(list) > maxCandidates {
		list = list[:maxCandidates]
	}
	return internList(s, list, s.byNodes, &s.lists, maxEntries)
}

// set interns a set of entries, which are sorted by type.
func (s *sets) set(list []entryID) SetID { return internList(s, list, s.bySet, &s.sets, maxSets) }

// internList returns the number of a list among those that are known: byList has it by the bytes of the list, all has the
// lists by number. It is 0 if there are limit lists already.
func internList[E, ID ~uint32](s *sets, list []E, byList map[string]ID, all *[][]E, limit int) ID {
	s.key = s.key[:0]
	for _, e := range list {
		s.key = binary.LittleEndian.AppendUint32(s.key, uint32(e))
	}
	if id, ok := byList[string(s.key)]; ok {
		return id
	}
	if len(*all) >= limit {
		s.full = true
		return 0
	}
	id := ID(len(*all))
	*all = append(*all, slices.Clone(list))
	byList[string(s.key)] = id
	return id
}

// with returns a set with an entry in the place of the one that it has of this type.
func (s *sets) with(set SetID, e entryID) SetID {
	if e == 0 {
		return set
	}
	change := setChange{set, e}
	if out, ok := s.withs[change]; ok {
		return out
	}
	typ := s.entries[e].typ
	s.merged = s.merged[:0]
	placed := false
	for _, old := range s.sets[set] {
		switch c := cmp.Compare(s.entries[old].typ, typ); {
		case c == 0:
			continue
		case c > 0 && !placed:
			s.merged = append(s.merged, e)
			placed = true
		}
		s.merged = append(s.merged, old)
	}
	if !placed {
		s.merged = append(s.merged, e)
	}
	out := s.set(s.merged)
	if len(s.withs) < maxSets {
		s.withs[change] = out
	}
	return out
}

// of returns the entry of a type in a set, 0 if there is none.
func (s *sets) of(set SetID, typ TypeID) entryID {
	for _, e := range s.sets[set] {
		if s.entries[e].typ == typ {
			return e
		}
	}
	return 0
}

// bitset is a set of SetIDs.
type bitset []uint64

func (b *bitset) add(id SetID) {
	for int(id>>6) >= len(*b) {
		*b = append(*b, 0)
	}
	(*b)[id>>6] |= 1 << (id & 63)
}

func (b bitset) has(id SetID) bool { return int(id>>6) < len(b) && b[id>>6]>>(id&63)&1 != 0 }
