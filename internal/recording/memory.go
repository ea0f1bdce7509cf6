package recording

import (
	"io"
	"runtime"
	"runtime/debug"
)

// Allocated returns the number of bytes and objects that fn allocates. fn runs on one processor and without garbage collection,
// so that neither the scheduler nor a collection, which clears pools, affects the numbers.
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

// Live returns the number of live heap bytes after a garbage collection.
func Live() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A MemoryWatch is the input and output of an operation whose memory use is measured. It measures live memory each time that
// Every bytes of the input or output have passed. The reader or writer waits meanwhile, so that the results do not depend on the
// machine's speed.
type MemoryWatch struct {
	Input io.Reader
	Every int   // 512 KiB by default
	Size  int64 // bytes read
	Peak  int64 // maximum number of live bytes

	passed int // bytes since the last measurement
}

// Look measures live memory now.
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
