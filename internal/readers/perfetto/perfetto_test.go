package perfetto

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/weft-trace/weft/gen/perfetto/protos"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
	"github.com/weft-trace/weft/pftrace"
	"github.com/weft-trace/weft/trace"
)

// encode encodes packets given as text into a trace.
func encode(t testing.TB, text string) []byte {
	t.Helper()
	var trace protos.Trace
	if err := prototext.Unmarshal([]byte(text), &trace); err != nil {
		t.Fatal(err)
	}
	b, err := proto.Marshal(&trace)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const oneThread = `
packet { trusted_packet_sequence_id: 1 sequence_flags: 1 track_descriptor { uuid: 1 process { pid: 10 process_name: "app" } } }
packet { trusted_packet_sequence_id: 1 track_descriptor { uuid: 2 thread { pid: 10 tid: 11 thread_name: "main" } } }
`

// readError returns the error from reading an input that is not a trace.
func readError(ctx context.Context, t *testing.T, trace []byte) error {
	t.Helper()
	var log problem.Log
	b := timeline.NewBuilder(timeline.Options{Problems: &log, TempDir: t.TempDir()})
	defer b.Close()
	return Read(ctx, bytes.NewReader(trace), b, Options{Options: readers.Options{Problems: &log}})
}

func TestReadErrors(t *testing.T) {
	for name, input := range map[string]string{
		"empty": "", "json": `{"traceEvents":[]}`, "text": "hello", "jpeg": "\xff\xd8\xff\xe0\x00\x10JFIF",
	} {
		if err := readError(context.Background(), t, []byte(input)); err == nil {
			t.Errorf("%s: no error", name)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error of several lines: %v", name, err)
		}
	}
}

func TestReadIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	trace := bytes.Repeat(encode(t, oneThread), 2*contextInterval)
	if err := readError(ctx, t, trace); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

func TestSourceError(t *testing.T) {
	want := errors.New("disk on fire")
	var log problem.Log
	b := timeline.NewBuilder(timeline.Options{Problems: &log, TempDir: t.TempDir()})
	defer b.Close()
	if err := Read(context.Background(), iotest.ErrReader(want), b, Options{Options: readers.Options{Problems: &log}}); !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}

// A packet truncated by the end of the file is counted, and all packets before it are read. A trace can be truncated anywhere
// without causing an error.
func TestCutFile(t *testing.T) {
	trace := encode(t, oneThread+`
packet { trusted_packet_sequence_id: 1 timestamp: 1 track_event { type: TYPE_INSTANT track_uuid: 2 name: "kept" } }
packet { trusted_packet_sequence_id: 1 timestamp: 2 track_event { type: TYPE_INSTANT track_uuid: 2 name: "cut" } }`)
	got := readTrace(t, trace[:len(trace)-3])
	if diff := cmp.Diff("1 instant [app#10/main#11] \"kept\"\n", got.text()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("packet_truncated 1\n", got.problems()); diff != "" {
		t.Error(diff)
	}
	for n := 1; n < len(trace); n++ {
		readTrace(t, trace[:n])
	}
}

func TestMalformedPacket(t *testing.T) {
	bad := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), []byte{0x5a, 0x05, 0x01})
	good := encode(t, oneThread+`packet { trusted_packet_sequence_id: 1 timestamp: 1 track_event { type: TYPE_INSTANT track_uuid: 2 name: "kept" } }`)
	got := readTrace(t, append(bad, good...))
	if len(got.lines) != 1 || got.log.Count(problem.PacketMalformed) != 1 {
		t.Errorf("lines %q, problems %s", got.lines, got.problems())
	}
}

// Positions contain the index of an event, counted from 0, and the byte offset of its packet.
func TestPositions(t *testing.T) {
	head := encode(t, oneThread+`packet { trusted_packet_sequence_id: 1 timestamp: 1 track_event { type: TYPE_INSTANT track_uuid: 2 } }`)
	got := readTrace(t, append(head, encode(t, `packet { trusted_packet_sequence_id: 1 timestamp: 2 track_event { type: TYPE_SLICE_END track_uuid: 2 } }`)...))
	totals := got.log.Totals()
	want := problem.Position{Event: 1, Offset: int64(len(head))}
	if len(totals) != 1 || totals[0].Kind != problem.EndWithoutBegin || totals[0].Cases[0].Position != want {
		t.Errorf("problems %v, want one at %v", totals, want)
	}
}

// Packets in a bundle are read like others.
func TestBundle(t *testing.T) {
	plain := encode(t, oneThread+`packet { trusted_packet_sequence_id: 1 timestamp: 1 track_event { type: TYPE_INSTANT track_uuid: 2 name: "a" } }`)
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	z.Write(plain)
	z.Close()
	packet := &protos.TracePacket{Data: &protos.TracePacket_CompressedPackets{CompressedPackets: packed.Bytes()}}
	bundle, err := proto.Marshal(&protos.Trace{Packet: []*protos.TracePacket{packet}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(readTrace(t, plain).text(), readTrace(t, bundle).text()); diff != "" {
		t.Error(diff)
	}
}

func TestArgs(t *testing.T) {
	trace := encode(t, oneThread+`packet { trusted_packet_sequence_id: 1 timestamp: 1 track_event { type: TYPE_INSTANT track_uuid: 2
		debug_annotations { name: "a" int_value: 1 } debug_annotations { name: "b" dict_entries { name: "a" int_value: 2 } }
		correlation_id: 3 source_location { line_number: 1 } } }`)
	keep := timeline.OnlyArgs("b", "source_location")
	got := readWith(t, bytes.NewReader(trace), Options{Options: readers.Options{Args: keep}})
	want := "1 instant [app#10/main#11] b={a=2} source_location={line_number=1}\n"
	if diff := cmp.Diff(want, got.text()); diff != "" {
		t.Error(diff)
	}
}

// Invalid UTF-8 is repaired: protobuf text must be UTF-8, and Chrome writes lone surrogates.
func TestInvalidUTF8(t *testing.T) {
	name := "lone \xed\xa0\xbe surrogate"
	event := protowire.AppendVarint(protowire.AppendTag(nil, 9, protowire.VarintType), 3)
	event = protowire.AppendString(protowire.AppendTag(event, 23, protowire.BytesType), name)
	got := readTrace(t, append(encode(t, oneThread), rawEvent(5, event)...))
	if want := "5 instant [app#10/main#11] \"lone \uFFFD surrogate\"\n"; got.text() != want {
		t.Errorf("got %swant %s", got.text(), want)
	}
	if got.log.Count(problem.JSONInvalidUTF8) != 1 {
		t.Error(got.problems())
	}
}

// rawEvent returns a packet on sequence 1 with an encoded TrackEvent.
func rawEvent(ts uint64, event []byte) []byte {
	packet := protowire.AppendVarint(protowire.AppendTag(nil, 8, protowire.VarintType), ts)
	packet = protowire.AppendVarint(protowire.AppendTag(packet, 10, protowire.VarintType), 1)
	packet = protowire.AppendBytes(protowire.AppendTag(packet, 11, protowire.BytesType), event)
	return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), packet)
}

// typedDescriptor describes two extensions of TrackEvent: 1001 page, 1002 codes.
func typedDescriptor(t *testing.T) []byte {
	t.Helper()
	str := proto.String
	field := func(name string, number int32, kind fieldKind, label descriptorpb.FieldDescriptorProto_Label, typeName string) *descriptorpb.FieldDescriptorProto {
		f := &descriptorpb.FieldDescriptorProto{Name: &name, Number: &number, Type: descriptorpb.FieldDescriptorProto_Type(kind).Enum(), Label: label.Enum()}
		if typeName != "" {
			f.TypeName = &typeName
		}
		return f
	}
	one, many := descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL, descriptorpb.FieldDescriptorProto_LABEL_REPEATED
	page := field("page", 1001, kindMessage, one, ".demo.Page")
	codes := field("codes", 1002, kindSint64, many, "")
	page.Extendee, codes.Extendee = str(".perfetto.protos.TrackEvent"), str(".perfetto.protos.TrackEvent")
	file := &descriptorpb.FileDescriptorProto{
		Name: str("demo.proto"), Package: str("demo"), Extension: []*descriptorpb.FieldDescriptorProto{page, codes},
		MessageType: []*descriptorpb.DescriptorProto{{
			Name: str("Page"),
			Field: []*descriptorpb.FieldDescriptorProto{
				field("url", 1, kindString, one, ""), field("state", 2, kindEnum, one, ".demo.Page.State"),
				field("ratio", 3, kindFloat, one, ""), field("parent", 4, kindMessage, one, ".demo.Page"),
				field("args", 5, kindMessage, many, typeDebugAnnotation), field("id", 6, kindBytes, one, ""),
				field("elsewhere", 7, kindMessage, one, ".demo.Missing"),
			},
			EnumType: []*descriptorpb.EnumDescriptorProto{{
				Name:  str("State"),
				Value: []*descriptorpb.EnumValueDescriptorProto{{Name: str("HIDDEN"), Number: proto.Int32(1)}},
			}},
		}},
	}
	set, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{file}})
	if err != nil {
		t.Fatal(err)
	}
	packet := protowire.AppendBytes(protowire.AppendTag(nil, 72, protowire.BytesType),
		protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), set))
	return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), packet)
}

// typedEvents returns three events: with a page, with codes in parts, and with an annotation of the type Page.
func typedEvents(t *testing.T) []byte {
	t.Helper()
	annotation, err := proto.Marshal(&protos.DebugAnnotation{
		NameField: &protos.DebugAnnotation_Name{Name: "extra"}, Value: &protos.DebugAnnotation_IntValue{IntValue: 4},
	})
	if err != nil {
		t.Fatal(err)
	}
	tag := protowire.AppendTag
	parent := protowire.AppendString(tag(nil, 1, protowire.BytesType), "p")
	page := protowire.AppendString(tag(nil, 1, protowire.BytesType), "u")
	page = protowire.AppendVarint(tag(page, 2, protowire.VarintType), 1)
	page = protowire.AppendFixed32(tag(page, 3, protowire.Fixed32Type), 0x3f000000)
	page = protowire.AppendBytes(tag(page, 4, protowire.BytesType), parent)
	page = protowire.AppendBytes(tag(page, 5, protowire.BytesType), annotation)
	page = protowire.AppendBytes(tag(page, 6, protowire.BytesType), []byte{1, 2})
	instant := protowire.AppendVarint(tag(nil, 9, protowire.VarintType), 3)
	first := protowire.AppendBytes(tag(bytes.Clone(instant), 1001, protowire.BytesType), page)
	packed := protowire.AppendVarint(protowire.AppendVarint(nil, 1), 2)
	second := protowire.AppendBytes(tag(bytes.Clone(instant), 1002, protowire.BytesType), packed)
	second = protowire.AppendBytes(tag(second, 1001, protowire.BytesType), parent)
	second = protowire.AppendVarint(tag(second, 1002, protowire.VarintType), 3)
	third, err := proto.Marshal(&protos.TrackEvent{DebugAnnotations: []*protos.DebugAnnotation{{
		NameField: &protos.DebugAnnotation_Name{Name: "of a type"}, ProtoValue: parent,
		ProtoTypeDescriptor: &protos.DebugAnnotation_ProtoTypeName{ProtoTypeName: "demo.Page"},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	events := rawEvent(1, first)
	events = append(events, rawEvent(2, second)...)
	return append(events, rawEvent(3, append(third, instant...))...)
}

const typedText = `1 instant [app#10/main#11] page={url="u" state="HIDDEN" ratio=0.5f parent={url="p"} extra=4 id="AQI="}
2 instant [app#10/main#11] page={url="p"} codes=[-1 1 -2]
3 instant [app#10/main#11] of a type={url="p"}
`

// Typed fields are decoded with the trace's descriptor, wherever it is; Chrome writes it near the end.
func TestTypedFields(t *testing.T) {
	head := encode(t, oneThread)
	for name, trace := range map[string][]byte{
		"descriptor first": bytes.Join([][]byte{head, typedDescriptor(t), typedEvents(t)}, nil),
		"descriptor last":  bytes.Join([][]byte{head, typedEvents(t), typedDescriptor(t)}, nil),
	} {
		for _, memory := range []int64{1, 200, maxLookahead} {
			got := readWith(t, iotest.OneByteReader(bytes.NewReader(trace)), Options{Options: readers.Options{Spool: memory}})
			if diff := cmp.Diff(typedText, got.text()); diff != "" {
				t.Errorf("%s, %d bytes in memory:\n%s", name, memory, diff)
			}
			if p := got.problems(); p != "" {
				t.Errorf("%s: %s", name, p)
			}
		}
	}
}

func TestTypedFieldsWithoutDescriptor(t *testing.T) {
	dir := t.TempDir()
	var log problem.Log
	b := timeline.NewBuilder(timeline.Options{Problems: &log, TempDir: t.TempDir()})
	defer b.Close()
	trace := append(encode(t, oneThread), typedEvents(t)...)
	err := Read(context.Background(), bytes.NewReader(trace), b, Options{Options: readers.Options{Problems: &log, TempDir: dir, Spool: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if n := log.Count(problem.PacketNotConverted); n != 4 {
		t.Errorf("%d fields counted, want 4: %v", n, log.Totals())
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("temporary files left: %v, %v", left, err)
	}
}

// Deep nesting is truncated at a fixed level and counted.
func TestDeepArguments(t *testing.T) {
	deep := &protos.DebugAnnotation{Value: &protos.DebugAnnotation_IntValue{IntValue: 1}}
	for range 2 * maxArgDepth {
		deep = &protos.DebugAnnotation{ArrayValues: []*protos.DebugAnnotation{deep}}
	}
	nested := &protos.DebugAnnotation_NestedValue{IntValue: proto.Int64(1)}
	for range 2 * maxArgDepth {
		nested = &protos.DebugAnnotation_NestedValue{
			NestedType:  protos.DebugAnnotation_NestedValue_ARRAY.Enum(),
			ArrayValues: []*protos.DebugAnnotation_NestedValue{nested},
		}
	}
	event, err := proto.Marshal(&protos.TrackEvent{
		Type: protos.TrackEvent_TYPE_INSTANT.Enum(), TrackUuid: proto.Uint64(2),
		DebugAnnotations: []*protos.DebugAnnotation{deep, {Value: &protos.DebugAnnotation_NestedValue_{NestedValue: nested}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := readTrace(t, append(encode(t, oneThread), rawEvent(1, event)...))
	if n := got.log.Count(problem.PacketNotConverted); n != 2 || len(got.lines) != 1 {
		t.Errorf("%d counted, want 2; %q", n, got.lines)
	}
}

// oneProfile is a V8 profile, and an event with a recorded stack. The second piece comes before the first.
const oneProfile = oneThread + `
packet { trusted_packet_sequence_id: 1 timestamp: 1000 track_event { track_uuid: 2 name: "Profile"
	debug_annotations { name: "data" legacy_json_value: "{\"startTime\":1,\"source\":\"Internal\"}" } legacy_event { phase: 80 unscoped_id: 1 } } }
packet { trusted_packet_sequence_id: 1 timestamp: 1500 track_event { type: TYPE_INSTANT track_uuid: 2 name: "traced"
	debug_annotations { name: "data" dict_entries { name: "sampleTraceId" uint_value: 7 } } } }
packet { trusted_packet_sequence_id: 1 timestamp: 3000 track_event { track_uuid: 2 name: "ProfileChunk"
	debug_annotations { name: "data" legacy_json_value: "{\"cpuProfile\":{\"samples\":[1]},\"timeDeltas\":[3]}" } legacy_event { phase: 80 unscoped_id: 1 } } }
packet { trusted_packet_sequence_id: 1 timestamp: 2000 track_event { track_uuid: 2 name: "ProfileChunk"
	debug_annotations { name: "data" string_value: "{\"cpuProfile\":{\"nodes\":[{\"id\":1,\"callFrame\":{\"functionName\":\"(root)\"}},{\"id\":2,\"parent\":1,\"callFrame\":{\"functionName\":\"f\"}}],\"samples\":[2,2],\"trace_ids\":{\"7\":2}},\"timeDeltas\":[1,2]}" }
	legacy_event { phase: 80 unscoped_id: 1 } } }
`

// TestPieces checks that profile pieces are read in time order, from memory or disk, and that no temporary file
// remains.
func TestPieces(t *testing.T) {
	for _, memory := range []int64{0, 1, 100} {
		var log problem.Log
		dir := t.TempDir()
		b := timeline.NewBuilder(timeline.Options{Problems: &log})
		defer b.Close()
		profiles := v8profile.NewAssembler(&log, v8profile.AssemblerOptions{})
		err := Read(context.Background(), bytes.NewReader(encode(t, oneProfile)), b, Options{Options: readers.Options{Problems: &log, TempDir: dir, Spool: memory}, Profiles: profiles})
		if err != nil {
			t.Fatal(err)
		}
		all, err := profiles.Finish(nil)
		if err != nil || len(all) != 1 || all[0].ID != "0x1" || all[0].Source != "Internal" || !all[0].Chosen || all[0].Profile.Len() != 3 {
			t.Fatalf("memory %d: profiles %+v", memory, all)
		}
		for i, want := range []timeline.Nanos{2000, 4000, 7000} {
			if got := all[0].Profile.Samples().Time(i); got != want {
				t.Errorf("memory %d: sample %d is at %d, want %d", memory, i, got, want)
			}
		}
		if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
			t.Errorf("memory %d: files %v are left, %v", memory, files, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, c := range cases(f) {
		f.Add(c.trace)
	}
	f.Add(recordings[0].open(f)[:2500])
	f.Add(encode(f, oneProfile))
	f.Fuzz(func(t *testing.T, input []byte) {
		ctx := context.Background()
		var log problem.Log
		b := timeline.NewBuilder(timeline.Options{Problems: &log, TempDir: t.TempDir()})
		defer b.Close()
		profiles := v8profile.NewAssembler(&log, v8profile.AssemblerOptions{Memory: 1 << 20})
		if Read(ctx, bytes.NewReader(input), b, Options{Options: readers.Options{Problems: &log, TempDir: t.TempDir(), Spool: 100}, Profiles: profiles}) != nil {
			return
		}
		all, err := profiles.Finish(func(int64) (int64, bool) { return 0, false })
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range all {
			if p.Process == 0 || p.Thread == 0 && !p.Orphan {
				t.Errorf("profile %s of thread %d in process %d", p.ID, p.Thread, p.Process)
			}
		}
		tl, err := b.Finish(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer tl.Close()
		if err := tl.Nest(ctx); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := pftrace.Write(ctx, &out, traceOf(ctx, tl), pftrace.Options{}); err != nil {
			t.Fatal(err)
		}
		report, err := pftrace.Verify(ctx, bytes.NewReader(out.Bytes()), pftrace.VerifyOptions{Strict: true})
		if err != nil {
			t.Fatal(err)
		}
		if !report.OK() {
			t.Errorf("the output breaks rules: %+v", report.Findings)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	trace := recordings[2].open(b)
	b.SetBytes(int64(len(trace)))
	b.ReportAllocs()
	for b.Loop() {
		var log problem.Log
		tb := timeline.NewBuilder(timeline.Options{Problems: &log})
		if err := Read(context.Background(), bytes.NewReader(trace), tb, Options{Options: readers.Options{Problems: &log}}); err != nil {
			b.Fatal(err)
		}
		tb.Close()
	}
}

// Whatever arguments the filter keeps, an event keeps its weft dictionary, and counters keep their values.
func TestArgsOfWeft(t *testing.T) {
	trace := encode(t, oneThread+`
packet { trusted_packet_sequence_id: 1 trace_attributes { attribute { key: "weft.version" string_value: "1" } } }
packet { trusted_packet_sequence_id: 1 timestamp: 1 track_event { type: TYPE_INSTANT track_uuid: 2 name: "converted" debug_annotations { name: "weft" dict_entries { name: "ph" string_value: "Q" } } debug_annotations { name: "own" int_value: 1 } } }
packet { trusted_packet_sequence_id: 1 timestamp: 2 track_event { track_uuid: 2 name: "legacy" debug_annotations { name: "own" int_value: 1 } legacy_event { phase: 80 } } }
packet { trusted_packet_sequence_id: 1 timestamp: 3 track_event { track_uuid: 2 name: "counter" debug_annotations { name: "own" int_value: 1 } legacy_event { phase: 67 } } }`)
	got := readWith(t, bytes.NewReader(trace), Options{Options: readers.Options{Args: timeline.NoArgs()}})
	want := `1 instant [app#10/main#11] "converted" weft={ph="Q"}
2 instant [app#10/main#11/Other events] "legacy" weft={ph="P"}
3 counter 1 [app#10/counter own]
attribute weft.version "1"
`
	if diff := cmp.Diff(want, got.text()); diff != "" {
		t.Error(diff)
	}
}

// The description of the first sample applies to all samples of the trace.
func TestSampleDescription(t *testing.T) {
	for _, c := range cases(t) {
		if !strings.HasSuffix(c.file, "samples-of-one-kind.txtar") {
			continue
		}
		got := readTrace(t, c.trace).timeline.SampleDescription()
		if diff := cmp.Diff(timeline.SampleDescription{Source: "gecko", Counter: "cpu", Unit: 1}, got); diff != "" {
			t.Error(diff)
		}
	}
}

// Interned texts that are too long for the tables are repeated in each event, up to a limit.
func TestLongInternedTextsAreBounded(t *testing.T) {
	const length, whole, events = 70 << 10, 3, 20
	long := func(first string) string { return first + strings.Repeat("x", length-1) }
	for place, c := range map[string]struct{ data, event string }{
		"text":     {"debug_annotation_string_values { iid: 1 str: %q }", `name: "e" debug_annotations { name: "a" string_value_iid: 1 }`},
		"key":      {"debug_annotation_names { iid: 1 name: %q }", `name: "e" debug_annotations { name_iid: 1 int_value: 1 }`},
		"name":     {"event_names { iid: 1 name: %q }", "name_iid: 1"},
		"category": {"event_categories { iid: 1 name: %q }", `name: "e" category_iids: 1`},
		"log":      {"log_message_body { iid: 1 body: %q }", `name: "e" log_message { body_iid: 1 }`},
		"file":     {"source_locations { iid: 1 file_name: %q }", `name: "e" source_location_iid: 1`},
	} {
		var packets strings.Builder
		fmt.Fprintf(&packets, "%s\npacket { trusted_packet_sequence_id: 1 interned_data { "+c.data+" } }", oneThread, long("1"))
		for n := range events {
			fmt.Fprintf(&packets, "\npacket { trusted_packet_sequence_id: 1 timestamp: %d track_event { type: TYPE_INSTANT track_uuid: 2 %s } }", n+1, c.event)
		}
		read := readWith(t, bytes.NewReader(encode(t, packets.String())), Options{inlined: whole * length})
		text := read.text()
		if got := strings.Count(text, long("1")); got != whole {
			t.Errorf("%s: %d texts are whole, want %d", place, got, whole)
		}
		if got := strings.Count(text, "1"+strings.Repeat("x", shortText-1)); got != events {
			t.Errorf("%s: %d events have the text or its start, want %d", place, got, events)
		}
		if got, want := read.problems(), fmt.Sprintf("interned_text_limit %d\n", events-whole); got != want {
			t.Errorf("%s: problems %q, want %q", place, got, want)
		}
	}
}

// A text that the trace interns is interned in the output, regardless of the kind of argument.
func TestInternedTextsStayInterned(t *testing.T) {
	text := strings.Repeat("x", 10<<10)
	var packets strings.Builder
	packets.WriteString(oneThread + `
packet { trusted_packet_sequence_id: 1 interned_data {
	debug_annotation_string_values { iid: 1 str: "1` + text + `" } log_message_body { iid: 1 body: "2` + text + `" }
	source_locations { iid: 1 file_name: "3` + text + `" function_name: "4` + text + `" }
	debug_annotation_value_type_names { iid: 1 name: "5` + text + `" } } }`)
	const events = 200
	for n := range events {
		fmt.Fprintf(&packets, `
packet { trusted_packet_sequence_id: 1 timestamp: %d track_event { type: TYPE_INSTANT track_uuid: 2 name: "e" source_location_iid: 1
	debug_annotations { name: "a" string_value_iid: 1 } debug_annotations { name: "p" proto_value: "" proto_type_name_iid: 1 }
	log_message { body_iid: 1 } } }`, n+1)
	}
	read := readTrace(t, encode(t, packets.String()))
	if got := read.text(); strings.Count(got, text) != 5*events {
		t.Errorf("the events have the texts %d times, want %d", strings.Count(got, text), 5*events)
	}
	var out bytes.Buffer
	if err := pftrace.Write(context.Background(), &out, traceOf(context.Background(), read.timeline), pftrace.Options{}); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(out.Bytes(), []byte(text)); n != 5 {
		t.Errorf("the output has the texts %d times, want 5", n)
	}
}

// traceOf returns a trace that owns the timeline.
func traceOf(ctx context.Context, tl *timeline.Timeline) *trace.Trace {
	tr := new(trace.Trace)
	timeline.Hold(ctx, tr, tl)
	return tr
}
