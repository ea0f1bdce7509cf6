package jsonscan

// Raw reads over a value and returns its text as written, without white space around it; nil after a failure.
func (s *Scanner) Raw() []byte {
	i := space(s.buf, s.pos)
	s.pos = i
	s.Skip()
	if s.err != nil {
		return nil
	}
	return s.buf[i:s.pos:s.pos]
}

// Skip reads over a value. It checks the same grammar as the other methods do, so that what is an event does not
// depend on which of its parts are wanted, but it decodes nothing and counts no Notes. Nesting is limited by the length
// of the window only: a level costs one bit.
func (s *Scanner) Skip() {
	b, i := s.buf, space(s.buf, s.pos)
	open := brackets{outer: s.stack[:0]}
	for ok := true; ok; {
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
			if i >= len(b) { // more of it may follow
				s.fail(ErrShort, i)
				return
			}
		}
		i, ok = s.skipBetween(i, &open, opened)
	}
	s.stack = open.outer
}

// skipBetween reads what stands between two values: closing brackets, commas and a key. It returns the start of the
// next value, or false at the end of the outermost value and after a failure. opened says that a bracket was read last,
// not a value.
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
	s.place = afterValue
	return i, false
}

// skipKey reads a key and the colon behind it, and returns the start of the value.
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

// skipString returns the index behind the string whose text starts at i, or -1 if the window ends in it.
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

// brackets are the open brackets of a value, one bit each: 1 for an object.
type brackets struct {
	depth int
	inner uint64   // the innermost ones; bit 0 is the last
	outer []uint64 // those that do not fit
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

// pop closes the last bracket; false if it is of the other kind.
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
