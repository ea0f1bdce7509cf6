package timeline

// openSlices are slices whose ends have not been written, the one that ends next in front: see openHeap. Most begin inside of
// all that are open, and end before them, as the calls of a thread do, and are kept as a stack.
type openSlices struct {
	nested []openSlice // each comes before those in front of it
	others openHeap
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
	s.others.push(o)
}

// pop removes and returns the slice that ends next, if it ends up to and including a time; else nil. It is valid until the
// next call.
func (s *openSlices) pop(ts Nanos) *openSlice {
	n := len(s.nested) - 1
	if len(s.others) > 0 && (n < 0 || s.others[0].before(&s.nested[n])) {
		if s.others[0].end > ts {
			return nil
		}
		s.popped = s.others.pop()
		return &s.popped
	}
	if n < 0 || s.nested[n].end > ts {
		return nil
	}
	o := &s.nested[n]
	s.nested = s.nested[:n]
	return o
}

// openHeap is a heap of open slices: the one that ends first on top, of those that end together the one that began
// last, which is the innermost on its track.
type openHeap []openSlice

func (a *openSlice) before(b *openSlice) bool {
	return a.end < b.end || a.end == b.end && a.ordinal > b.ordinal
}

func (h *openHeap) push(o openSlice) {
	s := append(*h, o)
	c := len(s) - 1
	for c > 0 {
		p := (c - 1) / 2
		if !o.before(&s[p]) {
			break
		}
		s[c] = s[p]
		c = p
	}
	s[c] = o
	*h = s
}

func (h *openHeap) pop() openSlice {
	s := *h
	top := s[0]
	last := s[len(s)-1]
	s = s[:len(s)-1]
	*h = s
	if len(s) == 0 {
		return top
	}
	p := 0
	for {
		c := 2*p + 1
		if c >= len(s) {
			break
		}
		if c+1 < len(s) && s[c+1].before(&s[c]) {
			c++
		}
		if !s[c].before(&last) {
			break
		}
		s[p] = s[c]
		p = c
	}
	s[p] = last
	return top
}
