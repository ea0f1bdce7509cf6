// Package tracer runs bpftrace and DTrace with a script that prints probe lines, and delivers the lines.
//
// The tracer writes its records to a pipe of their own (its option -o), so that the traced program keeps its standard
// output. Its standard error, where some versions report lost events, is passed on line by line, but for these reports:
// they go among the records, where a reader of probe lines counts them.
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

	"github.com/weft-trace/weft/internal/probescripts"
)

// Options say what is recorded.
type Options struct {
	// Program is the tracer's, as Find returns it.
	Program string
	// Script is what it runs, and File where that lies.
	Script *probescripts.Script
	File   string
	// Traced is the path of the program whose probes are recorded, for scripts that need it.
	Traced string
	// Command is the command that the tracer starts and records until its end. It splits it at blanks.
	Command string
	// PID is the process that is recorded if there is no Command.
	PID int

	// Stdin is the traced command's; nil means that it reads nothing.
	Stdin *os.File
	// Stdout takes what the traced command prints, Stderr what it and the tracer report.
	Stdout, Stderr io.Writer

	// Grace is how long the tracer may take to end after an interrupt, before it is killed.
	Grace time.Duration
}

// arguments returns the tracer's command line. Records go to file descriptor 3.
func (o *Options) arguments() []string {
	const records = "/dev/fd/3"
	var args []string
	if o.Script.Tracer == probescripts.DTrace {
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

// A Recording is a tracer that runs. Read delivers its lines until it has ended; Wait then says how it ended.
type Recording struct {
	tracer  *exec.Cmd
	grace   time.Duration
	records *os.File // read end of the pipe that the tracer writes to

	lines *io.PipeReader
	out   *io.PipeWriter
	mu    sync.Mutex // held while whole lines are written to out, and for what follows
	size  int64      // bytes of these lines

	stderr io.Writer
	saidMu sync.Mutex
	said   []string // the last lines that went there

	interrupt   sync.Once
	interrupted chan struct{} // closed by Interrupt
	kill        sync.Once
	killing     chan struct{} // closed by Kill
	exited      chan struct{} // closed when the tracer has exited; err and killed are set then
	ended       chan struct{} // closed when all its lines have been delivered; copyErr is set then
	err         error
	copyErr     error
	killed      bool
}

// drainTime is how long output of a tracer that has exited is waited for. What it wrote is there already then; only a
// process that it left behind can keep its pipes open.
const drainTime = 300 * time.Millisecond

// Start runs the tracer.
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
	said := &lineWriter{write: r.report}
	r.tracer.ExtraFiles = []*os.File{write}
	r.tracer.Stdout, r.tracer.Stderr = opts.Stdout, said
	if opts.Stdin != nil {
		r.tracer.Stdin = opts.Stdin
	}
	r.tracer.WaitDelay = drainTime
	setProcessGroup(r.tracer)
	if err := r.tracer.Start(); err != nil {
		records.Close()
		return nil, err
	}
	go r.wait(said)
	go r.copyRecords()
	return r, nil
}

// Read delivers whole lines.
func (r *Recording) Read(p []byte) (int, error) { return r.lines.Read(p) }

// Interrupt ends the recording as Ctrl-C does: what the tracer still writes is delivered. It is killed if it takes too
// long.
func (r *Recording) Interrupt() {
	r.interrupt.Do(func() {
		close(r.interrupted)
		interruptProcess(r.tracer)
	})
}

// Kill ends the recording at once. What the tracer holds is lost.
func (r *Recording) Kill() {
	r.kill.Do(func() { close(r.killing) })
	r.Interrupt()
}

// End says how a recording ended.
type End struct {
	Err         error    // of the tracer; nil if it ended well, or because of Interrupt
	Interrupted bool     // Interrupt was called
	Killed      bool     // and the tracer did not end in time, or Kill was called
	CopyErr     error    // of reading what it wrote
	Size        int64    // of its lines, in bytes
	Said        []string // its last lines on standard error, and the lines of the command that it ran
}

// Wait waits for the end of the tracer, and interrupts it if its lines have not all been read.
func (r *Recording) Wait() *End {
	r.lines.Close()
	select {
	case <-r.ended:
	default:
		r.Interrupt()
		<-r.ended
	}
	r.saidMu.Lock()
	defer r.saidMu.Unlock()
	return &End{Err: r.err, Interrupted: isClosed(r.interrupted), Killed: r.killed, CopyErr: r.copyErr, Size: r.size, Said: slices.Clone(r.said)}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// wait waits until the tracer has exited, and makes it exit where it has to.
func (r *Recording) wait(said *lineWriter) {
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
		// The signal has ended it: it was not ready yet, or was killed.
	default:
		r.err = err
	}
	said.flush()
	close(r.exited)
}

func (r *Recording) killNow(waited <-chan error) error {
	killProcesses(r.tracer)
	r.killed = true
	return <-waited
}

// copyRecords delivers what the tracer writes to its pipe.
func (r *Recording) copyRecords() {
	go func() {
		<-r.exited
		r.records.SetReadDeadline(time.Now().Add(drainTime)) // ends a read that waits already
	}()
	whole := &lineWriter{write: r.deliver}
	buf := make([]byte, 64<<10)
	wanted := true
	for {
		n, err := r.records.Read(buf)
		if _, writeErr := whole.Write(buf[:n]); writeErr != nil && wanted {
			wanted = false // the reader has stopped; further lines are discarded
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
	<-r.exited // reports of lost events may come until then
	whole.flush()
	r.records.Close()
	close(r.ended)
	r.out.Close()
}

// deliver hands whole lines to the reader.
func (r *Recording) deliver(lines []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.size += int64(len(lines))
	_, err := r.out.Write(lines)
	return err
}

// losses matches tracers' messages about events that they have lost, which is a part of the recording.
var losses = regexp.MustCompile(`^(Lost \d+ events|dtrace: .*\bdrops?\b.*|dtrace: error .*)\s*$`)

const maxSaid = 20 // lines that are kept

// report passes on whole lines of standard error. It returns no error: a tracer whose messages are not read goes on.
func (r *Recording) report(lines []byte) error {
	for line := range bytes.Lines(lines) {
		if losses.Match(line) {
			_ = r.deliver(append(bytes.TrimSpace(line), '\n'))
			continue
		}
		r.saidMu.Lock()
		r.said = append(r.said, string(bytes.TrimSpace(line)))
		r.said = r.said[max(0, len(r.said)-maxSaid):]
		r.saidMu.Unlock()
		_, _ = r.stderr.Write(line)
	}
	return nil
}

// A lineWriter hands whole lines on.
type lineWriter struct {
	write func(lines []byte) error
	mu    sync.Mutex
	rest  []byte // the start of a line
}

// maxLine bounds a line that is kept until its end comes; longer ones are handed on in pieces.
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

// flush hands on a last line that has no end.
func (w *lineWriter) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.rest) > 0 {
		_ = w.write(w.rest)
		w.rest = nil
	}
}
