package readers

// This file and keys.go read JSON documents of any size, member by member and element by element, as far as they are readable.
// The readers of all JSON formats use a Document, so that the same damage has the same effect and causes the same data problems
// in all formats (docs/formats/json.md). The formats define the meaning of members.
//
// Package jsonscan scans the text. A reader with a faster method for some of its text, such as the event list of a Chrome JSON
// trace, uses that method and reports problems to the Document.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
)

// ErrEnded ends the reading of an input that is truncated, or not JSON from some position on. Everything before the damage is
// used.
var ErrEnded = errors.New("input ended")

// Document reads a document. Its methods return ErrEnded, the input's error, or another error with its position.
type Document struct {
	// S reads the text.
	S *jsonscan.Scanner
	// Log counts problems.
	Log *problem.Log
	// Where names the current position for errors and problems; nil: they have only byte offsets.
	Where func() string
	// Numbered adds the index of the current element in the innermost list to positions.
	Numbered bool
	// Index is the index of the current element of the innermost list; -1 outside of lists.
	Index int64
	// Repeats reports whether a member may occur several times; nil: no member may.
	Repeats func(key []byte) bool
	// Ended is set if the input ended early.
	Ended bool

	piece      *problem.Position // see StartPiece
	malformed  error             // the error if the input is not JSON from some position on
	missing    bool              // no comma before the next key, which may be a stray quote
	commas     bool              // json_trailing_comma was counted
	partial    bool              // json_partial_event was counted
	keys       keySet
	unitKeys   keySet          // keys of an object in the current unit
	duplicates int             // duplicate keys in the current unit
	unknown    map[string]bool // members counted by Unknown
}

// NewDocument returns a Document for the input of s; it counts problems in log.
func NewDocument(s *jsonscan.Scanner, log *problem.Log) *Document {
	return &Document{S: s, Log: log, Index: -1}
}

// StartPiece starts another document, which is a piece of a larger one. All problems are counted at the given position. Text that
// is truncated or not JSON causes an error, which the reader of the larger document must handle.
func (r *Document) StartPiece(at problem.Position) {
	r.piece, r.Index = &at, -1
	r.keys.reset()
}

// Restart starts the next of several concatenated documents. Problems counted once per document are counted again. Malformed
// still returns the first damage.
func (r *Document) Restart() {
	r.Index, r.Ended, r.partial, r.missing = -1, false, false, false
	r.keys.reset()
}

// Within calls fn while the Document reads from another scanner, whose text is a value of the document. If the text is
// truncated or not JSON, the readable part is used, and the document continues.
func (r *Document) Within(other *jsonscan.Scanner, fn func() error) error {
	s, index, keys := r.S, r.Index, r.keys
	r.S, r.keys = other, keySet{}
	if err := fn(); err != nil && err != ErrEnded {
		return err
	}
	r.S, r.Index, r.keys = s, index, keys
	return nil
}

// Cancelled returns a reader that reads r, but returns ctx's error once ctx is done.
func Cancelled(ctx context.Context, r io.Reader) io.Reader { return cancelled{ctx, r} }

type cancelled struct {
	ctx context.Context
	r   io.Reader
}

func (c cancelled) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// Position returns the start of the current unit.
func (r *Document) Position() problem.Position { return r.at(r.S.Start()) }

// at returns the position of a byte in the current element.
func (r *Document) at(offset int64) problem.Position {
	switch {
	case r.piece != nil:
		return *r.piece
	case r.Numbered:
		return problem.Position{Event: r.Index, Offset: offset}
	}
	return problem.Position{Event: -1, Offset: offset}
}

// Failed adds the scanner's position to an error.
func (r *Document) Failed(err error) error {
	if where := r.where(); where != "" {
		return fmt.Errorf("%s (byte %d): %w", where, r.S.Offset(), err)
	}
	return fmt.Errorf("byte %d: %w", r.S.Offset(), err)
}

func (r *Document) where() string {
	if r.Where == nil {
		return ""
	}
	return r.Where()
}

// Malformed returns an error with the position from which the input is not JSON, or nil if all input so far is JSON. Readers call
// it if they cannot use the part of the input before the position.
func (r *Document) Malformed() error { return r.malformed }

// Begin returns the first byte of the document, after a byte order mark.
func (r *Document) Begin() (byte, error) {
	c, err := r.S.Peek()
	if mark := []byte("\ufeff"); err == nil && bytes.HasPrefix(r.S.Window(), mark) {
		r.S.Advance(len(mark))
		c, err = r.S.Peek()
	}
	switch {
	case err == io.EOF:
		return 0, errors.New("the input is empty")
	case err != nil:
		return 0, r.Failed(err)
	}
	return c, nil
}

// Trailing skips everything after the document and counts it unless it is white space.
func (r *Document) Trailing() error {
	_, err := r.S.Peek()
	from := r.S.Start()
	at := problem.Position{Event: -1, Offset: r.S.Start()}
	if r.piece != nil {
		at = *r.piece
	}
	for err == nil {
		r.S.Advance(len(r.S.Window()))
		r.S.Mark()
		err = r.S.Fill()
	}
	if err != io.EOF {
		return r.Failed(err)
	}
	r.Log.AddN(problem.JSONTrailingData, uint64(r.S.Offset()-from), at, "")
	return nil
}

// Peek returns the next byte that is not white space.
func (r *Document) Peek() (byte, error) {
	c, err := r.S.Peek()
	if err != nil {
		return 0, r.End(err)
	}
	return c, nil
}

// End handles an error from the scanner's Fill. For the end of the input, it counts a problem and returns ErrEnded; to any other
// error, and to the end of a piece, it adds the position.
func (r *Document) End(err error) error {
	switch {
	case err == io.EOF && r.piece != nil:
		return r.Failed(jsonscan.ErrMalformed)
	case err != io.EOF:
		return r.Failed(err)
	}
	if !r.Ended {
		r.Ended = true
		r.Log.Add(problem.JSONUnterminated, problem.Position{Event: -1, Offset: r.S.Offset()}, r.where())
	}
	return ErrEnded
}

// Partial counts a value that is truncated by the end of the input, at its position. It counts only once, because enclosing
// values are truncated too.
func (r *Document) Partial(at problem.Position) {
	if !r.partial && r.piece == nil {
		r.partial = true
		r.Log.Add(problem.JSONPartialEvent, at, r.inWhere())
	}
}

func (r *Document) inWhere() string {
	if where := r.where(); where != "" {
		return "in " + where
	}
	return ""
}

// Break ends reading at the scanner's offset because of err, which describes invalid JSON. The rest counts as trailing data.
func (r *Document) Break(err error) error {
	err = r.Failed(err)
	if r.malformed == nil {
		r.malformed = err
	}
	if r.piece != nil {
		return err
	}
	r.Ended = true
	r.Log.Add(problem.JSONMalformedEvent, r.at(r.S.Offset()), r.where())
	r.S.SeekTo(r.S.Offset())
	if err := r.Trailing(); err != nil {
		return err
	}
	return ErrEnded
}

// Unit reads a unit at the mark with parse, which is called again whenever the window must grow. Results of a call in which the
// scanner failed must be discarded.
func (r *Document) Unit(parse func()) error {
	for {
		r.duplicates = 0
		parse()
		if r.S.Err() == nil {
			r.CountNotes()
			return nil
		}
		if err := r.Refill(); err != nil {
			return err
		}
	}
}

// Refill reads more of a unit after the scanner failed, if more text can help.
func (r *Document) Refill() error {
	if err := r.S.Err(); err != jsonscan.ErrShort {
		return r.Break(err)
	}
	at := r.Position()
	err := r.S.Fill()
	if err == nil {
		return nil
	}
	if err == io.EOF && !r.Ended {
		r.Partial(at)
	}
	return r.End(err)
}

// Scalar reads a value as a unit. It skips an object or list and returns its kind. The text is valid until the next use of the
// Document.
func (r *Document) Scalar() (kind jsonscan.Kind, text []byte, err error) {
	c, err := r.Peek()
	if err != nil {
		return jsonscan.Invalid, nil, err
	}
	switch c {
	case '{':
		return jsonscan.Object, nil, r.Skip()
	case '[':
		return jsonscan.Array, nil, r.Skip()
	}
	for {
		kind, text = r.S.Value()
		if r.S.Err() == nil {
			if r.S.Notes != (jsonscan.Notes{}) {
				r.CountNotes()
			}
			return kind, text, nil
		}
		if err := r.Refill(); err != nil {
			return jsonscan.Invalid, nil, err
		}
	}
}

// Skip skips a value of any size. It checks only brackets and strings.
func (r *Document) Skip() error {
	switch err := r.S.Discard(); err {
	case nil:
		return nil
	case jsonscan.ErrMalformed:
		return r.Break(err)
	default:
		return r.End(err)
	}
}

// Level is an open object or list.
type Level struct {
	closing byte  // its closing bracket
	after   byte  // the last token: a bracket, a comma, or aValue
	n       int64 // number of elements so far
	outer   int64 // Document.Index outside this level
	keys    int   // the argument for keySet.close
}

const aValue = '"'

// Open reads the bracket of an object or list at the scanner's position.
func (r *Document) Open() Level {
	c := r.S.Window()[0]
	r.S.Advance(1)
	l := Level{closing: c + 2, after: c, outer: r.Index}
	if c == '{' {
		l.keys = r.keys.open()
	}
	return l
}

// Next advances to the next member or element and returns its first byte. At the end of the level, it reads the closing bracket.
// Two values without a comma between them are accepted.
func (r *Document) Next(l *Level) (first byte, more bool, err error) {
	for {
		c, err := r.Peek()
		switch {
		case err != nil:
			return 0, false, err
		case c == ',':
			if l.after != aValue {
				r.Comma(r.Position())
			}
			l.after = c
			r.S.Advance(1)
		case c == l.closing:
			if l.after == ',' {
				r.Comma(r.Position())
			}
			r.S.Advance(1)
			r.close(l)
			return 0, false, nil
		case l.closing == '}' && c != '"', c == '}', c == ']', c == ':':
			return 0, false, r.Break(fmt.Errorf("%w: found %q after %s", jsonscan.ErrMalformed, c, l.name()))
		default:
			missing := l.after == aValue
			l.after = aValue
			if l.closing == '}' {
				r.missing = missing
				return c, true, nil
			}
			if missing {
				r.Comma(r.Position())
			}
			r.Index = l.n
			l.n++
			return c, true, nil
		}
	}
}

// name describes the last token.
func (l *Level) name() string {
	switch l.after {
	case ',':
		return "a comma"
	case aValue:
		return "a value"
	}
	return "a bracket"
}

// close ends a level after its closing bracket.
func (r *Document) close(l *Level) {
	if l.closing == '}' {
		r.keys.close(l.keys)
	} else {
		r.Index = l.outer
	}
}

// Member reads the key of a member, advances to the value, and returns the first byte of the value. The key is valid until its
// object ends.
func (r *Document) Member() (key []byte, first byte, err error) {
	text, ok := r.S.Key()
	for !ok {
		if err := r.Refill(); err != nil {
			return nil, 0, err
		}
		text, ok = r.S.Key()
	}
	at := r.Position()
	if r.missing {
		r.Comma(at)
	}
	key, isNew := r.keys.add(text)
	if !isNew && (r.Repeats == nil || !r.Repeats(key)) {
		r.Log.Add(problem.JSONDuplicateKey, at, string(key))
	}
	if r.S.Notes != (jsonscan.Notes{}) {
		r.CountNotes()
	}
	if first, err = r.S.Peek(); err != nil {
		if err == io.EOF && !r.Ended {
			r.Partial(at)
		}
		return nil, 0, r.End(err)
	}
	return key, first, nil
}

// Members reads an object of any size at the scanner's position. For each member, it calls the callback with the key and the
// first byte of the value. The callback must read the value. The key is valid until the object ends.
func (r *Document) Members(member func(key []byte, first byte) error) error {
	for l := r.Open(); ; {
		if _, more, err := r.Next(&l); !more {
			return err
		}
		key, first, err := r.Member()
		if err == nil {
			err = member(key, first)
		}
		if err != nil {
			return err
		}
	}
}

// Elements reads a list of any size at the scanner's position. For each element, it calls the callback with the first byte of the
// value. The callback must read the value.
func (r *Document) Elements(element func(first byte) error) error {
	for l := r.Open(); ; {
		first, more, err := r.Next(&l)
		if !more {
			return err
		}
		if err := element(first); err != nil {
			return err
		}
	}
}

// StartObject reads the bracket of an object inside a unit.
func (r *Document) StartObject() {
	r.S.Value()
	r.unitKeys.restart()
}

// Key reads a key of the object that StartObject opened, like the scanner's Key.
func (r *Document) Key() ([]byte, bool) {
	key, ok := r.S.Key()
	if ok {
		if _, isNew := r.unitKeys.add(key); !isNew {
			r.duplicates++
		}
	}
	return key, ok
}

// maxUnknown limits the number of unknown members that are counted.
const maxUnknown = 1000

// Unknown counts a member unknown to the format: once for each name, and up to maxUnknown names.
func (r *Document) Unknown(key []byte, at problem.Position) {
	if r.unknown[string(key)] || len(r.unknown) >= maxUnknown {
		return
	}
	if r.unknown == nil {
		r.unknown = map[string]bool{}
	}
	r.unknown[string(key)] = true
	r.Log.Add(problem.EventUnknownMember, at, string(key))
}

// Comma counts extra and missing commas, once per input.
func (r *Document) Comma(at problem.Position) {
	if !r.commas {
		r.commas = true
		r.Log.Add(problem.JSONTrailingComma, at, "")
	}
}

// CountNotes counts the deviations in the current unit, and its duplicate keys.
func (r *Document) CountNotes() {
	r.CountNotesOf(&r.S.Notes, r.Position())
	if r.duplicates > 0 {
		r.Log.AddN(problem.JSONDuplicateKey, uint64(r.duplicates), r.Position(), "")
		r.duplicates = 0
	}
}

// CountNotesOf counts the deviations that a scanner tolerated at a position in the document, and clears them.
func (r *Document) CountNotesOf(n *jsonscan.Notes, at problem.Position) {
	if *n == (jsonscan.Notes{}) {
		return
	}
	if n.Commas > 0 {
		r.Comma(at)
	}
	CountNotes(r.Log, n, at)
	*n = jsonscan.Notes{}
}

// CountNotes counts the deviations that a scanner tolerated, except commas.
func CountNotes(log *problem.Log, n *jsonscan.Notes, at problem.Position) {
	log.AddN(problem.JSONControlCharacter, uint64(n.Controls), at, "")
	log.AddN(problem.JSONInvalidUTF8, uint64(n.InvalidUTF8), at, "")
	log.AddN(problem.JSONLoneSurrogate, uint64(n.LoneSurrogates), at, "")
	log.AddN(problem.JSONBadEscape, uint64(n.BadEscapes), at, "")
	log.AddN(problem.JSONNonstandardNumber, uint64(n.Nonstandard), at, "")
}
