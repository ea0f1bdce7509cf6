package migrate

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Batch converts tasks that another program hands out, for example in a cluster worker. It makes decisions, conversions and
// records like a run, but has no walk, queue or journal.
//
// It uses only the Config fields that concern individual files: Out and Root (with a Scratch), Convert, Settings, Perfetto,
// FileTimeout, Verify, Force, RetryFailed and Redo.
type Batch struct {
	run     *run
	mu      sync.Mutex
	records []*Record
}

// NewBatch returns a new batch. Inputs come from storage, or from below c.Root if storage is nil. Outputs go below c.Out,
// with temporary files in scratch, or to storage if scratch is nil. If both are nil, the batch can only decide about local
// files.
func NewBatch(c Config, storage Storage, scratch *Scratch) (*Batch, error) {
	if err := c.checkConversion(); err != nil {
		return nil, err
	}
	b := new(Batch)
	r := newRun(&c)
	r.members, r.sink = nil, b.keep
	r.host, _ = os.Hostname()
	r.state = stateOf(c.Out)
	if scratch != nil {
		r.tempFolder = scratch.name
	}
	if scratch != nil || storage == nil {
		if err := r.places.open(r.Config, c.Root); err != nil {
			return nil, err
		}
	}
	switch {
	case storage != nil && scratch != nil:
		r.storage = mixedStorage{localStorage{r}, storage}
	case storage != nil:
		r.storage = storage
	}
	r.decider = newDecider(r.Config, r.storage)
	b.run = r
	return b, nil
}

// mixedStorage writes outputs locally and reads inputs from another storage.
type mixedStorage struct {
	localStorage
	inputs Storage
}

// Open implements Storage.
func (s mixedStorage) Open(ctx context.Context, input string) (Input, error) {
	return s.inputs.Open(ctx, input)
}

// keep stores a record in memory.
func (b *Batch) keep(r *Record) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.records = append(b.records, r)
	return nil
}

// Decide completes a task whose Found and Collision are set, using the records of its input and of the input's members. It
// reports whether there is anything to do.
func (b *Batch) Decide(t *Task, own *Record, members map[string]*Record) bool {
	f := &t.Found
	t.Prior, t.Members = own, members
	if f.State != "" {
		t.Action, t.Why = actSkip, string(f.Kind)
		record := b.run.newRecord(f.Path, "", f.Size, f.Mtime)
		record.State, record.Kind, record.Reason = f.State, f.Kind, f.Reason
		keeps := own != nil && own.State == Done && f.State == Skipped
		return !keeps && !b.run.convertedAndGone(f, own) && !sameOutcome(own, record)
	}
	t.Action, t.Why, _ = b.run.decideFile(f, own, members)
	if t.Collision != "" && t.Action != actSkip {
		t.Action, t.Why = actConvert, string(KindCollision)
	}
	return t.Action != actSkip && t.Action != actFail
}

// Do carries out a task, reusing the worker's memory. Errors concern only the storage or ctx; the outcome of the input is in
// its record.
func (b *Batch) Do(ctx context.Context, w *Worker, t *Task) error {
	w.run, w.workers = b.run, 1
	if f := &t.Found; f.State != "" {
		record := b.run.newRecord(f.Path, "", f.Size, f.Mtime)
		record.State, record.Kind, record.Reason = f.State, f.Kind, f.Reason
		if t.Prior != nil {
			record.Output = t.Prior.Output
		}
		return b.run.finish(record)
	}
	if t.Action == "" {
		t.Action, t.Why = actConvert, whyNew
	}
	return w.do(ctx, t)
}

// Fail records that a task failed for the caller's reason.
func (b *Batch) Fail(t *Task, kind Kind, reason string) error {
	record := b.run.newRecord(t.Found.Path, "", t.Found.Size, t.Found.Mtime)
	record.State, record.Kind, record.Reason = Failed, kind, reason
	return b.run.finish(record)
}

// Records returns the records so far, in the order of their inputs.
func (b *Batch) Records() []*Record {
	b.mu.Lock()
	defer b.mu.Unlock()
	sorted := slices.Clone(b.records)
	slices.SortStableFunc(sorted, func(x, y *Record) int {
		if c := comparePaths(x.Input, y.Input); c != 0 {
			return c
		}
		return comparePaths(x.Member, y.Member)
	})
	return sorted
}

// Part returns the records as a part of a manifest: a header, and a line for each record.
func (b *Batch) Part() (part []byte, err error) {
	h := b.run.header()
	h.Root = b.run.Root
	if part, err = appendLine(nil, h); err != nil {
		return nil, err
	}
	for _, r := range b.Records() {
		if part, err = appendLine(part, r); err != nil {
			return nil, err
		}
	}
	return part, nil
}

// StateFolder is the folder for the manifest and parts, below the output folder.
const StateFolder = stateFolder

// ManifestName is the name of the manifest in StateFolder.
const ManifestName = manifestName

// PartName returns a new name for a part in StateFolder. Names sort by time.
func PartName() string {
	return fmt.Sprintf("%s%016x-%016x%s", partPrefix, time.Now().UnixNano(), rand.Uint64(), linesSuffix)
}

// PartTime returns when the name of a part was created. It returns false if the name is not a part's.
func PartTime(name string) (at time.Time, ok bool) {
	var ns, random uint64
	n, _ := fmt.Sscanf(name, partPrefix+"%16x-%16x"+linesSuffix, &ns, &random)
	return time.Unix(0, int64(ns)), n == 2
}

// IsStateFile reports whether a file in StateFolder contains records: the manifest, a part or a journal.
func IsStateFile(name string) bool {
	return name == manifestName || isJournal(name)
}

// SavePart stores a part below a local output folder, atomically.
func SavePart(out string, scratch *Scratch, part []byte) error {
	s := stateOf(out)
	name := PartName()
	temp := filepath.Join(s.path(scratch.name), name)
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return stopped(err, "%s: %s", temp, cause(err))
	}
	_, err = f.Write(part)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(temp, s.path(name))
	}
	if err != nil {
		os.Remove(temp)
		return stopped(err, "%s: %s", s.path(name), cause(err))
	}
	return nil
}

// A Scratch is a folder for the temporary files of one process, below the output folder. A lock shows that the process is
// alive.
type Scratch struct {
	name string // below the state folder
	dir  string
	lock *os.File
}

const scratchPrefix = "process-"

// NewScratch creates a folder for temporary files below the output folder, which it creates if necessary.
func NewScratch(out string) (*Scratch, error) {
	s := stateOf(out)
	c := new(Scratch)
	if err := os.MkdirAll(s.path(tempFolder), 0o777); err != nil {
		return nil, stopped(err, "%s: %s", out, cause(err))
	}
	// The lock is beside the folder and is acquired before the folder exists, so that no other process takes the folder for a
	// dead process's.
	err := errLocked
	for err == errLocked { // another process is sweeping
		c.name = tempFolder + "/" + fmt.Sprintf("%s%016x", scratchPrefix, rand.Uint64())
		c.dir = s.path(c.name)
		c.lock, err = openLocked(c.dir+".lock", false)
	}
	if err == nil {
		err = os.Mkdir(c.dir, 0o777)
	}
	if err != nil {
		c.Close()
		return nil, stopped(err, "%s: %s", out, cause(err))
	}
	return c, nil
}

// Close removes the folder with its contents.
func (c *Scratch) Close() error {
	err := os.RemoveAll(c.dir)
	if c.lock != nil {
		os.Remove(c.lock.Name())
		c.lock.Close()
	}
	return err
}

// Sweep removes the temporary files that dead processes left below an output folder, and returns the number of these files.
func Sweep(out string) (removed int, err error) {
	s := stateOf(out)
	locks, err := filepath.Glob(s.path(filepath.Join(tempFolder, scratchPrefix+"*.lock")))
	for _, name := range locks {
		lock, err := openLocked(name, false)
		if err != nil {
			continue // the process is alive, or another one is sweeping
		}
		dir := strings.TrimSuffix(name, ".lock")
		left, _ := os.ReadDir(dir)
		removed += len(left)
		err = os.RemoveAll(dir)
		os.Remove(name)
		lock.Close()
		if err != nil {
			return removed, err
		}
	}
	return removed, err
}

// Find yields the inputs of a configuration in order, as a run does, except those that the filters exclude. Found and
// Collision of the tasks are set. It opens no inputs.
func Find(c Config) iter.Seq2[*Task, error] {
	return func(yield func(*Task, error) bool) {
		r := newRun(&c)
		if err := r.find(func(t *Task) bool { return yield(t, nil) }); err != nil {
			yield(nil, asStop(err))
		}
	}
}

func (r *run) find(yield func(*Task) bool) error {
	if err := r.check(); err != nil {
		return err
	}
	root, err := r.chooseRoot()
	if err != nil {
		return err
	}
	if err := r.places.open(r.Config, root); err != nil {
		return err
	}
	if r.filters, err = parseFilters(r.Filters); err != nil {
		return err
	}
	defer r.names.close()
	sources, err := r.openSources()
	if err != nil {
		return err
	}
	seen := NewCollisions()
	for n := 0; ; {
		t := new(Task)
		ok, err := sources(&t.Found)
		if err != nil {
			return err
		}
		if !ok && n == 0 {
			return r.nothingThere()
		}
		if !ok {
			return nil
		}
		if n++; !r.filters.take(t.Found.Path) {
			continue
		}
		if t.Found.State == "" {
			t.Collision = seen.With(t.Found.Path)
		}
		if !yield(t) {
			return nil
		}
	}
}

// Take returns a function that reports whether filters include the path of an input.
func Take(all []Filter) (func(path string) bool, error) {
	list, err := parseFilters(all)
	return list.take, err
}
