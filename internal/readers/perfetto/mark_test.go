package perfetto

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

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

// Pages are those that weft wrote. A damaged one is counted, and attributes that look like pages say nothing.
func TestPages(t *testing.T) {
	whole := timeline.Page{Window: 19327352833, Tab: 7, Embedder: 2, URL: "https://a.test/", Private: true}
	for _, c := range []struct {
		name, attributes string
		want             []timeline.Page
		damaged          int64
	}{
		{"whole", `weft_pages { window: 19327352833 tab: 7 embedder: 2 url: "https://a.test/" is_private: true }`, []timeline.Page{whole}, 0},
		{"window alone", `weft_pages { window: 0 }`, []timeline.Page{{}}, 0},
		{"one damaged", `weft_pages { window: 2 } weft_pages { tab: 7 } weft_pages { window: 3 }`, []timeline.Page{{Window: 2}, {Window: 3}}, 1},
		{"long", `weft_pages { window: 2 url: "` + strings.Repeat("x", maxAttribute+1) + `" }`, nil, 1},
		{"no UTF-8", `weft_pages { window: 2 url: "\xff" }`, nil, 1},
		{"attribute", `attribute { key: "firefox.page.2" string_value: "{\"tabID\":7,\"url\":\"https://a.test/\"}" }`, nil, 0},
	} {
		read := readTrace(t, encode(t, `packet { trace_attributes { `+c.attributes+` } }`))
		if diff := cmp.Diff(c.want, read.timeline.Pages()); diff != "" {
			t.Errorf("%s: pages (-want +got):\n%s", c.name, diff)
		}
		if n := int64(read.timeline.Problems().Count(problem.PageInvalid)); n != c.damaged {
			t.Errorf("%s: counted %d times as damaged, want %d", c.name, n, c.damaged)
		}
	}
}

// Every byte of a page that is changed or missing gives a page, or one that is counted.
func TestDamagedPages(t *testing.T) {
	message := encode(t, `packet { trace_attributes { weft_pages { window: 5 tab: 7 embedder: 2 url: "https://a.test/" } } }`)
	page := message[bytes.Index(message, []byte("\x08\x05\x10\x07")):]
	for i := range page {
		for _, b := range []byte{0, 1, 0x7f, 0x80, 0xff, page[i] ^ 1} {
			changed := bytes.Clone(page)
			changed[i] = b
			if p, ok := parsePage(changed); ok && !utf8.ValidString(p.URL) {
				t.Errorf("byte %d is %#x: %+v", i, b, p)
			}
		}
		if p, ok := parsePage(page[:i]); ok && p.Window != 5 {
			t.Errorf("%d bytes: %+v", i, p)
		}
	}
}

// A thread has the facts that its mark says. A damaged one is counted, and the thread has none then.
func TestFacts(t *testing.T) {
	delay := timeline.Fact{Kind: timeline.FactEventDelay, Number: timeline.Float(0.5), Samples: 3, Start: 5, End: 9}
	category := timeline.Fact{Kind: timeline.FactCategory, Text: "Idle", Samples: 3, Start: 5, End: 10}
	for _, c := range []struct {
		name, mark string
		want       []timeline.Fact
		damaged    int64
	}{
		{"two", `facts { kind: 2 number: 0.5 samples: 3 start_ns: 5 end_ns: 9 } facts { kind: 3 text: "Idle" samples: 3 start_ns: 5 end_ns: 10 }`,
			[]timeline.Fact{delay, category}, 0},
		{"integer", `facts { kind: 1 integer: -1 samples: 1 }`, []timeline.Fact{{Kind: timeline.FactCPU, Number: timeline.Int(-1), Samples: 1}}, 0},
		{"one damaged", `facts { kind: 2 number: 0.5 samples: 3 } facts { kind: 3 samples: 3 }`, nil, 1},
		{"no kind", `facts { number: 0.5 samples: 3 }`, nil, 1},
		{"unknown kind", `facts { kind: 99 number: 0.5 samples: 3 }`, nil, 1},
		{"text of a number", `facts { kind: 2 text: "0.5" samples: 3 }`, nil, 1},
		{"number of a text", `facts { kind: 3 integer: 1 samples: 3 }`, nil, 1},
		{"no number", `facts { kind: 2 number: nan samples: 3 }`, nil, 1},
		{"no samples", `facts { kind: 2 number: 0.5 }`, nil, 1},
		{"ends before it starts", `facts { kind: 2 number: 0.5 samples: 3 start_ns: 9 end_ns: 5 }`, nil, 1},
		{"ends too late", `facts { kind: 2 number: 0.5 samples: 3 end_ns: 9223372036854775808 }`, nil, 1},
		{"and a role", `role: 1 facts { kind: 2 number: 0.5 samples: 3 }`, nil, 1},
	} {
		read := readTrace(t, encode(t, `
			packet { track_descriptor { uuid: 2 thread { pid: 3 tid: 4 } weft_mark { `+c.mark+` } } }
			packet { track_descriptor { uuid: 5 process { pid: 3 } description: "In all samples: eventDelay 0 ms" } }
			packet { trusted_packet_sequence_id: 1 timestamp: 1 track_event { type: TYPE_INSTANT track_uuid: 2 name: "i" } }`))
		var got []timeline.Fact
		for id := range timeline.TrackID(read.timeline.TrackCount()) {
			got = append(got, read.timeline.Track(id).Facts...)
		}
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(timeline.Number{})); diff != "" {
			t.Errorf("%s: facts (-want +got):\n%s", c.name, diff)
		}
		if n := int64(read.timeline.Problems().Count(problem.TrackRoleInvalid)); n != c.damaged {
			t.Errorf("%s: counted %d times as damaged, want %d", c.name, n, c.damaged)
		}
	}
	for _, track := range []string{`process { pid: 3 }`, `name: "Work"`} { // only threads have facts
		read := readTrace(t, encode(t, `
			packet { track_descriptor { uuid: 2 `+track+` weft_mark { facts { kind: 2 number: 0.5 samples: 3 } } } }
			packet { trusted_packet_sequence_id: 1 timestamp: 1 track_event { type: TYPE_INSTANT track_uuid: 2 name: "i" } }`))
		if n := read.timeline.Problems().Count(problem.TrackRoleInvalid); n != 1 {
			t.Errorf("%s: counted %d times as damaged, want once", track, n)
		}
	}
}
