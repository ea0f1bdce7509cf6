package timeline

// LongTask is a task of an event loop that takes LongTaskLength or longer.
type LongTask struct {
	Thread  TrackID
	TS, Dur Nanos
}

// LongTaskLength is the length from which on a task is long: that of the Long Tasks API of the web platform
// (https://w3c.github.io/longtasks). What is beyond it is called blocking time.
const LongTaskLength = 50 * 1000 * Microsecond

// maxLongTasks bounds the long tasks that are kept. On one thread as many take 54 minutes.
const maxLongTasks = 1 << 16

// longTasks are what Nest finds.
type longTasks struct {
	list    []LongTask
	parts   []longPart        // of list
	threads map[TrackID]Nanos // with tasks of an event loop: when their latest long task ends, NoTime if none was long
	more    int64             // that are not kept
}

// longPart is what took longest in a long task: the innermost of the slices that take half of it or more, else the longest slice in it.
type longPart struct {
	name NameID // 0: there is none, or its name is not interned
	dur  Nanos
}

// partOf takes over a slice of a track on which a long task runs: task is its index, counted from 1. It returns 0 when the task is over.
func (f *longTasks) partOf(task int, r *record) int {
	t, part := &f.list[task-1], &f.parts[task-1]
	switch {
	case r.ts >= t.TS+t.Dur:
		return 0
	case r.dur > part.dur || 2*r.dur >= t.Dur: // what lies within another slice comes after it
		*part = longPart{r.name, r.dur}
	}
	return task
}

// LongTasks returns the slices and begins with Event.LoopTask that take LongTaskLength or longer, in the order of time; of tasks
// that run within a long one, or overlap it, only that. Slices without an end in the input are not among them, because their length is
// unknown. There are at most 65,536; more is the number of others. Nest comes first.
func (t *Timeline) LongTasks() (list []LongTask, more int64) {
	return t.longTasks.list, t.longTasks.more
}

// HasLoopTasks reports whether the input says of some slices of a thread that they are tasks of its event loop, long or not. Nest
// comes first.
func (t *Timeline) HasLoopTasks(thread TrackID) bool {
	_, ok := t.longTasks.threads[thread]
	return ok
}

// loopTask keeps a task of an event loop if it is long. They come in the order of time, at one time the longest first. Those that a
// further input has of a thread are none of its tasks, see Recorders. It reports whether it kept the task.
func (t *Timeline) loopTask(r *record) (added bool) {
	thread, f := r.track, &t.longTasks
	if t.Role(thread) == RoleInput {
		return false
	}
	if t.table.tracks[thread].kind != ThreadTrack {
		if thread = t.table.tracks[thread].parent; t.table.tracks[thread].kind != ThreadTrack {
			return false
		}
	}
	if f.threads == nil {
		f.threads = map[TrackID]Nanos{}
	}
	until, known := f.threads[thread]
	if !known {
		until = NoTime
		f.threads[thread] = until
	}
	switch {
	case r.dur < LongTaskLength || r.didNotEnd() || until != NoTime && r.ts < until:
		return false
	case len(f.list) == maxLongTasks:
		f.more++
		return false
	}
	f.threads[thread] = r.ts + r.dur
	f.list, f.parts = append(f.list, LongTask{thread, r.ts, r.dur}), append(f.parts, longPart{})
	return true
}
