package jsonscan

import (
	"bytes"
	"math/bits"
)

// Producers write the same members again and again, in the same order and with the same white space. A KeyCache stores the bytes
// between two values: a comma, the key, a colon and white space. Comparing the bytes at the current position with cached ones, 16
// at a time and without searching for their end, takes a fraction of the time needed to read and look up a key. The first
// candidate is the successor of the previous key, so the processor need not wait for the text; otherwise, a hash of the key
// selects the candidate. Equal bytes mean equal keys, so a cache can be ineffective but never wrong.

// KeyCache caches keys as written, each with a number chosen by the caller. The zero value is empty. Its size is fixed, and
// several scanners can use it in turn.
type KeyCache struct {
	last  uint16 // slot of the previous key; 0: none
	slots [1 << keyCacheBits]cachedKey
}

const (
	keyCacheBits = 9
	// firstKeys is the first slot for keys that come first in an object, without a preceding comma.
	firstKeys = 1 << (keyCacheBits - 1)
	// cachedLength is the maximum length of the cached text between two values.
	cachedLength = 32
)

// cachedKey stores the text between two values as words; masks select the bits in use.
type cachedKey struct {
	words, masks [cachedLength / 8]uint64
	length       int32
	id           uint32
	next         uint16 // slot of its last successor; 0: none
}

// Start forgets the previous key. Calling it at every object of the same kind improves the guesses.
func (c *KeyCache) Start() { c.last = 0 }

// locate returns the slot for text. The parameter first means that the key is the first of an object. The other slot of the pair,
// slot^1, is equivalent.
func locate(text *[cachedLength]byte, first bool) uint16 {
	const m1, m2 = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93
	var start int // index after the opening quote
	if q := load(text[:]) ^ '"'*ones; (q-ones)&^q&highs != 0 {
		start = 1 + bits.TrailingZeros64((q-ones)&^q&highs)/8
	} else {
		start = 1 + bytes.IndexByte(text[:cachedLength/2], '"')
	}
	// The hash covers the first 16 bytes of the key.
	h, more := keyWord(load(text[start:]))
	if more {
		tail, _ := keyWord(load(text[start+8:]))
		h += tail * m2
	}
	slot := uint16(h * m1 >> (64 - keyCacheBits + 1))
	if first {
		return slot | firstKeys
	}
	return max(slot, 2) // slot 0 means none
}

// keyWord clears the bytes of w from the end of the key on, and reports whether the key continues after w.
func keyWord(w uint64) (inside uint64, more bool) {
	end := special(w)
	// The lowest set bit of end is the highest bit of its byte: the bits below it are the preceding bytes and seven more bits.
	// Without an end, seven bits of w are lost, which does not matter for a hash.
	return w & ((end - 1) &^ end >> 7), end == 0
}

// find returns the slot of the key at the start of text, or 0 if the key is not cached, and records the slot as the successor
// of the previous key.
func (c *KeyCache) find(text *[cachedLength]byte, first bool) uint16 {
	slot := locate(text, first)
	if k := &c.slots[slot]; k.id == 0 || !k.matches(text) {
		slot ^= 1
		if k := &c.slots[slot]; k.id == 0 || !k.matches(text) {
			return 0
		}
	}
	c.slots[c.last].next = slot
	return slot
}

// matches reports whether text starts with k.
func (k *cachedKey) matches(text *[cachedLength]byte) bool {
	return (load(text[0:])^k.words[0])&k.masks[0]|(load(text[8:])^k.words[1])&k.masks[1] == 0 &&
		(k.length <= 16 || (load(text[16:])^k.words[2])&k.masks[2]|(load(text[24:])^k.words[3])&k.masks[3] == 0)
}

// CachedKey reads a cached key, like Key, and returns the number passed to RememberKey. At any other key, and at the end of the
// object, it reads nothing and returns 0; the caller must then call Key.
func (s *Scanner) CachedKey(c *KeyCache) uint32 {
	i := s.pos
	if len(s.buf)-i < cachedLength || s.state == afterComma {
		return 0
	}
	text := (*[cachedLength]byte)(s.buf[i:])
	first := s.state == afterOpen
	slot := c.slots[c.last].next
	if slot == 0 || slot >= firstKeys != first || !c.slots[slot].matches(text) {
		if text[0] == '}' {
			return 0
		}
		if slot = c.find(text, first); slot == 0 {
			return 0
		}
	}
	c.last = slot
	s.pos = i + int(c.slots[slot].length)
	return c.slots[slot].id
}

// RememberKey adds the key just read by Key or Members to c, with a nonzero number. It skips a key whose text is too long for the
// cache, contains a deviation or is too close to the end of the window.
func (s *Scanner) RememberKey(c *KeyCache, number uint32) {
	if len(s.buf)-s.keyAt < cachedLength {
		return
	}
	text := (*[cachedLength]byte)(s.buf[s.keyAt:])
	n, first := keyLength(text[:])
	if n == 0 {
		return
	}
	slot := locate(text, first)
	k := &c.slots[slot]
	if k.id != 0 { // keep the older one
		slot ^= 1
		k = &c.slots[slot]
	}
	*k = cachedKey{length: int32(n), id: number, next: k.next}
	for i := range k.words {
		inside := max(0, min(8, n-8*i))
		k.masks[i] = 1<<(8*inside) - 1
		k.words[i] = load(text[8*i:]) & k.masks[i]
	}
	c.slots[c.last].next = slot
	c.last = slot
}

// keyLength returns the length of the text between a value or opening bracket and the next value, and whether it follows a
// bracket. The length is 0 if the text is incomplete or contains any deviation that Notes counts.
func keyLength(text []byte) (n int, first bool) {
	i := space(text, 0)
	first = i == len(text) || text[i] != ','
	if !first {
		i = space(text, i+1)
	}
	if i == len(text) || text[i] != '"' {
		return 0, first
	}
	i = plain(text, i+1)
	if i == len(text) || text[i] != '"' {
		return 0, first
	}
	i = space(text, i+1)
	if i == len(text) || text[i] != ':' {
		return 0, first
	}
	return space(text, i+1), first
}
