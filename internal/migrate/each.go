package migrate

import (
	"bytes"
	"context"
	"io"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/timeline"
)

// GCPercent is GOGC while many files are converted: most memory that small files allocate becomes garbage at once, and
// collecting it less often costs only a few megabytes.
const GCPercent = 400

// Each calls do for n inputs in order, several at once, and returns when all calls have returned. It is a run without
// decisions and records: the caller opens inputs and outputs, and do converts with Worker.Convert. A single input gets all
// workers and all memory in opts; several share them. No call starts after ctx has ended.
func Each(ctx context.Context, opts convert.Options, n int, do func(w *Worker, i int)) {
	if n == 1 {
		do(&Worker{run: newRun(&Config{}), workers: opts.Workers, memory: opts.Memory}, 0)
		return
	}
	r := newRun(&Config{Jobs: timeline.WorkerCount(opts.Workers, opts.Memory)})
	r.each = func(w *Worker, i int) {
		w.memory = opts.Memory / int64(r.Jobs) * int64(w.workers)
		do(w, i)
	}
	r.queue, r.cancel = newQueue(), func(error) {} // errors come only from ctx, once it has ended
	for i := range n {
		r.queue.tasks = append(r.queue.tasks, &Task{index: i})
	}
	r.queue.close(nil)
	_ = r.runWorkers(ctx) // its only errors come from the queue, which returns none here
}

// Convert converts an input of Each with its share of goroutines and memory. size is -1 if unknown.
func (w *Worker) Convert(ctx context.Context, dst io.Writer, src io.Reader, size int64, opts convert.Options) (*convert.Report, error) {
	opts.Memory = w.memory
	return w.convert(ctx, dst, src, size, opts)
}

func (w *Worker) convert(ctx context.Context, dst io.Writer, src io.Reader, size int64, opts convert.Options) (*convert.Report, error) {
	src, err := w.whole(src, size)
	if err != nil {
		return nil, err
	}
	opts.Workers = w.workers
	return w.convertWith(ctx, &w.converter, dst, src, opts)
}

// maxWhole is the size up to which inputs are read completely before they are converted: reading a short file during its
// conversion gains nothing.
const maxWhole = 1 << 20

// whole reads a short input into memory and returns a reader of the copy; it returns other inputs unchanged.
func (w *Worker) whole(src io.Reader, size int64) (io.Reader, error) {
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
	if n > maxWhole { // the file grew while being read
		w.input = bytes.Buffer{} // a stream reader may still use the old one
		return io.MultiReader(read, src), nil
	}
	return read, nil
}
