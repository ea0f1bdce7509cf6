package conformance

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/timeline"
)

// TestNativeProfilesOnce checks that reading weft's own output does not convert profiles a second time, whether the
// output still has their events (as with --js-calls off --samples none) or not.
func TestNativeProfilesOnce(t *testing.T) {
	for _, f := range recording.In(t, "perfetto") {
		t.Run(f.Name, func(t *testing.T) {
			for _, opts := range []convert.Options{{}, {Profile: convert.ProfileAll, JSCalls: convert.JSCallsDevTools}, eventsOnly} {
				first, report := convertTrace(t, recording.Read(t, f.Path), opts)
				second, again := convertTrace(t, first, convert.Options{NoLongTasks: opts.NoLongTasks})
				if report.Events != again.Events || len(again.Profiles)+len(again.JSCalls) > 0 {
					t.Errorf("%v: %+v became %+v, with calls of %v", opts.JSCalls, report.Events, again.Events, again.Profiles)
				}
				want, got := placedSlices(t, first), placedSlices(t, second)
				if !slices.Equal(want, got) {
					t.Errorf("%v: %s", opts.JSCalls, firstDifference(want, got))
				}
			}
		})
	}
}

// placedSlices returns the slices and instants of a trace, sorted: time, length, track and name.
func placedSlices(t *testing.T, trace []byte) (all []string) {
	t.Helper()
	p, err := project(trace)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range p.slices {
		all = append(all, fmt.Sprintf("%d +%d %s/%s/%s %s %s", s.ts, s.dur, s.track.pid, s.track.tid, s.track.name, s.category, s.name))
	}
	slices.Sort(all)
	return all
}

// firstDifference returns the first lines in which two lists differ.
func firstDifference(want, got []string) string {
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			return fmt.Sprintf("\n-%s\n+%s", want[i], got[i])
		}
	}
	return "one ends early"
}

// number returns an unsigned integer argument, or 0 for other arguments.
func number(a timeline.Arg) uint64 {
	switch a.Kind {
	case timeline.ArgUint:
		return a.Uint()
	case timeline.ArgInt:
		return uint64(a.Int())
	}
	return 0
}

// TestPairedProfiles compares the profiles of two recordings of one run, as JSON and as a Perfetto trace. The JSON
// started later: it lacks the head of the profile, so all its samples are shifted by the same amount, and earlier nodes,
// so it has only some of the samples and stacks. Its samples must be in the other recording. DevTools' calls start with a sample
// and are comparable; refined calls start with the event that made them, and shifted samples are in other events.
func TestPairedProfiles(t *testing.T) {
	load := func(name string) (samples map[thread][]stackAt, calls map[thread][]callAt) {
		return samplesAndCalls(t, recording.Bytes(t, "traces/"+name))
	}
	samples, calls := load("perfetto/chrome-paired-tiny.pftrace")
	partSamples, partCalls := load("chrome/chrome-paired-tiny.json")
	if len(partSamples) != 1 {
		t.Fatalf("samples on %d threads, want 1", len(partSamples))
	}
	for th, part := range partSamples {
		apart := displacement(samples[th], part)
		if len(part) != 55 || apart.times != len(part) || max(apart.by, -apart.by) > 1_000_000 {
			t.Fatalf("%d of %d samples are displaced by %v ns", apart.times, len(part), apart.by)
		}
		at := map[timeline.Nanos]string{}
		for _, s := range samples[th] {
			at[s.ts] = s.stack
		}
		for _, s := range part {
			if full := at[s.ts+apart.by]; !strings.HasSuffix(full, s.stack) {
				t.Errorf("%d: stack %s, want the end of %s", s.ts, s.stack, full)
			}
		}
		sampled := 0
		for _, c := range partCalls[th] {
			if c.sample < 0 {
				continue
			}
			sampled++
			begin := c.ts + apart.by
			if !slices.ContainsFunc(calls[th], func(o callAt) bool { return o.what == c.what && o.ts <= begin && begin <= o.ts+o.dur }) {
				t.Errorf("%d: call %s is not in the Perfetto trace", begin, c.what)
			}
		}
		if sampled < 100 {
			t.Errorf("only %d calls begin with a sample", sampled)
		}
	}
}

// thread identifies a thread.
type thread struct {
	pid int32
	tid int64
}

// stackAt is a sample.
type stackAt struct {
	ts    timeline.Nanos
	stack string // frames, outermost first
}

// callAt is a call: the function, its node, and the index of its first sample, -1 if an event started it.
type callAt struct {
	ts, dur timeline.Nanos
	what    string
	sample  int64
}

// samplesAndCalls converts a trace and returns the samples and calls of its threads.
func samplesAndCalls(t *testing.T, input []byte) (map[thread][]stackAt, map[thread][]callAt) {
	t.Helper()
	tl, err := loadTimeline(t.Context(), bytes.NewReader(input), convert.Options{JSCalls: convert.JSCallsDevTools, CallDetails: true})
	if err != nil {
		t.Fatal(err)
	}
	defer tl.Close()
	samples, calls := map[thread][]stackAt{}, map[thread][]callAt{}
	err = tl.Walk(t.Context(), func(it *timeline.Item) error {
		on := tl.Track(it.Track)
		th := thread{on.PID, on.TID}
		switch {
		case it.Kind == timeline.ItemSample:
			stack := ""
			for _, f := range tl.Callstack(it.Callstack) {
				stack += fmt.Sprintf(";%v", tl.Frame(f))
			}
			samples[th] = append(samples[th], stackAt{it.TS, stack})
		case it.Kind == timeline.ItemBegin && string(it.Category) == "v8.cpu_profiler":
			c := callAt{ts: it.TS, dur: it.Dur, what: string(it.Name)}
			for a := range tl.ArgList(it.Args) {
				if string(a.Key) != "weft" {
					c.what += fmt.Sprintf(" %s %s%d", a.Key, a.Text(), number(a))
					continue
				}
				for m := range tl.Members(a) {
					switch string(m.Key) {
					case "nodeId":
						c.what += fmt.Sprint(" node ", m.Int())
					case "sampleIndex":
						c.sample = m.Int()
					}
				}
			}
			calls[th] = append(calls[th], c)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return samples, calls
}

// displaced is a shift of samples and the number of samples with this shift.
type displaced struct {
	by    timeline.Nanos
	times int
}

// displacement returns the most frequent shift between the samples of a part and of the whole.
func displacement(whole, part []stackAt) (most displaced) {
	count := map[timeline.Nanos]int{}
	for _, p := range part {
		for _, w := range whole {
			by := w.ts - p.ts
			if count[by]++; count[by] > most.times {
				most = displaced{by, count[by]}
			}
		}
	}
	return most
}
