package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Percentiles over many recordings count all their slices together, as if they were one recording, however they are divided among
// files, and with any memory budget.
func TestManyPercentiles(t *testing.T) {
	const slices, files = 1000, 7
	dir, whole := t.TempDir(), filepath.Join(t.TempDir(), "whole.json")
	events := make([][]string, files+1)
	for i := range slices {
		length := i * 617 % slices // each from 0 to 999, in no order
		event := fmt.Sprintf(`{"ph":"X","pid":1,"tid":1,"ts":%d,"dur":%d,"name":"work"}`, i*1000, length)
		at := i * i % files
		events[at], events[files] = append(events[at], event), append(events[files], event)
	}
	for i, list := range events {
		path := filepath.Join(dir, fmt.Sprint(i, ".json"))
		if i == files {
			path = whole
		}
		if err := os.WriteFile(path, []byte("["+strings.Join(list, ",")+"]"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, memory := range []string{"64MiB", "32MiB"} {
		lines := strings.Split(string(runWeft(t, "report", "slices", "--json", "--memory", memory, dir)), "\n")
		if want := `"p50_ns":499000,"p75_ns":749000,"p95_ns":949000,"p99_ns":989000,"max_ns":999000,`; !strings.Contains(lines[1], want) {
			t.Errorf("with memory %s: %s", memory, lines[1])
		}
	}
	columns := []string{"--csv", "--columns", "name,p50,p95,p99,max"}
	many := string(runWeft(t, append([]string{"report", "slices", dir}, columns...)...))
	one := string(runWeft(t, append([]string{"report", "slices", whole}, columns...)...))
	if many != one || !strings.Contains(one, "\nwork,499000,949000,989000,999000\n") {
		t.Errorf("many files\n%s\none\n%s", many, one)
	}
}

// If a file has very many long tasks, some have no row, but all count in the totals, which are the sums of the files' totals.
func TestManyTasksTotals(t *testing.T) {
	const all, kept, others = 5000, 4096, 3
	dir := t.TempDir()
	file := func(name string, count, length int) string {
		var events []string
		for i := range count {
			events = append(events, fmt.Sprintf(`{"ph":"X","pid":1,"tid":1,"ts":%d,"dur":%d,"name":"RunTask"}`, i*100_000, length+i))
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("["+strings.Join(events, ",")+"]"), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	a, b := file("a.json", all, 50_001), file("b.json", others, 60_000)
	var one [2]struct {
		Tasks     int64 `json:"tasks"`
		Blocking  int64 `json:"blocking_ns"`
		Uncounted int64 `json:"uncounted"`
	}
	for i, path := range []string{a, b} {
		summary, _, _ := strings.Cut(string(runWeft(t, "report", "tasks", "--json", path)), "\n")
		unmarshal(t, []byte(summary), &one[i])
	}
	want := fmt.Sprintf(`"tasks":{"count":%d,"recordings":2,"blocking_ns":%d,"uncounted":%d}}`+"\n",
		one[0].Tasks+one[1].Tasks, one[0].Blocking+one[1].Blocking, one[0].Uncounted+one[1].Uncounted)
	if text := string(runWeft(t, "report", "tasks", "--json", a, b)); one[0].Uncounted != all-kept || !strings.Contains(text, want) {
		t.Errorf("%.300s, not %s", text, want)
	}
	text := string(runWeft(t, "report", "tasks", "--limit", "0", a, b))
	for _, want := range []string{
		"2 recordings; 4,099 tasks in 2 recordings; blocking time 12,532.503 ms in total; 904 more are in no row\n", "\n  the 4,096 longest of 4,099 tasks\n",
	} {
		if !strings.Contains(text, want) || strings.Contains(text, "--limit 0 shows all") {
			t.Errorf("%.300s … %s, not %s", text, text[max(0, len(text)-300):], want)
		}
	}
}
