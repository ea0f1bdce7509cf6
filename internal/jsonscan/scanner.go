// Package jsonscan reads JSON as found in trace files: huge, and often not quite JSON.
//
// All of weft's low-level parsing tricks are here:
//
//   - The input is read through a window, and token methods work only inside it. A caller marks the start of a unit (an event)
//     and reads its tokens; if the window ends inside the unit, it gets ErrShort, calls Fill and rereads the unit from the mark.
//     So token methods never refill the window, and all slices returned for one unit stay valid until the next Mark or Fill. Fill
//     at least doubles the part of the window after the mark, which limits the cost of rereading units.
//   - A failed scanner is at the end of its window, where every token method fails. So callers check Err once per unit rather
//     than per token, and no method tests a flag.
//   - Strings are searched eight bytes at a time for anything that is not a plain character (see plain). Only strings with
//     escapes, control characters or bytes outside ASCII are processed further; all others are returned as slices of the window.
//   - Numbers are returned as text; the caller, which knows their type, converts them exactly and only once. Short ones are
//     scanned and converted eight digits at a time (shortnumber.go).
//   - Keys are guessed: the bytes between two values are compared with the bytes at the same point in earlier objects
//     (keycache.go).
//   - One loop can read the members of an object, with a fast path for the usual ones (members.go), and another can skip an
//     unwanted value (skip.go). Fast paths stop at anything unusual, where the ordinary methods continue, so both accept the same
//     text and count the same deviations.
//   - Code that reads several words of text checks bounds once for all of them (memory.go).
//
// Tolerated deviations from JSON (chrome-json.md 2, 3) are counted in Notes, so that the caller can report them with the position
// of the unit. Any other deviation is ErrMalformed; the caller decides how to continue.
package jsonscan

import (
	"errors"
	"fmt"
	"io"
)

const (
	// DefaultWindow is the size of a scanner's window in bytes.
	DefaultWindow = 1 << 20
	// firstWindow is the initial size of a window: allocating and clearing a larger one takes longer than scanning a small file.
	firstWindow = 128 << 10
	// MaxWindow is the maximum size of a window, and thus of a unit.
	MaxWindow = 512 << 20
)

var (
	// ErrShort means that the window ends inside a value: call Fill and read the unit again.
	ErrShort = errors.New("value continues beyond the window")
	// ErrMalformed means that the input is not JSON, even with all tolerated deviations.
	ErrMalformed = errors.New("malformed JSON")
	// ErrTooLong means that a unit is longer than MaxWindow.
	ErrTooLong = fmt.Errorf("a single value is longer than %d MiB", MaxWindow>>20)
)

// Notes counts the deviations tolerated since the last Mark.
type Notes struct {
	Controls       int // strings with raw control characters
	InvalidUTF8    int // bytes that are not UTF-8 and became U+FFFD
	LoneSurrogates int // unpaired surrogate escapes that became U+FFFD
	BadEscapes     int // unknown escapes that became the character after the backslash
	Nonstandard    int // bare words that are not JSON
	Commas         int // leading, doubled, trailing and missing commas
}

// commaState is the kind of the last token, for checking commas.
type commaState uint8

const (
	afterOpen  commaState = iota // a bracket was opened, or nothing was read yet
	afterComma                   // a comma
	afterValue                   // a complete value
)

// A Scanner reads tokens from an input. It is not safe for concurrent use.
type Scanner struct {
	// Notes counts the deviations tolerated in the current unit. Mark and Fill clear it.
	Notes Notes

	buf   []byte // the window: bytes of the input from offset base
	pos   int    // index of the next byte in buf; len(buf) after a failure
	mark  int    // start of the current unit in buf
	state commaState

	keyAt  int   // position of the last call of Key
	number int64 // the last number
	form   numberForm

	text  []byte   // decoded strings of the current unit
	stack []uint64 // open brackets during Skip, one bit each: 1 for an object

	err    error // first failure of the current unit
	errPos int   // position of the failure in buf

	base    int64
	r       io.Reader
	readErr error // the error that ended the input
	usual   int   // size to which a full window grows
	limit   int   // size to which it can grow for a long unit
}

// New returns a Scanner for the input r.
func New(r io.Reader) *Scanner { return NewSize(r, DefaultWindow) }

// NewSize is New with a window of the given size, at least 16 bytes. A large window grows to its full size only when needed.
func NewSize(r io.Reader, size int) *Scanner {
	size = max(size, 16)
	return &Scanner{buf: make([]byte, 0, min(size, firstWindow)), r: r, usual: size, limit: MaxWindow}
}

// NewIn is NewSize with the memory from another scanner's Leave, if its size is suitable.
func NewIn(r io.Reader, size int, window []byte) *Scanner {
	if cap(window) < min(size, firstWindow) || cap(window) > size {
		return NewSize(r, size)
	}
	return &Scanner{buf: window[:0], r: r, usual: size, limit: MaxWindow}
}

// Leave returns the memory of the window, for NewIn. The scanner, and slices that it returned, must not be used afterwards.
func (s *Scanner) Leave() []byte {
	window := s.buf
	s.buf, s.pos, s.mark, s.r, s.readErr = nil, 0, 0, nil, io.EOF
	return window
}

// Reset makes s read text, without changing or copying it; ErrShort then means that the text is incomplete.
func (s *Scanner) Reset(text []byte) {
	// Set fields one by one: this is called for every event, and most fields need not change.
	s.buf, s.pos, s.base = text, 0, 0
	s.r, s.readErr, s.limit, s.usual = nil, io.EOF, len(text), 0
	s.Mark()
}

// ResetAt is Reset for text at the given offset in the input.
func (s *Scanner) ResetAt(text []byte, offset int64) {
	s.Reset(text)
	s.base = offset
}

// Detach returns the input from the current position on: the unread part of the window, and the rest. The scanner cannot be used until
// Attach.
func (s *Scanner) Detach() (unread []byte, rest io.Reader) {
	unread, rest = s.buf[s.pos:], s.r
	if s.readErr != nil {
		rest = Failed{s.readErr}
	}
	return unread, rest
}

// Attach makes s read r, whose first byte is at the given offset in the input.
func (s *Scanner) Attach(r io.Reader, offset int64) {
	s.buf, s.pos = s.buf[:0], 0
	s.base, s.r, s.readErr = offset, r, nil
	s.Mark()
}

// Failed is the rest of an input that ended with an error, perhaps io.EOF.
type Failed struct{ Err error }

// Read implements io.Reader.
func (f Failed) Read([]byte) (int, error) { return 0, f.Err }

// Decoded reports whether a string of the current unit was decoded, so that its text is not part of the window.
func (s *Scanner) Decoded() bool { return len(s.text) > 0 }

// Mark starts a unit at the current position and invalidates all slices returned before. The caller handles commas between units;
// see Peek and Advance.
func (s *Scanner) Mark() {
	s.mark = s.pos
	s.state = afterOpen
	s.text = s.text[:0]
	s.Notes = Notes{}
	s.err = nil
}

// Rewind returns to the mark and clears a failure.
func (s *Scanner) Rewind() {
	s.pos = s.mark
	s.Mark()
}

// SeekTo moves to an offset inside the window and marks it. Offsets before the mark are valid only if Fill has not been called
// since the mark advanced.
func (s *Scanner) SeekTo(offset int64) {
	s.pos = int(max(0, min(int64(len(s.buf)), offset-s.base)))
	s.Mark()
}

// Offset returns the offset of the next byte in the input; after a failure, the offset of the failure.
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

// fail records a failure at i and moves to the end of the window; see the package comment.
func (s *Scanner) fail(err error, i int) {
	if s.err == nil {
		s.err = err
		s.errPos = min(i, len(s.buf))
	}
	s.pos = len(s.buf)
}

// maxEmptyReads limits the number of consecutive reads that return neither bytes nor an error.
const maxEmptyReads = 100

// Fill reads more input and returns to the mark, keeping the bytes from the mark on. It returns io.EOF at the end of the input,
// ErrTooLong if the unit is too long for a window, or the input's error.
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

// read appends input to the window until it is full. With a single Read, a unit that arrives in small pieces would be reread for
// every piece.
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

// Peek skips white space, marks the position and returns the next byte without reading it. It refills the window if necessary and
// returns errors from Fill.
func (s *Scanner) Peek() (byte, error) {
	for {
		i := space(s.buf, s.pos)
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

// Advance skips n bytes returned by Peek or Window.
func (s *Scanner) Advance(n int) { s.pos = min(s.pos+n, len(s.buf)) }

// Since returns the bytes from the mark to the current position.
func (s *Scanner) Since() []byte { return s.buf[s.mark:s.pos] }

// Window returns the unread bytes of the window. They must not be changed.
func (s *Scanner) Window() []byte { return s.buf[s.pos:] }

// Discard skips a value of any size without keeping it in the window. It checks only brackets and strings. It returns io.EOF if
// the input ends inside the value, ErrMalformed if there is no value, or the input's error.
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
			continue // inside an array or object: a value follows
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

// discardString skips the rest of a string after its opening quote.
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

// discardWord skips at least one byte, and the rest of a number or bare word.
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
