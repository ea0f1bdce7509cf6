package convert_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/weft-trace/weft/attribution"
	"github.com/weft-trace/weft/convert"
	pb "github.com/weft-trace/weft/gen/perfetto/protos"
	"github.com/weft-trace/weft/pftrace"
)

// viewed is a converted trace as a viewer reads it: the parts of packets that are in Perfetto's schema.
type viewed struct {
	bytes   []byte
	packets []*pb.TracePacket
	names   map[uint64]string // interned names
	same    map[uint64]string // interned correlation ids
	tracks  map[uint64]*pb.TrackDescriptor
}

func view(t *testing.T, input string, opts convert.Options) *viewed {
	t.Helper()
	var out bytes.Buffer
	opts.TempDir = t.TempDir()
	if _, err := convert.Convert(context.Background(), &out, strings.NewReader(input), opts); err != nil {
		t.Fatal(err)
	}
	if report, err := pftrace.Verify(context.Background(), bytes.NewReader(out.Bytes()), pftrace.VerifyOptions{}); err != nil || !report.OK() {
		t.Fatalf("%v, %+v", err, report)
	}
	var trace pb.Trace
	if err := proto.Unmarshal(out.Bytes(), &trace); err != nil {
		t.Fatal(err)
	}
	v := &viewed{out.Bytes(), trace.Packet, map[uint64]string{}, map[uint64]string{}, map[uint64]*pb.TrackDescriptor{}}
	for _, p := range trace.Packet {
		for _, n := range p.GetInternedData().GetEventNames() {
			v.names[n.GetIid()] = n.GetName()
		}
		for _, n := range p.GetInternedData().GetCorrelationIdStr() {
			v.same[n.GetIid()] = string(n.GetStr())
		}
		if d := p.GetTrackDescriptor(); d != nil {
			v.tracks[d.GetUuid()] = d
		}
	}
	return v
}

// slices returns the names and times of visible slices, with the source of their color if this is not the name.
func (v *viewed) slices() (all []string) {
	open := map[uint64][]string{}
	for _, p := range v.packets {
		e := p.GetTrackEvent()
		track := e.GetTrackUuid()
		switch e.GetType() {
		case pb.TrackEvent_TYPE_SLICE_BEGIN:
			open[track] = append(open[track], fmt.Sprintf("%s %s %d", v.names[e.GetNameIid()], v.same[e.GetCorrelationIdStrIid()], p.GetTimestamp()))
		case pb.TrackEvent_TYPE_SLICE_END:
			n := len(open[track]) - 1
			all = append(all, fmt.Sprintf("%s-%d", open[track][n], p.GetTimestamp()))
			open[track] = open[track][:n]
		}
	}
	slices.Sort(all)
	return all
}

const profileWithIdle = `{"nodes":[
	{"id":1,"callFrame":{"functionName":"(root)","scriptId":"0","url":"","lineNumber":-1,"columnNumber":-1},"children":[2,3,4,5]},
	{"id":2,"callFrame":{"functionName":"(idle)","scriptId":"0","url":"","lineNumber":-1,"columnNumber":-1}},
	{"id":3,"callFrame":{"functionName":"f","scriptId":"7","url":"http://a.test/a.js","lineNumber":1,"columnNumber":2}},
	{"id":4,"callFrame":{"functionName":"g2","scriptId":"7","url":"http://a.test/a.js","lineNumber":5,"columnNumber":0}},
	{"id":5,"callFrame":{"functionName":"","scriptId":"7","url":"http://a.test/a.js","lineNumber":8,"columnNumber":3}}],
	"startTime":1000,"endTime":1060,"samples":[2,3,2,4,5,2],"timeDeltas":[0,10,10,10,10,10]}`

// While a thread is idle, its track of states has a gap; weft reads back the same events as before. Calls are colored by
// function: by name, or by another text if the name is ambiguous.
func TestIdleIsAGap(t *testing.T) {
	v := view(t, profileWithIdle, convert.Options{})
	want := []string{
		"(anonymous) http://a.test/a.js:9:4 1040000-1050000", "f  1010000-1020000", "g2 g2 1030000-1040000",
		"script  1010000-1020000", "script  1030000-1050000",
	}
	if diff := cmp.Diff(want, v.slices()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	idle := 0
	for _, p := range v.packets {
		if p.GetWeftIdle().GetType() == pb.TrackEvent_TYPE_SLICE_BEGIN {
			idle++
		}
	}
	if idle != 3 {
		t.Errorf("%d idle times", idle)
	}
}

// Viewers would show a CPU time of 0 for instants with a thread time, so instants are written without one.
func TestInstantsHaveNoCPUTime(t *testing.T) {
	v := view(t, `[{"ph":"X","name":"s","ts":1,"dur":9,"tts":1,"tdur":5,"pid":1,"tid":2},
		{"ph":"I","s":"t","name":"i","ts":2,"tts":2,"pid":1,"tid":2}]`, convert.Options{})
	for _, p := range v.packets {
		e := p.GetTrackEvent()
		values := len(e.GetExtraCounterValues())
		switch e.GetType() {
		case pb.TrackEvent_TYPE_INSTANT:
			if values != 0 || p.GetWeftThreadTime() != 2000 {
				t.Errorf("instant: %v", p)
			}
		case pb.TrackEvent_TYPE_SLICE_BEGIN, pb.TrackEvent_TYPE_SLICE_END:
			if values != 1 || p.WeftThreadTime != nil {
				t.Errorf("slice: %v", p)
			}
		}
	}
}

// A click on the slice of a context shows its type, id and cost; an input event is named after its time.
func TestContextsSayWhatTheyAre(t *testing.T) {
	opts := convert.Options{Attribute: &attribution.Options{}}
	input := `[{"ph":"X","name":"FunctionCall","ts":10,"dur":9,"pid":1,"tid":1,"args":{"data":{"frame":"A"}}}]`
	v := view(t, input, opts)
	found := false
	for _, p := range v.packets {
		if v.tracks[p.GetTrackEvent().GetTrackUuid()].GetName() == "Context: Frame" && p.GetTrackEvent().GetType() == pb.TrackEvent_TYPE_SLICE_BEGIN {
			found = found || len(p.GetTrackEvent().GetDebugAnnotations()) == 4 // type, id, self_ns, self
		}
	}
	if !found {
		t.Error("no slice of a context with its details")
	}
}

// All overlapping slices of a GPU stream are on tracks with the same name below its thread, which viewers show as one. Nested
// slices stay on the thread's own track, and overlapping slices of a CPU thread are on a track with a distinctive name.
func TestStreamsAreOneRowGroup(t *testing.T) {
	v := view(t, `[
		{"ph":"M","name":"thread_name","pid":1,"tid":7,"args":{"name":"stream 7"}},
		{"ph":"M","name":"thread_name","pid":1,"tid":20,"args":{"name":"stream 20"}},
		{"ph":"M","name":"thread_name","pid":1,"tid":9,"args":{"name":"main"}},
		{"ph":"X","cat":"kernel","name":"gemm","ts":10,"dur":10,"pid":1,"tid":7},
		{"ph":"X","cat":"gpu_memcpy","name":"copy","ts":15,"dur":10,"pid":1,"tid":7},
		{"ph":"X","cat":"gpu_memset","name":"set","ts":30,"dur":1,"pid":1,"tid":7},
		{"ph":"X","cat":"gpu_user_annotation","name":"step","ts":10,"dur":10,"pid":1,"tid":20},
		{"ph":"X","cat":"kernel","name":"add","ts":12,"dur":2,"pid":1,"tid":20},
		{"ph":"X","cat":"kernel","name":"no id","ts":10,"dur":10,"pid":1,"tid":8},
		{"ph":"X","cat":"kernel","name":"no id","ts":15,"dur":10,"pid":1,"tid":8},
		{"ph":"X","cat":"cpu_op","name":"a","ts":10,"dur":10,"pid":1,"tid":9},
		{"ph":"X","cat":"cpu_op","name":"b","ts":15,"dur":10,"pid":1,"tid":9}]`, convert.Options{})
	var got []string
	for _, p := range v.packets {
		e := p.GetTrackEvent()
		if e.GetType() != pb.TrackEvent_TYPE_SLICE_BEGIN {
			continue
		}
		d := v.tracks[e.GetTrackUuid()]
		thread := d
		if d.Thread == nil {
			thread = v.tracks[d.GetParentUuid()]
		}
		got = append(got, fmt.Sprintf("%d: %s on %q", thread.Thread.GetTid(), v.names[e.GetNameIid()], d.GetName()))
	}
	slices.Sort(got)
	want := []string{
		`20: add on ""`, `20: step on ""`,
		`7: copy on "stream 7"`, `7: gemm on "stream 7"`, `7: set on "stream 7"`,
		`8: no id on "Overlapping slices"`, `8: no id on "Overlapping slices"`,
		`9: a on ""`, `9: b on "Overlapping slices"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Viewers show page timings: marks and events of a page as instants on the main thread, and intervals on a track with their name
// below the process (docs/viewer.md).
func TestWhereTimingsAre(t *testing.T) {
	v := view(t, `[
		{"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"CrRendererMain"}},
		{"ph":"R","s":"t","cat":"blink.user_timing","name":"navigationStart","pid":1,"tid":2,"ts":1,"args":{"frame":"F","data":{"documentLoaderURL":"http://a.test/","isOutermostMainFrame":true}}},
		{"ph":"R","s":"t","cat":"loading,rail,devtools.timeline","name":"firstContentfulPaint","pid":1,"tid":2,"ts":50,"args":{"frame":"F"}},
		{"ph":"R","s":"t","cat":"blink.user_timing","name":"loadEventEnd","pid":1,"tid":2,"ts":60,"args":{"frame":"F"}},
		{"ph":"R","cat":"blink.user_timing","name":"a mark","pid":1,"tid":2,"ts":70,"args":{}},
		{"ph":"b","cat":"blink.user_timing","id2":{"local":"0x7"},"name":"a measure","pid":1,"tid":2,"ts":70},
		{"ph":"e","cat":"blink.user_timing","id2":{"local":"0x7"},"name":"a measure","pid":1,"tid":2,"ts":90},
		{"ph":"b","cat":"blink.console","id2":{"local":"0x8"},"name":"a console timer","pid":1,"tid":2,"ts":71},
		{"ph":"e","cat":"blink.console","id2":{"local":"0x8"},"name":"a console timer","pid":1,"tid":2,"ts":91}]`, convert.Options{})
	got := map[string]string{}
	for _, p := range v.packets {
		e := p.GetTrackEvent()
		if e.GetType() != pb.TrackEvent_TYPE_INSTANT && e.GetType() != pb.TrackEvent_TYPE_SLICE_BEGIN {
			continue
		}
		track := v.tracks[e.GetTrackUuid()]
		place := "slice"
		if e.GetType() == pb.TrackEvent_TYPE_INSTANT {
			place = "instant"
		}
		if th := track.GetThread(); th != nil {
			place += fmt.Sprintf(" on thread %s", th.GetThreadName())
		} else {
			place += fmt.Sprintf(" on %s of process %d", track.GetName(), v.tracks[track.GetParentUuid()].GetProcess().GetPid())
		}
		got[v.names[e.GetNameIid()]] = place
	}
	want := map[string]string{
		"navigationStart": "instant on thread CrRendererMain", "firstContentfulPaint": "instant on thread CrRendererMain",
		"loadEventEnd": "instant on thread CrRendererMain", "a mark": "instant on thread CrRendererMain",
		"a measure": "slice on a measure of process 1", "a console timer": "slice on a console timer of process 1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// The track for a long task's mark is the first in its thread's group and has a description.
func TestLongTaskInTheViewer(t *testing.T) {
	v := view(t, `[{"ph":"X","cat":"toplevel","name":"RunTask","pid":1,"tid":2,"ts":10,"dur":83000},
		{"ph":"(","name":"context","id":"0x1","pid":1,"tid":2,"ts":20},{"ph":")","name":"context","id":"0x1","pid":1,"tid":2,"ts":30}]`,
		convert.Options{Attribute: &attribution.Options{}})
	first := map[uint64]string{} // by group: the track with the lowest rank
	ranks := map[uint64]int32{}
	for _, d := range v.tracks {
		group := d.GetParentUuid()
		if v.tracks[group].GetName() != "(contexts and states)" {
			continue
		}
		if r, ok := ranks[group]; !ok || d.GetSiblingOrderRank() < r {
			ranks[group], first[group] = d.GetSiblingOrderRank(), d.GetName()
		}
	}
	if len(first) != 1 {
		t.Fatalf("%d groups of threads, want 1", len(first))
	}
	for _, name := range first {
		if name != "Long tasks" {
			t.Errorf("the first track of the group is %q", name)
		}
	}
	if got := v.slices(); !slices.Contains(got, "Long task 83 ms  10000-83010000") {
		t.Errorf("slices %q", got)
	}
}

// Viewers show dates if the input has one, in whatever form; an estimated date is marked, and is estimated again when the
// conversion is read.
func TestDates(t *testing.T) {
	const first = `{"ph":"X","name":"RunTask","pid":1,"tid":1,"ts":5000000,"dur":9}`
	for _, c := range []struct {
		name, input string
		want        string // clock readings in the trace: clock, time and possible error
	}{
		{"the head of a response", `[` + first + `,{"ph":"I","name":"ResourceReceiveResponse","pid":1,"tid":1,"ts":5030000,"s":"t",
			"args":{"data":{"requestId":"1","responseTime":1700000000123.5,"timing":{"requestTime":5.0,"receiveHeadersStart":20}}}}]`,
			"6 5000000000, 1 1700000000103500000 ±50000"},
		{"when DevTools began", `{"metadata":{"startTime":"2024-02-29T12:34:56.500Z"},"traceEvents":[` + first +
			`,{"ph":"I","name":"TracingStartedInBrowser","pid":1,"tid":1,"ts":5010000,"s":"t"}]}`, "6 5000000000, 1 1709210096515000000 ±25000000"},
		{"when Chrome began, and its clock", `{"metadata":{"trace-capture-datetime":"2024-2-29 12:34:56","clock-domain":"LINUX_CLOCK_MONOTONIC"},"traceEvents":[` + first +
			`,{"ph":"I","name":"TracingStartedInBrowser","pid":1,"tid":1,"ts":5000000,"s":"t"}]}`, "6 5000000000, 3 5000000000, 1 1709210096500000000 ±500000000"},
		{"what time 0 was", `{"baseTimeNanoseconds":1709210096000000000,"traceEvents":[` + first + `]}`, "6 5000000000, 1 1709210101000000000 ±0"},
		{"the same, but times are since 1970", `{"baseTimeNanoseconds":1709210096000000000,"traceEvents":[{"ph":"X","name":"k","pid":1,"tid":1,"ts":1709210097000000,"dur":9}]}`,
			"6 1709210097000000000, 1 1709210097000000000 ±0"},
		{"nothing", `[` + first + `]`, ""},
	} {
		v := view(t, c.input, convert.Options{})
		again := view(t, string(v.bytes), convert.Options{})
		for i, v := range []*viewed{v, again} {
			var got []string
			for _, p := range v.packets {
				for _, r := range p.GetClockSnapshot().GetClocks() {
					text := fmt.Sprint(r.GetClockId(), " ", r.GetTimestamp())
					if r.WeftErrorNs != nil {
						text += fmt.Sprint(" ±", r.GetWeftErrorNs())
					}
					got = append(got, text)
				}
			}
			if text := strings.Join(got, ", "); text != c.want {
				t.Errorf("%s, conversion %d: %s, want %s", c.name, i+1, text, c.want)
			}
		}
	}
}
