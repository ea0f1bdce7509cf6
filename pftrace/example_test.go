package pftrace_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"google.golang.org/protobuf/proto"

	"github.com/weft-trace/weft/gen/perfetto/protos"
	"github.com/weft-trace/weft/pftrace"
)

func ExampleVerify() {
	// A trace with one event on a track that has no descriptor.
	trace, err := proto.Marshal(&protos.Trace{Packet: []*protos.TracePacket{{
		Timestamp: proto.Uint64(1000),
		OptionalTrustedPacketSequenceId: &protos.TracePacket_TrustedPacketSequenceId{
			TrustedPacketSequenceId: 1,
		},
		Data: &protos.TracePacket_TrackEvent{TrackEvent: &protos.TrackEvent{
			Type:      protos.TrackEvent_TYPE_INSTANT.Enum(),
			TrackUuid: proto.Uint64(7),
		}},
	}}})
	if err != nil {
		log.Fatal(err)
	}
	report, err := pftrace.Verify(context.Background(), bytes.NewReader(trace), pftrace.VerifyOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, finding := range report.Findings {
		fmt.Println(finding.Sentence)
		for _, c := range finding.Cases {
			fmt.Println(" ", c)
		}
	}
	// Output:
	// An event uses a track that has no descriptor anywhere in the file.
	//   packet 0 (byte 0): track 7
}
