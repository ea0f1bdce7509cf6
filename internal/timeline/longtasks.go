package timeline

import "context"

// LongTask is an event-loop task that takes at least LongTaskLength or the requested minimum.
type LongTask struct {
	Thread  TrackID
	TS, Dur Nanos
}

// LongTaskLength is the minimum duration of a long task, as in the web platform's Long Tasks API
// (https://w3c.github.io/longtasks). The part of a task's time beyond this length is called blocking time.
const LongTaskLength = 50 * 1000 * Microsecond

// maxLongTasks limits the number of long tasks in a timeline. On one thread, that many tasks take at least 54 minutes.
const maxLongTasks = 1 << 16

// longTasks finds the long tasks of event loops among records in time order.
type longTasks struct {
	min     Nanos // minimum duration of a long task
	list    []LongTask
	parts   []longPart        // parallel to list
	threads map[TrackID]Nanos // threads with event-loop tasks: end of the latest long task, or NoTime if none was long
	more    int64             // number of long tasks beyond maxLongTasks
}

// longPart is the longest part of a long task: the innermost slice that takes at least half of the task, or otherwise the longest
// slice inside the task.
type longPart struct {
	name NameID // 0: no part, or its name is not interned
	dur  Nanos
}

// partOf processes a slice on the track of a long task; task is the index of that task plus 1. It returns the parameter task or,
// once the long task is over, 0.
func (f *longTasks) partOf(task int, r *record) int {
	t, part := &f.list[task-1], &f.parts[task-1]
	switch {
	case r.ts >= t.TS+t.Dur:
		return 0
	case r.dur > part.dur || 2*r.dur >= t.Dur: // an inner slice comes after the slice around it
		*part = longPart{r.name, r.dur}
	}
	return task
}

// LongTasks returns the slices and begins with Event.LoopTask that take at least min, in time order. It omits tasks that are
// inside a long task or overlap one, and slices without an end in the input, whose duration is unknown. The list has at most
// 65,536 tasks; the result more is the number of further tasks. It requires Nest, which finds the tasks of at least
// LongTaskLength; any other minimum takes another pass over the records.
func (t *Timeline) LongTasks(ctx context.Context, min Nanos) (list []LongTask, more int64, err error) {
	if min == t.longTasks.min {
		return t.longTasks.list, t.longTasks.more, nil
	}
	f := longTasks{min: min}
	err = t.groups(ctx, false, func(g *group) error {
		for i := range g.len() {
			f.add(t, g.at(i))
		}
		return nil
	})
	return f.list, f.more, err
}

// HasLoopTasks reports whether the input marks slices on a thread as tasks of its event loop, long or not. It requires Nest.
func (t *Timeline) HasLoopTasks(thread TrackID) bool {
	_, ok := t.longTasks.threads[thread]
	return ok
}

// add adds a record if it is a long event-loop task, and reports whether it was added. Records come in time order, and
// simultaneous records longest first. Records of a thread from a further input do not count, see Recorders.
func (f *longTasks) add(t *Timeline, r *record) (added bool) {
	thread := r.track
	if r.flags&flagLoopTask == 0 || r.Kind() != Slice && r.Kind() != Begin || t.Role(thread) == RoleInput {
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
	case r.dur < f.min || r.didNotEnd() || until != NoTime && r.ts < until:
		return false
	case len(f.list) == maxLongTasks:
		f.more++
		return false
	}
	f.threads[thread] = r.ts + r.dur
	f.list, f.parts = append(f.list, LongTask{thread, r.ts, r.dur}), append(f.parts, longPart{})
	return true
}
