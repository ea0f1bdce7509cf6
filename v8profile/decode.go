package v8profile

import (
	"errors"
	"fmt"
	"io"

	"github.com/weft-trace/weft/internal/jsoninput"
	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/timeline"
)

var (
	errMalformed    = errors.New("malformed JSON")
	errTooManyNodes = fmt.Errorf("a profile of more than %d nodes", maxNodes)
)

// decoder reads the JSON of profiles into a draft. Every token is a unit of the scanner, so that a document of any size
// passes through a small window.
type decoder struct {
	s *jsonscan.Scanner
	d *draft

	room     *jsoninput.Room
	taken    int64 // of that, for d
	elements int   // of all lists

	// pieceStart is the number of samples before this piece; nLines and nColumns count the positions in it.
	pieceStart, nLines, nColumns int
}

// roomEvery is the number of elements of lists after which the memory is looked at.
const roomEvery = 1 << 12

// take asks for what the draft has grown by.
func (r *decoder) take() error {
	now := r.d.bytes()
	err := r.room.Take(now - r.taken)
	r.taken = now
	return err
}

// scalar reads a value. Of an object or array it returns the kind only, and reads over it. The text is valid until the
// next token.
func (r *decoder) scalar() (jsonscan.Kind, []byte, error) {
	c, err := r.s.Peek()
	if err != nil {
		return jsonscan.Invalid, nil, r.failed(err)
	}
	switch c {
	case '{':
		return jsonscan.Object, nil, r.skip()
	case '[':
		return jsonscan.Array, nil, r.skip()
	}
	for {
		kind, text := r.s.Value()
		if r.s.Err() == nil {
			return kind, text, nil
		}
		if err := r.refill(); err != nil {
			return jsonscan.Invalid, nil, err
		}
	}
}

// skip reads over a value.
func (r *decoder) skip() error {
	if err := r.s.Discard(); err != nil {
		return r.failed(err)
	}
	return nil
}

// refill reads more input after a token failed, if more input can help.
func (r *decoder) refill() error {
	if r.s.Err() != jsonscan.ErrShort {
		return fmt.Errorf("byte %d: %w", r.s.Offset(), errMalformed)
	}
	if err := r.s.Fill(); err != nil {
		return r.failed(err)
	}
	return nil
}

// failed makes an error of the scanner one of the decoder.
func (r *decoder) failed(err error) error {
	switch {
	case err == io.EOF:
		return io.ErrUnexpectedEOF
	case err == jsonscan.ErrMalformed:
		return fmt.Errorf("byte %d: %w", r.s.Offset(), errMalformed)
	}
	return err
}

// object calls member for each key of an object, which must read the value. A value that is no object is read over and
// counted.
func (r *decoder) object(member func(key []byte) error) error {
	if ok, err := r.open('{'); !ok {
		return err
	}
	for {
		c, err := r.s.Peek()
		if err != nil {
			return r.failed(err)
		}
		switch c {
		case ',':
			r.s.Advance(1)
			continue
		case '}':
			r.s.Advance(1)
			return nil
		}
		key, err := r.key()
		if err != nil {
			return err
		}
		if err := member(key); err != nil {
			return err
		}
	}
}

// key reads a key, which is valid until the next token.
func (r *decoder) key() ([]byte, error) {
	key, ok := r.s.Key()
	for !ok {
		if err := r.refill(); err != nil {
			return nil, err
		}
		key, ok = r.s.Key()
	}
	return key, nil
}

// array calls element for each element of an array, which must read it. A value that is no array is read over and
// counted.
func (r *decoder) array(element func() error) error {
	if ok, err := r.open('['); !ok {
		return err
	}
	for {
		c, err := r.s.Peek()
		if err != nil {
			return r.failed(err)
		}
		switch c {
		case ',':
			r.s.Advance(1)
		case ']':
			r.s.Advance(1)
			return nil
		default:
			if err := element(); err != nil {
				return err
			}
			if r.elements++; r.elements%roomEvery == 0 {
				if err := r.take(); err != nil {
					return err
				}
			}
		}
	}
}

// open reads a bracket. If there is another value it is read over, and counted unless it is null.
func (r *decoder) open(bracket byte) (ok bool, err error) {
	c, err := r.s.Peek()
	if err != nil {
		return false, r.failed(err)
	}
	if c == bracket {
		r.s.Advance(1)
		return true, nil
	}
	kind, _, err := r.scalar()
	if err == nil && kind != jsonscan.Null {
		r.d.found.badValues++
	}
	return false, err
}

// text reads a text or number as text. Ids of scripts are numbers in traces and texts in files.
func (r *decoder) text(dst *textIndex) error {
	kind, text, err := r.scalar()
	switch {
	case err != nil:
		return err
	case kind == jsonscan.String, kind == jsonscan.Integer, kind == jsonscan.Number:
		*dst = r.d.text(text)
	case kind != jsonscan.Null:
		r.d.found.badValues++
	}
	return nil
}

// integer reads an integer. ok is false if there is none; anything but null is counted then.
func (r *decoder) integer() (v int64, ok bool, err error) {
	kind, text, err := r.scalar()
	if err != nil {
		return 0, false, err
	}
	if kind == jsonscan.Integer {
		v, ok = jsonscan.Int64(text)
	} else if kind == jsonscan.Number {
		v, ok = jsonscan.Decimal(text, 3) // 5.0 and 1e3, which JavaScript may write
		v, ok = v/1000, ok && v%1000 == 0
	}
	if !ok && kind != jsonscan.Null {
		r.d.found.badValues++
	}
	return v, ok, nil
}

// place reads a line or column. Values that no source text has count as unknown.
func (r *decoder) place(dst *int32) error {
	v, ok, err := r.integer()
	if ok && v == int64(int32(v)) && v >= 0 {
		*dst = int32(v)
	}
	return err
}

// micros reads a time in microseconds, exactly.
func (r *decoder) micros() (ts timeline.Nanos, ok bool, err error) {
	kind, text, err := r.scalar()
	if err != nil {
		return 0, false, err
	}
	if kind == jsonscan.Integer || kind == jsonscan.Number {
		ts, ok = inUnit(text, 3)
	}
	if !ok && kind != jsonscan.Null {
		r.d.found.badValues++
	}
	return ts, ok, nil
}

// inUnit converts the text of a number to nanoseconds, of which there are ten to the power of scale in a unit.
func inUnit(text []byte, scale int) (timeline.Nanos, bool) {
	v, ok := jsonscan.Decimal(text, scale)
	ts := timeline.Nanos(v)
	return ts, ok && -maxTime <= ts && ts <= maxTime
}
