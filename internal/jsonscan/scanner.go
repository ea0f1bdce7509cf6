// Package jsonscan reads JSON the way trace files hold it: huge, and often not quite JSON.
//
// It is the one place of weft for low-level parsing tricks. What they are:
//
//   - The input is seen through a window, and all token methods work inside the window only. A caller marks the start
//     of a unit (an event), reads its tokens, and when the window ends inside the unit it gets ErrShort, calls Fill and
//     reads the unit again from the mark. So no token method ever thinks about refills, and all slices that were handed
//     out for one unit are valid together, until the next Mark or Fill. Fill at least doubles what lies after the mark,
//     which bounds the work of reading again by the length of the unit.
//   - A failed scanner is at the end of its window, where every token method fails by itself. Callers check Err once
//     per unit instead of once per token, and there is no flag to test on the way.
//   - Strings are searched eight bytes at a time for anything that is not a plain character (see plain). Only a string
//     that has an escape or a byte outside ASCII is looked at more closely; all others are handed out as a piece of the
//     window.
//   - Numbers are handed out as text, and converted exactly and once, by the caller, which knows what they are. Short ones are
//     found and converted eight digits at a time (shortnumber.go).
//   - Keys are guessed: the bytes between two values are compared with those that came there before (keycache.go).
//   - The members of an object can be read in one loop, which has a fast path for what nearly all of them are
//     (members.go), and so are unwanted values (skip.go). Fast paths end wherever anything is unusual, and the
//     ordinary methods go on there. So they accept what those accept, and count what those count.
//   - Where several words of the text are looked at, bounds are checked once for all of them (memory.go).
//
// What is tolerated beyond JSON (chrome-json.md 2, 3) is counted in Notes, so that the caller can report it with the
// position of the unit. What cannot be tolerated is ErrMalformed; the caller decides how to continue after it.
package jsonscan

import (
	"errors"
	"fmt"
	"io"
)

const (
	// DefaultWindow is the size of a scanner's window in bytes.
	DefaultWindow = 1 << 20
	// firstWindow is the size with which a window begins: making and clearing a larger one takes longer than to scan what
	// is in a small file.
	firstWindow = 128 << 10
	// MaxWindow is the limit to which a window grows, and so to the length of one unit.
	MaxWindow = 512 << 20
)

var (
	// ErrShort means that the window ends inside a value: Fill and read the unit again.
	ErrShort = errors.New("value continues beyond the window")
	// ErrMalformed means that the input is not JSON, even with all tolerance.
	ErrMalformed = errors.New("malformed JSON")
	// ErrTooLong means that one unit is longer than MaxWindow.
	ErrTooLong = fmt.Errorf("a single value is longer than %d MiB", MaxWindow>>20)
)

// Notes counts what was tolerated since the last Mark.
type Notes struct {
	Controls       int // strings with raw control characters
	InvalidUTF8    int // bytes that are not UTF-8 and became U+FFFD
	LoneSurrogates int // unpaired surrogate escapes that became U+FFFD
	BadEscapes     int // unknown escapes that became the character after the backslash
	Nonstandard    int // bare words that are not JSON
	Commas         int // leading, doubled, trailing and missing commas
}

// place is what the last token was, as far as commas are concerned.
type place uint8

const (
	afterOpen  place = iota // a bracket was opened, or nothing was read yet
	afterComma              // a comma
	afterValue              // a complete value
)

// A Scanner reads tokens from an input. It is not safe for concurrent use.
type Scanner struct {
	// Notes counts what was tolerated in the current unit. Mark and Fill clear it.
	Notes Notes

	buf   []byte // the window: bytes of the input that start at offset base
	pos   int    // the next byte in buf; len(buf) after a failure
	mark  int    // start of the current unit in buf
	place place

	keyAt  int   // where Key began last
	number int64 // that was read last
	form   numberForm

	text  []byte   // decoded strings of the current unit
	stack []uint64 // open brackets during Skip, one bit each: 1 for an object

	err    error // first failure of the current unit
	errPos int   // where in buf it happened

	base    int64
	r       io.Reader
	readErr error // what the input ended with
	usual   int   // size up to which the window grows whenever it was filled
	limit   int   // size up to which it grows for a unit
}

// New returns a Scanner for the input r.
func New(r io.Reader) *Scanner { return NewSize(r, DefaultWindow) }

// NewSize is New with a window of the given size, at least 16 bytes. A large window has its size when it was filled.
func NewSize(r io.Reader, size int) *Scanner {
	size = max(size, 16)
	return &Scanner{buf: make([]byte, 0, min(size, firstWindow)), r: r, usual: size, limit: MaxWindow}
}

// NewIn is NewSize with the memory of a window that another scanner has left, if that is large enough.
func NewIn(r io.Reader, size int, window []byte) *Scanner {
	if cap(window) < min(size, firstWindow) || cap(window) > size {
		return NewSize(r, size)
	}
	return &Scanner{buf: window[:0], r: r, usual: size, limit: MaxWindow}
}

// Leave returns the memory of the window, for NewIn. The scanner, and what it has handed out, must not be used afterwards.
func (s *Scanner) Leave() []byte {
	window := s.buf
	s.buf, s.pos, s.mark, s.r, s.readErr = nil, 0, 0, nil, io.EOF
	return window
}

// Reset makes s read text, which it does not change or copy; ErrShort then means that the text ends early.
func (s *Scanner) Reset(text []byte) {
	// Field by field: this is called for every event, and most of a Scanner need not change.
	s.buf, s.pos, s.base = text, 0, 0
	s.r, s.readErr, s.limit, s.usual = nil, io.EOF, len(text), 0
	s.Mark()
}

// ResetAt is Reset for a text at the given offset of the input.
func (s *Scanner) ResetAt(text []byte, offset int64) {
	s.Reset(text)
	s.base = offset
}

// Detach hands out the input from the current position on: what the window has of it, and the rest. The scanner is of
// no use until Attach.
func (s *Scanner) Detach() (unread []byte, rest io.Reader) {
	unread, rest = s.buf[s.pos:], s.r
	if s.readErr != nil {
		rest = Failed{s.readErr}
	}
	return unread, rest
}

// Attach makes s read r, whose first byte is at the given offset of the input.
func (s *Scanner) Attach(r io.Reader, offset int64) {
	s.buf, s.pos = s.buf[:0], 0
	s.base, s.r, s.readErr = offset, r, nil
	s.Mark()
}

// Failed is the rest of an input that ended with an error, io.EOF included.
type Failed struct{ Err error }

// Read implements io.Reader.
func (f Failed) Read([]byte) (int, error) { return 0, f.Err }

// Decoded reports whether a string of the current unit had to be decoded, so that its text is not a piece of the window.
func (s *Scanner) Decoded() bool { return len(s.text) > 0 }

// Mark starts a unit at the current position: slices handed out before are no longer valid. Commas between units are the
// caller's business, see Peek and Advance.
func (s *Scanner) Mark() {
	s.mark = s.pos
	s.place = afterOpen
	s.text = s.text[:0]
	s.Notes = Notes{}
	s.err = nil
}

// Rewind goes back to the mark and forgets the failure there.
func (s *Scanner) Rewind() {
	s.pos = s.mark
	s.Mark()
}

// SeekTo goes to an offset inside the window, and marks it. Offsets before the mark are there if Fill was not
// called since the mark moved on.
func (s *Scanner) SeekTo(offset int64) {
	s.pos = int(max(0, min(int64(len(s.buf)), offset-s.base)))
	s.Mark()
}

// Offset returns the byte offset in the input of the next byte; after a failure, of the byte that failed.
func (s *Scanner) Offset() int64 {
	if s.err != nil {
		return s.base + int64(s.errPos)
	}
	return s.base + int64(s.pos)
}

// Start returns the byte offset of the mark.
func (s *Scanner) Start() int64 { return s.base + int64(s.mark) }

// Buffered returns the number of bytes in the window from the mark on.
func (s *Scanner) Buffered() int { return len(s.buf) - s.mark }

// Err returns the first failure since the mark: ErrShort, ErrMalformed or nil.
func (s *Scanner) Err() error { return s.err }

// fail records a failure at i and puts the scanner to the end of its window, see the package comment.
func (s *Scanner) fail(err error, i int) {
	if s.err == nil {
		s.err = err
		s.errPos = min(i, len(s.buf))
	}
	s.pos = len(s.buf)
}

// maxEmptyReads bounds how often in a row the input may return neither bytes nor an error.
const maxEmptyReads = 100

// Fill reads more input and goes back to the mark. The bytes from the mark on are kept. It returns io.EOF if the input
// has no more bytes, ErrTooLong if the unit is too long for a window, or the error of the input.
func (s *Scanner) Fill() error {
	s.pos = s.mark
	s.Mark()
	if s.readErr != nil {
		return s.readErr
	}
	kept := len(s.buf) - s.mark
	if kept == s.limit {
		return ErrTooLong
	}
	early := cap(s.buf) < s.usual && len(s.buf) == cap(s.buf)
	if (kept > cap(s.buf)/2 || early) && cap(s.buf) < s.limit {
		grown := make([]byte, kept, min(2*cap(s.buf), s.limit))
		copy(grown, s.buf[s.mark:])
		s.buf = grown
	} else {
		s.buf = s.buf[:copy(s.buf[:cap(s.buf)], s.buf[s.mark:])]
	}
	s.base += int64(s.mark)
	s.mark, s.pos = 0, 0
	s.read()
	if len(s.buf) == kept {
		return s.readErr
	}
	return nil
}

// read appends input to the window until that is full. To take what one Read gives would make a unit that arrives in
// small pieces be read again for every piece.
func (s *Scanner) read() {
	empty := 0
	for len(s.buf) < cap(s.buf) && s.readErr == nil {
		n, err := s.r.Read(s.buf[len(s.buf):cap(s.buf)])
		s.buf = s.buf[:len(s.buf)+n]
		switch {
		case err != nil:
			s.readErr = err
		case n > 0:
			empty = 0
		default:
			if empty++; empty == maxEmptyReads {
				s.readErr = io.ErrNoProgress
			}
		}
	}
}

// Peek skips white space and returns the next byte without reading it, refilling the window where needed. It marks the
// place. The error is Fill's.
func (s *Scanner) Peek() (byte, error) {
	for {
		i := s.pos
		for i < len(s.buf) && isSpace(s.buf[i]) {
			i++
		}
		s.pos = i
		s.Mark()
		if i < len(s.buf) {
			return s.buf[i], nil
		}
		if err := s.Fill(); err != nil {
			return 0, err
		}
	}
}

// Advance reads n bytes that Peek or Window showed.
func (s *Scanner) Advance(n int) { s.pos = min(s.pos+n, len(s.buf)) }

// Since returns the bytes from the mark up to the current position.
func (s *Scanner) Since() []byte { return s.buf[s.mark:s.pos] }

// Window returns the unread bytes of the window. They must not be changed.
func (s *Scanner) Window() []byte { return s.buf[s.pos:] }

// Discard reads over one value of any size without keeping it in the window, and without looking at more than its
// brackets and strings. It returns io.EOF if the input ends inside the value, ErrMalformed if there is no value, or
// the error of the input.
func (s *Scanner) Discard() error {
	depth := 0
	for {
		c, err := s.Peek()
		if err != nil {
			return err
		}
		switch c {
		case '"':
			s.pos++
			if err := s.discardString(); err != nil {
				return err
			}
		case '{', '[':
			depth++
			s.pos++
		case '}', ']':
			if depth == 0 {
				s.fail(ErrMalformed, s.pos)
				return ErrMalformed
			}
			depth--
			s.pos++
		case ',', ':':
			if depth == 0 {
				s.fail(ErrMalformed, s.pos)
				return ErrMalformed
			}
			s.pos++
			continue // inside an array or object: no value ends here
		default:
			if err := s.discardWord(); err != nil {
				return err
			}
		}
		if depth == 0 {
			s.Mark()
			return nil
		}
	}
}

// discardString reads to the end of a string whose quote was read.
func (s *Scanner) discardString() error {
	for {
		i := plain(s.buf, s.pos)
		switch {
		case i >= len(s.buf), s.buf[i] == '\\' && i+1 >= len(s.buf):
			s.pos = i
			s.Mark()
			if err := s.Fill(); err != nil {
				return err
			}
		case s.buf[i] == '"':
			s.pos = i + 1
			return nil
		case s.buf[i] == '\\':
			s.pos = i + 2
		default:
			s.pos = i + 1
		}
	}
}

// discardWord reads at least one byte and then to the end of a number or bare word.
func (s *Scanner) discardWord() error {
	s.pos++
	for {
		i := s.pos
		for i < len(s.buf) && isWord[s.buf[i]] {
			i++
		}
		s.pos = i
		if i < len(s.buf) {
			return nil
		}
		s.Mark()
		if err := s.Fill(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}
