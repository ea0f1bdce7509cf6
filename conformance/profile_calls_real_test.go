package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/recording"
)

// TestProfileCallTraces is TestProfileCallCases for recorded traces.
func TestProfileCallTraces(t *testing.T) {
	callTables(t, "real", numCallTraces, func(t *testing.T, name, _ string, expected []byte) {
		folder := "chrome"
		if strings.HasPrefix(name, "node") {
			folder = "node"
		}
		output, report := convertCalls(t, recording.Read(t, recording.Large(t, "traces/"+folder+"/"+name+".json")), convert.Options{JSCalls: convert.JSCallsDevTools})
		if leftOut := compareCalls(t, name, expected, output); leftOut != leftOutOf[name] {
			t.Errorf("the engine left %d calls out of its trees, not %d", leftOut, leftOutOf[name])
		}
		compareLost(t, name, report)
	})
}

// TestProfileCallFiles compares the calls of .cpuprofile files with DevTools', except for pseudo functions, which are
// states in weft's traces; the self time of a call around a garbage collection is therefore not comparable.
func TestProfileCallFiles(t *testing.T) {
	compare := func(t *testing.T, input, expected []byte) {
		var want callThread
		if err := json.Unmarshal(expected, &want); err != nil {
			t.Fatal(err)
		}
		want.Calls = slices.DeleteFunc(want.Calls, func(c call) bool {
			return c.Name == "(program)" || c.Name == "(idle)" || c.Name == "(garbage collector)"
		})
		output, _ := convertCalls(t, input, convert.Options{})
		var got []call
		for _, th := range callsOf(t, output) {
			got = append(got, th.Calls...)
		}
		for i := range want.Calls {
			want.Calls[i].Self = 0
		}
		for i := range got {
			got[i].Self = 0
		}
		if diff := gocmp.Diff(want.Calls, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	callTables(t, "cpuprofile", numCallFiles, func(t *testing.T, name, _ string, expected []byte) {
		compare(t, recording.Bytes(t, "traces/cpuprofile/"+name+".cpuprofile"), expected)
	})
	callTables(t, "model", numCallModels+1, func(t *testing.T, name, dir string, expected []byte) {
		if name == "SH01_chunks" {
			compare(t, fileOfChunks(t, recording.Read(t, filepath.Join(dir, name+".json"))), expected)
			return
		}
		compare(t, recording.Read(t, filepath.Join(dir, name+".cpuprofile")), expected)
	})
}

// fileOfChunks makes a .cpuprofile from a trace with one profile: its table describes only the profile, and calls in a
// trace end by other rules.
func fileOfChunks(t *testing.T, trace []byte) []byte {
	t.Helper()
	var in struct {
		TraceEvents []struct {
			Name string
			TS   int64
			Args struct {
				Data struct {
					CPUProfile struct {
						Nodes   []json.RawMessage
						Samples []int64
					}
					TimeDeltas []int64
				}
			}
		}
	}
	if err := json.Unmarshal(trace, &in); err != nil {
		t.Fatal(err)
	}
	var out struct {
		Nodes      []json.RawMessage `json:"nodes"`
		StartTime  int64             `json:"startTime"`
		Samples    []int64           `json:"samples"`
		TimeDeltas []int64           `json:"timeDeltas"`
	}
	for _, ev := range in.TraceEvents {
		switch d := &ev.Args.Data; ev.Name {
		case "Profile":
			out.StartTime = ev.TS
		case "ProfileChunk":
			out.Nodes = append(out.Nodes, d.CPUProfile.Nodes...)
			out.Samples = append(out.Samples, d.CPUProfile.Samples...)
			out.TimeDeltas = append(out.TimeDeltas, d.TimeDeltas...)
		}
	}
	file, err := json.Marshal(&out)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// leftOutOf holds the number of calls that the trace engine drops from its trees, by recording.
var leftOutOf = map[string]int{"node-v24-all-node_trace": 4}

// lostTime is the table of testdata/conformance/profile-calls/README.md: the JavaScript samples whose innermost
// function no call shows, by process and thread.
var lostTime = map[string][]string{
	"chrome-array-tiny":              {"27138/27138: 149 samples, 21142 µs; lost 0, 0 µs"},
	"chrome-devtools-tiny":           {"26809/26809: 162 samples, 19648 µs; lost 0, 0 µs"},
	"chrome-devtools-small":          {"14449/14449: 844 samples, 112301 µs; lost 1, 197 µs", "14466/14466: 712 samples, 78850 µs; lost 7, 567 µs"},
	"chrome-devtools-ui-saved-small": {"26497/26497: 513 samples, 62570 µs; lost 0, 0 µs"},
	"chrome-with-selfprof-and-inspector": {
		"31591/31591: 2010 samples, 317516 µs; lost 24, 5464 µs",
	},
	"chrome-devtools-medium": {
		"14775/14775: 79 samples, 94503 µs; lost 0, 0 µs", "14779/14779: 6007 samples, 1382637 µs; lost 20, 12084 µs",
		"14779/14881: 652 samples, 325685 µs; lost 2, 718 µs", "14779/14882: 275 samples, 8011 µs; lost 0, 0 µs",
		"14779/14942: 620 samples, 334000 µs; lost 12, 6434 µs", "14779/14944: 269 samples, 23577 µs; lost 0, 0 µs",
		"14792/14792: 1749 samples, 385116 µs; lost 4, 1198 µs", "14855/14855: 1814 samples, 421831 µs; lost 8, 123 µs",
		"14856/14856: 1782 samples, 317953 µs; lost 4, 884 µs",
	},
	"node-v24-all-node_trace": {"21883/21883: 841 samples, 343007 µs; lost 0, 0 µs"},
}

// compareLost compares the lost samples in the report with the table.
func compareLost(t *testing.T, name string, report *convert.Report) {
	t.Helper()
	text, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		JSCalls []struct {
			PID     int64 `json:"pid"`
			TID     int64 `json:"tid"`
			Samples int64 `json:"samples"`
			Time    int64 `json:"time_ns"`
			Lost    int64 `json:"lost_samples"`
			LostNs  int64 `json:"lost_time_ns"`
		} `json:"js_calls"`
	}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range r.JSCalls {
		if c.Samples > 0 {
			got = append(got, fmt.Sprintf("%d/%d: %d samples, %d µs; lost %d, %d µs", c.PID, c.TID, c.Samples, c.Time/1000, c.Lost, c.LostNs/1000))
		}
	}
	slices.Sort(got)
	if diff := gocmp.Diff(lostTime[name], got); diff != "" {
		t.Errorf("lost time: -want +got:\n%s", diff)
	}
}

// treeNode is an event or call in the tree, with times in microseconds.
type treeNode struct {
	Name     string     `json:"name"`
	TS       int64      `json:"ts"`
	Dur      int64      `json:"dur"`
	Depth    int64      `json:"depth"`
	Self     int64      `json:"self"`
	Children []treeNode `json:"children"`
}

// TestProfileCallTrees compares the nesting of events with DevTools' tree. Calls are given as events before the others,
// because the samples that would make them are unknown; at a full tie the first one is outside.
func TestProfileCallTrees(t *testing.T) {
	path := filepath.Join(recording.Testdata(t), "conformance", "profile-calls", "trees", "trees.json")
	var trees []struct {
		Name          string
		Events, Calls []treeNode
		Keep          []string
		Expected      struct {
			Roots    []treeNode
			MaxDepth int64
			LeftOut  []string
		}
	}
	if err := json.Unmarshal(recording.Read(t, path), &trees); err != nil || len(trees) != numCallTrees {
		t.Fatal(len(trees), err)
	}
	for _, tree := range trees {
		t.Run(tree.Name, func(t *testing.T) {
			var input bytes.Buffer
			input.WriteString(`[`)
			for _, ev := range slices.Concat(tree.Calls, tree.Events) {
				if len(tree.Keep) == 0 || slices.Contains(tree.Keep, ev.Name) {
					fmt.Fprintf(&input, `{"ph":"X","pid":1,"tid":1,"name":%q,"ts":%d,"dur":%d},`, ev.Name, ev.TS, ev.Dur)
				}
			}
			input.WriteString(`{}]`)
			p, _ := mustProject(t, input.Bytes(), convert.Options{})
			var leftOut []string
			for _, s := range p.slices {
				if s.track.kind == kindOverflow {
					leftOut = append(leftOut, s.name)
				}
			}
			if diff := gocmp.Diff(tree.Expected.Roots, treeOf(p, nil, 0)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if !slices.Equal(leftOut, tree.Expected.LeftOut) {
				t.Errorf("left out %q, want %q", leftOut, tree.Expected.LeftOut)
			}
		})
	}
}

// treeOf returns the slices directly within another one, with their descendants.
func treeOf(p *projection, parent *slice, depth int64) []treeNode {
	var nodes []treeNode
	for _, s := range p.slices {
		if s.track.kind != kindThread || s.parent != parent {
			continue
		}
		n := treeNode{Name: s.name, TS: s.ts / 1000, Dur: s.dur / 1000, Depth: depth, Self: s.dur / 1000}
		n.Children = treeOf(p, s, depth+1)
		for _, c := range n.Children {
			n.Self -= c.Dur
		}
		nodes = append(nodes, n)
	}
	return nodes
}
