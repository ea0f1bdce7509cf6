package report

import (
	"github.com/weft-trace/weft/internal/timeline"
)

// LayoutThrashing lists the script that forced the browser to compute style and layout.
type LayoutThrashing struct {
	Threads []ThreadForced `json:"threads"`
}

// Basis is the source of the numbers of a LayoutThrashing.
type Basis string

// The bases.
const (
	// FromSamples: samples whose state is style or layout and that have a stack. Times are the times that samples represent.
	FromSamples Basis = "samples"
	// FromSlices: style and layout slices inside slices that run script. Times are exact.
	FromSlices Basis = "slices"
)

// ThreadForced is the style and layout work that script forced on one thread.
type ThreadForced struct {
	ThreadID
	Source string `json:"source"`
	Basis  Basis  `json:"basis"`
	ForcedTime
	Thrashing int           `json:"thrashing"` // number of stacks that thrash
	ByStack   []StackForced `json:"by_stack"`  // most time first

	// StackCount is the number of all stacks; ByStack may list only the first ones.
	StackCount int `json:"stack_count"`

	// Unforced is the style and layout work that no script forced: it was part of producing frames.
	Unforced ForcedTime `json:"unforced"`
}

// ForcedTime is the time in style and in layout, with the numbers of samples or slices that it comes from.
type ForcedTime struct {
	Count       int64          `json:"count"`
	StyleCount  int64          `json:"style_count"`
	Style       timeline.Nanos `json:"style_ns"`
	LayoutCount int64          `json:"layout_count"`
	Layout      timeline.Nanos `json:"layout_ns"`
	Total       timeline.Nanos `json:"total_ns"`
}

// StackForced is what one call stack forced. An episode is one act of forcing: consecutive samples, a style or layout slice, or
// a style slice with the layout slice after it. A run is a busy run, or an outermost slice.
type StackForced struct {
	Frames []Frame `json:"frames"` // outermost first
	ForcedTime
	Episodes          int            `json:"episodes"`
	Runs              int            `json:"runs"`
	MaxPerRun         timeline.Nanos `json:"max_ns_per_run"`
	MaxPerRunCount    int64          `json:"max_ns_per_run_count"` // samples or slices in MaxPerRun
	MaxEpisodesPerRun int            `json:"max_episodes_per_run"`

	// Thrashing means two or more episodes, or 30 ms or more, in one run.
	Thrashing bool `json:"thrashing"`
}

// A stack thrashes if it reaches one of these limits in one run.
const (
	thrashingEpisodes                = 2
	thrashingTime     timeline.Nanos = 30_000_000
)

// LayoutThrashing reports which script forced the browser to compute style and layout.
func (p *Profiles) LayoutThrashing(opts Options) *LayoutThrashing {
	report := &LayoutThrashing{Threads: []ThreadForced{}}
	for _, t := range p.Threads {
		tally := forcedTally{stacks: map[stackID]*forcedStack{}}
		row := ThreadForced{ThreadID: t.ThreadID, Source: t.Source, Basis: FromSamples}
		if len(t.forced) > 0 {
			row.Basis = FromSlices
			t.tallySlices(&tally)
		} else {
			t.tallySamples(&tally)
		}
		row.Unforced = tally.unforced
		row.addStacks(p, &tally, opts)
		if row.Count > 0 || row.Unforced.Count > 0 {
			report.Threads = append(report.Threads, row)
		}
	}
	return report
}

// addStacks totals the forced work of all stacks, and fills the table of stacks.
func (r *ThreadForced) addStacks(p *Profiles, tally *forcedTally, opts Options) {
	var ids []stackID
	for id, s := range tally.stacks {
		ids = append(ids, id)
		s.closeRun()
		s.Thrashing = s.MaxEpisodesPerRun >= thrashingEpisodes || s.MaxPerRun >= thrashingTime
		r.sum(&s.ForcedTime)
		if s.Thrashing {
			r.Thrashing++
		}
	}
	p.stacks.sort(ids, func(id stackID) timeline.Nanos { return tally.stacks[id].Total })
	r.StackCount = len(ids)
	r.ByStack = []StackForced{}
	for _, id := range cut(ids, opts.Top) {
		row := tally.stacks[id].StackForced
		row.Frames = p.stacks.list(id)
		r.ByStack = append(r.ByStack, row)
	}
}

// add adds time spent in style or layout.
func (f *ForcedTime) add(count int64, kind stateKind, dur timeline.Nanos) {
	f.Count += count
	f.Total += dur
	if kind == styleState {
		f.StyleCount += count
		f.Style += dur
	} else {
		f.LayoutCount += count
		f.Layout += dur
	}
}

func (f *ForcedTime) sum(other *ForcedTime) {
	f.Count += other.Count
	f.StyleCount += other.StyleCount
	f.Style += other.Style
	f.LayoutCount += other.LayoutCount
	f.Layout += other.Layout
	f.Total += other.Total
}

// forcedTally sums forced style and layout by stack.
type forcedTally struct {
	stacks   map[stackID]*forcedStack
	unforced ForcedTime
}

// forcedStack is a stack with its sums for the current run.
type forcedStack struct {
	StackForced
	run      int // number of the current run
	time     timeline.Nanos
	count    int64
	episodes int
}

// closeRun compares the current run with the worst one.
func (s *forcedStack) closeRun() {
	if s.time > s.MaxPerRun || s.MaxPerRunCount == 0 {
		s.MaxPerRun, s.MaxPerRunCount = s.time, s.count
	}
	s.MaxEpisodesPerRun = max(s.MaxEpisodesPerRun, s.episodes)
	s.time, s.count, s.episodes = 0, 0, 0
}

// add counts one sample or slice in the run with the given number, which is not 0.
func (f *forcedTally) add(id stackID, run int, count int64, kind stateKind, dur timeline.Nanos, newEpisode bool) {
	s := f.stacks[id]
	if s == nil {
		s = &forcedStack{}
		f.stacks[id] = s
	}
	if s.run != run {
		s.closeRun()
		s.run = run
		s.Runs++
	}
	s.ForcedTime.add(count, kind, dur)
	s.time += dur
	s.count += count
	if newEpisode {
		s.Episodes++
		s.episodes++
	}
}

// tallySamples counts the style and layout samples.
func (t *Thread) tallySamples(tally *forcedTally) {
	for n := range t.runs {
		var last stackID // of the previous sample, if it was forced
		for _, o := range t.observations[t.runs[n].first:t.runs[n].last] {
			kind := t.states.kind(o.state)
			if kind != styleState && kind != layoutState {
				last = 0
				continue
			}
			if o.script == 0 {
				tally.unforced.add(int64(o.count), kind, o.dur)
				last = 0
				continue
			}
			tally.add(o.script, n+1, int64(o.count), kind, o.dur, o.script != last)
			last = o.script
		}
	}
}
