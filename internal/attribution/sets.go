package attribution

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// SetID identifies a set of contexts, at most one of each type. Equal sets have equal ids; 0 is the empty set.
type SetID uint32

// memberID identifies a Member.
type memberID uint32

// candidatesID identifies a list of contexts that apply equally; 0 means no list.
type candidatesID uint32

// Member is a context in effect, with its type and source.
type Member struct {
	Type       TypeID
	Via        Via
	Hops       uint8        // number of flow arrows since its original source
	Node       NodeID       // 0: unattributed; there are only candidates
	Snapshot   SnapshotID   // state of the object; 0: unknown
	Candidates candidatesID // the contexts to choose from, if there were several (attribution.md, rule 4)
}

// maxHops is the maximum number of flow arrows along which a context propagates (attribution.md, rule 6).
const maxHops = 64

// Limits of the set tables, 90 MiB in total, scaled by Limits. A 190 MB recording fills 3 % of them. When a table is full,
// further sets lack new members.
const (
	maxEntries        = 1 << 20
	maxSets           = 1 << 20
	maxInSets         = 1 << 22 // members in all sets together
	maxLists          = 1 << 18 // lists of candidates
	maxInLists        = 1 << 21 // candidates in all lists together
	maxCandidates     = 64      // in one list
	maxChanges        = 1 << 14 // size of With's cache
	setChangeMultiple = 0x9e3779b1
)

// Sets interns entries, sets and lists of candidates.
type Sets struct {
	Members []Member // by memberID
	byEntry index

	Candidates lists[NodeID]   // by candidatesID
	Lists      lists[memberID] // by SetID, sorted by type

	maxEntries int

	changes []setChange // cache of With
	Key     []byte
	merged  []memberID
	Full    uint64 // number of entries, sets and lists beyond the limits
}

// setChange is a cached call of With.
type setChange struct {
	set   SetID
	entry memberID
	out   SetID
}

func newSets(limits Limits) *Sets {
	return &Sets{
		Members: make([]Member, 1), maxEntries: limits.Of(maxEntries), changes: make([]setChange, maxChanges),
		Candidates: newLists[NodeID](limits.Of(maxLists), limits.Of(maxInLists)), Lists: newLists[memberID](limits.Of(maxSets), limits.Of(maxInSets)),
	}
}

// Member interns a Member and returns its id, or 0 if there are too many.
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
	list = list[:min(len(list), maxCandidates)]
	return candidatesID(s.countFull(s.Candidates.Intern(list)))
}

// Set interns a set of members; the list must be sorted by type.
func (s *Sets) Set(list []memberID) SetID { return SetID(s.countFull(s.Lists.Intern(list))) }

// countFull counts lists beyond the limits.
func (s *Sets) countFull(id uint32, ok bool) uint32 {
	if !ok {
		s.Full++
	}
	return id
}

// With returns a set with a member added, in place of any member of the same type.
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
		out = set // the table is full
	}
	*change = setChange{set, e, out}
	return out
}

// withAll is With for several members; of several new members of one type, the last counts. It sorts the list.
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
	return set // the table is full
}

// Of returns the member of a type in a set, or 0 if there is none.
func (s *Sets) Of(set SetID, typ TypeID) memberID {
	for _, e := range s.Lists.At(uint32(set)) {
		if s.Members[e].Type == typ {
			return e
		}
	}
	return 0
}

// Bitset is a set of small numbers, such as SetIDs.
type Bitset[N ~uint32 | ~uint64] []uint64

func (b *Bitset[N]) Add(n N) {
	for int(n>>6) >= len(*b) {
		*b = append(*b, 0)
	}
	(*b)[n>>6] |= 1 << (n & 63)
}

func (b Bitset[N]) Has(n N) bool { return int(n>>6) < len(b) && b[n>>6]>>(n&63)&1 != 0 }
