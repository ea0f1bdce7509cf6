package attribution

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/weft-trace/weft/internal/timeline"
)

// Window is a part of a trace: from From up to To. The zero Window is the whole trace.
type Window struct {
	From timeline.Nanos // 0: the begin
	To   timeline.Nanos // 0: the end
}

// resolve returns the window of cost as times of a timeline that begins at start, with both of its ends given.
func (o *CostOptions) resolve(start timeline.Nanos) Window {
	w := o.Window
	if !o.FromStart {
		start = 0
	}
	if w.From == 0 {
		w.From = math.MinInt64
	} else {
		w.From = sum(w.From, start)
	}
	if w.To == 0 {
		w.To = lastTime
	} else {
		w.To = sum(w.To, start)
	}
	return w
}

// clip returns the part of an interval that lies in a resolved window, which may be empty.
func (w Window) clip(from, to timeline.Nanos) (timeline.Nanos, timeline.Nanos) {
	from = max(from, w.From)
	return from, max(from, min(to, w.To))
}

// has reports whether a time lies in a resolved window.
func (w Window) has(ts timeline.Nanos) bool { return w.From <= ts && ts < w.To }

// sum returns a + b, or the nearest time that there is.
func sum(a, b timeline.Nanos) timeline.Nanos {
	switch s := a + b; {
	case a > 0 && b > 0 && s < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && s >= 0:
		return math.MinInt64
	default:
		return s
	}
}

// asyncKey is what the time of asynchronous slices is added up by.
type asyncKey struct {
	set     SetID
	process timeline.TrackID // 0: none
}

func compareAsyncKeys(a, b asyncKey) int {
	return cmp.Or(cmp.Compare(a.set, b.set), cmp.Compare(a.process, b.process))
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

// Limits of what is kept to add up costs, whatever the input says, see limits. What they cut off is counted as problem.CostLimit.
const (
	maxLongTasks   = 1 << 16 // that are kept
	maxTaskSets    = 1 << 10 // that are told apart in one task
	maxAllTaskSets = 1 << 19 // of all long tasks together
	maxAsyncs      = 1 << 17 // sets and processes of asynchronous slices
	maxShares      = 1 << 18 // of all open slices together
	maxIdle        = 64      // shares for which a thread keeps the memory
	maxCuts        = 1 << 20 // places where intervals are cut because the tree changes
)

// costs adds up what contexts cost (attribution.md, Cost). The time of every thread is cut at the edges of slices and
// where the set in effect changes; each interval is charged to the set in effect in its innermost slice. So the sum over
// all contexts of a type and what has none is the time in which the thread was busy, for every type.
type costs struct {
	c       *catalogue
	sets    *sets
	window  Window // resolved
	atBegin bool   // charge the set at the begin of the innermost slice, as the old panel did

	cells   *cells
	charged []SetID         // by SetID: 1 + the set that is charged in its place; 0: not known yet
	owners  index           // of the sets in charged, by their contexts
	named   bitset          // sets of which something lies in the window
	spans   [1 << 8]setSpan // what treeOf found last
	asyncs  map[asyncKey]timeline.Nanos
	tasks   []LongTask
	shown   *intervals // may be nil

	sums    [numSums]timeline.Nanos // over all cells: none of them is beyond what a number holds
	shares  int                     // of all open slices
	cuts    int
	kept    int // sets of long tasks
	limited uint64
}

// The sums that costs keeps.
const (
	sumWall = iota
	sumCPU
	sumWithoutCPU
	sumForced
	sumFreed
	sumAsync
	numSums
)

// setSpan says that the tree above the contexts of a set is the same from since up to until.
type setSpan struct {
	set          SetID
	valid        bool
	since, until timeline.Nanos
}

// account is what costs keeps of a thread.
type account struct {
	lastKey    cellKey
	lastCell   int32
	generation uint32
	hasCell    bool
	task       []setShare // of the outermost slice, if it is long
	long       bool
	shown      shownThread
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
	since      timeline.Nanos
	wall       timeline.Nanos
	set        SetID
	cell       int32 // place of the cell; -1: outside of the window
	generation uint32
}

func newCosts(c *catalogue, s *sets, t *timeline.Timeline, opts *CostOptions) *costs {
	return &costs{
		c: c, sets: s, window: opts.resolve(t.Start()), atBegin: opts.AtBegin, cells: newCells(t.Memory()/16, t.TempDir()),
		asyncs: map[asyncKey]timeline.Nanos{},
	}
}

// fit adds a cost to one of the sums over the whole trace and returns how much of it there was room for.
func (k *costs) fit(sum int, v timeline.Nanos) timeline.Nanos {
	if room := math.MaxInt64 - k.sums[sum]; v > room {
		v = room
		k.limited++
	}
	k.sums[sum] += v
	return v
}

// cell returns the place of the cell with a key.
func (k *costs) cell(a *account, key cellKey) int32 {
	if a.hasCell && a.lastKey == key && a.generation == k.cells.generation {
		return a.lastCell
	}
	i := k.cells.place(key)
	a.lastKey, a.lastCell, a.generation, a.hasCell = key, i, k.cells.generation, true
	return i
}

// chargedFor returns the set that is charged for another one: the first with the same contexts, however they came.
func (k *costs) chargedFor(set SetID) SetID {
	if int(set) < len(k.charged) && k.charged[set] != 0 {
		return k.charged[set] - 1
	}
	for int(set) >= len(k.charged) {
		k.charged = append(k.charged, 0)
	}
	key := k.sets.key[:0]
	for _, id := range k.sets.sets.at(uint32(set)) {
		e := &k.sets.entries[id]
		if e.node != 0 {
			key = binary.LittleEndian.AppendUint32(key, uint32(e.typ))
			key = binary.LittleEndian.AppendUint32(key, uint32(k.c.logicalOf(e.node)))
		}
	}
	k.sets.key = key
	out := SetID(0)
	if len(key) > 0 {
		hash := k.owners.hash(key)
		out = SetID(k.owners.find(hash, func(id uint32) bool { return k.sameOwners(SetID(id), set) }))
		if out == 0 {
			out = set
			k.owners.add(hash, uint32(set))
		}
	}
	k.charged[set] = out + 1
	return out
}

// sameOwners reports whether two sets have the same contexts.
func (k *costs) sameOwners(a, b SetID) bool {
	x, y := k.sets.sets.at(uint32(a)), k.sets.sets.at(uint32(b))
	for {
		x, y = k.skipNobody(x), k.skipNobody(y)
		if len(x) == 0 || len(y) == 0 {
			return len(x) == len(y)
		}
		e, f := &k.sets.entries[x[0]], &k.sets.entries[y[0]]
		if e.typ != f.typ || k.c.logicalOf(e.node) != k.c.logicalOf(f.node) {
			return false
		}
		x, y = x[1:], y[1:]
	}
}

// skipNobody leaves out the entries at the begin of a list that have candidates only.
func (k *costs) skipNobody(list []entryID) []entryID {
	for len(list) > 0 && k.sets.entries[list[0]].node == 0 {
		list = list[1:]
	}
	return list
}

// treeOf returns the time around ts in which the tree above the contexts of a set is the same.
func (k *costs) treeOf(set SetID, ts timeline.Nanos) (since, until timeline.Nanos) {
	if !k.c.treeChanges || set == 0 {
		return math.MinInt64, lastTime
	}
	sp := &k.spans[int(set)%len(k.spans)]
	if sp.valid && sp.set == set && sp.since <= ts && ts < sp.until {
		return sp.since, sp.until
	}
	*sp = setSpan{set: set, valid: true, since: math.MinInt64, until: lastTime}
	for _, id := range k.sets.sets.at(uint32(set)) {
		if node := k.sets.entries[id].node; node != 0 {
			since, until := k.c.chainSpan(k.c.logicalOf(node), ts)
			sp.since, sp.until = max(sp.since, since), min(sp.until, until)
		}
	}
	return sp.since, sp.until
}

// advance charges the time of a thread up to ts to what is in effect.
func (k *costs) advance(w *worker, ts timeline.Nanos) {
	if w.busy < 0 {
		w.until = ts
		return
	}
	if w.until >= ts {
		return
	}
	top := &w.slices[w.busy]
	inEffect := w.charged
	if k.atBegin {
		inEffect = top.stamp
	}
	if k.shown != nil {
		k.shown.extend(w, inEffect, w.until, ts)
	}
	if from, to := k.window.clip(w.until, ts); from < to {
		k.named.add(inEffect)
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

// charge charges an interval from a time on to a set; the tree above that is the same since some time.
func (k *costs) charge(w *worker, top *work, to setShare, since, from timeline.Nanos) {
	end := from + to.wall
	inside, until := k.window.clip(from, end)
	wall := until - inside
	if wall == 0 {
		inside = end
	}
	if inside > from {
		k.share(top, share{wall: inside - from, cell: -1})
	}
	if wall > 0 {
		at := k.cell(&w.account, cellKey{since, w.id, to.set, top.category})
		fits := k.fit(sumWall, wall)
		k.cells.at(at).wall += fits
		if w.account.long {
			k.task(&w.account, setShare{to.set, fits})
		}
		k.share(top, share{since: since, wall: wall, set: to.set, cell: at, generation: k.cells.generation})
		if until < end {
			k.share(top, share{wall: end - until, cell: -1})
		}
	}
}

// share adds an interval to those of its slice.
func (k *costs) share(s *work, next share) {
	if n := len(s.shares); n > 0 {
		if last := &s.shares[n-1]; last.set == next.set && last.since == next.since && (last.cell < 0) == (next.cell < 0) {
			last.wall += next.wall
			return
		}
	}
	if k.shares >= k.c.most.shares {
		k.joinShares(s)
	}
	if k.shares >= k.c.most.shares {
		k.limited++
		s.uncounted += next.wall
		if next.cell >= 0 {
			k.cells.at(next.cell).withoutCPU += k.fit(sumWithoutCPU, next.wall)
		}
		return
	}
	s.shares = append(s.shares, next)
	k.shares++
}

// joinShares makes room where the shares of all open slices are too many: those of a slice with one set become one. That
// is worth while only if many have come since the last time.
func (k *costs) joinShares(s *work) {
	if len(s.shares) < 2*s.joined+64 {
		return
	}
	type sameCell struct {
		set    SetID
		since  timeline.Nanos
		inside bool
	}
	first := map[sameCell]int{}
	kept := s.shares[:0]
	for _, sh := range s.shares {
		key := sameCell{sh.set, sh.since, sh.cell >= 0}
		if at, ok := first[key]; ok {
			kept[at].wall += sh.wall
			continue
		}
		first[key] = len(kept)
		kept = append(kept, sh)
	}
	k.shares -= len(s.shares) - len(kept)
	s.shares, s.joined = kept, len(kept)
}

// task adds to the time of a set in a long task.
func (k *costs) task(a *account, part setShare) {
	for i := range a.task {
		if a.task[i].set == part.set {
			a.task[i].wall += part.wall
			return
		}
	}
	if len(a.task) >= maxTaskSets {
		k.limited++
		return
	}
	a.task = append(a.task, part)
}

// begin counts a slice that begins.
func (k *costs) begin(w *worker, s *work) {
	if k.shown != nil {
		k.shown.slice()
	}
	if s.up < 0 {
		w.account.long, w.account.task = s.end-s.ts >= longTask, w.account.task[:0]
	}
	from, to := k.window.clip(s.ts, s.end)
	if from == to && (s.end > s.ts || !k.window.has(s.ts)) {
		return
	}
	k.named.add(s.stamp)
	set := k.chargedFor(s.stamp)
	since, _ := k.treeOf(set, s.ts)
	c := k.cells.at(k.cell(&w.account, cellKey{since, w.id, set, s.category}))
	c.slices++
	if s.freed != 0 {
		c.freed += int64(k.fit(sumFreed, timeline.Nanos(s.freed)))
	}
	if !s.forced {
		return
	}
	i := 0
	if s.category == CategoryLayout {
		i = 1
	}
	c.forced[i] += k.fit(sumForced, to-from)
	c.forcedN[i]++
}

// end ends the innermost slice of a thread, whose time has been charged: its CPU time is divided among its intervals.
func (k *costs) end(w *worker) {
	s := &w.slices[w.busy]
	k.divideCPU(w, s)
	k.shares -= len(s.shares)
	if cap(s.shares) > maxIdle {
		s.shares = nil // else the next slice at this place has the memory
	}
	if s.up >= 0 {
		up := &w.slices[s.up].cpu
		if s.cpu.known {
			up.children = sum(up.children, s.cpu.used)
		} else {
			up.children = sum(up.children, s.end-s.ts)
		}
		return
	}
	if w.account.long && len(w.account.task) > 0 {
		k.keepTask(LongTask{Thread: w.id, Start: s.ts, Length: s.end - s.ts, shares: w.account.task})
	}
	w.account.long = false
	if cap(w.account.task) > maxIdle {
		w.account.task = nil
	}
}

// keepTask keeps a long task.
func (k *costs) keepTask(t LongTask) {
	if len(k.tasks) >= k.c.most.longTasks || k.kept+len(t.shares) > k.c.most.taskSets {
		k.limited++
		return
	}
	k.kept += len(t.shares)
	t.shares = slices.Clone(t.shares)
	k.tasks = append(k.tasks, t)
}

// divideCPU divides the CPU time of a slice itself, without those in it, among its intervals in proportion to their wall
// time. Each gets the difference of two rounded sums, so that the parts add up.
func (k *costs) divideCPU(w *worker, s *work) {
	if !s.cpu.known {
		for i := range s.shares {
			if sh := &s.shares[i]; sh.cell >= 0 {
				k.cellOf(w, s, sh).withoutCPU += k.fit(sumWithoutCPU, sh.wall)
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
	upTo, before := timeline.Nanos(0), timeline.Nanos(0)
	for i := range s.shares {
		sh := &s.shares[i]
		upTo += sh.wall
		now := portion(own, upTo, total)
		if sh.cell >= 0 {
			k.cellOf(w, s, sh).cpu += k.fit(sumCPU, now-before)
		}
		before = now
	}
}

// cellOf returns the cell of a share, which has to be looked up again if cells were spilled meanwhile.
func (k *costs) cellOf(w *worker, s *work, sh *share) *cell {
	if sh.generation != k.cells.generation {
		sh.cell, sh.generation = k.cells.place(cellKey{sh.since, w.id, sh.set, s.category}), k.cells.generation
	}
	return k.cells.at(sh.cell)
}

// portion returns whole · part / total, rounded, half up. part is at most total.
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
	k.named.add(set)
	set = k.chargedFor(set)
	since, _ := k.treeOf(set, ts)
	k.cells.at(k.cells.place(cellKey{since, thread, set, CategoryOther})).instants++
}

// async adds the time of an asynchronous slice of a process to its set.
func (k *costs) async(o *timeline.Occurrence, process timeline.TrackID, set SetID) {
	if o.Kind != timeline.OccursSlice || o.End == timeline.NoTime {
		return
	}
	from, to := k.window.clip(o.TS, o.End)
	if from == to && (o.End > o.TS || !k.window.has(o.TS)) {
		return
	}
	k.named.add(set)
	key := asyncKey{k.chargedFor(set), process}
	if _, ok := k.asyncs[key]; !ok && len(k.asyncs) >= k.c.most.asyncs {
		k.limited++
		key = asyncKey{} // nobody
	}
	k.asyncs[key] += k.fit(sumAsync, to-from)
}

// finishThread ends a thread at the end of the trace.
func (k *costs) finishThread(w *worker) {
	if k.shown != nil {
		k.shown.finish(w)
	}
}
