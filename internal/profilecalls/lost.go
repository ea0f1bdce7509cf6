package profilecalls

import (
	"math"
	"slices"

	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
)

// lostTime finds the samples whose innermost function has no open call (profile-calls.md 5). A call is open at
// its start and at its end, so a call that begins at the time of a sample, but later in the sequence, counts.
type lostTime struct {
	open    []int32          // by function: number of open calls
	ended   []timeline.Nanos // by function: latest end of a call
	waiting []waitingSample  // samples at lostTime.at; they are lost unless a call of their function begins at that time
	at      timeline.Nanos
}

// waitingSample is a sample that may be lost.
type waitingSample struct {
	function uint32
	weight   timeline.Nanos
}

func newLostTime(f *Frames) lostTime {
	l := lostTime{open: make([]int32, f.functionCount), ended: make([]timeline.Nanos, f.functionCount)}
	for i := range l.ended {
		l.ended[i] = math.MinInt64
	}
	return l
}

// begin records the start of a call.
func (l *lostTime) begin(function uint32, ts timeline.Nanos) {
	l.open[function]++
	if len(l.waiting) == 0 || ts != l.at {
		return
	}
	l.waiting = slices.DeleteFunc(l.waiting, func(w waitingSample) bool { return w.function == function })
}

// end records the end of a call.
func (l *lostTime) end(function uint32, ts timeline.Nanos) {
	l.open[function]--
	l.ended[function] = max(l.ended[function], ts)
}

// sample counts a processed sample with the given innermost frame.
func (l *lostTime) sample(b *Builder, top v8profile.NodeIndex, ts timeline.Nanos) {
	if ts != l.at {
		l.settle(&b.stats)
		l.at = ts
	}
	weight := timeline.Nanos(0) // the last sample has no weight
	if b.next+1 < b.frames.profile.Len() {
		weight = b.samples.Time(b.next+1) - ts
	}
	b.stats.Samples++
	b.stats.Time += weight
	function := b.frames.nodes[top].function
	if l.open[function] == 0 && l.ended[function] < ts {
		l.waiting = append(l.waiting, waitingSample{function, weight})
	}
}

// settle counts the waiting samples as lost.
func (l *lostTime) settle(stats *Stats) {
	for _, w := range l.waiting {
		stats.LostSamples++
		stats.LostTime += w.weight
	}
	l.waiting = l.waiting[:0]
}
