package profilecalls

import (
	"math"

	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
)

// lookahead finds the common part of the stacks of all samples in a period. It uses only samples with a known stack: samples of
// functions and of an idle thread. V8 does not know the stack of (program), and for a garbage collection it reports only the
// stack before the collection.
//
// Stacks are ranked in preorder of the tree of all stacks, so the common part of several stacks is the common part of the two
// stacks with the lowest and the highest rank. For the samples between the edges of a period, lookahead reads only the ranks of
// whole blocks.
type lookahead struct {
	frames    *Frames
	near, far *v8profile.Samples // near reads around next, far at the end of a period
	count     int                // number of samples
	next      int                // the first sample with a known stack that has not been passed; count: none

	paths []uint32              // by frame: equal for stacks of equal functions
	ranks []uint32              // by node: the rank of its stack, or unknown
	tops  []v8profile.NodeIndex // by rank: the innermost frame of such a stack

	// low and high are segment trees: from len(knownFrom) on they hold the lowest and highest rank in each block of samples;
	// before that, element i is the minimum or maximum of elements 2i and 2i+1. In blocks without known stacks, low is unknown
	// and high is 0.
	low, high []uint32
	knownFrom []uint32 // by block: the first block, from this one on, that has samples with known stacks
}

const (
	// unknown is the rank of nodes whose samples have no known stack; 0 is the rank of the stack without frames.
	unknown = math.MaxUint32
	block   = v8profile.SampleBlock
)

// commonStack is the common part of the stacks of the samples in a period.
type commonStack struct {
	known  bool                // there are samples
	sample int                 // the first sample
	first  v8profile.NodeIndex // its stack
	top    v8profile.NodeIndex // the common part: the innermost frame of first that is on all stacks
}

// newLookahead returns a lookahead for a Builder that reads samples with near.
func newLookahead(f *Frames, near *v8profile.Samples) *lookahead {
	l := &lookahead{frames: f, near: near, far: f.profile.Samples(), count: f.profile.Len()}
	l.rank()
	blocks := (l.count + block - 1) / block
	l.low, l.high, l.knownFrom = make([]uint32, 2*blocks), make([]uint32, 2*blocks), make([]uint32, blocks)
	for b := range blocks {
		l.low[blocks+b], l.high[blocks+b] = l.ranksIn(l.near, b*block, min((b+1)*block, l.count))
	}
	for i := blocks - 1; i > 0; i-- {
		l.low[i], l.high[i] = min(l.low[2*i], l.low[2*i+1]), max(l.high[2*i], l.high[2*i+1])
	}
	next := uint32(blocks)
	for b := blocks - 1; b >= 0; b-- {
		if l.low[blocks+b] != unknown {
			next = uint32(b)
		}
		l.knownFrom[b] = next
	}
	l.next = l.knownStackFrom(l.near, 0)
	return l
}

// rank computes the ranks of all stacks.
func (l *lookahead) rank() {
	f := l.frames
	paths, above := paths(f)
	l.paths = paths
	size := make([]uint32, len(above)) // by path: number of paths that begin with it
	for p := len(above) - 1; p > 0; p-- {
		size[p]++
		size[above[p]] += size[p]
	}
	rank, next := make([]uint32, len(above)), make([]uint32, len(above)) // next: the rank of the next path above
	next[0] = 1
	for p := 1; p < len(above); p++ {
		rank[p] = next[above[p]]
		next[above[p]] += size[p]
		next[p] = rank[p] + 1
	}
	l.ranks, l.tops = make([]uint32, len(f.nodes)), make([]v8profile.NodeIndex, len(above))
	l.tops[0] = noStack
	for i := range f.nodes {
		n, top := v8profile.NodeIndex(i), f.nodes[i].top
		switch {
		case n == f.profile.Idle:
		case n == f.profile.Collector || top == noStack:
			l.ranks[i] = unknown
		default:
			l.ranks[i] = rank[paths[top]]
		}
		if top != noStack {
			l.tops[rank[paths[top]]] = top
		}
	}
}

// paths numbers the stacks of the nodes from 1; stacks of equal functions share a number. It returns the number of each node's
// stack and, for each stack, the number of the stack without its innermost frame, which is lower; 0 is the empty stack.
func paths(f *Frames) (numbers, above []uint32) {
	type key struct{ below, function uint32 }
	known := map[key]uint32{}
	numbers, above = make([]uint32, len(f.nodes)), []uint32{0}
	for i := range f.nodes {
		n := &f.nodes[i]
		if n.top != v8profile.NodeIndex(i) {
			continue // no frame
		}
		k := key{function: n.function}
		if n.up != noStack {
			k.below = numbers[n.up]
		}
		number, ok := known[k]
		if !ok {
			number = uint32(len(above))
			known[k] = number
			above = append(above, k.below)
		}
		numbers[i] = number
	}
	return numbers, above
}

// shared returns the number of equal outermost frames of two stacks.
func (l *lookahead) shared(x, y v8profile.NodeIndex) int {
	f := l.frames
	height := min(f.height(x), f.height(y))
	x, y = f.outer(x, height), f.outer(y, height)
	for height > 0 && l.paths[x] != l.paths[y] {
		x, y = f.nodes[x].up, f.nodes[y].up
		height--
	}
	return height
}

// stack returns the innermost frame of a sample with a known stack.
func (l *lookahead) stack(sample int) v8profile.NodeIndex {
	return l.frames.nodes[l.far.At(sample)].top
}

// knownStackFrom returns the first sample with a known stack from the given sample on, or count if no such sample exists.
func (l *lookahead) knownStackFrom(s *v8profile.Samples, i int) int {
	for i < l.count {
		b := i / block
		if first := int(l.knownFrom[b]); first > b {
			i = first * block
			continue
		}
		for end := min((b+1)*block, l.count); i < end; i++ {
			if l.ranks[s.At(i)] != unknown {
				return i
			}
		}
	}
	return l.count
}

// pass skips the samples before the given one.
func (l *lookahead) pass(sample int) {
	if l.next < sample {
		l.next = l.knownStackFrom(l.near, sample)
	}
}

// first returns the first sample with a known stack, from the given sample on, at or after a time.
func (l *lookahead) first(sample int, ts timeline.Nanos) (int, bool) {
	l.pass(sample)
	i := l.knownStackFrom(l.far, l.search(ts))
	return i, i < l.count
}

// search returns the first sample at or after a time that has not been passed.
func (l *lookahead) search(ts timeline.Nanos) int {
	if l.next == l.count {
		return l.count
	}
	s, from, to := l.near, l.next, min((l.next/block+1)*block, l.count)
	if l.near.Time(to-1) < ts {
		s, to = l.far, l.frames.profile.Before(ts)
		from = max(from, (to-1)/block*block)
	}
	for from < to && to-from > 8 {
		if m := (from + to) / 2; s.Time(m) < ts {
			from = m + 1
		} else {
			to = m
		}
	}
	for from < to && s.Time(from) < ts {
		from++
	}
	return from
}

// inside returns the common stack of the samples from the given sample on, up to but not including a time.
func (l *lookahead) inside(sample int, end timeline.Nanos) commonStack {
	l.pass(sample)
	if l.next == l.count || l.near.Time(l.next) >= end {
		return commonStack{}
	}
	first := l.frames.nodes[l.near.At(l.next)].top
	low, high := l.ranksUpTo(l.search(end))
	height := l.shared(l.tops[low], l.tops[high])
	return commonStack{known: true, sample: l.next, first: first, top: l.frames.outer(first, height)}
}

// ranksIn returns the lowest and the highest rank of samples with known stacks in a half-open range.
func (l *lookahead) ranksIn(s *v8profile.Samples, from, to int) (low, high uint32) {
	low = unknown
	for i := from; i < to; i++ {
		if r := l.ranks[s.At(i)]; r != unknown {
			low, high = min(low, r), max(high, r)
		}
	}
	return low, high
}

// ranksUpTo returns the lowest and the highest rank of samples with known stacks from next up to, but not including, the given
// sample.
func (l *lookahead) ranksUpTo(to int) (low, high uint32) {
	whole, last := l.next/block+1, to/block // the whole blocks between next and to
	if whole > last {
		return l.ranksIn(l.near, l.next, to)
	}
	low, high = l.ranksIn(l.near, l.next, whole*block)
	if to > last*block {
		a, b := l.ranksIn(l.far, last*block, to)
		low, high = min(low, a), max(high, b)
	}
	blocks := len(l.knownFrom)
	for i, j := whole+blocks, last+blocks; i < j; i, j = i/2, j/2 {
		if i%2 == 1 {
			low, high = min(low, l.low[i]), max(high, l.high[i])
			i++
		}
		if j%2 == 1 {
			j--
			low, high = min(low, l.low[j]), max(high, l.high[j])
		}
	}
	return low, high
}
