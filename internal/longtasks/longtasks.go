// Package longtasks marks the long tasks of threads for people who look at a trace: as slices on a track "Long tasks" beside what
// else is known of the thread. Which tasks are long, the timeline knows (Timeline.LongTasks).
//
// A mark is a slice and no instant, so that it can be seen at any zoom, and selected with the time of the task. It has a category of
// its own, and is on a track of its own, so that it adds to no sum over tasks. No flow leads to the task, because flows are the
// input's; the task is above it, at the same time.
package longtasks

import (
	"cmp"
	"slices"
	"sort"
	"strconv"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// Category is the category of the marks.
const Category = "weft.long_task"

// blockingKey is the argument that says how much of a task is beyond timeline.LongTaskLength, in nanoseconds.
const blockingKey = "blocking_ns"

// Mark adds the marks to what a nested timeline hands out from now on. The marks that it has, read from what weft has
// written, stay as they are, and their threads get no others. describe, if there is one, adds arguments to a mark.
func Mark(t *timeline.Timeline, describe func(timeline.LongTask, *timeline.ArgsEncoder)) {
	found, more := t.LongTasks()
	if more > 0 {
		t.Problems().AddN(problem.LongTaskLimit, uint64(more), problem.NoPosition, "")
	}
	marked := map[timeline.TrackID]bool{}
	for _, id := range tracks(t) {
		marked[t.TrackParent(id)] = true
	}
	m := &marks{
		t: t, category: t.InternCategory([]byte(Category)), names: map[timeline.Nanos]timeline.NameID{}, args: t.NewArgs(), describe: describe,
	}
	added := map[timeline.TrackID]timeline.TrackID{}
	for _, task := range found {
		if marked[task.Thread] {
			continue
		}
		track, ok := added[task.Thread]
		if !ok {
			track = t.AddTrack(task.Thread, timeline.TrackSpec{
				Name: timeline.RoleLongTasks.String(), Role: timeline.RoleLongTasks,
				Description: "Tasks of 50 ms and more, found by weft",
			})
			added[task.Thread] = track
		}
		m.add(task, track)
	}
	if len(m.rows) == 0 {
		return
	}
	slices.SortStableFunc(m.rows, func(a, b row) int { return cmp.Or(cmp.Compare(a.ts, b.ts), cmp.Compare(a.kind, b.kind)) })
	t.AttachOverlay(m, int64(len(m.rows)/2), 0)
}

// Hide leaves out the marks of a timeline that was read from what weft has written.
func Hide(t *timeline.Timeline) error {
	ids := tracks(t)
	if len(ids) == 0 {
		return nil
	}
	n, instants, err := t.CountOn(ids)
	t.HideTracks(ids, n, instants)
	return err
}

// tracks returns the tracks that hold marks already, in order.
func tracks(t *timeline.Timeline) (ids []timeline.TrackID) {
	for id := range timeline.TrackID(t.TrackCount()) {
		if t.Role(id) == timeline.RoleLongTasks {
			ids = append(ids, id)
		}
	}
	return ids
}

// marks are the marks of a timeline, as an overlay.
type marks struct {
	t        *timeline.Timeline
	category timeline.CategoryID // 0: not interned
	names    map[timeline.Nanos]timeline.NameID
	rows     []row

	args     *timeline.ArgsEncoder
	describe func(timeline.LongTask, *timeline.ArgsEncoder) // nil: nothing is known
	held     int                                            // bytes of arguments
}

// maxHeld bounds the bytes of arguments. The texts in them are interned, as far as there is room.
const maxHeld = 8 << 20

// row is the begin or the end of a mark.
type row struct {
	ts, dur timeline.Nanos
	track   timeline.TrackID
	kind    rowKind
	args    timeline.Args // of a begin
}

// rowKind is the order of rows of one time.
type rowKind uint8

const (
	rowEnd rowKind = iota
	rowBegin
)

func (m *marks) add(task timeline.LongTask, track timeline.TrackID) {
	ms := task.Dur / milli
	if _, ok := m.names[ms]; !ok {
		m.names[ms] = m.t.InternName(nameOf(ms))
	}
	m.rows = append(m.rows, row{task.TS, task.Dur, track, rowBegin, m.encode(task)}, row{task.TS + task.Dur, 0, track, rowEnd, nil})
}

// encode returns the arguments of a mark.
func (m *marks) encode(task timeline.LongTask) timeline.Args {
	m.args.Reset()
	m.args.Key([]byte(blockingKey))
	m.args.Int(int64(task.Dur - timeline.LongTaskLength))
	switch {
	case m.describe == nil:
	case m.held >= maxHeld:
		m.t.Problems().Add(problem.ContextLimit, problem.NoPosition, "contexts of long tasks")
	default:
		m.describe(task, m.args)
	}
	args := slices.Clone(m.args.Args())
	m.held += len(args)
	return args
}

const milli = 1000 * timeline.Microsecond

func nameOf(ms timeline.Nanos) string { return "Long task " + strconv.FormatInt(int64(ms), 10) + " ms" }

// After implements timeline.Overlay.
func (m *marks) After(ts timeline.Nanos) (func(*timeline.Item) (bool, error), error) {
	i := sort.Search(len(m.rows), func(i int) bool { return m.rows[i].ts > ts })
	return func(it *timeline.Item) (bool, error) {
		if i == len(m.rows) {
			return false, nil
		}
		r := &m.rows[i]
		i++
		it.TS, it.Track, it.Dur = r.ts, r.track, timeline.NoTime
		if it.Kind = timeline.ItemEnd; r.kind == rowEnd {
			return true, nil
		}
		it.Kind, it.Dur = timeline.ItemBegin, r.dur
		it.Category, it.CategoryID = []byte(Category), m.category
		if it.NameID = m.names[r.dur/milli]; it.NameID == 0 {
			it.Name = []byte(nameOf(r.dur / milli))
		}
		it.Args = r.args
		return true, nil
	}, nil
}

// Close implements timeline.Overlay.
func (m *marks) Close() error { return nil }
