package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a second input has of a thread is in no sum over the thread, neither as busy time nor as asynchronous slices. The reports say so by
// name and number, and list those slices apart.
func TestReportsOfSharedThreads(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"a.json", "b.json"} {
		text := fmt.Sprintf(`[{"ph":"X","name":"task","pid":5,"tid":5,"ts":1%d00,"dur":100},{"ph":"X","name":"of %[2]s","pid":5,"tid":5,"ts":3%[1]d00,"dur":100},`+
			`{"ph":"I","s":"t","name":"i","pid":5,"tid":5,"ts":50}]`, i, name)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, out := merged(t, filepath.Join(dir, "a.json"), filepath.Join(dir, "b.json"), "--same", "a,b", "--offset", "b=0s")
	const note = "3 events of b on 1 thread that an earlier input has as well are not added to the times of these threads\n"
	report := func(args ...string) string {
		t.Helper()
		c := newConsole(strings.NewReader(""), false)
		if code := run(t.Context(), append([]string{"weft", "report"}, append(args, out)...), &c.environment); code != exitOK {
			t.Fatalf("exit code %d: %s", code, c.err.String())
		}
		if !strings.HasSuffix(c.err.String(), ": "+note) {
			t.Errorf("%q: %q", args, c.err.String())
		}
		return c.out.String()
	}
	var tables []struct {
		Busy       int64 `json:"busy_ns"`
		NotCounted []struct {
			Input           string
			Threads, Events int
		} `json:"not_counted"`
		Rows []struct {
			Slices int
			Async  int64 `json:"async_ns"`
		}
	}
	if err := json.Unmarshal([]byte(report("cost", "--json", "--type", "thread")), &tables); err != nil {
		t.Fatal(err)
	}
	costs := tables[0]
	if fmt.Sprint(costs.NotCounted) != "[{b 1 3}]" || len(costs.Rows) == 0 || costs.Busy != 200_000 || costs.Rows[0].Slices != 2 || costs.Rows[0].Async != 0 {
		t.Errorf("%+v", costs)
	}
	text := report("slices")
	_, own, ok := strings.Cut(text, "slices that further inputs have of the same threads")
	if !ok || strings.Count(own, "of b.json") != 1 || strings.Contains(own, "of a.json") || strings.Contains(text, "asynchronous") {
		t.Error(text)
	}
	report("tasks")
	report("samples")
}
