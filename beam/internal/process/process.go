// Package process holds the state that all conversions in a process share, however many bundles a runner gives it: the limit on
// concurrent conversions, reusable memory, progress, and shutdown.
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

// ErrStopped is the cause of contexts canceled by End.
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

// Tune tunes the garbage collector for many conversions, unless GOGC is set.
func Tune(getenv func(string) string) {
	tuned.Do(func() {
		if getenv("GOGC") == "" {
			debug.SetGCPercent(migrate.GCPercent)
		}
	})
}

// Begin registers the work on a batch, which must stop when the returned context ends. The caller calls end when the work is
// done.
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
			closeScratch() // clusters kill workers without notice
		}
		running.Done()
	}, nil
}

// End stops all work in the process, waits until it has ended, removes temporary files and prevents new work.
func End() {
	mu.Lock()
	ending = true
	for _, cancel := range begun {
		cancel(ErrStopped)
	}
	mu.Unlock()
	running.Wait()
}

// Slot waits for a conversion slot, which release frees. There are as many slots as cores. Conversions with the same options
// reuse the memory of a worker.
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
		clear(idle) // drop workers with other options
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

// Scratch returns this process's folder for temporary files below a local output folder. It exists until no work is in progress:
// call Scratch after Begin.
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

// closeScratch removes the folders for temporary files. The caller holds mu.
func closeScratch() {
	for out, s := range scratch {
		s.Close()
		delete(scratch, out)
	}
}

// Progress counters. Files, Failed, Bytes and Skipped only grow; Busy is the number of running conversions.
var Files, Failed, Bytes, Skipped, Busy atomic.Int64
