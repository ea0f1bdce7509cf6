package migrate

import (
	"sync"
	"testing"

	"github.com/weft-trace/weft/convert"
)

// Inputs that are converted at the same time share all workers and all memory, and use no more.
func TestEachSharesWorkersAndMemory(t *testing.T) {
	const workers, memory = 8, 1 << 30
	for _, n := range []int{1, 2, 3, 5, 8} {
		var mu sync.Mutex
		var all sync.WaitGroup
		all.Add(n)
		usedWorkers, usedMemory := 0, int64(0)
		Each(t.Context(), convert.Options{Workers: workers, Memory: memory}, n, func(w *Worker, _ int) {
			mu.Lock()
			usedWorkers, usedMemory = usedWorkers+w.workers, usedMemory+w.memory
			mu.Unlock()
			all.Done()
			all.Wait() // until all inputs are being converted
		})
		if usedWorkers != workers || usedMemory != memory {
			t.Errorf("%d inputs have %d workers and %d bytes, want %d and %d", n, usedWorkers, usedMemory, workers, memory)
		}
	}
}
