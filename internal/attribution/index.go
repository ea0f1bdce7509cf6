package attribution

import "hash/maphash"

// index finds things by a hash of what they are; they lie elsewhere and are known here by their numbers, which begin
// at 1. It takes a fifth of the memory of a map that holds them.
type index struct {
	slots []slot // a power of two; number 0: free
	count int
	seed  maphash.Seed
}

// slot is a place of an index.
type slot struct {
	hash   uint32
	number uint32
}

// Hash returns the hash of a key. It differs from run to run, so that no input can be made to have equal ones.
func (x *index) Hash(key []byte) uint32 {
	if x.slots == nil {
		x.slots, x.seed = make([]slot, 64), maphash.MakeSeed()
	}
	return uint32(maphash.Bytes(x.seed, key))
}

// Find returns the number of the thing with a hash that is the same as what is looked for; 0 if there is none.
func (x *index) Find(hash uint32, same func(number uint32) bool) uint32 {
	mask := uint32(len(x.slots) - 1)
	for i := hash & mask; x.slots[i].number != 0; i = (i + 1) & mask {
		if s := x.slots[i]; s.hash == hash && same(s.number) {
			return s.number
		}
	}
	return 0
}

// Add adds a thing that was not found.
func (x *index) Add(hash, number uint32) {
	if 4*(x.count+1) > 3*len(x.slots) {
		old := x.slots
		x.slots = make([]slot, 2*len(old))
		for _, s := range old {
			if s.number != 0 {
				x.put(s)
			}
		}
	}
	x.put(slot{hash, number})
	x.count++
}

func (x *index) put(s slot) {
	mask := uint32(len(x.slots) - 1)
	i := s.hash & mask
	for x.slots[i].number != 0 {
		i = (i + 1) & mask
	}
	x.slots[i] = s
}
