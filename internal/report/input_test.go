package report_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/timeline"
)

// attributed calls fn with a trace and its attribution.
func attributed(t *testing.T, text string, fn func(*timeline.Timeline, *attribution.Result)) {
	t.Helper()
	tr, err := convert.Open(t.Context(), strings.NewReader(text), convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	tl := timeline.Of(tr)
	result, err := attribution.Run(t.Context(), tl, attribution.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	defer result.Close()
	fn(tl, result)
}

// collectInputs returns the report on the inputs in a trace.
func collectInputs(t *testing.T, text string, opts report.InputOptions) (r *report.Inputs) {
	t.Helper()
	attributed(t, text, func(tl *timeline.Timeline, result *attribution.Result) {
		var err error
		if r, err = report.CollectInputs(t.Context(), tl, result, opts); err != nil {
			t.Fatal(err)
		}
	})
	return r
}

// timing returns a Chrome EventTiming. The parameters are trace times in microseconds; the page's own times are the same times in
// milliseconds.
func timing(id int, typ string, start, processing, processed, end, interaction int64) string {
	return fmt.Sprintf(`
		{"ph":"b","pid":1,"tid":2,"cat":"devtools.timeline","name":"EventTiming","id":%d,"ts":%d,"args":{"data":{"type":%q,
			"timeStamp":%d.%03d,"processingStart":%d.%03d,"processingEnd":%d.%03d,"interactionId":%d,"frame":"F"}}},
		{"ph":"e","pid":1,"tid":2,"cat":"devtools.timeline","name":"EventTiming","id":%d,"ts":%d}`,
		id, start, typ, start/1000, start%1000, processing/1000, processing%1000, processed/1000, processed%1000, interaction, id, end)
}

// click is a trace in which a button is pressed at 100 ms and released at 200 ms. The release waits for a timer that takes 30 ms,
// 20 ms of them after the release. The listener of the release runs from 220 to 260 ms and forces a layout of 10 ms. The response
// is shown at 300 ms, after 15 ms of painting.
var click = `{"traceEvents":[` +
	timing(1, "pointerdown", 100_000, 101_000, 102_000, 110_000, 7) + "," +
	timing(2, "click", 200_000, 220_000, 260_000, 300_000, 7) + "," +
	timing(3, "pointermove", 400_000, 401_000, 402_000, 410_000, 0) + `,
	{"ph":"X","pid":1,"tid":2,"cat":"devtools.timeline","name":"EventDispatch","ts":101000,"dur":1000,"args":{"data":{"type":"pointerdown"}}},
	{"ph":"X","pid":1,"tid":2,"cat":"devtools.timeline","name":"TimerFire","ts":190000,"dur":30000,"args":{"data":{"timerId":1}}},
	{"ph":"X","pid":1,"tid":2,"cat":"devtools.timeline","name":"EventDispatch","ts":220000,"dur":40000,"args":{"data":{"type":"click"}}},
	{"ph":"X","pid":1,"tid":2,"cat":"devtools.timeline","name":"Layout","ts":230000,"dur":10000},
	{"ph":"X","pid":1,"tid":2,"cat":"devtools.timeline","name":"Paint","ts":265000,"dur":15000}]}`

func TestInput(t *testing.T) {
	r := collectInputs(t, click, report.InputOptions{})
	if diff := gocmp.Diff(map[report.InputKind]int64{report.MoveInput: 1}, r.Omitted); diff != "" || len(r.Inputs) != 1 {
		t.Fatalf("%d inputs, omitted: %s", len(r.Inputs), diff)
	}
	in := r.Inputs[0]
	events := []report.InputEvent{{"pointerdown", micros(100_000), micros(10_000)}, {"click", micros(200_000), micros(100_000)}}
	if diff := gocmp.Diff(events, in.Events); diff != "" {
		t.Error(diff)
	}
	if in.Kind != report.ClickInput || in.Type != "click" || in.InteractionID != 7 || in.Start != micros(200_000) || in.Latency != micros(100_000) ||
		*in.Delay != micros(20_000) || *in.Processing != micros(40_000) || *in.Presentation != micros(40_000) {
		t.Errorf("%+v", in)
	}
	type phase struct{ own, others, idle timeline.Nanos }
	want := map[string]phase{
		"delay": {0, micros(20_000), 0}, "processing": {micros(40_000), 0, 0}, "presentation": {0, micros(15_000), micros(25_000)},
	}
	got := map[string]phase{}
	for _, p := range in.Phases {
		got[p.Phase] = phase{p.Own.Self, p.Others.Self, p.Idle}
	}
	if diff := gocmp.Diff(want, got, gocmp.AllowUnexported(phase{})); diff != "" {
		t.Error(diff)
	}
	if p := in.Phases[0].Others.Parts; len(p) != 1 || p[0].Name != "TimerFire" || p[0].Self != micros(20_000) {
		t.Errorf("waited behind %+v", p)
	}
	// For both events: 1 ms for the press, and 40 ms for the click, including 10 ms of forced layout.
	if w := in.Work; w.Self != micros(41_000) || w.Forced != micros(10_000) || w.ForcedCount != 1 || w.Parts[0].Name != "EventDispatch click" ||
		w.Parts[0].Self != micros(30_000) {
		t.Errorf("%+v", w)
	}
	if len(in.Threads) != 1 || in.Threads[0].First != micros(101_000) || in.Threads[0].Last != micros(260_000) || in.Main == nil || in.Main.TID.Num != 2 {
		t.Errorf("%+v of %+v", in.Threads, in.Main)
	}
}

// Even if a trace has more names than fit into the name table, meaningful names are still found.
func TestInputAmongManyNames(t *testing.T) {
	var names strings.Builder
	for i := range 300 { // 18 MB
		fmt.Fprintf(&names, `{"ph":"X","pid":1,"tid":9,"ts":%d,"dur":1,"name":"%0*d"},`, 100_000+i, 60_000, i)
	}
	want := collectInputs(t, click, report.InputOptions{})
	got := collectInputs(t, strings.Replace(click, "[", "["+names.String(), 1), report.InputOptions{})
	if diff := gocmp.Diff(want.Inputs, got.Inputs); diff != "" || len(want.Inputs) != 1 {
		t.Errorf("(-without the names +with them):\n%s", diff)
	}
}

// A system event that is dispatched under several names counts as one input, although only the first dispatch has the interaction
// id. The input is processed from the start of the first dispatch to the end of the last. Events whose times, kinds or processes
// differ are separate inputs.
func TestEventsOfTheSystem(t *testing.T) {
	other := strings.ReplaceAll(timing(9, "mousedown", 100_000, 101_000, 102_000, 110_000, 0), `"pid":1`, `"pid":2`)
	text := `{"traceEvents":[` + strings.Join([]string{
		timing(1, "mousedown", 100_000, 104_000, 105_000, 112_000, 0), // in any order
		timing(2, "pointerdown", 100_000, 101_000, 102_000, 110_000, 7),
		timing(3, "mouseup", 200_000, 203_000, 204_000, 210_000, 0),
		timing(4, "click", 200_000, 205_000, 206_000, 210_000, 7),
		timing(5, "mousedown", 101_000, 102_000, 103_000, 110_000, 0),
		timing(6, "pointerover", 100_000, 101_000, 102_000, 110_000, 0),
		timing(7, "mouseover", 100_000, 103_000, 104_000, 110_000, 0),
		other,
	}, ",") + "]}"
	r := collectInputs(t, text, report.InputOptions{Kinds: report.InputKinds()})
	var got []string
	for i := range r.Inputs {
		in := &r.Inputs[i]
		var types []string
		for _, e := range in.Events {
			types = append(types, e.Type)
		}
		got = append(got, fmt.Sprintf("%s %d: %s, processing %d", in.Kind, in.InteractionID, strings.Join(types, " "), *in.Processing/1e6))
	}
	want := []string{
		"click 7: mousedown pointerdown mouseup click, processing 4", "move 0: pointerover mouseover, processing 3",
		"click 0: mousedown, processing 1", "click 0: mousedown, processing 1",
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestKindsOfInputs(t *testing.T) {
	r := collectInputs(t, click, report.InputOptions{Kinds: []report.InputKind{report.MoveInput}})
	if len(r.Inputs) != 1 || r.Inputs[0].Type != "pointermove" || r.Omitted[report.ClickInput] != 1 {
		t.Errorf("%+v", r)
	}
	late := func(start, _ timeline.Nanos) bool { return start > micros(300_000) }
	if r := collectInputs(t, click, report.InputOptions{Include: late}); len(r.Inputs) != 0 {
		t.Errorf("%+v", r.Inputs)
	}
}

// If the processing times are invalid, the parts of the latency are unknown.
func TestBadTimesOfInput(t *testing.T) {
	r := collectInputs(t, `{"traceEvents":[`+timing(1, "click", 100_000, 90_000, 80_000, 150_000, 7)+`]}`, report.InputOptions{})
	if len(r.Inputs) != 1 || r.Inputs[0].Latency != micros(50_000) || r.Inputs[0].Delay != nil || r.Inputs[0].Main != nil {
		t.Errorf("%+v", r.Inputs)
	}
}

func TestNamesOfInputs(t *testing.T) {
	for typ, want := range map[string]report.InputKind{
		"click": report.ClickInput, "MouseDown": report.ClickInput, "MOUSE_PRESSED": report.ClickInput, "pointerup": report.ClickInput,
		"mousemove": report.MoveInput, "pointerrawupdate": report.MoveInput, "MOUSE_MOVED": report.MoveInput, "mouseleave": report.MoveInput,
		"keydown": report.KeyInput, "RawKeyDown": report.KeyInput, "Char": report.KeyInput,
		"touchstart": report.TapInput, "GestureTap": report.TapInput, "TouchMove": report.TapInput,
		"wheel": report.WheelInput, "MouseWheel": report.WheelInput, "MOUSE_WHEEL": report.WheelInput, "DOMMouseScroll": report.WheelInput,
		"GestureScrollUpdate": report.ScrollInput, "GESTURE_SCROLL_BEGIN": report.ScrollInput, "dragstart": report.DragInput,
		"beforeinput": report.OtherInput, "": report.OtherInput,
	} {
		if got := report.KindOfInput(typ); got != want {
			t.Errorf("%s is a %s, want %s", typ, got, want)
		}
	}
}

// This example shows why a click was slow: it waited for other work.
func ExampleCollectInputs() {
	ctx := context.Background()
	trace, err := convert.Open(ctx, strings.NewReader(click), convert.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer trace.Close()
	tl := timeline.Of(trace)
	attributed, err := attribution.Run(ctx, tl, attribution.Rules{})
	if err != nil {
		log.Fatal(err)
	}
	defer attributed.Close()
	r, err := report.CollectInputs(ctx, tl, attributed, report.InputOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, in := range r.Inputs {
		fmt.Printf("%s: %v\n", in.Kind, time.Duration(in.Latency))
		for _, p := range in.Phases {
			fmt.Printf("  %s %v, of that other work %v\n", p.Phase, time.Duration(p.Duration), time.Duration(p.Others.Self))
		}
	}
	// Output:
	// click: 100ms
	//   delay 20ms, of that other work 20ms
	//   processing 40ms, of that other work 0s
	//   presentation 40ms, of that other work 15ms
}
