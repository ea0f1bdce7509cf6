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

// recordings returns the files of testdata/traces, by their names there without ".gz".
func recordings(t *testing.T) map[string]string {
	t.Helper()
	root := filepath.Join(recording.Testdata(t), "traces")
	found := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			var name string
			name, err = filepath.Rel(root, path)
			found[strings.TrimSuffix(filepath.ToSlash(name), ".gz")] = path
		}
		return err
	})
	if err != nil || len(found) < 50 {
		t.Fatalf("%d recordings, %v", len(found), err)
	}
	return found
}

// eventReportCalls are the reports on slices in the forms that are compared.
var eventReportCalls = [][]string{
	{"layout-count"}, {"layout-time"}, {"layout-time", "--mode", "dtrace"}, {"layout-time", "--mode", "inclusive"}, {"layout-phases"},
	{"js-funcalls"}, {"js-funcalls", "--sampled"},
}

// The reports on slices run on every recording, and print what they printed when the golden files were read: those with any
// rows are in these. Of the Perfetto trace that is made of a recording they print the same.
func TestEventReportsOnRecordings(t *testing.T) {
	nothing := filepath.Join(t.TempDir(), "nothing.json")
	if err := os.WriteFile(nothing, []byte("[]"), 0o666); err != nil {
		t.Fatal(err)
	}
	report := func(t *testing.T, args []string, path string) string {
		return string(runWeft(t, append(append([]string{"report"}, args...), path)...))
	}
	for name, path := range recordings(t) {
		t.Run(name, func(t *testing.T) {
			if info, err := os.Stat(path); err == nil && info.Size() > 300_000 && testing.Short() {
				t.Skip("takes seconds")
			}
			t.Parallel()
			trace := filepath.Join(t.TempDir(), "converted.pftrace")
			runWeft(t, "convert", "--quiet", "-o", trace, path)
			var golden bytes.Buffer
			for _, args := range eventReportCalls {
				want := report(t, args, path)
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

// shortened leaves the head of a report and its last rows, which have the largest numbers.
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
