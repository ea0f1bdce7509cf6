package report_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/timeline"
)

// collectSlices makes the report on a trace in Chrome's format, whose times are microseconds.
func collectSlices(t *testing.T, events string, opts report.SliceOptions) *report.Slices {
	t.Helper()
	return collectSlicesOf(t, `{"traceEvents":[`+events+`]}`, opts)
}

func collectSlicesOf(t *testing.T, text string, opts report.SliceOptions) *report.Slices {
	t.Helper()
	tr, err := convert.Open(t.Context(), strings.NewReader(text), convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	r, err := report.CollectSlices(t.Context(), timeline.Of(tr), opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// micros converts microseconds to Nanos.
func micros(n int64) timeline.Nanos { return timeline.Nanos(n) * timeline.Microsecond }

// find returns a group of a table by name.
func find(t *testing.T, r *report.Slices, kind report.SliceKind, name string) report.SliceGroup {
	t.Helper()
	for _, g := range r.Groups {
		if g.Kind == kind && g.Name == name {
			return g
		}
	}
	t.Fatalf("no group %q among %+v", name, r.Groups)
	return report.SliceGroup{}
}

// The time of an inner slice is not part of the self time of the outer slice. In the total of a group, a slice inside another
// slice of the group does not count again.
func TestSelfAndTotal(t *testing.T) {
	r := collectSlices(t, `
		{"ph":"X","pid":1,"tid":2,"name":"outer","ts":100,"dur":100,"tts":10,"tdur":60},
		{"ph":"X","pid":1,"tid":2,"name":"inner","ts":110,"dur":50,"tts":20,"tdur":30},
		{"ph":"X","pid":1,"tid":2,"name":"inner","ts":120,"dur":10,"tts":25,"tdur":5},
		{"ph":"X","pid":1,"tid":3,"name":"inner","ts":110,"dur":7}`, report.SliceOptions{})
	on := &report.ThreadID{Thread: "", TID: timeline.InputID{Num: 2}, PID: timeline.InputID{Num: 1}}
	at, innerAt := micros(100), micros(110)
	cpu, innerCPU := micros(60), micros(30)
	want := []report.SliceGroup{
		{Kind: report.ThreadSlices, Name: "inner", Count: 3, Total: micros(57), Self: micros(57), CPU: &innerCPU,
			Mean: micros(67) / 3, P50: micros(10), P95: micros(50), P99: micros(50), Max: micros(50), MaxAt: &innerAt, MaxOn: on},
		{Kind: report.ThreadSlices, Name: "outer", Count: 1, Total: micros(100), Self: micros(50), CPU: &cpu,
			Mean: micros(100), P50: micros(100), P95: micros(100), P99: micros(100), Max: micros(100), MaxAt: &at, MaxOn: on},
	}
	if diff := gocmp.Diff(want, r.Groups, cmpopts.IgnoreFields(report.SliceGroup{}, "Spread")); diff != "" {
		t.Error(diff)
	}
	if r.Slices != 4 || r.Unfinished != 0 || r.Start != micros(100) || r.End != micros(200) {
		t.Errorf("%+v", r)
	}
}

// A slice without an end has no length, and the slices inside it count as directly inside the slice around it.
func TestUnfinishedSlices(t *testing.T) {
	r := collectSlices(t, `
		{"ph":"B","pid":1,"tid":2,"name":"outer","ts":0},
		{"ph":"B","pid":1,"tid":2,"name":"lost","ts":10},
		{"ph":"X","pid":1,"tid":2,"name":"inner","ts":20,"dur":30},
		{"ph":"E","pid":1,"tid":2,"name":"outer","ts":100},
		{"ph":"B","pid":1,"tid":3,"name":"lost","ts":50}`, report.SliceOptions{})
	if g := find(t, r, report.ThreadSlices, "outer"); g.Self != micros(70) || g.Total != micros(100) {
		t.Errorf("outer: %+v", g)
	}
	lost := report.SliceGroup{Kind: report.ThreadSlices, Name: "lost", Count: 2, Unfinished: 2}
	if diff := gocmp.Diff(lost, find(t, r, report.ThreadSlices, "lost")); diff != "" {
		t.Error(diff)
	}
	if r.Unfinished != 2 {
		t.Errorf("%d unfinished", r.Unfinished)
	}
}

// Slices that do not count still reduce the self time of the slice around them.
func TestSelectedSlices(t *testing.T) {
	r := collectSlices(t, `
		{"ph":"X","pid":1,"tid":2,"name":"outer","ts":0,"dur":100},
		{"ph":"X","pid":1,"tid":2,"name":"inner","ts":10,"dur":30}`,
		report.SliceOptions{Include: func(it *timeline.Item) bool { return string(it.Name) == "outer" }})
	if g := find(t, r, report.ThreadSlices, "outer"); len(r.Groups) != 1 || r.Slices != 1 || g.Self != micros(70) {
		t.Errorf("%+v", r.Groups)
	}
}

// Asynchronous slices are in a table of their own: they do not take time of threads.
func TestAsyncSlices(t *testing.T) {
	r := collectSlices(t, `
		{"ph":"X","pid":1,"tid":2,"name":"task","ts":0,"dur":100},
		{"ph":"b","pid":1,"tid":2,"cat":"net","id":1,"name":"fetch","ts":10},
		{"ph":"b","pid":1,"tid":2,"cat":"net","id":2,"name":"fetch","ts":20},
		{"ph":"e","pid":1,"tid":2,"cat":"net","id":1,"name":"fetch","ts":60},
		{"ph":"e","pid":1,"tid":2,"cat":"net","id":2,"name":"fetch","ts":80}`, report.SliceOptions{})
	if g := find(t, r, report.ThreadSlices, "task"); g.Self != micros(100) {
		t.Errorf("task: %+v", g)
	}
	if g := find(t, r, report.AsyncSlices, "fetch"); g.Count != 2 || g.Total != micros(110) || g.Self != micros(110) || g.MaxOn.Thread != "" {
		t.Errorf("fetch: %+v", g)
	}
}

// A percentile is the length of an actual slice: the smallest length that at least that percentage of the slices do not exceed.
// Exceeding the memory budget changes nothing.
func TestPercentiles(t *testing.T) {
	var events []string
	for i := range 20_000 { // lengths 1 to 20,000 µs, in another order
		length := (i*7919)%20_000 + 1
		events = append(events, fmt.Sprintf(`{"ph":"X","pid":1,"tid":2,"name":"work","ts":%d,"dur":%d}`, i*30_000, length))
	}
	text := "[" + strings.Join(events, ",") + "]"
	for _, memory := range []int64{1 << 16, 0} {
		tr, err := convert.Open(t.Context(), strings.NewReader(text), convert.Options{Memory: memory})
		if err != nil {
			t.Fatal(err)
		}
		r, err := report.CollectSlices(t.Context(), timeline.Of(tr), report.SliceOptions{})
		if err != nil {
			t.Fatal(err)
		}
		g := r.Groups[0]
		if g.P50 != micros(10_000) || g.P95 != micros(19_000) || g.P99 != micros(19_800) || g.Max != micros(20_000) || g.Mean != micros(20_001)/2 {
			t.Errorf("with %d bytes: %+v", memory, g)
		}
		if err := tr.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestGroupsOfSlices(t *testing.T) {
	const events = `
		{"ph":"M","pid":1,"tid":2,"name":"thread_name","args":{"name":"main"}},
		{"ph":"M","pid":1,"name":"process_name","args":{"name":"app"}},
		{"ph":"X","pid":1,"tid":2,"name":"a","cat":"x","ts":0,"dur":10,"args":{"data":{"type":"click"},"n":3}},
		{"ph":"X","pid":1,"tid":2,"name":"b","cat":"y","ts":20,"dur":20,"args":{"data":{"type":"click"}}},
		{"ph":"X","pid":1,"tid":3,"name":"b","cat":"x","ts":40,"dur":40,"args":{"data.type":"key"}}`
	for _, c := range []struct {
		opts report.SliceOptions
		want map[string]timeline.Nanos
	}{
		{report.SliceOptions{By: report.ByName}, map[string]timeline.Nanos{"a": micros(10), "b": micros(60)}},
		{report.SliceOptions{By: report.ByCategory}, map[string]timeline.Nanos{"x": micros(50), "y": micros(20)}},
		{report.SliceOptions{By: report.ByThread}, map[string]timeline.Nanos{
			"main [tid 2] of app [pid 1]": micros(30), "[tid 3] of app [pid 1]": micros(40),
		}},
		{report.SliceOptions{By: report.ByProcess}, map[string]timeline.Nanos{"app [pid 1]": micros(70)}},
		{report.SliceOptions{By: report.ByArgument, Argument: "n"}, map[string]timeline.Nanos{"3": micros(10), "": micros(60)}},
		{report.SliceOptions{By: report.ByArgument, Argument: "data.type"}, map[string]timeline.Nanos{"click": micros(30), "key": micros(40)}},
		{report.SliceOptions{Include: func(it *timeline.Item) bool { return string(it.Name) == "a" }}, map[string]timeline.Nanos{"a": micros(10)}},
	} {
		got := map[string]timeline.Nanos{}
		for _, g := range collectSlices(t, events, c.opts).Groups {
			got[g.Name] = g.Self
		}
		if diff := gocmp.Diff(c.want, got); diff != "" {
			t.Errorf("by %d: %s", c.opts.By, diff)
		}
	}
}

// If there are too many groups, the remaining slices share one group.
func TestTooManyGroups(t *testing.T) {
	var b strings.Builder
	const more = 10
	for i := range 1<<17 + more {
		fmt.Fprintf(&b, `{"ph":"X","pid":1,"tid":2,"name":"n%d","ts":%d,"dur":2},`, i, 10*i)
	}
	r := collectSlices(t, strings.TrimSuffix(b.String(), ","), report.SliceOptions{})
	if g := find(t, r, report.ThreadSlices, report.OthersGroup); g.Count != more || r.Others != more || g.Total != micros(2*more) {
		t.Errorf("%d others: %+v", r.Others, g)
	}
}

// torchTrace has two streams on one device. On the first, kernels run from 0 to 10, 5 to 20 and 40 to 50 µs; on the second, a
// copy runs from 15 to 30 µs and a communicating kernel from 45 to 60 µs.
const torchTrace = `{
	"deviceProperties":[{"id":0,"name":"Example GPU"}], "distributedInfo":{"backend":"nccl","rank":3,"world_size":8},
	"traceEvents":[
		{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":0,"dur":10,"args":{"device":0,"stream":7}},
		{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":5,"dur":15,"args":{"device":0,"stream":7}},
		{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD","pid":0,"tid":9,"ts":15,"dur":15,"args":{"device":0,"stream":9,"bytes":4096}},
		{"ph":"X","cat":"kernel","name":"relu","pid":0,"tid":7,"ts":40,"dur":10,"args":{"device":0,"stream":7}},
		{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce","pid":0,"tid":9,"ts":45,"dur":15,"args":{"device":0,"stream":9}},
		{"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":42,"tid":42,"ts":0,"dur":25,"args":{}},
		{"ph":"X","cat":"user_annotation","name":"ProfilerStep#2","pid":42,"tid":42,"ts":25,"dur":25,"args":{}},
		{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":42,"tid":42,"ts":1,"dur":4,"args":{}},
		{"ph":"X","cat":"kernel","name":"do_syscall","pid":42,"tid":42,"ts":26,"dur":4,"args":{}}]}`

func TestDevices(t *testing.T) {
	r := collectSlicesOf(t, torchTrace, report.SliceOptions{})
	if diff := gocmp.Diff(&report.Job{Rank: 3, WorldSize: 8, Backend: "nccl"}, r.Job); diff != "" {
		t.Error(diff)
	}
	// Computing 0 to 20 and 40 to 50, copying 15 to 30, communicating 45 to 60: busy 0 to 30 and 40 to 60.
	if len(r.Devices) != 1 {
		t.Fatalf("%d devices", len(r.Devices))
	}
	d := r.Devices[0]
	d.Process, d.PID = "", timeline.InputID{}
	want := report.Device{
		Name: "Example GPU", Rank: new(int64(3)), Kernels: 4, Copies: 1, Bytes: 4096, Window: micros(60), Busy: micros(50), Idle: micros(10),
		Compute: micros(30), Communication: micros(15), Copy: micros(15), Hidden: micros(10), // 15 to 20 and 45 to 50
	}
	if diff := gocmp.Diff(want, d); diff != "" {
		t.Error(diff)
	}
	var streams []report.Stream
	for _, s := range r.Streams {
		s.ThreadID = report.ThreadID{}
		streams = append(streams, s)
	}
	wantStreams := []report.Stream{
		{Rank: new(int64(3)), Kernels: 3, Window: micros(60), Busy: micros(30), Idle: micros(30), Overlap: micros(5), LongestIdle: micros(20), LongestIdleAt: new(micros(20))},
		{Rank: new(int64(3)), Kernels: 1, Copies: 1, Window: micros(60), Busy: micros(30), Idle: micros(30), LongestIdle: micros(15), LongestIdleAt: new(micros(30))},
	}
	if diff := gocmp.Diff(wantStreams, streams); diff != "" {
		t.Error(diff)
	}
	// During the first step, the device is busy from 0 to 25; during the second, from 25 to 30 and 40 to 50.
	if len(r.Steps) != 2 || r.Steps[0].DeviceBusy != micros(25) || r.Steps[1].DeviceBusy != micros(15) || r.Steps[1].Duration != micros(25) {
		t.Errorf("%+v", r.Steps)
	}
	if g := find(t, r, report.Kernels, "gemm"); g.Count != 2 || g.Self != micros(25) {
		t.Errorf("%+v", g)
	}
	if g := find(t, r, report.Copies, "Memcpy HtoD"); g.Bytes != 4096 {
		t.Errorf("%+v", g)
	}
	find(t, r, report.Operators, "aten::mm")
	find(t, r, report.ThreadSlices, "do_syscall") // not a device kernel
}

// This example prints the times of the slices in a trace, by name.
func ExampleCollectSlices() {
	const events = `[
		{"ph":"X","pid":1,"tid":1,"name":"request","ts":0,"dur":900},
		{"ph":"X","pid":1,"tid":1,"name":"query","ts":100,"dur":300},
		{"ph":"X","pid":1,"tid":1,"name":"query","ts":500,"dur":100}]`
	ctx := context.Background()
	trace, err := convert.Open(ctx, strings.NewReader(events), convert.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer trace.Close()
	r, err := report.CollectSlices(ctx, timeline.Of(trace), report.SliceOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, g := range r.Groups {
		fmt.Printf("%s: %d, self %d ns, longest %d ns\n", g.Name, g.Count, g.Self, g.Max)
	}
	// Output:
	// request: 1, self 500000 ns, longest 900000 ns
	// query: 2, self 400000 ns, longest 300000 ns
}
