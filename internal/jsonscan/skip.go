package jsonscan

import (
	"unsafe"
)

// Raw skips a value and returns its text without surrounding white space, or nil after a failure.
func (s *Scanner) Raw() []byte {
	i := space(s.buf, s.pos)
	s.pos = i
	s.Skip()
	if s.err != nil {
		return nil
	}
	return s.buf[i:s.pos:s.pos]
}

// SkipRest skips the rest of an object or array after Value has read its bracket; for other kinds it does nothing.
func (s *Scanner) SkipRest(kind Kind) {
	switch kind {
	case Object:
		for _, ok := s.Key(); ok; _, ok = s.Key() {
			s.Skip()
		}
	case Array:
		for s.Elem() {
			s.Skip()
		}
	}
}

// Skip skips a value. It checks the same grammar as the other methods, so that the validity of an event does not depend on which
// of its parts are read, but it decodes nothing and counts no Notes. Nesting is limited only by the window: each level costs one
// bit.
func (s *Scanner) Skip() {
	b, i := s.buf, space(s.buf, s.pos)
	open := brackets{outer: s.stack[:0]}
	for ok := true; ok; {
		pastValue := false
		if i, pastValue = s.skipUsual(i, &open); pastValue {
			i, ok = s.skipBetween(i, &open, false)
			continue
		}
		i = space(b, i)
		if i >= len(b) {
			s.fail(ErrShort, i)
			return
		}
		opened := false
		switch c := b[i]; c {
		case '"':
			if i = skipString(b, i+1); i < 0 {
				s.fail(ErrShort, len(b))
				return
			}
		case '{', '[':
			open.push(c == '{')
			opened = true
			i++
		default:
			start := i
			for i < len(b) && isWord[b[i]] {
				i++
			}
			if i == start {
				s.fail(ErrMalformed, i)
				return
			}
			if i >= len(b) { // it may continue
				s.fail(ErrShort, i)
				return
			}
		}
		i, ok = s.skipBetween(i, &open, opened)
	}
	s.stack = open.outer
}

// skipUsual is Skip for text as programs write it: no white space except a space after a comma or colon, no escapes, fewer than
// 64 levels. It starts at a value and stops at the first unusual text, which is either after a value (pastValue) or before a
// value. It updates open.
func (s *Scanner) skipUsual(i int, open *brackets) (next int, pastValue bool) {
	p, last := unsafe.Pointer(unsafe.SliceData(s.buf)), len(s.buf)-16
	depth, inner := open.depth, open.inner
loop:
	for i < last && depth < 63 {
		c, j := peekByte(p, i), i
		switch {
		case pastValue && depth == 0:
			break loop
		case pastValue && c == ',':
			if j++; peekByte(p, j) == ' ' {
				j++
			}
			if inner&1 != 0 {
				if j = keyUntil(p, j, last); j < 0 {
					break loop
				}
			} else if !startsValue(peekByte(p, j)) {
				break loop
			}
			pastValue = false
		case pastValue:
			if c != '}' && c != ']' || (c == '}') != (inner&1 != 0) {
				break loop
			}
			inner >>= 1
			depth--
			j++
		case c == '"':
			if j = plainUntil(p, j+1, last); peekByte(p, j) != '"' {
				break loop
			}
			j++
			pastValue = true
		case isWord[c]:
			for j++; j < last && isWord[peekByte(p, j)]; {
				j++
			}
			if j == last {
				break loop
			}
			pastValue = true
		case (c == '{' || c == '[') && peekByte(p, i+1) == c+2: // an empty object or array
			j += 2
			pastValue = true
		case c == '{':
			if j = keyUntil(p, j+1, last); j < 0 {
				break loop
			}
			inner = inner<<1 | 1
			depth++
		case c == '[' && startsValue(peekByte(p, i+1)):
			inner <<= 1
			depth++
			j++
		default:
			break loop
		}
		i = j
	}
	open.depth, open.inner = depth, inner
	return i, pastValue
}

// startsValue reports whether c can be the first byte of a value.
func startsValue(c byte) bool { return c > ' ' && c != ',' && c != '}' && c != ']' }

// keyUntil returns the index after the key at i, its colon and an optional space, or -1 if there is anything else at i.
func keyUntil(p unsafe.Pointer, i, last int) int {
	if peekByte(p, i) != '"' {
		return -1
	}
	i = plainUntil(p, i+1, last)
	if i >= last || peekByte(p, i) != '"' || peekByte(p, i+1) != ':' {
		return -1
	}
	if i += 2; peekByte(p, i) == ' ' {
		i++
	}
	return i
}

// skipBetween skips closing brackets, commas and a key between two values. It returns the start of the next value, or false at
// the end of the outermost value and after a failure. If opened is set, the last token was an opening bracket rather than a
// value.
func (s *Scanner) skipBetween(i int, open *brackets, opened bool) (int, bool) {
	b := s.buf
	for open.depth > 0 {
		i = space(b, i)
		if i >= len(b) {
			s.fail(ErrShort, i)
			return i, false
		}
		switch c := b[i]; {
		case c == ',':
			opened = true
		case c == '}' || c == ']':
			if !open.pop(c == '}') {
				s.fail(ErrMalformed, i)
				return i, false
			}
			opened = false
		case !opened, open.object() && c != '"':
			s.fail(ErrMalformed, i)
			return i, false
		case open.object():
			return s.skipKey(i)
		default:
			return i, true
		}
		i++
	}
	s.pos = i
	s.state = afterValue
	return i, false
}

// skipKey skips a key and its colon, and returns the start of the value.
func (s *Scanner) skipKey(i int) (int, bool) {
	b := s.buf
	if i = skipString(b, i+1); i < 0 {
		s.fail(ErrShort, len(b))
		return i, false
	}
	i = space(b, i)
	if i >= len(b) {
		s.fail(ErrShort, i)
		return i, false
	}
	if b[i] != ':' {
		s.fail(ErrMalformed, i)
		return i, false
	}
	return space(b, i+1), true
}

// space returns the index of the first byte of b, from i on, that is not white space.
func space(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}

// skipString returns the index after the string whose text starts at i, or -1 if the window ends inside it.
func skipString(b []byte, i int) int {
	for {
		i = plain(b, i)
		switch {
		case i >= len(b):
			return -1
		case b[i] == '"':
			return i + 1
		case b[i] == '\\':
			i += 2
		default:
			i++
		}
	}
}

// brackets stores the open brackets of a value, one bit each: 1 for an object.
type brackets struct {
	depth int
	inner uint64   // the innermost 64; bit 0 is the last opened
	outer []uint64 // the others
}

func (o *brackets) object() bool { return o.inner&1 != 0 }

func (o *brackets) push(object bool) {
	if o.depth > 0 && o.depth%64 == 0 {
		o.outer = append(o.outer, o.inner)
	}
	o.inner <<= 1
	if object {
		o.inner |= 1
	}
	o.depth++
}

// pop closes the last bracket, or returns false if the bracket is of the other kind.
func (o *brackets) pop(object bool) bool {
	if o.object() != object {
		return false
	}
	o.depth--
	o.inner >>= 1
	if o.depth > 0 && o.depth%64 == 0 {
		o.inner = o.outer[len(o.outer)-1]
		o.outer = o.outer[:len(o.outer)-1]
	}
	return true
}
