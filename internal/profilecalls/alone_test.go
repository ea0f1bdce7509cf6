package profilecalls

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/collections"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/v8profile"
)

// aloneRow is a row in the tables for profiles without a trace.
type aloneRow struct {
	row
	Depth    int
	SelfTime int64
}

// UnmarshalJSON reads a row.
func (r *aloneRow) UnmarshalJSON(data []byte) error {
	columns := []any{
		&r.Name, &r.TS, &r.Dur, &r.NodeID, &r.ScriptID, &r.Line, &r.Column, &r.SampleIndex, &r.Depth, &r.SelfTime,
	}
	return json.Unmarshal(data, &columns)
}

// compareAlone compares the calls of a profile with a table.
func compareAlone(t *testing.T, p *v8profile.Profile, expected []byte) {
	t.Helper()
	var want struct{ Calls []aloneRow }
	if err := json.Unmarshal(expected, &want); err != nil {
		t.Fatal(err)
	}
	var got []aloneRow
	stats, err := Alone(p, 0, func(c *AloneCall) error {
		if c.Order != int64(len(got)) {
			t.Fatalf("call %d comes as number %d", c.Order, len(got))
		}
		got = append(got, aloneRow{rowOf(p, &c.Call), c.Depth, int64(c.Self) / 1000})
		return nil
	})
	if stats != (AloneStats{}) || err != nil {
		t.Errorf("%+v, error %v", stats, err)
	}
	if diff := cmp.Diff(want.Calls, got, cmp.AllowUnexported(aloneRow{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// readProfile reads a valid .cpuprofile, whose samples may be out of order.
func readProfile(t *testing.T, data []byte) *v8profile.Profile {
	t.Helper()
	var log problem.Log
	p, err := v8profile.Read(bytes.NewReader(data), &log)
	if err != nil {
		t.Fatal(err)
	}
	for _, total := range log.Totals() {
		if total.Kind != problem.ProfileSamplesReordered {
			t.Errorf("%d times %s", total.Count, total.Kind)
		}
	}
	return p
}

// readAny reads a .cpuprofile that may be invalid.
func readAny(t *testing.T, text string) *v8profile.Profile {
	t.Helper()
	p, err := v8profile.Read(strings.NewReader(text), new(problem.Log))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestModels compares the calls of hand-made profiles with DevTools' calls.
func TestModels(t *testing.T) {
	eachPair(t, "model", ".cpuprofile", func(t *testing.T, input, expected []byte) {
		compareAlone(t, readProfile(t, input), expected)
	})
	eachPair(t, "model", ".json", func(t *testing.T, input, expected []byte) {
		compareAlone(t, readTrace(t, input).profiles[0].Profile, expected)
	})
}

// TestProfiles is TestModels for recorded profiles.
func TestProfiles(t *testing.T) {
	dir := filepath.Join(recording.Testdata(t), "conformance", "profile-calls", "cpuprofile")
	paths, err := filepath.Glob(filepath.Join(dir, "*.expected.json.gz"))
	if err != nil || len(paths) == 0 {
		t.Fatal("no tables", err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".expected.json.gz")
		t.Run(name, func(t *testing.T) {
			compareAlone(t, readProfile(t, recording.Bytes(t, "traces/cpuprofile/"+name+".cpuprofile")), recording.Read(t, path))
		})
	}
}

// TestAloneMemory alternates samples of two deep stacks, so that each sample begins as many calls as its stack has frames. Memory
// is bounded, and the error is returned before all samples are read.
func TestAloneMemory(t *testing.T) {
	const depth, samples = 500, 200
	var nodes, at, deltas []string
	for id := 1; id <= 2*depth; id++ {
		parent := id - 1
		if parent == depth {
			parent = 0
		}
		nodes = append(nodes, fmt.Sprintf(`,{"id":%d,"parent":%d,"callFrame":{"functionName":"f"}}`, id, parent))
	}
	for i := range samples {
		at, deltas = append(at, strconv.Itoa(depth*(1+i%2))), append(deltas, "1")
	}
	p := readProfile(t, []byte(`{"nodes":[{"id":0,"callFrame":{"functionName":"(root)"}}`+strings.Join(nodes, "")+`],"startTime":0,"samples":[`+
		strings.Join(at, ",")+`],"timeDeltas":[`+strings.Join(deltas, ",")+`]}`))
	for memory, want := range map[int64]int{0: depth * samples, 12 * depth * samples: depth * samples, 12*depth*samples - 1: 0, 1: 0} {
		calls := 0
		_, err := Alone(p, memory, func(*AloneCall) error { calls++; return nil })
		var noRoom *collections.MemoryLimitError
		if calls != want || errors.As(err, &noRoom) != (want == 0) {
			t.Errorf("%d bytes: %d calls, error %v; want %d calls", memory, calls, err, want)
		}
	}
}
