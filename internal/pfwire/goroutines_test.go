package pfwire

import (
	"context"
	"runtime"
	"testing"
	"time"
)

func goroutines() int { return runtime.NumGoroutine() }

// waitForGoroutines waits until no more goroutines run than before: finished ones can take a moment to exit.
func waitForGoroutines(t *testing.T, before int) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for goroutines() > before {
		if time.Now().After(deadline) {
			t.Errorf("%d goroutines run, %d did before", goroutines(), before)
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// countGoroutines is a writer that records the number of goroutines.
type countGoroutines struct{ most int }

func (c *countGoroutines) Write(p []byte) (int, error) {
	c.most = max(c.most, goroutines())
	return len(p), nil
}

// There are never more workers than parts, or than maxWorkers, however many are requested.
func TestWorkersAreBounded(t *testing.T) {
	before := goroutines()
	for _, parts := range []int{1, 3, 10 * maxWorkers} {
		var dst countGoroutines
		err := writeInOrder(t.Context(), &dst, parts, 1<<20, func(_ context.Context, _ int, emit emitter) error {
			_, err := emit([]byte("packet"))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if limit := before + min(parts, maxWorkers) + 1; dst.most > limit {
			t.Errorf("%d parts: %d goroutines; want at most %d", parts, dst.most, limit)
		}
		waitForGoroutines(t, before)
	}
}
