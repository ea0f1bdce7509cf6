package convert_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/tracetext"
	weft "github.com/weft-trace/weft/trace"
)

const (
	// selfProfile has samples that last 10 ms, and one of 20 ms.
	selfProfile = `{"resources":[],"frames":[{"name":"f"}],"stacks":[{"frameId":0}],"samples":[
		{"timestamp":0,"stackId":0},{"timestamp":10,"stackId":0},{"timestamp":30,"stackId":0},{"timestamp":40}]}`

	// countedTrace has a sample that counts as one, weighedTrace samples of V8, which weigh the nanoseconds until the next one.
	countedTrace = `[{"ph":"P","name":"s","pid":1,"tid":2,"ts":1000,"stack":["g"]}]`
	weighedTrace = `[{"ph":"P","name":"Profile","id":"1","pid":1,"tid":2,"ts":1000,"args":{"data":{"startTime":1000}}},
		{"ph":"P","name":"ProfileChunk","id":"1","pid":1,"tid":2,"ts":1000,"args":{"data":{"cpuProfile":{` + twoNodes + `,"samples":[2,1]},
		"timeDeltas":[0,500]}}}]`
)

// joinedSamples lists the samples of a trace that a self-profile was joined to: thread, counter and weight of each.
func joinedSamples(t *testing.T, trace string) (lines []string, joined *timeline.Timeline, report *convert.Report) {
	t.Helper()
	origin := weft.Nanos(0)
	var out bytes.Buffer
	report, err := convert.Convert(t.Context(), &out, strings.NewReader(selfProfile), convert.Options{SelfProfile: convert.SelfProfileOptions{
		TimeOrigin: &origin, Join: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(trace)), nil },
	}})
	if err != nil {
		t.Fatal(err)
	}
	tl, _, err := load(t, out.String(), convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = tl.Walk(context.Background(), func(it *timeline.Item) error {
		if it.Kind == timeline.ItemSample {
			lines = append(lines, fmt.Sprintf("%s %s %d", tracetext.Path(tl, it.Track), it.Name, it.Value.Int()))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines, tl, report
}

// A trace has one description of its samples. Those of a self-profile weigh nanoseconds where that is it, and else count as
// one each, whether the trace is a JSON or a Perfetto trace.
func TestJoinedSamplesWeighWhatIsDescribed(t *testing.T) {
	perfetto := func(trace string) string {
		var out bytes.Buffer
		if _, err := convert.Convert(t.Context(), &out, strings.NewReader(trace), convert.Options{}); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	const ofTrace = "1/2 " // its thread
	for _, c := range []struct {
		name, trace string
		want        []string
		unit        timeline.SampleUnit
		dropped     uint64
	}{
		{"none", `[{"ph":"X","name":"a","pid":1,"tid":2,"ts":1,"dur":2}]`, []string{"10000000", "20000000", "10000000", "10000000"}, timeline.SampleUnitNanos, 0},
		{"nanoseconds", weighedTrace, []string{"10000000", "20000000", "10000000", "10000000"}, timeline.SampleUnitNanos, 0},
		{"counts", countedTrace, []string{"1", "1", "1", "1"}, 9, 4},
	} {
		for form, trace := range map[string]string{"json": c.trace, "perfetto": perfetto(c.trace)} {
			lines, tl, report := joinedSamples(t, trace)
			var got []string
			for _, line := range lines {
				if !strings.HasPrefix(line, ofTrace) {
					got = append(got, line[strings.LastIndexByte(line, ' ')+1:])
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", c.name, form, diff)
			}
			if d := tl.SampleDescription(); d.Unit != c.unit {
				t.Errorf("%s, %s: samples are described as %+v, want unit %d", c.name, form, d, c.unit)
			}
			counted := uint64(0)
			for _, p := range report.Problems {
				if p.Name == "profile_weight_dropped" {
					counted = p.Count
				}
			}
			if counted != c.dropped {
				t.Errorf("%s, %s: %d weights dropped, want %d", c.name, form, counted, c.dropped)
			}
		}
	}
}

// What is given of a self-profile is an error beside an input of another format if a self-profile is required, and has no
// influence on it otherwise.
func TestSelfProfileRequired(t *testing.T) {
	end := weft.Nanos(5)
	for _, c := range []struct {
		name, input string
		opts        convert.SelfProfileOptions
		want        string
	}{
		{"self-profile", selfProfile, convert.SelfProfileOptions{End: &end, Required: true}, ""},
		{"other, not required", countedTrace, convert.SelfProfileOptions{End: &end, ThreadName: "t"}, ""},
		{"other", countedTrace, convert.SelfProfileOptions{Required: true}, "this is a Chrome JSON trace and not a JS self-profile"},
		{
			"other, with an end", countedTrace, convert.SelfProfileOptions{End: &end, Required: true},
			"this is a Chrome JSON trace; an end can be given only for a JS self-profile, so leave it out",
		},
		{
			"other, with all", countedTrace, convert.SelfProfileOptions{SampleInterval: 1, TimeOrigin: &end, End: &end, ThreadName: "t", Required: true},
			"this is a Chrome JSON trace; a sample interval, a time origin, an end, a thread name can be given only for a JS self-profile, so leave it out",
		},
	} {
		_, err := convert.Convert(t.Context(), io.Discard, strings.NewReader(c.input), convert.Options{SelfProfile: c.opts})
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: error %q, want %q", c.name, got, c.want)
		}
	}
}
