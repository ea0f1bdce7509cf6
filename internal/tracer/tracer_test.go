//go:build unix

package tracer

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// start runs a fake tracer, which is a shell script that writes its records to descriptor 3.
func start(t *testing.T, fake string, opts *Options) (*Recording, *bytes.Buffer) {
	t.Helper()
	opts.Program = filepath.Join(t.TempDir(), "tracer")
	if err := os.WriteFile(opts.Program, []byte("#!/bin/sh\n"+fake), 0o777); err != nil {
		t.Fatal(err)
	}
	if opts.Script == nil {
		script, err := FindScript(Bpftrace, "mozilla")
		if err != nil {
			t.Fatal(err)
		}
		opts.Script, opts.File, opts.Traced, opts.Command = script, "mozilla.bt", "/bin/true", "true"
	}
	if opts.Grace == 0 {
		opts.Grace = time.Minute // never reached
	}
	var said bytes.Buffer
	opts.Stdout, opts.Stderr = io.Discard, &said
	r, err := Start(opts)
	if err != nil {
		t.Fatal(err)
	}
	return r, &said
}

func readAll(t *testing.T, r *Recording) string {
	t.Helper()
	lines, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(lines)
}

func TestArguments(t *testing.T) {
	tests := []struct {
		file string
		opts Options
		want string
	}{
		{"mozilla.bt", Options{Traced: "/bin/p", Command: "p -n 1"}, "-q|-f|json|-o|/dev/fd/3|F|/bin/p|-c|p -n 1"},
		{"layout.bt", Options{Traced: "/bin/p", PID: 12}, "-q|-o|/dev/fd/3|F|/bin/p|-p|12"},
		{"syscalls.bt", Options{Traced: "/bin/p", Command: "p"}, "-q|-f|json|-o|/dev/fd/3|F|-c|p"},
		{"layout.d", Options{Traced: "/bin/p", PID: 12}, "-q|-s|F|-o|/dev/fd/3|-p|12"},
	}
	for _, tt := range tests {
		script, err := FindScript("", tt.file)
		if err != nil {
			t.Fatal(err)
		}
		tt.opts.Script, tt.opts.File = script, "F"
		if got := strings.Join(tt.opts.arguments(), "|"); got != tt.want {
			t.Errorf("%s: %s; want %s", tt.file, got, tt.want)
		}
	}
}

// Lost events are reported among the records, as whole lines; other messages are passed on.
func TestLinesAndMessages(t *testing.T) {
	r, said := start(t, `printf 'a\nb' >&3; echo hello >&2; echo 'Lost 12 events' >&2; echo 'dtrace: 3 drops on CPU 0' >&2
sleep 0.2; printf 'c\n' >&3; printf 'Lost 2 events' >&2`, &Options{})
	lines := strings.Split(readAll(t, r), "\n")
	end := r.Wait()
	slices.Sort(lines)
	if want := []string{"", "Lost 12 events", "Lost 2 events", "a", "bc", "dtrace: 3 drops on CPU 0"}; !slices.Equal(lines, want) {
		t.Errorf("lines %q; want %q in some order", lines, want)
	}
	if end.Err != nil || end.Interrupted || end.Killed || !slices.Equal(end.StderrLines, []string{"hello"}) || said.String() != "hello\n" {
		t.Errorf("end %+v, passed on %q", end, said)
	}
}

func TestLastLineWithoutEnd(t *testing.T) {
	r, _ := start(t, `printf 'a\nb' >&3`, &Options{})
	if got := readAll(t, r); got != "a\nb" {
		t.Errorf("lines %q", got)
	}
	if end := r.Wait(); end.Size != 3 {
		t.Errorf("size %d; want 3", end.Size)
	}
}

func TestTracerThatFails(t *testing.T) {
	r, _ := start(t, `echo a >&3; echo 'ERROR: bad' >&2; exit 3`, &Options{})
	if got := readAll(t, r); got != "a\n" {
		t.Errorf("lines %q", got)
	}
	end := r.Wait()
	if end.Err == nil || end.Err.Error() != "exit status 3" || !slices.Equal(end.StderrLines, []string{"ERROR: bad"}) {
		t.Errorf("end %+v", end)
	}
}

// An interrupted tracer writes its last records.
func TestInterrupt(t *testing.T) {
	r, _ := start(t, `trap 'echo last >&3; exit 0' INT; echo first >&3; while :; do sleep 0.05; done`, &Options{})
	buf := make([]byte, 100)
	n, err := r.Read(buf)
	if err != nil || string(buf[:n]) != "first\n" {
		t.Fatalf("%q, %v", buf[:n], err)
	}
	r.Interrupt()
	r.Interrupt()
	if got := readAll(t, r); got != "last\n" {
		t.Errorf("lines %q", got)
	}
	if end := r.Wait(); end.Err != nil || !end.Interrupted || end.Killed {
		t.Errorf("end %+v", end)
	}
}

// A tracer that is ended by the signal has not failed.
func TestInterruptThatEndsTheTracer(t *testing.T) {
	r, _ := start(t, `echo first >&3; exec sleep 60`, &Options{})
	buf := make([]byte, 100)
	if _, err := r.Read(buf); err != nil {
		t.Fatal(err)
	}
	r.Interrupt()
	readAll(t, r)
	if end := r.Wait(); end.Err != nil || !end.Interrupted || end.Killed {
		t.Errorf("end %+v", end)
	}
}

// A tracer that does not end is killed; its output is kept.
func TestTracerThatIgnoresInterrupts(t *testing.T) {
	r, _ := start(t, `trap '' INT; echo first >&3; while :; do sleep 0.05; done`, &Options{Grace: 100 * time.Millisecond})
	buf := make([]byte, 100)
	if n, err := r.Read(buf); err != nil || string(buf[:n]) != "first\n" {
		t.Fatalf("%q, %v", buf[:n], err)
	}
	r.Interrupt()
	readAll(t, r)
	if end := r.Wait(); !end.Killed || !end.Interrupted {
		t.Errorf("end %+v", end)
	}
}

// Kill does not wait for a tracer that ignores interrupts, before or after an interrupt.
func TestKill(t *testing.T) {
	for _, interrupted := range []bool{false, true} {
		r, _ := start(t, `trap '' INT; echo first >&3; while :; do sleep 0.05; done`, &Options{})
		buf := make([]byte, 100)
		if n, err := r.Read(buf); err != nil || string(buf[:n]) != "first\n" {
			t.Fatalf("%q, %v", buf[:n], err)
		}
		if interrupted {
			r.Interrupt()
		}
		r.Kill()
		readAll(t, r)
		if end := r.Wait(); !end.Killed || !end.Interrupted {
			t.Errorf("end %+v", end)
		}
	}
}

// A process left running by the tracer does not keep the recording open, although it holds the tracer's pipes.
func TestProcessLeftBehind(t *testing.T) {
	r, _ := start(t, `echo a >&3; sleep 60 & echo $! >&3; exit 0`, &Options{})
	line, number, _ := strings.Cut(readAll(t, r), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(number))
	if line != "a" || err != nil {
		t.Fatalf("lines %q and %q: %v", line, number, err)
	}
	if end := r.Wait(); end.Err != nil || end.CopyErr != nil || end.Interrupted {
		t.Errorf("end %+v", end)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("the recording ended only with the process: %v", err)
	}
}

// A reader that stops ends the tracer.
func TestReaderThatGivesUp(t *testing.T) {
	r, _ := start(t, `trap 'exit 0' INT; while :; do echo a >&3; done`, &Options{})
	buf := make([]byte, 100)
	if _, err := r.Read(buf); err != nil {
		t.Fatal(err)
	}
	if end := r.Wait(); end.Err != nil || !end.Interrupted || end.Killed {
		t.Errorf("end %+v", end)
	}
}

// A line without an end is passed on in pieces rather than buffered.
func TestLongLine(t *testing.T) {
	r, _ := start(t, `head -c 10000000 /dev/zero >&3`, &Options{})
	n, err := io.Copy(io.Discard, r)
	if n != 10_000_000 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	r.Wait()
}

func TestFindProgram(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if _, err := FindProgram(Bpftrace); err == nil || !strings.Contains(err.Error(), "bpftrace is not installed") {
		t.Errorf("without bpftrace: %v", err)
	}
	program := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o777); err != nil {
			t.Fatal(err)
		}
		return path
	}
	want := program("bpftrace", "exit 0")
	if path, err := FindProgram(Bpftrace); path != want || err != nil {
		t.Errorf("bpftrace is %s, %v; want %s", path, err, want)
	}
	want = program("dtrace", "echo 'dtrace: Sun D 2.0'")
	if path, err := FindProgram(DTrace); path != want || err != nil {
		t.Errorf("DTrace is %s, %v; want %s", path, err, want)
	}
	if _, err := os.Stat("/usr/sbin/dtrace"); err == nil {
		return // found whatever PATH is
	}
	program("dtrace", "echo 'Usage: dtrace [-h | -G]'; exit 1")
	if _, err := FindProgram(DTrace); err == nil || !strings.Contains(err.Error(), "SystemTap") {
		t.Errorf("with SystemTap's dtrace: %v", err)
	}
}
