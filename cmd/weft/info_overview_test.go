package main

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/cellwidth"
)

// screenOf returns what weft info prints of a file on a terminal of a width.
func screenOf(t *testing.T, path string, width int) string {
	t.Helper()
	stdout, stderr := new(bytes.Buffer), new(bytes.Buffer)
	env := &environment{
		stdin: strings.NewReader(""), stdout: stdout, stderr: stderr,
		isTerminal: func(w io.Writer) bool { return w == stdout }, width: func(io.Writer) int { return width },
	}
	if code := run(t.Context(), []string{"weft", "info", path}, env); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	return stdout.String()
}

// What weft info prints of a recording fits a screen, but for the commands that it suggests, which are there to be copied. Each of
// them works on the file, and finds something in it.
func TestInfoFitsAScreen(t *testing.T) {
	for name, path := range recordings(t) {
		t.Run(name, func(t *testing.T) {
			for _, width := range []int{80, 100} {
				lines := strings.Split(strings.TrimSuffix(screenOf(t, path, width), "\n"), "\n")
				if len(lines) > 40 {
					t.Errorf("%d lines", len(lines))
				}
				for _, line := range lines {
					if cellwidth.Of(line) > width && !strings.Contains(line, "weft ") {
						t.Errorf("%d columns: %s", cellwidth.Of(line), line)
					}
				}
			}
			for line := range strings.Lines(screenOf(t, path, 100)) {
				_, command, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "? ")
				args := strings.Fields(command)
				if !ok || args[0] != "weft" || args[1] == "convert" {
					continue
				}
				if args[len(args)-1] != path {
					t.Errorf("%s is not about %s", command, path)
				}
				if out := runWeft(t, args[1:]...); bytes.Count(out, []byte("\n")) < 2 {
					t.Errorf("%s finds nothing: %s", command, out)
				}
			}
		})
	}
}

// A name that a shell would take apart is quoted.
func TestShellWord(t *testing.T) {
	for name, want := range map[string]string{
		"a/b-1.json.gz": "a/b-1.json.gz", "käse.json": "käse.json", "": "''", "two words": "'two words'", "it's": `'it'\''s'`, "a;b": "'a;b'", "*": "'*'",
	} {
		if got := shellWord(name); got != want {
			t.Errorf("%q becomes %s, want %s", name, got, want)
		}
	}
}
