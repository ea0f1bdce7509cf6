package perfetto

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ends are ends of all kinds on a thread, and what makes the reader give up to find them itself: a time before the last one.
const ends = `
packet { trusted_packet_sequence_id: 1 timestamp: 10 track_event { type: TYPE_SLICE_BEGIN track_uuid: 2 name: "a" } }
packet { trusted_packet_sequence_id: 1 timestamp: 11 track_event { type: TYPE_SLICE_BEGIN track_uuid: 2 name: "b" flow_ids: 7 } }
packet { trusted_packet_sequence_id: 1 timestamp: 12 track_event { type: TYPE_INSTANT track_uuid: 2 name: "i" } }
packet { trusted_packet_sequence_id: 1 timestamp: 12 track_event { type: TYPE_SLICE_BEGIN track_uuid: 2 name: "no length" } }
packet { trusted_packet_sequence_id: 1 timestamp: 12 track_event { type: TYPE_SLICE_END track_uuid: 2 } }
packet { trusted_packet_sequence_id: 1 timestamp: 12 track_event { type: TYPE_SLICE_BEGIN track_uuid: 2 name: "c" } }
packet { trusted_packet_sequence_id: 1 timestamp: 13 track_event { type: TYPE_SLICE_END track_uuid: 2 debug_annotations { name: "end" int_value: 1 } } }
packet { trusted_packet_sequence_id: 1 timestamp: 14 track_event { type: TYPE_SLICE_BEGIN track_uuid: 2 name: "d" } }
packet { trusted_packet_sequence_id: 1 timestamp: 15 track_event { type: TYPE_SLICE_END track_uuid: 2 terminating_flow_ids: 7 } }
packet { trusted_packet_sequence_id: 1 timestamp: 15 track_event { type: TYPE_SLICE_END track_uuid: 2 } }
packet { trusted_packet_sequence_id: 1 timestamp: 16 track_event { type: TYPE_SLICE_END track_uuid: 2 } }
packet { trusted_packet_sequence_id: 1 timestamp: 17 track_event { type: TYPE_SLICE_END track_uuid: 2 } }
packet { trusted_packet_sequence_id: 1 timestamp: 20 track_event { type: TYPE_SLICE_BEGIN track_uuid: 2 name: "before the time goes back" } }
packet { trusted_packet_sequence_id: 1 timestamp: 30 track_event { type: TYPE_SLICE_BEGIN track_uuid: 2 name: "last in order" } }
packet { trusted_packet_sequence_id: 1 timestamp: 25 track_event { type: TYPE_SLICE_BEGIN track_uuid: 2 name: "early" } }
packet { trusted_packet_sequence_id: 1 timestamp: 27 track_event { type: TYPE_SLICE_END track_uuid: 2 } }
packet { trusted_packet_sequence_id: 1 timestamp: 35 track_event { type: TYPE_SLICE_END track_uuid: 2 } }
packet { trusted_packet_sequence_id: 1 timestamp: 40 track_event { type: TYPE_SLICE_END track_uuid: 2 } }
packet { trusted_packet_sequence_id: 1 timestamp: 50 track_event { type: TYPE_SLICE_BEGIN track_uuid: 2 name: "without end" } }
packet { trusted_packet_sequence_id: 1 timestamp: 51 track_event { type: TYPE_SLICE_BEGIN track_uuid: 2 name: "by name" } }
packet { trusted_packet_sequence_id: 1 timestamp: 52 track_event { type: TYPE_SLICE_END track_uuid: 2 name: "by name" } }
`

// The ends that the reader finds for a thread that weft wrote are those that begins and ends pair to on one of another program.
func TestEndsOfWeft(t *testing.T) {
	const attribute = `packet { trusted_packet_sequence_id: 1 trace_attributes { attribute { key: "weft.version" string_value: "1" } } }`
	want := readTrace(t, encode(t, oneThread+ends))
	got := readTrace(t, encode(t, oneThread+attribute+ends))
	text := strings.Replace(got.text(), "attribute weft.version \"1\"\n", "", 1)
	if diff := cmp.Diff(want.text(), text); diff != "" || len(want.lines) < 12 {
		t.Errorf("-another program +weft\n%s", diff)
	}
}
