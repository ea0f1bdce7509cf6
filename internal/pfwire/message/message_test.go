package message

import (
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/weft-trace/weft/gen/perfetto/protos"
)

// No input makes a decoder panic, and input that the generated structs can read is decoded in the same way.
func FuzzTrackEvent(f *testing.F) {
	for _, text := range []string{
		`type: TYPE_SLICE_BEGIN track_uuid: 7 name: "a" categories: "c" category_iids: [1, 2] flow_ids: [3, 4] terminating_flow_ids: 5`,
		`legacy_event { phase: 88 duration_us: -1 unscoped_id: 3 } extra_counter_values: [1, 2] extra_counter_track_uuids: 3`,
		`debug_annotations { name: "d" dict_entries { name_iid: 1 int_value: -2 } dict_entries { name: "e" string_value_iid: 3 } }`,
		`type: TYPE_COUNTER double_counter_value: 1.5 timestamp_delta_us: 4 callstack_iid: 1 correlation_id_str: "x"`,
	} {
		e := new(protos.TrackEvent)
		if err := prototext.Unmarshal([]byte(text), e); err != nil {
			f.Fatal(err)
		}
		msg, err := proto.Marshal(e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(msg)
	}
	f.Fuzz(func(t *testing.T, msg []byte) {
		var e TrackEvent
		err := e.Parse(msg)
		for _, a := range e.Annotations {
			walkAnnotation(a, 0)
		}
		var want protos.TrackEvent
		if err != nil || proto.Unmarshal(msg, &want) != nil || len(want.ProtoReflect().GetUnknown()) > 0 {
			return
		}
		if e.TrackUUID != want.GetTrackUuid() || len(e.Annotations) != len(want.DebugAnnotations) || len(e.Categories) != len(want.Categories) ||
			len(e.CategoryIIDs) != len(want.CategoryIids) || len(e.Flows) != len(want.FlowIds) || e.HasLegacy != (want.LegacyEvent != nil) {
			t.Errorf("%+v, want %v", e, &want)
		}
		for i, a := range e.Annotations {
			sameAnnotation(t, a, want.DebugAnnotations[i])
		}
	})
}

func walkAnnotation(msg []byte, depth int) {
	var a Annotation
	if a.Parse(msg) != nil || depth > 100 {
		return
	}
	for m := a.Members(); m.Next(); {
		walkAnnotation(m.Bytes(), depth+1)
	}
}

func sameAnnotation(t *testing.T, msg []byte, want *protos.DebugAnnotation) {
	if len(want.ProtoReflect().GetUnknown()) > 0 {
		return // to the generated struct, a field of another wire type, or a group, is unknown
	}
	var a Annotation
	if err := a.Parse(msg); err != nil {
		t.Fatal(err)
	}
	if string(a.Name) != want.GetName() || a.NameIID != want.GetNameIid() {
		t.Errorf("name %q %d, want %v", a.Name, a.NameIID, want)
	}
	if a.Values != 1 {
		return // with several values, the kinds can differ: lists are not part of the oneof
	}
	switch a.Kind {
	case IntAnnotation:
		if a.Int() != want.GetIntValue() {
			t.Errorf("%d, want %v", a.Int(), want)
		}
	case DictAnnotation:
		i := 0
		for m := a.Members(); m.Next(); i++ {
			sameAnnotation(t, m.Bytes(), want.DictEntries[i])
		}
	}
}
