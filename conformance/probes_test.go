package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/recording"
)

// Expected numbers of probe-line files.
const (
	numProbeCases      = 29
	numProbeRecordings = 22
)

// probeResult is the part of a result for the trace; the rest is for reports. Slices and instants are [name, startNs,
// endNs, depth, tid, flags, args] and [name, ns, tid, flags, args].
type probeResult struct {
	Slices   []json.RawMessage `json:"slices"`
	Instants []json.RawMessage `json:"instants"`
	Counters map[string]uint64 `json:"counters"`
	Pairs    [][]any           `json:"pairs"`   // name, slices, ended, unbalanced, never ended, sum and maximum of the ended
	Threads  [][]any           `json:"threads"` // pid, tid, name
	Losses   [][2]int64        `json:"losses"`  // ns, lost
}

// TestProbeCases compares the traces made from small files of probe lines with the expected result.
func TestProbeCases(t *testing.T) {
	paths := probeResults(t, "cases/*.expected.json", numProbeCases)
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".expected.json")
		t.Run(name, func(t *testing.T) {
			input := recording.Read(t, filepath.Join(filepath.Dir(path), name+".probelines"))
			checkProbes(t, input, recording.Read(t, path))
			withCR := bytes.ReplaceAll(input, []byte("\n"), []byte("\r\n"))
			checkProbes(t, withCR, recording.Read(t, path))
		})
	}
}

// TestProbeRecordings compares recordings of bpftrace and DTrace.
func TestProbeRecordings(t *testing.T) {
	for _, path := range probeResults(t, "real/*.expected.json.gz", numProbeRecordings) {
		name := strings.TrimSuffix(filepath.Base(path), ".expected.json.gz")
		t.Run(name, func(t *testing.T) {
			checkProbes(t, recording.Bytes(t, "traces/probes/"+name+".probelines"), recording.Read(t, path))
		})
	}
}

func probeResults(t *testing.T, pattern string, count int) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(recording.Testdata(t), "conformance", "probes", pattern))
	if err != nil || len(paths) != count {
		t.Fatalf("%d results, %v; want %d", len(paths), err, count)
	}
	return paths
}

// checkProbes converts probe lines and compares the trace with the expected result.
func checkProbes(t *testing.T, input, expected []byte) {
	t.Helper()
	want := &probeResult{}
	if err := json.Unmarshal(expected, want); err != nil {
		t.Fatal(err)
	}
	p, report := mustProject(t, input, convert.Options{})
	if report.Format != convert.FormatProbes {
		t.Fatalf("the input was read as %s", report.Format)
	}
	got := &probeResult{Counters: map[string]uint64{}}
	pairs := map[string]*probePair{}
	names := map[[2]string]string{}
	for _, s := range p.slices {
		if s.name == "data loss" {
			if s.track.kind != kindAsync && s.track.kind != kindLeftOut || s.track.name != "data loss" {
				t.Errorf("a data loss is on track %q of kind %q", s.track.name, s.track.kind)
			}
			got.Losses = append(got.Losses, [2]int64{s.ts, numberArg(t, s.args, "lost")})
			continue
		}
		if s.track.kind != kindThread {
			t.Errorf("%q is on track %q of kind %q", s.name, s.track.name, s.track.kind)
		}
		names[[2]string{s.track.pid, s.track.tid}] = s.track.threadName
		r := probeRow(t, s)
		if s.instant {
			got.Instants = append(got.Instants, encode(t, s.name, s.ts, r.tid, r.flags, r.args))
			continue
		}
		got.Slices = append(got.Slices, encode(t, s.name, s.ts, s.ts+s.dur, s.level(), r.tid, r.flags, r.args))
		addPair(pairs, r, s.dur)
	}
	for _, problem := range report.Problems {
		got.Counters[problem.Name] = problem.Count
	}
	compareRows(t, "slices", want.Slices, got.Slices)
	compareRows(t, "instants", want.Instants, got.Instants)
	if diff := cmp.Diff(want.Losses, got.Losses); diff != "" && (want.Losses != nil || want.Counters["drops"] == 0) {
		t.Errorf("losses: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(want.Counters, got.Counters); diff != "" {
		t.Errorf("counters: -want +got:\n%s", diff)
	}
	checkPairs(t, want.Pairs, pairs)
	checkThreadNames(t, want.Threads, names)
}

// firing holds the arguments of a slice or instant.
type firing struct {
	probe string
	tid   int64
	flags []string
	args  map[string]any
}

// probeRow reads the arguments of a slice or instant. The expected results lack the arguments of ends.
func probeRow(t *testing.T, s *slice) firing {
	t.Helper()
	tid, err := strconv.ParseInt(s.track.tid, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	r := firing{tid: tid, flags: []string{}, args: map[string]any{}}
	for i, a := range s.args.all {
		switch {
		case a.key == "weft_probe":
			if i > 0 {
				t.Errorf("weft.probe is argument %d of %q", i, s.name)
			}
			r.probe = a.value
		case strings.HasPrefix(a.key, "weft_flags["):
			r.flags = append(r.flags, a.value)
		case strings.HasPrefix(a.key, "end_"):
		case a.typ == typePointer:
			v, err := strconv.ParseUint(a.value, 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			r.args[a.key] = v
		case a.typ == typeInt:
			r.args[a.key] = json.Number(a.value)
		case a.typ == typeString:
			r.args[a.key] = a.value
		default:
			t.Errorf("argument %s of %q is of type %s", a.key, s.name, a.typ)
		}
	}
	if r.probe == "" {
		t.Errorf("%q has no weft.probe", s.name)
	}
	return r
}

func numberArg(t *testing.T, args argList, key string) int64 {
	t.Helper()
	for _, a := range args.all {
		if a.key == key {
			v, err := strconv.ParseInt(a.value, 10, 64)
			if err != nil {
				t.Error(err)
			}
			return v
		}
	}
	t.Errorf("no argument %s", key)
	return 0
}

func encode(t *testing.T, row ...any) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// compareRows compares rows in any order, after normalizing their JSON.
func compareRows(t *testing.T, what string, want, got []json.RawMessage) {
	t.Helper()
	if diff := cmp.Diff(normalRows(t, want), normalRows(t, got)); diff != "" {
		t.Errorf("%s: -want +got:\n%s", what, diff)
	}
}

// Columns of the slices.
const (
	sliceStart   = 1
	sliceEnd     = 2
	sliceDepth   = 3
	sliceColumns = 7
)

// normalRows sorts rows and normalizes their JSON. It drops the depth of slices without length: a slice that starts
// when the enclosing slice ends is inside it in the expected result, and after it in a Perfetto trace, where end events
// come first.
func normalRows(t *testing.T, rows []json.RawMessage) []string {
	t.Helper()
	var all []string
	for _, row := range rows {
		var v any
		d := json.NewDecoder(bytes.NewReader(row))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		if row := v.([]any); len(row) == sliceColumns && row[sliceStart] == row[sliceEnd] {
			row[sliceDepth] = nil
		}
		all = append(all, string(encode(t, v)))
	}
	slices.Sort(all)
	return all
}

// probePair adds up the slices of a pair of probes.
type probePair struct{ slices, ended, unbalanced, never, sum, longest int64 }

func addPair(pairs map[string]*probePair, r firing, dur int64) {
	i := strings.LastIndexByte(r.probe, '-')
	p := pairs[r.probe[:i]]
	if p == nil {
		p = &probePair{}
		pairs[r.probe[:i]] = p
	}
	p.slices++
	switch {
	case slices.Contains(r.flags, "unbalanced"):
		p.unbalanced++
	case slices.Contains(r.flags, "never_ended"):
		p.never++
	default:
		p.ended++
		p.sum += dur
		p.longest = max(p.longest, dur)
	}
}

// checkPairs compares the pairs of a recording; results of cases have none.
func checkPairs(t *testing.T, want [][]any, got map[string]*probePair) {
	t.Helper()
	for _, row := range want {
		p := got[row[0].(string)]
		if p == nil {
			t.Errorf("there is no slice of %s", row[0])
			continue
		}
		values := fmt.Sprint(row[0], p.slices, p.ended, p.unbalanced, p.never, p.sum, p.longest)
		for i := range row[1:] {
			row[i+1] = int64(row[i+1].(float64))
		}
		if wanted := fmt.Sprint(row...); wanted != values {
			t.Errorf("pair: got %s, want %s", values, wanted)
		}
	}
	if want != nil && len(want) != len(got) {
		t.Errorf("%d pairs, want %d", len(got), len(want))
	}
}

// checkThreadNames compares the names of threads with records; others have no track. Some results lack names.
func checkThreadNames(t *testing.T, want [][]any, got map[[2]string]string) {
	t.Helper()
	named := map[[2]string]bool{}
	for _, row := range want {
		key := [2]string{strconv.Itoa(int(row[0].(float64))), strconv.Itoa(int(row[1].(float64)))}
		named[key] = true
		if name, ok := got[key]; ok && name != row[2] {
			t.Errorf("thread %s is called %q, want %q", key, name, row[2])
		}
	}
	for key, name := range got {
		if want != nil && !named[key] && name != "thread "+key[1] {
			t.Errorf("thread %s is called %q", key, name)
		}
	}
}
