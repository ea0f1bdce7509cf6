package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/timeline"
)

func countCalls(t *testing.T, tr *trace, opts CallOptions) *Calls {
	t.Helper()
	calls, err := CountCalls(t.Context(), tr.nested(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return calls
}

// callArgs encodes the arguments of a FunctionCall event, in a dictionary or, if dict is "", side by side.
func callArgs(dict, url, function string) func(e *timeline.ArgsEncoder) {
	return func(e *timeline.ArgsEncoder) {
		if dict != "" {
			e.Key([]byte(dict))
			e.BeginDict()
		}
		e.Key([]byte("functionName"))
		e.String([]byte(function))
		e.Key([]byte("url"))
		e.String([]byte(url))
		if dict != "" {
			e.EndDict()
		}
	}
}

// functionArgs encodes the arguments of a js_function-entry probe.
func functionArgs(names, values [3]string) func(e *timeline.ArgsEncoder) {
	return func(e *timeline.ArgsEncoder) {
		e.OwnKey([]byte(timeline.OwnProbe))
		e.String([]byte("trace_mozilla:js_function-entry"))
		for i, name := range names {
			e.Key([]byte(name))
			e.String([]byte(values[i]))
		}
	}
}

// If a trace has call events, the report counts these and ignores samples.
func TestCallsOfEvents(t *testing.T) {
	tr := newTrace(t, inNanos)
	for i := range timeline.Nanos(3) {
		tr.addSlice(0, "FunctionCall", "devtools.timeline", i*ms, ms/2, callArgs("data", "http://a/x.js?v=1/2", "f"))
		tr.sample(i*ms, ms, "g@http://a/y.js")
	}
	tr.addSlice(0, "FunctionCall", "devtools.timeline", 4*ms, 1, nil)
	tr.addSlice(0, "FunctionCall", "imported", 5*ms, 1, callArgs("", "http://a/dir//", "imported"))
	tr.addSlice(0, "FunctionCall", "v8.cpu_profiler", 6*ms, 1, nil) // a function of that name
	tr.addSlice(0, "any", "any", 7*ms, 1, functionArgs([3]string{"file", "class", "function"}, [3]string{"/", "C", "p"}))
	tr.addSlice(0, "any", "any", 8*ms, 1, functionArgs([3]string{"arg0", "arg1", "arg2"}, [3]string{"a/b.js", "C", "q"}))
	tr.addSlice(0, "any", "any", 9*ms, 1, functionArgs([3]string{"function", "line", "file"}, [3]string{"r", "7", "c.js"}))
	tr.addSlice(0, "any", "any", 10*ms, 1, func(e *timeline.ArgsEncoder) { // a truncated line
		e.OwnKey([]byte(timeline.OwnProbe))
		e.String([]byte("trace_mozilla:js_function-entry"))
		e.Key([]byte("file"))
		e.String([]byte("d.js"))
	})
	want := &Calls{Unnamed: 1, Rows: []FunctionCall{
		{".", "", 1}, {"/", "p", 1}, {"b.js", "q", 1}, {"c.js", "r", 1}, {"dir", "imported", 1}, {"2", "f", 3},
	}}
	if diff := cmp.Diff(want, countCalls(t, tr, CallOptions{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A function counts as called when it is new on the stack of a sample. Garbage collections and native code do not end calls,
// because they hide the stack; an idle sample ends all calls.
func TestCallsOfSamples(t *testing.T) {
	tr := newTrace(t, inNanos)
	tr.addSlice(0, "FunctionCall", "devtools.timeline", 0, ms, callArgs("data", "http://a/x.js", "event"))
	for i, stack := range []string{
		"(root)|a@u/a.js", "(root)|a@u/a.js|b@u/a.js", "(root)|(garbage collector)", "(root)|a@u/a.js|b@u/a.js", "(root)|(program)",
		"(root)|a@u/a.js|b@u/a.js|b@u/a.js", // recursion
		"(root)|a@u/a.js|c@u/a.js", "(root)|a@u/a.js|b@u/a.js",
		"(root)|b@u/a.js",          // without its callers, which the sampler lost
		"(root)|a@u/a.js|b@u/a.js", // as before
		"(root)|(idle)", "(root)|a@u/a.js", "(root)|d@v/a.js",
	} {
		tr.sample(timeline.Nanos(i)*ms, ms, stack)
	}
	want := &Calls{Sampled: true, Rows: []FunctionCall{{"a.js", "c", 1}, {"a.js", "d", 1}, {"a.js", "a", 2}, {"a.js", "b", 3}}}
	if diff := cmp.Diff(want, countCalls(t, tr, CallOptions{Sampled: true})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// In Firefox, the frames of a function can have different lines, and stacks contain browser functions. Neither adds calls.
func TestCallsOfSamplesOfFirefox(t *testing.T) {
	tr := newTrace(t, timeline.SampleDescription{Source: sourceFirefox, Unit: timeline.SampleUnitNanos})
	push := func(at timeline.Nanos, frames ...timeline.Frame) {
		var id timeline.CallstackID
		for _, f := range frames {
			id = tr.b.PushFrame(id, tr.b.Frame(f))
		}
		tr.add(timeline.Event{Kind: timeline.Sample, TS: at, Value: timeline.Int(int64(ms)), Callstack: id})
	}
	f := func(line int64) timeline.Frame {
		return timeline.Frame{Function: "f", File: "http://a/x.js", Line: line}
	}
	native := timeline.Frame{Function: "Main::run"}
	push(0, native, f(1))
	push(ms, native, f(2), native)
	push(2*ms, native, f(2), native, f(3))
	push(3*ms, native)
	push(4*ms, native, f(1))
	want := &Calls{Sampled: true, Rows: []FunctionCall{{"x.js", "f", 3}}}
	if diff := cmp.Diff(want, countCalls(t, tr, CallOptions{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBaseName(t *testing.T) {
	for path, want := range map[string]string{
		"": ".", "/": "/", "///": "/", "a": "a", "a/b": "b", "/a/b//": "b", "http://x/app.js?v=1/2": "2", "dir/": "dir",
	} {
		if got := baseName(path); got != want {
			t.Errorf("base name of %q is %q, want %q", path, got, want)
		}
	}
}
