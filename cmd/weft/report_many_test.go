package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/report"
)

// Percentiles over many recordings are those of all their slices together: as if they were one recording, however they are divided
// among files, and in any memory.
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

// manyLine is what the tests read of a line of JSON about long tasks or inputs, of one file or of many.
type manyLine struct {
	Table    string            `json:"table"`
	Name     string            `json:"name"`
	Location string            `json:"location"`
	Kind     string            `json:"kind"`
	Time     string            `json:"time"`
	Category string            `json:"category"`
	Tasks    int64             `json:"tasks"`
	Inputs   int64             `json:"inputs"`
	Files    int               `json:"recordings"`
	Self     int64             `json:"self_ns"`
	Total    int64             `json:"total_ns"`
	Length   int64             `json:"dur_ns"`
	Latency  int64             `json:"latency_ns"`
	Delay    *int64            `json:"delay_ns"`
	Blocking int64             `json:"blocking_ns"`
	Parts    []report.WorkPart `json:"parts"`
	Max      int64             `json:"max_ns"`
}

// linesOf returns the lines of one table.
func linesOf(t *testing.T, table string, args ...string) (lines []manyLine) {
	t.Helper()
	for text := range strings.Lines(string(runWeft(t, append([]string{"report", "--json"}, args...)...))) {
		var in struct{ Table string }
		if err := json.Unmarshal([]byte(text), &in); err != nil {
			t.Fatal(err)
		}
		if in.Table != table {
			continue
		}
		var line manyLine
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	return lines
}

// The table over many files has what the tasks of each file have, added up.
func TestManyTasks(t *testing.T) {
	files, err := filepath.Glob("../../testdata/traces/jsprofile/selfprof-*.json")
	if err != nil || len(files) < 5 {
		t.Fatal(len(files), err)
	}
	want, tasks := map[[3]string]manyLine{}, 0
	for _, file := range files {
		seen := map[[3]string]bool{}
		for _, task := range linesOf(t, "tasks", "tasks", file) {
			tasks++
			for _, part := range task.Parts {
				key := [3]string{part.Name, part.Location, part.Category}
				row := want[key]
				row.Table, row.Name, row.Location, row.Category = "parts", part.Name, part.Location, part.Category
				row.Tasks, row.Max = row.Tasks+1, max(row.Max, int64(part.Self))
				row.Self, row.Total, row.Blocking = row.Self+int64(part.Self), row.Total+task.Length, row.Blocking+task.Blocking
				if !seen[key] {
					seen[key] = true
					row.Files++
				}
				want[key] = row
			}
		}
	}
	got := map[[3]string]manyLine{}
	for _, row := range linesOf(t, "parts", append([]string{"tasks"}, files...)...) {
		got[[3]string{row.Name, row.Location, row.Category}] = row
	}
	if diff := cmp.Diff(want, got); diff != "" || tasks == 0 {
		t.Error(tasks, diff)
	}
	if all := linesOf(t, "tasks", append([]string{"tasks"}, files...)...); len(all) != tasks {
		t.Errorf("%d tasks, want %d", len(all), tasks)
	}
}

// The same of inputs.
func TestManyInputs(t *testing.T) {
	files, err := filepath.Glob("../../testdata/traces/chrome/*small.json.gz")
	if err != nil || len(files) < 3 {
		t.Fatal(len(files), err)
	}
	want := map[[2]string]manyLine{}
	add := func(file map[[2]string]bool, kind, place string, length int64) {
		key := [2]string{kind, place}
		row := want[key]
		row.Table, row.Kind, row.Time = "kinds", kind, place
		row.Inputs, row.Max, row.Total = row.Inputs+1, max(row.Max, length), row.Total+length
		if !file[key] {
			file[key] = true
			row.Files++
		}
		want[key] = row
	}
	for _, file := range files {
		seen := map[[2]string]bool{}
		for _, in := range linesOf(t, "inputs", "input", file) {
			add(seen, in.Kind, "latency", in.Latency)
			if in.Delay != nil {
				add(seen, in.Kind, "delay", *in.Delay)
			}
		}
	}
	got := map[[2]string]manyLine{}
	for _, row := range linesOf(t, "kinds", append([]string{"input"}, files...)...) {
		if row.Time == "latency" || row.Time == "delay" {
			got[[2]string{row.Kind, row.Time}] = row
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 4 {
		t.Error(len(want), diff)
	}
}
