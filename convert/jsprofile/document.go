package jsprofile

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/problem"
)

// document reads the input from its first byte to its last: one profile, an array of them, or several one behind the
// other, as JSON lines have them.
func (r *reader) document() error {
	r.index = -1
	c, err := r.s.Peek()
	if err == nil && bytes.HasPrefix(r.s.Window(), []byte("\ufeff")) {
		r.s.Advance(len("\ufeff"))
		c, err = r.s.Peek()
	}
	if err == io.EOF {
		return errors.New("the input is empty")
	}
	for n := 0; err == nil; n++ {
		switch {
		case c == '{':
			err = r.object()
		case c == '[' && n == 0:
			err = r.array()
		case n == 0:
			return r.failed(fmt.Errorf("no JS self-profile: found %q instead of an array or object", c))
		default:
			err = r.trailing()
		}
		if err != nil {
			return r.concluded(err)
		}
		c, err = r.s.Peek()
	}
	if err != io.EOF {
		return r.failed(err)
	}
	return r.concluded(nil)
}

// concluded returns the error of reading the document, and another one if there is no profile in it. A profile that is
// cut may have lost its samples; else an object without samples is none.
func (r *reader) concluded(err error) error {
	if err != nil && err != errEnded {
		return err
	}
	for _, p := range r.profiles {
		switch {
		case !p.complete:
			return err
		case p.have == haveSamples && p.samples.Len() == 0: // of another format
		case p.have&haveSamples != 0:
			return err
		}
	}
	return r.failed(errors.New("no JS self-profile: no object with frames, stacks and samples"))
}

// trailing reads over what is no profile, to the end of the input.
func (r *reader) trailing() error {
	at := r.position()
	var err error
	for err == nil {
		r.s.Advance(len(r.s.Window()))
		r.s.Mark()
		err = r.s.Fill()
	}
	if err != io.EOF {
		return r.failed(err)
	}
	r.log.AddN(problem.JSONTrailingData, uint64(r.s.Offset()-at.Offset), at, "")
	return errEnded
}

// array reads an array of profiles.
func (r *reader) array() error {
	return r.elements(func(c byte) error {
		if c == '{' {
			return r.object()
		}
		r.problem(problem.JSONNotAnEvent, "an element that is no profile")
		return r.discard()
	})
}

// object reads an object that is a profile, or has one as its member trace.
func (r *reader) object() error {
	p := &profile{states: newStates(), offset: r.s.Start()}
	index := r.index
	r.index = -1
	err := r.objectMembers(func(key string, c byte) error {
		if key == "trace" && c == '{' {
			return r.objectMembers(func(key string, c byte) error { return r.member(p, key, c) })
		}
		return r.member(p, key, c)
	})
	r.index = index
	p.complete = err == nil
	if p.have == 0 {
		r.log.Add(problem.JSONNotAnEvent, problem.Position{Event: index, Offset: p.offset}, "an object that is no profile")
		return err
	}
	r.profiles = append(r.profiles, p)
	return err
}

// objectMembers reads the members of an object of any size at the current position. member is called with the first byte
// of the value, which it must read.
func (r *reader) objectMembers(member func(key string, c byte) error) error {
	r.s.Advance(1)
	after := byte('{')
	for {
		c, err := r.s.Peek()
		if err != nil {
			return r.ended(err)
		}
		switch c {
		case ',':
			if after != '"' {
				r.comma()
			}
			r.s.Advance(1)
		case '}':
			if after == ',' {
				r.comma()
			}
			r.s.Advance(1)
			return nil
		case '"':
			key, err := r.key()
			if err != nil {
				return err
			}
			first, err := r.s.Peek()
			if err != nil {
				return r.ended(err)
			}
			if err := member(key, first); err != nil {
				return err
			}
		default:
			return r.broken()
		}
		after = c
	}
}

// key reads the key of a member of a large object.
func (r *reader) key() (key string, err error) {
	err = r.unit(func() {
		if text, ok := r.s.Key(); ok {
			key = string(text)
		}
	})
	return key, err
}

// elements reads an array of any size at the current position. element is called with the first byte of each value, which
// it must read.
func (r *reader) elements(element func(c byte) error) error {
	r.s.Advance(1)
	after := byte('[') // what came last: the bracket, a comma, or 0 for a value
	index := r.index
	for r.index = 0; ; {
		c, err := r.s.Peek()
		if err != nil {
			return r.ended(err)
		}
		switch {
		case c == ',':
			if after == '[' || after == ',' {
				r.comma()
			}
			r.s.Advance(1)
		case c == ']':
			if after == ',' {
				r.comma()
			}
			r.s.Advance(1)
			r.index = index
			return nil
		case c == '}' || c == ':':
			return r.broken()
		default:
			if err := element(c); err != nil {
				return err
			}
			r.index++
			c = 0
		}
		after = c
	}
}

// unit reads one unit of the input with parse, which is called again whenever the window has to grow. What is cut or is
// no JSON ends the reading.
func (r *reader) unit(parse func()) error {
	for {
		parse()
		switch r.s.Err() {
		case nil:
			r.notes()
			return nil
		case jsonscan.ErrShort:
			at := r.position()
			err := r.s.Fill()
			if err == nil {
				continue
			}
			if err == io.EOF && r.index >= 0 {
				r.log.Add(problem.JSONPartialEvent, at, "")
			}
			return r.ended(err)
		}
		return r.broken()
	}
}

// broken ends the reading where the text is no JSON any more. What was read is used.
func (r *reader) broken() error {
	r.cut = true
	r.log.Add(problem.JSONMalformedEvent, problem.Position{Event: r.index, Offset: r.s.Offset()}, "")
	r.index = -1
	r.s.SeekTo(r.s.Offset())
	return r.trailing()
}

// discard reads over one value of any size.
func (r *reader) discard() error {
	switch err := r.s.Discard(); err {
	case nil:
		return nil
	case jsonscan.ErrMalformed:
		return r.broken()
	default:
		return r.ended(err)
	}
}
