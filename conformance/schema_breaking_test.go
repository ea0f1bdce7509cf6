package conformance

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/recording"
)

// buf checks weft's promises about weft.v1: names, numbers and types do not change, and fields are only added. In Perfetto's
// part, only the wire format counts.
func TestBreaking(t *testing.T) {
	recording.NeedAll(t, "runs buf")
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	const event, packet = "proto/weft/v1/event.proto", "proto/perfetto/protos/trace_uuid.proto"
	for name, test := range map[string]struct {
		file, old, new string
		breaks         bool
	}{
		"a renamed field":             {event, "int64 ts_ns = 1;", "int64 time_ns = 1;", true},
		"another type":                {event, "int64 ts_ns = 1;", "string ts_ns = 1;", true},
		"another number":              {event, "int64 ts_ns = 1;", "int64 ts_ns = 77;", true},
		"a new field":                 {event, "int64 ts_ns = 1;", "int64 ts_ns = 1;\n  // New.\n  string more = 31;", false},
		"a renamed field of Perfetto": {packet, "lsb = 2", "low = 2", false},
		"another type of Perfetto":    {packet, "int64 lsb = 2", "string lsb = 2", true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, part := range []string{"proto", "buf.yaml"} {
				if out, err := exec.Command("cp", "-r", filepath.Join(root, part), dir).CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
			}
			path := filepath.Join(dir, filepath.FromSlash(test.file))
			text, err := os.ReadFile(path)
			if err != nil || strings.Count(string(text), test.old) != 1 {
				t.Fatalf("%q is there %d times, error %v", test.old, strings.Count(string(text), test.old), err)
			}
			if err := os.WriteFile(path, []byte(strings.Replace(string(text), test.old, test.new, 1)), 0o644); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), "go", "tool", "-modfile=tools/go.mod", "buf", "breaking", dir, "--against", root)
			cmd.Dir = root
			out, err := cmd.CombinedOutput()
			if (err != nil) != test.breaks {
				t.Errorf("error %v: %s", err, out)
			}
		})
	}
}
