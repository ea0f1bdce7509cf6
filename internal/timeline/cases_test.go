package timeline_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/testkit"
	"github.com/weft-trace/weft/internal/timeline"
)

var update = flag.Bool("update", false, "write the expected results of the cases in testdata")

// Memory budgets for the tests: everything in memory, and as much as possible on disk.
const (
	largeMemory = timeline.DefaultMemory
	smallMemory = 1
)

// nest builds a timeline from its text form (package testkit) and nests it. Its temporary files must be gone when the test
// ends.
func nest(t testing.TB, memory int64, text string) (*timeline.Timeline, *problem.Log) {
	t.Helper()
	return nestWith(t, memory, text, func(tl *timeline.Timeline) error { return tl.Nest(context.Background()) })
}

func nestWith(t testing.TB, memory int64, text string, nest func(*timeline.Timeline) error) (*timeline.Timeline, *problem.Log) {
	t.Helper()
	log := new(problem.Log)
	dir := t.TempDir()
	b := timeline.NewBuilder(timeline.Options{Memory: memory, TempDir: dir, Problems: log})
	if err := testkit.Add(b, text); err != nil {
		t.Fatal(err)
	}
	tl, err := b.Finish(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tl.Close(); err != nil {
			t.Error(err)
		}
		dirIsEmpty(t, dir)
	})
	if err := nest(tl); err != nil {
		t.Fatal(err)
	}
	return tl, log
}

// dump returns a walk over a timeline as text.
func dump(t testing.TB, tl *timeline.Timeline) string {
	t.Helper()
	text, err := testkit.Dump(context.Background(), tl)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func dirIsEmpty(t testing.TB, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("%s was left behind", e.Name())
	}
}

// TestCases compares walks over the inputs in testdata with the expected walks. A file is named after the property that it shows
// and may contain several pairs of input and walk; problems, if any, follow a walk.
func TestCases(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no cases", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var out []txtar.File
			for _, f := range archive.Files {
				what, name, _ := strings.Cut(f.Name, " ")
				if what != "input" {
					continue
				}
				tl, log := nest(t, largeMemory, string(f.Data))
				out = append(out, f, txtar.File{Name: strings.TrimSpace("walk " + name), Data: []byte(dump(t, tl))})
				if problems := testkit.Problems(log); problems != "" {
					out = append(out, txtar.File{Name: strings.TrimSpace("problems " + name), Data: []byte(problems)})
				}
			}
			got := txtar.Format(&txtar.Archive{Comment: archive.Comment, Files: out})
			if *update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(txtar.Format(archive)), string(got)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// walk calls fn for every item.
func walk(t testing.TB, tl *timeline.Timeline, fn func(it *timeline.Item)) {
	t.Helper()
	err := tl.Walk(context.Background(), func(it *timeline.Item) error {
		fn(it)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
