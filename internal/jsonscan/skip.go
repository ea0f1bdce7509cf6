package jsonscan

// Raw reads over a value and returns its text as written, without white space around it; nil after a failure.
func (s *Scanner) Raw() []byte {
	i := s.pos
	for i < len(s.buf) && isSpace(s.buf[i]) {
		i++
	}
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
	b, i := s.buf, s.pos
	stack := s.stack[:0] // the brackets below the innermost 64
	var open uint64      // the innermost brackets: bit 0 is the last one
	depth := 0
value:
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	if i >= len(b) {
		s.fail(ErrShort, i)
		return
	}
	switch c := b[i]; c {
	case '"':
		if i = skipString(b, i+1); i < 0 {
			s.fail(ErrShort, len(b))
			return
		}
	case '{', '[':
		if depth > 0 && depth%64 == 0 {
			stack = append(stack, open)
			s.stack = stack
		}
		open <<= 1
		if c == '{' {
			open |= 1
		}
		depth++
		i++
		goto member
	default:
		j := i
		for j < len(b) && isWord[b[j]] {
			j++
		}
		if j == i {
			s.fail(ErrMalformed, i)
			return
		}
		i = j
	}
after: // a value ended at i
	if depth == 0 {
		if i >= len(b) && b[len(b)-1] != '"' { // more of a word may follow
			s.fail(ErrShort, i)
			return
		}
		s.pos = i
		s.place = afterValue
		return
	}
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	if i >= len(b) {
		s.fail(ErrShort, i)
		return
	}
	if c := b[i]; c != ',' && c != '}' && c != ']' {
		s.fail(ErrMalformed, i)
		return
	}
member: // behind a bracket or a value, at a comma, a key, an element or a closing bracket
	for i < len(b) && (b[i] == ',' || isSpace(b[i])) {
		i++
	}
	if i >= len(b) {
		s.fail(ErrShort, i)
		return
	}
	switch c := b[i]; {
	case c == '}' && open&1 == 1, c == ']' && open&1 == 0:
		depth--
		open >>= 1
		if depth > 0 && depth%64 == 0 {
			open = stack[len(stack)-1]
			stack = stack[:len(stack)-1]
		}
		i++
		if depth == 0 {
			s.pos = i
			s.place = afterValue
			return
		}
		goto after
	case open&1 == 0:
		goto value
	case c != '"':
		s.fail(ErrMalformed, i)
		return
	}
	if i = skipString(b, i+1); i < 0 {
		s.fail(ErrShort, len(b))
		return
	}
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	if i >= len(b) {
		s.fail(ErrShort, i)
		return
	}
	if b[i] != ':' {
		s.fail(ErrMalformed, i)
		return
	}
	i++
	goto value
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
