package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
