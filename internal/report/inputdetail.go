package report

import (
	"cmp"
	"slices"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/timeline"
)

// inputWindow is an input whose work is collected.
type inputWindow struct {
	row      int // index in Inputs.Inputs
	from, to timeline.Nanos
	main     timeline.TrackID
	phases   []phaseWindow
	work     workTally
	threads  map[timeline.TrackID]*InputThread
	first    taskPlace      // where the first slice for it began; zero: unknown
	busy     timeline.Nanos // work of that thread before that slice
}

// phaseWindow is a phase of an input.
type phaseWindow struct {
	name        string
	from, to    timeline.Nanos
	own, others workTally
}

// maxInputThreads bounds the threads kept for an input.
const maxInputThreads = 1 << 10

// addWindow prepares to collect the work for an input.
func (c *inputCollector) addWindow(n int, row *inputRow) {
	w := inputWindow{
		row: n, from: row.Start, to: row.Start + row.Latency, main: row.main, work: newWorkTally(), threads: map[timeline.TrackID]*InputThread{},
	}
	add := func(name string, from, to timeline.Nanos) {
		w.phases = append(w.phases, phaseWindow{name: name, from: from, to: to, own: newWorkTally(), others: newWorkTally()})
	}
	if row.Delay == nil {
		add("latency", w.from, w.to)
	} else {
		begin, end := w.from+*row.Delay, w.from+*row.Delay+*row.Processing
		add("delay", w.from, begin)
		add("processing", begin, end)
		if row.Presentation != nil {
			add("presentation", end, w.to)
		}
	}
	c.windows = append(c.windows, w)
	for _, i := range row.facts {
		c.byFact[i] = len(c.windows)
		if first, w := c.facts[i].first, &c.windows[len(c.windows)-1]; first.thread != 0 && (w.first.thread == 0 || first.ts < w.first.ts) {
			w.first = first
		}
	}
}

// needsDetail reports whether a second pass must collect work for inputs.
func (c *inputCollector) needsDetail() bool { return len(c.windows) > 0 }

// addDetails adds the work that the second walk collected.
func (c *inputCollector) addDetails() {
	if len(c.windows) == 0 {
		return
	}
	for i := range c.windows {
		c.finish(&c.windows[i])
	}
	for i := range c.attributed.Requests {
		q := &c.attributed.Requests[i]
		if w := c.windowOf(q.Set); w != nil {
			in := &c.out.Inputs[w.row]
			in.Requests++
			sum(&in.RequestBytes, q.Bytes)
		}
	}
}

// wait adds the time of a slice to the time that its thread worked before the first slice for an input.
func (c *inputCollector) wait(it *timeline.Item) {
	if !hasEnd(&it.Head) || sleeps(it) {
		return
	}
	for i := range c.windows {
		if w := &c.windows[i]; w.first.thread == it.Track {
			sum(&w.busy, max(0, min(endOf(&it.Head), w.first.ts)-max(it.TS, w.from)))
		}
	}
}

// windowOf returns the window of the input in a set of contexts; nil: none.
func (c *inputCollector) windowOf(set attribution.SetID) *inputWindow {
	i := c.inputOf(set)
	if i == 0 || c.byFact[i-1] == 0 {
		return nil
	}
	return &c.windows[c.byFact[i-1]-1]
}

// pass handles the start or end of a slice in the second pass: the time since the previous event on the thread belongs to the
// innermost slice with an end.
func (c *inputCollector) pass(it *timeline.Item, open *timeline.OpenSlices[openWork]) {
	n := open.Len()
	if it.Kind == timeline.ItemBegin {
		n-- // the slice that begins was not open until now
	}
	for n > 0 && !open.At(n-1).timed {
		n--
	}
	if n > 0 && open.At(n-1).input {
		c.charge(it.Track, open.At(n-1), c.since[it.Track], it.TS)
	}
	c.since[it.Track] = it.TS
	if it.Kind == timeline.ItemBegin && open.Len() == 1 {
		c.wait(it)
	}
}

// concerns reports whether a slice that begins may matter for a detailed input.
func (c *inputCollector) concerns(it *timeline.Item, s *openWork) bool {
	if !s.timed {
		return false
	}
	if c.windowOf(s.set) != nil {
		return true
	}
	end := endOf(&it.Head)
	for i := range c.windows {
		if w := &c.windows[i]; w.main == it.Track && w.from < end && it.TS < w.to {
			return true
		}
	}
	return false
}

// charge adds time on a thread to the inputs that the time concerns.
func (c *inputCollector) charge(thread timeline.TrackID, s *openWork, from, to timeline.Nanos) {
	if to <= from {
		return
	}
	count := int64(0)
	if from == s.ts {
		count = 1
	}
	own := c.windowOf(s.set)
	if own != nil {
		own.work.add(s.key, to-from, count, s.forced)
		own.work.addSet(s.set, to-from)
		own.on(c.tl, thread, from, to)
	}
	for i := range c.windows {
		w := &c.windows[i]
		if w.main != thread || w.to <= from || w.from >= to {
			continue
		}
		for k := range w.phases {
			p := &w.phases[k]
			a, b := max(from, p.from), min(to, p.to)
			if a >= b {
				continue
			}
			tally := &p.others
			if w == own {
				tally = &p.own
			}
			tally.add(s.key, b-a, count, s.forced)
		}
	}
}

// on records that a thread worked for the input.
func (w *inputWindow) on(tl *timeline.Timeline, thread timeline.TrackID, from, to timeline.Nanos) {
	t := w.threads[thread]
	if t == nil {
		if len(w.threads) == maxInputThreads {
			return
		}
		t = &InputThread{ThreadID: threadID(tl, thread), First: from}
		w.threads[thread] = t
	}
	t.Last = max(t.Last, to)
	sum(&t.Self, to-from)
}

// finish writes the collected work into the row of the input.
func (c *inputCollector) finish(w *inputWindow) {
	in := &c.out.Inputs[w.row]
	work := w.work.work()
	in.Work, in.Contexts, in.Threads, in.Phases = &work, w.work.contexts(c.attributed), []InputThread{}, []InputPhase{}
	for _, t := range w.threads {
		in.Threads = append(in.Threads, *t)
	}
	slices.SortFunc(in.Threads, func(a, b InputThread) int {
		return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.PID.String(), b.PID.String()), cmp.Compare(a.TID.String(), b.TID.String()))
	})
	if w.first.thread != 0 && w.first.ts-in.Start > in.Latency/4 {
		in.Received = &InputReceived{threadID(c.tl, w.first.thread), w.first.ts, w.busy}
	}
	if w.main == 0 {
		return
	}
	main := threadID(c.tl, w.main)
	in.Main = &main
	for k := range w.phases {
		p := &w.phases[k]
		phase := InputPhase{Phase: p.name, Start: p.from, Duration: p.to - p.from, Own: p.own.work(), Others: p.others.work()}
		phase.Idle = max(0, phase.Duration-phase.Own.Self-phase.Others.Self)
		in.Phases = append(in.Phases, phase)
	}
}
