package timeline

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
