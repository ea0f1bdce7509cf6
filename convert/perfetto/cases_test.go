package perfetto

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/weft-trace/weft/gen/perfetto/protos"
)

var update = flag.Bool("update", false, "write the results into the case files")

// TestCases reads the traces in testdata/cases, which are named by the rule they show. Each is a Trace in protobuf's text
// form, the events that come out, and the problems that are counted.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/cases/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases:", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var trace protos.Trace
			if err := prototext.Unmarshal(section(archive, "trace"), &trace); err != nil {
				t.Fatal(err)
			}
			encoded, err := proto.Marshal(&trace)
			if err != nil {
				t.Fatal(err)
			}
			got := readTrace(t, encoded)
			if *update {
				writeCase(t, file, archive, got)
				return
			}
			if diff := cmp.Diff(string(section(archive, "events")), got.text()); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(string(section(archive, "problems")), got.problems()); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
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
