package profilecalls

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/v8profile"
)

// row is a call in the tables of the conformance data, with times in whole microseconds. The tables also have the position of the
// call in the tree of calls and events, which this package does not compute.
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

// eachPair runs a test for each input in a folder of the conformance data and its expected result.
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

// recorded reads a recorded trace; the largest ones are not part of the project.
func recorded(t *testing.T, name string) *trace {
	t.Helper()
	return readTrace(t, recording.Read(t, recording.Large(t, "traces/"+name+".json")))
}
