package firefox

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/jsondoc"
	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/problem"
)

// decoder reads the text of a profile, one JSON value after the other, whatever the order of its members. It knows the
// two shapes in which a profile stores things (objects and lists, and tables of either form, see table.go) but not what
// they mean.
//
// The scanner sees the input through a window. What has to be in the window at once is a unit: one element of a list of
// numbers, one row, one payload.
type decoder struct {
	s       *jsonscan.Scanner
	log     *problem.Log
	slabs   *slabs // of a JSLB container; nil for plain JSON
	path    []step // where the decoder is, for messages
	depth   int    // of inputs inside of inputs, see within
	nesting int    // of processes in processes
	wrapped bool   // the profile was found inside of another object
	cut     *bool  // the end of the input was noted
}

// step is one step of the path from the root of the profile: a member or an element.
type step struct {
	key   string
	index int // of an element; -1 for a member
}

// maxDepth bounds values inside of values: processes in processes, JSON in strings, slabs in slabs.
const maxDepth = 8

func newDecoder(r io.Reader, window int, log *problem.Log) *decoder {
	return &decoder{s: jsonscan.NewSize(r, window), log: log, cut: new(bool)}
}

// within calls fn with another input in place of d's: a text that is a value of the input, or a slab of its container. If
// that is cut, all that is complete is used, and the input itself goes on.
func (d *decoder) within(other *jsonscan.Scanner, fn func() error) error {
	if d.depth == maxDepth {
		return d.failed(fmt.Errorf("values inside of values, more than %d deep", maxDepth))
	}
	outer := d.s
	d.s, d.depth = other, d.depth+1
	if err := fn(); err != nil && err != errEnded {
		return err
	}
	d.s, d.depth = outer, d.depth-1
	return nil
}

// where names the place of the decoder: "threads[3].markers.data[17]".
func (d *decoder) where() string {
	var b strings.Builder
	for _, s := range d.path {
		switch {
		case s.index >= 0:
			b.WriteByte('[')
			b.WriteString(strconv.Itoa(s.index))
			b.WriteByte(']')
		case b.Len() > 0:
			b.WriteByte('.')
			fallthrough
		default:
			b.WriteString(s.key)
		}
	}
	return b.String()
}

func (d *decoder) position() problem.Position {
	return problem.Position{Event: -1, Offset: d.s.Start()}
}

// problem counts a problem at the current place.
func (d *decoder) problem(k problem.Kind, detail string) {
	if d.log.Wants(k) {
		detail = strings.TrimPrefix(detail+" in "+d.where(), " ")
	}
	d.log.Add(k, d.position(), detail)
}

// failed gives an error the place of the decoder.
func (d *decoder) failed(err error) error {
	if where := d.where(); where != "" {
		return fmt.Errorf("%s (byte %d): %w", where, d.s.Offset(), err)
	}
	return fmt.Errorf("byte %d: %w", d.s.Offset(), err)
}

// ended is called with an error of Fill: the end of the input is noted and becomes errEnded.
func (d *decoder) ended(err error) error {
	if err != io.EOF {
		return d.failed(err)
	}
	if !*d.cut {
		*d.cut = true
		d.log.Add(problem.JSONUnterminated, problem.Position{Event: -1, Offset: d.s.Offset()}, d.where())
	}
	return errEnded
}

// peek returns the next byte that is no white space.
func (d *decoder) peek() (byte, error) {
	c, err := d.s.Peek()
	if err != nil {
		return 0, d.ended(err)
	}
	return c, nil
}

// unit calls fn, which reads something that begins at the mark, until the window holds all of it. What fn did in a call
// that ended with a failure of the scanner must not count.
func (d *decoder) unit(fn func()) error {
	for {
		fn()
		switch err := d.s.Err(); err {
		case nil:
			if d.s.Notes != (jsonscan.Notes{}) {
				d.notes()
			}
			return nil
		case jsonscan.ErrShort:
			if err := d.s.Fill(); err != nil {
				if err == io.EOF && !*d.cut {
					d.problem(problem.JSONPartialEvent, "")
				}
				return d.ended(err)
			}
		default:
			return d.failed(err)
		}
	}
}

// notes counts what the scanner tolerated.
func (d *decoder) notes() {
	if d.s.Notes.Commas > 0 {
		d.comma()
	}
	countNotes(d.log, &d.s.Notes, d.position())
}

// countNotes counts what a scanner tolerated, but commas, and forgets it.
func countNotes(log *problem.Log, n *jsonscan.Notes, at problem.Position) {
	jsondoc.CountNotes(log, n, at)
	*n = jsonscan.Notes{}
}

// skip reads over a value of any size.
func (d *decoder) skip() error {
	err := d.s.Discard()
	switch {
	case err == nil:
		return nil
	case err == jsonscan.ErrMalformed:
		return d.failed(err)
	}
	return d.ended(err)
}

// unexpected reads over a value that is not of the kind that the format asks for; null is nothing.
func (d *decoder) unexpected(c byte) error {
	if c != 'n' {
		d.problem(problem.FirefoxValueInvalid, "")
	}
	return d.skip()
}

// next goes to the next member or element, and reports whether there is one; if there is none it reads the closing bracket.
// after is a bracket or comma, or a quote behind a value. Commas that are too many are tolerated.
func (d *decoder) next(after, closing byte) (more bool, err error) {
	for {
		c, err := d.peek()
		if err != nil {
			return false, err
		}
		switch {
		case c == ',':
			if after != '"' {
				d.comma()
			}
			after = ','
			d.s.Advance(1)
			continue
		case c == closing:
			if after == ',' {
				d.comma()
			}
			d.s.Advance(1)
			return false, nil
		case after == '"':
			return false, d.failed(fmt.Errorf("%w: found %q behind a value", jsonscan.ErrMalformed, c))
		}
		return true, nil
	}
}

// comma counts commas that are too many, once for an input.
func (d *decoder) comma() {
	if d.log.Count(problem.JSONTrailingComma) == 0 {
		d.log.Add(problem.JSONTrailingComma, d.position(), "")
	}
}

// maxListed bounds lists whose elements take much more memory than the few bytes that they can be written with. Real
// profiles hold some hundred of each.
const maxListed = 1 << 16

// room reports whether a list that has n elements may have one more; if not, it reads over that.
func (d *decoder) room(n int) (ok bool, err error) {
	if n < maxListed {
		return true, nil
	}
	d.problem(problem.FirefoxValueInvalid, "too many elements")
	return false, d.skip()
}

// object reads an object; member must read the value of its key.
func (d *decoder) object(member func(key string) error) error {
	c, err := d.peek()
	if err != nil {
		return err
	}
	if c != '{' {
		return d.unexpected(c)
	}
	if slab, err := d.slab(); slab != nil || err != nil {
		if err != nil {
			return err
		}
		return d.within(slab, func() error { return d.object(member) })
	}
	d.s.Advance(1)
	top := len(d.path)
	for after := byte('{'); ; after = '"' {
		more, err := d.next(after, '}')
		if err != nil {
			return err
		}
		if !more {
			d.path = d.path[:top]
			return nil
		}
		var key string
		err = d.unit(func() {
			k, ok := d.s.Key()
			if ok {
				key = string(k)
			}
		})
		if err != nil {
			return err
		}
		d.path = append(d.path[:top], step{key: key, index: -1})
		if _, err := d.peek(); err != nil {
			return err
		}
		if err := member(key); err != nil {
			return err
		}
	}
}

// array reads a list; element must read one element, which begins at the mark.
func (d *decoder) array(element func() error) error {
	c, err := d.peek()
	if err != nil {
		return err
	}
	if c != '[' {
		slab, err := d.slab()
		if err != nil {
			return err
		}
		if slab != nil {
			return d.within(slab, func() error { return d.array(element) })
		}
		return d.unexpected(c)
	}
	d.s.Advance(1)
	top := len(d.path)
	d.path = append(d.path, step{index: 0})
	for after := byte('['); ; after = '"' {
		more, err := d.next(after, ']')
		if err != nil {
			return err
		}
		if !more {
			d.path = d.path[:top]
			return nil
		}
		if err := element(); err != nil {
			return err
		}
		d.path = d.path[:top+1]
		d.path[top].index++
	}
}

// scalar reads a value. Of an object or a list it returns the text as written. The text is valid until the decoder is
// used again.
func (d *decoder) scalar() (kind jsonscan.Kind, text []byte, err error) {
	err = d.unit(func() { kind, text = d.s.Scalar() })
	return kind, text, err
}

// text reads a string; anything else becomes what it is in JSON, null the empty text.
func (d *decoder) text(dst *string) error {
	kind, text, err := d.scalar()
	if err == nil && kind != jsonscan.Null {
		*dst = string(text)
	}
	return err
}

// number reads a number; anything else is no number and leaves dst as it is.
func (d *decoder) number(dst *float64) error {
	kind, text, err := d.scalar()
	if err != nil {
		return err
	}
	switch kind {
	case jsonscan.Integer, jsonscan.Number:
		if f, ok := jsonscan.Float64(text); ok {
			*dst = f
		}
	case jsonscan.True:
		*dst = 1
	}
	return nil
}

// truth reads true or false; numbers other than 0 are true.
func (d *decoder) truth(dst *bool) error {
	kind, text, err := d.scalar()
	if err == nil {
		*dst = kind == jsonscan.True || kind == jsonscan.Integer && string(text) != "0"
	}
	return err
}

// integer reads an integer, such as a version; anything else leaves dst as it is.
func (d *decoder) integer(dst *int64) error {
	kind, text, err := d.scalar()
	if err != nil {
		return err
	}
	if kind == jsonscan.Integer || kind == jsonscan.Number {
		if v, ok := jsonscan.Decimal(text, 0); ok {
			*dst = v
		}
	}
	return nil
}
