package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/report"
)

// selfProfileReports holds the expected results of the reports on a self-profile (testdata/conformance/jsprofile). Stacks are
// lists of frame indexes.
type selfProfileReports struct {
	Samples       int64            `json:"samples"`
	Gaps          int              `json:"gaps"`
	GapNs         int64            `json:"gapNs"`
	SplitNs       map[string]int64 `json:"splitNs"`
	CoveredNs     int64            `json:"coveredNs"`
	Counters      map[string]int64 `json:"counters"`
	BusyRuns      int              `json:"busyRuns"`
	LongRuns      int              `json:"longRuns"`
	ExplainedRuns int              `json:"gcExplainedRuns"`
	GC            []gcRow          `json:"gc"`
	GCRows        *int             `json:"gcRows"`
	Forced        []forcedRow      `json:"forced"`
	ForcedRows    *int             `json:"forcedRows"`
}

type gcRow struct {
	Function string `json:"function"`
	Frames   []int  `json:"frames"`
	Stack    string `json:"-"` // the frames as text; see stackText
	TotalNs  int64  `json:"totalNs"`
	GCNs     int64  `json:"gcNs"`
	OwnNs    int64  `json:"ownNs"`
}

type forcedRow struct {
	Function          string `json:"function"`
	Frames            []int  `json:"frames"`
	Stack             string `json:"-"`
	Samples           int64  `json:"samples"`
	StyleNs           int64  `json:"styleNs"`
	LayoutNs          int64  `json:"layoutNs"`
	TotalNs           int64  `json:"totalNs"`
	Episodes          int    `json:"episodes"`
	Runs              int    `json:"runs"`
	MaxNsPerRun       int64  `json:"maxNsPerRun"`
	MaxEpisodesPerRun int    `json:"maxEpisodesPerRun"`
	Thrashing         bool   `json:"thrashing"`
}

// decoded corrects a name from the recordings: their page did not declare its charset, so that UTF-8 was read as Latin-1.
func decoded(name string) string {
	var utf8 []byte
	for _, r := range name {
		utf8 = append(utf8, byte(r))
	}
	return string(utf8)
}

// selfProfileFrames is the part of a self-profile that resolves its frame indexes.
type selfProfileFrames struct {
	Trace     *selfProfileFrames `json:"trace"`
	Resources []string           `json:"resources"`
	Frames    []struct {
		Name       string `json:"name"`
		ResourceID *int   `json:"resourceId"`
		Line       int    `json:"line"`
		Column     int    `json:"column"`
	} `json:"frames"`
}

// stack returns frames as text.
func (p *selfProfileFrames) stack(frames []int) string {
	var list []string
	for _, id := range frames {
		f := p.Frames[id]
		name, resource := decoded(f.Name), ""
		if name == "" {
			name = "(anonymous)"
		}
		if f.ResourceID != nil {
			resource = p.Resources[*f.ResourceID]
		}
		list = append(list, fmt.Sprintf("%s %s %d %d", name, resource, f.Line, f.Column))
	}
	return strings.Join(list, "; ")
}

func stackText(frames []report.Frame) string {
	var list []string
	for _, f := range frames {
		list = append(list, fmt.Sprintf("%s %s %d %d", f.Function, f.URL, f.Line, f.Column))
	}
	return strings.Join(list, "; ")
}

// TestReportsOnSelfProfiles compares the reports on all self-profiles with known results: on the profile itself, and on the
// Perfetto trace converted from it.
func TestReportsOnSelfProfiles(t *testing.T) {
	root := filepath.Join(recording.Testdata(t), "conformance", "jsprofile")
	cases, _ := filepath.Glob(filepath.Join(root, "cases", "*.expected.json"))
	real, _ := filepath.Glob(filepath.Join(root, "real", "*.expected.json"))
	if len(cases) != 13 || len(real) != 8 {
		t.Fatalf("%d cases and %d recordings", len(cases), len(real))
	}
	for _, path := range slices.Concat(cases, real) {
		name := strings.TrimSuffix(filepath.Base(path), ".expected.json")
		t.Run(name, func(t *testing.T) {
			source := filepath.Join(filepath.Dir(path), name+".json")
			if slices.Contains(real, path) {
				source = filepath.Join(recording.Testdata(t), "traces", "jsprofile", name+".json")
			}
			want := wantedReports(t, path, source)
			if diff := cmp.Diff(want, gotReports(t, source)); diff != "" {
				t.Errorf("the reports on the profile differ from the right result (-want +got):\n%s", diff)
			}
			trace := filepath.Join(t.TempDir(), name+".pftrace")
			runWeft(t, "convert", "-o", trace, source)
			if diff := cmp.Diff(want, gotReports(t, trace)); diff != "" {
				t.Errorf("the reports on the trace differ from the right result (-want +got):\n%s", diff)
			}
		})
	}
}

// wantedReports reads the expected results.
func wantedReports(t *testing.T, path, source string) *selfProfileReports {
	t.Helper()
	want, frames := &selfProfileReports{}, &selfProfileFrames{}
	unmarshal(t, recording.Read(t, path), want)
	unmarshal(t, recording.Read(t, source), frames)
	if frames.Trace != nil {
		frames = frames.Trace
	}
	if want.GCRows == nil { // only results with a limited number of rows contain their total
		want.GCRows, want.ForcedRows = new(int), new(int)
		*want.GCRows, *want.ForcedRows = len(want.GC), len(want.Forced)
	}
	if len(want.GC) > 20 || len(want.Forced) > 20 {
		t.Fatal("more rows than the result may have")
	}
	for i := range want.GC {
		want.GC[i].Stack, want.GC[i].Frames = frames.stack(want.GC[i].Frames), nil
	}
	for i := range want.Forced {
		want.Forced[i].Stack, want.Forced[i].Frames = frames.stack(want.Forced[i].Frames), nil
	}
	maps.DeleteFunc(want.Counters, func(_ string, n int64) bool { return n == 0 })
	return want
}

// gotReports runs the three reports on a trace, with as many rows as the expected results.
func gotReports(t *testing.T, path string) *selfProfileReports {
	t.Helper()
	var samples report.Samples
	var gc report.GC
	var layout report.LayoutThrashing
	unmarshal(t, runWeft(t, "report", "samples", "--json", path), &samples)
	unmarshal(t, runWeft(t, "report", "gc", "--json", path), &gc)
	unmarshal(t, runWeft(t, "report", "layout-thrashing", "--json", path), &layout)
	if len(samples.Threads) != 1 || len(gc.Threads) != 1 {
		t.Fatalf("%d threads with samples, %d in the report gc", len(samples.Threads), len(gc.Threads))
	}
	s, g := &samples.Threads[0], &gc.Threads[0]
	got := &selfProfileReports{
		Samples: s.Samples, Gaps: s.Gaps, GapNs: int64(s.GapTime), CoveredNs: int64(s.Covered), SplitNs: map[string]int64{},
		Counters: map[string]int64{}, BusyRuns: g.BusyRuns, LongRuns: g.LongRuns, ExplainedRuns: g.Explained,
		GCRows: &g.Counts.ByStack, GC: []gcRow{}, Forced: []forcedRow{}, ForcedRows: new(int),
	}
	if covered := s.End - s.Start - s.GapTime; covered != s.Covered {
		t.Errorf("samples cover %d ns, and %d ns are no gaps", s.Covered, covered)
	}
	for _, state := range s.States {
		got.SplitNs[state.State] = int64(state.Time)
	}
	for name, n := range map[string]int64{
		"gc_own": g.Stacks.Own, "gc_previous": g.Stacks.Previous, "gc_next": g.Stacks.Next, "gc_none": g.Stacks.None,
	} {
		if n > 0 {
			got.Counters[name] = n
		}
	}
	for _, row := range g.ByStack {
		got.GC = append(got.GC, gcRow{lastName(row.Frames), nil, stackText(row.Frames), int64(row.Total), int64(row.GC), int64(row.Own)})
	}
	for _, thread := range layout.Threads {
		*got.ForcedRows += thread.StackCount
		for _, row := range thread.ByStack {
			got.Forced = append(got.Forced, forcedRow{lastName(row.Frames), nil, stackText(row.Frames), row.Count, int64(row.Style), int64(row.Layout),
				int64(row.Total), row.Episodes, row.Runs, int64(row.MaxPerRun), row.MaxEpisodesPerRun, row.Thrashing})
		}
	}
	return got
}

func lastName(frames []report.Frame) string {
	if len(frames) == 0 {
		return ""
	}
	return frames[len(frames)-1].Function
}

// runWeft runs the program and returns its standard output.
func runWeft(t *testing.T, args ...string) []byte {
	t.Helper()
	c := newConsole(strings.NewReader(""), false)
	if code := run(t.Context(), append([]string{"weft"}, args...), &c.environment); code != exitOK {
		t.Fatalf("weft %q: exit code %d\n%s", args, code, &c.err)
	}
	return c.out.Bytes()
}

func unmarshal(t *testing.T, text []byte, to any) {
	t.Helper()
	if err := json.Unmarshal(text, to); err != nil {
		t.Fatal(err)
	}
}

// The samples of a self-profile show the same forced layouts as the slices in Chrome's trace of the same run: which functions
// forced them, how often, and in how many tasks. Only the times differ, because samples estimate them.
func TestReportsAgreeOnForcedLayouts(t *testing.T) {
	var bySamples, bySlices report.LayoutThrashing
	testdata := filepath.Join(recording.Testdata(t), "traces")
	unmarshal(t, runWeft(t, "report", "layout-thrashing", "--json", filepath.Join(testdata, "jsprofile", "selfprof-matching-trace.json")), &bySamples)
	unmarshal(t, runWeft(t, "report", "layout-thrashing", "--json", filepath.Join(testdata, "chrome", "chrome-with-selfprof-and-inspector.json.gz")), &bySlices)
	summarize := func(r *report.LayoutThrashing, basis report.Basis) (rows []string) {
		for _, thread := range r.Threads {
			if thread.Basis != basis {
				t.Errorf("thread %s is counted by %s, want %s", thread.Thread, thread.Basis, basis)
			}
			for _, row := range thread.ByStack {
				rows = append(rows, fmt.Sprintf("%s: %d episodes in %d runs, up to %d in one; thrashing: %v", lastName(row.Frames),
					row.Episodes, row.Runs, row.MaxEpisodesPerRun, row.Thrashing))
			}
		}
		return rows
	}
	want := []string{
		"domWork: 60 episodes in 20 runs, up to 3 in one; thrashing: true",
		"styleWork: 4 episodes in 4 runs, up to 1 in one; thrashing: false",
	}
	if diff := cmp.Diff(want, summarize(&bySamples, report.FromSamples)); diff != "" {
		t.Errorf("by samples (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, summarize(&bySlices, report.FromSlices)); diff != "" {
		t.Errorf("by slices (-want +got):\n%s", diff)
	}
}

// Traces without samples still have the track of states, with their durations.
func TestReportsWithoutSamples(t *testing.T) {
	for _, test := range []struct {
		trace string
		csv   []string // reports and tables that do not change
	}{
		{"jsprofile/selfprof-markers-medium.json", []string{"samples states", "gc runs"}},
		{"chrome/chrome-with-selfprof-and-inspector.json", []string{"samples states", "gc runs", "layout-thrashing stacks"}},
	} {
		source := recording.Path(t, "traces/"+test.trace)
		t.Run(test.trace, func(t *testing.T) {
			trace := filepath.Join(t.TempDir(), "converted.pftrace")
			runWeft(t, "convert", "--quiet", "--samples", "none", "-o", trace, source)
			for _, reportAndTable := range test.csv {
				name, table, _ := strings.Cut(reportAndTable, " ")
				csv := func(path string) string {
					return string(runWeft(t, "report", name, "--csv", "--table", table, "--limit", "0", path))
				}
				if diff := cmp.Diff(csv(source), csv(trace)); diff != "" {
					t.Errorf("report %s (-recording +trace):\n%s", reportAndTable, diff)
				}
			}
		})
	}
}
