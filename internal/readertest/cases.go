// Package readertest runs the cases of readers: files with an input and, as text, what is read from it. A reader's tests make one
// Suite, which loads, dumps and verifies for all of them. Package tracetext has the text form. It is for tests only, and adds
// the flag -update to their programs.
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
	Input string // without the new line with which txtar ends every file, and which no cut input has
	Want  string

	archive *txtar.Archive
	path    string
}

// Cases returns the cases of the package that is tested, in the order of their names.
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

// Options returns the lines "NAME: VALUE" in the comment of a case. Other lines may look like one.
func (c *Case) Options() iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for line := range strings.Lines(string(c.archive.Comment)) {
			name, value, ok := strings.Cut(strings.TrimSpace(line)+" ", ": ") // there may be no value
			if ok && !yield(name, strings.TrimSpace(value)) {
				return
			}
		}
	}
}
