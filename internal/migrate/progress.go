package migrate

import (
	"sync/atomic"
	"time"
)

// Progress is the progress of a run.
type Progress struct {
	Files, Done, Failed int64         // inputs to open so far, finished ones, and failed ones among these
	Bytes, BytesDone    int64         // of the inputs to open so far, and of finished ones
	Complete            bool          // all inputs are known: Files and Bytes are final
	Rate                float64       // bytes per second in the last minute
	Left                time.Duration // remaining time at this rate; -1 if unknown
}

const (
	progressInterval = 200 * time.Millisecond
	rateWindow       = time.Minute
)

// A taskCounter counts the bytes read for a task, and in total.
type taskCounter struct {
	total *atomic.Int64
	own   atomic.Int64
}

func (t *taskCounter) add(n int64) {
	t.own.Add(n)
	t.total.Add(n)
}

// complete counts a task with the given size as fully read, however much was read.
func (t *taskCounter) complete(size int64) { t.total.Add(size - t.own.Load()) }

// uncounted returns a counter for bytes that are counted elsewhere.
func uncounted() *taskCounter { return &taskCounter{total: new(atomic.Int64)} }

// rates holds the recent history of a total.
type rates struct {
	times []time.Time
	bytes []int64
}

// add records a total and returns the rate in the last minute, in bytes per second.
func (r *rates) add(now time.Time, bytes int64) float64 {
	r.times, r.bytes = append(r.times, now), append(r.bytes, bytes)
	for len(r.times) > 2 && now.Sub(r.times[0]) > rateWindow {
		r.times, r.bytes = r.times[1:], r.bytes[1:]
	}
	seconds := now.Sub(r.times[0]).Seconds()
	if seconds <= 0 {
		return 0
	}
	return float64(bytes-r.bytes[0]) / seconds
}

// progress returns the progress of the run.
func (r *run) progress(history *rates) Progress {
	c := &r.counts
	p := Progress{
		Files: c.todo.Load(), Done: c.processed.Load(), Failed: c.failed.Load(), Bytes: c.todoBytes.Load(), BytesDone: c.bytesRead.Load(),
		Complete: c.walked.Load(), Left: -1,
	}
	p.Rate = history.add(time.Now(), p.BytesDone)
	if p.Complete && p.Rate > 0 {
		p.Left = time.Duration(float64(max(p.Bytes-p.BytesDone, 0)) / p.Rate * float64(time.Second))
	}
	return p
}

// reportProgress calls OnProgress periodically until stop is called.
func (r *run) reportProgress() (stop func()) {
	if r.OnProgress == nil {
		return func() {}
	}
	ended, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		history := new(rates)
		history.add(time.Now(), 0)
		ticker := time.NewTicker(progressInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				r.OnProgress(r.progress(history))
			case <-ended:
				return
			}
		}
	}()
	return func() {
		close(ended)
		<-stopped
	}
}
