package timeline

import (
	"cmp"
	"slices"
	"sort"
	"strconv"

	"github.com/weft-trace/weft/internal/problem"
)

// LongTaskCategory is the category of the marks for long tasks.
//
// A mark is a slice rather than an instant so that it is visible at any zoom level and selecting it shows the time of the task.
// The mark's own category and track exclude it from sums over tasks. No flow leads to the task, because flows belong to the
// input; viewers show the task above the mark, at the same time.
const LongTaskCategory = "weft.long_task"

// Arguments of a mark: the time beyond LongTaskLength, the longest part, and whether that part is the profiler's own work.
const (
	blockingKey = "blocking"
	partKey     = "longest_part"
	recorderKey = "recorder"
)

// MarkLongTasks adds marks for long tasks to a nested timeline, on tracks next to the other tracks of their threads. Threads with
// marks from an earlier run of weft keep these marks and receive no new ones. isRecorder reports whether a slice, identified by
// name, is the profiler's own work; describe, if not nil, adds arguments to a mark.
func (t *Timeline) MarkLongTasks(isRecorder func(name string) bool, describe func(LongTask, *ArgsEncoder)) {
	found, more := t.longTasks.list, t.longTasks.more
	if more > 0 {
		t.Problems().AddN(problem.LongTaskLimit, uint64(more), problem.NoPosition, "")
	}
	marked := map[TrackID]bool{}
	for _, id := range t.markTracks() {
		marked[t.TrackParent(id)] = true
	}
	m := &longMarks{
		t: t, category: t.InternCategory([]byte(LongTaskCategory)), names: map[Nanos]NameID{}, args: t.NewArgs(),
		isRecorder: isRecorder, describe: describe,
	}
	added := map[TrackID]TrackID{}
	for i, task := range found {
		if marked[task.Thread] {
			continue
		}
		track, ok := added[task.Thread]
		if !ok {
			track = t.AddTrack(task.Thread, TrackSpec{
				Name: RoleLongTasks.String(), Role: RoleLongTasks,
				Description: "Tasks of 50 ms and more, found by weft",
			})
			added[task.Thread] = track
		}
		m.add(task, t.longTasks.parts[i], track)
	}
	if len(m.rows) == 0 {
		return
	}
	slices.SortStableFunc(m.rows, func(a, b markRow) int { return cmp.Or(cmp.Compare(a.ts, b.ts), cmp.Compare(a.kind, b.kind)) })
	t.AttachOverlay(m, int64(len(m.rows)/2), 0)
}

// HideLongTasks hides the marks in a timeline that was read from weft's output.
func (t *Timeline) HideLongTasks() error {
	ids := t.markTracks()
	if len(ids) == 0 {
		return nil
	}
	n, instants, err := t.CountOn(ids)
	t.HideTracks(ids, n, instants)
	return err
}

// markTracks returns the tracks that already have marks, in order.
func (t *Timeline) markTracks() (ids []TrackID) {
	for id := range TrackID(t.TrackCount()) {
		if t.Role(id) == RoleLongTasks {
			ids = append(ids, id)
		}
	}
	return ids
}

// longMarks holds the marks on a timeline, as an overlay.
type longMarks struct {
	t        *Timeline
	category CategoryID // 0: the table is full
	names    map[Nanos]NameID
	rows     []markRow

	args       *ArgsEncoder
	isRecorder func(name string) bool
	describe   func(LongTask, *ArgsEncoder) // nil: adds nothing
	argBytes   int
}

// maxMarkArgs limits the total size of all arguments, in bytes. Their texts are interned if possible.
const maxMarkArgs = 8 << 20

// markRow is the start or end of a mark.
type markRow struct {
	ts, dur Nanos
	track   TrackID
	kind    markRowKind
	args    Args // for a start
}

// markRowKind orders simultaneous rows.
type markRowKind uint8

const (
	markEnd markRowKind = iota
	markBegin
)

func (m *longMarks) add(task LongTask, part longPart, track TrackID) {
	ms := task.Dur / milli
	if _, ok := m.names[ms]; !ok {
		m.names[ms] = m.t.InternName(markName(ms))
	}
	m.rows = append(m.rows, markRow{task.TS, task.Dur, track, markBegin, m.encode(task, part)}, markRow{task.TS + task.Dur, 0, track, markEnd, nil})
}

// encode encodes the arguments of a mark.
func (m *longMarks) encode(task LongTask, part longPart) Args {
	m.args.Reset()
	m.args.Duration(blockingKey, task.Dur-LongTaskLength)
	if part.name != 0 {
		name := string(m.t.Name(part.name))
		m.args.Key([]byte(partKey))
		m.args.InternedString(name + " " + Readable(part.dur))
		if m.isRecorder(name) && 2*part.dur >= task.Dur {
			m.args.Key([]byte(recorderKey))
			m.args.Bool(true)
		}
	}
	switch {
	case m.describe == nil:
	case m.argBytes >= maxMarkArgs:
		m.t.Problems().Add(problem.ContextLimit, problem.NoPosition, "contexts of long tasks")
	default:
		m.describe(task, m.args)
	}
	args := slices.Clone(m.args.Args())
	m.argBytes += len(args)
	return args
}

const milli = 1000 * Microsecond

// Readable formats a duration, rounded to one decimal place: "211.3 ms", "0.1 µs".
func Readable(t Nanos) string {
	unit, name := milli, " ms"
	if t < milli && t > -milli {
		unit, name = Microsecond, " µs"
	}
	return strconv.FormatFloat(float64(t)/float64(unit), 'f', 1, 64) + name
}

// Duration writes a duration as two dictionary members: key_ns, in nanoseconds, and key, in readable form.
func (e *ArgsEncoder) Duration(key string, t Nanos) {
	e.Key([]byte(key + "_ns"))
	e.Int(int64(t))
	e.Key([]byte(key))
	e.InternedString(Readable(t))
}

func markName(ms Nanos) string { return "Long task " + strconv.FormatInt(int64(ms), 10) + " ms" }

// After implements Overlay.
func (m *longMarks) After(ts Nanos) (func(*Item) (bool, error), error) {
	i := sort.Search(len(m.rows), func(i int) bool { return m.rows[i].ts > ts })
	return func(it *Item) (bool, error) {
		if i == len(m.rows) {
			return false, nil
		}
		r := &m.rows[i]
		i++
		it.TS, it.Track, it.Dur = r.ts, r.track, NoTime
		if it.Kind = ItemEnd; r.kind == markEnd {
			return true, nil
		}
		it.Kind, it.Dur = ItemBegin, r.dur
		it.Category, it.CategoryID = []byte(LongTaskCategory), m.category
		if it.NameID = m.names[r.dur/milli]; it.NameID == 0 {
			it.Name = []byte(markName(r.dur / milli))
		}
		it.Args = r.args
		return true, nil
	}, nil
}

// Close implements Overlay.
func (m *longMarks) Close() error { return nil }
