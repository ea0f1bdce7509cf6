package migrate

import "sync"

// A Task is an input to open.
type Task struct {
	Found  Found
	Action string
	Why    string
	Prior  *Record `json:",omitempty"`
	// Members are the earlier records of an archive's members, by name.
	Members map[string]*Record `json:",omitempty"`

	// Collision is set if an earlier input has the same output.
	Collision string `json:",omitempty"`

	index int // index of an input of Each
}

// maxQueued bounds the tasks and member records that wait in memory, not counting the last task's.
const maxQueued = 1 << 14

// queue hands the tasks of a run to its workers, in order.
type queue struct {
	mu     sync.Mutex
	change sync.Cond
	tasks  []*Task
	held   int // number of queued tasks and member records
	closed bool
	err    error
}

func newQueue() *queue {
	q := new(queue)
	q.change.L = &q.mu
	return q
}

// add appends a task. It waits while too much is queued, unless the queue is closed.
func (q *queue) add(t *Task) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.held >= maxQueued && !q.closed {
		q.change.Wait()
	}
	q.tasks = append(q.tasks, t)
	q.held += 1 + len(t.Members)
	q.change.Broadcast()
}

// close marks the queue as complete; err is the reason, nil if there are no more tasks.
func (q *queue) close(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed = true; q.err == nil {
		q.err = err
	}
	q.change.Broadcast()
}

// next returns the next task (nil after the last one) and the number of tasks after it (-1 if more may come).
func (q *queue) next() (t *Task, left int, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.tasks) == 0 && !q.closed {
		q.change.Wait()
	}
	if q.err != nil || len(q.tasks) == 0 {
		return nil, 0, q.err
	}
	t = q.tasks[0]
	q.tasks[0] = nil
	q.tasks = q.tasks[1:]
	q.held -= 1 + len(t.Members)
	q.change.Broadcast()
	if !q.closed {
		return t, -1, nil
	}
	return t, len(q.tasks), nil
}
