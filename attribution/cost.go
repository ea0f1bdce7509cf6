package attribution

import (
	"math/bits"

	"github.com/weft-trace/weft/timeline"
)

// Window is a part of a trace: from From up to To. The zero Window is the whole trace.
type Window struct {
	From timeline.Nanos
	To   timeline.Nanos // 0: the end
}

// clip returns the part of an interval that lies in the window, which may be empty.
func (w Window) clip(from, to timeline.Nanos) (timeline.Nanos, timeline.Nanos) {
	from = max(from, w.From)
	if w.To > 0 {
		to = min(to, w.To)
	}
	return from, max(from, to)
}

// shift returns a window that counts from another time.
func (w Window) shift(by timeline.Nanos) Window {
	w.From += by
	if w.To > 0 {
		w.To += by
	}
	return w
}

// cellKey is what costs are added up by: the finest division that any report needs. The set says which contexts are
// charged, and the epoch what the tree was like.
type cellKey struct {
	thread   timeline.TrackID
	set      SetID
	epoch    int32
	category Category
}

// cell is the cost of the work with one cellKey.
type cell struct {
	cellKey
	wall       timeline.Nanos
	cpu        timeline.Nanos
	withoutCPU timeline.Nanos // wall time of slices whose CPU time is not known
	slices     int64
	instants   int64
	forced     [2]timeline.Nanos // style, layout; wall time of whole slices
	forcedN    [2]int64
	freed      int64 // bytes, by garbage collections
}

// asyncKey is what the time of asynchronous slices is added up by.
type asyncKey struct {
	set     SetID
	process timeline.TrackID // 0: none
}

// LongTask is a slice of 50 ms or more that no other slice of its thread encloses.
type LongTask struct {
	Thread timeline.TrackID
	Start  timeline.Nanos
	Length timeline.Nanos
	shares []setShare
}

// setShare is the time that a set had in a task.
type setShare struct {
	set  SetID
	wall timeline.Nanos
}

// longTask is the length from which on a task is long.
const longTask = 50 * 1000 * timeline.Microsecond

// maxLongTasks bounds the long tasks that are kept, maxTaskSets the sets that are told apart in one.
const (
	maxLongTasks = 1 << 16
	maxTaskSets  = 1 << 10
)

// costs adds up what contexts cost (spec contexts.md 9). The time of every thread is cut at the edges of slices and
// where the set in effect changes; each interval is charged to the set in effect in its innermost slice. So the sum over
// all contexts of a type and what has none is the time in which the thread was busy, for every type.
type costs struct {
	c       *catalogue
	window  Window
	atBegin bool // charge the set at the begin of the innermost slice, as the old panel did

	cells  []cell
	byKey  map[cellKey]int32
	asyncs map[asyncKey]timeline.Nanos
	tasks  []LongTask
	shown  *intervals // may be nil
}

// account is what costs keeps of a thread.
type account struct {
	lastKey  cellKey
	lastCell int32
	hasCell  bool
	task     []setShare // of the outermost slice, if it is long
	long     bool
	shown    shownThread
}

// cpuTime is the CPU time of a slice as far as it is known.
type cpuTime struct {
	known    bool
	used     timeline.Nanos
	start    timeline.Nanos // thread time at its begin
	children timeline.Nanos // of the slices in it; their wall time where it is not known
}

// share is a part of a slice's own time that has one set, in the order of time.
type share struct {
	cell int32 // -1: outside of the window
	wall timeline.Nanos
}

func newCosts(c *catalogue, opts *CostOptions) *costs {
	return &costs{c: c, window: opts.Window, atBegin: opts.AtBegin, byKey: map[cellKey]int32{}, asyncs: map[asyncKey]timeline.Nanos{}}
}

// cell returns the number of the cell with a key.
func (k *costs) cell(a *account, key cellKey) int32 {
	if a != nil && a.hasCell && a.lastKey == key {
		return a.lastCell
	}
	i, ok := k.byKey[key]
	if !ok {
		i = int32(len(k.cells))
		k.cells = append(k.cells, cell{cellKey: key})
		k.byKey[key] = i
	}
	if a != nil {
		a.lastKey, a.lastCell, a.hasCell = key, i, true
	}
	return i
}

// advance charges the time of a thread up to ts to what is in effect.
func (k *costs) advance(w *worker, ts timeline.Nanos) {
	if w.busy < 0 {
		w.until = ts
		return
	}
	for w.until < ts {
		next := ts
		for w.epoch < len(k.c.epochs) && k.c.epochs[w.epoch] <= w.until {
			w.epoch++
		}
		if w.epoch < len(k.c.epochs) {
			next = min(next, k.c.epochs[w.epoch])
		}
		k.charge(w, w.until, next)
		w.until = next
	}
}

// charge charges one interval.
func (k *costs) charge(w *worker, from, to timeline.Nanos) {
	top := &w.slices[w.busy]
	set := w.charged
	if k.atBegin {
		set = top.stamp
	}
	if k.shown != nil {
		k.shown.extend(w, set, from, to)
	}
	at, length := int32(-1), to-from
	if from, to := k.window.clip(from, to); to > from {
		at = k.cell(&w.account, cellKey{w.id, set, int32(w.epoch), top.category})
		wall := to - from
		k.cells[at].wall += wall
		if w.account.long {
			w.account.add(set, wall)
		}
		k.share(top, at, wall)
		if length -= wall; length == 0 {
			return
		}
	}
	k.share(top, -1, length)
}

// share adds an interval to those of its slice.
func (k *costs) share(s *work, at int32, wall timeline.Nanos) {
	if n := len(s.shares); n > 0 && s.shares[n-1].cell == at {
		s.shares[n-1].wall += wall
		return
	}
	s.shares = append(s.shares, share{at, wall})
}

// add adds to the time of a set in a long task.
func (a *account) add(set SetID, wall timeline.Nanos) {
	for i := range a.task {
		if a.task[i].set == set {
			a.task[i].wall += wall
			return
		}
	}
	if len(a.task) < maxTaskSets {
		a.task = append(a.task, setShare{set, wall})
	}
}

// begin counts a slice that begins.
func (k *costs) begin(w *worker, s *work) {
	if s.up < 0 {
		w.account.long, w.account.task = s.end-s.ts >= longTask, w.account.task[:0]
	}
	from, to := k.window.clip(s.ts, s.end)
	if from == to && s.end > s.ts {
		return
	}
	c := &k.cells[k.cell(&w.account, cellKey{w.id, s.stamp, int32(s.epoch), s.category})]
	c.slices++
	c.freed += s.freed
	if !s.forced {
		return
	}
	i := 0
	if s.category == CategoryLayout {
		i = 1
	}
	c.forced[i] += to - from
	c.forcedN[i]++
}

// end ends the innermost slice of a thread, whose time has been charged: its CPU time is divided among its intervals.
func (k *costs) end(w *worker) {
	s := &w.slices[w.busy]
	k.divideCPU(s)
	if s.up >= 0 {
		up := &w.slices[s.up].cpu
		if s.cpu.known {
			up.children += s.cpu.used
		} else {
			up.children += s.end - s.ts
		}
		return
	}
	if w.account.long && len(w.account.task) > 0 && len(k.tasks) < maxLongTasks {
		t := LongTask{Thread: w.id, Start: s.ts, Length: s.end - s.ts, shares: append([]setShare(nil), w.account.task...)}
		k.tasks = append(k.tasks, t)
	}
	w.account.long = false
}

// divideCPU divides the CPU time of a slice itself, without those in it, among its intervals in proportion to their wall
// time. Each gets the difference of two rounded sums, so that the parts add up.
func (k *costs) divideCPU(s *work) {
	total := timeline.Nanos(0)
	for i := range s.shares {
		total += s.shares[i].wall
	}
	if !s.cpu.known {
		for i := range s.shares {
			if at := s.shares[i].cell; at >= 0 {
				k.cells[at].withoutCPU += s.shares[i].wall
			}
		}
		return
	}
	own := max(s.cpu.used-s.cpu.children, 0)
	if total <= 0 || own == 0 {
		return
	}
	sum, before := timeline.Nanos(0), timeline.Nanos(0)
	for i := range s.shares {
		sum += s.shares[i].wall
		now := portion(own, sum, total)
		if at := s.shares[i].cell; at >= 0 {
			k.cells[at].cpu += now - before
		}
		before = now
	}
}

// portion returns whole · part / total, rounded, half up. part is at most total.
func portion(whole, part, total timeline.Nanos) timeline.Nanos {
	hi, lo := bits.Mul64(2*uint64(whole), uint64(part))
	lo, carry := bits.Add64(lo, uint64(total), 0)
	q, _ := bits.Div64(hi+carry, lo, 2*uint64(total))
	return timeline.Nanos(q)
}

// instant counts an instant.
func (k *costs) instant(w *worker, set SetID, ts timeline.Nanos) {
	if from, to := k.window.clip(ts, ts+1); w == nil || from == to {
		return
	}
	k.cells[k.cell(nil, cellKey{w.id, set, int32(w.epoch), CategoryOther})].instants++
}

// async adds the time of an asynchronous slice of a process to its set.
func (k *costs) async(o *timeline.Occurrence, process timeline.TrackID, set SetID) {
	if o.Kind != timeline.OccursSlice || o.End == timeline.NoTime {
		return
	}
	from, to := k.window.clip(o.TS, o.End)
	if from == to && o.End > o.TS {
		return
	}
	k.asyncs[asyncKey{set, process}] += to - from
}

// finishThread ends a thread at the end of the trace.
func (k *costs) finishThread(w *worker) {
	if k.shown != nil {
		k.shown.finish(w)
	}
}
