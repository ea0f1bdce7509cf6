package jsonscan

import (
	"math"
	"math/bits"
	"unsafe"
)

// Members reads the members of an object in one go, because what limits the reading of short values one by one is not
// their text but the way of the position from one method to the next through memory. In the loop of simpleMembers it stays
// in a register, and everything else depends on guesses that are nearly always right.

// Token is a value as Scanner.Value or Scalar gives it.
type Token struct {
	Kind   Kind
	form   numberForm
	Text   []byte
	number int64
}

// Int returns the value of an Integer, like the function Int64.
func (t *Token) Int() (int64, bool) {
	if t.form == asInteger {
		return t.number, true
	}
	return Int64(t.Text)
}

// Thousandths returns the number that the text is, times 1000: Decimal with a scale of 3.
func (t *Token) Thousandths() (int64, bool) {
	const limit = math.MaxInt64 / 1000
	switch {
	case t.form == thousandths:
		return t.number, true
	case t.form == asInteger && -limit <= t.number && t.number <= limit:
		return t.number * 1000, true
	}
	return Decimal(t.Text, 3)
}

// MaxMembers is what the numbers of keys of Members must be below.
const MaxMembers = 64

// Members are the members of an object by the numbers of their keys. Its zero value is ready for use.
type Members struct {
	Keys   KeyCache
	Seen   uint64 // bit n: Values[n] is a member of the object
	Values [MaxMembers]Token
	opened bool // the bracket was read
}

// Start must be called at the bracket of each object.
func (m *Members) Start() {
	m.Seen, m.opened = 0, false
	m.Keys.Start()
}

// Members reads members of an object, from its bracket on, into m, up to one whose value the caller has to read: the member with
// the returned number, or, if the number is 0, of a key that m.Keys does not know. It returns false at the end of the
// object and after a failure, as Key does.
//
// Read are strings, numbers and empty objects. A value is left to the caller if it is anything else or has anything
// unusual, if its member is there already, or if it is one of others (bit n: number n) and no empty object.
func (s *Scanner) Members(m *Members, others uint64) (number uint32, key []byte, ok bool) {
	if !m.opened {
		if kind, _ := s.Value(); kind != Object {
			s.fail(ErrMalformed, s.pos)
			return 0, nil, false
		}
		m.opened = true
	}
	number, ended := s.simpleMembers(m, others)
	if number != 0 || ended {
		return number, nil, !ended
	}
	key, ok = s.Key()
	return 0, key, ok
}

// simpleMembers is Members for known keys. Where the loop starts there is room for a key and a number, so that it need not
// look where the window ends.
func (s *Scanner) simpleMembers(m *Members, others uint64) (left uint32, ended bool) {
	p, i := unsafe.Pointer(unsafe.SliceData(s.buf)), s.pos
	room := len(s.buf) - cachedLength - numberRoom
	if s.place == afterComma {
		return 0, false
	}
	keys, last, first, seen := &m.Keys, m.Keys.last, s.place == afterOpen, m.Seen
	for i <= room {
		slot := keys.slots[last].next
		k := &keys.slots[slot]
		if (peek(p, i)^k.words[0])&k.masks[0]|(peek(p, i+8)^k.words[1])&k.masks[1] != 0 ||
			slot == 0 || slot >= firstKeys != first || k.length > 16 && !k.matches((*[cachedLength]byte)(unsafe.Add(p, i))) {
			if ended = peekByte(p, i) == '}' && !first; ended {
				i++
				break
			}
			keys.last = last
			if slot = keys.find((*[cachedLength]byte)(unsafe.Add(p, i)), first); slot == 0 {
				break
			}
			k = &keys.slots[slot]
		}
		last = slot
		i += int(k.length)
		number := k.id & (MaxMembers - 1)
		v, end := &m.Values[number], i
		switch c := peekByte(p, i); {
		case seen>>number&1 != 0:
		case c == '{' && peekByte(p, i+1) == '}':
			end = i + 2
			v.Kind, v.form, v.Text = Object, noNumber, piece(p, i, end)
		case others>>number&1 != 0:
		case c == '"':
			if j := plainUntil(p, i+1, room); peekByte(p, j) == '"' {
				end = j + 1
				v.Kind, v.form, v.Text = String, noNumber, piece(p, i+1, j)
			}
		default:
			end, v.Kind, v.form, v.number = shortNumber(p, i)
			v.Text = piece(p, i, end)
		}
		if end == i {
			left = number
			break
		}
		i, first, s.place = end, false, afterValue
		seen |= 1 << number
	}
	keys.last, m.Seen, s.pos = last, seen, i
	return left, ended
}

// A Pack holds the members of many objects without pointers, so that keeping and loading them costs little and the collector
// does not look at them. The zero Pack is empty.
//
// A member is a word with its kind, the form of its number and where its text is, and for a number one more word with its
// value: a fifth of what Tokens take, which is the most that goes from a goroutine that scans to the one that takes over.
type Pack struct {
	words []uint64
	texts []byte // decoded texts, which are not in the text that was scanned
}

// The parts of a word. Places and lengths of text have 28 bits each, far above what is scanned at a time.
const (
	packedKindBits = 4
	packedFormBits = 2
	packedPlace    = 28

	packedForm    = packedKindBits
	packedDecoded = packedForm + packedFormBits
	packedLength  = packedDecoded + 1
	packedStart   = packedLength + packedPlace
)

// Len returns where the next members will begin, for Load.
func (p *Pack) Len() int { return len(p.words) }

// Reset empties the pack and keeps its memory.
func (p *Pack) Reset() { p.words, p.texts = p.words[:0], p.texts[:0] }

// Keep adds members of the text that was scanned. Strings may be decoded, and are kept beside the text then.
func (p *Pack) Keep(m *Members, text []byte, decoded bool) {
	base := uintptr(unsafe.Pointer(unsafe.SliceData(text)))
	for seen := m.Seen; seen != 0; seen &= seen - 1 {
		v := &m.Values[bits.TrailingZeros64(seen)]
		word := uint64(v.Kind) | uint64(v.form)<<packedForm | uint64(len(v.Text))<<packedLength
		switch {
		case decoded && v.Kind == String:
			word |= 1<<packedDecoded | uint64(len(p.texts))<<packedStart
			p.texts = append(p.texts, v.Text...)
		case len(v.Text) > 0:
			word |= uint64(uintptr(unsafe.Pointer(unsafe.SliceData(v.Text)))-base) << packedStart
		}
		p.words = append(p.words, word)
		if v.form != noNumber {
			p.words = append(p.words, uint64(v.number))
		}
	}
}

// Load restores into m the members kept at a place: the ones of seen, as m.Seen was.
func (p *Pack) Load(m *Members, seen uint64, at int, text []byte) {
	const mask = 1<<packedPlace - 1
	m.Seen = seen
	for words := p.words[at:]; seen != 0; seen &= seen - 1 {
		v, word := &m.Values[bits.TrailingZeros64(seen)], words[0]
		words = words[1:]
		v.Kind, v.form = Kind(word&(1<<packedKindBits-1)), numberForm(word>>packedForm&(1<<packedFormBits-1))
		start, in := word>>packedStart&mask, text
		if word>>packedDecoded&1 != 0 {
			in = p.texts
		}
		end := start + word>>packedLength&mask
		v.Text = in[start:end:end]
		if v.form != noNumber {
			v.number = int64(words[0])
			words = words[1:]
		}
	}
}
