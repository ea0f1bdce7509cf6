package timeline

import (
	"math"
	"slices"
	"sort"
)

// inferred computes the ends of tasks without an End on one stack. Such a task ends at the start of the next task of the same
// name, but not before the end of measured slices inside it. More precisely, the task ends at the first time, from the start of
// the next task on, at which no slice is open that began after the task and has an end of its own. An inferred end therefore
// never makes a measured slice overlap (chrome-json.md 9).
//
// Until an End arrives, its Begin seems to have none, so an inferred end may have to be extended.
type inferred struct {
	open    int       // tasks without an end so far
	begins  uint32    // number of Begins so far
	slices  []reach   // complete slices that began while a task was open; the end times decrease, so the numbers increase
	closing []closing // in the order in which the next tasks began
	growing int       // how many entries of closing have an end that later events can still extend
	settled uint32    // number of the first Begin that is not inside a task whose inferred end has passed
}

// reach is a time range covered by complete slices.
type reach struct {
	number   uint32 // of the first Begin after the slices
	from, to Nanos
}

// closing is a task that another task of the same name follows.
type closing struct {
	number uint32
	inside uint32 // number of the first Begin at or after end; maxNumber: none yet
	end    Nanos
}

const maxNumber = math.MaxUint32

// maxClosing limits the number of tasks on a stack whose end can be extended. Each concatenated recording leaves two or three
// tasks open, and only the latest of these tasks are extended.
const maxClosing = 1 << 10

// begin adds a Begin and returns its number.
func (f *inferred) begin(ts Nanos, task bool) uint32 {
	if task {
		f.open++
	}
	f.settle(ts)
	f.begins++
	return f.begins - 1
}

// settle determines which Begins are inside the tasks that ended by ts.
func (f *inferred) settle(ts Nanos) {
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

// slice adds a complete slice, which can extend inferred ends.
func (f *inferred) slice(from, dur Nanos) {
	if f.open == 0 || dur == 0 {
		return
	}
	r := reach{f.begins, from, from + dur}
	n := len(f.slices)
	for ; n > 0 && f.slices[n-1].to < r.to; n-- {
		if f.slices[n-1].to > from { // anything that contains that slice also contains this one
			r.from = f.slices[n-1].from
		}
	}
	f.slices = append(f.slices[:n], r)
	f.settle(from)
	if f.growing == 0 {
		return
	}
	for i := range f.closing {
		if c := &f.closing[i]; c.inside == maxNumber {
			c.end = max(c.end, r.to)
		}
	}
}

// end records the end of a Begin, before which enclosing tasks cannot end.
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

// close records that another task begins after a task that has no end so far. If there are too many such tasks, it returns the
// first of these tasks, whose end is then final.
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

// reachOf returns the latest end of a complete slice that began after the given Begin and before ts, but at least ts.
func (f *inferred) reachOf(number uint32, ts Nanos) Nanos {
	i := sort.Search(len(f.slices), func(i int) bool { return f.slices[i].number > number })
	if i < len(f.slices) && f.slices[i].from < ts {
		return max(ts, f.slices[i].to)
	}
	return ts
}
