package main

import (
	"bytes"
	"encoding/csv"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/words"
)

// A column that a table cannot have is empty in CSV, never 0.
func TestCostCSV(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.json")
	err := os.WriteFile(path, []byte(`[{"ph":"X","name":"work","cat":"c","ts":1,"dur":10,"pid":1,"tid":1,"args":{"frame":"F1"}}]`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for by, empty := range map[string][]string{
		"context": nil, "process": nil, "thread": {"async_ns"},
		"category": {"async_ns", "long_tasks", "network_bytes", "request_ns", "requests"},
	} {
		records, err := csv.NewReader(strings.NewReader(string(runWeft(t, "report", "cost", "--csv", "--type", "Frame", "--by", by, path)))).ReadAll()
		if err != nil || len(records) < 2 {
			t.Fatalf("%s: %q, %v", by, records, err)
		}
		var got []string
		first := slices.Index(records[0], "self_ns")
		for i, value := range records[1][first:] {
			if value == "" {
				got = append(got, records[0][first+i])
			}
		}
		if slices.Sort(got); !slices.Equal(got, empty) {
			t.Errorf("by %s the columns %q are empty, want %q", by, got, empty)
		}
	}
}

// On a terminal the table drops its least important columns instead of cutting its lines.
func TestCostsFitTheTerminal(t *testing.T) {
	path := recording.Path(t, "traces/chrome/chrome-devtools-tiny.json")
	for width, want := range map[int]string{80: "self ms", 120: "CPU ms", 300: "CPU unknown ms"} {
		stdout := new(bytes.Buffer)
		env := &environment{
			stdin: strings.NewReader(""), stdout: stdout, stderr: io.Discard,
			isTerminal: func(w io.Writer) bool { return w == stdout }, width: func(io.Writer) int { return width },
		}
		if code := run(t.Context(), []string{"weft", "report", "cost", path}, env); code != 0 {
			t.Fatalf("exit code %d", code)
		}
		for line := range strings.Lines(stdout.String()) {
			if line = strings.TrimSuffix(line, "\n"); words.Width(emphasis.ReplaceAllString(line, "")) > width || strings.HasSuffix(line, "…") {
				t.Errorf("%d columns in %d: %s", words.Width(emphasis.ReplaceAllString(line, "")), width, line)
			}
		}
		if !strings.Contains(stdout.String(), want) || strings.Contains(stdout.String(), "more column") != (width < 300) {
			t.Errorf("in %d columns:\n%s", width, stdout)
		}
	}
}
