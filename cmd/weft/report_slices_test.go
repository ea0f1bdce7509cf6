package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/recording"
)

// answersOf lists the reports, with their flags, whose rows do not change if the recording is converted first.
var answersOf = [][]string{{"slices"}, {"slices", "--by", "thread"}, {"tasks"}, {"input"}, {"samples"}, {"gc"}, {"layout-thrashing"}}

// TestAnswersOfConversions checks that reports on weft's Perfetto trace equal, line for line, the reports on the original
// recording.
func TestAnswersOfConversions(t *testing.T) {
	recording.NeedAll(t, "converts recordings in several ways")
	recordings := []string{
		"chrome/chrome-devtools-tiny.json.gz", "chrome/chrome-ringbuffer.json.gz", "chrome/chrome-with-selfprof-and-inspector.json.gz", "cpuprofile/cdp-tiny.cpuprofile.gz",
		"jsprofile/selfprof-medium.json", "jsprofile/cut60pct-selfprof-markers-small.json", "cpuprofile/node-v20-thread0.cpuprofile.gz",
		"firefox/processed/ff-processed-tiny.json.gz", "node/node-v24-small-1-node_trace.json.gz", "perfetto/chrome-devtools-tiny.pftrace.gz",
		"pytorch/pytorch-small.json.gz", "probes/dtrace-js.probelines.gz",
		"chrome/chrome-devtools-small.json.gz", "chrome/chrome-everything-small.json.gz",
		"firefox/gecko/ff-gecko-tiny.json.gz", "perfetto/chrome-paired-tiny.pftrace.gz",
	}
	for _, name := range recordings {
		t.Run(name, func(t *testing.T) {
			source := filepath.Join(recording.Testdata(t), "traces", filepath.FromSlash(name))
			converted := filepath.Join(t.TempDir(), "converted.pftrace")
			runWeft(t, "convert", "-o", converted, source)
			for _, report := range answersOf {
				args := append([]string{"report", "--json"}, report...)
				want, got := string(runWeft(t, append(args, source)...)), string(runWeft(t, append(args, converted)...))
				if want != got {
					t.Errorf("%s: %s", strings.Join(report, " "), firstDifference(want, got))
				}
			}
		})
	}
}

// firstDifference returns the first lines in which two texts differ.
func firstDifference(a, b string) string {
	left, right := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range left {
		if i >= len(right) || left[i] != right[i] {
			return "line " + fmt.Sprint(i+1) + "\n" + left[i] + "\n" + strings.Join(right[i:min(i+1, len(right))], "")
		}
	}
	return "the second one has more lines"
}

// Reports on damaged recordings may lack data, but nothing worse happens.
func TestAnswersOnDamagedInputs(t *testing.T) {
	recording.NeedAll(t, "reads every damaged recording")
	damaged, err := filepath.Glob(filepath.Join(recording.Testdata(t), "traces", "damaged", "*.gz"))
	if err != nil || len(damaged) < 15 {
		t.Fatal(len(damaged), err)
	}
	for _, path := range damaged {
		for _, r := range reports()[:3] {
			c := newConsole(strings.NewReader(""), false)
			code := run(t.Context(), []string{"weft", "report", r.name, path}, &c.environment)
			switch {
			case code != exitOK:
				t.Errorf("%s of %s: exit code %d: %s", r.name, filepath.Base(path), code, c.err.String())
			case c.out.Len() == 0:
				t.Errorf("%s of %s: nothing", r.name, filepath.Base(path))
			}
		}
	}
}
