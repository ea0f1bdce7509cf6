package report

import (
	"iter"

	"github.com/weft-trace/weft/internal/timeline"
)

// run is a busy run: the observations from first up to last, exclusive, which are not idle and follow each other
// without gaps.
type run struct {
	first, last int
	dur         timeline.Nanos
	gc          timeline.Nanos // part of dur
}

// within returns the observations in some parts of a thread's time.
func (t *Thread) within(parts iter.Seq[run]) iter.Seq[*observation] {
	return func(yield func(*observation) bool) {
		for part := range parts {
			for i := part.first; i < part.last; i++ {
				if !yield(&t.observations[i]) {
					return
				}
			}
		}
	}
}

// busy returns the parts in which the thread certainly worked.
func (t *Thread) busy() iter.Seq[run] {
	return func(yield func(run) bool) {
		for i := range t.runs {
			for _, part := range t.busyParts(&t.runs[i]) {
				if !yield(part) {
					return
				}
			}
		}
	}
}

// explainedByGC reports whether the run is long only because of the garbage collector.
func (r *run) explainedByGC() bool {
	return r.dur >= timeline.LongTaskLength && r.dur-r.gc < timeline.LongTaskLength
}

// GCSources counts where the stacks of garbage collector samples come from: the samples themselves, the sample before or
// after them in the busy run, or nowhere.
type GCSources struct {
	Own      int64 `json:"own"`
	Previous int64 `json:"previous"`
	Next     int64 `json:"next"`
	None     int64 `json:"none"`
}

// add adds a counter from a slice of a state track; it ignores unknown names.
func (s *GCSources) add(name string, n int64) {
	switch name {
	case "gc_own":
		s.Own += n
	case "gc_previous":
		s.Previous += n
	case "gc_next":
		s.Next += n
	case "gc_none":
		s.None += n
	}
}

// findRuns finds the busy runs. It lends a script stack to each garbage collection in a run. The stack comes from the nearest
// earlier observation with a script stack in the run, otherwise from the nearest later one.
func (t *Thread) findRuns() {
	counts := GCSources{}
	all := t.observations
	for i := 0; i < len(all); {
		if t.states.kind(all[i].state) == idleState {
			i++
			continue
		}
		r := run{first: i, last: i + 1}
		for r.last < len(all) && t.states.kind(all[r.last].state) != idleState && all[r.last-1].end() == all[r.last].ts {
			r.last++
		}
		t.lendStacks(&r, &counts)
		for _, o := range all[r.first:r.last] {
			r.dur += o.dur
			if t.states.kind(o.state) == gcState {
				r.gc += o.dur
			}
		}
		t.runs = append(t.runs, r)
		i = r.last
	}
	if t.gcCounts == (GCSources{}) {
		t.gcCounts = counts // otherwise the state track is right: stacks in the trace may already be lent
	}
}

// lendStacks lends a neighbour's stack to each garbage collection without a script stack.
func (t *Thread) lendStacks(r *run, counts *GCSources) {
	var previous stackID
	next := r.first
	for i := r.first; i < r.last; i++ {
		o := &t.observations[i]
		isGC := t.states.kind(o.state) == gcState
		switch {
		case o.script != 0:
			previous = o.script
			if isGC {
				counts.Own += int64(o.count)
			}
		case !isGC:
		case previous != 0:
			o.lend(previous)
			counts.Previous += int64(o.count)
		default:
			for next = max(next, i); next < r.last && t.observations[next].script == 0; next++ {
			}
			if next == r.last {
				counts.None += int64(o.count)
				continue
			}
			o.lend(t.observations[next].script)
			counts.Next += int64(o.count)
		}
	}
}

// lend sets the script stack of an observation to a borrowed one and, if the observation has no stack, its stack too.
func (o *observation) lend(stack stackID) {
	o.script = stack
	if o.stack == 0 {
		o.stack = stack
	}
}
