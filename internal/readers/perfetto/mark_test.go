package perfetto

import (
	"fmt"
	"testing"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// rolesOf returns the roles of the named tracks of a trace, by name.
func rolesOf(t *timeline.Timeline) map[string]timeline.Role {
	roles := map[string]timeline.Role{}
	for id := range timeline.TrackID(t.TrackCount()) {
		if tr := t.Track(id); tr.Kind == timeline.NamedTrack {
			roles[tr.Name] = t.Role(id)
		}
	}
	return roles
}

// A track has the role that its mark says, none if the mark is damaged, which is counted, and none if it has no mark, whatever
// it is called.
func TestRoleMarks(t *testing.T) {
	for _, c := range []struct {
		name, mark string
		want       timeline.Role
		damaged    int64
	}{
		{"Work", `role: 5 subject: "GPU"`, timeline.Role(5), 0},
		{"Work", `role: 99`, timeline.NoRole, 1},
		{"Work", `role: 0`, timeline.NoRole, 1},
		{"Work", `role: 4294967295`, timeline.NoRole, 1},
		{"Work", fmt.Sprintf("role: %d", timeline.RoleMainProcess), timeline.NoRole, 1},
		{"Work", `role: 5 input_id { number: 1 }`, timeline.NoRole, 1},
		{"Work", `subject: "GPU"`, timeline.NoRole, 1},
		{"GPU objects", "", timeline.NoRole, 0},
		{"Overlapping slices", "", timeline.NoRole, 0},
		{"Global instants", "", timeline.NoRole, 0},
		{"Other events", "", timeline.NoRole, 0},
		{"JS samples", "", timeline.NoRole, 0},
		{"V8 state", "", timeline.NoRole, 0},
		{"Context: Frame", "", timeline.NoRole, 0},
		{"Contexts", "", timeline.NoRole, 0},
		{"(contexts and states)", "", timeline.NoRole, 0},
	} {
		mark := ""
		if c.mark != "" {
			mark = "weft_mark { " + c.mark + " }"
		}
		read := readTrace(t, encode(t, `
			packet { track_descriptor { uuid: 1 thread { pid: 3 tid: 4 } } }
			packet { track_descriptor { uuid: 2 parent_uuid: 1 name: "`+c.name+`" `+mark+` } }
			packet { trusted_packet_sequence_id: 1 timestamp: 1 track_event { type: TYPE_INSTANT track_uuid: 2 name: "i" } }`))
		if got, ok := rolesOf(read.timeline)[c.name]; !ok || got != c.want {
			t.Errorf("%s, mark {%s}: role %d, want %d", c.name, c.mark, got, c.want)
		}
		if n := int64(read.timeline.Problems().Count(problem.TrackRoleInvalid)); n != c.damaged {
			t.Errorf("%s, mark {%s}: counted %d times as damaged, want %d", c.name, c.mark, n, c.damaged)
		}
	}
}
