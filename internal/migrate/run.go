package migrate

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/pfwire"
)

// A run is one call of Run.
type run struct {
	*Config
	places
	*decider
	state   state
	filters filters
	names   sorter // names from lists
	queue   *queue
	journal *journal
	opening sync.Mutex // guards the opening of the journal
	counts  counts
	members chan memberJob
	host    string
	began   time.Time
	pauses  []time.Duration // before further attempts at an input that could not be read
	closers []func()
	cancel  context.CancelCauseFunc

	storage    Storage
	tempFolder string // below the state folder
	// each converts an input of Each by its index.
	each func(w *Worker, i int)
	// sink receives records: it writes them to the journal, unless a Batch keeps them.
	sink func(*Record) error

	// convertWith is convert.Converter.Convert. Tests replace it.
	convertWith func(context.Context, *convert.Converter, io.Writer, io.Reader, convert.Options) (*convert.Report, error)
}

// counts holds the totals of a run so far.
type counts struct {
	found, foundBytes    atomic.Int64
	todo, todoBytes      atomic.Int64
	walked               atomic.Bool
	bytesRead            atomic.Int64
	processed            atomic.Int64 // of todo
	done, members        atomic.Int64 // converted
	failed, skipped      atomic.Int64
	failedBefore         atomic.Int64 // failed before, and not tried again
	unchanged, forgotten atomic.Int64
}

// Run carries out the migration that config describes. It returns the summary of all records once it has processed all
// inputs, whatever their outcome. The error is a *Mistake if the run could not start, a *Stopped if it could not go on, or
// the error of ctx.
func Run(ctx context.Context, config Config) (*Summary, error) {
	r := newRun(&config)
	summary, err := r.do(ctx)
	if ctx.Err() == nil {
		err = asStop(err)
	}
	return summary, err
}

func newRun(config *Config) *run {
	if config.Jobs <= 0 {
		config.Jobs = runtime.GOMAXPROCS(0)
	}
	r := &run{Config: config, began: time.Now(), members: make(chan memberJob), pauses: []time.Duration{time.Second, 10 * time.Second}}
	r.storage, r.tempFolder, r.sink = localStorage{r}, tempFolder, r.toJournal
	r.convertWith = func(ctx context.Context, c *convert.Converter, dst io.Writer, src io.Reader, opts convert.Options) (*convert.Report, error) {
		return c.Convert(ctx, dst, src, opts)
	}
	return r
}

func (r *run) do(ctx context.Context) (summary *Summary, err error) {
	if err := r.prepare(); err != nil {
		return nil, err
	}
	defer func() {
		for _, closer := range slices.Backward(r.closers) {
			closer()
		}
	}()
	if !r.DryRun {
		if err := r.begin(); err != nil {
			return nil, err
		}
	}
	base, err := r.state.openRecords()
	if err != nil {
		return nil, err
	}
	r.closers = append(r.closers, base.close)
	sources, err := r.inputs()
	if err != nil {
		return nil, err
	}
	if err := r.checkRoot(base.root); err != nil {
		return nil, err
	}
	p := &producer{run: r, base: base, seen: NewCollisions(), sums: newSummarizer()}
	p.sums.OptionsID = r.optionsID
	if r.DryRun {
		if err := p.produce(ctx, sources); err != nil {
			return nil, err
		}
		return &Summary{Decided: p.decided, DryRun: true}, nil
	}
	err = r.work(ctx, p, sources)
	if r.journal != nil {
		if closeErr := r.journal.close(); err == nil && closeErr != nil {
			err = stopped(closeErr, "the journal: %s", cause(closeErr))
		}
	}
	if err != nil {
		return r.unfinished(), err
	}
	if r.journal == nil && base.fresh && r.Shard.Count <= 1 && base.header.OptionsID == r.optionsID {
		p.sums.Root, p.sums.Options, p.sums.Run = r.root, r.Settings, r.totals() // the manifest is up to date
		return p.sums.result(), nil
	}
	base.close()
	return r.summarize()
}

// prepare checks the configuration and finds the folders.
func (r *run) prepare() (err error) {
	if err := r.check(); err != nil {
		return err
	}
	r.state = stateOf(r.Out)
	root := ""
	if r.RetryFailed && r.Root == "" {
		if root, err = lastRoot(r.state); err != nil {
			return err
		}
	} else if root, err = r.chooseRoot(); err != nil {
		return err
	}
	if err := r.places.open(r.Config, root); err != nil {
		return err
	}
	if r.filters, err = parseFilters(r.Filters); err != nil {
		return err
	}
	r.decider = newDecider(r.Config, r.storage)
	r.host, _ = os.Hostname()
	r.queue = newQueue()
	return nil
}

// checkRoot rejects a root that differs from the earlier runs' root: records use paths below the root, so files with the same
// path would replace each other's outputs. A moved archive is accepted, because its old root no longer exists.
func (r *run) checkRoot(last string) error {
	if last == "" || last == r.root || r.Force {
		return nil
	}
	before, err := os.Stat(last)
	if err != nil {
		return nil
	}
	if now, err := os.Stat(r.root); err == nil && os.SameFile(before, now) {
		return nil
	}
	return mistakef("%s has the traces of %s; give the traces of %s another --out, or set --root %s (--force mixes them, and files of the same name replace each other)",
		r.Out, last, r.root, last)
}

// lastRoot returns the root of the latest run.
func lastRoot(s state) (string, error) {
	all, err := s.openRecords()
	if err != nil {
		return "", err
	}
	defer all.close()
	if all.root == "" {
		return "", mistakef("%s: there is no migration; run weft migrate with inputs first", filepath.Dir(s.dir))
	}
	return all.root, nil
}

// begin creates and locks the folders, and removes temporary files left by dead runs.
func (r *run) begin() error {
	if err := os.MkdirAll(r.state.path(tempFolder), 0o777); err != nil {
		return stopped(err, "%s: %s", r.Out, cause(err))
	}
	unlock, err := r.state.lock(r.Shard)
	if err != nil {
		return err
	}
	r.closers = append(r.closers, unlock)
	info, err := os.Stat(r.out)
	if err != nil {
		return err
	}
	if r.outInfo = info; r.outTrue == r.out {
		if target, err := filepath.EvalSymlinks(r.out); err == nil {
			r.outTrue = target
		}
	}
	return r.removeTemps()
}

// removeTemps removes the temporary files of this shard's dead runs; a run without shards removes every shard's.
func (r *run) removeTemps() error {
	pattern := "*.tmp"
	if r.Shard.Count > 1 {
		pattern = r.Shard.String() + "." + pattern
	}
	temps, err := filepath.Glob(r.state.path(filepath.Join(tempFolder, pattern)))
	for _, temp := range temps {
		if removeErr := os.Remove(temp); removeErr != nil && !errors.Is(removeErr, fs.ErrNotExist) {
			err = errors.Join(err, removeErr)
		}
	}
	return err
}

// inputs returns the inputs of the run.
func (r *run) inputs() (extsort.Sequence[Found], error) {
	r.closers = append(r.closers, r.names.close)
	if r.RetryFailed {
		return r.failedInputs()
	}
	return r.openSources()
}

// header returns the first line of the run in its journal.
func (r *run) header() *header {
	settings := r.Settings
	if settings == nil {
		settings = map[string]string{}
	}
	return &header{Version: formatVersion, Options: settings, OptionsID: r.optionsID, Root: r.root, At: now(), Host: r.host, Weft: pfwire.Version}
}

func now() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000000000Z") }

// record records the outcome of an input.
func (r *run) record(record *Record) error {
	record.At, record.Host, record.Shard = now(), r.host, r.Shard.String()
	return r.sink(record)
}

// toJournal appends a record to the journal, which it opens for the first record: a run with nothing to do writes nothing.
func (r *run) toJournal(record *Record) error {
	if err := r.openJournal(); err != nil {
		return err
	}
	if err := r.journal.append(record); err != nil {
		return stopped(err, "the journal: %s", cause(err))
	}
	return nil
}

func (r *run) openJournal() (err error) {
	r.opening.Lock()
	defer r.opening.Unlock()
	if r.journal != nil {
		return nil
	}
	name := r.Shard.String()
	j, err := openJournal(r.state.path("journal-" + name + ".jsonl"))
	if err == nil {
		if err = j.append(r.header()); err != nil {
			j.close()
		}
	}
	if err != nil {
		return stopped(err, "the journal: %s", cause(err))
	}
	r.journal = j
	return nil
}

// finish records and counts an input that failed or was skipped, or an archive.
func (r *run) finish(record *Record) error {
	if err := r.record(record); err != nil {
		return err
	}
	switch record.State {
	case Failed:
		r.counts.failed.Add(1)
	case Skipped:
		r.counts.skipped.Add(1)
	}
	return nil
}

// forget marks a record as forgotten, because its input no longer exists.
func (r *run) forget(record *Record) error {
	r.counts.forgotten.Add(1)
	return r.record(&Record{Input: record.Input, Member: record.Member, State: forgotten, OptionsID: r.optionsID, Weft: pfwire.Version})
}

// work converts the inputs that the producer finds.
func (r *run) work(ctx context.Context, p *producer, sources extsort.Sequence[Found]) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.cancel = cancel
	stopProgress := r.reportProgress()
	defer stopProgress()
	var producing sync.WaitGroup
	var producerErr error
	producing.Go(func() {
		producerErr = p.produce(ctx, sources)
		r.counts.walked.Store(producerErr == nil)
		r.queue.close(producerErr)
	})
	stopWaiting := context.AfterFunc(ctx, func() { r.queue.close(context.Cause(ctx)) })
	defer stopWaiting()
	err := r.runWorkers(ctx)
	producing.Wait()
	if err = cmp.Or(producerErr, err); err != nil && ctx.Err() == nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return r.foundAnything(p)
}

// foundAnything returns a *Mistake for a run that found no inputs and has no records: most likely its inputs are somewhere
// else.
func (r *run) foundAnything(p *producer) error {
	if r.counts.found.Load() > 0 || p.known > 0 || r.RetryFailed {
		return nil
	}
	return r.nothingThere()
}

func (r *run) nothingThere() error {
	return mistakef("there are no files to convert in %s", strings.Join(append(slices.Clone(r.Inputs), r.Lists...), ", "))
}

// runWorkers runs the workers until there is nothing to do. The error is the queue's.
func (r *run) runWorkers(ctx context.Context) (err error) {
	tasks := make(chan *dispatched)
	var workers, open sync.WaitGroup
	var inUse atomic.Int64 // number of goroutines assigned to tasks
	finished := make(chan struct{})
	for range r.Jobs {
		w := &Worker{run: r}
		workers.Go(func() { w.loop(ctx, tasks, finished, &open, &inUse) })
	}
	for {
		var t *Task
		var left int
		if t, left, err = r.queue.next(); t == nil || err != nil {
			break
		}
		open.Add(1)
		d := &dispatched{t, 1}
		if left >= 0 {
			d.workers = max(1, (r.Jobs-int(inUse.Load()))/(left+1)) // idle workers' goroutines help
		}
		inUse.Add(int64(d.workers))
		select {
		case tasks <- d:
		case <-ctx.Done():
			open.Done()
		}
		if ctx.Err() != nil {
			break
		}
	}
	open.Wait() // archives may still hand out members
	close(finished)
	workers.Wait()
	return err
}

// dispatched is a task with the number of goroutines that it may use.
type dispatched struct {
	*Task
	workers int
}

func (w *Worker) loop(ctx context.Context, tasks <-chan *dispatched, finished <-chan struct{}, open *sync.WaitGroup, inUse *atomic.Int64) {
	for {
		select {
		case d := <-tasks:
			w.workers = d.workers
			if err := w.do(ctx, d.Task); err != nil {
				w.cancel(err)
			}
			inUse.Add(-int64(d.workers))
			open.Done()
		case m := <-w.members:
			w.workers = 1
			m.run(ctx, w)
		case <-finished:
			return
		}
	}
}

// do carries out a task.
func (w *Worker) do(ctx context.Context, t *Task) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if w.each != nil {
		w.each(w, t.index)
		return nil
	}
	w.count = &taskCounter{total: &w.counts.bytesRead}
	if err := w.convertFile(ctx, t); err != nil {
		return err
	}
	w.count.complete(t.Found.Size)
	w.counts.processed.Add(1)
	return nil
}

// pause waits before another attempt.
func (w *Worker) pause(ctx context.Context, attempt int) error {
	timer := time.NewTimer(w.pauses[min(attempt, len(w.pauses))-1])
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// fileMemory returns the memory budget of a file, in bytes.
func (r *run) fileMemory() int64 { return cmp.Or(r.Convert.Memory, 256<<20) }

func hashBytes(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
