package profilecalls

import (
	"math"

	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
)

// lostTime finds the samples whose innermost function has no open call (profile-calls.md 5). A call is open at
// its start and at its end, so that a call that begins at the time of a sample, but later in the sequence, counts.
type lostTime struct {
	open    []int32          // of each function: open calls
	ended   []timeline.Nanos // of each function: the latest end of a call
	waiting []waitingSample  // samples of the time at, lost unless a call begins at that time
	at      timeline.Nanos
}

// waitingSample is a sample that seems to be lost.
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

// begin notes that a call begins.
func (l *lostTime) begin(function uint32, ts timeline.Nanos) {
	l.open[function]++
	if len(l.waiting) == 0 || ts != l.at {
		return
	}
	kept := l.waiting[:0]
	for _, w := range l.waiting {
		if w.function != function {
			kept = append(kept, w)
		}
	}
	l.waiting = kept
}

// end notes that a call ends.
func (l *lostTime) end(function uint32, ts timeline.Nanos) {
	l.open[function]--
	l.ended[function] = max(l.ended[function], ts)
}

// sample counts a sample that was processed, with the given innermost frame.
func (l *lostTime) sample(b *Builder, top v8profile.NodeIndex, ts timeline.Nanos) {
	if ts != l.at {
		l.settle(&b.stats)
		l.at = ts
	}
	weight := timeline.Nanos(0) // of the last sample; there is no next one
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

// settle counts the samples that wait as lost.
func (l *lostTime) settle(stats *Stats) {
	for _, w := range l.waiting {
		stats.LostSamples++
		stats.LostTime += w.weight
	}
	l.waiting = l.waiting[:0]
}
