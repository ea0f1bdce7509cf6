package migrate

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"
)

// syncInterval is how often a journal is made durable.
const syncInterval = time.Second

// ballastSize is the size of a file that is given up when the disk is full, so that the journal can be completed.
const ballastSize = 1 << 20

// journal appends events of a run to a file, each in one write. Its methods may be called by several goroutines.
type journal struct {
	syncing sync.Mutex // held while the file is made durable; before mu
	mu      sync.Mutex
	f       *os.File
	end     int64 // behind the last complete line
	ballast string
	dirty   bool
	syncErr error // of the first sync that failed; guarded by syncing
	buf     []byte
	lines   int64
	stop    chan struct{}
	stopped sync.WaitGroup

	// syncFile is f.Sync. Tests put something in its place.
	syncFile func() error
}

// openJournal opens a journal for appending. A last line that was cut off goes.
func openJournal(path, ballast string) (*journal, error) {
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
	j := &journal{f: f, end: end, ballast: ballast, stop: make(chan struct{}), syncFile: f.Sync}
	if err := writeBallast(ballast); err != nil {
		f.Close()
		return nil, err
	}
	j.stopped.Add(1)
	go j.syncNowAndThen()
	return j, nil
}

// writeBallast makes the file that is given up first, with content: some file systems store no zeros.
func writeBallast(path string) error {
	if info, err := os.Stat(path); err == nil && info.Size() == ballastSize {
		return nil
	}
	content := make([]byte, ballastSize)
	for i := range content {
		content[i] = byte(i*i>>8) | 1
	}
	if err := os.WriteFile(path, content, 0o666); err != nil {
		os.Remove(path)
		return err
	}
	return nil
}

// lastLineEnd returns the offset behind the last line feed of a file.
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

// append writes a line. It is complete or not there at all: what did not fit is cut off again, and written once the ballast is gone.
func (j *journal) append(v any) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	var err error
	if j.buf, err = appendLine(j.buf[:0], v); err != nil {
		return err
	}
	if err = j.write(); err != nil && isNoSpace(err) {
		if os.Remove(j.ballast) == nil {
			err = j.write()
		}
	}
	if err == nil {
		j.lines++
	}
	return err
}

func (j *journal) write() error {
	if _, err := j.f.WriteAt(j.buf, j.end); err != nil {
		return errors.Join(err, j.f.Truncate(j.end))
	}
	j.end += int64(len(j.buf))
	j.dirty = true
	return nil
}

// sync makes what was appended durable. It returns when that is so, whoever does it. A failure is final: the next call to the
// system would report success, and the lines may be lost.
func (j *journal) sync() error {
	j.syncing.Lock()
	defer j.syncing.Unlock()
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
			_ = j.sync() // an error comes again when the journal is closed
		case <-j.stop:
			return
		}
	}
}

// close makes the journal durable and removes the ballast.
func (j *journal) close() error {
	close(j.stop)
	j.stopped.Wait()
	err := errors.Join(j.sync(), j.f.Close())
	if removeErr := os.Remove(j.ballast); removeErr != nil && !errors.Is(removeErr, fs.ErrNotExist) {
		err = errors.Join(err, removeErr)
	}
	return err
}
