package browsertest

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// tempDirs are the folders of tempDir, which TestMain removes.
var tempDirs []string

// tempDir makes a folder that all tests share.
func tempDir() (string, error) {
	dir, err := os.MkdirTemp("", "weft-browsertest-*")
	if err == nil {
		tempDirs = append(tempDirs, dir)
	}
	return dir, err
}

// build builds the program once.
var build = sync.OnceValues(func() (string, error) {
	dir, err := tempDir()
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "weft")
	cmd := exec.Command("go", "build", "-o", program, "./cmd/weft")
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.New(string(out))
	}
	return program, nil
})

// program returns the path of weft.
func program(t testing.TB) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A Weft is a running weft.
type Weft struct {
	t     testing.TB
	cmd   *exec.Cmd
	ended chan struct{}
	lines chan string

	address string

	mu      sync.Mutex
	printed []string
}

// Run runs weft until the test ends. It finds no browser of its own.
func Run(t testing.TB, dir string, args ...string) *Weft {
	t.Helper()
	return RunWith(t, dir, nil, nil, args...)
}

// RunWith is Run with a standard input, which may be nil, and with variables of the environment.
func RunWith(t testing.TB, dir string, stdin *os.File, env []string, args ...string) *Weft {
	t.Helper()
	w := &Weft{t: t, cmd: exec.Command(program(t), args...), ended: make(chan struct{}), lines: make(chan string, 1000)}
	w.cmd.Dir = dir
	w.cmd.Env = append(os.Environ(), "BROWSER=", "DISPLAY=", "WAYLAND_DISPLAY=", "WEFT_UI=", "TMPDIR="+t.TempDir())
	w.cmd.Env = append(w.cmd.Env, env...)
	if stdin != nil {
		w.cmd.Stdin = stdin
	}
	stderr, err := w.cmd.StderrPipe()
	if err == nil {
		err = w.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(w.ended)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			w.mu.Lock()
			w.printed = append(w.printed, lines.Text())
			w.mu.Unlock()
			w.lines <- lines.Text()
		}
		_ = w.cmd.Wait() // Code has the result
	}()
	t.Cleanup(func() {
		_ = w.cmd.Process.Kill()
		<-w.ended
	})
	return w
}

// Await returns what a pattern with one group matches in the next line that it matches.
func (w *Weft) Await(pattern string) string {
	w.t.Helper()
	matches := regexp.MustCompile(pattern)
	late := time.After(patience)
	for {
		select {
		case line := <-w.lines:
			if m := matches.FindStringSubmatch(line); m != nil {
				return m[len(m)-1]
			}
		case <-late:
			w.t.Fatalf("weft does not print %s, but\n%s", pattern, strings.Join(w.Printed(), "\n"))
		}
	}
}

// Address returns the address that weft prints.
func (w *Weft) Address() string {
	w.t.Helper()
	if w.address == "" {
		w.address = w.Await(`^Looking at it: (\S+)   \(Ctrl-C ends this\)$`)
	}
	return w.address
}

// Printed returns the lines that weft has printed.
func (w *Weft) Printed() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.printed)
}

// Interrupt does what Ctrl-C does.
func (w *Weft) Interrupt() {
	w.t.Helper()
	if err := w.cmd.Process.Signal(os.Interrupt); err != nil {
		w.t.Fatal(err)
	}
}

// Code waits until weft has ended and returns its exit code.
func (w *Weft) Code() int {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	select {
	case <-w.ended:
		return w.cmd.ProcessState.ExitCode()
	case <-ctx.Done():
		w.t.Fatalf("weft does not end; it has printed\n%s", strings.Join(w.Printed(), "\n"))
		return -1
	}
}
