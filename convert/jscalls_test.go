package convert_test

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/testkit"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/pftrace"
	"github.com/weft-trace/weft/trace"
)

// twoNodes contains the root and a function f that it calls.
const twoNodes = `"nodes":[{"id":1,"callFrame":{"functionName":"(root)"}},{"id":2,"parent":1,"callFrame":{"functionName":"f"}}]`

// sampledTimeline lists the calls, states and samples in a trace as lines with time in µs, track and description.
func sampledTimeline(t *testing.T, input string, opts convert.Options) (lines []string, report *convert.Report) {
	t.Helper()
	tl, report, err := loadText(t, input, opts)
	if err != nil {
		t.Fatal(err)
	}
	err = tl.Walk(context.Background(), func(it *timeline.Item) error {
		at := fmt.Sprintf("%d %s ", it.TS/1000, testkit.Path(tl, it.Track))
		switch {
		case it.Kind == timeline.ItemSample:
			lines = append(lines, at+"sample")
		case it.Kind == timeline.ItemBegin:
			lines = append(lines, fmt.Sprintf("%s%s +%d", at, it.Name, it.Dur/1000))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines, report
}

func problemCounts(r *convert.Report) string {
	var all []string
	for _, p := range r.Problems {
		all = append(all, fmt.Sprintf("%s×%d", p.Name, p.Count))
	}
	return strings.Join(all, " ")
}

// head returns the head event of a profile. According to the sampler, the profile started 3 µs earlier.
func head(tid, ts int, id, source string) string {
	return fmt.Sprintf(`{"ph":"P","pid":1,"tid":%d,"ts":%d,"name":"Profile","id":%q,"args":{"data":{"startTime":%d,"source":%q}}}`,
		tid, ts, id, ts-3, source)
}

// piece returns a piece of a profile: f was running 10 and 20 µs after the profile's start.
func piece(ts int, id string) string {
	return fmt.Sprintf(`{"ph":"P","pid":1,"tid":9,"ts":%d,"name":"ProfileChunk","id":%q,"args":{"data":{"cpuProfile":{%s,"samples":[2,2]},
		"timeDeltas":[10,10]}}}`, ts, id, twoNodes)
}

const (
	mainThread = `{"ph":"M","pid":1,"tid":1,"name":"thread_name","args":{"name":"CrRendererMain"}}`
	// wholeProfile is an event from old versions of Chrome.
	wholeProfile = `{"ph":"I","s":"t","pid":1,"tid":2,"ts":700,"name":"CpuProfile","args":{"data":{"cpuProfile":{` + twoNodes +
		`,"startTime":100,"endTime":130,"samples":[2,2],"timeDeltas":[10,10]}}}}`
)

// profileCases contains the expected tracks of each profile's calls, states and samples. The last sample of f ends the call in a
// trace; the state and the weight of the sample last one more interval.
var profileCases = []struct {
	name     string
	events   []string
	opts     convert.Options
	want     []string
	problems string
}{
	{
		"begin of the event", []string{head(2, 100, "0x1", ""), piece(150, "0x1")}, convert.Options{},
		[]string{"110 1/2 sample", "110 1/2 f +10", "110 1/2/track:V8_state script +20", "120 1/2 sample"}, "",
	},
	{
		"a whole profile in one event", []string{wholeProfile}, convert.Options{},
		[]string{"110 1/2 sample", "110 1/2 f +10", "110 1/2/track:V8_state script +20", "120 1/2 sample"}, "",
	},
	{
		"a whole profile, and an offset", []string{wholeProfile}, convert.Options{TimeOffset: -50_000},
		[]string{"60 1/2 sample", "60 1/2 f +10", "60 1/2/track:V8_state script +20", "70 1/2 sample"}, "",
	},
	{
		"another profile of the thread", []string{
			head(2, 100, "0x1", "SelfProfiling"), piece(150, "0x1"), head(2, 300, "0x2", "Internal"), piece(350, "0x2"),
		}, convert.Options{},
		[]string{"310 1/2 sample", "310 1/2 f +10", "310 1/2/track:V8_state script +20", "320 1/2 sample"}, "profile_not_chosen×1",
	},
	{
		"another profile of the thread, by its id", []string{
			head(2, 100, "0x1", "SelfProfiling"), piece(150, "0x1"), head(2, 300, "0x2", "Internal"), piece(350, "0x2"),
		}, convert.Options{Profile: "0x1"},
		[]string{"110 1/2 sample", "110 1/2 f +10", "110 1/2/track:V8_state script +20", "120 1/2 sample"}, "profile_not_chosen×1",
	},
	{
		"another profile of the thread, by process and id", []string{
			head(2, 100, "0x1", "SelfProfiling"), piece(150, "0x1"), head(2, 300, "0x2", "Internal"), piece(350, "0x2"),
		}, convert.Options{Profile: "1:0x1", JSCalls: convert.JSCallsOff},
		[]string{"110 1/2 sample", "110 1/2/track:V8_state script +20", "120 1/2 sample"}, "profile_not_chosen×1",
	},
	{
		"all profiles of the thread", []string{
			head(2, 100, "0x1", "SelfProfiling"), piece(150, "0x1"), head(2, 300, "0x2", "Internal"), piece(350, "0x2"),
		}, convert.Options{Profile: convert.ProfileAll},
		[]string{
			"110 1/3 sample", "110 1/3/track:V8_state script +20", "120 1/3 sample",
			"310 1/2 sample", "310 1/2 f +10", "310 1/2/track:V8_state script +20", "320 1/2 sample",
		}, "profile_not_chosen×1",
	},
	{
		// According to its deltas, the profile started 20 µs before its first piece.
		"one without head", []string{mainThread, piece(150, "0x1")}, convert.Options{},
		[]string{"140 1/1 sample", "140 1/1 f +10", "140 1/1/track:V8_state script +20", "150 1/1 sample"}, "profile_without_head×1",
	},
	{
		"one without head, and no event of the main thread", []string{piece(150, "0x1")}, convert.Options{},
		[]string{"140 1/1 sample", "140 1/1 f +10", "140 1/1/track:V8_state script +20", "150 1/1 sample"}, "profile_without_head×1",
	},
	{
		// Either could belong to the main thread, so both have separate tracks, without calls.
		"two without head", []string{mainThread, piece(150, "0x1"), piece(350, "0x2")}, convert.Options{},
		[]string{
			"140 1/2 sample", "140 1/2/track:V8_state script +20", "150 1/2 sample",
			"340 1/3 sample", "340 1/3/track:V8_state script +20", "350 1/3 sample",
		}, "profile_without_head×2 profile_not_chosen×2",
	},
	{
		// Two nodes are each other's parent, the last node is undefined, and the text is truncated.
		"damaged", []string{
			head(2, 100, "0x1", ""),
			`{"ph":"P","pid":1,"tid":9,"ts":150,"name":"ProfileChunk","id":"0x1","args":{"data":{"cpuProfile":{"nodes":[
				{"id":1,"callFrame":{"functionName":"(root)"}},{"id":2,"parent":1,"callFrame":{"functionName":"f"}},
				{"id":3,"parent":4},{"id":4,"parent":3}],"samples":[2,3,99,2]},"timeDeltas":[10,10,10,10]}}}`,
			`{"ph":"P","pid":1,"tid":9,"ts":190,"name":"ProfileChunk","id":"0x1","args":{"data":{"cpuProfile":{"samples":[2,2`,
		}, convert.Options{},
		[]string{"110 1/2 sample", "110 1/2 f +30", "110 1/2/track:V8_state script +40", "140 1/2 sample"},
		"json_partial_event×1 profile_node_unknown_parent×2 profile_sample_unknown_node×2 json_unterminated×1",
	},
	{
		// The first sample is before time 0, as are the starts of the call and the state.
		"begins before time 0", []string{wholeProfile}, convert.Options{TimeOffset: -115_000},
		[]string{"0 1/2 f +5", "0 1/2/track:V8_state script +15", "5 1/2 sample"}, "event_negative_timestamp×1 profile_slice_clamped×2",
	},
	{
		"ends at time 0", []string{wholeProfile}, convert.Options{TimeOffset: -120_000},
		[]string{"0 1/2 sample", "0 1/2/track:V8_state script +10"}, "event_negative_timestamp×2 profile_slice_clamped×1",
	},
	{
		"no calls", []string{head(2, 100, "0x1", ""), piece(150, "0x1")}, convert.Options{JSCalls: convert.JSCallsOff},
		[]string{"110 1/2 sample", "110 1/2/track:V8_state script +20", "120 1/2 sample"}, "",
	},
	{
		"no samples", []string{head(2, 100, "0x1", ""), piece(150, "0x1")}, convert.Options{Samples: pftrace.NoSamples},
		[]string{"110 1/2 f +10", "110 1/2/track:V8_state script +20"}, "",
	},
}

func TestProfilesOfATrace(t *testing.T) {
	for _, c := range profileCases {
		t.Run(c.name, func(t *testing.T) {
			got, report := sampledTimeline(t, "["+strings.Join(c.events, ",")+"]", c.opts)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			calls := int64(0)
			for _, line := range got {
				if strings.Contains(line, " f +") {
					calls++
				}
			}
			if len(report.JSCalls) > 0 && report.JSCalls[0].Calls != calls {
				t.Errorf("the report counts %d calls, and there are %d", report.JSCalls[0].Calls, calls)
			}
			if p := problemCounts(report); p != c.problems {
				t.Errorf("problems %s, want %s", p, c.problems)
			}
		})
	}
}

// TestChooseProfile lists the profiles in a trace, and rejects an unknown one.
func TestChooseProfile(t *testing.T) {
	input := "[" + strings.Join([]string{
		mainThread, head(1, 100, "0x1", "SelfProfiling"), piece(150, "0x1"), head(1, 300, "0x2", "Internal"), piece(350, "0x2"),
	}, ",") + "]"
	_, report := sampledTimeline(t, input, convert.Options{Profile: "0x1"})
	one := trace.NewValue(1)
	want := []convert.Profile{
		{PID: one, TID: one, Thread: "CrRendererMain", ID: "0x1", Source: "SelfProfiling", Samples: 2, Start: 100_000, End: 130_000, Chosen: true},
		{PID: one, TID: one, Thread: "CrRendererMain", ID: "0x2", Source: "Internal", Samples: 2, Start: 300_000, End: 330_000},
	}
	if diff := cmp.Diff(want, report.Profiles, cmp.Comparer(func(a, b trace.Value) bool { return a.Kind() == b.Kind() && a.String() == b.String() })); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, c := range []struct{ input, id, want string }{
		{input, "0x3", "there is no V8 profile 0x3; the trace has 0x1, 0x2"},
		{input, "2:0x1", "there is no V8 profile 2:0x1; the trace has 0x1, 0x2"},
		{"[" + mainThread + "]", "0x1", "there is no V8 profile 0x1; the trace has none"},
		{`{` + twoNodes + `,"samples":[2],"timeDeltas":[1]}`, "0x1", "this is a V8 CPU profile; a V8 profile can be chosen in a Chrome JSON trace or a Perfetto trace"},
	} {
		if _, _, err := loadText(t, c.input, convert.Options{Profile: c.id}); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.id, err, c.want)
		}
	}
}

// manyOnes is a list of a hundred million numbers that is never completely in memory. Another goroutine reads ahead in it.
type manyOnes struct{ left atomic.Int64 }

func (m *manyOnes) Read(p []byte) (int, error) {
	left := int(m.left.Load())
	if left == 0 {
		return 0, io.EOF
	}
	n := copy(p, strings.Repeat("1,", min(left, len(p)/2)))
	m.left.Add(-int64(n / 2))
	return n, nil
}

// TestProfileTooLarge checks that a profile that does not fit into memory leads to an error long before its end is read.
func TestProfileTooLarge(t *testing.T) {
	recording.NeedAll(t, "makes a profile beyond the limits")
	ones := new(manyOnes)
	ones.left.Store(100_000_000)
	input := io.MultiReader(strings.NewReader(`{`+twoNodes+`,"samples":[`), ones, strings.NewReader(`1]}`))
	_, _, err := convert.Load(context.Background(), input, convert.Options{From: convert.FormatCPUProfile, Memory: 1})
	if err == nil || !strings.Contains(err.Error(), "this input needs more than their limit of 256 MiB") {
		t.Error(err)
	}
	if left := ones.left.Load(); left < 80_000_000 {
		t.Errorf("%d of 100 million samples were read", 100_000_000-left)
	}
}

// An event index identifies exactly one event for weft view --event and weft flows --marker.
func TestEventIndexesAreUnique(t *testing.T) {
	for name, input := range map[string]string{
		"two sampled threads": head(1, 100, "0x1", "Inspector") + "," + piece(101, "0x1") + "," + head(2, 100, "0x2", "Inspector") + "," + piece(102, "0x2"),
		"a recording":         "",
	} {
		t.Run(name, func(t *testing.T) {
			if input = "[" + input + "]"; name == "a recording" {
				input = string(recording.Read(t, filepath.Join(recording.Testdata(t), "traces/chrome/chrome-with-selfprof-and-inspector.json.gz")))
			}
			tl, _, err := loadText(t, input, convert.Options{})
			if err != nil {
				t.Fatal(err)
			}
			seen, calls := map[uint32]string{}, map[timeline.TrackID]bool{}
			err = tl.Walk(context.Background(), func(it *timeline.Item) error {
				if it.Kind == timeline.ItemEnd || it.Kind == timeline.ItemCounter { // an event can have several values
					return nil
				}
				what := fmt.Sprintf("%s %q at %d", testkit.Path(tl, it.Track), it.Name, it.TS)
				if other := seen[it.Event]; other != "" {
					t.Errorf("event %d is %s and %s", it.Event, other, what)
				}
				if seen[it.Event] = what; string(it.Category) == timeline.CallCategory {
					calls[it.Track] = true
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(calls) == 0 {
				t.Error("there are no calls")
			}
		})
	}
}
