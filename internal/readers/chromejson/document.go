package chromejson

import (
	"errors"
	"fmt"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
)

// document reads the whole input (section 2).
func (rd *reader) document() error {
	c, err := rd.doc.Begin()
	switch {
	case err != nil:
		return err
	case c == '[':
		err = rd.eventArray()
	case c == '{':
		err = rd.object()
	default:
		err = rd.failed(fmt.Errorf("not a Chrome JSON trace: found %q instead of an array or object", c))
	}
	if err != nil {
		return err
	}
	return rd.doc.Trailing()
}

// eventArray reads the array form. An array is a trace if it is empty or contains an event; here, empty objects and
// malformed events count as events.
func (rd *reader) eventArray() error {
	before := rd.otherElements()
	err := rd.events()
	if err != nil && err != readers.ErrEnded || rd.index == 0 || rd.otherElements()-before != uint64(rd.index) {
		return err
	}
	return rd.failed(fmt.Errorf("not a Chrome JSON trace: an array of %d elements without events", rd.index))
}

// otherElements returns the number of list elements that are not events.
func (rd *reader) otherElements() uint64 {
	return rd.log.Count(problem.JSONNotAnEvent) + rd.log.Count(problem.EventMissingPhase)
}

// maxKeysNamed and maxKeyNamed limit the number and length of the keys in the message about an unknown format.
const (
	maxKeysNamed = 20
	maxKeyNamed  = 40
)

// object reads the object form. An object without traceEvents is not a trace, even if it is truncated.
func (rd *reader) object() error {
	var keys []string
	err := rd.doc.Members(func(key []byte, c byte) error {
		if string(key) == "traceEvents" {
			rd.found = true
		}
		if len(keys) < maxKeysNamed {
			keys = append(keys, string(key[:min(len(key), maxKeyNamed)]))
		}
		return rd.member(string(key), c)
	})
	switch {
	case rd.found || err != nil && err != readers.ErrEnded:
		return err
	case rd.doc.Malformed() != nil:
		return rd.doc.Malformed()
	}
	return fmt.Errorf("byte %d: not a Chrome JSON trace: no traceEvents among its keys %q", rd.S.Offset(), keys)
}

// member reads a member of the object form (section 4), whose value starts with c.
func (rd *reader) member(key string, c byte) error {
	switch key {
	case "traceEvents":
		return rd.traceEvents(c)
	case "systemTraceEvents":
		rd.problem(problem.SystemTraceSkipped, "")
		return rd.doc.Skip()
	case "controllerTraceDataKey", "traceAnnotations", "powerTraceAsString":
		rd.problem(problem.TopLevelMemberSkipped, key)
		return rd.doc.Skip()
	case "metadata", "otherData":
		if c == '{' {
			return rd.doc.Members(func(name []byte, _ byte) error { return rd.attribute(key + "." + string(name)) })
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

// traceEvents reads the event list; the value starts with c.
func (rd *reader) traceEvents(c byte) error {
	if c == '[' {
		return rd.events()
	}
	kind, _, err := rd.value(readers.MaxAttribute)
	if err != nil || kind == jsonscan.Null {
		return err
	}
	return rd.failed(errors.New("traceEvents is not an array"))
}

// value reads a value outside the events. The kind is Invalid if the value is longer than limit or malformed. The text
// is valid until the next use of the scanner.
func (rd *reader) value(limit int) (jsonscan.Kind, []byte, error) {
	for {
		if _, err := rd.doc.Peek(); err != nil {
			return jsonscan.Invalid, nil, err
		}
		kind, text := rd.S.Scalar()
		switch {
		case rd.S.Err() == nil && len(text) <= limit:
			rd.notes()
			return kind, text, nil
		case rd.S.Err() == jsonscan.ErrShort && rd.S.Buffered() <= 2*limit:
			if err := rd.doc.Refill(); err != nil {
				return jsonscan.Invalid, nil, err
			}
		default:
			rd.S.Rewind()
			return jsonscan.Invalid, nil, rd.doc.Skip()
		}
	}
}

// attribute reads a value and makes it an attribute of the trace (section 4).
func (rd *reader) attribute(name string) error {
	at := rd.position()
	kind, text, err := rd.value(readers.MaxAttribute)
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
		rd.b.SetAttribute(name, string(rd.S.ValidText(text)))
		rd.notes()
	}
	return nil
}
