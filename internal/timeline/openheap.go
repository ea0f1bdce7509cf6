package timeline

import "github.com/weft-trace/weft/internal/minheap"

// openSlices are slices whose ends have not been written, the one that ends next in front, see before. Most begin inside of
// all that are open, and end before them, as the calls of a thread do, and are kept as a stack.
type openSlices struct {
	nested []openSlice // each comes before those in front of it
	others minheap.Heap[openSlice]
	popped openSlice
}

// push adds the slice that a record begins.
func (s *openSlices) push(r *record, ordinal uint64) {
	n := len(s.nested)
	if end := r.ts + r.dur; n == 0 || end < s.nested[n-1].end || end == s.nested[n-1].end && ordinal > s.nested[n-1].ordinal {
		s.nested = append(s.nested, openSlice{})
		s.nested[n].set(r, ordinal)
		return
	}
	var o openSlice
	o.set(r, ordinal)
	s.others.Push(o)
}

// pop removes and returns the slice that ends next, if it ends up to and including a time; else nil. It is valid until the
// next call.
func (s *openSlices) pop(ts Nanos) *openSlice {
	n := len(s.nested) - 1
	if s.others.Len() > 0 && (n < 0 || s.others.Top().before(&s.nested[n])) {
		if s.others.Top().end > ts {
			return nil
		}
		s.popped = s.others.Pop()
		return &s.popped
	}
	if n < 0 || s.nested[n].end > ts {
		return nil
	}
	o := &s.nested[n]
	s.nested = s.nested[:n]
	return o
}

// before orders open slices: the one that ends first comes first, of those that end together the one that began last, which is
// the innermost on its track.
func (a *openSlice) before(b *openSlice) bool {
	return a.end < b.end || a.end == b.end && a.ordinal > b.ordinal
}
