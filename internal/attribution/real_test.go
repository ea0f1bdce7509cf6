package attribution_test

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/recording"
)

// TestThreads compares 200 generated threads of explicit events with the results of catapult's importer.
func TestThreads(t *testing.T) {
	path := recording.Path(t, "conformance/contexts/fuzz/threads.expected.json")
	var want expected
	readJSON(t, path, &want)
	a := attribute(t, recording.Read(t, strings.Replace(path, ".expected.json", ".json", 1)), attribution.Rules{Sources: []attribution.Via{attribution.ViaExplicit}})
	stamps := a.stampsByEvent(t)
	for _, s := range want.Stamps {
		var event int
		if err := json.Unmarshal(s[0], &event); err != nil {
			t.Fatal(err)
		}
		if got, want := a.show(stamps[event], false), wantedSet(t, s[1], false); !slices.Equal(got, want) {
			t.Errorf("event %d: contexts %q, want %q", event, got, want)
		}
	}
	for name, n := range want.Counters {
		if got := countOf(t, a.problems, name); got != n {
			t.Errorf("%s: counted %d times, want %d", name, got, n)
		}
	}
}

// TestRecordedFrames compares the time of every frame on every thread of recorded traces with values that another
// program computed according to the rules.
func TestRecordedFrames(t *testing.T) {
	path := recording.Path(t, "conformance/contexts/real/chrome-devtools-tiny.expected.json")
	paths, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*.expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".expected.json")
		t.Run(name, func(t *testing.T) {
			trace := recording.Large(t, "traces/chrome/"+name+".json")
			checkRecordedFrames(t, path, trace)
		})
	}
}

func checkRecordedFrames(t *testing.T, path, trace string) {
	var want struct {
		expected
		Type    string             `json:"type"`
		Parents map[string]*string `json:"parents"`
		Threads []struct {
			PID    int64            `json:"pid"`
			TID    int64            `json:"tid"`
			BusyUs int64            `json:"busyUs"`
			SelfUs map[string]int64 `json:"selfUs"`
		} `json:"threads"`
	}
	readJSON(t, path, &want)
	a := attribute(t, recording.Read(t, trace), want.options(t))
	if got := a.problems.Count(problem.SlicesWithoutEnd); got != want.Counters["slices_without_end"] {
		t.Errorf("%d slices without end, want %d", got, want.Counters["slices_without_end"])
	}
	parents := map[string]string{}
	for child, parent := range want.Parents {
		if parent != nil {
			parents[child] = *parent
		}
	}
	got := map[string]string{}
	for n := range a.Contexts.Nodes {
		node := attribution.NodeID(n)
		if _, listed := want.Parents[a.identity(node)]; !listed || node == 0 {
			continue
		}
		if p := a.Contexts.Parent(a.Contexts.LogicalOf(node), attribution.LastTime); p != 0 {
			got[a.identity(node)] = a.identity(p)
		}
	}
	if !maps.Equal(got, parents) {
		t.Errorf("tree\n %v, want\n %v", got, parents)
	}
	for _, th := range want.Threads {
		busy := int64(0)
		self := a.selfOf(want.Type, th.PID, th.TID)
		for _, c := range self {
			busy += int64(c.wall)
		}
		if busy != th.BusyUs*1000 {
			t.Errorf("thread %d/%d was busy for %d ns, want %d µs", th.PID, th.TID, busy, th.BusyUs)
		}
		rows := map[string]bool{}
		for node := range self {
			rows[node] = true
		}
		for node := range th.SelfUs {
			rows[node] = true
		}
		for node := range rows {
			if got := int64(self[node].wall); got != th.SelfUs[node]*1000 {
				t.Errorf("thread %d/%d: %s has %d ns, want %d µs", th.PID, th.TID, node, got, th.SelfUs[node])
			}
		}
	}
}
