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
	candidates candidatesID // what was found where several contexts apply (attribution.md, rule 4)
}

// maxHops is the number of edges over which a context is handed on (attribution.md, rule 6).
const maxHops = 64

// Limits of the tables of sets, 90 MiB altogether, see limits. A recording of 190 MB fills 3 % of them. When one is full,
// further sets lack what is new in them.
const (
	maxEntries        = 1 << 20
	maxSets           = 1 << 20
	maxInSets         = 1 << 22 // entries of all sets together
	maxLists          = 1 << 18 // of candidates
	maxInLists        = 1 << 21 // candidates of all lists together
	maxCandidates     = 64      // of one entry
	maxChanges        = 1 << 14 // results of with that are remembered
	setChangeMultiple = 0x9e3779b1
)

// sets interns entries, sets and lists of candidates.
type sets struct {
	entries []entry // by entryID
	byEntry index

	lists lists[NodeID]  // by candidatesID
	sets  lists[entryID] // by SetID, sorted by type

	maxEntries int

	changes []setChange // what with found last
	key     []byte
	merged  []entryID
	full    uint64 // how often something had no room
}

// setChange is a set, the entry that is put into it, and the result.
type setChange struct {
	set   SetID
	entry entryID
	out   SetID
}

func newSets(most *limits) *sets {
	return &sets{
		entries: make([]entry, 1), maxEntries: most.entries, changes: make([]setChange, maxChanges),
		lists: newLists[NodeID](most.lists, most.inLists), sets: newLists[entryID](most.sets, most.inSets),
	}
}

// entry interns an entry; 0 if there are too many.
func (s *sets) entry(e entry) entryID {
	le := binary.LittleEndian
	key := append(s.key[:0], byte(e.via), e.hops)
	key = le.AppendUint16(key, uint16(e.typ))
	key = le.AppendUint32(le.AppendUint32(le.AppendUint32(key, uint32(e.node)), uint32(e.snapshot)), uint32(e.candidates))
	s.key = key
	hash := s.byEntry.hash(key)
	if id := s.byEntry.find(hash, func(id uint32) bool { return s.entries[id] == e }); id != 0 {
		return entryID(id)
	}
	if len(s.entries) >= s.maxEntries {
		s.full++
		return 0
	}
	id := entryID(len(s.entries))
	s.entries = append(s.entries, e)
	s.byEntry.add(hash, uint32(id))
	return id
}

// candidates interns a list of contexts.
func (s *sets) candidates(list []NodeID) candidatesID {
	if len(list) > maxCandidates {
		list = list[:maxCandidates]
	}
	return candidatesID(s.intern(s.lists.intern(list)))
}

// set interns a set of entries, which are sorted by type.
func (s *sets) set(list []entryID) SetID { return SetID(s.intern(s.sets.intern(list))) }

// intern counts lists for which there was no room.
func (s *sets) intern(id uint32, ok bool) uint32 {
	if !ok {
		s.full++
	}
	return id
}

// with returns a set with an entry in the place of the one that it has of this type.
func (s *sets) with(set SetID, e entryID) SetID {
	if e == 0 {
		return set
	}
	change := &s.changes[(uint32(set)*setChangeMultiple^uint32(e))*setChangeMultiple>>(32-14)]
	if change.set == set && change.entry == e {
		return change.out
	}
	typ := s.entries[e].typ
	s.merged = s.merged[:0]
	placed := false
	for _, old := range s.sets.at(uint32(set)) {
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
	if out == 0 {
		out = set // there is no room
	}
	*change = setChange{set, e, out}
	return out
}

// withAll returns a set with entries in the place of those that it has of their types; of several of one type the last one
// counts. The list is sorted afterwards.
func (s *sets) withAll(set SetID, list []entryID) SetID {
	switch len(list) {
	case 0:
		return set
	case 1:
		return s.with(set, list[0])
	}
	slices.SortStableFunc(list, func(a, b entryID) int { return cmp.Compare(s.entries[a].typ, s.entries[b].typ) })
	s.merged = s.merged[:0]
	old := s.sets.at(uint32(set))
	for i, e := range list {
		typ := s.entries[e].typ
		if e == 0 || i+1 < len(list) && s.entries[list[i+1]].typ == typ {
			continue
		}
		for len(old) > 0 && s.entries[old[0]].typ < typ {
			s.merged, old = append(s.merged, old[0]), old[1:]
		}
		if len(old) > 0 && s.entries[old[0]].typ == typ {
			old = old[1:]
		}
		s.merged = append(s.merged, e)
	}
	if out := s.set(append(s.merged, old...)); out != 0 {
		return out
	}
	return set // there is no room
}

// of returns the entry of a type in a set, 0 if there is none.
func (s *sets) of(set SetID, typ TypeID) entryID {
	for _, e := range s.sets.at(uint32(set)) {
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
