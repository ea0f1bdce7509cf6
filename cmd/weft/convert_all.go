package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/inputs"
	"github.com/weft-trace/weft/internal/timeline"
)

// A conversion is one input of a call on its way to its output.
type conversion struct {
	input, output string
	inFolder      bool        // it was found in a folder, not named
	info          fs.FileInfo // of the input when the call began; nil if there is none, or it is standard input

	done   chan struct{} // closed when one of the following is set
	report *convert.Report
	err    error // begins with the name of what failed
}

// newConversion looks at an input that goes to output.
func newConversion(input inputs.File, output string) *conversion {
	c := &conversion{input: input.Path, output: output, inFolder: input.Below != "", done: make(chan struct{})}
	if c.input != inputs.Stdin {
		if info, err := os.Stat(c.input); err == nil {
			c.info = info
		}
	}
	return c
}

// size returns the length of the input, -1 if it is not known beforehand.
func (c *conversion) size() int64 {
	if c.info == nil || !c.info.Mode().IsRegular() {
		return -1
	}
	return c.info.Size()
}

// mayShare reports whether an input may be converted beside others, by one of n workers with its share of the memory. It
// is small enough to be ready soon and not to be sorted on disk because of sharing. What has no size comes from a program
// that may not like its output to be read before, or beside, what it wrote first.
func (j *convertJob) mayShare(c *conversion, n int) bool {
	const shareOfInput = 4 // what a trace takes in memory is about as long as its text, but it may be packed
	return n > 1 && c.size() >= 0 && c.size() <= j.opts.Memory/int64(n)/shareOfInput
}

// convertAll converts everything, in the order of the command line or, where inputs are small, several at once: one
// worker each, which costs less than sharing one input among workers. It returns when all are done.
func (j *convertJob) convertAll(ctx context.Context, p *progress) {
	n := 1
	if len(j.conversions) > 1 {
		n = timeline.WorkerCount(j.opts.Workers, j.opts.Memory)
	}
	idle := make(chan *worker, n)
	for range n {
		idle <- new(worker)
	}
	if n > 1 && os.Getenv("GOGC") == "" {
		// What is kept between small files is little, and most of what they allocate is garbage at once. To collect it less
		// often costs a few megabytes; the limit of the heap holds.
		defer debug.SetGCPercent(debug.SetGCPercent(400))
	}
	each := j.opts
	each.Workers, each.Memory = 1, j.opts.Memory/int64(n)
	for _, c := range j.conversions {
		if ctx.Err() != nil {
			break
		}
		if j.mayShare(c, n) {
			w := <-idle
			go func() {
				j.convertOne(ctx, c, w, each, p)
				idle <- w
			}()
			continue
		}
		waitForAll(idle, n, func(w *worker) { j.convertOne(ctx, c, w, j.opts, p) })
	}
	waitForAll(idle, n, func(*worker) {})
}

// A worker holds what conversions reuse, one after the other.
type worker struct {
	convert.Converter
	input bytes.Buffer
}

// maxWhole is the size of inputs that are read before they are converted: there is nothing to gain from reading a short
// file while it is being converted.
const maxWhole = 1 << 20

// whole returns the content of an input as a reader of memory, if it is short.
func (w *worker) whole(src io.Reader, size int64) (io.Reader, error) {
	if size < 0 || size > maxWhole {
		return src, nil
	}
	w.input.Reset()
	w.input.Grow(int(size) + bytes.MinRead)
	n, err := w.input.ReadFrom(io.LimitReader(src, maxWhole+1))
	if err != nil {
		return nil, err
	}
	read := bytes.NewReader(w.input.Bytes())
	if n > maxWhole { // it grows while it is read
		w.input = bytes.Buffer{} // a reader of streams may be left behind with the old one
		return io.MultiReader(read, src), nil
	}
	return read, nil
}

// waitForAll waits until all n workers are idle, lets fn have one of them, and gives them back.
func waitForAll(idle chan *worker, n int, fn func(*worker)) {
	workers := make([]*worker, n)
	for i := range workers {
		workers[i] = <-idle
	}
	fn(workers[0])
	for _, w := range workers {
		idle <- w
	}
}

// convertOne converts one input and notes the result.
func (j *convertJob) convertOne(ctx context.Context, c *conversion, w *worker, opts convert.Options, p *progress) {
	defer close(c.done)
	c.report, c.err = j.convert(ctx, c, w, opts, p)
	p.fileDone()
}

func (j *convertJob) convert(ctx context.Context, c *conversion, w *worker, opts convert.Options, p *progress) (*convert.Report, error) {
	src, err := openInput(ctx, j.env, c.input)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	if j.outDir != "" {
		if err := j.folders.make(filepath.Dir(c.output)); err != nil {
			return nil, err
		}
	}
	dst, err := createOutput(ctx, j.env, c.output, j.force)
	if err != nil {
		return nil, err
	}
	defer dst.Abort()

	j.setForm(&opts, c.output)
	in, err := w.whole(p.reader(src), src.size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", inputName(c.input), withoutPath(err))
	}
	report, err := w.Convert(ctx, p.writer(dst), in, opts)
	if err != nil {
		if err := dst.Failed(); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%s: %w", inputName(c.input), withoutPath(err))
	}
	return report, dst.Commit()
}

// progress begins to show how far the call is.
func (j *convertJob) progress() *progress {
	if !j.several {
		c := j.conversions[0]
		return startProgress(j.env, inputName(c.input), c.size(), !j.quiet)
	}
	total := int64(0)
	for _, c := range j.conversions {
		if c.size() < 0 {
			total = -1
			break
		}
		total += c.size()
	}
	return startFilesProgress(j.env, len(j.conversions), total, !j.quiet)
}
