package timeline

import "context"

// LongTask is a task of an event loop that takes LongTaskLength or longer, or the requested time.
type LongTask struct {
	Thread  TrackID
	TS, Dur Nanos
}

// LongTaskLength is the length from which on a task is long, as in the Long Tasks API of the web platform
// (https://w3c.github.io/longtasks). What is beyond it is called blocking time.
const LongTaskLength = 50 * 1000 * Microsecond

// maxLongTasks bounds the long tasks that are kept. On one thread as many take 54 minutes.
const maxLongTasks = 1 << 16

// longTasks finds the long tasks of event loops among records in the order of time.
type longTasks struct {
	min     Nanos // from this length on a task is long
	list    []LongTask
	parts   []longPart        // of list
	threads map[TrackID]Nanos // with tasks of an event loop: when their latest long task ends, NoTime if none was long
	more    int64             // that are not kept
}

// longPart is what took longest in a long task: the innermost of the slices that take half of it or more, otherwise the longest slice in it.
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

// LongTasks returns the slices and begins with Event.LoopTask that take min or longer, in the order of time; of tasks that run within a
// long one, or overlap it, only that. Slices without an end in the input are not among them, because their length is unknown. There are at
// most 65,536; more is the number of others. Nest comes first. Nest finds the ones of LongTaskLength; any other length takes a pass.
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

// HasLoopTasks reports whether the input marks some slices of a thread as tasks of its event loop, long or not. Nest
// comes first.
func (t *Timeline) HasLoopTasks(thread TrackID) bool {
	_, ok := t.longTasks.threads[thread]
	return ok
}

// add keeps a record if it is a long task of an event loop. Records come in the order of time, at one time the longest first. Those that a
// further input has of a thread do not count as its tasks, see Recorders. It reports whether it kept the task.
func (f *longTasks) add(t *Timeline, r *record) (kept bool) {
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
