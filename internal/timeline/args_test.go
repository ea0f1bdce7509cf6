package timeline_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"

	"github.com/weft-trace/weft/gen/perfetto/protos"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/testkit"
	"github.com/weft-trace/weft/internal/timeline"
)

// value is an argument: the data to encode, which must then be read back.
type value struct {
	key     string
	kind    timeline.ArgKind
	bits    uint64 // for numbers and booleans
	text    string
	members []value
}

// encode encodes a value as a reader would.
func encode(e *timeline.ArgsEncoder, v *value, keyed bool) {
	if keyed {
		e.Key([]byte(v.key))
	}
	switch v.kind {
	case timeline.ArgBool:
		e.Bool(v.bits != 0)
	case timeline.ArgInt:
		e.Int(int64(v.bits))
	case timeline.ArgUint:
		e.Uint(v.bits)
	case timeline.ArgDouble:
		e.Double(math.Float64frombits(v.bits))
	case timeline.ArgString:
		e.String([]byte(v.text))
	case timeline.ArgPointer:
		e.Pointer(v.bits)
	case timeline.ArgJSON:
		e.JSON([]byte(v.text))
	case timeline.ArgDict:
		e.BeginDict()
		for i := range v.members {
			encode(e, &v.members[i], true)
		}
		e.EndDict()
	case timeline.ArgArray:
		e.BeginArray()
		for i := range v.members {
			encode(e, &v.members[i], false)
		}
		e.EndArray()
	}
}

// stored returns the part of a dictionary's or array's members that Perfetto can represent: the last of equal keys, at its own
// position; "_" for an empty key; no keys in arrays; no empty containers except inside arrays.
func stored(members []value, keyed, inArray bool) []value {
	var out []value
	for _, v := range members {
		if !keyed {
			v.key = ""
		} else {
			if v.key == "" {
				v.key = "_"
			}
			out = without(out, v.key)
		}
		switch v.kind {
		case timeline.ArgUint:
			if v.bits <= math.MaxInt64 {
				v.kind = timeline.ArgInt
			}
		case timeline.ArgDict, timeline.ArgArray:
			isArray := v.kind == timeline.ArgArray
			v.members = stored(v.members, !isArray, inArray || isArray)
			if len(v.members) == 0 && (keyed || !inArray) {
				continue
			}
			if isArray && !inArray && hasEmpty(v.members) {
				v = value{key: v.key, kind: timeline.ArgJSON, text: jsonText(&v)}
			}
		}
		out = append(out, v)
	}
	return out
}

// hasEmpty reports whether a member of an array, at any depth, has no value.
func hasEmpty(members []value) bool {
	for _, v := range members {
		if isContainer := v.kind == timeline.ArgDict || v.kind == timeline.ArgArray; isContainer &&
			(len(v.members) == 0 || hasEmpty(v.members)) {
			return true
		}
	}
	return false
}

// jsonText returns the text that represents an array with empty members.
func jsonText(v *value) string {
	quoted := func(v any) string { b, _ := json.Marshal(v); return string(b) }
	switch v.kind {
	case timeline.ArgBool:
		return strconv.FormatBool(v.bits != 0)
	case timeline.ArgInt:
		return strconv.FormatInt(int64(v.bits), 10)
	case timeline.ArgUint:
		return quoted(strconv.FormatUint(v.bits, 10))
	case timeline.ArgPointer:
		return quoted("0x" + strconv.FormatUint(v.bits, 16))
	case timeline.ArgDouble:
		d := math.Float64frombits(v.bits)
		switch {
		case math.IsNaN(d):
			return quoted("NaN")
		case math.IsInf(d, 0):
			return quoted(strings.Replace(strconv.FormatFloat(d, 'g', -1, 64), "Inf", "Infinity", 1))
		}
		return strconv.FormatFloat(d, 'e', -1, 64)
	case timeline.ArgJSON:
		if json.Valid([]byte(v.text)) {
			return v.text
		}
		return quoted(v.text)
	case timeline.ArgString:
		return quoted(v.text)
	}
	var all []string
	for i := range v.members {
		text := jsonText(&v.members[i])
		if v.kind == timeline.ArgDict {
			text = quoted(v.members[i].key) + ":" + text
		}
		all = append(all, text)
	}
	if v.kind == timeline.ArgDict {
		return "{" + strings.Join(all, ",") + "}"
	}
	return "[" + strings.Join(all, ",") + "]"
}

// allOfText applies ofText to all JSON texts in members.
func allOfText(members []value) []value {
	for i := range members {
		if v := &members[i]; v.kind == timeline.ArgJSON {
			*v = ofText(*v)
		} else {
			v.members = allOfText(v.members)
		}
	}
	return members
}

// ofText uses encoding/json to decode JSON text that is an array. It returns other text unchanged.
func ofText(v value) value {
	if !strings.HasPrefix(v.text, "[") || !json.Valid([]byte(v.text)) {
		return v
	}
	d := json.NewDecoder(strings.NewReader(v.text))
	d.UseNumber()
	out, _ := ofTokens(d)
	out.key = v.key
	return out
}

func ofTokens(d *json.Decoder) (v value, ok bool) {
	token, _ := d.Token()
	switch x := token.(type) {
	case bool:
		v.kind = timeline.ArgBool
		if x {
			v.bits = 1
		}
	case string:
		v.kind, v.text = timeline.ArgString, x
	case json.Number:
		v.kind = timeline.ArgInt
		n, err := x.Int64()
		if v.bits = uint64(n); err != nil {
			f, _ := x.Float64()
			v.kind, v.bits = timeline.ArgDouble, math.Float64bits(f)
		}
	case json.Delim:
		v.kind = timeline.ArgArray
		if x == '{' {
			v.kind = timeline.ArgDict
		}
		for d.More() {
			var key string
			if x == '{' {
				token, _ := d.Token()
				key = token.(string)
			}
			if m, ok := ofTokens(d); ok {
				m.key = key
				v.members = append(v.members, m)
			}
		}
		d.Token()
	}
	return v, token != nil
}

func without(members []value, key string) []value {
	for i := range members {
		if members[i].key == key {
			return append(members[:i:i], members[i+1:]...)
		}
	}
	return members
}

// fromArg reads a value back with the accessors of Arg.
func fromArg(tl *timeline.Timeline, a timeline.Arg) value {
	v := value{key: string(a.Key), kind: a.Kind}
	switch a.Kind {
	case timeline.ArgBool:
		if a.Bool() {
			v.bits = 1
		}
	case timeline.ArgInt:
		v.bits = uint64(a.Int())
	case timeline.ArgUint, timeline.ArgPointer:
		v.bits = a.Uint()
	case timeline.ArgDouble:
		v.bits = math.Float64bits(a.Double())
	case timeline.ArgString, timeline.ArgJSON:
		v.text = string(a.Text())
	case timeline.ArgDict, timeline.ArgArray:
		for m := range tl.Members(a) {
			v.members = append(v.members, fromArg(tl, m))
		}
	}
	return v
}

// fromProto reads a value back from the generated struct, as an independent check.
func fromProto(tl *timeline.Timeline, a *protos.DebugAnnotation) value {
	var v value
	switch name := a.NameField.(type) {
	case *protos.DebugAnnotation_Name:
		v.key = name.Name
	case *protos.DebugAnnotation_NameIid:
		v.key = string(tl.Key(timeline.KeyID(name.NameIid)))
	}
	switch x := a.Value.(type) {
	case *protos.DebugAnnotation_BoolValue:
		v.kind = timeline.ArgBool
		if x.BoolValue {
			v.bits = 1
		}
	case *protos.DebugAnnotation_IntValue:
		v.kind, v.bits = timeline.ArgInt, uint64(x.IntValue)
	case *protos.DebugAnnotation_UintValue:
		v.kind, v.bits = timeline.ArgUint, x.UintValue
	case *protos.DebugAnnotation_DoubleValue:
		v.kind, v.bits = timeline.ArgDouble, math.Float64bits(x.DoubleValue)
	case *protos.DebugAnnotation_StringValue:
		v.kind, v.text = timeline.ArgString, x.StringValue
	case *protos.DebugAnnotation_PointerValue:
		v.kind, v.bits = timeline.ArgPointer, x.PointerValue
	case *protos.DebugAnnotation_LegacyJsonValue:
		v.kind, v.text = timeline.ArgJSON, x.LegacyJsonValue
		return ofText(v)
	}
	list := a.DictEntries
	if v.kind == 0 {
		v.kind = timeline.ArgDict
		if len(a.ArrayValues) > 0 {
			v.kind, list = timeline.ArgArray, a.ArrayValues
		}
	}
	for _, m := range list {
		v.members = append(v.members, fromProto(tl, m))
	}
	return v
}

// difference describes how two lists of values differ. Describing deep values is slow, so difference first checks for equality.
func difference(want, got []value) string {
	if fmt.Sprintf("%#v", want) == fmt.Sprintf("%#v", got) {
		return ""
	}
	return cmp.Diff(want, got, cmp.AllowUnexported(value{}), cmpopts.EquateEmpty())
}

// checkArgs encodes members as the arguments of an event and reads them back in two ways.
func checkArgs(t *testing.T, members []value) {
	t.Helper()
	b := timeline.NewBuilder(timeline.Options{Problems: new(problem.Log)})
	e := b.Args()
	e.Reset()
	for i := range members {
		encode(e, &members[i], true)
	}
	if e.Depth() != 0 {
		t.Fatalf("%d containers are open at the end", e.Depth())
	}
	if err := b.Add(&timeline.Event{Kind: timeline.Instant, Track: b.GlobalInstants(), Args: e.Args()}); err != nil {
		t.Fatal(err)
	}
	e.Reset() // the added arguments are a copy
	e.Key([]byte("other"))
	e.Int(1)
	tl, err := b.Finish(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer tl.Close()
	if err := tl.Nest(context.Background()); err != nil {
		t.Fatal(err)
	}
	want := allOfText(stored(members, true, false))
	walk(t, tl, func(it *timeline.Item) {
		var got []value
		for a := range tl.ArgList(it.Args) {
			got = append(got, fromArg(tl, a))
		}
		if diff := difference(want, got); diff != "" {
			t.Errorf("ArgList: -want +got\n%s", diff)
		}
		var event protos.TrackEvent
		if err := proto.Unmarshal(it.Args, &event); err != nil {
			t.Fatal(err)
		}
		if unknown := event.ProtoReflect().GetUnknown(); len(unknown) > 0 {
			t.Errorf("the generated struct does not know %x", unknown)
		}
		got = nil
		for _, a := range event.DebugAnnotations {
			got = append(got, fromProto(tl, a))
		}
		if diff := difference(want, got); diff != "" {
			t.Errorf("proto.Unmarshal: -want +got\n%s", diff)
		}
	})
}

// choices generates random values from the bytes of a fuzzer.
type choices []byte

// next returns a number below n.
func (c *choices) next(n int) int {
	if len(*c) == 0 {
		return 0
	}
	v := int((*c)[0]) % n
	*c = (*c)[1:]
	return v
}

func (c *choices) members(depth int) []value {
	var out []value
	for len(*c) > 0 && c.next(6) > 0 {
		out = append(out, c.value(depth))
	}
	return out
}

// maxTestDepth limits the nesting of random values.
const maxTestDepth = 12

func (c *choices) value(depth int) value {
	v := value{
		key:  []string{"", "a", "b", "c", "d", "long key that stays a key"}[c.next(6)],
		kind: timeline.ArgBool + timeline.ArgKind(c.next(int(timeline.ArgArray))),
	}
	switch v.kind {
	case timeline.ArgBool:
		v.bits = uint64(c.next(2))
	case timeline.ArgInt, timeline.ArgUint, timeline.ArgPointer, timeline.ArgDouble:
		v.bits = []uint64{0, 1, 127, 128, math.MaxInt64, math.MaxUint64, 1 << 63, 0x3ff8000000000000}[c.next(8)]
	case timeline.ArgString:
		v.text = strings.Repeat("text", []int{0, 1, 31, 32, 4096}[c.next(5)])
	case timeline.ArgJSON:
		v.text = []string{"", "null", "[1,", `["a\\"b"]`, `[{"k":[]},null,-9223372036854775808,0.1]`}[c.next(5)]
	default:
		if depth < maxTestDepth {
			v.members = c.members(depth + 1)
		}
	}
	return v
}

// FuzzArgs encodes random arguments: ArgList and the generated structs return what was encoded, without duplicates and without
// empty containers outside arrays.
func FuzzArgs(f *testing.F) {
	for i := range 100 {
		seed := make([]byte, 3*i)
		for j := range seed {
			seed[j] = byte((i*31 + j*j*7 + j>>2) * 13)
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := choices(data)
		members := c.members(0)
		checkArgs(t, members)
	})
}

// encodeText encodes arguments with fn and returns them as text.
func encodeText(t *testing.T, fn func(e *timeline.ArgsEncoder)) (text string, duplicates int) {
	t.Helper()
	b := timeline.NewBuilder(timeline.Options{Problems: new(problem.Log)})
	e := b.Args()
	e.Reset()
	fn(e)
	args := append(timeline.Args(nil), e.Args()...)
	tl, err := b.Finish(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return testkit.ArgsText(tl, args), e.Duplicates()
}

func TestArgsEncoder(t *testing.T) {
	type E = *timeline.ArgsEncoder
	key := func(e E, k string) E { e.Key([]byte(k)); return e }
	tests := []struct {
		name       string
		encode     func(e E)
		want       string
		duplicates int
	}{
		{"nothing", func(E) {}, "", 0},
		{"all kinds", func(e E) {
			key(e, "b").Bool(true)
			key(e, "i").Int(-1)
			key(e, "u").Uint(math.MaxUint64)
			key(e, "small").Uint(5)
			key(e, "d").Double(0.5)
			key(e, "inf").Double(math.Inf(-1))
			key(e, "s").String([]byte("x"))
			key(e, "p").Pointer(255)
			key(e, "j").JSON([]byte("[1]"))
		}, "b=true i=-1 u=18446744073709551615u small=5 d=0.5f inf=-Inff s=\"x\" p=@ff j=[1]", 0},
		{"empty key", func(e E) { key(e, "").Int(1) }, "_=1", 0},
		{"dictionary in parts", func(e E) {
			key(e, "d").BeginDict()
			key(e, "x").Int(1)
			key(e, "y").BeginDict()
			key(e, "z").String(bytes.Repeat([]byte("l"), 3))
			e.EndDict()
			e.EndDict()
			key(e, "between").Int(2)
			key(e, "d").ExtendDict()
			key(e, "x").Int(3)
			e.EndDict()
			key(e, "d").ExtendDict()
			e.EndDict()
		}, `between=2 d={y={z="lll"} x=3}`, 1},
		{"dictionary behind something else", func(e E) {
			key(e, "d").Int(1)
			key(e, "d").ExtendDict()
			key(e, "x").Int(2)
			e.EndDict()
			key(e, "e").ExtendDict()
			e.EndDict()
		}, "d={d=1 x=2}", 0},
		{"order is kept", func(e E) { key(e, "z").Int(1); key(e, "a").Int(2) }, "z=1 a=2", 0},
		{"duplicate at the top level", func(e E) {
			key(e, "a").Int(1)
			key(e, "b").Int(2)
			key(e, "a").Int(3)
		}, "b=2 a=3", 1},
		{"duplicate deep inside", func(e E) {
			key(e, "a").BeginDict()
			key(e, "b").BeginArray()
			e.BeginDict()
			key(e, "x").String(bytes.Repeat([]byte("long"), 100))
			key(e, "y").Int(2)
			key(e, "x").Int(3)
			key(e, "y").Int(4)
			e.EndDict()
			e.EndArray()
			e.EndDict()
			key(e, "x").Int(5)
		}, "a={b=[{x=3 y=4}]} x=5", 2},
		{"a dictionary replaces a number and the reverse", func(e E) {
			key(e, "a").Int(1)
			key(e, "a").BeginDict()
			key(e, "k").Int(2)
			e.EndDict()
			key(e, "b").BeginDict()
			key(e, "k").Int(3)
			e.EndDict()
			key(e, "b").Int(4)
		}, "a={k=2} b=4", 2},
		{"an empty dictionary replaces a number: nothing is left", func(e E) {
			key(e, "a").Int(1)
			key(e, "a").BeginDict()
			e.EndDict()
			key(e, "b").Int(2)
		}, "b=2", 1},
		{"a key may come again behind its empty value", func(e E) {
			key(e, "a").BeginArray()
			e.EndArray()
			key(e, "a").Int(1)
		}, "a=1", 0},
		{"nested empty containers vanish", func(e E) {
			key(e, "a").BeginDict()
			key(e, "b").BeginArray()
			e.EndArray()
			key(e, "c").BeginDict()
			e.EndDict()
			e.EndDict()
		}, "", 0},
		{"empty members keep their places", func(e E) {
			key(e, "a").BeginArray()
			e.Int(1)
			e.BeginDict()
			e.EndDict()
			e.Int(2)
			e.BeginArray()
			e.EndArray()
			e.Null()
			e.Int(3)
			e.EndArray()
		}, `a=[1 {} 2 [] "null" 3]`, 0},
		{"null is a text in arrays", func(e E) {
			key(e, "a").BeginArray()
			e.Null()
			e.Uint(math.MaxUint64)
			e.EndArray()
		}, `a=["null" 18446744073709551615u]`, 0},
		{"an array of empty members", func(e E) {
			key(e, "a").BeginArray()
			e.BeginArray()
			e.EndArray()
			e.BeginDict()
			key(e, "null").Null()
			e.EndDict()
			e.EndArray()
		}, "a=[[] {}]", 0},
		{"empty members deep inside", func(e E) {
			key(e, "o").BeginDict()
			key(e, "before").Int(1)
			key(e, "l").BeginArray()
			e.BeginDict()
			key(e, "x").BeginArray()
			e.BeginArray()
			e.EndArray()
			e.Int(math.MinInt64)
			e.Uint(math.MaxUint64)
			e.Double(0.1)
			e.Double(3)
			e.Double(-1e300)
			e.Double(math.Inf(1))
			e.Pointer(255)
			e.Bool(true)
			e.String([]byte("\"\\\x00ü🤔"))
			e.EndArray()
			key(e, "gone").BeginArray()
			e.EndArray()
			e.EndDict()
			e.String([]byte("last"))
			e.EndArray()
			key(e, "behind").Int(2)
			e.EndDict()
		}, `o={before=1 l=[{x=[[] -9223372036854775808 "18446744073709551615" 0.1f 3f -1e+300f "Infinity" "0xff" true ` +
			`"\"\\\x00ü🤔"]} "last"] behind=2}`, 0},
		{"an array with empty members is replaced", func(e E) {
			key(e, "a").BeginArray()
			e.BeginArray()
			e.EndArray()
			e.Int(1)
			e.EndArray()
			key(e, "b").Int(2)
			key(e, "a").Int(3)
		}, "b=2 a=3", 1},
		{"too many ends", func(e E) {
			key(e, "a").Int(1)
			e.EndDict()
			e.EndArray()
			key(e, "b").Int(2)
		}, "a=1 b=2", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, duplicates := encodeText(t, test.encode)
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if duplicates != test.duplicates {
				t.Errorf("%d duplicates, want %d", duplicates, test.duplicates)
			}
		})
	}
}

// 600 keys are too many for the search for duplicates: the values of the first keys are still replaced; for the other keys, both
// values are written and Perfetto uses the last one.
func TestArgsWithManyKeys(t *testing.T) {
	const keys, remembered = 600, 512
	text, duplicates := encodeText(t, func(e *timeline.ArgsEncoder) {
		for pass := range 2 {
			for i := range keys {
				e.Key([]byte("k" + strconv.Itoa(i)))
				e.Int(int64(pass))
			}
		}
	})
	fields := strings.Fields(text)
	last := map[string]string{}
	for _, f := range fields {
		key, value, _ := strings.Cut(f, "=")
		last[key] = value
	}
	if len(last) != keys {
		t.Errorf("%d keys, want %d", len(last), keys)
	}
	for key, value := range last {
		if value != "1" {
			t.Errorf("the last value of %s is %s", key, value)
		}
	}
	if len(fields)+duplicates != 2*keys || duplicates < remembered {
		t.Errorf("%d values written, %d replaced", len(fields), duplicates)
	}
}

// The test encodes nested messages with lengths around the values at which a length needs another byte.
func TestArgsNestedLengths(t *testing.T) {
	for _, n := range []int{100, 120, 121, 122, 123, 124, 125, 126, 127, 128, 16370, 16380, 16384, 2 << 20} {
		v := value{key: "a", kind: timeline.ArgString, text: strings.Repeat("x", n)}
		for depth := range 4 {
			v = value{key: fmt.Sprint("d", depth), kind: timeline.ArgDict, members: []value{{key: "n", kind: timeline.ArgInt}, v}}
		}
		checkArgs(t, []value{v, {key: "behind", kind: timeline.ArgInt, bits: 7}})
	}
}

// Names that are numbers are written inline instead of being interned. Duplicates are found among them, as among other names.
func TestNumbersAsNamesAreNotInterned(t *testing.T) {
	b := timeline.NewBuilder(timeline.Options{Problems: new(problem.Log)})
	e := b.Args()
	e.Reset()
	e.Key([]byte("ids"))
	e.BeginDict()
	for _, key := range []string{"12", "484426818607385", "484426818607386", "1x5", "484426818607385"} {
		e.Key([]byte(key))
		e.Int(int64(len(key)))
	}
	e.EndDict()
	if e.Duplicates() != 1 {
		t.Errorf("%d duplicates", e.Duplicates())
	}
	var event protos.TrackEvent
	if err := proto.Unmarshal(e.Args(), &event); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range event.GetDebugAnnotations()[0].GetDictEntries() {
		got = append(got, fmt.Sprintf("%q %t %d", entry.GetName(), entry.GetNameIid() != 0, entry.GetIntValue()))
	}
	want := []string{`"" true 2`, `"484426818607386" false 15`, `"" true 3`, `"484426818607385" false 15`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
