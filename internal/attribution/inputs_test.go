package attribution_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/timeline"
)

// inputLine formats an input event in one line, with times in microseconds.
func inputLine(i *attribution.Input) string {
	line := fmt.Sprintf("%s/%s %s %d+%d", i.ID.Scope, i.ID.ID, i.Type, i.Start/1000, i.Latency/1000)
	if i.Presented != timeline.NoTime {
		line += fmt.Sprintf(" presented %d", i.Presented/1000)
	}
	if i.Dropped {
		line += " dropped"
	}
	if i.Interaction != 0 {
		line += fmt.Sprintf(" of %d", i.Interaction)
	}
	return line
}

func (a *attributed) inputLines() []string {
	var out []string
	for _, in := range a.Inputs {
		if in.ID.Scope == attribution.ScopeLatency {
			out = append(out, inputLine(&in))
		}
	}
	slices.Sort(out)
	return out
}

// The input events of recordings are the same as those that another program computed. Type, start and latency come from
// InputLatency, otherwise from EventLatency. The presentation or its absence comes from the stages of EventLatency, and the
// interaction from the EventTiming that starts in the same microsecond (attribution.md, rule 8).
func TestRecordedInputs(t *testing.T) {
	for name, want := range map[string][]string{
		"chrome-everything-small": {
			"latency/1594091997043666964 KeyDown 3736769089+15292 dropped of 2645",
			"latency/1594091997043666967 MouseMove 3736752282+16036 dropped",
			"latency/1594091997043666969 MouseMove 3736627892+1776 dropped",
			"latency/1594091997043666972 MouseMove 3736690469+736 dropped",
			"latency/1594091997043666979 KeyUp 3736772162+309 dropped of 2652",
			"latency/1594091997043666985 KeyUp 3736770262+858 dropped of 2645",
			"latency/1594091997043666990 KeyDown 3736771415+425 dropped of 2652",
		},
		"chrome-bufferfull": {
			"latency/2086759862553264129 MOUSE_MOVED_EVENT 1036789677+5329 dropped",
			"latency/2086759862553264174 MOUSE_MOVED_EVENT 1036705948+41384 presented 1036747332",
			"latency/2086759862553264209 MOUSE_MOVED_EVENT 1036597157+83325 presented 1036680482",
			"latency/2086759862553264363 KEY_RELEASED 1036826853+5369 dropped",
			"latency/2086759862553264372 KEY_PRESSED 1036818169+6469 dropped",
			"latency/2086759862553264383 KEY_RELEASED 1036813117+3016 dropped",
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := attribute(t, recording.Read(t, recording.Large(t, "traces/chrome/"+name+".json")), attribution.Rules{})
			if diff := cmp.Diff(want, a.inputLines()); diff != "" {
				t.Errorf("inputs (-want +got)\n%s", diff)
			}
		})
	}
}

// latencyEvents returns the slices of an input event with a frame and of an input event without a frame, and their EventTimings
// and dispatches.
func latencyEvents() []byte {
	stage := func(phase, name, id string, ts int) string {
		return fmt.Sprintf(`{"ph":%q,"name":%q,"cat":"cc","id2":{"local":%q},"ts":%d,"pid":1,"tid":1}`, phase, name, id, ts)
	}
	latency := func(id string, ts int, trace int64, typ string) string {
		return fmt.Sprintf(`{"ph":"b","name":"EventLatency","cat":"cc","id2":{"local":%q},"ts":%d,"pid":1,"tid":1,"args":{"event_latency":{"event_latency_id":%d,"event_type":%q}}}`, id, ts, trace, typ)
	}
	timing := func(id string, ts, interaction int, typ string) string {
		return fmt.Sprintf(`{"ph":"b","name":"EventTiming","cat":"devtools.timeline","id":%q,"ts":%d,"pid":1,"tid":1,"args":{"data":{"type":%q,"timeStamp":10,"processingStart":13,"interactionId":%d}}},
			{"ph":"e","name":"EventTiming","cat":"devtools.timeline","id":%q,"ts":%d,"pid":1,"tid":1}`, id, ts, typ, interaction, id, ts+30_000)
	}
	return events(
		latency("0x1", 1000, -5, "KEY_PRESSED"), stage("b", "Commit", "0x1", 2000), stage("e", "Commit", "0x1", 2100),
		stage("b", "SubmitCompositorFrameToPresentationCompositorFrame", "0x1", 2100),
		stage("e", "SubmitCompositorFrameToPresentationCompositorFrame", "0x1", 17_000), stage("e", "EventLatency", "0x1", 17_000),
		latency("0x1", 50_000, 6, "KEY_RELEASED"), stage("n", "RendererMainFinishedToTermination", "0x1", 51_000), stage("e", "EventLatency", "0x1", 51_000),
		timing("0x2", 1000, 0, "keydown"), timing("0x3", 1000, 77, "keypress"), timing("0x4", 50_000, 77, "keyup"), timing("0x5", 60_000, 0, "click"),
		x("EventDispatch", 1, 1400, `,"args":{"data":{"type":"keydown","timestamp":1000}}`),
		x("EventDispatch", 1, 1500, `,"args":{"data":{"type":"textInput","timestamp":1000}}`), // it has no EventTiming
		x("EventDispatch", 1, 60_900, `,"args":{"data":{"type":"click","timestamp":60000}}`),  // not within 1 ms of the processing
		x("EventDispatch", 1, 63_200, `,"args":{"data":{"type":"click"}}`),
		x("EventDispatch", 1, 64_100, `,"args":{"data":{"type":"click"}}`),
	)
}

// Without InputLatency, an input event is identified by its EventLatency, whose id is the trace id; EventTiming and dispatches of
// the same instant belong to it (attribution.md, rule 8).
func TestEventLatency(t *testing.T) {
	a := attribute(t, latencyEvents(), attribution.Rules{})
	want := []string{"latency/-5 KEY_PRESSED 1000+16000 presented 17000 of 77", "latency/6 KEY_RELEASED 50000+1000 dropped of 77"}
	if diff := cmp.Diff(want, a.inputLines()); diff != "" {
		t.Errorf("inputs (-want +got)\n%s", diff)
	}
	got := map[string][]string{}
	for event, set := range a.stampsByEvent(t) {
		if name := a.nameOf(t, event); name == "EventDispatch" || name == "EventTiming" {
			got[name] = append(got[name], strings.Join(a.show(set, false), ";"))
		}
	}
	for name := range got {
		slices.Sort(got[name])
	}
	stamped := map[string][]string{
		"EventDispatch": {"InputEvent eventtiming 0x5", "InputEvent eventtiming 0x5", "InputEvent latency -5", "InputEvent latency -5"},
		"EventTiming":   {"InputEvent eventtiming 0x5", "InputEvent latency -5", "InputEvent latency -5", "InputEvent latency 6"},
	}
	if diff := cmp.Diff(stamped, got); diff != "" {
		t.Errorf("contexts (-want +got)\n%s", diff)
	}
}

// The table of input events describes each event, including events for which no thread worked.
func TestInputRows(t *testing.T) {
	a := attribute(t, latencyEvents(), attribution.Rules{})
	got := map[string]string{}
	for _, r := range a.Table(tables.TableOptions{Type: "InputEvent"}).Rows {
		if r.Input == nil {
			continue
		}
		info, err := json.Marshal(r.Input)
		if err != nil {
			t.Fatal(err)
		}
		got[r.ID] = fmt.Sprintf("%d %d %s", r.Inputs, r.WorstLatency, info)
	}
	want := map[string]string{
		"latency/-5":        `1 16000000 {"type":"KEY_PRESSED","start_ns":1000000,"latency_ns":16000000,"presented_ns":17000000,"interaction_id":77}`,
		"latency/6":         `1 1000000 {"type":"KEY_RELEASED","start_ns":50000000,"latency_ns":1000000,"dropped":true,"interaction_id":77}`,
		"eventtiming/0x5@1": `1 30000000 {"type":"click","start_ns":60000000,"latency_ns":30000000}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got)\n%s", diff)
	}
}

// Input events count towards the total memory limit, however long their ids are.
func TestInputsAreBounded(t *testing.T) {
	const n = 5000
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`{"ph":"b","name":"EventTiming","cat":"c","id":"%04d%s","ts":%d,"pid":1,"tid":1,"args":{"data":{"type":"click","timeStamp":10,"processingStart":13}}}`,
			i, strings.Repeat("x", 3000), i))
	}
	a := attribute(t, events(list...), attribution.Rules{})
	bytes := 0
	for _, in := range a.Inputs {
		bytes += len(in.ID.ID)
	}
	if len(a.Inputs) != n || bytes != n*attribution.MaxAsyncText {
		t.Errorf("%d inputs with %d bytes of ids, want %d with %d", len(a.Inputs), bytes, n, n*attribution.MaxAsyncText)
	}
	if least := n * (attribution.InputSize + attribution.TimingSize + attribution.MaxAsyncText); a.Contexts.Size < least {
		t.Errorf("%d bytes are counted, want at least %d", a.Contexts.Size, least)
	}
}

// When developer tools save a trace, they round trace ids, which exceed 2^53, so that many input events get the same id. The ids
// of EventTimings are also reused. Both occur in recordings. Slices with different start times are different input events. The
// EventTimings of an input event have the same start, and a slice with only the id belongs to the latest input event.
func TestReusedInputIDs(t *testing.T) {
	latency := func(id, typ string, ts, end int) string {
		return fmt.Sprintf(`{"ph":"b","name":"InputLatency::%s","cat":"latencyInfo","id":%q,"ts":%d,"pid":2,"tid":1,"args":{"chrome_latency_info":{"trace_id":3191537711338748000}}},
			{"ph":"e","name":"InputLatency::%[1]s","cat":"latencyInfo","id":%[2]q,"ts":%[4]d,"pid":2,"tid":1}`, typ, id, ts, end)
	}
	timing := func(id string, ts int, typ string) string {
		return fmt.Sprintf(`{"ph":"b","name":"EventTiming","cat":"devtools.timeline","id":%q,"ts":%d,"pid":1,"tid":1,"args":{"data":{"type":%q,"timeStamp":10,"processingStart":11}}},
			{"ph":"e","name":"EventTiming","cat":"devtools.timeline","id":%q,"ts":%d,"pid":1,"tid":1}`, id, ts, typ, id, ts+3000)
	}
	a := attribute(t, events(
		latency("0x1", "MouseMove", 1000, 2000), latency("0x2", "KeyDown", 10_000, 40_000), latency("0x1", "MouseMove", 50_000, 51_000),
		timing("0x30", 1000, "mousemove"), timing("0x30", 10_000, "keydown"),
		timing("0x31", 20_000, "input"), timing("0x31", 30_000, "beforeinput"), timing("0x31", 30_000, "textInput"),
		x("EventDispatch", 1, 2000, `,"args":{"data":{"type":"mousemove"}}`),
		x("EventDispatch", 1, 11_000, `,"args":{"data":{"type":"keydown"}}`),
		x("EventDispatch", 1, 21_000, `,"args":{"data":{"type":"input"}}`),
		x("EventDispatch", 1, 31_000, `,"args":{"data":{"type":"beforeinput"}}`),
		x("LatencyInfo.Flow", 1, 12_000, `,"args":{"chrome_latency_info":{"trace_id":3191537711338748000}}`),
	), attribution.Rules{})
	var inputs []string
	for _, in := range a.Inputs {
		inputs = append(inputs, inputLine(&in))
	}
	slices.Sort(inputs)
	want := []string{
		"eventtiming/0x31 input 20000+3000",
		"eventtiming/0x31#2 beforeinput 30000+3000",
		"latency/3191537711338748000 MouseMove 1000+1000",
		"latency/3191537711338748000#2 KeyDown 10000+30000",
		"latency/3191537711338748000#3 MouseMove 50000+1000",
	}
	if diff := cmp.Diff(want, inputs); diff != "" {
		t.Errorf("inputs (-want +got)\n%s", diff)
	}
	var worked []string
	for event, set := range a.stampsByEvent(t) {
		if name := a.nameOf(t, event); name == "EventDispatch" || name == "LatencyInfo.Flow" {
			worked = append(worked, name+" "+strings.Join(a.show(set, false), ";"))
		}
	}
	slices.Sort(worked)
	want = []string{
		"EventDispatch InputEvent eventtiming 0x31",
		"EventDispatch InputEvent eventtiming 0x31#2",
		"EventDispatch InputEvent latency 3191537711338748000",
		"EventDispatch InputEvent latency 3191537711338748000#2",
		"LatencyInfo.Flow InputEvent latency 3191537711338748000#2",
	}
	if diff := cmp.Diff(want, worked); diff != "" {
		t.Errorf("contexts (-want +got)\n%s", diff)
	}
}

// A dispatch inside a slice with a trace id belongs to that input event, whatever was processed at that time; other dispatches
// belong to the EventTiming with the nearest start of processing (attribution.md, rule 8).
func TestDispatchInsideLatency(t *testing.T) {
	dispatch := func(ts int) string {
		return fmt.Sprintf(`{"ph":"X","name":"EventDispatch","ts":%d,"dur":5,"pid":1,"tid":1,"args":{"data":{"type":"click"}}}`, ts)
	}
	a := attribute(t, events(
		`{"ph":"b","name":"EventTiming","cat":"devtools.timeline","id":"0x7","ts":500,"pid":1,"tid":1,"args":{"data":{"type":"click","timeStamp":10,"processingStart":10.5}}},
		{"ph":"e","name":"EventTiming","cat":"devtools.timeline","id":"0x7","ts":3000,"pid":1,"tid":1}`,
		`{"ph":"X","name":"LatencyInfo.Flow","ts":900,"dur":200,"pid":1,"tid":1,"args":{"chrome_latency_info":{"trace_id":5}}}`,
		dispatch(1000), dispatch(1200),
	), attribution.Rules{})
	a.want(t, 3, "InputEvent latency 5 args 0")
	a.want(t, 4, "InputEvent eventtiming 0x7 args 0")
}
