package eventstream_test

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"

	"google.golang.org/protobuf/proto"

	weftv1 "github.com/weft-trace/weft/gen/weft/v1"
	"github.com/weft-trace/weft/internal/eventstream"
)

// Whatever message is read as an event: an error, or one line of JSON. What the generated structs cannot read either may be an event,
// because fields that are not known are passed over without a look.
func FuzzEvent(f *testing.F) {
	dict := &weftv1.ArgList{Args: []*weftv1.Arg{
		{Key: "int", Value: &weftv1.Arg_Int{Int: -1}}, {Key: "uint", Value: &weftv1.Arg_Uint{Uint: math.MaxUint64}}, {Key: "null"},
		{Key: "double", Value: &weftv1.Arg_Double{Double: math.Inf(-1)}}, {Key: "json", Value: &weftv1.Arg_Json{Json: `{"a":[1`}},
		{Key: "pointer", Value: &weftv1.Arg_Pointer{Pointer: 1}}, {Key: "bool", Value: &weftv1.Arg_Bool{Bool: true}},
		{Key: "array", Value: &weftv1.Arg_Array{Array: &weftv1.ArgList{Args: []*weftv1.Arg{{Value: &weftv1.Arg_String_{String_: "x"}}}}}},
	}}
	for _, ev := range []*weftv1.Event{
		{TsNs: 5, DurNs: proto.Int64(3), Kind: weftv1.Kind_KIND_SLICE, Id: 1, Name: "n", Categories: []string{"a", "b"}, Track: []string{"p", "t"},
			Pid: proto.Int64(-1), Tid: proto.Int64(2), Args: []*weftv1.Arg{{Key: "d", Value: &weftv1.Arg_Dict{Dict: dict}}},
			FlowsIn: []*weftv1.FlowIn{{Id: 1, From: 2}}, FlowsOut: []uint64{5, 6}, Contexts: []*weftv1.Context{{Type: "Frame", Via: 4, Candidates: []string{"c"}}}},
		{TsNs: math.MinInt64, Kind: weftv1.Kind_KIND_SAMPLE, Value: &weftv1.Event_DoubleValue{DoubleValue: math.NaN()}, Cpu: proto.Uint32(math.MaxUint32),
			Stack: []*weftv1.Frame{{Function: "f", Line: -3}, {}}, AsyncId: "0x1", AsyncScope: "s", Lane: 9, MadeUp: 3, Input: 1, InputEvent: 1 << 40, InputByte: proto.Uint64(0)},
	} {
		msg, err := proto.Marshal(ev)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(msg)
	}
	f.Fuzz(func(t *testing.T, msg []byte) {
		var ev eventstream.Event
		if ev.Parse(msg) != nil {
			return
		}
		if line := ev.AppendLine(nil); !json.Valid(line) || bytes.Count(line, []byte("\n")) != 1 || line[len(line)-1] != '\n' {
			t.Fatalf("the line is %q", line)
		}
	})
}
