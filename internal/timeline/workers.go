package timeline

import "runtime"

// memoryPerWorker is the memory that a worker may use, for input blocks, output bundles and a compressor.
const memoryPerWorker = 16 << 20

// WorkerCount returns the number of workers for a trace: n, or the number of cores if n is 0, limited by memory.
func WorkerCount(n int, memory int64) int {
	if n <= 0 {
		n = runtime.GOMAXPROCS(0)
	}
	if memory <= 0 {
		memory = DefaultMemory
	}
	return int(max(1, min(int64(n), memory/memoryPerWorker)))
}
