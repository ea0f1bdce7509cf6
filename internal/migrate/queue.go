package migrate

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// A Task is an input that is to be opened.
type Task struct {
	Found  Found
	Action string
	Why    string
	Prior  *Record `json:",omitempty"`
	// Members are the records of the members of an archive, by their names, for a Batch. A run hands them over itself.
	Members map[string]*Record `json:",omitempty"`

	// Collision is set if an earlier input has the same output.
	Collision string `json:",omitempty"`
}

// maxQueued is how many tasks wait in memory; more wait on disk.
const maxQueued = 1 << 13

// queue holds the tasks of a run in order, in bounded memory. Adding never waits, so that the walk can say soon how much there
// is to do.
type queue struct {
	mu     sync.Mutex
	change sync.Cond
	dir    string
	front  []*Task // the first ones
	file   *os.File
	w      *bufio.Writer
	r      *bufio.Reader
	onDisk int // those behind front
	n      int
	closed bool
	err    error
}

func newQueue(dir string) *queue {
	q := &queue{dir: dir}
	q.change.L = &q.mu
	return q
}

// add appends a task.
func (q *queue) add(t *Task) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.n++
	q.change.Signal()
	if q.onDisk == 0 && len(q.front) < maxQueued {
		q.front = append(q.front, t)
		return nil
	}
	if err := q.spill(t); err != nil {
		return fmt.Errorf("the list of files to convert: %w", err)
	}
	return nil
}

func (q *queue) spill(t *Task) error {
	if q.file == nil {
		f, err := os.CreateTemp(q.dir, "weft-*.tmp")
		if err != nil {
			return err
		}
		os.Remove(f.Name()) // where the system allows it, nothing stays behind
		q.file, q.w = f, bufio.NewWriterSize(f, 64<<10)
		q.r = bufio.NewReaderSize(io.NewSectionReader(f, 0, 1<<62), 64<<10)
	}
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	q.onDisk++
	_, err = q.w.Write(append(text, '\n'))
	return err
}

// close says that no more tasks come; err is why, if that is not for their number.
func (q *queue) close(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed, q.err = true, errors.Join(q.err, err)
	q.change.Broadcast()
}

// next returns the next task, nil after the last one, and how many are left behind it, -1 if more may come.
func (q *queue) next() (t *Task, left int, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.n == 0 && !q.closed {
		q.change.Wait()
	}
	if q.err != nil || q.n == 0 {
		return nil, 0, q.err
	}
	if len(q.front) == 0 {
		if err := q.load(); err != nil {
			return nil, 0, fmt.Errorf("the list of files to convert: %w", err)
		}
	}
	t = q.front[0]
	q.front[0] = nil
	q.front = q.front[1:]
	q.n--
	if !q.closed {
		return t, -1, nil
	}
	return t, q.n, nil
}

// load reads tasks from the disk.
func (q *queue) load() error {
	if err := q.w.Flush(); err != nil {
		return err
	}
	q.front = make([]*Task, 0, min(q.onDisk, maxQueued))
	for len(q.front) < cap(q.front) {
		line, err := q.r.ReadBytes('\n')
		if err != nil {
			return err
		}
		t := new(Task)
		if err := json.Unmarshal(line, t); err != nil {
			return err
		}
		q.front = append(q.front, t)
		q.onDisk--
	}
	return nil
}

// free removes what is on disk.
func (q *queue) free() {
	if q.file != nil {
		q.file.Close()
		os.Remove(q.file.Name())
	}
}
