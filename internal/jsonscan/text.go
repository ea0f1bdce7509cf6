package jsonscan

import (
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// plain returns the index of the first byte of b, from i on, that is not a plain string character but a quote, a backslash, a
// control character or a byte outside ASCII. It returns len(b) if there is none.
//
// It tests eight bytes at a time. In w-' '*ones the high bit of a byte is set if the byte was below ' '; in (w^c*ones)-ones it is set if
// the byte was c. Both are exact for ASCII unless a lower byte borrowed; a byte that borrows is itself a hit, and only the lowest hit is
// used. Bytes outside ASCII are hits because of their high bit.
func plain(b []byte, i int) int {
	for ; i+8 <= len(b); i += 8 {
		if hits := special(load(b[i:])); hits != 0 {
			return i + bits.TrailingZeros64(hits)/8
		}
	}
	for i < len(b) {
		if c := b[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			break
		}
		i++
	}
	return i
}

// special returns a word whose lowest set bit marks the first byte of w that is not a plain character.
func special(w uint64) uint64 {
	return (w | (w - ' '*ones) | ((w ^ '"'*ones) - ones) | ((w ^ '\\'*ones) - ones)) & highs
}

// str reads the rest of a string after its opening quote and returns the decoded text.
func (s *Scanner) str() ([]byte, bool) {
	b, start := s.buf, s.pos
	var i int
	if hits := uint64(0); start+8 <= len(b) {
		if hits = special(load(b[start:])); hits != 0 {
			i = start + bits.TrailingZeros64(hits)/8
		} else {
			i = plain(b, start+8)
		}
	} else {
		i = plain(b, start)
	}
	if i < len(b) && b[i] == '"' {
		s.pos = i + 1
		return b[start:i:i], true
	}
	return s.strSlow(start, i)
}

// strSlow is str for the string at start; i is the index of its first byte that is not plain.
func (s *Scanner) strSlow(start, i int) ([]byte, bool) {
	b := s.buf
	var control, high bool
	for ; i < len(b); i = plain(b, i) {
		switch c := b[i]; {
		case c == '"':
			s.pos = i + 1
			return s.checked(b[start:i:i], control, high), true
		case c == '\\':
			return s.decode(start, i, control, high)
		case c < ' ':
			control = true
			i++
		default:
			high = true
			for i < len(b) && b[i] >= utf8.RuneSelf {
				i++
			}
		}
	}
	s.fail(ErrShort, len(b))
	return nil, false
}

// decode continues strSlow at the first backslash and builds the string in s.text.
func (s *Scanner) decode(start, i int, control, high bool) ([]byte, bool) {
	b := s.buf
	first := len(s.text)
	s.text = append(s.text, b[start:i]...)
	for i < len(b) {
		switch c := b[i]; {
		case c == '"':
			s.pos = i + 1
			return s.checked(s.text[first:len(s.text):len(s.text)], control, high), true
		case c == '\\':
			n := s.escape(b[i:])
			if n == 0 {
				s.fail(ErrShort, len(b))
				return nil, false
			}
			i += n
			continue
		case c < ' ':
			control = true
		case c >= utf8.RuneSelf:
			high = true
		}
		next := plain(b, i+1)
		s.text = append(s.text, b[i:next]...)
		i = next
	}
	s.fail(ErrShort, len(b))
	return nil, false
}

// checked counts a string with control characters and replaces invalid UTF-8.
func (s *Scanner) checked(text []byte, control, high bool) []byte {
	if control {
		s.Notes.Controls++
	}
	if !high || utf8.Valid(text) {
		return text
	}
	first := len(s.text)
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if r == utf8.RuneError && n == 1 {
			s.Notes.InvalidUTF8++
		}
		s.text = utf8.AppendRune(s.text, r)
		text = text[n:]
	}
	return s.text[first:len(s.text):len(s.text)]
}

// ValidText returns raw with each invalid UTF-8 byte replaced, as in strings. The result is valid until the next Mark or Fill.
func (s *Scanner) ValidText(raw []byte) []byte { return s.checked(raw, false, true) }

// escape decodes the escape at the start of b into s.text and returns its length, or 0 if the window ends inside it.
func (s *Scanner) escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	c := b[1]
	switch c {
	case '"', '\\', '/':
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'u':
		return s.unicode(b)
	default:
		// Only the backslash is skipped; the next byte is processed like any other.
		s.Notes.BadEscapes++
		return 1
	}
	s.text = append(s.text, c)
	return 2
}

// unicode is escape for \uXXXX, or for a surrogate pair of two such escapes.
func (s *Scanner) unicode(b []byte) int {
	r, short := hex4(b)
	switch {
	case short:
		return 0
	case r < 0:
		s.Notes.BadEscapes++
		return 1
	case !utf16.IsSurrogate(r):
		s.text = utf8.AppendRune(s.text, r)
		return 6
	}
	if r < 0xDC00 { // a high surrogate: its partner may follow
		low, short := hex4(b[6:])
		if short {
			return 0
		}
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			s.text = utf8.AppendRune(s.text, pair)
			return 12
		}
	}
	s.Notes.LoneSurrogates++
	s.text = utf8.AppendRune(s.text, utf8.RuneError)
	return 6
}

// hex4 returns the value of the escape \uXXXX at the start of b, -1 if there is none, and whether b is too short to tell.
func hex4(b []byte) (r rune, short bool) {
	for i := range 6 {
		if i >= len(b) {
			return -1, true
		}
		c := b[i]
		switch {
		case i == 0:
			if c != '\\' {
				return -1, false
			}
		case i == 1:
			if c != 'u' {
				return -1, false
			}
		case c-'0' <= 9:
			r = r<<4 | rune(c-'0')
		case c|0x20-'a' <= 5:
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return -1, false
		}
	}
	return r, false
}
