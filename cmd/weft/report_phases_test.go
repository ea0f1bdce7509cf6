package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/recording"
)

// eventReportCalls lists the reports on slices, in the forms to compare. Some are skipped if the main report before them makes
// them redundant.
var eventReportCalls = []struct {
	args []string
	skip string // start of a main report after which this one is skipped; "": a main report
}{
	{[]string{"layout-phases"}, ""},
	{[]string{"layout-count"}, noPhases}, {[]string{"layout-time"}, noPhases}, {[]string{"layout-time", "--mode", "dtrace"}, noPhases},
	{[]string{"layout-time", "--mode", "inclusive"}, noPhases},
	{[]string{"js-funcalls"}, ""}, {[]string{"js-funcalls", "--mode", "sampled"}, "# sampled"},
}

// noPhases is the start of a layout-phases report without rows.
const noPhases = "  Pres Ctx      Phase    Count  Total(usec)    Max(usec)   Mean(usec)\n\n       Outer        Inner    Count\n\n"

// The reports on slices run on every recording and print the same as in the golden files, which contain the reports with rows.
// For the Perfetto trace converted from a recording, they print the same.
func TestEventReportsOnRecordings(t *testing.T) {
	nothing := filepath.Join(t.TempDir(), "nothing.json")
	if err := os.WriteFile(nothing, []byte("[]"), 0o666); err != nil {
		t.Fatal(err)
	}
	report := func(t *testing.T, args []string, path string) string {
		return string(runWeft(t, append(append([]string{"report"}, args...), path)...))
	}
	for _, f := range recording.Some(recording.In(t, ".")) {
		name, path := f.Name, f.Path
		if strings.HasPrefix(name, "probes/") || !strings.HasPrefix(path, recording.Testdata(t)) {
			continue // TestReportsOnProbes has the expected results, and golden files are only for recordings in testdata
		}
		t.Run(name, func(t *testing.T) {
			trace := filepath.Join(t.TempDir(), "converted.pftrace")
			runWeft(t, "convert", "--quiet", "-o", trace, path)
			var golden bytes.Buffer
			var main string // the main report, on layout or on calls
			for _, call := range eventReportCalls {
				args := call.args
				if call.skip != "" && strings.HasPrefix(main, call.skip) {
					continue
				}
				want := report(t, args, path)
				if call.skip == "" {
					main = want
				}
				if diff := cmp.Diff(want, report(t, args, trace)); diff != "" {
					t.Errorf("%s (-recording +trace):\n%s", args, diff)
				}
				if want != report(t, args, nothing) {
					fmt.Fprintf(&golden, "== %s\n%s", strings.Join(args, " "), shortened(want))
				}
			}
			compareGolden(t, filepath.Join("testdata", "event_reports", filepath.FromSlash(name)+".txt"), golden.Bytes())
		})
	}
}

// shortened keeps the head of a report and its last rows, which have the largest numbers.
func shortened(text string) string {
	const first, last = 4, 8
	lines := strings.SplitAfter(text, "\n")
	if n := len(lines) - first - last; n > 1 {
		lines = append(append(lines[:first:first], fmt.Sprintf("… %d lines\n", n)), lines[first+n:]...)
	}
	return strings.Join(lines, "")
}

func compareGolden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if len(got) == 0 {
			os.Remove(path)
			return
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil && !(errors.Is(err, fs.ErrNotExist) && len(got) == 0) {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// probeTexts holds the report texts in the conformance data, by report and mode.
type probeTexts struct {
	Count     *string `json:"layout-count"`
	DTrace    *string `json:"layout-time dtrace"`
	Inclusive *string `json:"layout-time inclusive"`
	Exclusive *string `json:"layout-time exclusive"`
	Phases    *string `json:"layout-phases"`
	Calls     *string `json:"js-funcalls"`
}

func (p *probeTexts) byArgs() map[string]*string {
	return map[string]*string{
		"layout-count": p.Count, "layout-time": p.DTrace, "layout-time --mode dtrace": p.DTrace, "layout-time --mode inclusive": p.Inclusive,
		"layout-time --mode exclusive": p.Exclusive, "layout-phases": p.Phases, "js-funcalls": p.Calls,
	}
}

// Reports on probes equal the conformance data, byte for byte: for the cases, for recordings by tracers, and for the tables
// printed by DTrace itself. The same applies to reports on the Perfetto traces converted from them.
func TestReportsOnProbes(t *testing.T) {
	testdata := recording.Testdata(t)
	compared := 0
	check := func(t *testing.T, source string, texts map[string]*string) {
		trace := filepath.Join(t.TempDir(), "converted.pftrace")
		runWeft(t, "convert", "--quiet", "-o", trace, source)
		for args, want := range texts {
			if want == nil {
				continue
			}
			for _, path := range []string{source, trace} {
				compared++
				got := runWeft(t, append(append([]string{"report"}, strings.Fields(args)...), path)...)
				if diff := cmp.Diff(*want, string(got)); diff != "" {
					t.Errorf("%s of %s (-want +got):\n%s", args, filepath.Base(path), diff)
				}
			}
		}
	}
	cases, _ := filepath.Glob(filepath.Join(testdata, "conformance", "probes", "cases", "*.expected.json*"))
	real, _ := filepath.Glob(filepath.Join(testdata, "conformance", "probes", "real", "*.expected.json*"))
	for _, path := range append(cases, real...) {
		name, _, _ := strings.Cut(filepath.Base(path), ".")
		t.Run(name, func(t *testing.T) {
			source := recording.Large(t, "conformance/probes/cases/"+name+".probelines", "traces/probes/"+name+".probelines")
			texts := &probeTexts{}
			unmarshal(t, recording.Read(t, path), texts)
			check(t, source, texts.byArgs())
		})
	}
	tables, _ := filepath.Glob(filepath.Join(testdata, "conformance", "probes", "*", "*seed*.txt"))
	for _, path := range tables {
		t.Run(filepath.Base(path), func(t *testing.T) {
			name := strings.NewReplacer("_seed.txt", "", ".txt", "", "dtrace-seed.", "", "_", "-").Replace(filepath.Base(path))
			source := "conformance/probes/goldens/" + strings.ReplaceAll(name, "-", "_") + "_seed.probelines"
			if strings.HasPrefix(filepath.Base(path), "dtrace-seed.") {
				source = "traces/probes/dtrace-seed.probelines"
			}
			want := strings.TrimSuffix(string(recording.Read(t, path)), "\n\n") // DTrace ends with an empty line
			want = strings.TrimSuffix(want, "\n") + "\n"
			check(t, recording.Path(t, source), map[string]*string{name: &want})
		})
	}
	if len(cases) < 29 || len(real) < 22 || len(tables) != 6 || compared < 300 {
		t.Errorf("%d cases, %d recordings, %d tables, %d comparisons", len(cases), len(real), len(tables), compared)
	}
}

// Reports on probes unrelated to layout and scripts are tables without rows.
func TestReportsOnOtherProbes(t *testing.T) {
	for _, name := range []string{"python311-returns-only", "libc-memory-threads"} {
		source := recording.Path(t, "traces/probes/"+name+".probelines")
		for _, report := range []string{"layout-count", "layout-time", "js-funcalls"} {
			if got := runWeft(t, "report", report, source); bytes.Count(got, []byte{'\n'}) != 1 {
				t.Errorf("%s of %s:\n%s", report, name, got)
			}
		}
	}
}
