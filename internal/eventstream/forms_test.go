package eventstream_test

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/weft-trace/weft/convert"
	weftv1 "github.com/weft-trace/weft/gen/weft/v1"
	"github.com/weft-trace/weft/internal/eventstream"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/resolved"
	"github.com/weft-trace/weft/internal/timeline"
)

// eachRecording runs a test with each readable recording.
func eachRecording(t *testing.T, test func(t *testing.T, tl *timeline.Timeline)) {
	for _, f := range recording.In(t, ".") {
		t.Run(f.Name, func(t *testing.T) {
			tr, err := convert.Open(t.Context(), bytes.NewReader(recording.Read(t, f.Path)), convert.Options{TempDir: t.TempDir()})
			if err != nil {
				t.Skip(err) // some are too damaged to read
			}
			defer tr.Close()
			test(t, timeline.Of(tr))
		})
	}
}

// eachRow calls fn for the rows of a timeline.
func eachRow(t *testing.T, tl *timeline.Timeline, fn func(*resolved.Row)) {
	t.Helper()
	r := resolved.NewReader(tl)
	defer r.Close()
	if _, err := r.Walk(t.Context(), resolved.Options{}, func(row *resolved.Row) error {
		fn(row)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// readRecord reads the only record of b with the generated structs, and checks that these write the same bytes.
func readRecord(t *testing.T, b []byte) *weftv1.Record {
	t.Helper()
	var record weftv1.Record
	if err := (protodelim.UnmarshalOptions{MaxSize: eventstream.MaxRecord}).UnmarshalFrom(bytes.NewReader(b), &record); err != nil {
		t.Fatalf("%.1000x: %v", b, err)
	}
	var again bytes.Buffer
	if _, err := protodelim.MarshalTo(&again, &record); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again.Bytes(), b) {
		t.Fatalf("appended\n%x\nprotodelim writes\n%x\n%v", b, again.Bytes(), &record)
	}
	if hasUnknown(record.ProtoReflect()) {
		t.Fatalf("unknown fields in %v", &record)
	}
	return &record
}

// hasUnknown reports whether a message, or a message in it, has fields that the schema lacks.
func hasUnknown(m protoreflect.Message) (found bool) {
	if len(m.GetUnknown()) > 0 {
		return true
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.Message() == nil:
		case fd.IsList():
			for i := range v.List().Len() {
				found = found || hasUnknown(v.List().Get(i).Message())
			}
		default:
			found = hasUnknown(v.Message())
		}
		return !found
	})
	return found
}

// Every event is the same in all forms: the message, which is encoded as the generated structs encode it, and the JSON line,
// whose members are the fields that are set.
func TestForms(t *testing.T) {
	fields := map[string]bool{} // fields of at least one event
	eachRecording(t, func(t *testing.T, tl *timeline.Timeline) {
		enc, lines := eventstream.NewEncoder(tl), eventstream.NewLines(tl)
		n := 0
		eachRow(t, tl, func(row *resolved.Row) {
			if n++; !recording.All() && n%8 != 0 && n > 100 {
				return
			}
			event := readRecord(t, enc.Event(row)).GetEvent()
			line := lines.Event(row)
			decoder := json.NewDecoder(bytes.NewReader(line))
			decoder.UseNumber()
			var got map[string]any
			if err := decoder.Decode(&got); err != nil || bytes.Count(line, []byte("\n")) != 1 {
				t.Fatalf("%s: %v", line, err)
			}
			want := jsonOf(event.ProtoReflect()).(map[string]any)
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("the line is\n%v\nthe message is\n%v", got, want)
			}
			event.ProtoReflect().Range(func(fd protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
				fields[string(fd.Name())] = true
				return true
			})
		})
		if enc.Truncated > 0 {
			t.Errorf("%d events were truncated", enc.Truncated)
		}
	})
	if !recording.All() {
		return // not all recordings were read
	}
	for _, never := range []string{"contexts", "input", "cpu"} { // they need attribution or several inputs, or are in TestUnusualEvents
		if fields[never] {
			t.Errorf("events have %s", never)
		}
		fields[never] = true
	}
	all := (*weftv1.Event)(nil).ProtoReflect().Descriptor().Fields()
	for i := range all.Len() {
		if name := string(all.Get(i).Name()); !fields[name] {
			t.Errorf("no recording has an event with %s", name)
		}
	}
}

// jsonOf returns the JSON line of a message, decoded; it defines the JSON form.
func jsonOf(m protoreflect.Message) any {
	out := map[string]any{}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		name := string(fd.Name())
		switch {
		case name == "args":
			out[name] = argsJSON(v.List())
		case fd.IsList():
			var list []any
			for i := range v.List().Len() {
				list = append(list, jsonValue(fd, v.List().Get(i)))
			}
			out[name] = list
		default:
			out[name] = jsonValue(fd, v)
		}
		return true
	})
	return out
}

func jsonValue(fd protoreflect.FieldDescriptor, v protoreflect.Value) any {
	switch fd.Kind() {
	case protoreflect.MessageKind:
		return jsonOf(v.Message())
	case protoreflect.EnumKind:
		_, name, _ := strings.Cut(string(fd.Enum().Values().ByNumber(v.Enum()).Name()), "_")
		return strings.ToLower(name)
	case protoreflect.StringKind:
		return v.String()
	case protoreflect.DoubleKind:
		return doubleJSON(v.Float())
	}
	return json.Number(v.String())
}

func doubleJSON(v float64) any {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	}
	return json.Number(strconv.FormatFloat(v, 'g', -1, 64))
}

// argsJSON returns arguments as an object; a decoder uses the last of several with the same key.
func argsJSON(args protoreflect.List) any {
	out := map[string]any{}
	for i := range args.Len() {
		arg := args.Get(i).Message().Interface().(*weftv1.Arg)
		out[arg.GetKey()] = argJSON(arg)
	}
	return out
}

func argJSON(arg *weftv1.Arg) any {
	switch v := arg.GetValue().(type) {
	case *weftv1.Arg_Int:
		return json.Number(strconv.FormatInt(v.Int, 10))
	case *weftv1.Arg_Uint:
		return json.Number(strconv.FormatUint(v.Uint, 10))
	case *weftv1.Arg_Double:
		return doubleJSON(v.Double)
	case *weftv1.Arg_Bool:
		return v.Bool
	case *weftv1.Arg_String_:
		return v.String_
	case *weftv1.Arg_Pointer:
		return "0x" + strconv.FormatUint(v.Pointer, 16)
	case *weftv1.Arg_Json:
		decoder := json.NewDecoder(strings.NewReader(v.Json))
		decoder.UseNumber()
		var out any
		if !json.Valid([]byte(v.Json)) || decoder.Decode(&out) != nil {
			return v.Json
		}
		return out
	case *weftv1.Arg_Dict:
		out := map[string]any{}
		for _, member := range v.Dict.GetArgs() {
			out[member.GetKey()] = argJSON(member)
		}
		return out
	case *weftv1.Arg_Array:
		out := []any{}
		for _, member := range v.Array.GetArgs() {
			out = append(out, argJSON(member))
		}
		return out
	}
	return nil
}

// The constants of this package and the generated constants match the schema. Headers, costs and footers are encoded as the
// generated structs encode them.
func TestRecords(t *testing.T) {
	h := eventstream.Header{
		WeftVersion: "1.2.3", Inputs: []eventstream.Input{{Name: "a", Format: "chrome-json", Bytes: 300, SHA256: strings.Repeat("0f", 32)}, {}},
		Clock:   timeline.Clocks{Trace: timeline.ClockMonotonic, Readings: []timeline.ClockReading{{Clock: timeline.ClockRealtime, Time: 1 << 60}, {Clock: 9, Time: 0}}},
		Options: []string{"a=b", "c=\xff"}, Attributes: []timeline.Attribute{{Key: "text", Text: ""}, {Key: "number", Int: -1, IsInt: true}},
	}
	header := readRecord(t, h.Append(nil)).GetHeader()
	if header.GetMagic() != eventstream.Magic || header.GetStreamId() != h.StreamID() || len(h.StreamID()) != 64 ||
		header.GetClock().GetReadings()[1].GetName() != "clock 9" || header.GetAttributes()[1].GetInt() != -1 || header.GetOptions()[1] != "c=\uFFFD" {
		t.Errorf("header %v", header)
	}
	c := eventstream.Cost{Type: "Frame", ContextID: "frame/1", By: "context", Self: 5, CPUUnknown: -1, Metrics: []eventstream.Metric{{Name: "x_ns", Value: 3}, {}}}
	cost := readRecord(t, c.Append(nil)).GetCost()
	if cost.GetSelfNs() != 5 || cost.GetCpuUnknownNs() != -1 || cost.GetMetrics()[0].GetValue() != 3 {
		t.Errorf("cost %v", cost)
	}
	f := eventstream.Footer{First: -3, Last: 9, Problems: []eventstream.Problem{{Name: "flow_dangling", Severity: "info", Count: 300}}, Complete: true, LeftOut: 7}
	f.Events[resolved.Sample], f.Events[resolved.Slice] = 2, 1
	footer := readRecord(t, f.Append(nil)).GetFooter()
	want := &weftv1.Footer{
		Events:  []*weftv1.EventCount{{Kind: weftv1.Kind_KIND_SLICE, Count: 1}, {Kind: weftv1.Kind_KIND_SAMPLE, Count: 2}},
		FirstNs: -3, LastNs: 9, Problems: []*weftv1.Problem{{Name: "flow_dangling", Severity: "info", Count: 300}}, Complete: true, LeftOut: 7,
	}
	if !proto.Equal(footer, want) {
		t.Errorf("footer %v, want %v", footer, want)
	}
}

// The kinds of events and the sources of contexts have the numbers in the schema.
func TestEnums(t *testing.T) {
	for n, name := range weftv1.Kind_name {
		if _, name, _ := strings.Cut(name, "_"); n > 0 && resolved.Kind(n).String() != strings.ToLower(name) {
			t.Errorf("kind %d is %s, want %s", n, resolved.Kind(n), name)
		}
	}
	for n, name := range weftv1.Via_name {
		if _, name, _ := strings.Cut(name, "_"); n > 0 && (resolved.Via(n).String() != strings.ToLower(name) || resolved.ParseVia(strings.ToLower(name)) != resolved.Via(n)) {
			t.Errorf("via %d is %s, want %s", n, resolved.Via(n), name)
		}
	}
	if len(weftv1.Kind_name) != resolved.KindCount+1 {
		t.Errorf("%d kinds, want %d", resolved.KindCount, len(weftv1.Kind_name)-1)
	}
}

// The id of a stream depends on its inputs, options and versions, and on nothing else.
func TestStreamID(t *testing.T) {
	base := eventstream.Header{WeftVersion: "1", Inputs: []eventstream.Input{{SHA256: "aa"}, {SHA256: "bb"}}, Options: []string{"x=1"}}
	same := base
	same.Attributes, same.Clock = []timeline.Attribute{{Key: "a"}}, timeline.Clocks{Trace: 1}
	same.Inputs = []eventstream.Input{{SHA256: "aa", Name: "other"}, {SHA256: "bb", Bytes: 9}}
	if same.StreamID() != base.StreamID() {
		t.Error("names and attributes change the id")
	}
	for name, change := range map[string]func(*eventstream.Header){
		"version": func(h *eventstream.Header) { h.WeftVersion = "2" },
		"input":   func(h *eventstream.Header) { h.Inputs = h.Inputs[:1] },
		"order":   func(h *eventstream.Header) { h.Inputs = []eventstream.Input{{SHA256: "bb"}, {SHA256: "aa"}} },
		"option":  func(h *eventstream.Header) { h.Options = []string{"x=2"} },
		"joined":  func(h *eventstream.Header) { h.Options, h.Inputs = []string{"x=1", "aa"}, h.Inputs[1:] },
	} {
		other := base
		if change(&other); other.StreamID() == base.StreamID() {
			t.Errorf("another %s does not change the id", name)
		}
	}
}
