package report_test

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/timeline"
)

// eventTiming is Chrome's data about an event. Times are nanoseconds.
type eventTiming struct {
	pid              int64
	interaction      int64
	start, end       int64
	processed, until int64
}

// readEventTimings reads the EventTimings of interactions with encoding/json alone.
func readEventTimings(t *testing.T, text []byte) (timings []eventTiming) {
	type event struct {
		Name, Ph string
		ID, Args json.RawMessage
		PID      int64
		TS       json.Number
	}
	var events []event
	var object struct{ TraceEvents []event }
	if err := json.Unmarshal(text, &object); err == nil {
		events = object.TraceEvents
	} else if err := json.Unmarshal(text, &events); err != nil {
		t.Fatal(err)
	}
	open := map[string]eventTiming{}
	for _, e := range events {
		if e.Name != "EventTiming" {
			continue
		}
		us, err := e.TS.Int64()
		if err != nil {
			t.Fatal(err)
		}
		key := fmt.Sprintf("%d %s", e.PID, e.ID)
		if e.Ph == "b" {
			var args struct {
				Data struct {
					TimeStamp, ProcessingStart, ProcessingEnd float64
					InteractionID                             int64
				}
			}
			if err := json.Unmarshal(e.Args, &args); err != nil {
				t.Fatal(err)
			}
			d, ns := args.Data, us*1000
			after := func(ms float64) int64 { return ns + int64(math.Round((ms-d.TimeStamp)*1e6)) }
			open[key] = eventTiming{pid: e.PID, interaction: d.InteractionID, start: ns, processed: after(d.ProcessingStart), until: after(d.ProcessingEnd)}
		} else if timing, ok := open[key]; ok {
			delete(open, key)
			timing.end = us * 1000
			if timing.interaction != 0 {
				timings = append(timings, timing)
			}
		}
	}
	return timings
}

// The parts of each interaction in the recordings add up to the duration of its longest event, and the processing part covers the
// listeners of all events of the interaction that the same frame answers.
func TestInteractionsOfRecordings(t *testing.T) {
	for name, want := range map[string]int{
		"chrome-array-small": 3, "chrome-devtools-small": 8, "chrome-devtools-tiny": 6,
	} {
		text := recording.Read(t, filepath.Join(recording.Testdata(t), "traces", "chrome", name+".json.gz"))
		type interaction struct{ pid, id int64 }
		events := map[interaction][]eventTiming{}
		for _, e := range readEventTimings(t, text) {
			key := interaction{e.pid, e.interaction}
			events[key] = append(events[key], e)
		}
		found := 0
		for _, in := range collectInputs(t, string(text), report.InputOptions{Brief: true}).Inputs {
			for key, list := range events {
				if key.id != in.InteractionID || !checkInteraction(t, &in, list) {
					continue
				}
				found++
			}
		}
		if found != want || found != len(events) {
			t.Errorf("%s: %d interactions, %d of them reported; want %d", name, len(events), found, want)
		}
	}
}

// checkInteraction compares an interaction with its events. It returns false if the interaction belongs to another process.
func checkInteraction(t *testing.T, in *report.Interaction, events []eventTiming) bool {
	longest := events[0]
	for _, e := range events {
		if e.end-e.start > longest.end-longest.start {
			longest = e
		}
	}
	if int64(in.Start) != longest.start {
		return false
	}
	if in.Delay == nil || in.Presentation == nil || int64(*in.Delay+*in.Processing+*in.Presentation) != longest.end-longest.start {
		t.Errorf("interaction %d: %+v does not add up to %d", in.InteractionID, in, longest.end-longest.start)
		return true
	}
	from := in.Start + *in.Delay
	to := from + *in.Processing
	for _, e := range events {
		if e.end == longest.end && (e.processed < int64(from) || e.until > int64(to)) {
			t.Errorf("interaction %d: processing from %d to %d, a listener ran from %d to %d", in.InteractionID, from, to, e.processed, e.until)
		}
	}
	return true
}

// The same frame answers the press and release of a button. So processing lasts until all their listeners have returned, and
// until all other listeners of the page for which the frame waits have returned. Listeners for movements, for another frame or in
// another process do not count.
func TestProcessingUntilTheFrame(t *testing.T) {
	const frame = 200_000
	other := strings.ReplaceAll(timing(9, "keydown", 100_000, 180_000, 190_000, frame, 9), `"pid":1`, `"pid":2`)
	for name, test := range map[string]struct {
		events []string
		want   string // delay, processing, presentation of each input, in ms
	}{
		"press, release and click": {[]string{
			timing(1, "pointerdown", 100_000, 103_000, 104_000, frame, 7),
			timing(2, "pointerup", 110_000, 111_000, 112_000, frame, 7),
			timing(3, "click", 110_000, 113_000, 150_000, frame, 7),
		}, "click 3 47 50"},
		"the release needs no frame": {[]string{
			timing(1, "keydown", 100_000, 103_000, 104_000, frame, 7),
			timing(2, "keyup", 110_000, 112_000, 114_000, 114_000, 7),
		}, "key 3 11 86"},
		"the press was handled after the release, and answered before it": {[]string{
			timing(1, "pointerdown", 100_000, 147_000, 148_000, 180_000, 7),
			timing(2, "pointerup", 145_000, 170_000, 171_000, frame+50_000, 7),
			timing(3, "click", 145_000, 173_000, 190_000, frame+50_000, 7),
		}, "click 25 20 60"},
		"another key before the frame": {[]string{
			timing(1, "keydown", 100_000, 101_000, 104_000, frame, 7),
			timing(2, "input", 102_000, 106_000, 108_000, frame, 0),
			timing(3, "keydown", 120_000, 130_000, 140_000, frame, 8),
		}, "key 1 39 60, key 10 10 60"},
		"other frames, processes and movements": {[]string{
			timing(1, "click", 100_000, 101_000, 104_000, frame, 7),
			timing(2, "pointermove", 110_000, 120_000, 140_000, frame, 0),
			timing(3, "keydown", 120_000, 130_000, 140_000, frame+16_000, 8),
			other,
		}, "click 1 3 96, key 80 10 10, key 10 10 76"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, in := range collectInputs(t, `{"traceEvents":[`+strings.Join(test.events, ",")+`]}`, report.InputOptions{Brief: true}).Inputs {
				ms := func(d *timeline.Nanos) timeline.Nanos { return *d / micros(1000) }
				got = append(got, fmt.Sprintf("%s %d %d %d", in.Kind, ms(in.Delay), ms(in.Processing), ms(in.Presentation)))
			}
			if diff := gocmp.Diff(test.want, strings.Join(got, ", ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}
