package pfwire

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/weft-trace/weft/gen/perfetto/protos"
	"github.com/weft-trace/weft/internal/pfwire/message"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// hotTimeline returns a timeline with a typical event: a slice with a flow and three arguments.
func hotTimeline(tb testing.TB) *timeline.Timeline {
	tb.Helper()
	b := timeline.NewBuilder(timeline.Options{Problems: new(problem.Log)})
	process := b.Process(timeline.ProcessKey{Num: 1})
	e := b.Args()
	e.Reset()
	e.Key([]byte("src_file"))
	e.String([]byte("../../base/task/sequence_manager.cc"))
	e.Key([]byte("src_func"))
	e.String([]byte("PostTask"))
	e.Key([]byte("sequence"))
	e.Int(123456)
	err := b.Add(&timeline.Event{
		Kind: timeline.Slice, Track: b.Thread(process, timeline.ThreadKey{Num: 2}), TS: 1_700_000_000_123, Dur: 10,
		Name: []byte("ThreadControllerImpl::RunTask"), Category: []byte("toplevel"), Args: e.Args(),
	})
	if err != nil {
		tb.Fatal(err)
	}
	tl, err := b.Finish(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { tl.Close() })
	if err := tl.Nest(context.Background()); err != nil {
		tb.Fatal(err)
	}
	return tl
}

// hotItem returns a writer that has written the head of the trace. It also returns the start of hotTimeline's slice with its
// flow, to be written repeatedly.
func hotItem(tb testing.TB) (w *writer, item timeline.Item) {
	tb.Helper()
	tl := hotTimeline(tb)
	w = newWriter(tl, Options{})
	w.out = newBundler(bundleForm{}, func(b []byte) ([]byte, error) { return b, nil })
	if err := w.head(); err != nil {
		tb.Fatal(err)
	}
	err := tl.Walk(context.Background(), func(it *timeline.Item) error {
		if it.Kind == timeline.ItemBegin {
			item = *it
			item.Flows = []timeline.FlowRef{{ID: 77, Previous: timeline.NoOrdinal}}
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return w, item
}

// hotPacket returns the packet for an item, as a generated struct.
func hotPacket(tb testing.TB, w *writer, item *timeline.Item) *protos.Trace {
	tb.Helper()
	if err := w.item(item); err != nil { // describes the track
		tb.Fatal(err)
	}
	start := len(w.out.buf)
	if err := w.item(item); err != nil {
		tb.Fatal(err)
	}
	trace := new(protos.Trace)
	if err := proto.Unmarshal(w.out.buf[start:], trace); err != nil || len(trace.Packet) != 1 {
		tb.Fatal(err, len(trace.Packet))
	}
	return trace
}

// hotIID returns the id that the head of the trace assigns to a text.
func hotIID(tb testing.TB, w *writer, kind message.InternedKind, text string) uint64 {
	tb.Helper()
	trace := new(protos.Trace)
	if err := proto.Unmarshal(w.out.buf, trace); err != nil {
		tb.Fatal(err)
	}
	for _, packet := range trace.Packet {
		data := packet.GetInternedData()
		switch kind {
		case message.InternedEventNames:
			for _, entry := range data.GetEventNames() {
				if entry.GetName() == text {
					return entry.GetIid()
				}
			}
		case message.InternedCategories:
			for _, entry := range data.GetEventCategories() {
				if entry.GetName() == text {
					return entry.GetIid()
				}
			}
		case message.InternedAnnotationNames:
			for _, entry := range data.GetDebugAnnotationNames() {
				if entry.GetName() == text {
					return entry.GetIid()
				}
			}
		}
	}
	tb.Fatalf("%q is not defined", text)
	return 0
}

// The hot packet equals a struct built by hand.
func TestHotPacket(t *testing.T) {
	w, item := hotItem(t)
	trace := hotPacket(t, w, &item)
	annotation := func(key string) *protos.DebugAnnotation {
		return &protos.DebugAnnotation{NameField: &protos.DebugAnnotation_NameIid{NameIid: hotIID(t, w, message.InternedAnnotationNames, key)}}
	}
	file, function, sequence := annotation("src_file"), annotation("src_func"), annotation("sequence")
	file.Value = &protos.DebugAnnotation_StringValue{StringValue: "../../base/task/sequence_manager.cc"}
	function.Value = &protos.DebugAnnotation_StringValue{StringValue: "PostTask"}
	sequence.Value = &protos.DebugAnnotation_IntValue{IntValue: 123456}
	want := &protos.Trace{Packet: []*protos.TracePacket{{
		Timestamp:                       proto.Uint64(1_700_000_000_123),
		SequenceFlags:                   proto.Uint32(2),
		OptionalTrustedPacketSequenceId: &protos.TracePacket_TrustedPacketSequenceId{TrustedPacketSequenceId: 1},
		Data: &protos.TracePacket_TrackEvent{TrackEvent: &protos.TrackEvent{
			Type:             protos.TrackEvent_TYPE_SLICE_BEGIN.Enum(),
			TrackUuid:        proto.Uint64(2), // the process's is 1
			NameField:        &protos.TrackEvent_NameIid{NameIid: hotIID(t, w, message.InternedEventNames, "ThreadControllerImpl::RunTask")},
			CategoryIids:     []uint64{hotIID(t, w, message.InternedCategories, "toplevel")},
			FlowIds:          []uint64{77},
			DebugAnnotations: []*protos.DebugAnnotation{file, function, sequence},
		}},
	}}}
	if diff := cmp.Diff(want, trace, protocmp.Transform()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if allocs := testing.AllocsPerRun(100, func() {
		if err := w.item(&item); err != nil {
			t.Fatal(err)
		}
	}); allocs > 0 {
		t.Errorf("%v allocations for a packet", allocs)
	}
}

// BenchmarkEncode writes the hot packet (a begin event with one flow and three arguments) from its item, including the output
// of full bundles. x-Marshal is the time that proto.Marshal takes for the same packet, as a multiple of this time.
//
//	go test -run - -bench Encode ./internal/pfwire
func BenchmarkEncode(b *testing.B) {
	w, item := hotItem(b)
	packet := hotPacket(b, w, &item)
	size := proto.Size(packet)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		if err := w.item(&item); err != nil {
			b.Fatal(err)
		}
	}
	item1 := float64(b.Elapsed().Nanoseconds()) / float64(b.N)

	start, n := time.Now(), max(b.N/20, 1)
	for range n {
		if _, err := proto.Marshal(packet); err != nil {
			b.Fatal(err)
		}
	}
	marshal := float64(time.Since(start).Nanoseconds()) / float64(n)
	b.ReportMetric(marshal, "Marshal-ns/op")
	b.ReportMetric(marshal/item1, "x-Marshal")
}

// BenchmarkWrite writes a timeline that uses all features.
func BenchmarkWrite(b *testing.B) {
	tl := build(b, busyText(20_000), nil)
	for _, codec := range []Codec{NoCodec, Zlib, Zstd} {
		b.Run(fmt.Sprint(codec), func(b *testing.B) {
			size := len(write(b, tl, Options{}))
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if err := Write(context.Background(), io.Discard, tl, Options{Compression: codec}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
