// Package process has what the conversions of one process share, however many bundles a runner gives it: the number of conversions at
// once, the memory that they reuse, how far they are, and their end.
package process

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/weft-trace/weft/internal/migrate"
)

// ErrStopped is the cause of contexts that End has ended.
var ErrStopped = errors.New("the process ends its conversions")

var (
	mu      sync.Mutex
	slots   chan struct{}
	ending  bool
	begun   = map[uint64]context.CancelCauseFunc{}
	next    uint64
	running sync.WaitGroup
	idle    = map[string][]*migrate.Worker{}
	scratch = map[string]*migrate.Scratch{}
	tuned   sync.Once
)

// Tune sets what suits many conversions, unless the environment says something else.
func Tune(getenv func(string) string) {
	tuned.Do(func() {
		if getenv("GOGC") == "" {
			debug.SetGCPercent(migrate.GCPercent)
		}
	})
}

// Begin begins the work of a batch. It ends with the context that is returned; the work is over when end is called.
func Begin(parent context.Context) (ctx context.Context, end func(), err error) {
	mu.Lock()
	defer mu.Unlock()
	if ending {
		return nil, nil, ErrStopped
	}
	ctx, cancel := context.WithCancelCause(parent)
	id := next
	next++
	begun[id] = cancel
	running.Add(1)
	return ctx, func() {
		cancel(nil)
		mu.Lock()
		defer mu.Unlock()
		if delete(begun, id); len(begun) == 0 {
			closeScratch() // workers of a cluster end without a word
		}
		running.Done()
	}, nil
}

// End ends all work of the process and waits for it. No more begins. Temporary files are gone then.
func End() {
	mu.Lock()
	ending = true
	for _, cancel := range begun {
		cancel(ErrStopped)
	}
	mu.Unlock()
	running.Wait()
}

// Slot takes a slot for a conversion and gives it back when release is called. There are as many as the process has cores; a slot has
// a worker with the memory that conversions with the same options reuse.
func Slot(ctx context.Context, options string) (w *migrate.Worker, release func(), err error) {
	mu.Lock()
	if slots == nil {
		slots = make(chan struct{}, runtime.GOMAXPROCS(0))
	}
	mine := slots
	mu.Unlock()
	select {
	case mine <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	Busy.Add(1)
	mu.Lock()
	defer mu.Unlock()
	if list := idle[options]; len(list) > 0 {
		w = list[len(list)-1]
		idle[options] = list[:len(list)-1]
	} else {
		clear(idle) // of other options: their memory is not needed any more
		w = new(migrate.Worker)
	}
	return w, func() {
		Busy.Add(-1)
		mu.Lock()
		if len(idle[options]) < cap(mine) {
			idle[options] = append(idle[options], w)
		}
		mu.Unlock()
		<-mine
	}, nil
}

// Scratch returns the folder for the temporary files of this process below a local folder of outputs. It is there until no work is
// under way: ask for it after Begin.
func Scratch(out string) (*migrate.Scratch, error) {
	mu.Lock()
	defer mu.Unlock()
	if s := scratch[out]; s != nil {
		return s, nil
	}
	s, err := migrate.NewScratch(out)
	if err == nil {
		scratch[out] = s
	}
	return s, err
}

// closeScratch removes the folders for temporary files. mu is held.
func closeScratch() {
	for out, s := range scratch {
		s.Close()
		delete(scratch, out)
	}
}

// Progress so far: files done, failed and skipped, and their bytes. These only grow. Busy is the number of conversions under way.
var Files, Failed, Bytes, Skipped, Busy atomic.Int64
