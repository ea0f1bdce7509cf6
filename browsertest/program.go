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

// tempDirs holds the folders that tempDir created; TestMain removes them.
var tempDirs []string

// tempDir creates a folder that all tests can share.
func tempDir() (string, error) {
	dir, err := os.MkdirTemp("", "weft-browsertest-*")
	if err == nil {
		tempDirs = append(tempDirs, dir)
	}
	return dir, err
}

// build builds weft once and returns its path.
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

// program returns the path of the built weft.
func program(t testing.TB) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A Weft is a running weft process.
type Weft struct {
	t     testing.TB
	cmd   *exec.Cmd
	ended chan struct{}
	lines chan string

	address string

	mu      sync.Mutex
	printed []string
}

// Run starts weft, which runs until the test ends at the latest and finds no browser to open.
func Run(t testing.TB, dir string, args ...string) *Weft {
	t.Helper()
	return RunWith(t, dir, nil, nil, args...)
}

// RunWith is like Run, with a standard input, which can be nil, and additional environment variables.
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
		_ = w.cmd.Wait() // Code returns the result
	}()
	t.Cleanup(func() {
		_ = w.cmd.Process.Kill()
		<-w.ended
	})
	return w
}

// Await returns the match of a pattern in the next line that matches; if the pattern has groups, the match of the last
// one.
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

// Printed returns the lines that weft has printed so far.
func (w *Weft) Printed() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.printed)
}

// Interrupt interrupts weft, as Ctrl-C does.
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
