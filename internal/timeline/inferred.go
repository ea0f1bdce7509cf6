package timeline

import (
	"math"
	"slices"
	"sort"
)

// inferred finds where the tasks of a stack end that have no End. That is where the next task of their name begins, but not before
// what was measured in them: the first time from then on at which no slice is open that has an end of its own and began after
// the task. An end that weft makes up never makes a measured slice overlap (chrome-json.md 9).
//
// Whether a Begin is a slice with an end is known when the end comes, so an end that was found may turn out to be too early.
type inferred struct {
	open    int       // tasks that wait for their ends
	begins  uint32    // so far, which numbers them
	slices  []reach   // that began while a task was open; the longest first, so that numbers increase
	closing []closing // in the order in which the next tasks began
	growing int       // of these, which may still become longer with what begins
	settled uint32    // the number of the first begin that is in none of the others
}

// reach says how far slices reach that came with their lengths.
type reach struct {
	number   uint32 // of the Begin that comes after them
	from, to Nanos
}

// closing is a task after which the next one of its name began.
type closing struct {
	number uint32
	inside uint32 // the number of the first begin at or after end; maxNumber: none has come
	end    Nanos
}

const maxNumber = math.MaxUint32

// maxClosing bounds the tasks of a stack that may turn out to be longer. Recordings that follow each other in a file leave
// two or three open each, and only the latest of them do.
const maxClosing = 1 << 10

// begin records a Begin and returns its number.
func (f *inferred) begin(ts Nanos, task bool) uint32 {
	if task {
		f.open++
	}
	f.grown(ts)
	f.begins++
	return f.begins - 1
}

// grown settles which begins lie in the tasks that have ended by a time.
func (f *inferred) grown(ts Nanos) {
	if f.growing == 0 {
		return
	}
	for i := range f.closing {
		if c := &f.closing[i]; c.inside == maxNumber && c.end <= ts {
			c.inside, f.settled = f.begins, f.begins
			f.growing--
		}
	}
}

// slice takes in a slice that came with its length.
func (f *inferred) slice(from, dur Nanos) {
	if f.open == 0 || dur == 0 {
		return
	}
	r := reach{f.begins, from, from + dur}
	n := len(f.slices)
	for ; n > 0 && f.slices[n-1].to < r.to; n-- {
		if f.slices[n-1].to > from { // who has that slice in it has this one as well
			r.from = f.slices[n-1].from
		}
	}
	f.slices = append(f.slices[:n], r)
	f.grown(from)
	if f.growing == 0 {
		return
	}
	for i := range f.closing {
		if c := &f.closing[i]; c.inside == maxNumber {
			c.end = max(c.end, r.to)
		}
	}
}

// end records the end of a Begin: whatever encloses it reaches at least as far.
func (f *inferred) end(o *openBegin, end Nanos) {
	if o.task {
		f.open--
	}
	if f.growing == 0 && o.number >= f.settled && o.next == NoTime {
		return
	}
	for i := 0; i < len(f.closing); i++ {
		switch c := &f.closing[i]; {
		case c.number == o.number:
			if c.inside == maxNumber {
				f.growing--
			}
			f.closing = slices.Delete(f.closing, i, i+1)
			i--
		case c.number < o.number && o.number < c.inside && end > c.end:
			if c.inside != maxNumber {
				f.growing++
			}
			c.inside, c.end = maxNumber, f.reachOf(c.number, end)
		}
	}
}

// close takes in that the next task begins after one without an end so far. If there are too many, it returns the first one, to
// which nothing is added any more.
func (f *inferred) close(number uint32, next Nanos) (first closing, full bool) {
	if full = len(f.closing) == maxClosing; full {
		first = f.closing[0]
		if first.inside == maxNumber {
			f.growing--
		}
		f.closing = slices.Delete(f.closing, 0, 1)
	}
	f.closing = append(f.closing, closing{number, maxNumber, f.reachOf(number, next)})
	f.growing++
	return first, full
}

// reachOf returns the latest end of a slice that began after a Begin and before a time, at least that time.
func (f *inferred) reachOf(number uint32, ts Nanos) Nanos {
	i := sort.Search(len(f.slices), func(i int) bool { return f.slices[i].number > number })
	if i < len(f.slices) && f.slices[i].from < ts {
		return max(ts, f.slices[i].to)
	}
	return ts
}
