package jsprofile

import (
	"fmt"
	"math"

	"github.com/weft-trace/weft/internal/collections"
	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// Limits of the lists. Browsers stay far below them.
const (
	maxResources = 1 << 20
	maxFrames    = 1 << 20
	maxStacks    = 1 << 22
)

// member reads a member of a profile, whose value starts with c.
func (r *reader) member(p *profile, key string, c byte) error {
	switch key {
	case "resources":
		return list(r, p, haveResources, key, c, &p.resources, maxResources, r.resource)
	case "frames":
		return list(r, p, haveFrames, key, c, &p.frames, maxFrames, r.frame)
	case "stacks":
		return list(r, p, haveStacks, key, c, &p.stacks, maxStacks, r.stack)
	case "samples":
		return r.samples(p, c)
	}
	return r.wrapperMember(p, key, c)
}

// list reads a list whose elements are referred to by index, so an unreadable element keeps its index.
func list[T any](r *reader, p *profile, which lists, key string, c byte, to *collections.List[T], limit int, element func(c byte, out *T) error) error {
	if !r.begins(p, which, c) {
		return r.Skip()
	}
	to.Truncate(0)
	var out, none T // shared by all elements, because it may escape to the heap
	return r.Elements(func(c byte) error {
		if to.Len() == limit {
			if r.Index == int64(limit) {
				r.problem(problem.StackLimit, fmt.Sprintf("more than %d %s", limit, key))
			}
			return r.Skip()
		}
		out = none
		err := element(c, &out)
		if err == nil {
			to.Append(out)
		}
		return err
	})
}

// begins records that a profile has a list. It returns false if the value, which starts with c, is not a list. The last of two
// lists with the same name counts.
func (r *reader) begins(p *profile, which lists, c byte) bool {
	if c != '[' {
		return false // as if it were missing
	}
	p.have |= which
	return true
}

// resource reads an element of resources: the address of a script.
func (r *reader) resource(c byte, out *string) error {
	if c != '"' {
		r.problem(problem.SelfProfileFrameInvalid, "a resource that is not a text")
		return r.Skip()
	}
	err := r.Unit(func() {
		_, text := r.S.Value()
		*out = string(text)
	})
	if err != nil {
		return err
	}
	return r.reserve(sizeOfResource + len(*out))
}

// frame reads an element of frames.
func (r *reader) frame(c byte, out *frame) error {
	*out = frame{resource: noIndex}
	if c != '{' {
		r.problem(problem.SelfProfileFrameInvalid, "a frame that is not an object")
		return r.Skip()
	}
	invalid := ""
	err := r.Unit(func() {
		*out, invalid = frame{resource: noIndex}, ""
		check := func(ok bool, key []byte) {
			if !ok {
				invalid = string(key)
			}
		}
		r.StartObject()
		for key, ok := r.Key(); ok; key, ok = r.Key() {
			switch string(key) {
			case "name":
				kind, text := r.S.Scalar()
				out.name = string(text)
				check(kind == jsonscan.String, key)
			case "resourceId":
				out.resource = r.indexValue()
				check(out.resource != badIndex, key)
			case "line":
				out.line, ok = r.count()
				check(ok, key)
			case "column":
				out.column, ok = r.count()
				check(ok, key)
			default:
				r.Unknown(key, r.Position())
				r.S.Skip()
			}
		}
	})
	if err != nil {
		return err
	}
	if invalid != "" {
		r.problem(problem.SelfProfileFrameInvalid, invalid)
	}
	return r.reserve(sizeOfFrame + len(out.name))
}

// stack reads an element of stacks. Defects are counted at the samples with the stack.
func (r *reader) stack(c byte, out *stack) error {
	*out = stack{frame: badIndex, parent: noIndex}
	if c != '{' {
		return r.Skip()
	}
	err := r.Unit(func() {
		*out = stack{frame: badIndex, parent: noIndex}
		r.StartObject()
		for key, ok := r.Key(); ok; key, ok = r.Key() {
			switch string(key) {
			case "frameId":
				out.frame = r.indexValue()
			case "parentId":
				out.parent = r.indexValue()
			default:
				r.Unknown(key, r.Position())
				r.S.Skip()
			}
		}
	})
	if err != nil {
		return err
	}
	return r.reserve(sizeOfStack)
}

func (r *reader) samples(p *profile, c byte) error {
	if !r.begins(p, haveSamples, c) {
		return r.Skip()
	}
	p.samples.Truncate(0)
	p.holes = false
	return r.Elements(func(c byte) error {
		if c != '{' {
			p.holes = true
			r.problem(problem.JSONNotAnEvent, "in samples")
			return r.Skip()
		}
		s := sample{offset: r.S.Start()}
		timed, states := false, len(p.states.names)
		if err := r.Unit(func() { timed = r.sample(p, &s) }); err != nil {
			return err
		}
		for _, name := range p.states.names[states:] {
			if err := r.reserve(sizeOfState + len(name)); err != nil {
				return err
			}
		}
		if !timed {
			p.holes = true
			r.Log.Add(problem.EventInvalidTimestamp, problem.Position{Event: r.Index, Offset: s.offset}, "in samples")
			return nil
		}
		p.samples.Append(s)
		return r.reserve(sizeOfSample)
	})
}

// sample reads an element of samples (C4). It returns false if the sample has no usable timestamp.
func (r *reader) sample(p *profile, out *sample) (timed bool) {
	out.stack, out.state = noIndex, idle
	marked := false
	r.StartObject()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "timestamp":
			out.ts, timed = r.millis()
		case "stackId":
			out.stack = r.indexValue()
		case "marker":
			kind, text := r.S.Scalar()
			if marked = kind > jsonscan.Null && len(text) > 0; marked {
				out.state = p.states.id(r.S.ValidText(text))
			}
		default:
			r.Unknown(key, r.Position())
			r.S.Skip()
		}
	}
	if !marked && out.stack != noIndex {
		out.state = inferred
	}
	return timed
}

// indexValue reads an index into a list, or null.
func (r *reader) indexValue() int32 {
	kind, text := r.S.Scalar()
	if kind == jsonscan.Null {
		return noIndex
	}
	if v, ok := natural(kind, text); ok {
		return v
	}
	return badIndex
}

// count reads a line or column, or 0 for null.
func (r *reader) count() (n int32, ok bool) {
	kind, text := r.S.Scalar()
	if kind == jsonscan.Null {
		return 0, true
	}
	return natural(kind, text)
}

// natural converts a nonnegative whole number, possibly in quotes.
func natural(kind jsonscan.Kind, text []byte) (int32, bool) {
	if kind != jsonscan.Integer && kind != jsonscan.Number && kind != jsonscan.String {
		return 0, false
	}
	f, ok := jsonscan.Float64(text)
	if !ok || f < 0 || f > math.MaxInt32 || f != math.Trunc(f) || !jsonscan.IsNumber(text) {
		return 0, false
	}
	return int32(f), true
}

// millis reads a time or duration in milliseconds, given as a number, possibly in quotes (C1).
func (r *reader) millis() (timeline.Nanos, bool) {
	switch kind, text := r.S.Scalar(); kind {
	case jsonscan.Integer, jsonscan.Number, jsonscan.String:
		v, ok := jsonscan.Decimal(text, 6)
		return timeline.Nanos(v), ok
	}
	return 0, false
}
