package perfetto

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
)

// rolesOf returns the roles of the named tracks in a trace, by name.
func rolesOf(t *timeline.Timeline) map[string]timeline.Role {
	roles := map[string]timeline.Role{}
	for id := range timeline.TrackID(t.TrackCount()) {
		if tr := t.Track(id); tr.Kind == timeline.NamedTrack {
			roles[tr.Name] = t.Role(id)
		}
	}
	return roles
}

// A track has the role in its mark, regardless of its name. It has no role if the mark is missing or damaged; damaged marks are
// counted.
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

// mistyped returns encodings of a field with every wire type except is, the correct one.
func mistyped(number protowire.Number, is protowire.Type) (fields []string) {
	for wireType, value := range map[protowire.Type]string{
		protowire.VarintType: "\x05", protowire.Fixed32Type: "\x05\x00\x00\x00", protowire.Fixed64Type: "\x05\x00\x00\x00\x00\x00\x00\x00", protowire.BytesType: "\x01x",
	} {
		if wireType != is {
			fields = append(fields, string(protowire.AppendTag(nil, number, wireType))+value)
		}
	}
	return fields
}

// inField wraps a message in a field of another.
func inField(number protowire.Number, msg string) string {
	return string(protowire.AppendString(protowire.AppendTag(nil, number, protowire.BytesType), msg))
}

// A mark that contains a field with the wrong wire type is damaged: only the descriptor is used.
func TestMistypedMarks(t *testing.T) {
	const varint, fixed64, text = protowire.VarintType, protowire.Fixed64Type, protowire.BytesType
	const input = "\x08\x09"                                // number: 9
	const fact = "\x08\x01\x10\x07\x28\x01\x30\x05\x38\x06" // kind: 1 integer: 7 samples: 1 start_ns: 5 end_ns: 6
	const isThread = "\x22\x04\x08\x03\x10\x04"             // thread { pid: 3 tid: 4 }
	const isProcess = "\x1a\x02\x08\x03"                    // process { pid: 3 }
	const isNamed = "\x12\x04Work"                          // name: "Work"
	role := "\x08\x05"                                      // role: 5
	type damage struct{ what, descriptor, whole, field string }
	var all []damage
	add := func(what, descriptor, whole string, is protowire.Type, number protowire.Number, in ...protowire.Number) {
		for _, field := range mistyped(number, is) {
			for _, outer := range in {
				field = inField(outer, field)
			}
			all = append(all, damage{what, descriptor, whole, field})
		}
	}
	add("role", isNamed, role, varint, 1)
	add("subject", isNamed, role, text, 2)
	add("role of a thread", isThread, inField(3, input), varint, 1)
	add("input_id", isThread, "", text, 3)
	add("facts", isThread, inField(4, fact), text, 4)
	add("id_space", isNamed, role, text, 6)
	add("id_space of a process", isProcess, "", text, 6)
	add("recorded_pid", isProcess, inField(6, "b"), varint, 7)
	add("moved_ns", isProcess, inField(6, "b"), varint, 8)
	all = append(all,
		damage{"id_space of a thread", isThread, "", inField(6, "b")}, damage{"id_space that is no text", isProcess, "", inField(6, "\xff")},
		damage{"recorded_pid of a thread", isThread, "", "\x38\x05"}, damage{"recorded_pid of a track", isNamed, role, "\x38\x05"},
		damage{"moved_ns of a thread", isThread, "", "\x40\x05"}, damage{"moved_ns of a track", isNamed, role, "\x40\x05"},
	)
	for number, is := range map[protowire.Number]protowire.Type{1: varint, 2: text, 3: varint, 4: text} {
		for _, field := range mistyped(number, is) {
			all = append(all, damage{fmt.Sprintf("field %d of input_id", number), isThread, "", inField(3, input+field)})
		}
	}
	for number, is := range map[protowire.Number]protowire.Type{1: varint, 2: varint, 3: fixed64, 4: text, 5: varint, 6: varint, 7: varint} {
		for _, field := range mistyped(number, is) {
			all = append(all, damage{fmt.Sprintf("field %d of a fact", number), isThread, "", inField(4, fact+field)})
		}
	}
	for _, whole := range []string{isProcess + inField(9900, inField(6, "b")+"\x38\x05"), isNamed + inField(9900, role+inField(6, "b")), isNamed + inField(9900, role), isThread + inField(9900, inField(3, input)), isThread + inField(9900, inField(4, fact))} {
		if n := readTrack(t, whole).Problems().Count(problem.TrackRoleInvalid); n != 0 {
			t.Errorf("%x: a whole mark counts as damaged", whole)
		}
	}
	for _, d := range all {
		checkDamagedMark(t, fmt.Sprintf("%s, mark %x", d.what, d.whole+d.field), d.descriptor+inField(9900, d.whole+d.field))
	}
	for _, field := range mistyped(9900, text) {
		checkDamagedMark(t, fmt.Sprintf("weft_mark, %x", field), isNamed+field)
	}
}

// readTrack reads a trace with one track.
func readTrack(t *testing.T, descriptor string) *timeline.Timeline {
	packet := inField(1, inField(60, "\x08\x02"+descriptor)) // uuid: 2
	event := encode(t, `packet { trusted_packet_sequence_id: 1 timestamp: 1 track_event { type: TYPE_INSTANT track_uuid: 2 name: "i" } }`)
	return readTrace(t, append([]byte(packet), event...)).timeline
}

// checkDamagedMark reads a trace with one track, whose mark is damaged. The rest of its descriptor is kept.
func checkDamagedMark(t *testing.T, what, descriptor string) {
	t.Helper()
	read := readTrack(t, descriptor)
	if n := read.Problems().Count(problem.TrackRoleInvalid); n != 1 {
		t.Errorf("%s: counted %d times as damaged, want once", what, n)
	}
	if n := read.Problems().Count(problem.PacketNotConverted); n != 0 {
		t.Errorf("%s: counted %d times as lost", what, n)
	}
	for id := range timeline.TrackID(read.TrackCount()) {
		tr := read.Track(id)
		if read.Role(id) != timeline.NoRole || tr.Assigned || tr.Renumbered || read.IDSpace(id) != "" || len(tr.Facts) > 0 || tr.Kind == timeline.NamedTrack && tr.Name != "Work" {
			t.Errorf("%s: role %v, %+v", what, read.Role(id), tr)
		}
	}
}

// Weft's other fields are also counted if damaged.
func TestMistypedFieldsOfWeft(t *testing.T) {
	count := func(what, trace string, kind problem.Kind) *timeline.Timeline {
		t.Helper()
		read := readTrace(t, []byte(trace))
		if n := read.timeline.Problems().Count(kind); n != 1 {
			t.Errorf("%s: counted %d times, want once", what, n)
		}
		return read.timeline
	}
	const page = "\x08\x05\x10\x07" // window: 5 tab: 7
	for number, is := range map[protowire.Number]protowire.Type{1: 0, 2: 0, 3: 0, 4: protowire.BytesType, 5: 0, 6: protowire.BytesType} {
		for _, field := range mistyped(number, is) {
			what := fmt.Sprintf("page with %x", field)
			if pages := count(what, inField(1, inField(126, inField(9900, page+field))), problem.PageInvalid).Pages(); len(pages) != 0 {
				t.Errorf("%s: %+v", what, pages)
			}
		}
	}
	for _, field := range mistyped(9900, protowire.BytesType) {
		count("weft_pages", inField(1, inField(126, field)), problem.PageInvalid)
		count("weft_idle", inField(1, "\x50\x01\x40\x01"+field), problem.PacketNotConverted) // sequence 1, at 1 ns
	}
	for _, field := range mistyped(9907, protowire.BytesType) {
		count("weft_folded", inField(1, "\x50\x01\x40\x01"+field), problem.PacketNotConverted)
	}
	instant := "\x50\x01\x40\x01" + inField(11, "\x48\x03") // type: TYPE_INSTANT
	for _, field := range mistyped(9901, protowire.VarintType) {
		count("weft_thread_time", inField(1, instant+field), problem.PacketNotConverted)
	}
	for _, field := range append(mistyped(9908, protowire.VarintType), "\xa0\xeb\x04\x05") { // last: outside weft's sequences
		count("weft_levels", inField(1, instant+field), problem.PacketNotConverted)
	}
	for _, field := range append(mistyped(9904, protowire.VarintType), "\x80\xeb\x04\x05") { // last: without a counter
		count("weft_thread_time_delta", inField(1, instant+field), problem.PacketNotConverted)
	}
	for _, field := range append(mistyped(9903, protowire.VarintType), "\xf8\xea\x04\x05") { // last: an unknown track uuid
		count("weft_thread", inField(1, instant+field), problem.PacketNotConverted)
	}
	twoFlows := "\x50\x01\x40\x01" + inField(11, "\x48\x03\xf9\x02\x01\x00\x00\x00\x00\x00\x00\x00\xf9\x02\x02\x00\x00\x00\x00\x00\x00\x00")
	steps := func(list string) string { return inField(9905, list) }
	for _, field := range append(mistyped(9905, protowire.BytesType), // others: not each flow once, or too much data
		steps("\x00\x06"), steps("\x00\x06\x00\x06"), steps("\x00\x06\x04\x06"), steps("\x00\x06\x01\x06"), steps("\x00\x06\x02"), steps("\x00\x06\x02\x06\x06"), steps("\x00\x06\x02\x80")) {
		count("weft_flow_steps", inField(1, twoFlows+field), problem.PacketNotConverted)
	}
	if n := readTrace(t, []byte(inField(1, twoFlows+steps("\x02\x06\x00\x09")))).timeline.Problems().Count(problem.PacketNotConverted); n != 0 {
		t.Errorf("weft_flow_steps of each flow: counted %d times", n)
	}
}

// The calls of a recursion replace the slice that shows them if all of them follow it on a sequence by weft. Missing or
// extra calls are counted.
func TestFoldedCalls(t *testing.T) {
	ofWeft := string(encode(t, `packet { trusted_packet_sequence_id: 1 trace_attributes { attribute { key: "weft.version" string_value: "1" } } }`))
	on := func(sequence int, event string) string {
		return string(encode(t, fmt.Sprintf(`packet { trusted_packet_sequence_id: %d timestamp: 1 %s }`, sequence, event)))
	}
	shows := func(levels uint64) string {
		field := protowire.AppendVarint(protowire.AppendTag(nil, 9908, protowire.VarintType), levels)
		return inField(1, "\x50\x01\x40\x01"+inField(11, "\x48\x03\xba\x01\x05shown")+string(field)) // type: TYPE_INSTANT name: "shown"
	}
	call, other := on(1, `weft_folded { type: TYPE_INSTANT name: "call" }`), on(1, `track_event { type: TYPE_INSTANT name: "other" }`)
	elsewhere := on(2, `track_event { type: TYPE_INSTANT name: "elsewhere" }`)
	for _, c := range []struct {
		name, trace, want string
		counted           uint64
	}{
		{"all", ofWeft + shows(2) + call + elsewhere + call + other + shows(1) + call, "call elsewhere call other call", 0},
		{"too few", ofWeft + shows(3) + call + call + other, "call call other", 1},
		{"too few before the next", ofWeft + shows(2) + call + shows(1) + call, "call call", 1},
		{"too few at the end", ofWeft + shows(2) + call, "call", 1},
		{"none", ofWeft + shows(41) + other, "other", 1},
		{"none at the end", ofWeft + shows(41), "", 1},
		{"2^32", ofWeft + shows(1<<32) + other, "other", 1},
		{"2^64-1", ofWeft + shows(1<<64-1) + call, "call", 1},
		{"one more", ofWeft + shows(1) + call + call, "call call", 1},
		{"of another producer", shows(1) + call + other, "shown other", 2},
		{"not all of weft", ofWeft + elsewhere + on(2, `weft_folded { type: TYPE_INSTANT name: "call" }`), "elsewhere", 1},
	} {
		var located []string
		read := readWith(t, strings.NewReader(c.trace), Options{Located: func(event uint32, packet int64) { located = append(located, fmt.Sprintf("%d:%d", event, packet)) }})
		var names []string
		for _, line := range read.lines {
			names = append(names, strings.Split(line, `"`)[1])
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s: read %s", c.name, got)
		}
		if n := read.timeline.Problems().Count(problem.PacketNotConverted); n != c.counted {
			t.Errorf("%s: counted %d times, want %d", c.name, n, c.counted)
		}
		if got, want := strings.Join(located, " "), "0:1 0:2 1:3 2:4 3:5 4:6 4:7"; c.name == "all" && got != want {
			t.Errorf("events in packets %s, want %s", got, want)
		}
	}
}

// Only weft's pages are read. A damaged page is counted, and attributes that look like pages are ignored.
func TestPages(t *testing.T) {
	whole := timeline.Page{Window: 19327352833, Tab: 7, Embedder: 2, URL: "https://a.test/", Private: true}
	for _, c := range []struct {
		name, attributes string
		want             []timeline.Page
		damaged          int64
	}{
		{"whole", `weft_pages { window: 19327352833 tab: 7 embedder: 2 url: "https://a.test/" is_private: true }`, []timeline.Page{whole}, 0},
		{"of several inputs", `weft_pages { window: 2 } weft_pages { window: 2 id_space: "b" }`, []timeline.Page{{Window: 2}, {Window: 2, IDSpace: "b"}}, 0},
		{"window alone", `weft_pages { window: 0 }`, []timeline.Page{{}}, 0},
		{"one damaged", `weft_pages { window: 2 } weft_pages { tab: 7 } weft_pages { window: 3 }`, []timeline.Page{{Window: 2}, {Window: 3}}, 1},
		{"long", `weft_pages { window: 2 url: "` + strings.Repeat("x", readers.MaxAttribute+1) + `" }`, nil, 1},
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

// However a byte of a page is changed or removed, the page is read or counted.
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

// A thread has the facts in its mark. A damaged mark is counted, and the thread has no facts.
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
