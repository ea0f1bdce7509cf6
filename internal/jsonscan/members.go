package jsonscan

import (
	"math"
	"math/bits"
	"unsafe"
)

// Members reads the members of an object in one loop: when short values are read one by one, the bottleneck is not the text but
// passing the position between methods through memory. In simpleMembers the position stays in a register, and the processor
// predicts nearly all branches correctly.

// Token is a value with the kind and text that Scanner.Value or Scalar returns.
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

// Thousandths returns the number times 1000, like Decimal with a scale of 3.
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

// MaxMembers is the exclusive upper limit for the key numbers in Members.
const MaxMembers = 64

// Members stores the members of an object, indexed by key number. The zero value is ready to use.
type Members struct {
	Keys   KeyCache
	Seen   uint64 // bit n: Values[n] is a member of the object
	Values [MaxMembers]Token
	opened bool // the opening bracket was read
}

// Start must be called at the bracket of each object.
func (m *Members) Start() {
	m.Seen, m.opened = 0, false
	m.Keys.Start()
}

// Members reads members of an object into m, starting at its bracket, up to a member whose value the caller must read. This is
// the member with the returned number or, if the number is 0, with the returned key, which m.Keys lacks. Like Key, it returns
// false at the end of the object and after a failure.
//
// It reads strings, numbers and empty objects. It leaves a value to the caller if the value is anything else or unusual, if its
// member was read before, or if the member's bit in others is set and the value is not an empty object.
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

// simpleMembers is Members for cached keys. Each iteration starts only if the window has enough bytes for a key and a number, so
// it need not check for the end of the window.
func (s *Scanner) simpleMembers(m *Members, others uint64) (unread uint32, ended bool) {
	p, i := unsafe.Pointer(unsafe.SliceData(s.buf)), s.pos
	room := len(s.buf) - cachedLength - numberRoom
	if s.state == afterComma {
		return 0, false
	}
	keys, last, first, seen := &m.Keys, m.Keys.last, s.state == afterOpen, m.Seen
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
			unread = number
			break
		}
		i, first, s.state = end, false, afterValue
		seen |= 1 << number
	}
	keys.last, m.Seen, s.pos = last, seen, i
	return unread, ended
}

// A Pack stores the members of many objects without pointers, so that storing and loading are cheap and the garbage collector ignores
// them. The zero Pack is empty.
//
// A member is a word with its kind, the form of its number and the position of its text; for a number, a second word contains the
// value. The words take a fifth of the size of a Token. Members are most of the data that one goroutine passes to another.
type Pack struct {
	words []uint64
	texts []byte // decoded texts, which are not part of the scanned text
}

// The layout of a word. Text positions and lengths have 28 bits each, far more than a scanned text needs.
const (
	packedKindBits = 4
	packedFormBits = 2
	packedPlace    = 28

	packedForm    = packedKindBits
	packedDecoded = packedForm + packedFormBits
	packedLength  = packedDecoded + 1
	packedStart   = packedLength + packedPlace
)

// Len returns the position at which Keep stores the next members, for a later Load.
func (p *Pack) Len() int { return len(p.words) }

// Reset empties the pack, keeping its memory.
func (p *Pack) Reset() { p.words, p.texts = p.words[:0], p.texts[:0] }

// Keep adds the members in m, which were scanned from text. If decoded is set, strings may be decoded and are stored separately.
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

// Load restores the members stored at a position into m; seen is the value that m.Seen had in Keep.
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
