package main

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	progressInterval = 200 * time.Millisecond
	clearLine        = "\r\x1b[K"
)

// progress shows the progress of reading one or several inputs on a terminal: one line, rewritten a few times a second.
type progress struct {
	w       io.Writer
	name    string
	files   int   // number of inputs; 0 for a single input, which is shown by name
	size    int64 // total size of all inputs; -1 if unknown
	width   func(io.Writer) int
	start   time.Time
	read    atomic.Int64
	written atomic.Int64
	done    atomic.Int64 // number of finished files

	terminal sync.Mutex // locked while writing to the terminal
	stop     chan struct{}
	stopped  chan struct{}
}

// startProgress shows the progress of reading an input if standard error is a terminal and show is set. Otherwise it only
// counts.
func startProgress(env *environment, name string, size int64, show bool) *progress {
	p := &progress{w: env.stderr, name: printable(name), size: size, width: env.width, start: time.Now()}
	p.begin(env, show)
	return p
}

// startFilesProgress is startProgress for several inputs with the given total size.
func startFilesProgress(env *environment, files int, size int64, show bool) *progress {
	p := &progress{w: env.stderr, files: files, size: size, width: env.width, start: time.Now()}
	p.begin(env, show)
	return p
}

func (p *progress) begin(env *environment, show bool) {
	if show && env.isTerminal(env.stderr) {
		p.stop, p.stopped = make(chan struct{}), make(chan struct{})
		go p.loop()
	}
}

func (p *progress) loop() {
	defer close(p.stopped)
	ticker := time.NewTicker(progressInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			p.terminal.Lock()
			fmt.Fprint(p.w, clearLine+p.line(time.Since(p.start), p.width(p.w)))
			p.terminal.Unlock()
		case <-p.stop:
			fmt.Fprint(p.w, clearLine)
			return
		}
	}
}

// minShownName is the shortest form of a name on a narrow terminal.
const minShownName = 8

// line returns the text to show after the elapsed time. On a terminal of known width it cuts the start of a long name,
// because a line that wraps could not be erased.
func (p *progress) line(elapsed time.Duration, width int) string {
	name, state := []rune(p.name), []rune(p.state(elapsed))
	if p.files > 0 {
		name = []rune(fmt.Sprintf("%d of %d files", p.done.Load(), p.files))
	}
	room := max(width-len(": ")-len(state)-1, minShownName)
	if width > 0 && len(name) > room {
		name = append([]rune("…"), name[len(name)-room+1:]...)
	}
	line := slices.Concat(name, []rune(": "), state)
	if width > 0 {
		line = line[:min(len(line), width-1)]
	}
	return string(line)
}

// state describes the progress.
func (p *progress) state(elapsed time.Duration) string {
	read, written := p.read.Load(), p.written.Load()
	rate := float64(read) / max(elapsed.Seconds(), 1e-3)
	switch several := p.files > 0; {
	case written > 0 && !several:
		return fmt.Sprintf("writing, %s written", formatSize(written))
	case p.size > 0 && read >= p.size && !several:
		return fmt.Sprintf("%s read, sorting", formatSize(read))
	case p.size > 0 && read > 0:
		left := time.Duration(float64(max(p.size-read, 0)) / rate * float64(time.Second))
		return fmt.Sprintf("%s of %s (%d%%), %.0f MB/s, ETA %s", formatSize(read), formatSize(p.size),
			read*100/p.size, rate/1e6, left.Round(time.Second))
	}
	return fmt.Sprintf("%s read, %.0f MB/s", formatSize(read), rate/1e6)
}

// fileDone counts a finished input.
func (p *progress) fileDone() { p.done.Add(1) }

// print clears the progress line and calls fn, which may write to the terminal.
func (p *progress) print(fn func()) {
	p.terminal.Lock()
	defer p.terminal.Unlock()
	if p.stop != nil {
		fmt.Fprint(p.w, clearLine)
	}
	fn()
}

// Stop ends the display and clears the line.
func (p *progress) Stop() {
	if p.stop == nil {
		return
	}
	close(p.stop)
	<-p.stopped
	p.stop = nil
}

// reader counts the bytes read from the input.
func (p *progress) reader(r io.Reader) io.Reader { return &countingReader{r, &p.read} }

// writer counts the bytes written to the output.
func (p *progress) writer(w io.Writer) io.Writer { return &countingWriter{w, &p.written} }

type countingReader struct {
	r io.Reader
	n *atomic.Int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}

type countingWriter struct {
	w io.Writer
	n *atomic.Int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n.Add(int64(n))
	return n, err
}
