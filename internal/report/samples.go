package report

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/weft-trace/weft/internal/timeline"
)

// Samples reports how each sampled thread spent its time.
type Samples struct {
	Threads []ThreadSamples `json:"threads"` // busiest first
}

// ThreadSamples is the time of one thread by state, by function and by bucket. The times in States add up to Covered; Covered
// and GapTime add up to the time from the first sample to the end of the last one.
type ThreadSamples struct {
	ThreadID
	Source    string         `json:"source"`
	Shows     string         `json:"shows,omitempty"` // the url of the page or worker that it runs; see Profiles.FindShown
	Busy      timeline.Nanos `json:"busy_ns"`         // the time in which it certainly worked; 0: it was idle
	Samples   int64          `json:"samples"`
	Start     timeline.Nanos `json:"start_ns"`
	End       timeline.Nanos `json:"end_ns"`
	Covered   timeline.Nanos `json:"covered_ns"`
	Gaps      int            `json:"gaps"`
	GapTime   timeline.Nanos `json:"gap_ns"`
	BusyRuns  int            `json:"busy_runs"`
	States    []StateTime    `json:"states"`    // longest first
	Classes   ClassTimes     `json:"classes"`   // the same times by class
	Buckets   []Bucket       `json:"buckets"`   // those with samples, in time order; none without Options.Bucket
	Functions []Function     `json:"functions"` // most self time first

	// FunctionCount is the number of all functions; Functions may list only the first ones.
	FunctionCount int `json:"function_count"`

	Tree     *StackTree `json:"-"` // nil: not requested
	TreeRows int        `json:"-"` // number of rows to show; 0: all
	View     string     `json:"-"` // the table that shows Tree
}

// StateTime is the time in one state.
type StateTime struct {
	State   string         `json:"state"`
	Class   string         `json:"class"`
	Samples int64          `json:"samples"`
	Time    timeline.Nanos `json:"time_ns"`
}

// ClassTime is the time in the states of one class.
type ClassTime struct {
	Samples int64          `json:"samples"`
	Time    timeline.Nanos `json:"time_ns"`
}

// ClassTimes is time by class.
type ClassTimes struct {
	Script    ClassTime `json:"script"`
	Rendering ClassTime `json:"rendering"`
	GC        ClassTime `json:"gc"`
	Other     ClassTime `json:"other"`
	Idle      ClassTime `json:"idle"`
}

// of returns the time of a class.
func (c *ClassTimes) of(class Class) *ClassTime {
	return [...]*ClassTime{&c.Script, &c.Rendering, &c.GC, &c.Other, &c.Idle}[class]
}

// Sum returns the sum over all classes.
func (c *ClassTimes) Sum() (sum ClassTime) {
	for class := range numClasses {
		sum.Samples += c.of(class).Samples
		sum.Time += c.of(class).Time
	}
	return sum
}

// Bucket is the time of a thread by class in one stretch of time. A sample counts in the bucket where it begins; its
// time counts in each bucket that it overlaps.
type Bucket struct {
	Start timeline.Nanos `json:"start_ns"`
	ClassTimes
}

// Function is the time of one function: Self while it was the innermost one, by class, and Total while it was anywhere on
// the stack. Both exclude the time in which the thread was idle: a waiting function does nothing.
type Function struct {
	Frame
	Self  ClassTimes `json:"self"`
	Total ClassTime  `json:"total"`
}

// Samples reports where the time of each thread went. The only possible error is ErrTooManyBuckets.
func (p *Profiles) Samples(opts Options) (*Samples, error) {
	if err := p.check(opts); err != nil {
		return nil, err
	}
	report := &Samples{Threads: []ThreadSamples{}}
	start, _ := p.span()
	for _, t := range p.Threads {
		from, to, ok := t.span()
		if !ok {
			continue
		}
		row := ThreadSamples{
			ThreadID: t.ThreadID, Source: t.Source, Shows: t.shows, Busy: t.busyTime(), Start: from, End: to, BusyRuns: len(t.runs),
			Buckets: t.buckets(start, opts.Bucket),
		}
		row.addStates(t)
		functions := p.functions(t)
		row.FunctionCount = len(functions)
		row.Functions = cut(functions, opts.Top)
		if opts.Tree != nil {
			tree := p.stackTree(t, opts.Tree)
			row.Tree, row.TreeRows, row.View = &tree, opts.Top, opts.Tree.Table
		}
		report.Threads = append(report.Threads, row)
	}
	slices.SortStableFunc(report.Threads, func(a, b ThreadSamples) int { return cmp.Compare(b.Busy, a.Busy) })
	return report, nil
}

// addStates totals the time by state, by class and in gaps.
func (r *ThreadSamples) addStates(t *Thread) {
	times := make([]ClassTime, len(t.states.names))
	for i := range t.observations {
		o := &t.observations[i]
		times[o.state].add(o)
		r.Classes.of(t.states.class(o.state)).add(o)
		if i > 0 && o.ts > t.observations[i-1].end() {
			r.Gaps++
			r.GapTime += o.ts - t.observations[i-1].end()
		}
	}
	r.States = []StateTime{}
	for id, time := range times {
		if time != (ClassTime{}) {
			state := stateID(id)
			r.States = append(r.States, StateTime{t.states.name(state), t.states.class(state).String(), time.Samples, time.Time})
		}
	}
	slices.SortStableFunc(r.States, func(a, b StateTime) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.State, b.State))
	})
	sum := r.Classes.Sum()
	r.Samples, r.Covered = sum.Samples, sum.Time
}

func (c *ClassTime) add(o *observation) {
	c.Samples += int64(o.count)
	c.Time += o.dur
}

// buckets totals the observations of a thread in buckets of the given length. The first bucket starts at start.
func (t *Thread) buckets(start, length timeline.Nanos) []Bucket {
	buckets := []Bucket{}
	if length <= 0 {
		return buckets
	}
	index := map[timeline.Nanos]int{}
	at := func(ts timeline.Nanos) *Bucket {
		begin := start + (ts-start)/length*length
		i, ok := index[begin]
		if !ok {
			i = len(buckets)
			index[begin] = i
			buckets = append(buckets, Bucket{Start: begin})
		}
		return &buckets[i]
	}
	for i := range t.observations {
		o := &t.observations[i]
		class := t.states.class(o.state)
		b := at(o.ts)
		b.of(class).Samples += int64(o.count)
		for from := o.ts; ; {
			to := o.end()
			if to-b.Start > length {
				to = b.Start + length
			}
			b.of(class).Time += to - from
			if from = to; from == o.end() {
				break
			}
			b = at(from)
		}
	}
	slices.SortFunc(buckets, func(a, b Bucket) int { return cmp.Compare(a.Start, b.Start) })
	return buckets
}

// functions totals the time of a thread by function.
func (p *Profiles) functions(t *Thread) []Function {
	return p.functionsOf(t, slices.Values([]run{{last: len(t.observations)}}))
}

// functionsOf is like functions, but counts only some parts of the observations.
func (p *Profiles) functionsOf(t *Thread, parts iter.Seq[run]) []Function {
	byStack := map[stackID]*ClassTimes{}
	for o := range t.within(parts) {
		if o.stack == 0 || t.states.class(o.state) == ClassIdle {
			continue
		}
		times := byStack[o.stack]
		if times == nil {
			times = &ClassTimes{}
			byStack[o.stack] = times
		}
		times.of(t.states.class(o.state)).add(o)
	}
	byFrame := map[frameID]*Function{}
	part := p.stacks.part(slices.Collect(maps.Keys(byStack)))
	of, totals := make([]*Function, len(part.ids)), make([]ClassTime, len(part.ids)) // by index in part; totals include callees
	for i, id := range part.ids {
		frame := p.stacks.function(p.stacks.nodes[id].frame, t.Source)
		f := byFrame[frame]
		if f == nil {
			f = &Function{Frame: p.stacks.frames[frame]}
			byFrame[frame] = f
		}
		of[i] = f
		if times := byStack[id]; times != nil {
			for class := range numClasses {
				f.Self.of(class).sum(*times.of(class))
			}
			totals[i] = times.Sum()
		}
	}
	for i, below := range slices.Backward(part.below) {
		if below >= 0 {
			totals[below].sum(totals[i])
		}
	}
	open := map[*Function]int{} // recursion counts once
	part.depthFirst(cmp.Compare, func(i int32) {
		if open[of[i]]++; open[of[i]] == 1 {
			of[i].Total.sum(totals[i])
		}
	}, func(i int32) { open[of[i]]-- })
	functions := make([]Function, 0, len(byFrame))
	for _, f := range byFrame {
		functions = append(functions, *f)
	}
	slices.SortFunc(functions, func(a, b Function) int {
		return cmp.Or(cmp.Compare(b.Self.Sum().Time, a.Self.Sum().Time), cmp.Compare(b.Total.Time, a.Total.Time),
			compareFrames(a.Frame, b.Frame))
	})
	return functions
}

func (c *ClassTime) sum(other ClassTime) {
	c.Samples += other.Samples
	c.Time += other.Time
}

// compareFrames orders functions by name, then by location.
func compareFrames(a, b Frame) int {
	return cmp.Or(cmp.Compare(a.Function, b.Function), cmp.Compare(a.URL, b.URL),
		cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
}
