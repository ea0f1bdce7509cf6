package firefox

import (
	"math"

	"github.com/weft-trace/weft/internal/jsonscan"
)

// cause is the call stack that led to a marker.
type cause struct {
	stack int32
	time  float64 // NaN if unknown
	known bool
}

// readCause reads the call stack of a marker: {stack, time} in the processed form, a thread with one sample in the raw
// form (section 5). It returns false for anything else.
func (c *converter) readCause(text []byte) bool {
	result := cause{stack: none, time: math.NaN()}
	s := &c.payload.nested
	s.Reset(text)
	s.Value()
	for name, ok := s.Key(); ok; name, ok = s.Key() {
		switch string(name) {
		case "stack":
			kind, text := s.Scalar()
			result.setStack(value{kind, text})
		case "time":
			kind, text := s.Scalar()
			result.setTime(value{kind, text})
		case "samples":
			kind, text := s.Scalar()
			if kind == jsonscan.Object {
				result.readSample(text)
			}
		default:
			s.Skip()
		}
	}
	if !result.known {
		return false
	}
	if th := c.payload.th; th.raw || !shiftedTypes[c.payload.kind.name] {
		result.time += th.causeShift
	}
	c.payload.cause = result
	return true
}

// shiftedTypes are the types whose causes switched to the profile's clock in an earlier version than the causes of
// other types (section 3).
var shiftedTypes = map[string]bool{"tracing": true, "Styles": true}

func (f *cause) setStack(v value) {
	if n, ok := jsonscan.Int64(v.text); ok && v.kind == jsonscan.Integer && n >= 0 && n <= math.MaxInt32 {
		f.stack, f.known = int32(n), true
	} else if v.kind == jsonscan.Null {
		f.known = true
	}
}

func (f *cause) setTime(v value) {
	if n, ok := jsonscan.Float64(v.text); ok {
		f.time = n
	}
}

// readSample reads the first sample of a raw cause: a thread whose only sample has the marker's stack.
func (f *cause) readSample(samples []byte) {
	stackAt, timeAt := int64(0), int64(1) // the indexes in all versions so far
	var rows []byte
	var s jsonscan.Scanner
	s.Reset(samples)
	s.Value()
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		name := string(key)
		kind, text := s.Scalar()
		switch {
		case name == "schema" && kind == jsonscan.Object:
			stackAt, timeAt = columnIndexes(text)
		case name == "data" && kind == jsonscan.Array:
			rows = text
		}
	}
	if rows == nil {
		return
	}
	s.Reset(rows)
	s.Value()
	if !s.Elem() {
		return
	}
	if kind, _ := s.Value(); kind != jsonscan.Array {
		return
	}
	for i := int64(0); s.Elem(); i++ {
		kind, text := s.Scalar()
		switch i {
		case stackAt:
			f.setStack(value{kind, text})
		case timeAt:
			f.setTime(value{kind, text})
		}
	}
}

// columnIndexes returns the indexes of the stack and time columns in a schema.
func columnIndexes(schema []byte) (stack, time int64) {
	stack, time = none, none
	var s jsonscan.Scanner
	s.Reset(schema)
	s.Value()
	for column, ok := s.Key(); ok; column, ok = s.Key() {
		name := string(column)
		_, text := s.Scalar()
		index, ok := jsonscan.Int64(text)
		switch {
		case !ok:
		case name == "stack":
			stack = index
		case name == "time":
			time = index
		}
	}
	return stack, time
}
