package perfetto

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the results into the case files")

// TestCases reads the traces in the files of testdata/cases, which are named after the rules that they demonstrate. Each
// file contains a Trace in protobuf's text format, the resulting events, and the counted problems.
func TestCases(t *testing.T) {
	for _, c := range cases(t) {
		t.Run(filepath.Base(c.file), func(t *testing.T) {
			got := readTrace(t, c.trace)
			if *update {
				writeCase(t, c.file, c.archive, got)
				return
			}
			if diff := cmp.Diff(string(section(c.archive, "events")), got.text()); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(string(section(c.archive, "problems")), got.problems()); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// caseFile is a file in testdata/cases.
type caseFile struct {
	file    string
	archive *txtar.Archive
	trace   []byte
}

func cases(t testing.TB) (all []caseFile) {
	t.Helper()
	files, err := filepath.Glob("testdata/cases/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases:", err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, caseFile{file, archive, encode(t, string(section(archive, "trace")))})
	}
	return all
}

func section(a *txtar.Archive, name string) []byte {
	for _, f := range a.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

func writeCase(t *testing.T, file string, a *txtar.Archive, got *result) {
	t.Helper()
	out := &txtar.Archive{Comment: a.Comment, Files: []txtar.File{
		{Name: "trace", Data: section(a, "trace")},
		{Name: "events", Data: []byte(got.text())},
	}}
	if p := got.problems(); p != "" {
		out.Files = append(out.Files, txtar.File{Name: "problems", Data: []byte(p)})
	}
	if b := txtar.Format(out); !bytes.Equal(b, txtar.Format(a)) {
		if err := os.WriteFile(file, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
