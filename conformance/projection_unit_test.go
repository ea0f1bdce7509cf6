package conformance

import (
	"bytes"
	"compress/zlib"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"

	pb "github.com/weft-trace/weft/gen/perfetto/protos"
)

// All conformance tests depend on the projection, so it has separate tests with handmade traces.

// handmade returns a trace with one of everything that the projection reads.
func handmade() []*pb.TracePacket {
	return []*pb.TracePacket{
		{
			OptionalTrustedPacketSequenceId: sequenceID(1),
			SequenceFlags:                   proto.Uint32(stateCleared),
			TracePacketDefaults: &pb.TracePacketDefaults{TrackEventDefaults: &pb.TrackEventDefaults{
				TrackUuid: proto.Uint64(2), ExtraCounterTrackUuids: []uint64{3},
			}},
			InternedData: &pb.InternedData{
				EventNames:                  []*pb.EventName{{Iid: proto.Uint64(1), Name: proto.String("work")}},
				EventCategories:             []*pb.EventCategory{{Iid: proto.Uint64(1), Name: proto.String("a")}, {Iid: proto.Uint64(2), Name: proto.String("b")}},
				DebugAnnotationNames:        []*pb.DebugAnnotationName{{Iid: proto.Uint64(1), Name: proto.String("k.1")}},
				DebugAnnotationStringValues: []*pb.InternedString{{Iid: proto.Uint64(1), Str: []byte("texts")}},
			},
		},
		descriptor(&pb.TrackDescriptor{Uuid: proto.Uint64(1), Process: &pb.ProcessDescriptor{Pid: proto.Int32(7), ProcessName: proto.String("seven")}}),
		descriptor(&pb.TrackDescriptor{Uuid: proto.Uint64(2), ParentUuid: proto.Uint64(1), Thread: &pb.ThreadDescriptor{Pid: proto.Int32(7), Tid: proto.Int64(8), ThreadName: proto.String("eight")}}),
		descriptor(&pb.TrackDescriptor{Uuid: proto.Uint64(3), ParentUuid: proto.Uint64(2), Counter: &pb.CounterDescriptor{Type: pb.CounterDescriptor_COUNTER_THREAD_TIME_NS.Enum()}}),
		descriptor(named(4, 2, "Overlapping slices")),
		descriptor(named(5, 1, "load")),
		descriptor(named(6, 1, "Process instants")),
		descriptor(named(7, 0, "Global instants")),
		descriptor(named(8, 2, "Thread state")),
		descriptor(&pb.TrackDescriptor{Uuid: proto.Uint64(9), ParentUuid: proto.Uint64(1), Counter: &pb.CounterDescriptor{}, StaticOrDynamicName: &pb.TrackDescriptor_Name{Name: "heap v"}}),
		descriptor(assigned(10, "pid 0, named \"zero\"", &pb.TrackDescriptor{Process: &pb.ProcessDescriptor{Pid: proto.Int32(1), ProcessName: proto.String("zero (pid 0)"), ProcessLabels: []string{"pid 0"}}})),
		descriptor(assigned(11, "tid 0", &pb.TrackDescriptor{ParentUuid: proto.Uint64(10), Thread: &pb.ThreadDescriptor{Pid: proto.Int32(1), Tid: proto.Int64(1)}})),
		descriptor(assigned(12, "called \"gpu\"", &pb.TrackDescriptor{Process: &pb.ProcessDescriptor{Pid: proto.Int32(2), ProcessName: proto.String("gpu")}})),
		descriptor(assigned(13, "called \"stream 7\"", &pb.TrackDescriptor{ParentUuid: proto.Uint64(12), Thread: &pb.ThreadDescriptor{Pid: proto.Int32(2), Tid: proto.Int64(3), ThreadName: proto.String("stream 7")}})),

		event(10, &pb.TrackEvent{Type: begin, NameField: &pb.TrackEvent_NameIid{NameIid: 1}, CategoryIids: []uint64{1, 2}, ExtraCounterValues: []int64{100}, FlowIds: []uint64{1, 2}, DebugAnnotations: []*pb.DebugAnnotation{
			intArray("l", 1, 2), jsonText("m", `[[1],[]]`),
		}}),
		event(10, &pb.TrackEvent{Type: begin, NameField: &pb.TrackEvent_Name{Name: "empty"}}),
		event(10, &pb.TrackEvent{Type: end}),
		event(12, &pb.TrackEvent{Type: instant, NameField: &pb.TrackEvent_Name{Name: "tick"}, DebugAnnotations: handmadeArgs()}),
		event(15, &pb.TrackEvent{Type: begin, TrackUuid: proto.Uint64(4), NameField: &pb.TrackEvent_NameIid{NameIid: 1}, TerminatingFlowIds: []uint64{1}}),
		event(16, &pb.TrackEvent{Type: begin, TrackUuid: proto.Uint64(5), NameField: &pb.TrackEvent_Name{Name: "load"}, TerminatingFlowIds: []uint64{2}}),
		event(17, &pb.TrackEvent{Type: instant, TrackUuid: proto.Uint64(6), NameField: &pb.TrackEvent_Name{Name: "p"}}),
		event(17, &pb.TrackEvent{Type: instant, TrackUuid: proto.Uint64(7), NameField: &pb.TrackEvent_Name{Name: "g"}}),
		event(18, &pb.TrackEvent{Type: instant, TrackUuid: proto.Uint64(8), NameField: &pb.TrackEvent_Name{Name: "Running"}}),
		event(19, &pb.TrackEvent{Type: counter, TrackUuid: proto.Uint64(9), CounterValueField: &pb.TrackEvent_DoubleCounterValue{DoubleCounterValue: 0.5}}),
		event(20, &pb.TrackEvent{Type: instant, TrackUuid: proto.Uint64(11)}),
		event(20, &pb.TrackEvent{Type: instant, TrackUuid: proto.Uint64(13)}),
		event(30, &pb.TrackEvent{Type: end, ExtraCounterValues: []int64{105}, DebugAnnotations: []*pb.DebugAnnotation{
			{NameField: &pb.DebugAnnotation_NameIid{NameIid: 1}, Value: &pb.DebugAnnotation_UintValue{UintValue: 1<<64 - 1}},
			intArray("l", 3), intArray("m", 4),
		}}),
		event(25, &pb.TrackEvent{Type: end, TrackUuid: proto.Uint64(4)}), // later in the file, earlier in time
	}
}

// assigned adds the input's id and name to a process or thread.
func assigned(uuid uint64, what string, d *pb.TrackDescriptor) *pb.TrackDescriptor {
	d.Uuid, d.Description = proto.Uint64(uuid), proto.String("In the input: "+what)
	return d
}

func handmadeArgs() []*pb.DebugAnnotation {
	name := func(s string) *pb.DebugAnnotation_Name { return &pb.DebugAnnotation_Name{Name: s} }
	return []*pb.DebugAnnotation{
		{NameField: name("d"), DictEntries: []*pb.DebugAnnotation{
			{NameField: name("b"), Value: &pb.DebugAnnotation_BoolValue{BoolValue: true}},
			{NameField: name("a"), ArrayValues: []*pb.DebugAnnotation{
				{Value: &pb.DebugAnnotation_IntValue{IntValue: -1}},
				{Value: &pb.DebugAnnotation_DoubleValue{DoubleValue: 1e300}},
			}},
		}},
		{NameField: name("s"), Value: &pb.DebugAnnotation_StringValueIid{StringValueIid: 1}},
		jsonText("j", `[[8, 9223372036854775807], [], {}, {"k": [0.5, [], true]}, "null", -2.0]`),
		{NameField: name("weft"), DictEntries: []*pb.DebugAnnotation{{NameField: name("id"), Value: &pb.DebugAnnotation_IntValue{IntValue: 1}}}},
	}
}

func intArray(name string, values ...int64) *pb.DebugAnnotation {
	a := &pb.DebugAnnotation{NameField: &pb.DebugAnnotation_Name{Name: name}}
	for _, v := range values {
		a.ArrayValues = append(a.ArrayValues, &pb.DebugAnnotation{Value: &pb.DebugAnnotation_IntValue{IntValue: v}})
	}
	return a
}

func jsonText(name, text string) *pb.DebugAnnotation {
	return &pb.DebugAnnotation{NameField: &pb.DebugAnnotation_Name{Name: name}, Value: &pb.DebugAnnotation_LegacyJsonValue{LegacyJsonValue: text}}
}

var wantHandmade = map[string]string{
	"slices": `
async	7		16	-1	0	load			
global			17	0		g			
overflow	7	8	15	10		work			
process	7		17	0		p			
thread	0	0	20	0	0				
thread	7	8	10	0	1	empty			
thread	7	8	10	20	0	work	a,b	100	5
thread	7	8	12	0	1	tick			
thread	str:gpu	str:stream 7	20	0	0				`,
	"args": `
thread	7	8	10	20	work	k_1	int	18446744073709551615
thread	7	8	10	20	work	l[0]	int	1
thread	7	8	10	20	work	l[1]	int	2
thread	7	8	10	20	work	l[2]	int	3
thread	7	8	10	20	work	m[0][0]	int	1
thread	7	8	10	20	work	m[2]	int	4
thread	7	8	12	0	tick	d.a[0]	int	-1
thread	7	8	12	0	tick	d.a[1]	real	1e+300
thread	7	8	12	0	tick	d.b	bool	true
thread	7	8	12	0	tick	j[0][0]	int	8
thread	7	8	12	0	tick	j[0][1]	int	9223372036854775807
thread	7	8	12	0	tick	j[3].k[0]	real	0.5
thread	7	8	12	0	tick	j[3].k[2]	bool	true
thread	7	8	12	0	tick	j[4]	string	null
thread	7	8	12	0	tick	j[5]	real	-2
thread	7	8	12	0	tick	s	string	texts`,
	"flows": `
thread	7	8	10	20	work	async	7		16	-1	load
thread	7	8	10	20	work	overflow	7	8	15	10	work`,
	"counters": `
7	heap v	19	0.5`,
	"threads": `
0	0	zero	
7	8	seven	eight
str:gpu	str:stream 7	gpu	stream 7`,
}

func TestProjection(t *testing.T) {
	for name, pack := range map[string]func(*testing.T, []*pb.TracePacket) []byte{
		"plain": marshal, "zlib": zlibBundle, "zstd": zstdBundle,
	} {
		p, err := project(pack(t, handmade()))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for table, want := range wantHandmade {
			got := keys(p.table(table).rows)
			slices.Sort(got)
			if diff := cmp.Diff(strings.Split(want, "\n")[1:], got); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", name, table, diff)
			}
		}
	}
}

// The projection rejects data that a reader of the trace would drop or misread.
func TestProjectionRefuses(t *testing.T) {
	tests := map[string]*pb.TracePacket{
		"undefined name": event(20, &pb.TrackEvent{Type: instant, NameField: &pb.TrackEvent_NameIid{NameIid: 99}}),
		"member without value": event(20, &pb.TrackEvent{Type: instant, DebugAnnotations: []*pb.DebugAnnotation{
			{NameField: &pb.DebugAnnotation_Name{Name: "l"}, ArrayValues: []*pb.DebugAnnotation{{}}},
		}}),
		"null in JSON text":   event(20, &pb.TrackEvent{Type: instant, DebugAnnotations: []*pb.DebugAnnotation{jsonText("j", "[null]")}}),
		"integer of 64 bits":  event(20, &pb.TrackEvent{Type: instant, DebugAnnotations: []*pb.DebugAnnotation{jsonText("j", "[18446744073709551615]")}}),
		"JSON text after it":  event(20, &pb.TrackEvent{Type: instant, DebugAnnotations: []*pb.DebugAnnotation{jsonText("j", "[] []")}}),
		"undescribed track":   event(20, &pb.TrackEvent{Type: instant, TrackUuid: proto.Uint64(99)}),
		"end without begin":   event(20, &pb.TrackEvent{Type: end, TrackUuid: proto.Uint64(6)}),
		"end with name":       event(28, &pb.TrackEvent{Type: end, NameField: &pb.TrackEvent_Name{Name: "work"}}),
		"slice on a counter":  event(20, &pb.TrackEvent{Type: instant, TrackUuid: proto.Uint64(9)}),
		"inactive flow":       event(20, &pb.TrackEvent{Type: instant, TerminatingFlowIds: []uint64{9}}),
		"flow id twice":       event(20, &pb.TrackEvent{Type: instant, FlowIds: []uint64{9, 9}}),
		"surplus extra value": event(20, &pb.TrackEvent{Type: instant, ExtraCounterValues: []int64{1, 2}}),
		"no timestamp":        {OptionalTrustedPacketSequenceId: sequenceID(1), Data: &pb.TracePacket_TrackEvent{TrackEvent: &pb.TrackEvent{Type: instant}}},
		"invalid UTF-8":       event(20, &pb.TrackEvent{Type: instant, NameField: &pb.TrackEvent_Name{Name: "\xff"}}),
		"described twice":     descriptor(named(5, 1, "load")),
		"unknown parent":      descriptor(named(99, 98, "lost")),
	}
	for name, packet := range tests {
		if _, err := project(marshal(t, append(handmade(), packet))); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := project(marshal(t, handmade()[1:])); err == nil {
		t.Error("state never set up: no error")
	}
}

// The comparison ignores only which of two overlapping slices is in the lane.
func TestDifferences(t *testing.T) {
	const header = "kind\tpid\ttid\tts_ns\tdur_ns\tdepth\tname\tcategory\tthread_ts_ns\tthread_dur_ns\n"
	want := header + "thread\t1\t1\t0\t10\t0\ta\t\t\t\noverflow\t1\t1\t5\t10\t\tb\t\t\t\nthread\t1\t1\t20\t1\t0\tc\t\t\t\n"
	tests := []struct {
		name, got string
		differs   bool
	}{
		{"same", want, false},
		{"other lane", header + "overflow\t1\t1\t0\t10\t\ta\t\t\t\nthread\t1\t1\t5\t10\t0\tb\t\t\t\nthread\t1\t1\t20\t1\t0\tc\t\t\t\n", false},
		{"other depth", strings.Replace(want, "20\t1\t0", "20\t1\t1", 1), true},
		{"other duration", strings.Replace(want, "5\t10", "5\t5", 1), true},
		{"missing", strings.Replace(want, "thread\t1\t1\t20\t1\t0\tc\t\t\t\n", "", 1), true},
		{"other kind", strings.Replace(want, "thread\t1\t1\t20", "async\t1\t1\t20", 1), true},
	}
	for _, tt := range tests {
		missing, extra := differences(parseTable(t, "slices", []byte(want)), parseTable(t, "slices", []byte(tt.got)))
		if (len(missing)+len(extra) > 0) != tt.differs {
			t.Errorf("%s: missing %q, extra %q", tt.name, missing, extra)
		}
	}
}

var (
	begin   = pb.TrackEvent_TYPE_SLICE_BEGIN.Enum()
	end     = pb.TrackEvent_TYPE_SLICE_END.Enum()
	instant = pb.TrackEvent_TYPE_INSTANT.Enum()
	counter = pb.TrackEvent_TYPE_COUNTER.Enum()
)

func sequenceID(id uint32) *pb.TracePacket_TrustedPacketSequenceId {
	return &pb.TracePacket_TrustedPacketSequenceId{TrustedPacketSequenceId: id}
}

func descriptor(d *pb.TrackDescriptor) *pb.TracePacket {
	return &pb.TracePacket{Data: &pb.TracePacket_TrackDescriptor{TrackDescriptor: d}}
}

func named(uuid, parent uint64, name string) *pb.TrackDescriptor {
	return &pb.TrackDescriptor{Uuid: proto.Uint64(uuid), ParentUuid: proto.Uint64(parent), StaticOrDynamicName: &pb.TrackDescriptor_Name{Name: name}}
}

func event(ts uint64, e *pb.TrackEvent) *pb.TracePacket {
	return &pb.TracePacket{
		Timestamp: proto.Uint64(ts), SequenceFlags: proto.Uint32(needsState), OptionalTrustedPacketSequenceId: sequenceID(1),
		Data: &pb.TracePacket_TrackEvent{TrackEvent: e},
	}
}

func marshal(t *testing.T, packets []*pb.TracePacket) []byte {
	t.Helper()
	data, err := proto.Marshal(&pb.Trace{Packet: packets})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func zlibBundle(t *testing.T, packets []*pb.TracePacket) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	if _, err := w.Write(marshal(t, packets)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return marshal(t, []*pb.TracePacket{{Data: &pb.TracePacket_CompressedPackets{CompressedPackets: b.Bytes()}}})
}

func zstdBundle(t *testing.T, packets []*pb.TracePacket) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	data := w.EncodeAll(marshal(t, packets), nil)
	return marshal(t, []*pb.TracePacket{{Data: &pb.TracePacket_ZstdCompressedPackets{ZstdCompressedPackets: data}}})
}
