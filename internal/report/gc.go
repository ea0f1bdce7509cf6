package report

import (
	"cmp"
	"slices"

	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

// GC describes the garbage collections of sampled threads and what they interrupted.
type GC struct {
	Threads []ThreadGC `json:"threads"`
}

// ThreadGC is the work of the garbage collector on one thread.
type ThreadGC struct {
	ThreadID
	Source     string         `json:"source"`
	Samples    int64          `json:"samples"` // of the collector
	Time       timeline.Nanos `json:"time_ns"`
	Covered    timeline.Nanos `json:"covered_ns"`  // time of all samples
	AllSamples int64          `json:"all_samples"` // of the thread, collector or not
	Stacks     GCSources      `json:"stacks_from"`
	// Unmarked means that the states are guessed from stacks, as in a self-profile without markers: then no collections
	// are known.
	Unmarked bool `json:"unmarked"`

	BusyRuns   int           `json:"busy_runs"`
	LongRuns   int           `json:"long_runs"`   // runs of 50 ms or more
	Explained  int           `json:"gc_runs"`     // long runs that would not be long without the collector
	Runs       []GCRun       `json:"runs"`        // these runs, in time order
	ByStack    []StackGC     `json:"by_stack"`    // most collector time first
	ByFunction []FunctionGC  `json:"by_function"` // the same by innermost function
	Buckets    []GCBucket    `json:"buckets"`     // none without Options.Bucket
	Counts     GCTableCounts `json:"rows"`        // full lengths of the tables, which may hold only the first rows
}

// GCTableCounts holds the full lengths of tables.
type GCTableCounts struct {
	ByStack    int `json:"by_stack"`
	ByFunction int `json:"by_function"`
}

// GCRun is a busy run that is long only because of the garbage collector.
type GCRun struct {
	Start     timeline.Nanos `json:"start_ns"`
	Samples   int64          `json:"samples"`
	GCSamples int64          `json:"gc_samples"`
	Time      timeline.Nanos `json:"time_ns"`
	GC        timeline.Nanos `json:"gc_ns"`
}

// GCTime is an amount of time, Total, with its two parts: GC, which the garbage collector took, and Own, the rest.
type GCTime struct {
	Samples   int64          `json:"samples"`
	GCSamples int64          `json:"gc_samples"`
	Total     timeline.Nanos `json:"total_ns"`
	GC        timeline.Nanos `json:"gc_ns"`
	Own       timeline.Nanos `json:"own_ns"`
}

// StackGC is the time of a call stack that the garbage collector interrupted. If Frames is empty, it covers collections that
// interrupted something unknown.
type StackGC struct {
	Frames []Frame `json:"frames"` // outermost first
	GCTime
}

// FunctionGC is the time in which a function was the innermost one on the stack. If the function has no name, it covers
// collections that interrupted something unknown.
type FunctionGC struct {
	Frame
	GCTime
}

// GCBucket is the garbage collector's share of one stretch of time.
type GCBucket struct {
	Start     timeline.Nanos `json:"start_ns"`
	Samples   int64          `json:"samples"`
	GCSamples int64          `json:"gc_samples"`
	Covered   timeline.Nanos `json:"covered_ns"`
	GC        timeline.Nanos `json:"gc_ns"`
}

func (g *GCTime) add(o *observation, isGC bool) {
	g.Samples += int64(o.count)
	g.Total += o.dur
	if isGC {
		g.GCSamples += int64(o.count)
		g.GC += o.dur
	}
	g.Own = g.Total - g.GC
}

// GC reports what the garbage collector interrupted. The only possible error is ErrTooManyBuckets.
func (p *Profiles) GC(opts Options) (*GC, error) {
	if err := p.check(opts); err != nil {
		return nil, err
	}
	report := &GC{Threads: []ThreadGC{}}
	start, _ := p.span()
	for _, t := range p.Threads {
		if len(t.observations) == 0 {
			continue
		}
		row := ThreadGC{ThreadID: t.ThreadID, Source: t.Source, Stacks: t.gcCounts, Runs: []GCRun{}, Buckets: []GCBucket{}}
		row.Unmarked = t.unmarked()
		row.addRuns(t)
		times := row.addTimes(t)
		row.ByStack, row.Counts.ByStack = p.interruptedStacks(times, opts)
		row.ByFunction, row.Counts.ByFunction = p.interruptedFunctions(t, times, opts)
		for _, b := range t.buckets(start, opts.Bucket) {
			sum := b.Sum()
			row.Buckets = append(row.Buckets, GCBucket{b.Start, sum.Samples, b.GC.Samples, sum.Time, b.GC.Time})
		}
		report.Threads = append(report.Threads, row)
	}
	return report, nil
}

// unmarked reports whether the samples of a thread have no recorded states, so that the states were guessed from stacks.
func (t *Thread) unmarked() bool {
	guessed := false
	for i := range t.observations {
		switch t.states.name(t.observations[i].state) {
		case timeline.StateInferred:
			guessed = true
		case timeline.StateIdle:
		default:
			return false
		}
	}
	return guessed
}

// addRuns counts the busy runs, and lists those that only the collector made long.
func (r *ThreadGC) addRuns(t *Thread) {
	r.BusyRuns = len(t.runs)
	for i := range t.runs {
		run := &t.runs[i]
		if run.dur >= timeline.LongTaskLength {
			r.LongRuns++
		}
		if !run.explainedByGC() {
			continue
		}
		r.Explained++
		row := GCRun{Start: t.observations[run.first].ts, Time: run.dur, GC: run.gc}
		for _, o := range t.observations[run.first:run.last] {
			row.Samples += int64(o.count)
			if t.states.kind(o.state) == gcState {
				row.GCSamples += int64(o.count)
			}
		}
		r.Runs = append(r.Runs, row)
	}
}

// addTimes totals the time of a thread, and returns it by stack.
func (r *ThreadGC) addTimes(t *Thread) map[stackID]*GCTime {
	times := map[stackID]*GCTime{}
	for i := range t.observations {
		o := &t.observations[i]
		isGC := t.states.kind(o.state) == gcState
		r.Covered += o.dur
		r.AllSamples += int64(o.count)
		if isGC {
			r.Samples += int64(o.count)
			r.Time += o.dur
		}
		if o.script == 0 && !isGC {
			continue
		}
		sum := times[o.script]
		if sum == nil {
			sum = &GCTime{}
			times[o.script] = sum
		}
		sum.add(o, isGC)
	}
	return times
}

// interruptedStacks returns the table of stacks that the collector interrupted, and the full length of this table.
func (p *Profiles) interruptedStacks(times map[stackID]*GCTime, opts Options) (rows []StackGC, count int) {
	var ids []stackID
	for id, time := range times {
		if time.hasGC() {
			ids = append(ids, id)
		}
	}
	p.stacks.sort(ids, func(id stackID) timeline.Nanos { return times[id].GC })
	rows = []StackGC{}
	for _, id := range cut(ids, opts.Top) {
		rows = append(rows, StackGC{p.stacks.list(id), *times[id]})
	}
	return rows, len(ids)
}

// interruptedFunctions is like interruptedStacks, but with a row for each innermost function.
func (p *Profiles) interruptedFunctions(t *Thread, times map[stackID]*GCTime, opts Options) (rows []FunctionGC, count int) {
	byFrame := map[frameID]*GCTime{}
	for id, time := range times {
		frame := p.stacks.function(p.stacks.nodes[id].frame, t.Source)
		if byFrame[frame] == nil {
			byFrame[frame] = &GCTime{}
		}
		byFrame[frame].sum(time)
	}
	rows = []FunctionGC{}
	for frame, time := range byFrame {
		if time.hasGC() {
			rows = append(rows, FunctionGC{p.stacks.frames[frame], *time})
		}
	}
	slices.SortFunc(rows, func(a, b FunctionGC) int {
		return cmp.Or(cmp.Compare(b.GC, a.GC), table.FalseFirst(a.Function == "", b.Function == ""), compareFrames(a.Frame, b.Frame))
	})
	return cut(rows, opts.Top), len(rows)
}

// hasGC reports whether the collector ran, even if no time was measured.
func (g *GCTime) hasGC() bool { return g.GCSamples > 0 || g.GC > 0 }

func (g *GCTime) sum(other *GCTime) {
	g.Samples += other.Samples
	g.GCSamples += other.GCSamples
	g.Total += other.Total
	g.GC += other.GC
	g.Own += other.Own
}
