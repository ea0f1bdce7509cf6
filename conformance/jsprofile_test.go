package conformance

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	pb "github.com/weft-trace/weft/gen/perfetto/protos"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/recording"
)

// Expected numbers of self-profiles.
const (
	numSelfProfileCases = 13
	numSelfProfiles     = 8
)

// selfProfileResult is the part of a self-profile's result for the trace; the rest is for reports.
type selfProfileResult struct {
	TimeOriginNs int64              `json:"timeOriginNs"`
	IntervalNs   int64              `json:"intervalNs"`
	Samples      int                `json:"samples"`
	SlicesCount  int                `json:"slicesCount"`
	MaxDepth     int                `json:"maxDepth"`
	Gaps         int                `json:"gaps"`
	GapNs        int64              `json:"gapNs"`
	SplitNs      map[string]int64   `json:"splitNs"`
	CoveredNs    int64              `json:"coveredNs"`
	Counters     map[string]int64   `json:"counters"`
	Slices       []selfProfileSlice `json:"slices"`
}

// selfProfileSlice is one row of the slices: [name, startNs, durNs, depth].
type selfProfileSlice struct {
	Name       string
	Start, Dur int64
	Depth      int
}

func (s *selfProfileSlice) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&s.Name, &s.Start, &s.Dur, &s.Depth})
}

// TestSelfProfileCases compares the traces made from small self-profiles with the expected result, slice by slice.
func TestSelfProfileCases(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(recording.Testdata(t), "conformance", "jsprofile", "cases", "*.expected.json"))
	if err != nil || len(paths) != numSelfProfileCases {
		t.Fatalf("%d cases, %v; want %d", len(paths), err, numSelfProfileCases)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".expected.json")
		t.Run(name, func(t *testing.T) {
			want := readSelfProfileResult(t, path)
			if len(want.Slices) != want.SlicesCount {
				t.Fatalf("the result has %d slices instead of %d", len(want.Slices), want.SlicesCount)
			}
			checkSelfProfile(t, recording.Read(t, filepath.Join(filepath.Dir(path), name+".json")), want)
		})
	}
}

// TestSelfProfiles compares recordings, whose expected results contain only totals.
func TestSelfProfiles(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(recording.Testdata(t), "conformance", "jsprofile", "real", "*.expected.json"))
	if err != nil || len(paths) != numSelfProfiles {
		t.Fatalf("%d recordings, %v; want %d", len(paths), err, numSelfProfiles)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".expected.json")
		t.Run(name, func(t *testing.T) {
			checkSelfProfile(t, recording.Bytes(t, "traces/jsprofile/"+name+".json"), readSelfProfileResult(t, path))
		})
	}
}

func readSelfProfileResult(t *testing.T, path string) *selfProfileResult {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := &selfProfileResult{}
	if err := json.Unmarshal(text, want); err != nil {
		t.Fatal(err)
	}
	return want
}

// checkSelfProfile converts a self-profile and compares the trace with the expected result.
func checkSelfProfile(t *testing.T, input []byte, want *selfProfileResult) {
	t.Helper()
	output, _ := convertTrace(t, input, convert.Options{})
	p, err := project(output)
	if err != nil {
		t.Fatal(err)
	}
	got := &selfProfileResult{
		TimeOriginNs: want.TimeOriginNs, IntervalNs: want.IntervalNs, // not in the trace, but the lengths depend on them
		SplitNs: map[string]int64{},
	}
	for _, s := range p.slices {
		switch {
		case s.track.kind == kindThread && s.name == "sampling gap":
			got.Gaps++
		case s.track.kind == kindThread:
			depth := s.level()
			got.SlicesCount++
			got.MaxDepth = max(got.MaxDepth, depth+1)
			got.Slices = append(got.Slices, selfProfileSlice{s.name, s.ts, s.dur, depth})
		case s.track.name == "Browser activity":
			got.SplitNs[s.name] += s.dur
			got.CoveredNs += s.dur
		default:
			t.Errorf("slice %q on track %q", s.name, s.track.name)
		}
	}
	if want.Slices == nil {
		got.Slices = nil
	}
	packets, err := unpack(output)
	if err != nil {
		t.Fatal(err)
	}
	got.Samples, got.Counters, got.GapNs = weftNumbers(t, packets)
	checkWeights(t, packets, got.CoveredNs)
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("the trace differs from the right result (-want +got):\n%s", diff)
	}
}

// level returns the number of enclosing slices on the same track, including those without length.
func (s *slice) level() (n int) {
	for p := s.parent; p != nil; p = p.parent {
		n++
	}
	return n
}

// weftNumbers adds up weft's own arguments in a self-profile: on the state track the number of samples and the origins
// of the stacks of collections, on instants the length of gaps.
func weftNumbers(t *testing.T, packets []*pb.TracePacket) (samples int, counters map[string]int64, gaps int64) {
	t.Helper()
	all, err := events(packets)
	if err != nil {
		t.Fatal(err)
	}
	states := map[uint64]bool{}
	for _, packet := range packets {
		if d := packet.GetTrackDescriptor(); d.GetName() == "Browser activity" {
			states[d.GetUuid()] = true
		}
	}
	counters = map[string]int64{}
	for i := range all {
		for key, entry := range weftEntries(t, &all[i]) {
			n := entry.GetIntValue()
			switch onStates := states[all[i].track()]; {
			case key == "length_ns":
				gaps += n
			case onStates && key == "samples":
				samples += int(n)
			case onStates:
				counters[key] += n
			}
		}
	}
	return samples, counters, gaps
}

// checkWeights checks that the stack samples weigh nanoseconds that add up to the covered time.
func checkWeights(t *testing.T, packets []*pb.TracePacket, covered int64) {
	t.Helper()
	var sum uint64
	for _, packet := range packets {
		if d := packet.GetTracePacketDefaults().GetStackSampleDefaults(); d != nil {
			want := `source:"js_self_profiling" name:"time (ns)" unit:UNIT_NANOSECONDS`
			primary := d.GetPrimaryDescriptor()
			if got := fmt.Sprintf("source:%q name:%q unit:%v", d.GetSource(), primary.GetName(), primary.GetUnit()); got != want {
				t.Errorf("samples are %s; want %s", got, want)
			}
		}
		sum += cmp.Or(packet.GetStackSample(), packet.GetWeftIdleSample()).GetPrimaryWeight()
	}
	if sum != uint64(covered) {
		t.Errorf("the samples weigh %d ns, want %d", sum, covered)
	}
}
