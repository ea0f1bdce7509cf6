package recording

import (
	"io"
	"runtime"
	"runtime/debug"
)

// Allocated returns how many bytes, in how many objects, fn allocates. It runs on one processor and without garbage collection, so that
// neither the scheduler nor a collection, which empties pools, changes the numbers.
func Allocated(fn func()) (bytes, objects int64) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc), int64(after.Mallocs - before.Mallocs)
}

// Live returns the bytes of the heap that are live, after a collection of garbage.
func Live() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A MemoryWatch is the input and the output of something whose memory is measured. Each time that Every bytes of either have passed, it
// looks how much is live. The reader or writer waits meanwhile, so that what is seen does not depend on how fast the machine is.
type MemoryWatch struct {
	Input io.Reader
	Every int   // 512 KiB by default
	Size  int64 // of what was read, in bytes
	Peak  int64 // most bytes that were live

	passed int // bytes since the last look
}

// Look notes how much is live now.
func (w *MemoryWatch) Look() { w.Peak = max(w.Peak, Live()) }

func (w *MemoryWatch) pass(n int) {
	every := w.Every
	if every == 0 {
		every = 512 << 10
	}
	if w.passed += n; w.passed >= every {
		w.passed = 0
		w.Look()
	}
}

func (w *MemoryWatch) Read(p []byte) (int, error) {
	n, err := w.Input.Read(p)
	w.Size += int64(n)
	w.pass(n)
	return n, err
}

func (w *MemoryWatch) Write(p []byte) (int, error) {
	w.pass(len(p))
	return len(p), nil
}
