//go:build !js

package convert_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/merge"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/tracetext"
	"github.com/weft-trace/weft/pftrace"
	weft "github.com/weft-trace/weft/trace"
)

const (
	// pagesTrace has the navigations to two pages, in two processes.
	pagesTrace = `[{"ph":"R","name":"navigationStart","pid":5,"tid":6,"ts":1000000,"args":{"data":{"documentLoaderURL":"https://example.org/p"}}},
		{"ph":"R","name":"navigationStart","pid":7,"tid":8,"ts":1500000,"args":{"data":{"documentLoaderURL":"https://example.org/q"}}},
		{"ph":"X","name":"FunctionCall","pid":5,"tid":6,"ts":1000000,"dur":900000}]`
	profileOfP = `{"resources":["https://example.org/p"],"frames":[{"name":"f"}],"stacks":[{"frameId":0}],"samples":[
		{"timestamp":100,"stackId":0},{"timestamp":110,"stackId":0},{"timestamp":120}]}`
	profileOfQ = `{"resources":["https://example.org/q"],"frames":[{"name":"g"}],"stacks":[{"frameId":0}],"samples":[
		{"timestamp":20,"stackId":0},{"timestamp":30}]}`
)

// joined converts profiles with a trace beside them.
func joined(trace, profiles string, opts convert.Options) (*convert.Report, []byte, error) {
	opts.SelfProfile.Join = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(trace)), nil }
	var out bytes.Buffer
	report, err := convert.Convert(context.Background(), &out, strings.NewReader(profiles), opts)
	return report, out.Bytes(), err
}

// TestJoinIsAMerge: what --join writes is what a merge of the trace and the profiles writes, without the names of the inputs.
func TestJoinIsAMerge(t *testing.T) {
	ofMerge := regexp.MustCompile(` \((trace|profile)\)`)
	for name, c := range map[string]struct {
		profiles string
		opts     convert.Options
	}{
		"one page":           {profileOfP, convert.Options{}},
		"two pages":          {profileOfQ + profileOfP, convert.Options{}},
		"calls apart":        {profileOfP, convert.Options{JSCalls: convert.JSCallsSeparate}},
		"no calls":           {profileOfP, convert.Options{JSCalls: convert.JSCallsOff}},
		"no arguments":       {profileOfP, convert.Options{NoArgs: true}},
		"name of the thread": {profileOfP, convert.Options{SelfProfile: convert.SelfProfileOptions{ThreadName: "worker"}}},
	} {
		_, short, err := joined(pagesTrace, c.profiles, c.opts)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		open := func(text string) func() (io.ReadCloser, error) {
			return func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
		}
		job := &merge.Job{
			Sources: []merge.Source{{Name: "trace", File: "trace", Open: open(pagesTrace)}, {Name: "profile", File: "profile", Open: open(c.profiles)}},
			Options: merge.Options{Reference: -1},
		}
		var long bytes.Buffer
		if _, err := convert.Convert(merge.With(t.Context(), job), &long, strings.NewReader(""), c.opts); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := ofMerge.ReplaceAllString(strings.Join(dumpLines(t, long.Bytes()), "\n"), "")
		if diff := cmp.Diff(want, strings.Join(dumpLines(t, short), "\n")); diff != "" {
			t.Errorf("%s (-merge +join):\n%s", name, diff)
		}
	}
}

// dumpLines are the events of a trace as text, sorted.
func dumpLines(t *testing.T, data []byte) []string {
	t.Helper()
	tl, _, err := load(t, string(data), convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if result, err := pftrace.Verify(t.Context(), bytes.NewReader(data), pftrace.VerifyOptions{}); err != nil || !result.OK() {
		t.Errorf("the trace is not valid: %v, %+v", err, result)
	}
	text, err := tracetext.Dump(t.Context(), tl)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return lines
}

// TestJoinSeveralPages: each profile of a file is in the process of its page, at the time origin of that. One that the trace does not know is
// an error that says which.
func TestJoinSeveralPages(t *testing.T) {
	report, out, err := joined(pagesTrace, "["+profileOfQ+","+profileOfP+"]", convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []convert.Joined{
		{By: "navigation", TimeOrigin: 1_500_000_000, Uncertainty: 101_000, PID: 7, TID: 8},
		{By: "navigation", TimeOrigin: 1_000_000_000, Uncertainty: 101_000, PID: 5, TID: 6},
	}
	if diff := cmp.Diff(want, report.Joined); diff != "" {
		t.Error(diff)
	}
	text := strings.Join(dumpLines(t, out), "\n")
	for _, line := range []string{"1100000000", "1520000000"} {
		if !strings.Contains(text, line) {
			t.Errorf("no event at %s ns:\n%s", line, text)
		}
	}
	other := strings.ReplaceAll(profileOfP, "/p", "/other")
	_, _, err = joined(pagesTrace, profileOfQ+other, convert.Options{})
	if want := fmt.Sprintf("the profile at byte %d: no common clock", len(profileOfQ)); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
	// A time origin that someone gives is that of all of them.
	origin := weft.Nanos(2_000_000_000)
	report, out, err = joined(pagesTrace, profileOfQ+other, convert.Options{SelfProfile: convert.SelfProfileOptions{TimeOrigin: &origin}})
	if err != nil || len(report.Joined) > 0 {
		t.Fatal(err, report.Joined)
	}
	text = strings.Join(dumpLines(t, out), "\n")
	for _, line := range []string{"2100000000", "2020000000"} {
		if !strings.Contains(text, line) {
			t.Errorf("no event at %s ns:\n%s", line, text)
		}
	}
}

// TestMergePagesOfSeveralTraces: the profiles of a file are in the processes of their pages, which may be in several traces.
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
			"1000000000 begin 2147483647/8 FunctionCall dur=900000000", "1100000000 begin 5/2 f ", "1520000000 begin 1/3 g ",
		}},
	} {
		job := &merge.Job{Options: merge.Options{Reference: -1}}
		for _, input := range [][2]string{{"p", traceOfP}, {"q", c.traceOfQ}, {"profiles", profileOfP + profileOfQ}} {
			job.Sources = append(job.Sources, merge.Source{Name: input[0], File: input[0], Open: func() (io.ReadCloser, error) {
				return io.NopCloser(strings.NewReader(input[1])), nil
			}})
		}
		var out bytes.Buffer
		if _, err := convert.Convert(merge.With(t.Context(), job), &out, strings.NewReader(""), convert.Options{}); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		text := strings.Join(dumpLines(t, out.Bytes()), "\n")
		for _, line := range c.want {
			if !strings.Contains(text, "\n"+line) {
				t.Errorf("%s: no line %q in\n%s", c.name, line, text)
			}
		}
	}
}

// TestJoinBeforeZero: what a profile has before 0 on the clock of the trace is left out and counted, the rest stays.
func TestJoinBeforeZero(t *testing.T) {
	origin := weft.Nanos(-105_000_000)
	report, out, err := joined(pagesTrace, profileOfP, convert.Options{SelfProfile: convert.SelfProfileOptions{TimeOrigin: &origin}})
	if err != nil {
		t.Fatal(err)
	}
	var lost []string
	for _, p := range report.Problems {
		lost = append(lost, fmt.Sprintf("%s ×%d", p.Name, p.Count))
	}
	if diff := cmp.Diff([]string{"event_negative_timestamp ×1"}, lost); diff != "" {
		t.Error(diff)
	}
	samples := 0
	for _, line := range dumpLines(t, out) {
		if strings.Contains(line, "sample") {
			samples++
		}
	}
	if samples < 2 {
		t.Errorf("%d samples", samples)
	}
	origin = 1<<63 - 1
	if _, _, err := joined(pagesTrace, profileOfP, convert.Options{SelfProfile: convert.SelfProfileOptions{TimeOrigin: &origin}}); err == nil || !strings.Contains(err.Error(), "more than 292 years") {
		t.Errorf("error %v", err)
	}
}

// TestJoinKeepsLongProfiles: a profile that is longer than what is kept in memory is read twice all the same.
func TestJoinKeepsLongProfiles(t *testing.T) {
	long := strings.Replace(profileOfP, `"resources"`, `"note":"`+strings.Repeat("x", 6<<20)+`","resources"`, 1)
	report, out, err := joined(pagesTrace, long, convert.Options{TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	_, want, err := joined(pagesTrace, profileOfP, convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if report.BytesIn != int64(len(long)) || report.BytesUnpacked != int64(len(long)) {
		t.Errorf("%d bytes in, %d unpacked, want %d", report.BytesIn, report.BytesUnpacked, len(long))
	}
	if diff := cmp.Diff(dumpLines(t, want), dumpLines(t, out)); diff != "" {
		t.Error(diff)
	}
}

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
