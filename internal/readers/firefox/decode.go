package firefox

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
)

// decoder reads the text of a profile value by value, with members in any order. It handles the shapes of data in a
// profile (objects, lists, and both forms of tables, see table.go) without knowing their meaning.
//
// The scanner's window must hold one whole unit at a time: an element of a list of numbers, a row, or a payload.
type decoder struct {
	*readers.Document
	slabs   *slabs // parts of the JSLB container; nil for plain JSON
	path    []step // current path, for messages
	depth   int    // nesting depth of inputs, see within
	nesting int    // nesting depth of processes
	wrapped bool   // the profile is wrapped in another object
}

// step is one step of the path from the root of the profile: a member or an element.
type step struct {
	key   string
	index int // index of an element; -1 for a member
}

// maxDepth limits the nesting of processes in processes, JSON in strings, and slabs in slabs.
const maxDepth = 8

// within calls fn while d reads another input: a string in the current input, or a slab of its container. If that input is
// truncated or malformed, the part before the damage is used, and d then continues with the current input.
func (d *decoder) within(other *jsonscan.Scanner, fn func() error) error {
	if d.depth == maxDepth {
		return d.Failed(fmt.Errorf("values nested more than %d deep", maxDepth))
	}
	d.depth++
	if err := d.Within(other, fn); err != nil {
		return err
	}
	d.depth--
	return nil
}

// where returns the current path: "threads[3].markers.data[17]".
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

// problem counts a problem at the current path.
func (d *decoder) problem(k problem.Kind, detail string) {
	if d.Log.Wants(k) {
		detail = strings.TrimPrefix(detail+" in "+d.where(), " ")
	}
	d.Log.Add(k, d.Position(), detail)
}

// countNotes counts deviations that a scanner tolerated, except commas, and clears them.
func countNotes(log *problem.Log, n *jsonscan.Notes, at problem.Position) {
	readers.CountNotes(log, n, at)
	*n = jsonscan.Notes{}
}

// unexpected skips a value of the wrong kind and counts it unless it is null.
func (d *decoder) unexpected(c byte) error {
	if c != 'n' {
		d.problem(problem.FirefoxValueInvalid, "")
	}
	return d.Skip()
}

// maxListed limits the length of lists whose elements take much more memory than their encoding. In real profiles,
// they have a few hundred elements.
const maxListed = 1 << 16

// hasCapacity reports whether a list of n elements may grow; if not, it skips the next element.
func (d *decoder) hasCapacity(n int) (ok bool, err error) {
	if n < maxListed {
		return true, nil
	}
	d.problem(problem.FirefoxValueInvalid, "too many elements")
	return false, d.Skip()
}

// object reads an object. The callback member must read the value of its key.
func (d *decoder) object(member func(key string) error) error {
	c, err := d.Peek()
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
	top := len(d.path)
	err = d.Members(func(text []byte, _ byte) error {
		key := string(text)
		d.path = append(d.path[:top], step{key: key, index: -1})
		return member(key)
	})
	if err == nil {
		d.path = d.path[:top]
	}
	return err
}

// array reads a list. The callback element must read one element, starting at the mark.
func (d *decoder) array(element func() error) error {
	c, err := d.Peek()
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
	top := len(d.path)
	d.path = append(d.path, step{index: 0})
	err = d.Elements(func(byte) error {
		if err := element(); err != nil {
			return err
		}
		d.path = d.path[:top+1]
		d.path[top].index++
		return nil
	})
	if err == nil {
		d.path = d.path[:top]
	}
	return err
}

// scalar reads a value; an object or list is returned as unparsed text. The text is valid until the decoder is used
// again.
func (d *decoder) scalar() (kind jsonscan.Kind, text []byte, err error) {
	err = d.Unit(func() { kind, text = d.S.Scalar() })
	return kind, text, err
}

// text reads a string; null leaves dst unchanged, and other values become their JSON text.
func (d *decoder) text(dst *string) error {
	kind, text, err := d.scalar()
	if err == nil && kind != jsonscan.Null {
		*dst = string(text)
	}
	return err
}

// number reads a number; true is 1, and other values leave dst unchanged.
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

// truth reads true or false; nonzero integers are true.
func (d *decoder) truth(dst *bool) error {
	kind, text, err := d.scalar()
	if err == nil {
		*dst = kind == jsonscan.True || kind == jsonscan.Integer && string(text) != "0"
	}
	return err
}

// integer reads an integer, such as a version; other values leave dst unchanged.
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
