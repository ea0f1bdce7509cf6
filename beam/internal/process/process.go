// Package process holds the state that all conversions of a process share, whatever number of bundles a runner gives it: the limit of concurrent
// conversions, reused memory, progress, and shutdown.
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

// ErrStopped is the cause of contexts that End canceled.
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

// Tune sets the runtime up for many conversions, unless the environment does.
func Tune(getenv func(string) string) {
	tuned.Do(func() {
		if getenv("GOGC") == "" {
			debug.SetGCPercent(migrate.GCPercent)
		}
	})
}

// Begin starts the work of a batch, which ends with the returned context. The caller calls end when the work is done.
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
			closeScratch() // workers of a cluster are killed without notice
		}
		running.Done()
	}, nil
}

// End stops all work of the process, waits for it, removes temporary files, and prevents new work.
func End() {
	mu.Lock()
	ending = true
	for _, cancel := range begun {
		cancel(ErrStopped)
	}
	mu.Unlock()
	running.Wait()
}

// Slot waits for a slot for a conversion; release returns it. There are as many slots as cores. A slot has a worker whose memory conversions with
// the same options reuse.
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
		clear(idle) // workers with other options
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

// Progress counts files done, failed and skipped, and their bytes. These only grow. Busy is the number of running conversions.
var Files, Failed, Bytes, Skipped, Busy atomic.Int64
