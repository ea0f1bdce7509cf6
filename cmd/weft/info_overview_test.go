package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/words"
)

// screenOf returns what weft info prints about a file on a terminal with the given width.
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
	return emphasis.ReplaceAllString(stdout.String(), "")
}

// The output of weft info about a recording fits on a screen. Each command that it suggests works on the file, and finds
// something in it.
func TestInfoFitsAScreen(t *testing.T) {
	for _, f := range recording.Some(recording.In(t, ".")) {
		if f.Damaged() {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			t.Chdir(filepath.Dir(f.Path))
			path := filepath.Base(f.Path)
			for _, width := range []int{80, 100} {
				lines := strings.Split(strings.TrimSuffix(screenOf(t, path, width), "\n"), "\n")
				if len(lines) > 40 {
					t.Errorf("%d lines", len(lines))
				}
				for _, line := range lines {
					if words.Width(line) > width {
						t.Errorf("%d columns: %s", words.Width(line), line)
					}
				}
			}
			for line := range strings.Lines(screenOf(t, path, 100)) {
				_, command, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "? ")
				args := strings.Fields(command)
				if !ok || args[0] != "weft" || args[1] == "view" {
					continue
				}
				if last := &args[len(args)-1]; *last == "FILE" && len(path) > 30 {
					*last = path
				} else if *last != path {
					t.Errorf("%s is not about %s", command, path)
				}
				if out := runWeft(t, args[1:]...); bytes.Count(out, []byte("\n")) < 2 {
					t.Errorf("%s finds nothing: %s", command, out)
				}
			}
		})
	}
}

// The commands that weft info suggests also fit if the file's name is long.
func TestInfoOfLongName(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("long ", 12)+".json")
	if err := os.WriteFile(path, []byte(smallTrace), 0o666); err != nil {
		t.Fatal(err)
	}
	text := screenOf(t, path, 100)
	for line := range strings.Lines(text) {
		if words.Width(strings.TrimSuffix(line, "\n")) > 100 {
			t.Errorf("too long: %s", line)
		}
	}
	if !strings.Contains(text, " weft report slices FILE\n") {
		t.Error(text)
	}
}

// A name that a shell would split is quoted.
func TestShellWord(t *testing.T) {
	for name, want := range map[string]string{
		"a/b-1.json.gz": "a/b-1.json.gz", "käse.json": "käse.json", "": "''", "two words": "'two words'", "it's": `'it'\''s'`, "a;b": "'a;b'", "-x y": "'./-x y'", "-": "-", "*": "'*'",
	} {
		if got := shellWord(name); got != want {
			t.Errorf("%q becomes %s, want %s", name, got, want)
		}
	}
}
