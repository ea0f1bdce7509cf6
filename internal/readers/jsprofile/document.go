package jsprofile

import (
	"errors"
	"fmt"
	"io"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
)

// document reads the whole input: one profile, an array of them, or several in sequence, such as JSON lines.
func (r *reader) document() error {
	c, err := r.Begin()
	if err != nil {
		return err
	}
	for n := 0; err == nil; n++ {
		switch {
		case c == '{':
			err = r.object()
		case c == '[' && n == 0:
			err = r.array()
		case n == 0:
			return r.Failed(fmt.Errorf("not a JS self-profile: found %q instead of an array or object", c))
		default:
			err = r.Trailing()
		}
		if err != nil {
			return r.concluded(err)
		}
		c, err = r.S.Peek()
	}
	if err != io.EOF {
		return r.Failed(err)
	}
	return r.concluded(nil)
}

// concluded returns the error from reading the document, or an error if it contains no profile. A truncated profile may
// have lost its samples; otherwise an object without samples is not a profile.
func (r *reader) concluded(err error) error {
	if err != nil && err != readers.ErrEnded {
		return err
	}
	for _, p := range r.profiles {
		switch {
		case !p.complete:
			return err
		case p.have == haveSamples && p.samples.Len() == 0: // samples of another format
		case p.have&haveSamples != 0:
			return err
		}
	}
	return r.Failed(errors.New("not a JS self-profile: no object has frames, stacks and samples"))
}

func (r *reader) array() error {
	return r.Elements(func(c byte) error {
		if c == '{' {
			return r.object()
		}
		r.problem(problem.JSONNotAnEvent, "an element that is not a profile")
		return r.Skip()
	})
}

// object reads an object that is a profile or contains one in its member trace.
func (r *reader) object() error {
	p := &profile{states: newStates(), offset: r.S.Start()}
	index := r.Index
	r.Index = -1
	err := r.Members(func(key []byte, c byte) error {
		if string(key) == "trace" && c == '{' {
			return r.Members(func(key []byte, c byte) error { return r.member(p, string(key), c) })
		}
		return r.member(p, string(key), c)
	})
	r.Index = index
	p.complete = err == nil
	if p.have == 0 {
		r.Log.Add(problem.JSONNotAnEvent, problem.Position{Event: index, Offset: p.offset}, "an object that is not a profile")
		return err
	}
	r.profiles = append(r.profiles, p)
	return err
}
