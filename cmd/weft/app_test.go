package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const smallTrace = `[{"ph":"X","pid":1,"tid":1,"ts":1,"dur":1,"name":"a"}]`

// console is an environment that captures its streams, on a terminal or not.
type console struct {
	environment
	out, err bytes.Buffer
}

func newConsole(stdin io.Reader, terminal bool) *console {
	c := &console{}
	c.environment = environment{
		stdin: stdin, stdout: &c.out, stderr: &c.err,
		isTerminal: func(io.Writer) bool { return terminal },
		width:      func(io.Writer) int { return 0 },
	}
	return c
}

func TestNoTraceOnTerminal(t *testing.T) {
	c := newConsole(strings.NewReader(smallTrace), true)
	if code := run(t.Context(), []string{"weft", "convert", "-"}, &c.environment); code != exitUsage {
		t.Errorf("exit code %d; want %d", code, exitUsage)
	}
	if c.out.Len() > 0 || !strings.Contains(c.err.String(), "does not write binary traces to a terminal; use -o FILE or a pipe") {
		t.Errorf("output %q, error %q", c.out.Bytes(), c.err.String())
	}
}

func TestStandardStreams(t *testing.T) {
	c := newConsole(strings.NewReader(smallTrace), false)
	if code := run(t.Context(), []string{"weft", "convert", "-"}, &c.environment); code != exitOK {
		t.Fatalf("exit code %d: %s", code, c.err.String())
	}
	trace := bytes.Clone(c.out.Bytes())
	c = newConsole(bytes.NewReader(trace), true) // text may go to a terminal
	if code := run(t.Context(), []string{"weft", "verify", "-"}, &c.environment); code != exitOK {
		t.Errorf("verify: exit code %d: %s", code, c.out.String())
	}
}

// failingWriter accepts some bytes and then fails, like a disk that fills up.
type failingWriter struct{ room int }

var errDiskFull = errors.New("disk full")

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.room -= len(p); w.room < 0 {
		return 0, errDiskFull
	}
	return len(p), nil
}

func TestOutputFails(t *testing.T) {
	for _, args := range [][]string{
		{"weft", "convert", "--compress", "none", "-"},
		{"weft", "convert", "-", "--json", "-o", filepath.Join(t.TempDir(), "out")},
		{"weft", "info", "-"},
		{"weft", "dump", "-"},
		{"weft", "verify", "-"},
	} {
		c := newConsole(strings.NewReader(smallTrace), false)
		c.stdout = &failingWriter{room: 1}
		if code := run(t.Context(), args, &c.environment); code != exitFailed {
			t.Errorf("%q: exit code %d; want %d", args, code, exitFailed)
		}
		if !strings.Contains(c.err.String(), errDiskFull.Error()) {
			t.Errorf("%q: error %q", args, c.err.String())
		}
	}
}

// endless is an input that never ends.
type endless struct{ begun bool }

func (e *endless) Read(p []byte) (int, error) {
	if !e.begun {
		e.begun = true
		return copy(p, "["), nil
	}
	return copy(p, `{"ph":"X","pid":1,"tid":1,"ts":1,"dur":1,"name":"a"},`), nil
}

func TestInterrupted(t *testing.T) {
	for name, stdin := range map[string]io.Reader{"busy": &endless{}, "idle": idle{}} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			dir, tmp := t.TempDir(), tempFolder(t)
			c := newConsole(stdin, false)
			time.AfterFunc(50*time.Millisecond, cancel)
			args := []string{"weft", "convert", "-", "-o", filepath.Join(dir, "out"), "--memory", "32MiB"}
			if code := run(ctx, args, &c.environment); code != exitInterrupted {
				t.Errorf("exit code %d; want %d", code, exitInterrupted)
			}
			if c.out.Len() > 0 || c.err.Len() > 0 {
				t.Errorf("output %q, error %q; want nothing", c.out.String(), c.err.String())
			}
			for _, folder := range []string{dir, tmp} {
				if files, _ := os.ReadDir(folder); len(files) > 0 {
					t.Errorf("%s is left behind", files[0].Name())
				}
			}
		})
	}
}

// A conversion is interrupted at a moment that the test chooses.
func TestInterruptedLater(t *testing.T) {
	var events strings.Builder
	events.WriteString("[")
	for range 300_000 { // more than fit into memory
		events.WriteString(smallTrace[1:len(smallTrace)-1] + ",")
	}
	for _, stage := range []string{"sorting", "writing"} {
		t.Run(stage, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			dir, tmp := t.TempDir(), tempFolder(t)
			c := newConsole(strings.NewReader(events.String()), false)
			place := filepath.Join(dir, "out")
			switch stage {
			case "sorting":
				c.stdin = &callAtEnd{c.stdin, cancel}
			case "writing":
				c.stdout, place = callAtWrite(cancel), "-"
			}
			args := []string{"weft", "convert", "-", "-o", place, "--memory", "32MiB"}
			if code := run(ctx, args, &c.environment); code != exitInterrupted {
				t.Errorf("exit code %d; want %d", code, exitInterrupted)
			}
			if c.out.Len() > 0 || c.err.Len() > 0 {
				t.Errorf("output %q, error %q; want nothing", c.out.String(), c.err.String())
			}
			for _, folder := range []string{dir, tmp} {
				if files, _ := os.ReadDir(folder); len(files) > 0 {
					t.Errorf("%s is left behind", files[0].Name())
				}
			}
		})
	}
}

// callAtEnd calls a function at the end of its input.
type callAtEnd struct {
	io.Reader
	call func()
}

func (r *callAtEnd) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err == io.EOF {
		r.call()
	}
	return n, err
}

// callAtWrite is a function called at every write.
type callAtWrite func()

func (call callAtWrite) Write(p []byte) (int, error) {
	call()
	return len(p), nil
}

// idle is an input that never delivers anything.
type idle struct{}

func (idle) Read([]byte) (int, error) { select {} }

func TestProgressLine(t *testing.T) {
	p := startProgress(&newConsole(nil, false).environment, "a.json", 400e6, true)
	for _, test := range []struct {
		read, written int64
		elapsed       time.Duration
		want          string
	}{
		{0, 0, 0, "a.json: 0 B read, 0 MB/s"},
		{100e6, 0, time.Second, "a.json: 95.4 MiB of 381 MiB (25%), 100 MB/s, ETA 3s"},
		{400e6, 0, 4 * time.Second, "a.json: 381 MiB read, sorting"},
		{400e6, 2e6, 5 * time.Second, "a.json: writing, 1.9 MiB written"},
	} {
		p.read.Store(test.read)
		p.written.Store(test.written)
		if got := p.line(test.elapsed, 0); got != test.want {
			t.Errorf("line = %q; want %q", got, test.want)
		}
	}
	p.size = -1
	p.read.Store(50e6)
	p.written.Store(0)
	if got, want := p.line(time.Second, 0), "a.json: 47.7 MiB read, 50 MB/s"; got != want {
		t.Errorf("line = %q; want %q", got, want)
	}
	p.Stop()
}

// On a narrow terminal the line is cut, starting with the name.
func TestProgressLineFits(t *testing.T) {
	p := startProgress(&newConsole(nil, false).environment, "a/rather/long/name.json", 400e6, true)
	p.read.Store(100e6)
	for width, want := range map[int]string{
		80: "a/rather/long/name.json: 95.4 MiB of 381 MiB (25%), 100 MB/s, ETA 3s",
		60: "…ong/name.json: 95.4 MiB of 381 MiB (25%), 100 MB/s, ETA 3s",
		30: "…me.json: 95.4 MiB of 381 MiB",
		1:  "",
	} {
		if got := p.line(time.Second, width); got != want {
			t.Errorf("width %d: %q; want %q", width, got, want)
		}
	}
}

func TestProgressIsErased(t *testing.T) {
	c := newConsole(nil, true)
	p := startProgress(&c.environment, "a.json", -1, true)
	p.Stop()
	p.Stop()
	if got := c.err.String(); got != clearLine {
		t.Errorf("left on the terminal: %q", got)
	}
}
