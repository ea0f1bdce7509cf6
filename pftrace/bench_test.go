package pftrace

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weft-trace/weft/gen/perfetto/protos"
	"github.com/weft-trace/weft/problem"
	"github.com/weft-trace/weft/timeline"
)

// hotTimeline holds one slice with a flow and three arguments, the event that traces hold by the million.
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
		ThreadTS: timeline.NoTime, ThreadDur: timeline.NoTime,
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

// hotItem returns a writer whose head is written, and the begin of the slice of hotTimeline with a flow, to be written
// again and again.
func hotItem(tb testing.TB) (w *writer, item timeline.Item) {
	tb.Helper()
	tl := hotTimeline(tb)
	w = newWriter(tl)
	newBundler, err := bundlers(NoCodec)
	if err != nil {
		tb.Fatal(err)
	}
	w.out = newBundler(func(b []byte) ([]byte, error) { return b, nil })
	if err := w.head(); err != nil {
		tb.Fatal(err)
	}
	err = tl.Walk(context.Background(), func(it *timeline.Item) error {
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

// hotPacket returns the packet that w writes for an item, as a generated struct.
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

// The hot packet is what proto.Marshal writes of the same struct.
func TestHotPacket(t *testing.T) {
	w, item := hotItem(t)
	trace := hotPacket(t, w, &item)
	marshaled, err := proto.Marshal(trace)
	if err != nil {
		t.Fatal(err)
	}
	again := new(protos.Trace)
	if err := proto.Unmarshal(marshaled, again); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(trace, again) {
		t.Errorf("%v, marshaled and read again %v", trace, again)
	}
	event := trace.Packet[0].GetTrackEvent()
	if len(event.DebugAnnotations) != 3 || len(event.FlowIds) != 1 || event.GetNameIid() == 0 || len(event.CategoryIids) != 1 {
		t.Errorf("not the packet that is meant to be hot: %v", event)
	}
	if allocs := testing.AllocsPerRun(100, func() {
		if err := w.item(&item); err != nil {
			t.Fatal(err)
		}
	}); allocs > 0 {
		t.Errorf("%v allocations for a packet", allocs)
	}
}

// BenchmarkEncode writes the hot packet (a begin with one flow and three arguments) from its item, up to and including
// the hand-over of full bundles. x-Marshal says how many times as long proto.Marshal takes for the same packet.
//
//	go test -run - -bench Encode ./pftrace
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

// BenchmarkWrite writes a timeline with everything in it.
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
