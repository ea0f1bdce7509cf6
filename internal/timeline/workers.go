package timeline

import "runtime"

// memoryPerWorker is the memory that a worker may use: blocks of the input, bundles of the output, a compressor.
const memoryPerWorker = 16 << 20

// WorkerCount returns the number of workers for a trace: n, or if that is 0 the number of cores, limited by the memory.
func WorkerCount(n int, memory int64) int {
	if n <= 0 {
		n = runtime.GOMAXPROCS(0)
	}
	if memory <= 0 {
		memory = DefaultMemory
	}
	return int(max(1, min(int64(n), memory/memoryPerWorker)))
}
