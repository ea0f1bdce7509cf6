package process

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-trace/weft/internal/migrate"
)

// The number of concurrent conversions is limited, however many bundles there are, and each conversion has its own
// worker.
func TestSlots(t *testing.T) {
	Tune(func(string) string { return "x" })
	var most, now atomic.Int64
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			w, release, err := Slot(t.Context(), []string{"a", "b"}[i%2])
			if err != nil || w == nil {
				t.Error(err)
				return
			}
			defer release()
			for n := now.Add(1); ; {
				old := most.Load()
				if n <= old || most.CompareAndSwap(old, n) {
					break
				}
			}
			time.Sleep(time.Millisecond)
			now.Add(-1)
		})
	}
	all.Wait()
	if n := most.Load(); n < 1 || n > int64(runtime.GOMAXPROCS(0)) {
		t.Errorf("%d at once", n)
	}
	if Busy.Load() != 0 {
		t.Errorf("%d are busy", Busy.Load())
	}
	ctx, cancel := context.WithCancel(t.Context())
	var release []func()
	for range runtime.GOMAXPROCS(0) {
		_, r, err := Slot(ctx, "a")
		if err != nil {
			t.Fatal(err)
		}
		release = append(release, r)
	}
	cancel()
	if _, _, err := Slot(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("a slot for one who has given up: %v", err)
	}
	for _, r := range release {
		r()
	}
}

// End stops running work, waits for it, and prevents new work.
func TestEnd(t *testing.T) {
	out := t.TempDir()
	ctx, end, err := Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	s, err := Scratch(out)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Scratch(out); again != s || err != nil {
		t.Errorf("another folder for the same outputs: %v", err)
	}
	var over atomic.Bool
	go func() {
		<-ctx.Done()
		time.Sleep(10 * time.Millisecond)
		over.Store(true)
		end()
	}()
	End()
	if !over.Load() || !errors.Is(context.Cause(ctx), ErrStopped) {
		t.Errorf("over: %v, %v", over.Load(), context.Cause(ctx))
	}
	if left, err := filepath.Glob(filepath.Join(out, migrate.StateFolder, "tmp", "*")); len(left) > 0 || err != nil {
		t.Errorf("%q are left, %v", left, err)
	}
	if _, _, err := Begin(context.Background()); !errors.Is(err, ErrStopped) {
		t.Errorf("%v", err)
	}
}
