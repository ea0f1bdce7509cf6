package report

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weft-trace/weft/internal/timeline"
)

// Chart is the content of a timeline of the threads in a Utilisation: the slices that are long enough to be visible, and the
// total time of the other outermost slices. Times are nanoseconds; points in time are on the trace's clock.
type Chart struct {
	Least timeline.Nanos // the minimum length of the slices in Rows
	Step  timeline.Nanos // length of ShortTime's steps, which start at Utilisation.Start
	Names []string       // of slices
	Rows  []ChartRow     // one for each thread of the Utilisation
}

// ChartRow holds the slices of a thread. Slices that do not nest, and slices of a stream beside the thread, are below the
// others.
type ChartRow struct {
	Depths int          // number of levels
	Slices []ChartSlice // by start; at the same start, outer ones first
	Short  []ShortTime  // by step, then kind
}

// ChartSlice is a slice, or a call that is visible in samples.
type ChartSlice struct {
	Start, Duration timeline.Nanos
	Depth           int
	Name            int            // index in Chart.Names
	Kind            int            // index in Utilisation.Kinds; len(Kinds): the thread waits
	CPU             timeline.Nanos // its CPU time; −1: unknown
}

// ShortTime is the time, within one step, of the outermost slices of one kind that are too short for the chart.
type ShortTime struct {
	Step, Kind int
	Time       timeline.Nanos
}

// Limits of a chart.
const (
	chartParts     = 4000 // slices shorter than the whole length divided by this are invisible
	maxChartSlices = 40_000
	maxChartDepth  = 32
	chartSteps     = 500
)

// chartCollector keeps the slices of a chart. When there are too many slices, it keeps the longer half, so that its memory use
// does not grow with the trace.
type chartCollector struct {
	use   *useCollector
	least timeline.Nanos
	step  timeline.Nanos
	limit int // maximum of kept
	kept  int
	rows  []*chartRow // by TrackID of the threads; nil: not in the chart
}

// chartRow is a ChartRow under construction.
type chartRow struct {
	slices []chartSlice
	depths []int // by lane
	lanes  map[timeline.TrackLane]int
	short  []timeline.Nanos // by step, then kind
}

type chartSlice struct {
	ChartSlice
	lane int
	name string
}

// newChartCollector returns a collector for the second walk of use.
func newChartCollector(use *useCollector, limit int) *chartCollector {
	length := use.out.End - use.out.Start
	c := &chartCollector{use: use, limit: limit, least: length/chartParts + 1, step: length/chartSteps + 1, rows: make([]*chartRow, len(use.places))}
	for i := range use.out.Threads {
		c.rows[use.out.Threads[i].track] = &chartRow{lanes: map[timeline.TrackLane]int{}, short: make([]timeline.Nanos, chartSteps*len(use.out.Kinds))}
	}
	return c
}

// item adds a slice to the chart when it starts. It ignores threads that are shown by their samples.
func (c *chartCollector) item(it *timeline.Item, open *timeline.OpenSlices[busySlice[openUse]]) {
	thread := c.use.places[it.Track]
	if thread == 0 || c.use.rows[thread] == nil || it.Kind != timeline.ItemBegin || !hasEnd(&it.Head) || !c.use.selected.Item(it) {
		return
	}
	from, to := c.use.selected.Clip(it.TS, endOf(&it.Head))
	from, to = max(from, c.use.out.Start), min(to, c.use.out.End) // its thread may sleep at the end
	kind := c.use.kindOf(&open.Innermost().note)
	if sleeps(it) {
		kind = len(c.use.out.Kinds)
	}
	if depth := int(open.Innermost().depth); from < to && (depth == 0 || to-from >= c.least) {
		s := chartSlice{ChartSlice: ChartSlice{Start: from, Duration: to - from, Depth: depth, Kind: kind, CPU: -1}}
		if cpu, ok := it.ThreadDuration.Nanos(); ok && to-from == it.Dur {
			s.CPU = cpu
		}
		row := c.rows[thread]
		s.lane = row.lane(timeline.TrackLane{Track: it.Track, Lane: it.Lane})
		c.add(row, &s, it.Name)
	}
}

func (r *chartRow) lane(at timeline.TrackLane) int {
	i, ok := r.lanes[at]
	if !ok {
		i = len(r.depths)
		r.lanes[at] = i
		r.depths = append(r.depths, 0)
	}
	return i
}

// add keeps a slice, or its time if it is short.
func (c *chartCollector) add(row *chartRow, s *chartSlice, name []byte) {
	switch {
	case s.Depth >= maxChartDepth:
		return
	case s.Duration < c.least:
		c.addShort(row, s)
		return
	}
	s.name = string(name)
	row.slices = append(row.slices, *s)
	if c.kept++; c.kept > c.limit {
		c.keep(c.limit / 2)
	}
}

// keep keeps the longest slices, at most limit. If there is room for only some of the slices with the shortest kept length, it
// chooses slices that are evenly spread over rows and time.
func (c *chartCollector) keep(limit int) {
	var lengths []timeline.Nanos
	for _, r := range c.rows {
		if r != nil {
			for i := range r.slices {
				lengths = append(lengths, r.slices[i].Duration)
			}
		}
	}
	slices.Sort(lengths)
	c.least = append(lengths, lengths[len(lengths)-1]+1)[len(lengths)-limit]
	first, _ := slices.BinarySearch(lengths, c.least)
	longer, _ := slices.BinarySearch(lengths, c.least+1)
	equal, room, seen := longer-first, limit-(len(lengths)-longer), 0
	for _, r := range c.rows {
		if r == nil {
			continue
		}
		r.slices = slices.DeleteFunc(r.slices, func(s chartSlice) bool {
			short := s.Duration < c.least
			if s.Duration == c.least {
				seen++
				short = seen*room/equal == (seen-1)*room/equal
			}
			if short {
				c.addShort(r, &s)
			}
			return short
		})
	}
	c.kept = limit
}

// addShort adds the time of a short slice, if it is an outermost one: the time of inner ones is part of the slices
// around them.
func (c *chartCollector) addShort(row *chartRow, s *chartSlice) {
	counts := s.Depth == 0 && s.Kind < len(c.use.out.Kinds)
	for from, end := s.Start, s.Start+s.Duration; counts && from < end; {
		at := from - c.use.out.Start
		to := from + min(end-from, c.step-at%c.step)
		sum(&row.short[int(at/c.step)*len(c.use.out.Kinds)+s.Kind], to-from)
		from = to
	}
}

// addSamples adds the calls that are visible in the samples of a thread: a function runs while consecutive samples show it in the
// same place on the stack.
func (c *chartCollector) addSamples(p *Profiles, t *Thread) {
	row := c.rows[t.track]
	row.lane(timeline.TrackLane{Track: t.track})
	ids := map[stackID]bool{}
	for o := range t.within(t.busy()) {
		ids[o.stack] = true
	}
	delete(ids, 0)
	paths := p.functionPaths(slices.Sorted(maps.Keys(ids)), t.Source)
	calls := sampledCalls{collector: c, row: row, paths: &paths, stacks: p.stacks, shared: int32(paths.shared(p.stacks)), shallow: make([]int32, len(paths.steps))}
	for i := range paths.steps {
		if calls.shallow[i] = int32(i); paths.steps[i].depth > calls.shared+maxChartDepth {
			calls.shallow[i] = calls.shallow[paths.steps[i].parent]
		}
	}
	for o := range t.within(t.busy()) {
		if calls.end != o.ts {
			calls.close(0, calls.end)
		}
		calls.see(o, t, c.use.kind(cmp.Or(sampledKinds[t.states.kind(o.state)], otherKind)))
	}
	calls.close(0, calls.end)
}

// sampledCalls holds the open calls during a pass over the samples of a thread.
type sampledCalls struct {
	collector *chartCollector
	row       *chartRow
	paths     *functionPaths
	stacks    *stackTable
	shared    int32   // number of outermost functions that are left out
	shallow   []int32 // by step: itself, or the innermost step around it that the chart has room for

	open []sampledCall
	path []int32 // steps of a stack, innermost first
	end  timeline.Nanos
}

type sampledCall struct {
	step, kind int // step: index in paths.steps; −1: no function is known
	state      string
	from       timeline.Nanos
}

// see handles a sample. A garbage collection runs inside the function that it interrupts.
func (c *sampledCalls) see(o *observation, t *Thread, kind int) {
	c.path = c.path[:0]
	if i, ok := slices.BinarySearch(c.paths.ids, o.stack); ok && o.stack != 0 {
		for at := c.shallow[c.paths.at[i]]; at > 0 && c.paths.steps[at].depth > c.shared; at = c.paths.steps[at].parent {
			c.path = append(c.path, at)
		}
	}
	if t.states.class(o.state) == ClassGC || len(c.path) == 0 {
		c.path = slices.Insert(c.path, 0, -1)
	}
	same, state := 0, t.states.name(o.state)
	for ; same < min(len(c.open), len(c.path)) && c.open[same].step == int(c.path[len(c.path)-1-same]); same++ {
		if innermost := same == len(c.path)-1; innermost && (c.open[same].kind != kind || c.open[same].step < 0 && c.open[same].state != state) {
			break
		}
	}
	c.close(same, o.ts)
	for depth := same; depth < len(c.path); depth++ {
		c.open = append(c.open, sampledCall{int(c.path[len(c.path)-1-depth]), kind, state, o.ts})
	}
	c.end = o.end()
}

// close ends the open calls from the given depth inwards.
func (c *sampledCalls) close(depth int, at timeline.Nanos) {
	for len(c.open) > depth {
		call := c.open[len(c.open)-1]
		c.open = c.open[:len(c.open)-1]
		name := "(" + call.state + ")"
		if call.step >= 0 {
			name = c.stacks.frames[c.paths.steps[call.step].frame].Function
		}
		if at > call.from {
			c.collector.add(c.row, &chartSlice{ChartSlice: ChartSlice{Start: call.from, Duration: at - call.from, Depth: len(c.open), Kind: call.kind, CPU: -1}}, []byte(name))
		}
	}
}

// done returns the chart after the walk; nil if it is empty.
func (c *chartCollector) done() *Chart {
	if c.kept == 0 {
		return nil
	}
	out, names := &Chart{Least: c.least, Step: c.step}, map[string]int{}
	for i := range c.use.out.Threads {
		out.Rows = append(out.Rows, c.rows[c.use.out.Threads[i].track].done(out, names, len(c.use.out.Kinds)))
	}
	return out
}

// done returns the row, with its lanes one below the other.
func (r *chartRow) done(out *Chart, names map[string]int, kinds int) (row ChartRow) {
	for i := range r.slices {
		s := &r.slices[i]
		r.depths[s.lane] = max(r.depths[s.lane], s.Depth+1)
	}
	for lane, depths := range r.depths {
		r.depths[lane] = row.Depths
		row.Depths += depths
	}
	for i := range r.slices {
		s := &r.slices[i]
		s.Depth += r.depths[s.lane]
		n, ok := names[s.name]
		if !ok {
			n = len(out.Names)
			names[s.name], out.Names = n, append(out.Names, s.name)
		}
		s.Name = n
		row.Slices = append(row.Slices, s.ChartSlice)
	}
	slices.SortStableFunc(row.Slices, func(a, b ChartSlice) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Depth, b.Depth)) })
	for i, time := range r.short {
		if time > 0 {
			row.Short = append(row.Short, ShortTime{i / kinds, i % kinds, time})
		}
	}
	return row
}

// ChartOf returns a chart with the longest slices of c, at most limit of them. Its ShortTimes include the time of the other
// slices.
func (u *Utilisation) ChartOf(c *Chart, limit int) *Chart {
	rows, count := make([]*chartRow, len(c.Rows)), 0
	for i, row := range c.Rows {
		grown := &chartRow{depths: []int{0}, short: make([]timeline.Nanos, chartSteps*len(u.Kinds))}
		for _, s := range row.Short {
			grown.short[s.Step*len(u.Kinds)+s.Kind] = s.Time
		}
		for _, s := range row.Slices {
			grown.slices = append(grown.slices, chartSlice{ChartSlice: s, name: c.Names[s.Name]})
		}
		rows[i] = grown
		count += len(row.Slices)
	}
	if count <= limit {
		return c
	}
	shorter := chartCollector{step: c.Step, rows: rows, use: &useCollector{out: *u}}
	shorter.keep(limit)
	out, names := &Chart{Least: shorter.least, Step: c.Step}, map[string]int{}
	for _, row := range rows {
		out.Rows = append(out.Rows, row.done(out, names, len(u.Kinds)))
	}
	return out
}
