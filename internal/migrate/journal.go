package migrate

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// syncInterval is how often a journal is made durable.
const syncInterval = time.Second

// journal appends the events of a run to a file, each in one write. Its methods may be called concurrently.
type journal struct {
	mu      sync.Mutex
	f       *os.File
	end     int64 // offset after the last complete line
	dirty   bool
	syncErr error // error of the first failed sync
	buf     []byte
	stop    chan struct{}
	stopped sync.WaitGroup

	// syncFile is f.Sync. Tests replace it.
	syncFile func() error
}

// openJournal opens a journal for appending. It removes an incomplete last line.
func openJournal(path string) (*journal, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	end, err := lastLineEnd(f)
	if err == nil {
		err = f.Truncate(end)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	j := &journal{f: f, end: end, stop: make(chan struct{}), syncFile: f.Sync}
	j.stopped.Add(1)
	go j.syncNowAndThen()
	return j, nil
}

// lastLineEnd returns the offset after the last line feed of a file.
func lastLineEnd(f *os.File) (int64, error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	buf := make([]byte, 64<<10)
	for size > 0 {
		n := min(size, int64(len(buf)))
		if _, err := f.ReadAt(buf[:n], size-n); err != nil {
			return 0, err
		}
		for i := n - 1; i >= 0; i-- {
			if buf[i] == '\n' {
				return size - n + i + 1, nil
			}
		}
		size -= n
	}
	return 0, nil
}

// append writes a line completely or not at all: it truncates the file after a partial write.
func (j *journal) append(v any) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	var err error
	if j.buf, err = appendLine(j.buf[:0], v); err != nil {
		return err
	}
	if _, err := j.f.WriteAt(j.buf, j.end); err != nil {
		return errors.Join(err, j.f.Truncate(j.end))
	}
	j.end += int64(len(j.buf))
	j.dirty = true
	return nil
}

// sync makes appended lines durable. A failure is final: the next system call would report success although lines may be
// lost. Only one goroutine may call it at a time.
func (j *journal) sync() error {
	j.mu.Lock()
	dirty := j.dirty
	j.dirty = false
	j.mu.Unlock()
	if dirty && j.syncErr == nil {
		j.syncErr = j.syncFile()
	}
	return j.syncErr
}

func (j *journal) syncNowAndThen() {
	defer j.stopped.Done()
	ticker := time.NewTicker(syncInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			_ = j.sync() // close returns the error
		case <-j.stop:
			return
		}
	}
}

// close makes the journal durable.
func (j *journal) close() error {
	close(j.stop)
	j.stopped.Wait()
	return errors.Join(j.sync(), j.f.Close())
}
