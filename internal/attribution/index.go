package attribution

import "hash/maphash"

// index is a hash table from keys to numbers, which start at 1. It does not store the keys, so it needs a fifth of the memory
// of a map.
type index struct {
	slots []slot // length is a power of two; number 0: free
	count int
	seed  maphash.Seed
}

type slot struct {
	hash   uint32
	number uint32
}

// Hash returns the hash of a key. It differs from run to run, so that no input can force collisions.
func (x *index) Hash(key []byte) uint32 {
	if x.slots == nil {
		x.slots, x.seed = make([]slot, 64), maphash.MakeSeed()
	}
	return uint32(maphash.Bytes(x.seed, key))
}

// Find returns the number with the given hash for which same reports true, or 0 if there is none.
func (x *index) Find(hash uint32, same func(number uint32) bool) uint32 {
	mask := uint32(len(x.slots) - 1)
	for i := hash & mask; x.slots[i].number != 0; i = (i + 1) & mask {
		if s := x.slots[i]; s.hash == hash && same(s.number) {
			return s.number
		}
	}
	return 0
}

// Add adds a number that Find did not return.
func (x *index) Add(hash, number uint32) {
	if 4*(x.count+1) > 3*len(x.slots) {
		old := x.slots
		x.slots = make([]slot, 2*len(old))
		for _, s := range old {
			if s.number != 0 {
				x.insert(s)
			}
		}
	}
	x.insert(slot{hash, number})
	x.count++
}

func (x *index) insert(s slot) {
	mask := uint32(len(x.slots) - 1)
	i := s.hash & mask
	for x.slots[i].number != 0 {
		i = (i + 1) & mask
	}
	x.slots[i] = s
}
