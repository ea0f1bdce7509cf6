//go:build !js

package convert_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/merge"
	"github.com/weft-trace/weft/internal/testkit"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/pftrace"
)

const (
	profileOfP = `{"resources":["https://example.org/p"],"frames":[{"name":"f"}],"stacks":[{"frameId":0}],"samples":[
		{"timestamp":100,"stackId":0},{"timestamp":110,"stackId":0},{"timestamp":120}]}`
	profileOfQ = `{"resources":["https://example.org/q"],"frames":[{"name":"g"}],"stacks":[{"frameId":0}],"samples":[
		{"timestamp":20,"stackId":0},{"timestamp":30}]}`
)

// mergeTexts merges textual inputs. offset, if not nil, applies to the last one.
func mergeTexts(t *testing.T, offset *timeline.Nanos, texts ...string) (*convert.Report, []byte) {
	t.Helper()
	job := &merge.Job{Options: merge.Options{Reference: -1}}
	for i, text := range texts {
		name := string(rune('a' + i))
		job.Sources = append(job.Sources, merge.Source{Name: name, File: name, Open: func() (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(text)), nil
		}})
	}
	if offset != nil {
		job.Offsets = []merge.GivenOffset{{Input: len(texts) - 1, Offset: *offset}}
	}
	var out bytes.Buffer
	report, err := convertMerged(t.Context(), &out, job, convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return report, out.Bytes()
}

// dumpLines returns the events of a trace as sorted lines.
func dumpLines(t *testing.T, data []byte) []string {
	t.Helper()
	tl, _, err := loadText(t, string(data), convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if result, err := pftrace.Verify(t.Context(), bytes.NewReader(data), pftrace.VerifyOptions{}); err != nil || !result.OK() {
		t.Errorf("the trace is not valid: %v, %+v", err, result)
	}
	text, err := testkit.Dump(t.Context(), tl)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return lines
}

// TestMergePagesOfSeveralTraces checks that the profiles in a file are in the processes of their pages, which may be in several
// traces.
func TestMergePagesOfSeveralTraces(t *testing.T) {
	const (
		traceOfP = `[{"ph":"R","name":"navigationStart","pid":5,"tid":6,"ts":1000000,"args":{"data":{"documentLoaderURL":"https://example.org/p"}}},
			{"ph":"X","name":"FunctionCall","pid":5,"tid":6,"ts":1000000,"dur":900000}]`
		traceOfQ = `[{"ph":"R","name":"navigationStart","pid":7,"tid":8,"ts":1500000,"args":{"data":{"documentLoaderURL":"https://example.org/q"}}},
			{"ph":"X","name":"FunctionCall","pid":7,"tid":8,"ts":1000000,"dur":900000}]`
	)
	for _, c := range []struct {
		name, traceOfQ string
		want           []string
	}{
		{"two processes", traceOfQ, []string{
			"1000000000 begin 7/8 FunctionCall dur=900000000", "1100000000 begin 5/1 f ", "1500000000 instant 7/8 navigationStart ", "1520000000 begin 7/2 g ",
		}},
		{"one pid, two processes", strings.ReplaceAll(traceOfQ, `"pid":7`, `"pid":5`), []string{
			"1000000000 begin 10000005/8 FunctionCall dur=900000000", "1100000000 begin 5/2 f ", "1520000000 begin 1/3 g ",
		}},
	} {
		_, out := mergeTexts(t, nil, traceOfP, c.traceOfQ, profileOfP+profileOfQ)
		text := strings.Join(dumpLines(t, out), "\n")
		for _, line := range c.want {
			if !strings.Contains(text, "\n"+line) {
				t.Errorf("%s: no line %q in\n%s", c.name, line, text)
			}
		}
	}
}

// mergedSamples lists the samples in a trace merged with a self-profile, with the thread, counter and weight of each.
func mergedSamples(t *testing.T, trace string) (lines []string, merged *timeline.Timeline, report *convert.Report) {
	t.Helper()
	report, out := mergeTexts(t, new(timeline.Nanos), trace, selfProfile)
	tl, _, err := loadText(t, string(out), convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = tl.Walk(context.Background(), func(it *timeline.Item) error {
		if it.Kind == timeline.ItemSample {
			lines = append(lines, fmt.Sprintf("%s %s %d", testkit.Path(tl, it.Track), it.Name, it.Value.Int()))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines, tl, report
}

// A trace has one description for its samples. The samples of a self-profile weigh nanoseconds if the trace has no other samples,
// and otherwise count as one each, for both JSON and Perfetto traces.
func TestMergedSamplesWeighWhatIsDescribed(t *testing.T) {
	perfetto := func(trace string) string {
		var out bytes.Buffer
		if _, err := convert.Convert(t.Context(), &out, strings.NewReader(trace), convert.Options{}); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	const ofTrace = "1/2 " // the trace's thread
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
			lines, tl, report := mergedSamples(t, trace)
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
