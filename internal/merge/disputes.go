package merge

import (
	"fmt"
	"slices"
)

// dispute is the result of causality whose bounds contradict each other.
type dispute struct {
	best        interval // the offsets that contradict the fewest
	against, of int      // bounds: how many those contradict
	most        Nanos    // by how much, at most
}

// maxDisputed is the number of bounds of a pair that are compared one by one.
const maxDisputed = 1 << 16

// outliers reports whether so few bounds contradict the others that something else which agrees with these is right.
func (d *dispute) outliers() bool { return d.against*10 <= d.of }

// disputedOf returns the pairs whose causal bounds contradict each other, which then start anew and keep all of them.
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

// settleDispute returns a relation for bounds that contradict each other: the offset that contradicts the fewest, give or take what covers all.
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

// anEnd returns an end of an interval, or the other one if that is open.
func (i interval) anEnd(end Nanos) Nanos {
	switch {
	case end <= -unbounded:
		return i.high
	case end >= unbounded:
		return i.low
	}
	return end
}

// leastContradicted returns where offsets lie in the most of some intervals. Of several such places it returns all that is between them.
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

// describeDispute describes the bounds that an offset contradicts, and whether the clocks drift, so that each half of the recording has an offset.
func (b *bounds) describeDispute(x, y string, d *dispute) string {
	if first, second := b.halves[0], b.halves[1]; first.fits() && second.fits() {
		return fmt.Sprintf("drift: the clocks of %s and %s run at different speeds; the offset is %s in the first half and %s in the second", x, y, first, second)
	}
	return fmt.Sprintf("no offset between %s and %s fits all of their %s; %s contradicts the fewest: %d, by up to %s",
		x, y, b.evidence(), d.best, d.against, span(d.most))
}
