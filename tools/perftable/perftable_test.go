package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/recording"
)

// TestMain lets the test binary act as the child that run starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == childCommand {
		if err := runChild(os.Stdout, os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// A complete run with tiny inputs: every promise has a row, and no files are left.
func TestRun(t *testing.T) {
	recording.NeedAll(t, "builds weft and runs it some dozen times")
	dir, bin := t.TempDir(), t.TempDir()
	processor := "#!/bin/sh\necho '\"slices\"'\necho 1000\n" // the output of trace_processor for a number
	if err := os.WriteFile(filepath.Join(bin, traceProcessors[0]), []byte(processor), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	tiny := recording.Path(t, "traces/chrome/chrome-devtools-tiny.json")
	var out, log bytes.Buffer
	c := config{runs: 1, pytorch: 1, large: 2, files: 3, temp: dir,
		recorded: tiny, only: "conversion|loading|memory|start|files|ranks"} // the benchmarks of packets and samples would run for seconds
	if err := run(t.Context(), &out, &log, c); err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	for i := range promises {
		if i != hotPacket && i != denseSamples && !strings.Contains(out.String(), promises[i].what) {
			t.Errorf("no row %q", promises[i].what)
		}
	}
	if t.Failed() {
		t.Log(out.String())
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestRunIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	err := run(ctx, io.Discard, io.Discard, config{runs: 1, pytorch: 1, large: 2, files: 1, temp: dir})
	if err == nil {
		t.Error("no error")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// All children that scan or decode read the same events.
func TestSidesSeeTheSameEvents(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.json")
	trace := `{"meta": [1, {"a": 2}], "traceEvents": [
		{"ph": "X", "name": "a\n", "ts": 1.5, "dur": 2, "pid": 1, "tid": "one", "args": {"k": [1, 2]}},
		{"ph": "i", "ts": 3, "unknown": null}
	], "more": {}}`
	if err := os.WriteFile(path, []byte(trace), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"decode", "memory", "scan"} {
		var out bytes.Buffer
		if err := runChild(&out, []string{command, path}); err != nil {
			t.Errorf("%s: %v", command, err)
		}
		if !strings.Contains(out.String(), `"events":2,`) {
			t.Errorf("%s: %s", command, out.String())
		}
	}
}

func TestChildRefuses(t *testing.T) {
	for _, args := range [][]string{nil, {"decode"}, {"unknown", "x"}, {"decode", "missing"}} {
		if err := runChild(io.Discard, args); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}

func TestMet(t *testing.T) {
	for _, tt := range []struct {
		promise int
		value   float64
		want    string
	}{
		{scanning, 16, "aim"}, {scanning, 10, "floor"}, {scanning, 9.99, "no"},
		{peakMemoryOf, 214, "aim"}, {peakMemoryOf, 260, "floor"}, {peakMemoryOf, 261, "no"},
		{peakGrowth, -1, "aim"}, {peakGrowth, 5.1, "no"},
		{manyFiles, 95, "floor"}, {manyFiles, 94, "no"},
	} {
		r := row{promise: tt.promise, value: tt.value}
		if got := r.met(); got != tt.want {
			t.Errorf("%s: %g: %q, want %q", promises[tt.promise].what, tt.value, got, tt.want)
		}
	}
	r := row{promise: scanning, value: 20, broken: "allocations"}
	if got := r.met(); got != "no: allocations" {
		t.Errorf("with allocations: %q", got)
	}
}

func TestMedian(t *testing.T) {
	for _, tt := range []struct {
		values []int64
		want   int64
	}{{[]int64{3}, 3}, {[]int64{4, 1}, 1}, {[]int64{9, 1, 5}, 5}} {
		if got := median(tt.values); got != tt.want {
			t.Errorf("median(%v) = %d, want %d", tt.values, got, tt.want)
		}
	}
}

func TestBenchMetrics(t *testing.T) {
	got := benchMetrics("goos: linux\nBenchmarkEncode \t 1000\t 52.5 ns/op\t 2000.10 MB/s\t 1040 Marshal-ns/op\t 0 B/op\t 0 allocs/op\n" +
		"BenchmarkEncode \t 1000\t 53.5 ns/op\t 0 allocs/op\nPASS\n")
	if len(got["ns/op"]) != 2 || got["ns/op"][1] != 53.5 || got["Marshal-ns/op"][0] != 1040 || len(got["allocs/op"]) != 2 {
		t.Errorf("%v", got)
	}
}

// The page has the section that update writes, and updating it twice gives the same page.
func TestUpdatePage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "performance.md"))
	if err != nil {
		t.Fatal(err)
	}
	docs := t.TempDir()
	path := filepath.Join(docs, "performance.md")
	if err := os.WriteFile(path, page, 0o666); err != nil {
		t.Fatal(err)
	}
	d := document{
		machine: "a machine",
		rows:    []row{{promise: starting, sides: "weft 4.00 ms", value: 4}, {promise: scanning, input: "x", sides: "s", value: 12}},
	}
	var previous string
	for range 2 {
		if err := d.update(docs); err != nil {
			t.Fatal(err)
		}
		written, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if previous != "" && previous != string(written) {
			t.Error("the second time gives another page")
		}
		previous = string(written)
	}
	first := strings.Index(previous, "| scanner, header fields")
	second := strings.Index(previous, "| weft --version |  | weft 4.00 ms | 4.0 ms | 15 ms | 8 ms | aim |")
	if first < 0 || second < first {
		t.Errorf("rows are missing or in the wrong order:\n%s", previous)
	}
	if _, err := replaceSection("a page", "table", ""); err == nil {
		t.Error("a missing section is no error")
	}
}
