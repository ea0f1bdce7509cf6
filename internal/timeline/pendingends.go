package timeline

import "github.com/weft-trace/weft/internal/collections"

// pendingEnd is the end of an open slice that a walk has yet to write.
type pendingEnd struct {
	ordinal    uint64
	threadTime CPUTime // at the end
	used       CPUTime // CPU time used by the slice, if whole is set
	dur        Nanos
	track      TrackID
	lane       uint32
	event      uint32
	offset     int64
	paired     bool // an End record has the remaining data
	closed     bool // ends where the next task begins
	idle       bool
	whole      bool // see Head.Whole
}

// set sets the end of the slice that starts at a record. It sets the fields one by one, because the compiler builds a literal
// elsewhere and then copies it.
func (e *pendingEnd) set(r *record, ordinal uint64) {
	e.ordinal, e.threadTime, e.track, e.lane = ordinal, CPUTime{}, r.track, r.lane
	e.event, e.offset, e.paired, e.idle = r.event, r.offset, r.Kind() == Begin, r.flags&flagIdle != 0
	e.whole = r.whole()
	e.closed = r.flags&(flagClosed|flagMatched) == flagClosed|flagMatched
	if r.Kind() == Slice {
		at, used := r.threadTimes()
		e.dur, e.used = r.dur, used
		if from, ok := at.Nanos(); ok {
			if length, ok := used.Nanos(); ok {
				e.threadTime = NewCPUTime(from + length)
			}
		}
	}
}

// pendingEnds holds the ends of all slices, on any track, whose start a walk has written. The ends are returned in the order of
// comesFirst. Most slices, such as the calls of a thread, start inside all open slices and end before these, and are stored as if
// they nested.
type pendingEnds struct {
	nested OpenSlices[pendingEnd] // each slice ends before the slices below it
	others collections.Heap[openSlice[pendingEnd]]
	popped openSlice[pendingEnd]
}

func newPendingEnds() pendingEnds { return pendingEnds{others: collections.NewHeap(comesFirst)} }

// push adds the end of the slice that starts at a record.
func (p *pendingEnds) push(r *record, ordinal uint64) {
	end, n := r.ts+r.dur, p.nested.Len()-1
	if n < 0 || end < p.nested.End(n) || end == p.nested.End(n) && ordinal > p.nested.At(n).ordinal {
		p.nested.Push(end).set(r, ordinal)
		return
	}
	o := openSlice[pendingEnd]{end: end}
	o.value.set(r, ordinal)
	p.others.Push(o)
}

// pop removes and returns the slice that ends next if it ends at or before ts, and otherwise returns nil. The result is valid
// until the next call.
func (p *pendingEnds) pop(ts Nanos) *openSlice[pendingEnd] {
	n := p.nested.Len() - 1
	if p.others.Len() > 0 && (n < 0 || comesFirst(p.others.Top(), &p.nested.slices[n])) {
		if p.others.Top().end > ts {
			return nil
		}
		p.popped = p.others.Pop()
		return &p.popped
	}
	if p.nested.Ended(ts) == nil {
		return nil
	}
	p.nested.Pop()
	return &p.nested.slices[:n+1][n]
}

// comesFirst orders open slices by end. Among slices that end together, the one that began last, which is the innermost on its
// track, comes first.
func comesFirst(a, b *openSlice[pendingEnd]) bool {
	return a.end < b.end || a.end == b.end && a.value.ordinal > b.value.ordinal
}
