package trace

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/resolved"
	"github.com/weft-trace/weft/internal/timeline"
)

// ValueKind is the kind of a Value.
type ValueKind string

// The kinds of values, with the methods that return them. PointerKind and JSONKind occur only in inputs.
const (
	NoValue     ValueKind = ""        // the zero Value
	BoolKind    ValueKind = "bool"    // Value.Bool
	IntKind     ValueKind = "int"     // Value.Int
	UintKind    ValueKind = "uint"    // Value.Uint: an integer that is unsigned in the input
	FloatKind   ValueKind = "float"   // Value.Float
	StringKind  ValueKind = "string"  // Value.String
	PointerKind ValueKind = "pointer" // Value.Uint: an address
	JSONKind    ValueKind = "JSON"    // Value.String: a value as JSON text
	DictKind    ValueKind = "dict"    // Value.Get, Value.Members
	ArrayKind   ValueKind = "array"   // Value.Members; their keys are empty
)

// Value is the value of an argument, a counter or an attribute, or the arguments of an event, which form a dictionary. Value.Kind
// determines the method that returns the value. Methods for other kinds return the zero value unless documented otherwise; none
// of them panics.
//
// Dictionaries and arrays from an event are decoded on request and are valid until the next event; values from Event.Clone stay
// valid.
type Value struct {
	kind ValueKind
	bits uint64
	text string
	list []Arg

	encoded timeline.Arg // a dictionary or array to decode on request
	args    *eventArgs   // all arguments of an event, as a dictionary
	tl      *timeline.Timeline
}

// Arg is an argument of an event, or a member of a dictionary or array.
type Arg struct {
	Key   string // empty in an array
	Value Value
}

// validText replaces invalid UTF-8 with U+FFFD.
func validText(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// argument is the set of types that NewValue converts.
type argument interface {
	bool | int | int64 | uint64 | float64 | string | Nanos | time.Duration | []string | []Value | map[string]string | map[string]Value | Value
}

// NewArg returns an argument: NewArg("lines", 120). See NewValue for the conversion.
func NewArg[T argument](key string, v T) Arg {
	return Arg{key, NewValue(v)}
}

// NewDict returns a dictionary, which can be the arguments of an event. Among members with the same key, the last one wins. A
// trace omits members that are NoValue or empty, because Perfetto cannot represent them.
func NewDict(members ...Arg) Value { return Value{kind: DictKind, list: members} }

// NewValue converts v to a Value. A slice becomes an array, a map a dictionary ordered by key, and a duration nanoseconds; a
// Value stays unchanged. Invalid UTF-8 in strings becomes U+FFFD.
func NewValue[T argument](v T) Value {
	switch v := any(v).(type) {
	case bool:
		if v {
			return Value{kind: BoolKind, bits: 1}
		}
		return Value{kind: BoolKind}
	case int:
		return intValue(int64(v))
	case int64:
		return intValue(v)
	case Nanos:
		return intValue(int64(v))
	case time.Duration:
		return intValue(int64(v))
	case uint64:
		return Value{kind: UintKind, bits: v}
	case float64:
		return Value{kind: FloatKind, bits: math.Float64bits(v)}
	case string:
		return Value{kind: StringKind, text: validText(v)}
	case []string:
		return newArray(v)
	case []Value:
		return newArray(v)
	case map[string]string:
		return newDict(v)
	case map[string]Value:
		return newDict(v)
	case Value:
		return v
	}
	return Value{}
}

func newArray[T string | Value](items []T) Value {
	list := make([]Arg, len(items))
	for i, v := range items {
		list[i].Value = NewValue(v)
	}
	return Value{kind: ArrayKind, list: list}
}

func newDict[T string | Value](members map[string]T) Value {
	list := make([]Arg, 0, len(members))
	for _, key := range slices.Sorted(maps.Keys(members)) {
		list = append(list, NewArg(key, members[key]))
	}
	return NewDict(list...)
}

func intValue(v int64) Value { return Value{kind: IntKind, bits: uint64(v)} }

// Kind returns the kind of the value.
func (v Value) Kind() ValueKind { return v.kind }

// Bool returns the value of a BoolKind.
func (v Value) Bool() bool { return v.kind == BoolKind && v.bits != 0 }

// Int returns an IntKind, UintKind or PointerKind that fits into an int64, and otherwise 0. It does not round a FloatKind.
func (v Value) Int() int64 {
	switch v.kind {
	case IntKind:
		return int64(v.bits)
	case UintKind, PointerKind:
		if v.bits <= math.MaxInt64 {
			return int64(v.bits)
		}
	}
	return 0
}

// Uint returns a non-negative IntKind, UintKind or PointerKind, and otherwise 0.
func (v Value) Uint() uint64 {
	switch v.kind {
	case UintKind, PointerKind:
		return v.bits
	case IntKind:
		return uint64(max(int64(v.bits), 0))
	}
	return 0
}

// Float returns a FloatKind, IntKind or UintKind as a double, and otherwise 0. It rounds integers beyond 53 bits.
func (v Value) Float() float64 {
	switch v.kind {
	case FloatKind:
		return math.Float64frombits(v.bits)
	case IntKind:
		return float64(int64(v.bits))
	case UintKind:
		return float64(v.bits)
	}
	return 0
}

// String returns any value as text: a StringKind or JSONKind unchanged, a dictionary or array as JSON.
func (v Value) String() string {
	switch v.kind {
	case StringKind, JSONKind:
		return v.text
	case BoolKind:
		return strconv.FormatBool(v.bits != 0)
	case IntKind:
		return strconv.FormatInt(int64(v.bits), 10)
	case UintKind:
		return strconv.FormatUint(v.bits, 10)
	case FloatKind:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case PointerKind:
		return "0x" + strconv.FormatUint(v.bits, 16)
	case DictKind, ArrayKind:
		return string(v.appendJSON(nil))
	}
	return ""
}

// Members returns the members of a dictionary or array, in order.
func (v Value) Members() iter.Seq[Arg] {
	switch {
	case v.args != nil:
		return v.args.all()
	case v.tl == nil:
		return slices.Values(v.list)
	}
	return decoded(v.tl, v.tl.Members(v.encoded))
}

// Get returns the dictionary member with the given key and reports whether it exists. Further keys select members of nested
// dictionaries: Get("data", "frame"). For arrays, use Value.Members.
func (v Value) Get(path ...string) (Value, bool) {
	for _, key := range path {
		if v.kind != DictKind {
			return Value{}, false
		}
		found, ok := Value{}, false
		for m := range v.Members() {
			if m.Key == key {
				found, ok = m.Value, true
			}
		}
		if !ok {
			return Value{}, false
		}
		v = found
	}
	return v, len(path) > 0
}

// clone returns a copy that stays valid until the trace is closed.
func (v Value) clone() Value {
	if v.args != nil {
		a := *v.args
		a.encoded, a.end, a.id = slices.Clone(a.encoded), slices.Clone(a.end), slices.Clone(a.id)
		v.args = &a
	}
	return v
}

// MarshalJSON writes the value as JSON. Addresses become hexadecimal strings, and numbers that JSON cannot represent become
// strings.
func (v Value) MarshalJSON() ([]byte, error) { return v.appendJSON(nil), nil }

func (v Value) appendJSON(b []byte) []byte {
	switch v.kind {
	case NoValue:
		return append(b, "null"...)
	case JSONKind:
		if json.Valid([]byte(v.text)) {
			return append(b, v.text...)
		}
	case BoolKind, IntKind, UintKind:
		return append(b, v.String()...)
	case FloatKind:
		if f := v.Float(); !math.IsNaN(f) && !math.IsInf(f, 0) {
			return append(b, v.String()...)
		}
	case DictKind:
		return appendObject(b, v.Members())
	case ArrayKind:
		b = append(b, '[')
		for m := range v.Members() {
			b = append(m.Value.appendJSON(b), ',')
		}
		return append(trimComma(b), ']')
	}
	return appendText(b, v.String())
}

func appendObject(b []byte, members iter.Seq[Arg]) []byte {
	b = append(b, '{')
	for m := range members {
		b = append(appendText(b, m.Key), ':')
		b = append(m.Value.appendJSON(b), ',')
	}
	return append(trimComma(b), '}')
}

func trimComma(b []byte) []byte {
	if b[len(b)-1] == ',' {
		return b[:len(b)-1]
	}
	return b
}

// appendText appends text as a JSON string.
func appendText(b []byte, text string) []byte {
	quoted, err := json.Marshal(text)
	if err != nil {
		return append(b, `""`...) // cannot happen: all text can be encoded
	}
	return append(b, jsonscan.Escape(quoted)...)
}

// eventArgs provides the arguments of a timeline event.
type eventArgs struct {
	encoded timeline.Args
	end     timeline.Args // arguments of the slice's end, which replace arguments of the start with equal keys
	id      []Arg         // members to add to weft: id and scope of an asynchronous event, and did_not_end
	tl      *timeline.Timeline
}

func (a *eventArgs) all() iter.Seq[Arg] {
	if len(a.end) > 0 {
		return a.merged
	}
	return a.begin()
}

// begin yields only the arguments of the slice's start.
func (a *eventArgs) begin() iter.Seq[Arg] {
	args := decoded(a.tl, a.tl.ArgList(a.encoded))
	if len(a.id) > 0 {
		return withID(args, a.id)
	}
	return args
}

// ownKey is the argument that holds weft's additions to an event.
const ownKey = "weft"

// withID adds members to the weft dictionary, as in the output.
func withID(args iter.Seq[Arg], id []Arg) iter.Seq[Arg] {
	return func(yield func(Arg) bool) {
		added := false
		for a := range args {
			if !added && a.Key == ownKey {
				members := []Arg{a}
				if a.Value.Kind() == DictKind {
					members = slices.Collect(a.Value.Members())
				}
				a.Value, added = NewDict(append(members, newMembers(id, members)...)...), true
			}
			if !yield(a) {
				return
			}
		}
		if !added {
			yield(Arg{ownKey, NewDict(id...)})
		}
	}
}

// newMembers returns the members that weft adds, omitting resolved.DidNotEndKey if the input has it.
func newMembers(added, members []Arg) []Arg {
	if !slices.ContainsFunc(members, func(m Arg) bool { return m.Key == resolved.DidNotEndKey }) {
		return added
	}
	return slices.DeleteFunc(slices.Clone(added), func(a Arg) bool { return a.Key == resolved.DidNotEndKey })
}

// merged yields the arguments of a slice's start, but replaces an argument if the end has one with an equal key. It then yields
// the remaining arguments of the end.
func (a *eventArgs) merged(yield func(Arg) bool) {
	ends := slices.Collect(decoded(a.tl, a.tl.ArgList(a.end)))
	used := make([]bool, len(ends))
	for arg := range a.begin() {
		for i := range ends {
			if ends[i].Key == arg.Key {
				arg, used[i] = ends[i], true
			}
		}
		if !yield(arg) {
			return
		}
	}
	for i, arg := range ends {
		if !used[i] && !yield(arg) {
			return
		}
	}
}

// decoded converts timeline arguments.
func decoded(tl *timeline.Timeline, args iter.Seq[timeline.Arg]) iter.Seq[Arg] {
	return func(yield func(Arg) bool) {
		for a := range args {
			if !yield(Arg{string(a.Key), valueOf(tl, a)}) {
				return
			}
		}
	}
}

func valueOf(tl *timeline.Timeline, a timeline.Arg) Value {
	switch a.Kind {
	case timeline.ArgBool:
		return NewValue(a.Bool())
	case timeline.ArgInt:
		return intValue(a.Int())
	case timeline.ArgUint:
		return NewValue(a.Uint())
	case timeline.ArgDouble:
		return NewValue(a.Double())
	case timeline.ArgString:
		return Value{kind: StringKind, text: string(a.Text())}
	case timeline.ArgPointer:
		return Value{kind: PointerKind, bits: a.Uint()}
	case timeline.ArgJSON:
		return Value{kind: JSONKind, text: string(a.Text())}
	case timeline.ArgDict:
		return Value{kind: DictKind, encoded: a, tl: tl}
	case timeline.ArgArray:
		return Value{kind: ArrayKind, encoded: a, tl: tl}
	}
	return Value{}
}

// encodeArgs encodes the arguments of an event for the timeline.
func (v Value) encodeArgs(e *timeline.ArgsEncoder) (timeline.Args, error) {
	e.Reset()
	if v.kind != DictKind && v.kind != NoValue {
		return nil, fmt.Errorf("its arguments are a dictionary, not %s", v.kind)
	}
	for arg := range v.Members() {
		e.OwnKey([]byte(validText(arg.Key))) // programs that copy a trace also copy weft's own arguments
		if err := arg.Value.encode(e, 0); err != nil {
			return nil, fmt.Errorf("argument %q: %w", arg.Key, err)
		}
	}
	return e.Args(), nil
}

// maxValueDepth limits the nesting of dictionaries and arrays, as the format readers do.
const maxValueDepth = 64

func (v Value) encode(e *timeline.ArgsEncoder, depth int) error {
	if depth > maxValueDepth {
		return fmt.Errorf("dictionaries and arrays are nested more than %d levels deep", maxValueDepth)
	}
	switch v.kind {
	case NoValue:
		e.Null()
	case BoolKind:
		e.Bool(v.Bool())
	case IntKind:
		e.Int(int64(v.bits))
	case UintKind:
		e.Uint(v.bits)
	case FloatKind:
		e.Double(v.Float())
	case StringKind:
		e.String([]byte(v.text))
	case PointerKind:
		e.Pointer(v.bits)
	case JSONKind:
		e.JSON([]byte(v.text))
	case DictKind, ArrayKind:
		return v.encodeMembers(e, depth)
	}
	return nil
}

func (v Value) encodeMembers(e *timeline.ArgsEncoder, depth int) error {
	begin, end := e.BeginArray, e.EndArray
	if v.kind == DictKind {
		begin, end = e.BeginDict, e.EndDict
	}
	begin()
	for m := range v.Members() {
		if v.kind == DictKind {
			e.Key([]byte(validText(m.Key)))
		}
		if err := m.Value.encode(e, depth+1); err != nil {
			return err
		}
	}
	end()
	return nil
}
