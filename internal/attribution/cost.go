package attribution

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
)

// asyncKey is the key by which the time of asynchronous slices is summed.
type asyncKey struct {
	Set     SetID
	Process timeline.TrackID // 0: none
}

func CompareAsyncKeys(a, b asyncKey) int {
	return cmp.Or(cmp.Compare(a.Set, b.Set), cmp.Compare(a.Process, b.Process))
}

// LongTask is an outermost slice of a thread that lasts 50 ms or more.
type LongTask struct {
	Thread timeline.TrackID
	Start  timeline.Nanos
	Length timeline.Nanos
	Shares []setShare
}

// setShare is the part of a task's time that belongs to a set.
type setShare struct {
	Set  SetID
	Wall timeline.Nanos
}

// Limits of the cost tables, scaled by Limits. problem.CostLimit counts entries beyond them.
const (
	maxLongTasks   = 1 << 16
	maxTaskSets    = 1 << 10 // different sets in one task
	maxAllTaskSets = 1 << 19 // in all long tasks together
	maxAsyncs      = 1 << 17 // sets and processes of asynchronous slices
	maxShares      = 1 << 18 // in all open slices together
	maxIdle        = 64      // maximum capacity of a list of shares kept for reuse
	maxCuts        = 1 << 20 // interval splits due to tree changes
)

// costs sums the costs of contexts (attribution.md, Cost). It splits the time of every thread at the edges of slices and
// where the set in effect changes, and charges each interval to the set in effect in its innermost slice. So, for every type,
// the sum over all contexts and unattributed work is the busy time of the thread.
type costs struct {
	c       *Catalogue
	sets    *Sets
	window  Window // resolved
	atBegin bool   // charge the set at the start of the innermost slice

	countsHead   func(*timeline.Head) bool   // nil: all
	countsThread func(timeline.TrackID) bool // nil: all

	Cells     *cells
	charged   []SetID         // by SetID: 1 + the set that is charged instead; 0: not computed yet
	owners    index           // the sets in charged, by their contexts
	Named     Bitset[SetID]   // sets of slices and instants in the window
	spans     [1 << 8]setSpan // cache of treeOf
	Asyncs    map[asyncKey]timeline.Nanos
	Tasks     []LongTask
	intervals *intervals // may be nil

	sums     [numSums]timeline.Nanos // over all cells, bounded so that no sum overflows
	shares   int                     // in all open slices
	cuts     int
	taskSets int // in all long tasks
	limited  uint64
}

// The totals in costs.sums.
const (
	sumWall = iota
	sumCPU
	sumWithoutCPU
	sumForced
	sumFreed
	sumAsync
	numSums
)

// setSpan is a period in which the tree above the contexts of a set does not change. The end of the period, until, is exclusive.
type setSpan struct {
	set          SetID
	valid        bool
	since, until timeline.Nanos
}

// account is the cost state of a thread.
type account struct {
	lastKey    cellKey
	lastCell   int32
	generation uint32
	hasCell    bool
	task       []setShare // shares of the outermost slice, if it is long
	long       bool
	intervals  threadIntervals
}

// cpuTime is the CPU time of a slice.
type cpuTime struct {
	known    bool
	used     timeline.Nanos
	start    timeline.Nanos // thread time at the start
	children timeline.Nanos // CPU time of the direct children, or wall time where unknown
}

// share is a part of a slice's own time that belongs to one set.
type share struct {
	since      timeline.Nanos
	wall       timeline.Nanos
	set        SetID
	cell       int32 // index of the cell; -1: outside the window
	generation uint32
}

func newCosts(c *Catalogue, s *Sets, t *timeline.Timeline, opts *CostOptions) *costs {
	return &costs{
		c: c, sets: s, window: opts.Resolve(t.Start()), atBegin: opts.AtBegin, Cells: newCells(t.Memory()/16, t.TempDir()),
		countsHead: opts.Counts, countsThread: opts.CountsThread,
		Asyncs: map[asyncKey]timeline.Nanos{},
	}
}

// counts reports whether a slice or instant is selected.
func (k *costs) counts(o *timeline.Head) bool { return k.countsHead == nil || k.countsHead(o) }

// addBounded adds a cost to a total and returns the cost, reduced if needed so that the total does not overflow.
func (k *costs) addBounded(sum int, v timeline.Nanos) timeline.Nanos {
	if free := math.MaxInt64 - k.sums[sum]; v > free {
		v = free
		k.limited++
	}
	k.sums[sum] += v
	return v
}

// cell returns the index of the cell with a key.
func (k *costs) cell(a *account, key cellKey) int32 {
	if a.hasCell && a.lastKey == key && a.generation == k.Cells.generation {
		return a.lastCell
	}
	i := k.Cells.place(key)
	a.lastKey, a.lastCell, a.generation, a.hasCell = key, i, k.Cells.generation, true
	return i
}

// chargedFor returns the set that is charged in place of another one: the first with the same contexts, whatever their sources.
func (k *costs) chargedFor(set SetID) SetID {
	if int(set) < len(k.charged) && k.charged[set] != 0 {
		return k.charged[set] - 1
	}
	for int(set) >= len(k.charged) {
		k.charged = append(k.charged, 0)
	}
	key := k.sets.Key[:0]
	for _, id := range k.sets.Lists.At(uint32(set)) {
		e := &k.sets.Members[id]
		if e.Node != 0 {
			key = binary.LittleEndian.AppendUint32(key, uint32(e.Type))
			key = binary.LittleEndian.AppendUint32(key, uint32(k.c.LogicalOf(e.Node)))
		}
	}
	k.sets.Key = key
	out := SetID(0)
	if len(key) > 0 {
		hash := k.owners.Hash(key)
		out = SetID(k.owners.Find(hash, func(id uint32) bool { return k.sameOwners(SetID(id), set) }))
		if out == 0 {
			out = set
			k.owners.Add(hash, uint32(set))
		}
	}
	k.charged[set] = out + 1
	return out
}

// sameOwners reports whether two sets have the same contexts.
func (k *costs) sameOwners(a, b SetID) bool {
	x, y := k.sets.Lists.At(uint32(a)), k.sets.Lists.At(uint32(b))
	for {
		x, y = k.skipUnattributed(x), k.skipUnattributed(y)
		if len(x) == 0 || len(y) == 0 {
			return len(x) == len(y)
		}
		e, f := &k.sets.Members[x[0]], &k.sets.Members[y[0]]
		if e.Type != f.Type || k.c.LogicalOf(e.Node) != k.c.LogicalOf(f.Node) {
			return false
		}
		x, y = x[1:], y[1:]
	}
}

// skipUnattributed skips leading entries that have only candidates.
func (k *costs) skipUnattributed(list []memberID) []memberID {
	for len(list) > 0 && k.sets.Members[list[0]].Node == 0 {
		list = list[1:]
	}
	return list
}

// treeOf returns the period around ts in which the tree above the contexts of a set does not change.
func (k *costs) treeOf(set SetID, ts timeline.Nanos) (since, until timeline.Nanos) {
	if !k.c.treeChanges || set == 0 {
		return math.MinInt64, LastTime
	}
	sp := &k.spans[int(set)%len(k.spans)]
	if sp.valid && sp.set == set && sp.since <= ts && ts < sp.until {
		return sp.since, sp.until
	}
	*sp = setSpan{set: set, valid: true, since: math.MinInt64, until: LastTime}
	for _, id := range k.sets.Lists.At(uint32(set)) {
		if node := k.sets.Members[id].Node; node != 0 {
			since, until := k.c.chainSpan(k.c.LogicalOf(node), ts)
			sp.since, sp.until = max(sp.since, since), min(sp.until, until)
		}
	}
	return sp.since, sp.until
}

// advance charges the time of a thread up to ts to the set in effect.
func (k *costs) advance(w *thread, ts timeline.Nanos) {
	if w.busy < 0 {
		w.until = ts
		return
	}
	if w.until >= ts {
		return
	}
	top := w.slices.At(w.busy)
	inEffect := w.charged
	if k.atBegin {
		inEffect = top.atStart
	}
	if k.intervals != nil && !w.spans {
		k.intervals.extend(w, inEffect, w.until, ts)
	}
	if from, to := k.window.clip(w.until, ts); from < to && !top.excluded {
		k.Named.Add(inEffect)
	}
	set := k.chargedFor(inEffect)
	for w.until < ts {
		since, next := k.treeOf(set, w.until)
		switch {
		case next >= ts:
			next = ts
		case k.cuts >= maxCuts:
			next = ts
			k.limited++
		default:
			k.cuts++
		}
		k.charge(w, top, setShare{set, next - w.until}, since, w.until)
		w.until = next
	}
}

// charge charges a set for an interval. The parameter from is the start of the interval, and since is the start of the period in
// which the set's tree does not change.
func (k *costs) charge(w *thread, top *slice, to setShare, since, from timeline.Nanos) {
	end := from + to.Wall
	inside, until := k.window.clip(from, end)
	wall := until - inside
	if wall == 0 || top.excluded {
		inside, wall = end, 0
	}
	if inside > from {
		k.share(top, share{wall: inside - from, cell: -1})
	}
	if wall > 0 {
		at := k.cell(&w.account, cellKey{since, w.id, to.Set, top.category})
		bounded := k.addBounded(sumWall, wall)
		k.Cells.at(at).Wall += bounded
		if w.account.long {
			k.task(&w.account, setShare{to.Set, bounded})
		}
		k.share(top, share{since: since, wall: wall, set: to.Set, cell: at, generation: k.Cells.generation})
		if until < end {
			k.share(top, share{wall: end - until, cell: -1})
		}
	}
}

// share adds an interval to the shares of its slice.
func (k *costs) share(s *slice, next share) {
	if n := len(s.shares); n > 0 {
		if last := &s.shares[n-1]; last.set == next.set && last.since == next.since && (last.cell < 0) == (next.cell < 0) {
			last.wall += next.wall
			return
		}
	}
	if k.shares >= k.c.Limits.Of(maxShares) {
		k.joinShares(s)
	}
	if k.shares >= k.c.Limits.Of(maxShares) {
		k.limited++
		s.uncounted += next.wall
		if next.cell >= 0 {
			k.Cells.at(next.cell).WithoutCPU += k.addBounded(sumWithoutCPU, next.wall)
		}
		return
	}
	s.shares = append(s.shares, next)
	k.shares++
}

// joinShares frees memory when open slices have too many shares: it combines the shares of a slice that have the same set and the
// same tree. It does nothing unless many shares have been added since the last call.
func (k *costs) joinShares(s *slice) {
	if len(s.shares) < 2*s.joined+64 {
		return
	}
	type sameCell struct {
		set    SetID
		since  timeline.Nanos
		inside bool
	}
	first := map[sameCell]int{}
	joined := s.shares[:0]
	for _, sh := range s.shares {
		key := sameCell{sh.set, sh.since, sh.cell >= 0}
		if at, ok := first[key]; ok {
			joined[at].wall += sh.wall
			continue
		}
		first[key] = len(joined)
		joined = append(joined, sh)
	}
	k.shares -= len(s.shares) - len(joined)
	s.shares, s.joined = joined, len(joined)
}

// task adds the time of a set to a long task.
func (k *costs) task(a *account, part setShare) {
	for i := range a.task {
		if a.task[i].Set == part.Set {
			a.task[i].Wall += part.Wall
			return
		}
	}
	if len(a.task) >= maxTaskSets {
		k.limited++
		return
	}
	a.task = append(a.task, part)
}

// begin counts a slice that starts, the bytes that it frees, and the style or layout that it is forced to compute.
func (k *costs) begin(w *thread, s *slice) {
	if k.intervals != nil {
		k.intervals.raiseLimit()
	}
	end := w.slices.End(w.busy)
	if s.up < 0 {
		w.account.long, w.account.task = end-s.ts >= timeline.LongTaskLength && !s.excluded, w.account.task[:0]
	}
	if s.excluded {
		return
	}
	from, to := k.window.clip(s.ts, end)
	if from == to && (end > s.ts || !k.window.has(s.ts)) {
		return
	}
	k.Named.Add(s.atStart)
	set := k.chargedFor(s.atStart)
	since, _ := k.treeOf(set, s.ts)
	c := k.Cells.at(k.cell(&w.account, cellKey{since, w.id, set, s.category}))
	c.Slices++
	if s.freed != 0 {
		c.Freed += int64(k.addBounded(sumFreed, timeline.Nanos(s.freed)))
	}
	if !s.forced {
		return
	}
	i := 0
	if s.category == producers.CategoryLayout {
		i = 1
	}
	c.Forced[i] += k.addBounded(sumForced, to-from)
	c.ForcedN[i]++
}

// end ends the innermost slice of a thread once its time has been charged: it divides the CPU time among the intervals, and keeps
// the slice as a long task if it is one.
func (k *costs) end(w *thread) {
	s, end := w.slices.At(w.busy), w.slices.End(w.busy)
	k.divideCPU(w, s)
	k.shares -= len(s.shares)
	if cap(s.shares) > maxIdle {
		s.shares = nil // smaller lists are reused by the next slice at this depth
	}
	if s.up >= 0 {
		up := &w.slices.At(s.up).cpu
		if s.cpu.known {
			up.children = Add(up.children, s.cpu.used)
		} else {
			up.children = Add(up.children, end-s.ts)
		}
		return
	}
	if w.account.long && len(w.account.task) > 0 {
		k.keepTask(LongTask{Thread: w.id, Start: s.ts, Length: end - s.ts, Shares: w.account.task})
	}
	w.account.long = false
	if cap(w.account.task) > maxIdle {
		w.account.task = nil
	}
}

func (k *costs) keepTask(t LongTask) {
	if len(k.Tasks) >= k.c.Limits.Of(maxLongTasks) || k.taskSets+len(t.Shares) > k.c.Limits.Of(maxAllTaskSets) {
		k.limited++
		return
	}
	k.taskSets += len(t.Shares)
	t.Shares = slices.Clone(t.Shares)
	k.Tasks = append(k.Tasks, t)
}

// divideCPU divides the CPU time of a slice, without its children, among its intervals in proportion to their wall time.
// Each part is the difference of two rounded running sums, so that the parts add up.
func (k *costs) divideCPU(w *thread, s *slice) {
	if !s.cpu.known {
		for i := range s.shares {
			if sh := &s.shares[i]; sh.cell >= 0 {
				k.cellOf(w, s, sh).WithoutCPU += k.addBounded(sumWithoutCPU, sh.wall)
			}
		}
		return
	}
	total := s.uncounted
	for i := range s.shares {
		total += s.shares[i].wall
	}
	own := max(s.cpu.used-s.cpu.children, 0)
	if total <= 0 || own == 0 {
		return
	}
	wall, before := timeline.Nanos(0), timeline.Nanos(0)
	for i := range s.shares {
		sh := &s.shares[i]
		wall += sh.wall
		cpu := portion(own, wall, total)
		if sh.cell >= 0 {
			k.cellOf(w, s, sh).Cpu += k.addBounded(sumCPU, cpu-before)
		}
		before = cpu
	}
}

// cellOf returns the cell of a share; it looks the cell up again if cells have been spilled in the meantime.
func (k *costs) cellOf(w *thread, s *slice, sh *share) *Cell {
	if sh.generation != k.Cells.generation {
		sh.cell, sh.generation = k.Cells.place(cellKey{sh.since, w.id, sh.set, s.category}), k.Cells.generation
	}
	return k.Cells.at(sh.cell)
}

// portion returns whole · part / total, rounded half up. part is at most total.
func portion(whole, part, total timeline.Nanos) timeline.Nanos {
	hi, lo := bits.Mul64(2*uint64(whole), uint64(part))
	lo, carry := bits.Add64(lo, uint64(total), 0)
	q, _ := bits.Div64(hi+carry, lo, 2*uint64(total))
	return timeline.Nanos(q)
}

// instant counts an instant.
func (k *costs) instant(thread timeline.TrackID, set SetID, ts timeline.Nanos) {
	if !k.window.has(ts) {
		return
	}
	k.Named.Add(set)
	set = k.chargedFor(set)
	since, _ := k.treeOf(set, ts)
	k.Cells.at(k.Cells.place(cellKey{since, thread, set, producers.CategoryOther})).Instants++
}

// async adds the time of a process's asynchronous slice to the slice's set.
func (k *costs) async(o *timeline.Head, process timeline.TrackID, set SetID) {
	if o.Kind != timeline.ItemBegin || o.End == timeline.NoTime {
		return
	}
	from, to := k.window.clip(o.TS, o.End)
	if from == to && (o.End > o.TS || !k.window.has(o.TS)) {
		return
	}
	k.Named.Add(set)
	key := asyncKey{k.chargedFor(set), process}
	if _, ok := k.Asyncs[key]; !ok && len(k.Asyncs) >= k.c.Limits.Of(maxAsyncs) {
		k.limited++
		key = asyncKey{} // unattributed, without a process
	}
	k.Asyncs[key] += k.addBounded(sumAsync, to-from)
}

// finishThread writes the open intervals of a thread at the end of the trace.
func (k *costs) finishThread(w *thread) {
	if k.intervals != nil {
		k.intervals.finish(w)
	}
}
