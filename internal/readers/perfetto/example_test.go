package perfetto_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"google.golang.org/protobuf/proto"

	"github.com/weft-trace/weft/gen/perfetto/protos"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/readers/perfetto"
	"github.com/weft-trace/weft/internal/timeline"
)

// Read fills a Builder, whose timeline returns the events in time order once it is nested.
func ExampleRead() {
	event := &protos.TracePacket{
		Timestamp: proto.Uint64(1000),
		OptionalTrustedPacketSequenceId: &protos.TracePacket_TrustedPacketSequenceId{
			TrustedPacketSequenceId: 1,
		},
		Data: &protos.TracePacket_TrackEvent{TrackEvent: &protos.TrackEvent{
			Type:      protos.TrackEvent_TYPE_INSTANT.Enum(),
			NameField: &protos.TrackEvent_Name{Name: "first paint"},
		}},
	}
	trace, err := proto.Marshal(&protos.Trace{Packet: []*protos.TracePacket{event}})
	if err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	var problems problem.Log
	b := timeline.NewBuilder(timeline.Options{Problems: &problems})
	defer b.Close()
	if err := perfetto.Read(ctx, bytes.NewReader(trace), b, perfetto.Options{Options: readers.Options{Problems: &problems}}); err != nil {
		log.Fatal(err)
	}
	t, err := b.Finish(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer t.Close()
	if err := t.Nest(ctx); err != nil {
		log.Fatal(err)
	}
	err = t.Walk(ctx, func(item *timeline.Item) error {
		fmt.Printf("%d ns: %s on %s\n", item.TS, item.Name, t.Track(item.Track).Name)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: 1000 ns: first paint on Default Track
}
