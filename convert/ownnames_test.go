package convert_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/gen/perfetto/protos"
	"github.com/weft-trace/weft/internal/timeline"
)

// TestForeignArguments reads converted recordings as traces from another producer that uses weft's argument names: the answers
// are the same as for arguments with other names.
func TestForeignArguments(t *testing.T) {
	forEachRecording(t, func(t *testing.T, data []byte) {
		foreign := withoutMarks(t, converted(t, data))
		other := editTrace(t, foreign, func(p *protos.TracePacket) {
			for _, name := range p.GetInternedData().GetDebugAnnotationNames() {
				name.Name = proto.String(otherName(name.GetName()))
			}
		})
		if bytes.Equal(foreign, other) {
			t.Skip("weft adds no arguments")
		}
		if diff := cmp.Diff(answersOf(t, other), answersOf(t, foreign)); diff != "" {
			t.Errorf("answers with other names (-) and weft's (+) differ:\n%.3000s", diff)
		}
	})
}

// otherName renames an argument that has one of weft's names.
func otherName(name string) string {
	if timeline.IsOwnName(name) {
		return "warp" + strings.TrimPrefix(name, timeline.OwnArgs)
	}
	return name
}

// misleading looks like weft's additions to an event, but is in the input.
const misleading = `{"tdur":77000000,"id":"0x9","id2":{"global":"0x9"},"ph":"(","scope":"ptr","tab":9,"marker":"Reflow","samples":7,"did_not_end":true}`

// TestForeignJSONArguments is like TestForeignArguments, for Chrome traces in which all events have such arguments.
func TestForeignJSONArguments(t *testing.T) {
	forEachRecording(t, func(t *testing.T, data []byte) {
		data = unpacked(t, data)
		var document map[string]json.RawMessage
		if json.Unmarshal(data, &document) != nil || document["traceEvents"] == nil {
			t.Skip("not a trace of Chrome")
		}
		with := func(name string) []byte {
			var events []map[string]any
			decoder := json.NewDecoder(bytes.NewReader(document["traceEvents"]))
			decoder.UseNumber()
			if err := decoder.Decode(&events); err != nil {
				t.Fatal(err)
			}
			for _, ev := range events {
				args, ok := ev["args"].(map[string]any)
				if !ok && ev["args"] != nil || ev["ph"] == "C" {
					continue
				}
				if args == nil {
					args = map[string]any{}
					ev["args"] = args
				}
				args[name], args[name+".probe"] = json.RawMessage(misleading), "layout:layout-start"
			}
			out, err := json.Marshal(map[string]any{"traceEvents": events, "metadata": document["metadata"]})
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		if diff := cmp.Diff(answersOf(t, with("warp")), answersOf(t, with(timeline.OwnArgs))); diff != "" {
			t.Errorf("answers with other names (-) and weft's (+) differ:\n%.3000s", diff)
		}
	})
}

// TestReservedNames follows arguments and attributes with reserved names through conversions: an underscore permanently
// distinguishes them from weft's own.
func TestReservedNames(t *testing.T) {
	json := `{"traceEvents":[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1,"tdur":1,
		"args":{"weft":{"tdur":5},"_weft":1,"weft.probe":"p","wefts":2,"in":{"weft":3}}}],
		"weft.attribution":"converted","weft.attribution.sequence":1,"wefts":1}`
	native := encodedTrace(t, `
		packet { trusted_packet_sequence_id: 7 trace_attributes {
			attribute { key: "weft.attribution" string_value: "converted" } attribute { key: "weft.attribution.sequence" long_value: 1 }
			attribute { key: "wefts" long_value: 1 } } }
		packet { trusted_packet_sequence_id: 7 sequence_flags: 1 track_descriptor { uuid: 1 thread { pid: 1 tid: 1 } } }
		packet { trusted_packet_sequence_id: 7 timestamp: 1000 track_event { type: TYPE_SLICE_BEGIN track_uuid: 1 name: "a"
			debug_annotations { name: "weft" dict_entries { name: "tdur" int_value: 5 } } debug_annotations { name: "_weft" int_value: 1 }
			debug_annotations { name: "weft.probe" string_value: "p" } debug_annotations { name: "wefts" int_value: 2 }
			debug_annotations { name: "in" dict_entries { name: "weft" int_value: 3 } } } }
		packet { trusted_packet_sequence_id: 7 timestamp: 2000 track_event { type: TYPE_SLICE_END track_uuid: 1 } }`)
	for name, c := range map[string]struct {
		input []byte
		added string
	}{"json": {[]byte(json), " weft{tdur}"}, "perfetto": {native, ""}} {
		want := "_weft{tdur} __weft _weft.probe wefts in{weft}" + c.added + " | _weft.attribution _weft.attribution.sequence wefts"
		input := c.input
		for n := range 3 {
			if got := reservedNames(t, input); got != want {
				t.Errorf("%s, converted %d times: %s, want %s", name, n, got, want)
			}
			input = converted(t, input)
		}
	}
}

func encodedTrace(t *testing.T, text string) []byte {
	t.Helper()
	var trace protos.Trace
	if err := prototext.Unmarshal([]byte(text), &trace); err != nil {
		t.Fatal(err)
	}
	data, err := proto.Marshal(&trace)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// reservedNames returns the names of slice arguments and of attributes that look like weft's, except those that conversions add.
func reservedNames(t *testing.T, input []byte) (names string) {
	t.Helper()
	tr, err := convert.Open(t.Context(), bytes.NewReader(input), convert.Options{TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	tl := timeline.Of(tr)
	err = tl.Walk(t.Context(), func(it *timeline.Item) error {
		if it.Kind != timeline.ItemBegin {
			return nil
		}
		for a := range tl.ArgList(it.Args) {
			names += string(a.Key)
			if a.Kind == timeline.ArgDict {
				for m := range tl.Members(a) {
					names += fmt.Sprintf("{%s}", m.Key)
				}
			}
			names += " "
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	names += "|"
	for _, a := range tl.Attributes() {
		if strings.Contains(a.Key, "weft") && a.Key != "weft.version" && a.Key != "weft.input_format" {
			names += " " + a.Key
		}
	}
	return names
}
