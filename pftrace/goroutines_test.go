package pftrace

import (
	"runtime"
	"testing"
	"time"
)

func goroutines() int { return runtime.NumGoroutine() }

// waitForGoroutines checks that no more goroutines run than before. Those that have nothing left to do may take a moment.
func waitForGoroutines(t *testing.T, before int) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for goroutines() > before {
		if time.Now().After(deadline) {
			t.Errorf("%d goroutines run, %d did before", goroutines(), before)
			return
		}
		time.Sleep(time.Millisecond)
	}
}
