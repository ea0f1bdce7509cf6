// Package tracer has the scripts for bpftrace and DTrace that weft ships. It runs them, or a script of the user, and returns the
// probe lines that they print.
//
// The tracer writes its records to a separate pipe (its option -o), so that the traced program keeps its standard output. Its
// standard error is passed on line by line, except reports of lost events, which some versions print there: these are inserted
// into the records, so that readers of probe lines count them.
package tracer

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Options configure a recording.
type Options struct {
	// Program is the path of the tracer, from FindProgram.
	Program string
	// Script is the script to run, and File its path.
	Script *Script
	File   string
	// Traced is the path of the program with the probes, for scripts that need it.
	Traced string
	// Command is the command to start and record until it ends. The tracer splits it at blanks.
	Command string
	// PID is the process to record if there is no Command.
	PID int

	// Stdin is the standard input of the traced command; nil: empty.
	Stdin *os.File
	// Stdout receives the standard output of the traced command, and Stderr the messages of the command and the tracer.
	Stdout, Stderr io.Writer

	// Grace is how long the tracer may take to end after an interrupt before it is killed.
	Grace time.Duration
}

// arguments returns the tracer's arguments. Records are written to file descriptor 3.
func (o *Options) arguments() []string {
	const records = "/dev/fd/3"
	var args []string
	if o.Script.Tracer == DTrace {
		args = []string{"-q", "-s", o.File, "-o", records}
	} else {
		args = []string{"-q"}
		if o.Script.JSON() {
			args = append(args, "-f", "json")
		}
		args = append(args, "-o", records, o.File)
		if o.Script.NeedsProgram() {
			args = append(args, o.Traced)
		}
	}
	if o.Command != "" {
		return append(args, "-c", o.Command)
	}
	return append(args, "-p", strconv.Itoa(o.PID))
}

// A Recording is a running tracer. Read returns its lines until it has ended; Wait then reports how it ended.
type Recording struct {
	tracer  *exec.Cmd
	grace   time.Duration
	records *os.File // read end of the tracer's pipe

	lines *io.PipeReader
	out   *io.PipeWriter
	mu    sync.Mutex // held while whole lines are written to out; guards size
	size  int64      // bytes of all lines

	stderr      io.Writer
	stderrMu    sync.Mutex
	stderrLines []string // the last lines written to stderr

	interrupt   sync.Once
	interrupted chan struct{} // closed by Interrupt
	kill        sync.Once
	killing     chan struct{} // closed by Kill
	exited      chan struct{} // closed when the tracer has exited, after setting err and killed
	ended       chan struct{} // closed when all lines were returned, after setting copyErr
	err         error
	copyErr     error
	killed      bool
}

// drainTime is how long to wait for output after the tracer has exited. Its own output is already there; only a process that it
// left running can keep the pipes open.
const drainTime = 300 * time.Millisecond

// Start starts the tracer and returns its recording.
func Start(opts *Options) (*Recording, error) {
	records, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer write.Close()
	r := &Recording{
		tracer: exec.Command(opts.Program, opts.arguments()...), grace: opts.Grace, records: records, stderr: opts.Stderr,
		interrupted: make(chan struct{}), killing: make(chan struct{}), exited: make(chan struct{}), ended: make(chan struct{}),
	}
	r.lines, r.out = io.Pipe()
	messages := &lineWriter{write: r.report}
	r.tracer.ExtraFiles = []*os.File{write}
	r.tracer.Stdout, r.tracer.Stderr = opts.Stdout, messages
	if opts.Stdin != nil {
		r.tracer.Stdin = opts.Stdin
	}
	r.tracer.WaitDelay = drainTime
	setProcessGroup(r.tracer)
	if err := r.tracer.Start(); err != nil {
		records.Close()
		return nil, err
	}
	go r.wait(messages)
	go r.copyRecords()
	return r, nil
}

// Read returns whole lines.
func (r *Recording) Read(p []byte) (int, error) { return r.lines.Read(p) }

// Interrupt ends the recording like Ctrl-C: the tracer's remaining output is still returned. After the grace period, the tracer
// is killed.
func (r *Recording) Interrupt() {
	r.interrupt.Do(func() {
		close(r.interrupted)
		interruptProcess(r.tracer)
	})
}

// Kill ends the recording immediately. Data buffered by the tracer is lost.
func (r *Recording) Kill() {
	r.kill.Do(func() { close(r.killing) })
	r.Interrupt()
}

// End describes how a recording ended.
type End struct {
	Err         error    // of the tracer; nil if it succeeded or was interrupted
	Interrupted bool     // Interrupt was called
	Killed      bool     // the tracer did not end in time, or Kill was called
	CopyErr     error    // error reading the records
	Size        int64    // size of all lines, in bytes
	StderrLines []string // the last lines on standard error, from the tracer and the command that it ran
}

// Wait waits until the tracer ends, and interrupts it if not all of its lines have been read.
func (r *Recording) Wait() *End {
	r.lines.Close()
	select {
	case <-r.ended:
	default:
		r.Interrupt()
		<-r.ended
	}
	r.stderrMu.Lock()
	defer r.stderrMu.Unlock()
	return &End{Err: r.err, Interrupted: isClosed(r.interrupted), Killed: r.killed, CopyErr: r.copyErr, Size: r.size, StderrLines: slices.Clone(r.stderrLines)}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// wait waits until the tracer has exited, killing it if necessary.
func (r *Recording) wait(messages *lineWriter) {
	waited := make(chan error, 1)
	go func() { waited <- r.tracer.Wait() }()
	var err error
	select {
	case err = <-waited:
	case <-r.interrupted:
		timer := time.NewTimer(r.grace)
		defer timer.Stop()
		select {
		case err = <-waited:
		case <-timer.C:
			err = r.killNow(waited)
		case <-r.killing:
			err = r.killNow(waited)
		}
	}
	var exit *exec.ExitError
	switch {
	case errors.Is(err, exec.ErrWaitDelay):
	case isClosed(r.interrupted) && errors.As(err, &exit) && !exit.Exited():
		// The signal ended the tracer, because it was not ready yet or was killed.
	default:
		r.err = err
	}
	messages.flush()
	close(r.exited)
}

func (r *Recording) killNow(waited <-chan error) error {
	killProcesses(r.tracer)
	r.killed = true
	return <-waited
}

// copyRecords copies the records from the tracer's pipe.
func (r *Recording) copyRecords() {
	go func() {
		<-r.exited
		r.records.SetReadDeadline(time.Now().Add(drainTime)) // ends a blocked read
	}()
	whole := &lineWriter{write: r.deliver}
	buf := make([]byte, 64<<10)
	wanted := true
	for {
		n, err := r.records.Read(buf)
		if _, writeErr := whole.Write(buf[:n]); writeErr != nil && wanted {
			wanted = false // the reader has stopped; discard further lines
			r.Interrupt()
		}
		if isClosed(r.exited) {
			r.records.SetReadDeadline(time.Now().Add(drainTime))
		}
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrDeadlineExceeded) {
				r.copyErr = err
			}
			break
		}
	}
	<-r.exited // until then, reports of lost events may arrive
	whole.flush()
	r.records.Close()
	close(r.ended)
	r.out.Close()
}

// deliver passes whole lines to the reader.
func (r *Recording) deliver(lines []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.size += int64(len(lines))
	_, err := r.out.Write(lines)
	return err
}

// losses matches tracers' messages about lost events, which are part of the recording.
var losses = regexp.MustCompile(`^(Lost \d+ events|dtrace: .*\bdrops?\b.*|dtrace: error .*)\s*$`)

const maxStderrLines = 20

// report passes on whole lines of standard error. It ignores write errors, so that the tracer continues.
func (r *Recording) report(lines []byte) error {
	for line := range bytes.Lines(lines) {
		if losses.Match(line) {
			_ = r.deliver(append(bytes.TrimSpace(line), '\n'))
			continue
		}
		r.stderrMu.Lock()
		r.stderrLines = append(r.stderrLines, string(bytes.TrimSpace(line)))
		r.stderrLines = r.stderrLines[max(0, len(r.stderrLines)-maxStderrLines):]
		r.stderrMu.Unlock()
		_, _ = r.stderr.Write(line)
	}
	return nil
}

// A lineWriter passes on whole lines.
type lineWriter struct {
	write func(lines []byte) error
	mu    sync.Mutex
	rest  []byte // an incomplete line
}

// maxLine limits the length of a buffered incomplete line; longer ones are passed on in pieces.
const maxLine = 4 << 20

func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	end := bytes.LastIndexByte(p, '\n') + 1
	if end == 0 && len(w.rest)+len(p) <= maxLine {
		w.rest = append(w.rest, p...)
		return len(p), nil
	}
	if end == 0 {
		end = len(p)
	}
	lines := append(w.rest, p[:end]...)
	err := w.write(lines)
	w.rest = append(lines[:0], p[end:]...)
	return len(p), err
}

// flush passes on an incomplete last line.
func (w *lineWriter) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.rest) > 0 {
		_ = w.write(w.rest)
		w.rest = nil
	}
}
