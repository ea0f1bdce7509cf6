// Package readertest runs the test cases of readers: files with an input and the expected result as text. A reader's tests define
// one Suite, which loads, dumps and verifies all of them. Package testkit defines the text form. Package readertest adds the
// flag -update to test programs.
package readertest

import (
	"flag"
	"iter"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the expected results of the cases in testdata")

// Case is a file testdata/NAME.txtar.
type Case struct {
	Name  string
	Input string // without the final newline, which txtar requires and truncated inputs lack
	Want  string

	archive *txtar.Archive
	path    string
}

// Cases returns the cases of the tested package, sorted by name.
func Cases(tb testing.TB) []*Case {
	tb.Helper()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		tb.Fatal("no cases", err)
	}
	var all []*Case
	for _, path := range paths {
		ar, err := txtar.ParseFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		if len(ar.Files) != 2 || ar.Files[0].Name != "input.json" || ar.Files[1].Name != "want" {
			tb.Fatalf("%s: a case has the files input.json and want", path)
		}
		all = append(all, &Case{
			Name:  strings.TrimSuffix(filepath.Base(path), ".txtar"),
			Input: strings.TrimSuffix(string(ar.Files[0].Data), "\n"), Want: string(ar.Files[1].Data),
			archive: ar, path: path,
		})
	}
	return all
}

// Options returns the lines "NAME: VALUE" in the comment of a case. It includes all lines of that form.
func (c *Case) Options() iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for line := range strings.Lines(string(c.archive.Comment)) {
			name, value, ok := strings.Cut(strings.TrimSpace(line)+" ", ": ") // the value may be empty
			if ok && !yield(name, strings.TrimSpace(value)) {
				return
			}
		}
	}
}
