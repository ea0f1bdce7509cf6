package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/pftrace"
)

const (
	// maxProjected is the size in bytes of the largest recording whose output is projected; larger ones are only
	// converted and verified.
	maxProjected = 64 << 20
)

// tally counts the contents of an input, read with encoding/json, and weft's expected output.
type tally struct {
	slices   int // events that become one slice or instant: X, B, b, S, i, I, R, n, p, and T with an id
	counters int // numeric members of the args of C
	flowEnds int // t, f and flow_in: each can become one arrow
}

// inputEvent is the part of an event that the tally needs.
type inputEvent struct {
	Ph     string                     `json:"ph"`
	Dur    json.RawMessage            `json:"dur"`
	ID     json.RawMessage            `json:"id"`
	ID2    json.RawMessage            `json:"id2"`
	FlowIn json.RawMessage            `json:"flow_in"`
	BindID json.RawMessage            `json:"bind_id"`
	Args   map[string]json.RawMessage `json:"args"`
}

// TestEveryRecording converts all available recordings and compares the result with counts of the input's events by
// phase: every event that is a slice becomes a slice of the output, or is counted as lost by a problem.
func TestEveryRecording(t *testing.T) {
	for _, f := range recording.Every(t, "chrome", "node", "damaged", "pytorch") {
		if otherFormats.MatchString(f.Name) {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			input := recording.Read(t, f.Path)
			if len(input) > maxProjected {
				convertLarge(t, input)
				return
			}
			p, report := mustProject(t, input, eventsOnly)
			checkPlausible(t, count(input), p, report)
		})
	}
}

// otherFormats matches damaged recordings in formats other than Chrome's.
var otherFormats = regexp.MustCompile(`/cut60pct-`)

// convertLarge converts and verifies a recording whose projection would take too much memory.
func convertLarge(t *testing.T, input []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "out.pftrace")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	opts := eventsOnly
	opts.Compression = pftrace.Zlib
	report, err := convert.Convert(context.Background(), file, bytes.NewReader(input), opts)
	if err != nil {
		t.Fatal(err)
	}
	want := int64(count(input).slices)
	if got := report.Events.Slices + report.Events.Instants; got < want {
		t.Errorf("%d slices and instants from %d events", got, want)
	}
	if _, err := file.Seek(0, 0); err != nil {
		t.Fatal(err)
	}
	verify(t, file)
}

// checkPlausible compares the tally of an input with the output.
func checkPlausible(t *testing.T, in tally, p *projection, report *convert.Report) {
	t.Helper()
	dropped := problems(report, "complete_without_duration", "slice_negative_duration", "event_invalid_timestamp",
		"event_negative_timestamp", "event_invalid_duration", "async_missing_id", "async_missing_pid", "instant_missing_pid")
	if got := len(p.shown()); got+dropped != in.slices {
		t.Errorf("%d slices and %d reported as dropped, from %d events", got, dropped, in.slices)
	}
	counters := 0
	for _, c := range p.counters {
		if c.track.kind == kindCounter {
			counters++
		}
	}
	if counters != in.counters {
		t.Errorf("%d counter values from %d numbers", counters, in.counters)
	}
	lost := problems(report, "flow_missing_id", "flow_no_enclosing_slice", "flow_no_next_slice", "flow_without_direction",
		"flow_step_without_start", "flow_end_without_start", "flow_self")
	if got := len(p.edges); got > in.flowEnds || got+lost < in.flowEnds {
		t.Errorf("%d arrows and %d flow events reported as dropped, from %d ends of flows", got, lost, in.flowEnds)
	}
}

// problems returns how often the named problems were counted.
func problems(report *convert.Report, names ...string) int {
	n := 0
	for _, p := range report.Problems {
		for _, name := range names {
			if p.Name == name {
				n += int(p.Count)
			}
		}
	}
	return n
}

// count reads an input with encoding/json, up to any damage.
func count(input []byte) tally {
	var t tally
	d := json.NewDecoder(bytes.NewReader(input))
	first, err := d.Token()
	if err != nil {
		return t
	}
	if first == json.Delim('[') {
		t.events(d)
		return t
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return t
		}
		if key == "traceEvents" {
			if _, err := d.Token(); err != nil || !t.events(d) {
				return t
			}
			continue
		}
		var skipped json.RawMessage
		if d.Decode(&skipped) != nil {
			return t
		}
	}
	return t
}

// events counts the elements of an event list after its opening bracket. It returns false if the list is truncated.
func (t *tally) events(d *json.Decoder) bool {
	for d.More() {
		var e inputEvent
		if d.Decode(&e) != nil {
			return false
		}
		t.add(&e)
	}
	_, err := d.Token()
	return err == nil
}

// add counts one event.
func (t *tally) add(e *inputEvent) {
	switch e.Ph {
	case "X", "B", "b", "S", "i", "I", "R", "n", "p":
		t.slices++
	case "T":
		if e.ID != nil || e.ID2 != nil {
			t.slices++
		}
	case "C":
		for _, v := range e.Args {
			if _, err := strconv.ParseFloat(strings.Trim(string(v), `"`), 64); err == nil {
				t.counters++
			}
		}
	case "t", "f":
		t.flowEnds++
	}
	if e.BindID != nil && string(e.FlowIn) == "true" {
		t.flowEnds++
	}
}
