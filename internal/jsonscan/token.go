package jsonscan

import "unsafe"

// Kind is the kind of a value.
type Kind uint8

const (
	// Invalid is not a value: the scanner has failed; see Scanner.Err.
	Invalid Kind = iota
	// Null is the word null.
	Null
	// True is the word true.
	True
	// False is the word false.
	False
	// Integer is a number without a fraction or exponent.
	Integer
	// Number is any other JSON number.
	Number
	// Word is a bare word that is not JSON: NaN, Infinity, -Infinity, 0x10, undefined.
	Word
	// String is a string.
	String
	// Object is an object, or the bracket that opens it.
	Object
	// Array is an array, or the bracket that opens it.
	Array
)

// isWord marks the bytes of numbers and bare words.
var isWord = func() (t [256]bool) {
	for c := range t {
		b := byte(c)
		t[c] = 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' ||
			b == '+' || b == '-' || b == '.' || b == '_' || b == '$'
	}
	return t
}()

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// Key reads the next key of an object and the colon after it. At the end of the object it reads the bracket and returns false; it
// also returns false after a failure. The key is valid until the next Mark or Fill.
func (s *Scanner) Key() ([]byte, bool) {
	b, i := s.buf, s.pos
	s.keyAt = i
	// Usually the key follows immediately, perhaps after a comma.
	if s.state == afterValue && i < len(b) && b[i] == ',' {
		i++
		s.state = afterComma
	}
	for i < len(b) && b[i] != '"' {
		switch c := b[i]; {
		case isSpace(c):
		case c == ',':
			s.comma()
		case c == '}':
			s.close()
			s.pos = i + 1
			return nil, false
		default:
			s.fail(ErrMalformed, i)
			return nil, false
		}
		i++
	}
	if i >= len(b) {
		s.fail(ErrShort, i)
		return nil, false
	}
	if s.state == afterValue { // no comma before the key: more likely a stray quote than a missing comma
		s.fail(ErrMalformed, i)
		return nil, false
	}
	s.pos = i + 1
	key, ok := s.str()
	if !ok {
		return nil, false
	}
	i = s.pos
	if i < len(b) && b[i] == ':' {
		s.pos = i + 1
		return key, true
	}
	return key, s.colon()
}

// colon reads white space and a colon.
func (s *Scanner) colon() bool {
	b, i := s.buf, space(s.buf, s.pos)
	switch {
	case i >= len(b):
		s.fail(ErrShort, i)
		return false
	case b[i] != ':':
		s.fail(ErrMalformed, i)
		return false
	}
	s.pos = i + 1
	return true
}

// Elem advances to the next element of an array. At the end of the array it reads the bracket and returns false; it also returns
// false after a failure.
func (s *Scanner) Elem() bool {
	b, i := s.buf, s.pos
	for i < len(b) {
		switch c := b[i]; {
		case isSpace(c):
		case c == ',':
			s.comma()
		case c == ']':
			s.close()
			s.pos = i + 1
			return false
		case s.state == afterValue:
			s.fail(ErrMalformed, i)
			return false
		default:
			s.pos = i
			return true
		}
		i++
	}
	s.fail(ErrShort, i)
	return false
}

// comma counts an extra comma.
func (s *Scanner) comma() {
	if s.state != afterValue {
		s.Notes.Commas++
	}
	s.state = afterComma
}

// close counts a comma before a closing bracket.
func (s *Scanner) close() {
	if s.state == afterComma {
		s.Notes.Commas++
	}
	s.state = afterValue
}

// Value reads a value. It returns the decoded text of a string, or the text of a number or word as written; the text is valid
// until the next Mark or Fill. For an object or array it reads only the opening bracket: Key or Elem must follow.
func (s *Scanner) Value() (Kind, []byte) {
	b, i := s.buf, space(s.buf, s.pos)
	if i >= len(b) {
		s.fail(ErrShort, i)
		return Invalid, nil
	}
	switch b[i] {
	case '"':
		return s.stringValue(i)
	case '{':
		s.pos = i + 1
		s.state = afterOpen
		return Object, nil
	case '[':
		s.pos = i + 1
		s.state = afterOpen
		return Array, nil
	}
	return s.word(i)
}

// Scalar is Value, except that it reads a whole object or array and returns the text.
func (s *Scanner) Scalar() (Kind, []byte) {
	b, i := s.buf, space(s.buf, s.pos)
	s.pos = i
	kind := Object
	switch {
	case i >= len(b) || b[i] != '{' && b[i] != '[':
		return s.Value()
	case b[i] == '[':
		kind = Array
	}
	s.Skip()
	if s.err != nil {
		return Invalid, nil
	}
	return kind, b[i:s.pos:s.pos]
}

// stringValue reads the string whose quote is at i.
func (s *Scanner) stringValue(i int) (Kind, []byte) {
	s.pos = i + 1
	text, ok := s.str()
	if !ok {
		return Invalid, nil
	}
	s.state = afterValue
	return String, text
}

// word reads a number or a bare word at i.
func (s *Scanner) word(i int) (Kind, []byte) {
	b, j, kind := s.buf, i, Invalid
	s.form = noNumber
	if len(b)-i >= numberRoom {
		j, kind, s.form, s.number = shortNumber(unsafe.Pointer(unsafe.SliceData(b)), i)
	}
	if kind == Invalid {
		for j < len(b) && isWord[b[j]] {
			j++
		}
		if j == i {
			s.fail(ErrMalformed, i)
			return Invalid, nil
		}
		if j >= len(b) { // it may continue
			s.fail(ErrShort, j)
			return Invalid, nil
		}
		if kind = wordKind(b[i:j]); kind == Word {
			s.Notes.Nonstandard++
		}
	}
	s.pos = j
	s.state = afterValue
	return kind, b[i:j:j]
}

// Int returns the value of the number just read by Value. False means that it was not converted: the caller must pass its text to
// the function Int64.
func (s *Scanner) Int() (int64, bool) { return s.number, s.form == asInteger }

// wordKind returns the kind of a number or bare word.
func wordKind(w []byte) Kind {
	switch string(w) {
	case "null":
		return Null
	case "true":
		return True
	case "false":
		return False
	}
	integer, ok := number(w)
	switch {
	case !ok:
		return Word
	case integer:
		return Integer
	}
	return Number
}

// number reports whether w is a JSON number, and whether it is an integer.
func number(w []byte) (integer, ok bool) {
	i := 0
	if i < len(w) && w[i] == '-' {
		i++
	}
	n := digits(w[i:])
	if n == 0 || n > 1 && w[i] == '0' {
		return false, false
	}
	i += n
	integer = i == len(w)
	if i < len(w) && w[i] == '.' {
		n = digits(w[i+1:])
		if n == 0 {
			return false, false
		}
		i += 1 + n
	}
	if i < len(w) && w[i]|0x20 == 'e' {
		i++
		if i < len(w) && (w[i] == '+' || w[i] == '-') {
			i++
		}
		n = digits(w[i:])
		if n == 0 {
			return false, false
		}
		i += n
	}
	return integer, i == len(w)
}

// digits returns the number of digits at the start of w.
func digits(w []byte) int {
	n := 0
	for n < len(w) && w[n]-'0' <= 9 {
		n++
	}
	return n
}
