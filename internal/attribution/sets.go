package attribution

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// SetID identifies a set of contexts, at most one of each type. Equal sets have equal ids; 0 is the empty set.
type SetID uint32

// memberID identifies an entry: a context of a type with the way it came.
type memberID uint32

// candidatesID identifies a list of contexts none of which could be chosen, or whose common ancestor was; 0 means no list.
type candidatesID uint32

// Member is a context of a type as it is in effect somewhere.
type Member struct {
	Type       TypeID
	Via        Via
	Hops       uint8        // edges of flows since a slice that had the context from another source
	Node       NodeID       // 0: unattributed, there are candidates only
	Snapshot   SnapshotID   // which state of the object is meant; 0: none is known
	Candidates candidatesID // what was found where several contexts apply (attribution.md, rule 4)
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

// Sets interns entries, sets and lists of candidates.
type Sets struct {
	Members []Member // by entryID
	byEntry index

	Candidates lists[NodeID]   // by candidatesID
	Lists      lists[memberID] // by SetID, sorted by type

	maxEntries int

	changes []setChange // what with found last
	Key     []byte
	merged  []memberID
	Full    uint64 // how often something had no room
}

// setChange is a set, the entry that is put into it, and the result.
type setChange struct {
	set   SetID
	entry memberID
	out   SetID
}

func newSets(room Room) *Sets {
	return &Sets{
		Members: make([]Member, 1), maxEntries: room.Of(maxEntries), changes: make([]setChange, maxChanges),
		Candidates: newLists[NodeID](room.Of(maxLists), room.Of(maxInLists)), Lists: newLists[memberID](room.Of(maxSets), room.Of(maxInSets)),
	}
}

// Member interns an entry; 0 if there are too many.
func (s *Sets) Member(e Member) memberID {
	le := binary.LittleEndian
	key := append(s.Key[:0], byte(e.Via), e.Hops)
	key = le.AppendUint16(key, uint16(e.Type))
	key = le.AppendUint32(le.AppendUint32(le.AppendUint32(key, uint32(e.Node)), uint32(e.Snapshot)), uint32(e.Candidates))
	s.Key = key
	hash := s.byEntry.Hash(key)
	if id := s.byEntry.Find(hash, func(id uint32) bool { return s.Members[id] == e }); id != 0 {
		return memberID(id)
	}
	if len(s.Members) >= s.maxEntries {
		s.Full++
		return 0
	}
	id := memberID(len(s.Members))
	s.Members = append(s.Members, e)
	s.byEntry.Add(hash, uint32(id))
	return id
}

// Intern interns a list of contexts.
func (s *Sets) Intern(list []NodeID) candidatesID {
	if len(list) > maxCandidates {
		list = list[:maxCandidates]
	}
	return candidatesID(s.intern(s.Candidates.Intern(list)))
}

// Set interns a set of entries, which are sorted by type.
func (s *Sets) Set(list []memberID) SetID { return SetID(s.intern(s.Lists.Intern(list))) }

// intern counts lists for which there was no room.
func (s *Sets) intern(id uint32, ok bool) uint32 {
	if !ok {
		s.Full++
	}
	return id
}

// With returns a set with an entry in the place of the one that it has of this type.
func (s *Sets) With(set SetID, e memberID) SetID {
	if e == 0 {
		return set
	}
	change := &s.changes[(uint32(set)*setChangeMultiple^uint32(e))*setChangeMultiple>>(32-14)]
	if change.set == set && change.entry == e {
		return change.out
	}
	typ := s.Members[e].Type
	s.merged = s.merged[:0]
	placed := false
	for _, old := range s.Lists.At(uint32(set)) {
		switch c := cmp.Compare(s.Members[old].Type, typ); {
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
	out := s.Set(s.merged)
	if out == 0 {
		out = set // there is no room
	}
	*change = setChange{set, e, out}
	return out
}

// withAll returns a set with entries in the place of those that it has of their types; of several of one type the last one
// counts. The list is sorted afterwards.
func (s *Sets) withAll(set SetID, list []memberID) SetID {
	switch len(list) {
	case 0:
		return set
	case 1:
		return s.With(set, list[0])
	}
	slices.SortStableFunc(list, func(a, b memberID) int { return cmp.Compare(s.Members[a].Type, s.Members[b].Type) })
	s.merged = s.merged[:0]
	old := s.Lists.At(uint32(set))
	for i, e := range list {
		typ := s.Members[e].Type
		if e == 0 || i+1 < len(list) && s.Members[list[i+1]].Type == typ {
			continue
		}
		for len(old) > 0 && s.Members[old[0]].Type < typ {
			s.merged, old = append(s.merged, old[0]), old[1:]
		}
		if len(old) > 0 && s.Members[old[0]].Type == typ {
			old = old[1:]
		}
		s.merged = append(s.merged, e)
	}
	if out := s.Set(append(s.merged, old...)); out != 0 {
		return out
	}
	return set // there is no room
}

// Of returns the entry of a type in a set, 0 if there is none.
func (s *Sets) Of(set SetID, typ TypeID) memberID {
	for _, e := range s.Lists.At(uint32(set)) {
		if s.Members[e].Type == typ {
			return e
		}
	}
	return 0
}

// Bitset is a set of SetIDs.
type Bitset []uint64

func (b *Bitset) Add(id SetID) {
	for int(id>>6) >= len(*b) {
		*b = append(*b, 0)
	}
	(*b)[id>>6] |= 1 << (id & 63)
}

func (b Bitset) Has(id SetID) bool { return int(id>>6) < len(b) && b[id>>6]>>(id&63)&1 != 0 }
