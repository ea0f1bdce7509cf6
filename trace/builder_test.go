package trace_test

import (
	"bytes"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/pftrace"
	"github.com/weft-trace/weft/trace"
)

// finish finishes a Builder and returns the trace.
func finish(t *testing.T, b *trace.Builder) *trace.Trace {
	t.Helper()
	tr, err := b.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
	})
	return tr
}

// Events of one trace can be added to another, with everything that they refer to.
func TestCopyEvents(t *testing.T) {
	for _, name := range []string{"chrome/chrome-devtools-tiny.json.gz", "firefox/gecko/ff-gecko-tiny.json.gz"} {
		t.Run(name, func(t *testing.T) {
			from := openRecording(t, name)
			b := &trace.Builder{TempDir: t.TempDir()}
			to := map[trace.TrackID]trace.TrackID{}
			for track := range from.Tracks() {
				switch parent := to[track.Parent]; track.Kind {
				case trace.ProcessTrack:
					to[track.ID] = b.Process(track.PID, track.Name)
				case trace.ThreadTrack:
					to[track.ID] = b.Thread(parent, track.TID, track.Name)
				case trace.CounterTrack:
					to[track.ID] = b.Counter(parent, track.Name, track.Unit)
				default:
					to[track.ID] = b.Track(parent, track.Name)
				}
			}
			for ev, err := range from.Events() {
				if err != nil {
					t.Fatal(err)
				}
				ev.Track = to[ev.Track]
				if err := b.Add(*ev); err != nil {
					t.Fatal(err)
				}
			}
			made := finish(t, b)
			if made.Summary() != from.Summary() {
				t.Errorf("the copy has %+v, not %+v", made.Summary(), from.Summary())
			}
			// Tracks with equal names are merged, so the order of simultaneous events may differ.
			want, got := events(t, from, nothing), events(t, made, nothing)
			slices.Sort(want)
			slices.Sort(got)
			if i := slices.IndexFunc(want, func(line string) bool { _, ok := slices.BinarySearch(got, line); return !ok }); i >= 0 {
				t.Errorf("the copy does not have\n%s", want[i])
			}
		})
	}
}

// Invalid events lead to errors that describe them, in Finish at the latest, and never to a panic.
func TestBuilderMistakes(t *testing.T) {
	type tracks struct{ process, thread, counter trace.TrackID }
	event := func(change func(*trace.Event, tracks)) func(*trace.Builder, tracks) {
		return func(b *trace.Builder, tr tracks) {
			ev := trace.Event{Kind: trace.Slice, Track: tr.thread, Name: "a"}
			change(&ev, tr)
			if b.Add(ev) == nil {
				t.Errorf("%+v: Add returns no error", ev)
			}
		}
	}
	for want, mistake := range map[string]func(*trace.Builder, tracks){
		`"" is not a kind`:            event(func(ev *trace.Event, _ tracks) { ev.Kind = "" }),
		"it has no track":             event(func(ev *trace.Event, _ tracks) { ev.Track = 0 }),
		"did not make its track, 99":  event(func(ev *trace.Event, _ tracks) { ev.Track = 99 }),
		"the track of a process":      event(func(ev *trace.Event, tr tracks) { ev.Track = tr.process }),
		"counter values only":         event(func(ev *trace.Event, tr tracks) { ev.Track = tr.counter }),
		"its time is negative: -1 ns": event(func(ev *trace.Event, _ tracks) { ev.Time = -1 }),
		"its duration is negative":    event(func(ev *trace.Event, _ tracks) { ev.Duration = -1 }),
		"it begins at 9223372036854775806 ns and takes 1 ns": event(func(ev *trace.Event, _ tracks) {
			ev.Time, ev.Duration = math.MaxInt64-1, 1
		}),
		"it begins at 9223372036854775807 ns": event(func(ev *trace.Event, _ tracks) { ev.Time = math.MaxInt64 }),
		"the value of a counter is an int or a float, not string": event(func(ev *trace.Event, tr tracks) {
			ev.Kind, ev.Track, ev.Value = trace.Counter, tr.counter, trace.NewValue("1")
		}),
		"the value of a sample is an int or a float, not uint": event(func(ev *trace.Event, _ tracks) {
			ev.Kind, ev.Value = trace.Sample, trace.NewValue(uint64(math.MaxUint64))
		}),
		`thread 3 ("x"): track 999 is not a process`: func(b *trace.Builder, _ tracks) { b.Thread(999, 3, "x") },
		`thread 3 ("x"): track 2 is not a process`:   func(b *trace.Builder, tr tracks) { b.Thread(tr.thread, 3, "x") },
		`thread 3 ("x"): track 0 is not a process`:   func(b *trace.Builder, _ tracks) { b.Thread(0, 3, "x") },
		`track "x": nothing can be below track 999`:  func(b *trace.Builder, _ tracks) { b.Track(999, "x") },
		`track "x": nothing can be below track 3`:    func(b *trace.Builder, tr tracks) { b.Track(tr.counter, "x") },
		`counter "x": nothing can be below track 77`: func(b *trace.Builder, _ tracks) { b.Counter(77, "x", "") },
	} {
		b := new(trace.Builder)
		var tr tracks
		tr.process = b.Process(1, "p")
		tr.thread, tr.counter = b.Thread(tr.process, 2, "t"), b.Counter(tr.process, "c", "")
		mistake(b, tr)
		if _, err := b.Finish(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q", err, want)
		}
	}
}

// A finished Builder returns an error.
func TestBuilderAfterFinish(t *testing.T) {
	b := new(trace.Builder)
	process := b.Process(1, "p")
	thread := b.Thread(process, 2, "t")
	finish(t, b)
	if err := b.Add(trace.Event{Kind: trace.Slice, Track: thread}); err == nil {
		t.Error("Add returns no error")
	}
	if tr, err := b.Finish(t.Context()); tr != nil || err == nil {
		t.Errorf("Finish returns %v, %v", tr, err)
	}
	b.SetAttribute("key", trace.NewValue(1))
	if ids := []trace.TrackID{b.Process(3, ""), b.Thread(process, 3, ""), b.Track(0, "x"), b.Counter(0, "x", "")}; slices.Max(ids) != 0 {
		t.Errorf("the tracks made are %v", ids)
	}
}

// Everything that a Builder accepts at its limits is valid in the output.
func TestBuilderLimits(t *testing.T) {
	b := new(trace.Builder)
	process := b.Process(1, "p")
	thread := b.Thread(process, 2, "t")
	row := b.Track(thread, "row")
	for _, ev := range []trace.Event{
		{Kind: trace.Slice, Track: thread, Time: 5, Duration: math.MaxInt64 - 6, Name: "long"},
		{Kind: trace.Slice, Track: thread, Time: 10, Duration: 10, Name: "around"},
		{Kind: trace.Slice, Track: thread, Time: 12, Unfinished: true, Name: "unfinished"},
		{Kind: trace.Counter, Track: b.Counter(row, "n", ""), Time: math.MaxInt64 - 1, Value: trace.NewValue(1)},
		{Kind: trace.Sample, Track: thread, Time: 13},
	} {
		if err := b.Add(ev); err != nil {
			t.Fatal(err)
		}
	}
	tr := finish(t, b)
	for ev, err := range tr.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Kind == trace.Sample && ev.Value.Int() != 1 {
			t.Errorf("a sample without a value has the weight %v", ev.Value)
		}
		if ev.Name == "unfinished" && (ev.Unfinished || ev.Time+ev.Duration != 20) {
			t.Errorf("the unfinished slice ends at %d, its parent at 20", ev.Time+ev.Duration)
		}
	}
	var out bytes.Buffer
	if err := pftrace.Write(t.Context(), &out, tr, pftrace.Options{}); err != nil {
		t.Fatal(err)
	}
	if found, err := pftrace.Verify(t.Context(), &out, pftrace.VerifyOptions{Strict: true}); err != nil || !found.OK() {
		t.Errorf("error %v, findings %+v", err, found.Findings)
	}
}

// Addresses of native code and their binaries survive writing and reading.
func TestAddresses(t *testing.T) {
	var b trace.Builder
	thread := b.Thread(b.Process(1, "p"), 2, "t")
	stack := []trace.Frame{
		{File: "/bin/server", Binary: "/bin/server", Address: 0x1234},
		{Function: "main", File: "main.c", Line: 7, Binary: "/bin/server", Address: 0x10},
	}
	given := slices.Clone(stack)
	given[0].Binary = "" // File is the binary if the source is unknown
	if err := b.Add(trace.Event{Kind: trace.Sample, Track: thread, Time: 5, Stack: given}); err != nil {
		t.Fatal(err)
	}
	made := finish(t, &b)
	var out bytes.Buffer
	if err := pftrace.Write(t.Context(), &out, made, pftrace.Options{}); err != nil {
		t.Fatal(err)
	}
	read, err := convert.Open(t.Context(), &out, convert.Options{TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	for _, tr := range []*trace.Trace{made, read} {
		for ev, err := range tr.Events() {
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(ev.Stack, stack) {
				t.Errorf("the stack is %+v, not %+v", ev.Stack, stack)
			}
		}
	}
}

// A Builder closed without Finish leaves no files.
func TestBuilderClose(t *testing.T) {
	dir := t.TempDir()
	b := trace.Builder{Memory: 1, TempDir: dir}
	thread := b.Thread(b.Process(1, "p"), 2, "t")
	for i := range 200_000 {
		if err := b.Add(trace.Event{Kind: trace.Instant, Track: thread, Time: trace.Nanos(i), Name: "a"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, error %v", left, err)
	}
	if tr, err := b.Finish(t.Context()); tr != nil || err == nil {
		t.Errorf("Finish returns %v, %v", tr, err)
	}
}

// A Builder repairs all invalid UTF-8, so that the trace is valid.
func TestInvalidUTF8(t *testing.T) {
	const bad, good = "a\xffb", "a\uFFFDb"
	var b trace.Builder
	defer b.Close()
	thread := b.Thread(b.Process(1, bad), 2, bad)
	b.SetAttribute(bad, trace.NewValue(bad))
	counter := b.Counter(thread, bad, bad)
	frames := []trace.Frame{{Function: bad, File: bad, Binary: bad, Line: 1}}
	for _, ev := range []trace.Event{
		{Kind: trace.Slice, Track: thread, Name: bad, Category: bad, Args: trace.NewDict(trace.NewArg(bad, trace.NewDict(trace.NewArg(bad, bad)))), Stack: frames},
		{Kind: trace.Instant, Track: b.Track(thread, bad), Name: bad},
		{Kind: trace.Counter, Track: counter, Value: trace.NewValue(1)},
	} {
		if err := b.Add(ev); err != nil {
			t.Fatal(err)
		}
	}
	tr, err := b.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	var out bytes.Buffer
	if err := pftrace.Write(t.Context(), &out, tr, pftrace.Options{Compression: pftrace.Uncompressed}); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(out.Bytes(), []byte(bad)) {
		t.Error("a text that is not UTF-8 was written")
	}
	arg := func(ev *trace.Event) string {
		v, _ := ev.Args.Get(good, good)
		return v.String()
	}
	for ev, err := range tr.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Kind == trace.Slice && (ev.Name != good || ev.Category != good || arg(ev) != good || ev.Stack[0].Function != good) {
			t.Errorf("event %q of %q, arguments %v, stack %v", ev.Name, ev.Category, ev.Args, ev.Stack)
		}
	}
}

// An event that names a flow twice acts as if it named the flow once: if the flow both enters and leaves the event, the event
// continues the flow and does not end it.
func TestFlowNamedTwice(t *testing.T) {
	var b trace.Builder
	defer b.Close()
	thread := b.Thread(b.Process(1, ""), 1, "")
	add := func(at trace.Nanos, in []trace.FlowIn, out []trace.FlowID) {
		if err := b.Add(trace.Event{Kind: trace.Slice, Track: thread, Time: at, Duration: 1, FlowsIn: in, FlowsOut: out}); err != nil {
			t.Fatal(err)
		}
	}
	add(10, nil, []trace.FlowID{7, 7})
	add(20, []trace.FlowIn{{ID: 7}, {ID: 7}}, []trace.FlowID{7, 7})
	add(30, []trace.FlowIn{{ID: 7}, {ID: 7}}, nil)
	tr, err := b.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	var from []trace.Nanos // start of the arrow to each slice, in order
	times := map[trace.EventID]trace.Nanos{}
	for ev, err := range tr.Events() {
		if err != nil {
			t.Fatal(err)
		}
		times[ev.ID] = ev.Time
		for _, in := range ev.FlowsIn {
			from = append(from, times[in.From])
		}
	}
	if !slices.Equal(from, []trace.Nanos{10, 20}) || len(tr.Problems()) > 0 {
		t.Errorf("arrows from %v, problems %v", from, tr.Problems())
	}
}
