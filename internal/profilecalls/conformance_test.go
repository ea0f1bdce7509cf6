package profilecalls

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/v8profile"
)

// row is a call in the tables of the conformance data, in whole microseconds. The tables have the place of the call in
// the tree of calls and events as well, which is not known here.
type row struct {
	Name         string
	TS, Dur      int64
	NodeID       int64
	ScriptID     string
	Line, Column int32
	SampleIndex  int
}

// UnmarshalJSON reads the first columns of a row.
func (r *row) UnmarshalJSON(data []byte) error {
	columns := []any{&r.Name, &r.TS, &r.Dur, &r.NodeID, &r.ScriptID, &r.Line, &r.Column, &r.SampleIndex}
	return json.Unmarshal(data, &columns)
}

// rowOf returns the row of a call.
func rowOf(p *v8profile.Profile, c *Call) row {
	fn := p.FunctionOf(c.Node)
	r := row{
		Name: fn.Name, TS: int64(c.TS) / 1000, Dur: int64(c.Dur) / 1000, NodeID: p.Node(c.Node).ID,
		ScriptID: fn.ScriptID, Line: fn.Line, Column: fn.Column, SampleIndex: -1,
	}
	if c.Sample >= 0 {
		r.SampleIndex = p.Samples().Index(c.Sample)
	}
	return r
}

// wantThreads are the tables of a trace.
type wantThreads struct {
	Threads []struct {
		PID, TID  int64
		ProfileID string
		Calls     []row
	}
}

// compareThreads compares the calls of all threads of a trace with the tables.
func compareThreads(t *testing.T, tr *trace, expected []byte) {
	t.Helper()
	var want wantThreads
	if err := json.Unmarshal(expected, &want); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, r := range tr.profiles {
		if r.Chosen && !r.Orphan {
			found++
		}
	}
	if found != len(want.Threads) {
		t.Errorf("%d threads with calls, want %d", found, len(want.Threads))
	}
	for _, thread := range want.Threads {
		r := tr.chosen(thread.PID, thread.TID)
		if r == nil {
			t.Errorf("thread %d of process %d has no profile", thread.TID, thread.PID)
			continue
		}
		if r.ID != thread.ProfileID {
			t.Errorf("thread %d: profile %s, want %s", thread.TID, r.ID, thread.ProfileID)
		}
		calls, _ := tr.calls(r, DevTools)
		got := []row{}
		for i := range calls {
			got = append(got, rowOf(r.Profile, &calls[i]))
		}
		if diff := cmp.Diff(thread.Calls, got); diff != "" {
			t.Errorf("thread %d of process %d: -want +got:\n%s", thread.TID, thread.PID, diff)
		}
	}
}

// eachPair runs a test for each input of a folder of the conformance data and its expected result.
func eachPair(t *testing.T, folder, extension string, fn func(t *testing.T, input, expected []byte)) {
	t.Helper()
	dir := filepath.Join(recording.Testdata(t), "conformance", "profile-calls", folder)
	paths, err := filepath.Glob(filepath.Join(dir, "*.expected.json"))
	if err != nil || len(paths) == 0 {
		t.Fatal("no cases", err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".expected.json")
		input := filepath.Join(dir, name+extension)
		if matches, _ := filepath.Glob(input); len(matches) == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) { fn(t, recording.Read(t, input), recording.Read(t, path)) })
	}
}

// TestCases holds the calls of hand-made and of random traces equal to those of the trace engine of DevTools.
func TestCases(t *testing.T) {
	for _, folder := range []string{"cases", "fuzz"} {
		t.Run(folder, func(t *testing.T) {
			eachPair(t, folder, ".json", func(t *testing.T, input, expected []byte) {
				compareThreads(t, readTrace(t, input), expected)
			})
		})
	}
}

// recordings are the recorded traces whose calls are known.
var recordings = []string{
	"chrome/chrome-array-tiny", "chrome/chrome-devtools-tiny", "chrome/chrome-devtools-small",
	"chrome/chrome-devtools-ui-saved-small", "chrome/chrome-with-selfprof-and-inspector", "chrome/chrome-devtools-medium",
	"node/node-v24-all-node_trace",
}

// recorded reads a recorded trace; the largest ones are not part of the project.
func recorded(t *testing.T, name string) *trace {
	t.Helper()
	return readTrace(t, recording.Read(t, recording.Large(t, "traces/"+name+".json")))
}

// TestRecordings is TestCases for recorded traces.
func TestRecordings(t *testing.T) {
	for _, name := range recordings {
		t.Run(filepath.Base(name), func(t *testing.T) {
			expected := recording.Read(t, find(t, "real/"+filepath.Base(name)+".expected.json"))
			compareThreads(t, recorded(t, name), expected)
		})
	}
}

// TestRefined compares the calls by both rules with results made by hand: lines of name, begin and duration.
func TestRefined(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(recording.Testdata(t), "conformance", "profile-calls", "refined", "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatal("no cases", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			files := map[string]string{}
			for _, f := range txtar.Parse(recording.Read(t, path)).Files {
				files[f.Name] = string(f.Data)
			}
			tr := readTrace(t, []byte(files["trace.json"]))
			for mode, name := range []string{DevTools: "devtools", Refined: "refined"} {
				calls, _ := tr.calls(tr.profiles[0], Mode(mode))
				var got strings.Builder
				for _, c := range calls {
					fmt.Fprintf(&got, "%s %d %d\n", tr.profiles[0].Profile.FunctionOf(c.Node).Name, c.TS/1000, c.Dur/1000)
				}
				if diff := cmp.Diff(files[name], got.String()); diff != "" {
					t.Errorf("%s: -want +got:\n%s", name, diff)
				}
			}
		})
	}
}
