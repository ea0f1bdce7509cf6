package trace

import (
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/timeline"
)

// ValueKind says what a Value is.
type ValueKind uint8

// The kinds of values, and the methods that give them. PointerKind and JSONKind only come from inputs.
const (
	NoValue     ValueKind = iota // the zero Value
	BoolKind                     // Value.Bool
	IntKind                      // Value.Int
	UintKind                     // Value.Uint: an integer that the input gives as unsigned
	FloatKind                    // Value.Float
	StringKind                   // Value.String
	PointerKind                  // Value.Uint: an address
	JSONKind                     // Value.String: a value as JSON text
	DictKind                     // Value.Members
	ArrayKind                    // Value.Members, whose keys are empty
)

var valueKinds = [...]string{
	NoValue: "none", BoolKind: "bool", IntKind: "int", UintKind: "uint", FloatKind: "float", StringKind: "string",
	PointerKind: "pointer", JSONKind: "JSON", DictKind: "dict", ArrayKind: "array",
}

// String returns a word for the kind: "none", "bool", "int", "uint", "float", "string", "pointer", "JSON", "dict" or
// "array".
func (k ValueKind) String() string {
	if int(k) < len(valueKinds) {
		return valueKinds[k]
	}
	return "unknown"
}

// Value is the value of an argument, a counter or an attribute. Value.Kind says which method gives it. Methods for other
// kinds return the zero value unless they say otherwise; none panics.
type Value struct {
	kind ValueKind
	bits uint64
	text string
	list []Arg

	encoded timeline.Arg // a dictionary or array that is not decoded yet
	of      *timeline.Timeline
}

// BoolValue returns a Value of BoolKind.
func BoolValue(v bool) Value {
	if v {
		return Value{kind: BoolKind, bits: 1}
	}
	return Value{kind: BoolKind}
}

// IntValue returns a Value of IntKind.
func IntValue(v int64) Value { return Value{kind: IntKind, bits: uint64(v)} }

// UintValue returns a Value of UintKind.
func UintValue(v uint64) Value { return Value{kind: UintKind, bits: v} }

// FloatValue returns a Value of FloatKind.
func FloatValue(v float64) Value { return Value{kind: FloatKind, bits: math.Float64bits(v)} }

// StringValue returns a Value of StringKind. Bytes that are not UTF-8 become U+FFFD.
func StringValue(v string) Value {
	return Value{kind: StringKind, text: strings.ToValidUTF8(v, "\uFFFD")}
}

// DictValue returns a Value of DictKind. Of several members with the same key the last counts.
func DictValue(members ...Arg) Value { return Value{kind: DictKind, list: members} }

// ArrayValue returns a Value of ArrayKind.
func ArrayValue(members ...Value) Value {
	list := make([]Arg, len(members))
	for i, m := range members {
		list[i].Value = m
	}
	return Value{kind: ArrayKind, list: list}
}

// Kind says what the value is.
func (v Value) Kind() ValueKind { return v.kind }

// Bool returns the value of a BoolKind.
func (v Value) Bool() bool { return v.kind == BoolKind && v.bits != 0 }

// Int returns an IntKind, UintKind or PointerKind that fits into an int64, else 0. It does not round a FloatKind.
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

// Uint returns an IntKind, UintKind or PointerKind that is not negative, else 0.
func (v Value) Uint() uint64 {
	switch v.kind {
	case UintKind, PointerKind:
		return v.bits
	case IntKind:
		return uint64(max(int64(v.bits), 0))
	}
	return 0
}

// Float returns a FloatKind, IntKind or UintKind as a double, else 0. Integers beyond 53 bits are rounded.
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

// String returns any value as text: a StringKind or JSONKind as it is, a dictionary or an array as JSON.
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

// Members returns the members of a dictionary or array, in their order.
func (v Value) Members() iter.Seq[Arg] {
	if v.of == nil {
		return slices.Values(v.list)
	}
	return decoded(v.of, v.of.Members(v.encoded))
}

// MarshalJSON writes the value as JSON: an address as a text in hexadecimal digits, numbers that JSON cannot hold as texts.
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

// appendText appends a text as a JSON string.
func appendText(b []byte, text string) []byte {
	quoted, err := json.Marshal(text)
	if err != nil {
		return append(b, `""`...) // cannot happen: texts always have a JSON form
	}
	return append(b, quoted...)
}

// Arg is an argument of an event, or a member of a dictionary or array. Bool, Int, Float and String make the common ones;
// others are written out: Arg{Key: "size", Value: DictValue(Int("width", 3))}.
type Arg struct {
	Key   string // empty in an array
	Value Value
}

// Bool returns an argument of BoolKind.
func Bool(key string, v bool) Arg { return Arg{key, BoolValue(v)} }

// Int returns an argument of IntKind.
func Int(key string, v int64) Arg { return Arg{key, IntValue(v)} }

// Float returns an argument of FloatKind.
func Float(key string, v float64) Arg { return Arg{key, FloatValue(v)} }

// String returns an argument of StringKind.
func String(key, v string) Arg { return Arg{key, StringValue(v)} }

// Args are the arguments of an event, in their order. The zero Args are empty.
type Args struct {
	list    []Arg
	encoded timeline.Args
	end     timeline.Args // that came with the end of a slice; they replace equal keys
	id      []Arg         // id and scope of an asynchronous event, members of weft
	of      *timeline.Timeline
}

// NewArgs returns arguments. Of several with the same key the last counts. In a trace, arguments that are NoValue or have no
// members are left out: Perfetto has no place for them.
func NewArgs(args ...Arg) Args { return Args{list: args} }

// All returns the arguments one by one.
func (a Args) All() iter.Seq[Arg] {
	if a.of == nil {
		return slices.Values(a.list)
	}
	if len(a.end) > 0 {
		return a.merged
	}
	return a.begin()
}

// begin returns the arguments but for those that came with the end.
func (a Args) begin() iter.Seq[Arg] {
	args := decoded(a.of, a.of.ArgList(a.encoded))
	if len(a.id) > 0 {
		return withID(args, a.id)
	}
	return args
}

// ownKey is the name of the argument in which weft keeps what it adds to an event.
const ownKey = "weft"

// withID adds the id of an asynchronous event to the dictionary weft, as the output has it.
func withID(args iter.Seq[Arg], id []Arg) iter.Seq[Arg] {
	return func(yield func(Arg) bool) {
		added := false
		for a := range args {
			if !added && a.Key == ownKey {
				members := []Arg{a}
				if a.Value.Kind() == DictKind {
					members = slices.Collect(a.Value.Members())
				}
				a.Value, added = DictValue(append(members, id...)...), true
			}
			if !yield(a) {
				return
			}
		}
		if !added {
			yield(Arg{ownKey, DictValue(id...)})
		}
	}
}

// merged gives the arguments of the begin of a slice, and in their place or behind them those of its end.
func (a Args) merged(yield func(Arg) bool) {
	var ends []Arg
	for arg := range decoded(a.of, a.of.ArgList(a.end)) {
		ends = append(ends, arg)
	}
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

// Get returns the argument with a key, and whether there is one. More keys lead to a member of a dictionary:
// Get("data", "frame"). Value.Members gives those of an array.
func (a Args) Get(path ...string) (Value, bool) {
	var found Value
	members := a.All()
	for i, key := range path {
		ok := false
		for arg := range members {
			if arg.Key == key {
				found, ok = arg.Value, true
			}
		}
		if !ok {
			return Value{}, false
		}
		if i+1 < len(path) {
			members = found.Members()
		}
	}
	return found, len(path) > 0
}

// MarshalJSON writes the arguments as a JSON object.
func (a Args) MarshalJSON() ([]byte, error) { return appendObject(nil, a.All()), nil }

// String returns the arguments as JSON.
func (a Args) String() string { return string(appendObject(nil, a.All())) }

// clone returns arguments that stay valid.
func (a Args) clone() Args {
	a.encoded, a.end = slices.Clone(a.encoded), slices.Clone(a.end)
	return a
}

// decoded turns arguments of the engine into those of this package.
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
		return BoolValue(a.Bool())
	case timeline.ArgInt:
		return IntValue(a.Int())
	case timeline.ArgUint:
		return UintValue(a.Uint())
	case timeline.ArgDouble:
		return FloatValue(a.Double())
	case timeline.ArgString:
		return Value{kind: StringKind, text: string(a.Text())}
	case timeline.ArgPointer:
		return Value{kind: PointerKind, bits: a.Uint()}
	case timeline.ArgJSON:
		return Value{kind: JSONKind, text: string(a.Text())}
	case timeline.ArgDict:
		return Value{kind: DictKind, encoded: a, of: tl}
	case timeline.ArgArray:
		return Value{kind: ArrayKind, encoded: a, of: tl}
	}
	return Value{}
}

// encode writes arguments for the engine.
func (a Args) encode(e *timeline.ArgsEncoder) (timeline.Args, error) {
	e.Reset()
	for arg := range a.All() {
		e.Key([]byte(arg.Key))
		if err := arg.Value.encode(e, 0); err != nil {
			return nil, fmt.Errorf("argument %q: %w", arg.Key, err)
		}
	}
	return e.Args(), nil
}

// maxValueDepth bounds dictionaries and arrays in each other, as the readers of formats do.
const maxValueDepth = 64

func (v Value) encode(e *timeline.ArgsEncoder, depth int) error {
	if depth > maxValueDepth {
		return fmt.Errorf("more than %d dictionaries and arrays in each other", maxValueDepth)
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
			e.Key([]byte(m.Key))
		}
		if err := m.Value.encode(e, depth+1); err != nil {
			return err
		}
	}
	end()
	return nil
}
