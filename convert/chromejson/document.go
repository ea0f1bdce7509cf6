package chromejson

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/problem"
)

// document reads the input from its first byte to its last (section 2).
func (rd *reader) document() error {
	c, err := rd.s.Peek()
	if err == nil && bytes.HasPrefix(rd.s.Window(), []byte("\ufeff")) {
		rd.s.Advance(len("\ufeff"))
		c, err = rd.s.Peek()
	}
	switch {
	case err == io.EOF:
		return errors.New("the input is empty")
	case err != nil:
		return rd.failed(err)
	case c == '[':
		err = rd.eventArray()
	case c == '{':
		err = rd.object()
	default:
		err = rd.failed(fmt.Errorf("no Chrome JSON trace: found %q instead of an array or object", c))
	}
	if err != nil {
		return err
	}
	return rd.trailing()
}

// eventArray reads the array form. An array of nothing but other elements than events is some other JSON; an empty one is
// a trace, as are empty objects and events that cannot be parsed.
func (rd *reader) eventArray() error {
	before := rd.otherElements()
	err := rd.events()
	if err != nil && err != errEnded || rd.index == 0 || rd.otherElements()-before != uint64(rd.index) {
		return err
	}
	return rd.failed(fmt.Errorf("no Chrome JSON trace: an array of %d elements, none of which is an event", rd.index))
}

// otherElements returns the number of elements of the list that are something else than events.
func (rd *reader) otherElements() uint64 {
	return rd.log.Count(problem.JSONNotAnEvent) + rd.log.Count(problem.EventMissingPhase)
}

// trailing reads over what follows the value, and counts it if it is more than white space.
func (rd *reader) trailing() error {
	rd.inEvents = false
	_, err := rd.s.Peek()
	at := rd.position()
	for err == nil {
		rd.s.Advance(len(rd.s.Window()))
		rd.s.Mark()
		err = rd.s.Fill()
	}
	if err != io.EOF {
		return rd.failed(err)
	}
	rd.log.AddN(problem.JSONTrailingData, uint64(rd.s.Offset()-at.Offset), at, "")
	return nil
}

// maxKeysNamed is the number of keys that the message about an unknown format names, maxKeyNamed their length.
const (
	maxKeysNamed = 20
	maxKeyNamed  = 40
)

// object reads the object form. An object without traceEvents is no trace, even if it is cut.
func (rd *reader) object() error {
	var seen []string
	err := rd.topLevel(func(key string) error {
		if key == "traceEvents" {
			rd.found = true
		}
		if len(seen) < maxKeysNamed {
			seen = append(seen, key[:min(len(key), maxKeyNamed)])
		}
		return rd.member(key)
	})
	if rd.found || err != nil && err != errEnded {
		return err
	}
	return fmt.Errorf("byte %d: no Chrome JSON trace: no traceEvents among its keys %q", rd.s.Offset(), seen)
}

// topLevel reads the members of an object of any size at the current position; member must read the value of its key.
// What is no member ends the reading, see broken.
func (rd *reader) topLevel(member func(key string) error) error {
	rd.s.Advance(1)
	after := byte('{')
	for {
		c, err := rd.s.Peek()
		if err != nil {
			return rd.ended(err)
		}
		switch c {
		case ',':
			if after != '"' {
				rd.comma()
			}
			rd.s.Advance(1)
		case '}':
			if after == ',' {
				rd.comma()
			}
			rd.s.Advance(1)
			return nil
		case '"':
			key, err := rd.key()
			if err != nil {
				return err
			}
			if err := member(key); err != nil {
				return err
			}
		default:
			return rd.broken(fmt.Errorf("%w: found %q where a member or the end of the object was expected", jsonscan.ErrMalformed, c))
		}
		after = c
	}
}

// key reads a key outside the events.
func (rd *reader) key() (string, error) {
	for {
		key, ok := rd.s.Key()
		if ok {
			text := string(key)
			rd.notes()
			return text, nil
		}
		if rd.s.Err() != jsonscan.ErrShort {
			err := fmt.Errorf("%w: no colon behind a key", jsonscan.ErrMalformed)
			return "", rd.broken(err)
		}
		if err := rd.s.Fill(); err != nil {
			return "", rd.ended(err)
		}
	}
}

// member reads one member of the object form (section 4).
func (rd *reader) member(key string) error {
	c, err := rd.s.Peek()
	if err != nil {
		return rd.ended(err)
	}
	switch key {
	case "traceEvents":
		return rd.traceEvents(c)
	case "systemTraceEvents":
		rd.problem(problem.SystemTraceSkipped, "")
		return rd.discard()
	case "controllerTraceDataKey", "traceAnnotations", "powerTraceAsString":
		rd.problem(problem.TopLevelMemberSkipped, key)
		return rd.discard()
	case "metadata", "otherData":
		if c == '{' {
			return rd.topLevel(func(name string) error { return rd.attribute(key + "." + name) })
		}
	case "stackFrames":
		if c == '{' {
			return rd.stackFrames()
		}
	case "samples":
		if c == '[' {
			return rd.samples()
		}
	}
	if c == '{' || c == '[' {
		return rd.facts(key)
	}
	return rd.attribute(key)
}

// traceEvents reads the event list, which starts with c.
func (rd *reader) traceEvents(c byte) error {
	if c == '[' {
		return rd.events()
	}
	kind, _, err := rd.value(maxAttribute)
	if err != nil || kind == jsonscan.Null {
		return err
	}
	return rd.failed(errors.New("traceEvents is no array"))
}

// discard reads over one value outside the events.
func (rd *reader) discard() error {
	err := rd.s.Discard()
	if err == nil {
		return nil
	}
	if err == jsonscan.ErrMalformed {
		return rd.broken(err)
	}
	return rd.ended(err)
}

// broken is called where the text outside the events cannot be followed any further. If there were events, they are
// used, and the rest of the input counts as trailing data.
func (rd *reader) broken(err error) error {
	if !rd.found {
		return rd.failed(err)
	}
	rd.s.SeekTo(rd.s.Offset())
	if err := rd.trailing(); err != nil {
		return err
	}
	return errEnded
}

// maxAttribute is the length up to which the text of a value becomes an attribute (section 4).
const maxAttribute = 16 << 10

// value reads one value outside the events. If its text is longer than limit, or it is malformed, the kind is Invalid.
// The text is valid until the scanner is used again.
func (rd *reader) value(limit int) (jsonscan.Kind, []byte, error) {
	for {
		if _, err := rd.s.Peek(); err != nil {
			return jsonscan.Invalid, nil, rd.ended(err)
		}
		kind, text := rd.s.Scalar()
		switch {
		case rd.s.Err() == nil && len(text) <= limit:
			rd.notes()
			return kind, text, nil
		case rd.s.Err() == jsonscan.ErrShort && rd.s.Buffered() <= 2*limit:
			if err := rd.s.Fill(); err != nil {
				return jsonscan.Invalid, nil, rd.ended(err)
			}
		default:
			rd.s.Rewind()
			return jsonscan.Invalid, nil, rd.discard()
		}
	}
}

// attribute reads a value and makes it an attribute of the trace (section 4).
func (rd *reader) attribute(name string) error {
	at := rd.position()
	kind, text, err := rd.value(maxAttribute)
	if err != nil {
		return err
	}
	switch kind {
	case jsonscan.Invalid:
		rd.log.Add(problem.MetadataValueOmitted, at, name)
	case jsonscan.Null:
	case jsonscan.True:
		rd.b.SetIntAttribute(name, 1)
	case jsonscan.False:
		rd.b.SetIntAttribute(name, 0)
	case jsonscan.Integer:
		if v, ok := jsonscan.Int64(text); ok {
			rd.b.SetIntAttribute(name, v)
			return nil
		}
		rd.b.SetAttribute(name, string(text))
	default:
		rd.b.SetAttribute(name, string(rd.s.ValidText(text)))
		rd.notes()
	}
	return nil
}
