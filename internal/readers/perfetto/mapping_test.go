package perfetto

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/timeline"
)

// The path of a mapping can have any number of parts: a path that is too long is truncated and counted, and a mapping
// is read once, however many frames refer to it.
func TestLongMappingPath(t *testing.T) {
	parts := strings.Repeat(" path_string_ids: 1", maxMappingPath)
	got := readTrace(t, encode(t, oneThread+`packet { trusted_packet_sequence_id: 1 sequence_flags: 3 interned_data {
		mapping_paths { iid: 1 str: "a" } mappings { iid: 1`+parts+` } function_names { iid: 1 str: "f" }
		frames { iid: 1 function_name_id: 1 mapping_id: 1 } frames { iid: 2 function_name_id: 1 mapping_id: 1 line_number: 2 }
		callstacks { iid: 1 frame_ids: 1 frame_ids: 2 } } }
		packet { trusted_packet_sequence_id: 1 sequence_flags: 2 timestamp: 500 track_event { type: TYPE_INSTANT track_uuid: 2 name: "a" callstack_iid: 1 } }`))
	tl := got.timeline
	for id := 1; id <= tl.FrameCount(); id++ {
		if f := tl.Frame(timeline.FrameID(id)); len(f.File) != maxMappingPath {
			t.Errorf("frame %d is in a file whose name has %d bytes", id, len(f.File))
		}
	}
	if diff := cmp.Diff("packet_not_converted 1 [Mapping field 7]\n", got.problems()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
