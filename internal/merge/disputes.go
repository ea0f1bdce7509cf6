package merge

import (
	"fmt"
	"slices"
)

// dispute is the outcome of causal bounds that contradict each other.
type dispute struct {
	best        interval // the offsets that contradict the fewest bounds
	against, of int      // the numbers of bounds that best contradicts, and of all bounds
	most        Nanos    // the largest distance by which a bound is missed
}

// maxDisputed is the maximum number of a pair's bounds that are compared one by one.
const maxDisputed = 1 << 16

// outliers reports whether few bounds contradict the others, so that a wall clock which agrees with the others is trusted.
func (d *dispute) outliers() bool { return d.against*10 <= d.of }

// disputedOf returns the pairs whose causal bounds contradict each other. It resets their bounds, which then collect
// every causal bound.
func disputedOf(all map[pair]*bounds) map[pair]*bounds {
	disputed := map[pair]*bounds{}
	for p, b := range all {
		if !b.causal.fits() {
			fresh := newBounds()
			fresh.disputed = true
			all[p], disputed[p] = fresh, fresh
		}
	}
	return disputed
}

// settleDispute fills in a relation for contradictory bounds: the offset that contradicts the fewest, with an uncertainty
// that covers all of them.
func (b *bounds) settleDispute(r *Relation) {
	d := leastContradicted(b.all)
	r.dispute = d
	low, high := d.best.anEnd(d.best.low), d.best.anEnd(d.best.high)
	at := middle(low, high)
	for _, i := range b.all {
		d.most = max(d.most, minus(i.low, at), minus(at, i.high))
	}
	within := max(d.most, minus(high, at))
	r.Low, r.High = minus(at, within), plus(at, within)
}

// anEnd returns the given end of an interval, or the other one if the given end is unbounded.
func (i interval) anEnd(end Nanos) Nanos {
	switch {
	case end <= -unbounded:
		return i.high
	case end >= unbounded:
		return i.low
	}
	return end
}

// leastContradicted returns the offsets that lie in the most intervals. If there are several such ranges, the result spans
// them all.
func leastContradicted(all []interval) *dispute {
	lows, highs := make([]Nanos, len(all)), make([]Nanos, len(all))
	for i, a := range all {
		lows[i], highs[i] = a.low, a.high
	}
	slices.Sort(lows)
	slices.Sort(highs)
	best, most := interval{}, 0
	ended := 0
	for i, low := range lows {
		if i+1 < len(lows) && lows[i+1] == low {
			continue
		}
		for highs[ended] < low {
			ended++
		}
		switch in := i + 1 - ended; {
		case in > most:
			best, most = interval{low, highs[ended]}, in
		case in == most:
			best = interval{best.anEnd(best.low), interval{low, highs[ended]}.anEnd(highs[ended])}
		}
	}
	return &dispute{best: best, against: len(all) - most, of: len(all)}
}

// describeDispute describes how many bounds an offset contradicts, or how the clocks drift if each half of the recording has
// an offset of its own.
func (b *bounds) describeDispute(x, y string, d *dispute) string {
	if first, second := b.halves[0], b.halves[1]; first.fits() && second.fits() {
		return fmt.Sprintf("drift: the clocks of %s and %s run at different speeds; the offset is %s in the first half and %s in the second", x, y, first, second)
	}
	return fmt.Sprintf("no offset between %s and %s fits all of their %s; %s contradicts the fewest: %d, by up to %s",
		x, y, b.evidence(), d.best, d.against, span(d.most))
}
