package convert_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/weft-trace/weft/convert"
	pb "github.com/weft-trace/weft/gen/perfetto/protos"
	"github.com/weft-trace/weft/internal/timeline"
)

// TestMemoryDumps checks that the counters from memory dumps have units and are children of a single track of their process
// (chrome-json.md 17.4).
func TestMemoryDumps(t *testing.T) {
	const input = `[{"ph":"v","name":"a","id":"0x0","pid":7,"tid":-1,"ts":1,"args":{"dumps":{"process_totals":{"peak_resident_set_size":"2d10000"}}}},
{"ph":"v","name":"b","id":"0x0","pid":7,"tid":-1,"ts":2,"args":{"dumps":{"allocators":{"malloc":{"attrs":{"size":{"type":"scalar","units":"bytes","value":"17"},
"count":{"type":"scalar","units":"objects","value":"3"}}}}}}},
{"ph":"C","name":"memory","pid":7,"ts":3,"args":{"x":1}}]`
	var out bytes.Buffer
	if _, err := convert.Convert(context.Background(), &out, strings.NewReader(input), convert.Options{}); err != nil {
		t.Fatal(err)
	}
	var packets pb.Trace
	if err := proto.Unmarshal(out.Bytes(), &packets); err != nil {
		t.Fatal(err)
	}
	tracks := map[uint64]*pb.TrackDescriptor{}
	var memory []uint64
	for _, p := range packets.GetPacket() {
		d := p.GetTrackDescriptor()
		if d == nil {
			continue
		}
		tracks[d.GetUuid()] = d
		if d.GetWeftMark().GetRole() == uint32(timeline.RoleMemory) {
			memory = append(memory, d.GetUuid())
		}
	}
	if len(memory) != 1 || tracks[memory[0]].GetName() != "Memory" || tracks[tracks[memory[0]].GetParentUuid()].GetProcess().GetPid() != 7 {
		t.Fatalf("tracks for memory: %v", memory)
	}
	got := map[string]string{}
	for _, d := range tracks {
		if d.GetCounter() != nil {
			got[d.GetName()] = tracks[d.GetParentUuid()].GetName() + " " + d.GetCounter().GetUnit().String()
		}
	}
	want := map[string]string{
		"memory peak_resident_set_size": "Memory UNIT_SIZE_BYTES", "memory malloc size": "Memory UNIT_SIZE_BYTES",
		"memory malloc count": "Memory UNIT_COUNT", "memory x": " UNIT_UNSPECIFIED",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
