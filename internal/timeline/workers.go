package timeline

import "runtime"

// memoryPerWorker is what a worker may hold: blocks of the input, bundles of the output, a compressor.
const memoryPerWorker = 16 << 20

// WorkerCount returns the number of workers that work on a trace: n, or if that is 0 one for every core, but no more than
// the memory allows.
func WorkerCount(n int, memory int64) int {
	if n <= 0 {
		n = runtime.GOMAXPROCS(0)
	}
	if memory <= 0 {
		memory = DefaultMemory
	}
	return int(max(1, min(int64(n), memory/memoryPerWorker)))
}
