package report

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

const ms = timeline.Nanos(1_000_000)

// trace builds a timeline with one thread.
type trace struct {
	t      *testing.T
	b      *timeline.Builder
	thread timeline.TrackID
	event  uint32
}

func newTrace(t *testing.T, d timeline.SampleDescription) *trace {
	b := timeline.NewBuilder(timeline.Options{Problems: new(problem.Log)})
	b.DescribeSamples(d)
	process := b.Process(timeline.ProcessKey{Num: 7})
	b.SetProcessName(process, 0, []byte("Renderer"))
	thread := b.Thread(process, timeline.ThreadKey{Num: 8})
	b.SetThreadName(thread, 0, []byte("main"))
	return &trace{t: t, b: b, thread: thread}
}

// inNanos describes samples whose weight is the time that they represent.
var inNanos = timeline.SampleDescription{Source: "legacy_v8", Unit: timeline.SampleUnitNanos}

func (tr *trace) add(ev timeline.Event) {
	tr.t.Helper()
	tr.event++
	ev.Event = tr.event
	if ev.Track == 0 {
		ev.Track = tr.thread
	}
	if err := tr.b.Add(&ev); err != nil {
		tr.t.Fatal(err)
	}
}

// sample adds a sample; the stack is a list of functions between bars, outermost first, each as function or function@url.
func (tr *trace) sample(at, weight timeline.Nanos, stack string) {
	tr.t.Helper()
	var id timeline.CallstackID
	for name := range strings.SplitSeq(stack, "|") {
		if name == "" {
			continue
		}
		function, url, _ := strings.Cut(name, "@")
		id = tr.b.PushFrame(id, tr.b.Frame(timeline.Frame{Function: function, File: url}))
	}
	tr.add(timeline.Event{Kind: timeline.Sample, TS: at, Value: timeline.Int(int64(weight)), Callstack: id})
}

// state adds a slice of the state track; if samples is -1, the slice does not record the number of samples.
func (tr *trace) state(role timeline.Role, at, dur timeline.Nanos, name string, samples int64) {
	tr.t.Helper()
	args := tr.b.Args()
	args.Reset()
	if samples >= 0 {
		args.OwnKey([]byte(timeline.OwnArgs))
		args.BeginDict()
		args.Key([]byte("samples"))
		args.Int(samples)
		args.EndDict()
	}
	id := tr.b.RoleTrack(tr.thread, role)
	tr.add(timeline.Event{Kind: timeline.Begin, Track: id, TS: at, Name: []byte(name), Args: args.Args()})
	tr.add(timeline.Event{Kind: timeline.End, Track: id, TS: at + dur})
}

// slice adds a slice on the thread. stack is the stack that Chrome records in beginData, innermost first, or empty.
func (tr *trace) slice(at, dur timeline.Nanos, name, category, stack string) {
	tr.t.Helper()
	args := tr.b.Args()
	args.Reset()
	if stack != "" {
		args.Key([]byte("beginData"))
		args.BeginDict()
		args.Key([]byte("stackTrace"))
		args.BeginArray()
		for i, function := range strings.Fields(stack) {
			args.BeginDict()
			args.Key([]byte("functionName"))
			args.String([]byte(function))
			args.Key([]byte("lineNumber"))
			args.Int(int64(i + 1))
			args.EndDict()
		}
		args.EndArray()
		args.EndDict()
	}
	tr.add(timeline.Event{Kind: timeline.Slice, TS: at, Dur: dur, Name: []byte(name), Category: []byte(category), Args: args.Args()})
}

// nested finishes and nests the timeline.
func (tr *trace) nested() *timeline.Timeline {
	tr.t.Helper()
	tl, err := tr.b.Finish(context.Background())
	if err != nil {
		tr.t.Fatal(err)
	}
	tr.t.Cleanup(func() { tl.Close() })
	if err := tl.Nest(context.Background()); err != nil {
		tr.t.Fatal(err)
	}
	return tl
}

func (tr *trace) collect() *Profiles {
	tr.t.Helper()
	p, err := Collect(context.Background(), tr.nested(), nil)
	if err != nil {
		tr.t.Fatal(err)
	}
	return p
}

// states returns the times of the only thread by state: "script 2×3ms".
func states(t *testing.T, p *Profiles) string {
	t.Helper()
	r, err := p.Samples(Options{})
	if err != nil || len(r.Threads) != 1 {
		t.Fatalf("%d threads, %v", len(r.Threads), err)
	}
	var all []string
	for _, s := range r.Threads[0].States {
		all = append(all, fmt.Sprintf("%s %d×%v", s.State, s.Samples, float64(s.Time)/1e6))
	}
	return strings.Join(all, ", ")
}

func (f Function) String() string {
	return fmt.Sprintf("%s self %d×%v total %d×%v", f.Function, f.Self.Sum().Samples, float64(f.Self.Sum().Time)/1e6,
		f.Total.Samples, float64(f.Total.Time)/1e6)
}

// Where only stacks are known, samples last until the next one, or one interval before a gap and at the end. The
// interval is 10 ms, so there is a gap of 90 ms.
func TestSamplesAlone(t *testing.T) {
	tr := newTrace(t, timeline.SampleDescription{Source: "chrome"})
	for i, stack := range []string{"a|b", "a", "", "a|(program)", "(root)|(idle)", "(root)|a|b|(garbage collector)"} {
		tr.sample(timeline.Nanos(i)*10*ms, 1, stack)
	}
	tr.sample(150*ms, 1, "a")
	p := tr.collect()
	if got, want := states(t, p), "script? 3×30, idle 2×20, gc 1×10, program 1×10"; got != want {
		t.Errorf("states %s, want %s", got, want)
	}
	r, _ := p.Samples(Options{})
	if th := r.Threads[0]; th.Gaps != 1 || th.GapTime != 90*ms || th.End != 160*ms || th.Process != "Renderer" || th.TID.Num != 8 {
		t.Errorf("%+v", th)
	}
}

// A state track determines the states of samples: by its sample counts, even where samples have no length, or by its times if it
// has no counts.
func TestStatesOfSamples(t *testing.T) {
	for _, counted := range []int64{1, 0, -1} {
		tr := newTrace(t, inNanos)
		count := func(n int64) int64 {
			if counted <= 0 {
				return counted
			}
			return n
		}
		tr.sample(0, 10*ms, "a")
		tr.sample(10*ms, 5*ms, "a|b|(layout)")
		tr.sample(15*ms, 5*ms, "a")
		tr.sample(20*ms, 10*ms, "")
		tr.state(timeline.RolePageStates, 0, 10*ms, "script", count(1))
		tr.state(timeline.RolePageStates, 10*ms, 5*ms, "layout", count(1))
		tr.state(timeline.RolePageStates, 15*ms, 5*ms, "script", count(1))
		tr.state(timeline.RolePageStates, 20*ms, 10*ms, "idle", count(1))
		p := tr.collect()
		if got, want := states(t, p), "script 2×15, idle 1×10, layout 1×5"; got != want {
			t.Errorf("count %d: states %s, want %s", counted, got, want)
		}
		r, _ := p.Samples(Options{})
		want := []string{"a self 2×15 total 3×20", "b self 1×5 total 1×5"} // the marker is not a function
		var got []string
		for _, f := range r.Threads[0].Functions {
			got = append(got, f.String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("count %d: functions (-want +got):\n%s", counted, diff)
		}
	}
}

// Samples without length: only the counts show that the second one is idle, and that it separates two busy runs.
func TestSamplesWithoutLength(t *testing.T) {
	tr := newTrace(t, inNanos)
	tr.sample(0, 10*ms, "a")
	tr.sample(10*ms, 0, "")
	tr.sample(10*ms, 10*ms, "a")
	tr.state(timeline.RolePageStates, 0, 10*ms, "script", 1)
	tr.state(timeline.RolePageStates, 10*ms, 0, "idle", 1)
	tr.state(timeline.RolePageStates, 10*ms, 10*ms, "script", 1)
	p := tr.collect()
	if got, want := states(t, p), "script 2×20, idle 1×0"; got != want {
		t.Errorf("states %s, want %s", got, want)
	}
	if n := len(p.Threads[0].runs); n != 2 {
		t.Errorf("%d busy runs, want 2", n)
	}
}

// From a trace whose samples were left out, the report still computes the time by state.
func TestStatesWithoutSamples(t *testing.T) {
	tr := newTrace(t, timeline.SampleDescription{})
	tr.state(timeline.RoleV8States, 0, 10*ms, "script", 3)
	tr.state(timeline.RoleV8States, 10*ms, 5*ms, "gc", 2)
	tr.state(timeline.RoleV8States, 15*ms, 5*ms, "program", -1)
	if got, want := states(t, tr.collect()), "script 3×10, gc 2×5, program 0×5"; got != want {
		t.Errorf("states %s, want %s", got, want)
	}
}

// Samples whose weights are not times last no longer than their state; parts of a state without samples still count as time in
// that state.
func TestStatesBoundSamples(t *testing.T) {
	tr := newTrace(t, timeline.SampleDescription{Source: "chrome"})
	tr.sample(0, 1, "a")
	tr.sample(12*ms, 1, "b")
	tr.sample(22*ms, 1, "c")
	tr.sample(60*ms, 1, "d")
	tr.sample(70*ms, 1, "d")
	tr.state(timeline.RoleV8States, 0, 4*ms, "script", 9)
	tr.state(timeline.RoleV8States, 4*ms, 4*ms, "idle", 9)
	tr.state(timeline.RoleV8States, 10*ms, 20*ms, "gc", 9)
	// script 0–4; idle 4–8; gc 10–12 without a sample, 12–22, 22–30; the last two have no state, and the very last lasts 10
	// ms, the interval. Each state records 9 samples; the missing ones count in its first part without a sample.
	if got, want := states(t, tr.collect()), "gc 9×20, script? 2×20, idle 9×4, script 1×4"; got != want {
		t.Errorf("states %s, want %s", got, want)
	}
}

func TestBuckets(t *testing.T) {
	tr := newTrace(t, inNanos)
	tr.sample(5*ms, 20*ms, "a")
	tr.sample(25*ms, 0, "a")
	tr.sample(25*ms, 30*ms, "")
	tr.sample(500*ms, 5*ms, "a")
	p := tr.collect()
	r, err := p.Samples(Options{Bucket: 10 * ms})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, b := range r.Threads[0].Buckets {
		got = append(got, fmt.Sprintf("%d: script %d×%d, idle %d×%d", b.Start/ms, b.Script.Samples, b.Script.Time/ms, b.Idle.Samples, b.Idle.Time/ms))
	}
	want := []string{
		"5: script 1×10, idle 0×0", "15: script 0×10, idle 0×0", "25: script 1×0, idle 1×10", "35: script 0×0, idle 0×10",
		"45: script 0×0, idle 0×10", "495: script 1×5, idle 0×0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("buckets of 10 ms (-want +got):\n%s", diff)
	}
	if _, err := p.Samples(Options{Bucket: 1}); !errors.Is(err, ErrTooManyBuckets) {
		t.Errorf("buckets of 1 ns: %v", err)
	}
	if _, err := p.GC(Options{Bucket: 501}); err != nil { // fewer than a million
		t.Errorf("buckets of 500 ns: %v", err)
	}
}

// A function that calls itself counts once for each sample.
func TestRecursion(t *testing.T) {
	tr := newTrace(t, inNanos)
	tr.sample(0, 10*ms, "f|g|f|f")
	tr.sample(10*ms, 10*ms, "f")
	r, err := tr.collect().Samples(Options{Top: 1})
	if err != nil {
		t.Fatal(err)
	}
	th := r.Threads[0]
	if th.FunctionCount != 2 || len(th.Functions) != 1 || th.Functions[0].String() != "f self 2×20 total 2×20" {
		t.Errorf("%d functions, the first %v", th.FunctionCount, th.Functions)
	}
}

// A collection borrows the stack of a sample in its busy run. A run of 50 ms or more counts as explained by collections if it
// would be shorter than 50 ms without them; the second run is long by itself.
func TestGC(t *testing.T) {
	tr := newTrace(t, inNanos)
	at := timeline.Nanos(0)
	add := func(dur timeline.Nanos, state, stack string) {
		tr.sample(at, dur, stack)
		tr.state(timeline.RoleV8States, at, dur, state, 1)
		at += dur
	}
	add(5*ms, "gc", "")
	add(40*ms, "script", "a|b")
	add(5*ms, "gc", "")
	add(10*ms, "idle", "")
	add(50*ms, "script", "a")
	add(1*ms, "gc", "a|c")
	add(10*ms, "idle", "")
	add(2*ms, "gc", "")
	r, err := tr.collect().GC(Options{})
	if err != nil {
		t.Fatal(err)
	}
	th := r.Threads[0]
	if want := (GCSources{Own: 1, Previous: 1, Next: 1, None: 1}); th.Stacks != want {
		t.Errorf("stacks %+v, want %+v", th.Stacks, want)
	}
	if th.BusyRuns != 3 || th.LongRuns != 2 || th.Explained != 1 || len(th.Runs) != 1 || th.Runs[0] != (GCRun{0, 3, 2, 50 * ms, 10 * ms}) {
		t.Errorf("runs %d, long %d, explained %d: %+v", th.BusyRuns, th.LongRuns, th.Explained, th.Runs)
	}
	if th.Samples != 4 || th.AllSamples != 8 || th.Covered != 123*ms {
		t.Errorf("%d of %d samples, which cover %d ns", th.Samples, th.AllSamples, th.Covered)
	}
	var got []string
	for _, s := range th.ByStack {
		names := ""
		for _, f := range s.Frames {
			names += f.Function
		}
		got = append(got, fmt.Sprintf("%s %d/%d total %d gc %d own %d", names, s.GCSamples, s.Samples, s.Total/ms, s.GC/ms, s.Own/ms))
	}
	want := []string{"ab 2/3 total 50 gc 10 own 40", " 1/1 total 2 gc 2 own 0", "ac 1/1 total 1 gc 1 own 0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stacks (-want +got):\n%s", diff)
	}
}

func forcedText(r *LayoutThrashing) (rows []string) {
	for _, th := range r.Threads {
		rows = append(rows, fmt.Sprintf("%s: other %d×%d", th.Basis, th.Unforced.Count, th.Unforced.Total/ms))
		for _, s := range th.ByStack {
			var names []string
			for _, f := range s.Frames {
				names = append(names, f.Function)
			}
			rows = append(rows, fmt.Sprintf("%s: %d, style %d×%d layout %d×%d, %d episodes in %d runs, most %d×%d and %d, %v", strings.Join(names, ">"),
				s.Count, s.StyleCount, s.Style/ms, s.LayoutCount, s.Layout/ms, s.Episodes, s.Runs, s.MaxPerRunCount, s.MaxPerRun/ms,
				s.MaxEpisodesPerRun, s.Thrashing))
		}
	}
	return rows
}

// Style and layout slices in Chrome traces count as forced if script runs around them or Chrome recorded the stack of the script.
// A style slice and the layout slice after it are one episode, a layout slice inside another does not count again, and a run is
// an outermost slice.
func TestForcedSlices(t *testing.T) {
	tr := newTrace(t, timeline.SampleDescription{})
	tr.slice(0, 100*ms, "RunTask", "toplevel", "")
	tr.slice(1*ms, 90*ms, "FunctionCall", "devtools.timeline", "")
	tr.slice(2*ms, 3*ms, "UpdateLayoutTree", "", "f main")
	tr.slice(5*ms, 10*ms, "Layout", "", "f main")
	tr.slice(6*ms, 4*ms, "UpdateLayoutTree", "", "f main") // inside that layout
	tr.slice(20*ms, 2*ms, "Layout", "", "f main")
	tr.slice(30*ms, 2*ms, "Layout", "", "g main")
	tr.slice(40*ms, 2*ms, "Layout", "", "") // only the slice around it is known
	tr.slice(95*ms, 3*ms, "Layout", "", "") // no script around it
	tr.slice(200*ms, 40*ms, "RunTask", "toplevel", "")
	tr.slice(201*ms, 30*ms, "Layout", "", "g main")
	tr.slice(300*ms, 40*ms, "RunTask", "toplevel", "")
	tr.slice(301*ms, 20*ms, "v8.run", "", "")
	tr.slice(302*ms, 18*ms, "outer", "disabled-by-default-v8.cpu_profiler", "")
	tr.slice(303*ms, 10*ms, "inner", "v8.cpu_profiler", "")
	tr.slice(304*ms, 1*ms, "Layout", "", "")                // inside sampled calls
	tr.slice(315*ms, 4*ms, "Layout", "v8.cpu_profiler", "") // a call of a function with this name
	tr.slice(316*ms, 1*ms, "Layout", "", "")
	want := []string{
		"slices: other 1×3",
		"main>g: 2, style 0×0 layout 2×32, 2 episodes in 2 runs, most 1×30 and 1, true",
		"main>f: 4, style 2×7 layout 2×8, 2 episodes in 1 runs, most 4×15 and 2, true",
		"FunctionCall: 1, style 0×0 layout 1×2, 1 episodes in 1 runs, most 1×2 and 1, false",
		"outer>Layout: 1, style 0×0 layout 1×1, 1 episodes in 1 runs, most 1×1 and 1, false",
		"outer>inner: 1, style 0×0 layout 1×1, 1 episodes in 1 runs, most 1×1 and 1, false",
	}
	if diff := cmp.Diff(want, forcedText(tr.collect().LayoutThrashing(Options{}))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A Firefox thread without categories does not count as running script merely because it has a stack.
func TestFirefoxWithoutCategories(t *testing.T) {
	tr := newTrace(t, timeline.SampleDescription{Source: "gecko"})
	for i, stack := range []string{"0x0|0x123@libc.so.6", "0x0|f@https://example.org/a.js", "", "0x0|0x123@libc.so.6"} {
		tr.sample(timeline.Nanos(i)*10*ms, 1, stack)
	}
	if got, want := states(t, tr.collect()), "other 2×20, idle 1×10, script? 1×10"; got != want {
		t.Errorf("states %s, want %s", got, want)
	}
}

// Firefox stacks contain browser functions. Only the script functions among them count as interrupted or as forcing layout.
func TestFirefoxStacks(t *testing.T) {
	tr := newTrace(t, timeline.SampleDescription{Source: "gecko"})
	native := "0x123@libxul.so|"
	for i, s := range []struct{ category, stack string }{
		{"JavaScript", native + "f@https://example.org/a.js|js::run@libxul.so"},
		{"Layout", native + "f@https://example.org/a.js|layout@libxul.so"},
		{"Layout", native + "layout@libxul.so"},
		{"GC / CC", native + "gc@libxul.so"},
		{"Idle", native},
	} {
		at := timeline.Nanos(i) * 10 * ms
		tr.sample(at, 1, s.stack)
		tr.state(timeline.RoleCategories, at, 10*ms, s.category, 1)
	}
	p := tr.collect()
	if got, want := states(t, p), "Layout 2×20, GC / CC 1×10, Idle 1×10, JavaScript 1×10"; got != want {
		t.Errorf("states %s, want %s", got, want)
	}
	want := []string{"samples: other 1×10", "f: 1, style 0×0 layout 1×10, 1 episodes in 1 runs, most 1×10 and 1, false"}
	if diff := cmp.Diff(want, forcedText(p.LayoutThrashing(Options{}))); diff != "" {
		t.Errorf("forced (-want +got):\n%s", diff)
	}
	r, err := p.GC(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s := r.Threads[0].ByStack; len(s) != 1 || len(s[0].Frames) != 1 || s[0].Frames[0].Function != "f" || s[0].GC != 10*ms {
		t.Errorf("stacks %+v", s)
	}
	if f := r.Threads[0].Stacks; f != (GCSources{Previous: 1}) {
		t.Errorf("stacks from %+v", f)
	}
}

// For random samples, the times by state, and the times by bucket, add up to the covered time; covered time and gaps add up to
// the whole.
func TestTimesAddUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 7))
	for range 50 {
		tr := newTrace(t, inNanos)
		at := timeline.Nanos(rng.Int64N(1e9))
		for range rng.IntN(200) + 1 {
			dur := timeline.Nanos(rng.Int64N(int64(20 * ms)))
			if rng.IntN(4) == 0 {
				dur = 0
			}
			tr.sample(at, dur, strings.Repeat("f|", rng.IntN(3)))
			tr.state(timeline.RolePageStates, at, dur, []string{"script", "gc", "idle", "layout", "new"}[rng.IntN(5)], 1)
			at += dur
			if rng.IntN(5) == 0 {
				at += timeline.Nanos(rng.Int64N(int64(50 * ms)))
			}
		}
		r, err := tr.collect().Samples(Options{Bucket: 7 * ms})
		if err != nil {
			t.Fatal(err)
		}
		th := r.Threads[0]
		var byState, byBucket ClassTime
		for _, s := range th.States {
			byState.sum(ClassTime{s.Samples, s.Time})
		}
		for _, b := range th.Buckets {
			byBucket.sum(b.Sum())
		}
		all := ClassTime{th.Samples, th.Covered}
		if byState != all || byBucket != all || th.Classes.Sum() != all || th.Covered+th.GapTime != th.End-th.Start {
			t.Fatalf("all %+v, by state %+v, by bucket %+v, gaps %d of %d", all, byState, byBucket, th.GapTime, th.End-th.Start)
		}
	}
}

// A category that all samples of a thread share has the same effect whether the trace records it as a fact or as a slice, even
// where the samples themselves are missing or their times and weights are lost.
func TestCategoryAsFact(t *testing.T) {
	gecko := timeline.SampleDescription{Source: sourceFirefox}
	for name, samples := range map[string][]timeline.Nanos{
		"regular": {0, 10 * ms, 20 * ms, 30 * ms}, "with a pause": {0, 10 * ms, 200 * ms, 210 * ms}, "one": {0}, "none": nil,
		"at one time": {0, 0, 0},
	} {
		for _, category := range []string{"Layout", "GC / CC", "Idle", "DOM"} {
			reports := func(asFact bool) (all []any) {
				tr := newTrace(t, gecko)
				end, n := 220*ms, int64(4)
				if len(samples) > 0 {
					end, n = samples[len(samples)-1]+10*ms, int64(len(samples))
				}
				if asFact {
					f := timeline.Fact{Kind: timeline.FactCategory, Text: category, Samples: n, End: end}
					tr.b.AddFact(tr.thread, f)
				} else {
					tr.state(timeline.RoleCategories, 0, end, category, n)
				}
				for i, at := range samples {
					tr.sample(at, 1, []string{"a|b@https://a.test/x.js", "a"}[i%2])
				}
				p := tr.collect()
				s, err := p.Samples(Options{})
				if err != nil {
					t.Fatal(err)
				}
				gc, err := p.GC(Options{Bucket: 50 * ms})
				if err != nil {
					t.Fatal(err)
				}
				return append(all, s, gc, p.LayoutThrashing(Options{}))
			}
			if diff := cmp.Diff(reports(false), reports(true)); diff != "" {
				t.Errorf("%s, %s: as a slice (-) and as a fact (+):\n%s", name, category, diff)
			}
		}
	}
}
