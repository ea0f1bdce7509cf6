// Package readertest runs the cases of the readers of JSON formats: files with an input and what is read from it. It is for
// tests only, and adds the flag -update to their programs.
package readertest

import (
	"bytes"
	"context"
	"flag"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/weft-trace/weft/internal/bridge"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/pftrace"
	"github.com/weft-trace/weft/trace"
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

// Suite says how a package reads its cases. O are the options of its reader.
type Suite[O any] struct {
	// Options returns the options under which a case is read.
	Options func(tb testing.TB, c *Case) O
	// Dump returns as text what is read from an input.
	Dump func(tb testing.TB, r io.Reader, opts O) string
	// Ways change how an input is read, but not what is read from it: the size of windows, for example.
	Ways []func(opts *O)
}

// Run holds that what is read from each case is what it says, however the input arrives and whatever way it is read. With
// -update it writes what is read into the cases.
func (s *Suite[O]) Run(t *testing.T) {
	for _, c := range Cases(t) {
		t.Run(c.Name, func(t *testing.T) {
			got := s.Dump(t, strings.NewReader(c.Input), s.Options(t, c))
			if *update {
				c.archive.Files[1].Data = []byte(got)
				if err := os.WriteFile(c.path, txtar.Format(c.archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(c.Want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			s.sameAnyWay(t, c, got)
		})
	}
}

// sameAnyWay holds that a case gives the same text in all ways.
func (s *Suite[O]) sameAnyWay(t *testing.T, c *Case, want string) {
	t.Helper()
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"whole":    func(r io.Reader) io.Reader { return r },
		"one byte": iotest.OneByteReader,
		"data+EOF": iotest.DataErrReader,
	} {
		for i, way := range s.Ways {
			opts := s.Options(t, c)
			way(&opts)
			if diff := cmp.Diff(want, s.Dump(t, wrap(strings.NewReader(c.Input)), opts)); diff != "" {
				t.Errorf("%s reads, way %d: -want +got:\n%s", name, i, diff)
			}
		}
	}
}

// Raised returns the problems that cases raise. read reads a case and returns what was counted.
func Raised(tb testing.TB, read func(c *Case) *problem.Log) map[problem.Kind]bool {
	tb.Helper()
	raised := map[problem.Kind]bool{}
	for _, c := range Cases(tb) {
		for _, total := range read(c).Totals() {
			raised[total.Kind] = true
		}
	}
	return raised
}

// Verify writes a timeline as a Perfetto trace and holds that against all rules of the format.
func Verify(tb testing.TB, tl *timeline.Timeline) {
	tb.Helper()
	var out bytes.Buffer
	if err := pftrace.Write(context.Background(), &out, bridge.Trace[trace.Trace](context.Background(), tl), pftrace.Options{Workers: 1}); err != nil {
		tb.Fatal(err)
	}
	report, err := pftrace.Verify(context.Background(), &out, pftrace.VerifyOptions{Strict: true})
	if err != nil {
		tb.Fatal(err)
	}
	if !report.OK() {
		tb.Fatalf("the trace that is written breaks rules: %+v", report.Findings)
	}
}
