// Package outside_test is a program outside weft that uses it as a library: a separate module with the same access as
// any other. It has its own generated copy of some of Perfetto's messages.
//
// Message names are global in Go's protobuf registry. If any part of weft registered messages of perfetto.protos, this
// program would panic before its first test.
package outside_test

import (
	"bytes"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"example.com/outside/perfetto"
	"github.com/weft-trace/weft/attribution"
	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/pftrace"
)

const chromeJSON = `[
{"ph":"X","pid":1,"tid":2,"ts":10,"dur":5,"name":"load","args":{"frame":"F"}},
{"ph":"i","pid":1,"tid":2,"ts":12,"s":"t","name":"ready"}
]`

// The program decodes weft's output with its own messages.
func TestOwnMessagesReadWeftsTrace(t *testing.T) {
	var out bytes.Buffer
	if _, err := convert.Convert(t.Context(), &out, strings.NewReader(chromeJSON), convert.Options{}); err != nil {
		t.Fatal(err)
	}
	var trace perfetto.Trace
	if err := proto.Unmarshal(out.Bytes(), &trace); err != nil {
		t.Fatal(err)
	}
	var begins, ends, instants int
	for _, p := range trace.Packet {
		if p.GetTrackEvent() == nil {
			continue
		}
		switch p.GetTrackEvent().GetType() {
		case perfetto.TrackEvent_TYPE_SLICE_BEGIN:
			begins++
		case perfetto.TrackEvent_TYPE_SLICE_END:
			ends++
		case perfetto.TrackEvent_TYPE_INSTANT:
			instants++
		}
	}
	if begins != 1 || ends != 1 || instants != 1 {
		t.Errorf("%d begins, %d ends, %d instants; want one of each", begins, ends, instants)
	}
	checked, err := pftrace.Verify(t.Context(), &out, pftrace.VerifyOptions{})
	if err != nil || checked.Violations != 0 {
		t.Errorf("violations %+v, error %v", checked, err)
	}
}

// weft reads traces written with the program's own messages, through every package that reads a trace.
func TestWeftReadsOwnMessages(t *testing.T) {
	const track, sequence = 7, 1
	event := func(ts uint64, kind perfetto.TrackEvent_Type, name *string) *perfetto.TracePacket {
		return &perfetto.TracePacket{Timestamp: proto.Uint64(ts),
			OptionalTrustedPacketSequenceId: &perfetto.TracePacket_TrustedPacketSequenceId{TrustedPacketSequenceId: sequence},
			Data:                            &perfetto.TracePacket_TrackEvent{TrackEvent: &perfetto.TrackEvent{Type: kind.Enum(), TrackUuid: proto.Uint64(track), Name: name}}}
	}
	in, err := proto.Marshal(&perfetto.Trace{Packet: []*perfetto.TracePacket{
		{OptionalTrustedPacketSequenceId: &perfetto.TracePacket_TrustedPacketSequenceId{TrustedPacketSequenceId: sequence},
			Data: &perfetto.TracePacket_TrackDescriptor{TrackDescriptor: &perfetto.TrackDescriptor{Uuid: proto.Uint64(track), Name: proto.String("Work")}}},
		event(100, perfetto.TrackEvent_TYPE_SLICE_BEGIN, proto.String("load")),
		event(150, perfetto.TrackEvent_TYPE_SLICE_END, nil),
	}})
	if err != nil {
		t.Fatal(err)
	}
	tr, err := convert.Open(t.Context(), bytes.NewReader(in), convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	for ev, err := range tr.Events() {
		if err != nil || ev.Name != "load" || ev.Duration != 50 {
			t.Errorf("event %q of %d ns, error %v; want load of 50 ns", ev.Name, ev.Duration, err)
		}
	}
	result, err := attribution.Run(t.Context(), tr, attribution.Options{})
	if err != nil {
		t.Fatal(err)
	}
	result.Close()
}
