package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-trace/weft/internal/tracegen"
)

// severalInputs writes traces of very different lengths, so that conversions that start together do not end together. It also
// writes some files that are not traces. The error messages about these files start with the names of the files.
func severalInputs(t *testing.T) (paths []string, broken []string) {
	t.Helper()
	dir := t.TempDir()
	for i := range 24 {
		path := filepath.Join(dir, fmt.Sprintf("%02d.json", i))
		var text bytes.Buffer
		switch i % 6 {
		case 3:
			text.WriteString("no trace")
			broken = append(broken, path)
		case 5:
			broken = append(broken, path)
			paths = append(paths, path) // a missing file
			continue
		case 0:
			if err := tracegen.WritePyTorch(&text, tracegen.PyTorch{Seed: uint64(i), Bytes: 1 << 20}); err != nil {
				t.Fatal(err)
			}
		default:
			fmt.Fprintf(&text, `[{"ph":"X","pid":1,"tid":1,"ts":%d,"dur":1,"name":"n%[1]d"}]`, i)
		}
		if err := os.WriteFile(path, text.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths, broken
}

// convertInto converts paths into a new folder and returns its files and the output.
func convertInto(t *testing.T, paths []string, flags ...string) (files map[string]string, c *console, code int) {
	t.Helper()
	dir := t.TempDir()
	c = newConsole(nil, false)
	args := append([]string{"weft", "convert", "--json", "--out-dir", dir}, flags...)
	code = run(t.Context(), append(args, paths...), &c.environment)
	return filesIn(t, dir), c, code
}

func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[entry.Name()] = string(content)
	}
	return files
}

// Files converted concurrently yield the same traces, reports and messages, in the same order, as files converted one by one.
func TestSeveralAtOnce(t *testing.T) {
	paths, broken := severalInputs(t)
	want, _, _ := convertInto(t, paths, "--workers", "1")
	if len(want) != len(paths)-len(broken) {
		t.Fatalf("%d outputs; want %d", len(want), len(paths)-len(broken))
	}
	for _, workers := range []string{"2", "7"} {
		files, c, code := convertInto(t, paths, "--workers", workers)
		if code != exitFailed {
			t.Errorf("%s workers: exit code %d; want %d", workers, code, exitFailed)
		}
		if len(files) != len(want) {
			t.Errorf("%s workers: %d files; want %d", workers, len(files), len(want))
		}
		for name, content := range want {
			if files[name] != content {
				t.Errorf("%s workers: %s differs", workers, name)
			}
		}
		messages := strings.Split(strings.TrimSuffix(c.err.String(), "\n"), "\n")
		if !slices.EqualFunc(messages, broken, func(m, path string) bool { return strings.HasPrefix(m, "weft: "+path+": ") }) {
			t.Errorf("%s workers: messages\n%s\nwant one for each of %q", workers, c.err.String(), broken)
		}
		var reported []string
		for line := range strings.Lines(c.out.String()) {
			var report struct{ Input string }
			if err := json.Unmarshal([]byte(line), &report); err != nil {
				t.Fatal(err)
			}
			reported = append(reported, report.Input)
		}
		if !slices.Equal(reported, paths) { // for broken inputs the report contains the error
			t.Errorf("%s workers: reports of %q; want %q", workers, reported, paths)
		}
	}
}

// An interrupt while several files are being converted leaves complete outputs and nothing else.
func TestSeveralInterrupted(t *testing.T) {
	paths, _ := severalInputs(t)
	want, _, _ := convertInto(t, paths)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	dir, tmp := t.TempDir(), tempFolder(t)
	c := newConsole(idle{}, false) // an input that never ends
	c.stdout = callAtWrite(cancel) // on the first report
	args := []string{"weft", "convert", "--json", "--workers", "4", "--out-dir", dir}
	if code := run(ctx, append(append(args, paths...), "-"), &c.environment); code != exitInterrupted {
		t.Errorf("exit code %d; want %d", code, exitInterrupted)
	}
	files := filesIn(t, dir)
	for name, content := range files {
		if content != want[name] {
			t.Errorf("%s is left behind and differs from the complete trace", name)
		}
	}
	if files := filesIn(t, tmp); len(files) > 0 {
		t.Errorf("%d temporary files are left behind", len(files))
	}
}

func TestProgressOfFiles(t *testing.T) {
	c := newConsole(nil, true)
	p := startFilesProgress(&c.environment, 1000, 400e6, false)
	p.read.Store(100e6)
	p.written.Store(5e6)
	p.done.Store(250)
	if got, want := p.line(time.Second, 0), "250 of 1000 files: 95.4 MiB of 381 MiB (25%), 100 MB/s, ETA 3s"; got != want {
		t.Errorf("line = %q; want %q", got, want)
	}
	p.size = -1
	if got, want := p.line(time.Second, 0), "250 of 1000 files: 95.4 MiB read, 100 MB/s"; got != want {
		t.Errorf("line = %q; want %q", got, want)
	}
}

// Text printed while progress is shown is on a line of its own.
func TestProgressMakesRoom(t *testing.T) {
	c := newConsole(nil, true)
	p := startFilesProgress(&c.environment, 2, 100, true)
	p.print(func() { fmt.Fprintln(&c.err, "message") })
	p.Stop()
	if got := c.err.String(); !strings.Contains(got, clearLine+"message\n") || !strings.HasSuffix(got, clearLine) {
		t.Errorf("on the terminal: %q", got)
	}
}
