package perfetto

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/pftrace"
)

// oddIDs is a trace with processes and threads whose ids Perfetto cannot represent. The names contain quotes, commas
// and words that the descriptions of these ids use too.
const oddIDs = `[
{"ph":"M","name":"process_name","pid":0,"args":{"name":"python"}},
{"ph":"M","name":"process_labels","pid":0,"args":{"labels":"GPU 0,pid 0"}},
{"ph":"X","name":"a","pid":0,"tid":7,"ts":1,"dur":1},
{"ph":"X","name":"b","pid":0,"ts":2,"dur":1},
{"ph":"M","name":"process_name","pid":-5,"args":{"name":", named \"x\" \\ é\n"}},
{"ph":"X","name":"c","pid":-5,"tid":"stream 7, named \"y\"","ts":3,"dur":1},
{"ph":"M","name":"thread_name","pid":-5,"tid":18446744073709551616,"args":{"name":"big"}},
{"ph":"X","name":"d","pid":-5,"tid":18446744073709551616,"ts":4,"dur":1},
{"ph":"X","name":"e","pid":18446744073709551616,"tid":1,"ts":5,"dur":1},
{"ph":"X","name":"f","pid":"In the input: pid 3","tid":"2","ts":6,"dur":1},
{"ph":"X","name":"g","pid":"In the input: pid 3","ts":7,"dur":1},
{"ph":"M","name":"process_labels","pid":1,"args":{"labels":"pid 9"}},
{"ph":"X","name":"h","pid":1,"tid":2,"ts":8,"dur":1},
{"ph":"i","name":"i","pid":1,"tid":2,"ts":9,"s":"t"},
{"ph":"M","name":"thread_name","pid":5,"tid":5,"args":{"name":"has no events"}}]`

// identities describes the processes and threads in use, as users and programs see them.
func identities(t *timeline.Timeline) string {
	var all []string
	for id := range timeline.TrackID(t.TrackCount()) {
		tr := t.Track(id)
		if tr.Used && (tr.Kind == timeline.ProcessTrack || tr.Kind == timeline.ThreadTrack) {
			all = append(all, fmt.Sprintf("%d/%d of %d: %+v, name %q, labels %q, title %q, assigned %v\n",
				tr.PID, tr.TID, t.Track(tr.Parent).PID, tr.InputID, tr.Name, tr.Labels, tr.Title(), tr.Assigned))
		}
	}
	slices.Sort(all)
	return strings.Join(all, "")
}

// The processes and threads in a trace by weft are read back as in the input, regardless of their ids in Perfetto.
func TestInputIDsAreReadBack(t *testing.T) {
	first := readJSON(t, []byte(oddIDs))
	want := identities(first.timeline)
	again := first
	for range 2 {
		var out bytes.Buffer
		if err := pftrace.Write(context.Background(), &out, traceOf(context.Background(), again.timeline), pftrace.Options{}); err != nil {
			t.Fatal(err)
		}
		if report, err := pftrace.Verify(context.Background(), bytes.NewReader(out.Bytes()), pftrace.VerifyOptions{}); err != nil || !report.OK() {
			t.Errorf("%v, %+v", err, report.Findings)
		}
		again = readTrace(t, out.Bytes())
		if diff := cmp.Diff(want, identities(again.timeline)); diff != "" {
			t.Fatalf("-input +read back:\n%s", diff)
		}
	}
	for _, made := range []string{`python (GPU 0) [pid 0]`, `big [tid 18446744073709551616]`, `stream 7, named \"y\"`} {
		if !strings.Contains(want, made) {
			t.Errorf("%s is not in\n%s", made, want)
		}
	}
}

// The description of a track is for users and does not affect ids.
func TestForeignDescriptions(t *testing.T) {
	foreign := encode(t, `
		packet { track_descriptor { uuid: 1 description: "In the input: pid 0" process { pid: 3 process_name: "p" } } }
		packet { track_descriptor { uuid: 2 description: "In the input: tid 0" thread { pid: 3 tid: 4 } } }
		packet { trusted_packet_sequence_id: 1 timestamp: 1 track_event { type: TYPE_INSTANT track_uuid: 2 name: "i" } }`)
	got := identities(readTrace(t, foreign).timeline)
	if strings.Contains(got, "assigned true") || !strings.Contains(got, "p [pid 3]") {
		t.Error(got)
	}
}

// A mark with a damaged id is counted, and only the track's descriptor is used.
func TestDamagedInputIDs(t *testing.T) {
	for _, mark := range []string{
		`input_id {}`, `input_id { number: 1 text: "a" }`, `input_id { text_is_number: true }`, `input_id { name: "x" }`,
		`role: 1 input_id { number: 0 }`, `subject: "s"`,
	} {
		read := readTrace(t, encode(t, `
			packet { track_descriptor { uuid: 2 thread { pid: 3 tid: 4 } weft_mark { `+mark+` } } }
			packet { trusted_packet_sequence_id: 1 timestamp: 1 track_event { type: TYPE_INSTANT track_uuid: 2 name: "i" } }`))
		if got := identities(read.timeline); strings.Contains(got, "assigned true") || !strings.Contains(got, "[tid 4]") {
			t.Errorf("%s: %s", mark, got)
		}
		if n := read.timeline.Problems().Count(problem.TrackRoleInvalid); n != 1 {
			t.Errorf("%s: counted %d times as damaged, want once", mark, n)
		}
	}
}
