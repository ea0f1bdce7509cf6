package jsonscan

import (
	"bytes"
	"math/bits"
)

// Producers write the same members again and again, in the same order and with the same white space between. A KeyCache
// makes use of that: it remembers keys together with all that is between two values, a comma, the key, a colon and
// white space, as bytes. The bytes at the current position are compared with what was remembered, 16 bytes at a time and
// without looking for its end, which takes a fraction of the time that reading a key and looking it up take. They are
// compared with what followed the previous key last time, so that the processor need not wait for the text to know it;
// else it is found by a hash of the key. Whatever is found, equal bytes are an equal key: a cache can be useless, but never
// wrong.

// KeyCache remembers keys as a text has them, each with a number that the caller gave it. Its zero value is empty. It
// does not grow, and may be used with several scanners one after the other.
type KeyCache struct {
	last  uint16 // slot of the key before; 0 if there is none
	slots [1 << keyCacheBits]cachedKey
}

const (
	keyCacheBits = 9
	// firstKeys is the first one of the slots for the first keys of objects, which have no comma before them.
	firstKeys = 1 << (keyCacheBits - 1)
	// cachedLength is the longest text from one value to the next that is remembered.
	cachedLength = 32
)

// cachedKey is the text between two values in words, of which only the bits of masks count.
type cachedKey struct {
	words, masks [cachedLength / 8]uint64
	length       int32
	id           uint32
	next         uint16 // slot of what came after it last, 0 if nothing did
}

// Start begins anew: the next key has none before it. To call it at every object of the same kind makes guesses better.
func (c *KeyCache) Start() { c.last = 0 }

// locate returns the slot for a text that is or is not the first key of its object. The other one of the same pair, slot^1,
// is as good.
func locate(text *[cachedLength]byte, first bool) uint16 {
	const m1, m2 = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93
	var start int // after the quote
	if q := load(text[:]) ^ '"'*ones; (q-ones)&^q&highs != 0 {
		start = 1 + bits.TrailingZeros64((q-ones)&^q&highs)/8
	} else {
		start = 1 + bytes.IndexByte(text[:cachedLength/2], '"')
	}
	// The hash is of the first 16 bytes of the key.
	h, more := keyWord(load(text[start:]))
	if more {
		tail, _ := keyWord(load(text[start+8:]))
		h += tail * m2
	}
	slot := uint16(h * m1 >> (64 - keyCacheBits + 1))
	if first {
		return slot | firstKeys
	}
	return max(slot, 2) // 0 is not a slot
}

// keyWord returns w without the bytes after the end of a key, and whether that is not in w.
func keyWord(w uint64) (inside uint64, more bool) {
	end := special(w)
	// Below its lowest bit, which is the highest one of a byte, are the bits of the bytes before, and seven more. If there is
	// no end, seven bits of w are lost, which a hash can do without.
	return w & ((end - 1) &^ end >> 7), end == 0
}

// find returns the slot of the key that text begins with, 0 if there is none, and guesses it in the same place next time.
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

// matches reports whether text begins with k.
func (k *cachedKey) matches(text *[cachedLength]byte) bool {
	return (load(text[0:])^k.words[0])&k.masks[0]|(load(text[8:])^k.words[1])&k.masks[1] == 0 &&
		(k.length <= 16 || (load(text[16:])^k.words[2])&k.masks[2]|(load(text[24:])^k.words[3])&k.masks[3] == 0)
}

// CachedKey is Key for keys that c remembers: it returns the number that RememberKey was given. If another key or the end
// of the object comes, it returns 0 and reads nothing, and Key must follow.
func (s *Scanner) CachedKey(c *KeyCache) uint32 {
	i := s.pos
	if len(s.buf)-i < cachedLength || s.place == afterComma {
		return 0
	}
	text := (*[cachedLength]byte)(s.buf[i:])
	first := s.place == afterOpen
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

// RememberKey puts the key that Key or Members has just read into c, with a number that is not 0.
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
	if k.id != 0 { // the one that was here first may stay
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

// keyLength returns the length of what comes before a value in an object, from the value or the bracket before on, and
// whether that was the bracket. The length is 0 if the text is not complete or has anything that is to be counted in Notes.
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
