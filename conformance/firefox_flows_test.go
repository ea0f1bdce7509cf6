package conformance

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/recording"
)

// numFirefoxFlowCases is the number of cases for Firefox's flows.
const numFirefoxFlowCases = 27

// firefoxFlowCase is the expected result of a case: each flow with its id and its members as [thread, label].
type firefoxFlowCase struct {
	Threads  []struct{ Markers []json.RawMessage }
	Expected struct {
		Flows []struct {
			ID      string
			Members [][2]any
		}
		Membership [][3]any
	}
}

// firefoxThreads are the threads of a case's profile, as in the output.
type firefoxThreads struct {
	Threads []struct {
		PID string
		TID int
	}
}

// TestFirefoxFlows compares the flows in converted profiles with the reference implementation's: the same flows, each
// with a unique id, and the same flows for each marker.
func TestFirefoxFlows(t *testing.T) {
	root := filepath.Join(recording.Testdata(t), "conformance", "firefox-flows")
	paths, err := filepath.Glob(filepath.Join(root, "cases", "*.json"))
	if err != nil || len(paths) != numFirefoxFlowCases {
		t.Fatalf("%d cases, %v; want %d", len(paths), err, numFirefoxFlowCases)
	}
	for _, path := range paths {
		name := filepath.Base(path)
		t.Run(strings.TrimSuffix(name, ".json"), func(t *testing.T) {
			var want firefoxFlowCase
			var threads firefoxThreads
			input := readJSON(t, filepath.Join(root, "profiles", name), &threads)
			readJSON(t, path, &want)
			p, report := mustProject(t, input, convert.Options{})
			if len(report.Problems) > 0 && !strings.HasPrefix(name, "D3") {
				t.Errorf("problems: %v", report.Problems)
			}
			checkFirefoxFlows(t, &want, &threads, p)
		})
	}
}

// readJSON reads a file into v and returns its text.
func readJSON(t *testing.T, path string, v any) []byte {
	t.Helper()
	input, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(input, v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return input
}

func checkFirefoxFlows(t *testing.T, want *firefoxFlowCase, threads *firefoxThreads, p *projection) {
	t.Helper()
	index := map[string]int{}
	for i, th := range threads.Threads {
		index[fmt.Sprintf("%s/%d", th.PID, th.TID)] = i
	}
	members := map[uint64][]string{}
	idText := map[uint64]map[string]bool{}
	membership := map[string]int{}
	for _, s := range p.slices {
		marker := fmt.Sprintf("[%d %s]", index[s.track.pid+"/"+s.track.tid], cmp.Or(s.args.marker, s.name))
		membership[marker] += len(s.flows)
		for _, end := range s.flows {
			members[end.id] = append(members[end.id], marker)
			if idText[end.id] == nil {
				idText[end.id] = map[string]bool{}
			}
			for _, a := range s.args.all {
				idText[end.id][a.value] = true
			}
		}
	}
	var got []string
	for id, list := range members {
		slices.Sort(list)
		got = append(got, strings.Join(list, " "))
		if len(list) != len(slices.Compact(slices.Clone(list))) {
			t.Errorf("flow %d names a marker twice: %v", id, list)
		}
	}
	var expected []string
	for _, f := range want.Expected.Flows {
		var list []string
		for _, m := range f.Members {
			list = append(list, fmt.Sprintf("[%v %v]", m[0], m[1]))
		}
		slices.Sort(list)
		expected = append(expected, strings.Join(list, " "))
		found := false
		for id := range members {
			found = found || slices.Equal(members[id], list) && idText[id][f.ID]
		}
		if !found {
			t.Errorf("no flow with the members %v, all of which have the id %s in their arguments", list, f.ID)
		}
	}
	slices.Sort(got)
	slices.Sort(expected)
	if diff := gocmp.Diff(expected, got); diff != "" {
		t.Errorf("members of flows: -want +got:\n%s", diff)
	}
	for _, row := range want.Expected.Membership {
		flows := row[2].([]any)
		if marker := fmt.Sprintf("[%v %v]", row[0], row[1]); membership[marker] != len(flows) {
			t.Errorf("%s is in %d flows, want %d", marker, membership[marker], len(flows))
		}
	}
	checkFlowOrder(t, p)
}

// checkFlowOrder checks that the members of each flow are in the order of their starts, and that it ends with the last.
func checkFlowOrder(t *testing.T, p *projection) {
	t.Helper()
	last := map[uint64]*slice{}
	ended := map[uint64]bool{}
	for _, s := range p.slices {
		for _, end := range s.flows {
			if ended[end.id] {
				t.Errorf("flow %d continues after its end at %d", end.id, s.ts)
			}
			if before := last[end.id]; before != nil && cmp.Compare(before.ts, s.ts) > 0 {
				t.Errorf("flow %d goes back in time to %d", end.id, s.ts)
			}
			last[end.id], ended[end.id] = s, end.terminating
		}
	}
}
