package pfwire

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/weft-trace/weft/gen/perfetto/protos"
	"github.com/weft-trace/weft/internal/timeline"
)

// TestFacts: values that all samples of a thread share are in the thread's mark, and in the thread's description for people
// (perfetto.md 5.9); pages are in trace attributes (5.8).
func TestFacts(t *testing.T) {
	b := timeline.NewBuilder(timeline.Options{})
	b.AddPage(timeline.Page{Window: 1 << 34, Tab: 7, Embedder: 2, URL: "https://a.test/", Private: true})
	b.AddPage(timeline.Page{Window: 0})
	process := b.Process(timeline.ProcessKey{Num: 1})
	thread := b.Thread(process, timeline.ThreadKey{Num: 2})
	for _, f := range []timeline.Fact{
		{Kind: timeline.FactCPU, Number: timeline.Float(12.5), Samples: 2, Start: 10, End: 20},
		{Kind: timeline.FactEventDelay, Number: timeline.Int(1), Samples: 3, Start: 5, End: 20},
		{Kind: timeline.FactEventDelay, Number: timeline.Int(0), Samples: 3, Start: 5, End: 20},
		{Kind: timeline.FactCategory, Text: "Idle", Samples: 3, Start: 5, End: 25},
	} {
		b.AddFact(thread, f)
	}
	if err := b.Add(&timeline.Event{Kind: timeline.Sample, Track: thread, TS: 5, Value: timeline.Int(1), Offset: -1}); err != nil {
		t.Fatal(err)
	}
	tl, err := b.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got *protos.TrackDescriptor
	var pages []*protos.WeftPage
	for _, p := range decode(t, write(t, tl, Options{})).Packet {
		if d := p.GetTrackDescriptor(); d.GetThread() != nil {
			got = d
		}
		pages = append(pages, p.GetTraceAttributes().GetWeftPages()...)
	}
	want := &protos.WeftTrackMark{Facts: []*protos.WeftFact{
		{Kind: proto.Uint32(1), Value: &protos.WeftFact_Number{Number: 12.5}, Samples: proto.Uint64(2), StartNs: proto.Uint64(10), EndNs: proto.Uint64(20)},
		{Kind: proto.Uint32(2), Value: &protos.WeftFact_Integer{Integer: 0}, Samples: proto.Uint64(3), StartNs: proto.Uint64(5), EndNs: proto.Uint64(20)},
		{Kind: proto.Uint32(3), Value: &protos.WeftFact_Text{Text: "Idle"}, Samples: proto.Uint64(3), StartNs: proto.Uint64(5), EndNs: proto.Uint64(25)},
	}}
	if diff := cmp.Diff(want, got.GetWeftMark(), protocmp.Transform()); diff != "" {
		t.Errorf("mark (-want +got):\n%s", diff)
	}
	if want := "In all samples: CPU % 12.5, eventDelay 0 ms, Sample category Idle"; got.GetDescription() != want {
		t.Errorf("description %q, want %q", got.GetDescription(), want)
	}
	wantPages := []*protos.WeftPage{
		{Window: proto.Int64(1 << 34), Tab: proto.Int64(7), Embedder: proto.Int64(2), Url: proto.String("https://a.test/"), IsPrivate: proto.Bool(true)},
		{Window: proto.Int64(0)},
	}
	if diff := cmp.Diff(wantPages, pages, protocmp.Transform()); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
}
