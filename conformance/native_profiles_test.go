package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	pb "github.com/weft-trace/weft/gen/perfetto/protos"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/tracetext"
	"github.com/weft-trace/weft/trace"
)

var sameValue = gocmp.Comparer(func(a, b trace.Value) bool { return a.Kind() == b.Kind() && a.String() == b.String() })

// TestNativeProfileCalls compares what V8's profiles make of every Perfetto recording of Chrome with what they make of the
// same recording as JSON: calls with all that they say, states and samples must be equal, to the nanosecond. The calls of
// JSON traces are held against those of DevTools in TestProfileCallTraces.
func TestNativeProfileCalls(t *testing.T) {
	for _, f := range recording.In(t, "perfetto") {
		t.Run(f.Name, func(t *testing.T) {
			input := recording.Read(t, f.Path)
			twin := asJSON(t, input)
			for _, mode := range []convert.JSCalls{convert.JSCallsDevTools, convert.JSCallsRefined} {
				opts := convert.Options{JSCalls: mode, Profile: convert.ProfileAll}
				want, got := sampledWork(t, twin, opts), sampledWork(t, input, opts)
				if len(got.calls) < 50 || len(got.samples) < 1000 {
					t.Errorf("only %d calls and %d samples", len(got.calls), len(got.samples))
				}
				for _, list := range []struct {
					of        string
					want, got []string
				}{{"calls", want.calls, got.calls}, {"states", want.states, got.states}, {"samples", want.samples, got.samples}} {
					if slices.Equal(list.want, list.got) {
						continue
					}
					t.Errorf("--js-calls %v: %d %s are %d in JSON; the first that differ, -JSON +Perfetto: %s",
						mode, len(list.got), list.of, len(list.want), firstDifference(list.want, list.got))
				}
				if diff := gocmp.Diff(want.report.JSCalls, got.report.JSCalls, sameValue); diff != "" {
					t.Errorf("--js-calls %v: -JSON +Perfetto:\n%s", mode, diff)
				}
				if diff := gocmp.Diff(want.report.Profiles, got.report.Profiles, sameValue); diff != "" {
					t.Errorf("-JSON +Perfetto:\n%s", diff)
				}
			}
		})
	}
}

// TestNativeProfilesSameBytes holds that neither workers nor memory change what profiles in Perfetto traces become.
func TestNativeProfilesSameBytes(t *testing.T) {
	for _, name := range []string{"chrome-devtools-tiny.pftrace", "chrome-paired-tiny.pftrace"} {
		if _, report := convertCalls(t, recording.Bytes(t, "traces/perfetto/"+name), convert.Options{JSCalls: convert.JSCallsRefined}); len(report.JSCalls) == 0 {
			t.Errorf("%s: no calls", name)
		}
	}
}

// TestNativeProfilesOnce holds that what weft wrote is read as it is: what was made of profiles is made once, whether their
// events are still there, as they are with --js-calls off --samples none, or not.
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

// firstDifference shows the first lines of two lists that differ.
func firstDifference(want, got []string) string {
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			return fmt.Sprintf("\n-%s\n+%s", want[i], got[i])
		}
	}
	return "one ends early"
}

// sampledOf is what samples of V8 have become, one line each.
type sampledOf struct {
	calls, states, samples []string
	report                 *convert.Report
}

// sampledWork converts an input and returns what its samples have become, sorted.
func sampledWork(t *testing.T, input []byte, opts convert.Options) *sampledOf {
	t.Helper()
	report, err := convert.Inspect(t.Context(), bytes.NewReader(input), opts)
	if err != nil {
		t.Fatal(err)
	}
	tl, err := load(t.Context(), bytes.NewReader(input), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer tl.Close()
	all := &sampledOf{report: report}
	for i := range report.Profiles {
		report.Profiles[i].Process = "" // names are metadata, which the JSON has not
	}
	for i := range report.JSCalls {
		report.JSCalls[i].Process = ""
	}
	err = tl.Walk(t.Context(), func(it *timeline.Item) error {
		line := fmt.Sprintf("%d +%d %s %s", it.TS, it.Dur, tracetext.Path(tl, it.Track), it.Name)
		switch {
		case it.Kind == timeline.ItemSample:
			for _, f := range tl.Callstack(it.Callstack) {
				line += fmt.Sprintf(";%v", tl.Frame(f))
			}
			all.samples = append(all.samples, fmt.Sprint(line, " ", it.Value))
		case it.Kind == timeline.ItemBegin && string(it.Category) == "v8.cpu_profiler":
			all.calls = append(all.calls, line+" "+tracetext.ArgsText(tl, it.Args))
		case it.Kind == timeline.ItemBegin && tl.Role(it.Track) == timeline.RoleV8States:
			all.states = append(all.states, line+" "+tracetext.ArgsText(tl, it.Args))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range [][]string{all.calls, all.states, all.samples} {
		slices.Sort(list)
	}
	return all
}

// asJSON writes what a Perfetto trace of Chrome has on its threads, and the pieces of profiles, as Chrome writes JSON.
func asJSON(t *testing.T, native []byte) []byte {
	t.Helper()
	marks := legacyMarks(t, native)
	events, _ := convertTrace(t, native, eventsOnly) // Open makes samples of the events of profiles
	tl, err := load(t.Context(), bytes.NewReader(events), convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer tl.Close()
	var out bytes.Buffer
	out.WriteString(`{"traceEvents":[`)
	for id := range timeline.TrackID(tl.TrackCount()) {
		if tr := tl.Track(id); tr.Kind == timeline.ThreadTrack {
			name, _ := json.Marshal(tr.Name)
			fmt.Fprintf(&out, `{"ph":"M","pid":%d,"tid":%d,"name":"thread_name","args":{"name":%s}},`+"\n", tr.PID, tr.TID, name)
		}
	}
	err = tl.Walk(t.Context(), func(it *timeline.Item) error {
		on := tl.Track(it.Track)
		data, id, isPiece := pieceOf(tl, it)
		if isPiece {
			on = tl.Track(on.Parent)
		}
		if on.Kind != timeline.ThreadTrack || it.Kind != timeline.ItemBegin && it.Kind != timeline.ItemInstant {
			return nil
		}
		ph, rest := "I", `"s":"t",`+traceIDs(tl, it.Args)
		switch {
		case isPiece:
			ph, rest = "P", fmt.Sprintf(`"id":%q,"args":{"data":%s},`, id, data)
		case it.Kind == timeline.ItemBegin && it.Dur == timeline.NoTime:
			ph = "B"
		case it.Kind == timeline.ItemBegin:
			ph, rest = "X", rest+fmt.Sprintf(`"dur":%d.%03d,`, it.Dur/1000, it.Dur%1000)
		case marks[string(it.Name)]:
			ph = "R"
		}
		name, _ := json.Marshal(string(it.Name))
		fmt.Fprintf(&out, `{"ph":%q,"pid":%d,"tid":%d,"ts":%d.%03d,%s"name":%s},`+"\n", ph, on.PID, on.TID, it.TS/1000, it.TS%1000, rest, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return append(bytes.TrimRight(out.Bytes(), ",\n"), "]}"...)
}

// pieceOf returns the JSON text and the id of a piece of a profile that weft kept as an instant.
func pieceOf(tl *timeline.Timeline, it *timeline.Item) (data, id string, ok bool) {
	if name := string(it.Name); it.Kind != timeline.ItemInstant || name != "Profile" && name != "ProfileChunk" {
		return "", "", false
	}
	for a := range tl.ArgList(it.Args) {
		switch string(a.Key) {
		case "data":
			data = string(a.Text())
		case "weft":
			for m := range tl.Members(a) {
				if string(m.Key) == "id" {
					id = string(m.Text())
				}
			}
		}
	}
	return data, id, true
}

// traceIDs returns those arguments as JSON, with a comma after them, by which an event says which stack was recorded for it.
func traceIDs(tl *timeline.Timeline, args timeline.Args) string {
	var members []string
	for a := range tl.ArgList(args) {
		switch key := string(a.Key); key {
		case "sampleTraceId":
			members = append(members, fmt.Sprintf(`"sampleTraceId":%d`, number(a)))
		case "beginData", "data":
			inside := "{}"
			if a.Kind == timeline.ArgDict {
				for m := range tl.Members(a) {
					if string(m.Key) == "sampleTraceId" {
						inside = fmt.Sprintf(`{"sampleTraceId":%d}`, number(m))
					}
				}
			}
			members = append(members, fmt.Sprintf("%q:%s", key, inside))
		}
	}
	return `"args":{` + strings.Join(members, ",") + `},`
}

// number returns an argument that is an unsigned integer, 0 if it is none.
func number(a timeline.Arg) uint64 {
	switch a.Kind {
	case timeline.ArgUint:
		return a.Uint()
	case timeline.ArgInt:
		return uint64(a.Int())
	}
	return 0
}

// legacyMarks returns the names of the events of phase R in a trace. weft's traces do not tell them from other instants.
func legacyMarks(t *testing.T, native []byte) map[string]bool {
	t.Helper()
	packets, err := unpack(native)
	if err != nil {
		t.Fatal(err)
	}
	names := map[uint32]map[uint64]string{} // by sequence and interned id
	marks := map[string]bool{}
	for _, p := range packets {
		of := p.GetTrustedPacketSequenceId()
		if names[of] == nil || p.GetSequenceFlags()&uint32(pb.TracePacket_SEQ_INCREMENTAL_STATE_CLEARED) != 0 {
			names[of] = map[uint64]string{}
		}
		for _, n := range p.GetInternedData().GetEventNames() {
			names[of][n.GetIid()] = n.GetName()
		}
		if e := p.GetTrackEvent(); e.GetLegacyEvent().GetPhase() == 'R' {
			marks[e.GetName()+names[of][e.GetNameIid()]] = true
		}
	}
	return marks
}

// TestPairedProfiles compares the profiles of two recordings of one run, as JSON and as a Perfetto trace. The JSON began
// later: it has no head of the profile, so that all its samples are displaced by one time, and no nodes from before, so that
// it knows a part of the samples and stacks only. What it has must be in the other. The calls are those of DevTools, which begin
// with a sample; the refined ones begin with the event that they made, and displaced samples are in other events.
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

// thread is a thread by its ids.
type thread struct {
	pid int32
	tid int64
}

// stackAt is a sample.
type stackAt struct {
	ts    timeline.Nanos
	stack string // frames, the outermost first
}

// callAt is a call: the function and its node, and the index of the sample that began it, -1 if an event did.
type callAt struct {
	ts, dur timeline.Nanos
	what    string
	sample  int64
}

// samplesAndCalls converts a trace and returns the samples and calls of its threads.
func samplesAndCalls(t *testing.T, input []byte) (map[thread][]stackAt, map[thread][]callAt) {
	t.Helper()
	tl, err := load(t.Context(), bytes.NewReader(input), convert.Options{JSCalls: convert.JSCallsDevTools})
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

// displaced is a time by which samples are apart from others, and how many are.
type displaced struct {
	by    timeline.Nanos
	times int
}

// displacement returns by which time most samples of a part are apart from those of the whole.
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
