package profilecalls

import (
	"math"

	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
)

// lookahead answers what all samples of a time have in common. It looks at the samples that tell what was on the stack: those
// samples of functions, and of a thread that was idle. V8 does not know the stack of (program), and the stack of a garbage
// collection is only the one before.
//
// Stacks have ranks in the order in which one walks through the tree of all stacks, so what several have in common is what the
// lowest and the highest of them have. Of samples between those at the ends of a time only the ranks of whole blocks are looked
// at.
type lookahead struct {
	frames    *Frames
	near, far *v8profile.Samples // around next, and where a time ends
	count     int                // of all samples
	next      int                // the first sample that tells and was not passed; count: there is none

	paths []uint32              // of each frame: equal for stacks of equal functions
	ranks []uint32              // of the stack of each node; untold for nodes whose samples do not tell
	tops  []v8profile.NodeIndex // of each rank: the innermost frame of such a stack

	// low and high hold from len(telling) on the ranks of each block of samples; and before that, at i, the lower and the higher
	// of those at 2i and 2i+1. Blocks without samples that tell have the low untold and the high 0.
	low, high []uint32
	telling   []uint32 // of each block: the first block from it on that has samples that tell
}

const (
	// untold is the rank of nodes whose samples do not tell; 0 is the rank of the stack without frames.
	untold = math.MaxUint32
	block  = v8profile.SampleBlock
)

// commonStack is what the samples of an event share.
type commonStack struct {
	known  bool                // there are samples
	sample int                 // the first of them
	first  v8profile.NodeIndex // its stack
	top    v8profile.NodeIndex // of that the outermost frames that are on the stacks of all of them
}

// newLookahead returns a lookahead for a Builder that reads samples with near.
func newLookahead(f *Frames, near *v8profile.Samples) *lookahead {
	l := &lookahead{frames: f, near: near, far: f.profile.Samples(), count: f.profile.Len()}
	l.rank()
	blocks := (l.count + block - 1) / block
	l.low, l.high, l.telling = make([]uint32, 2*blocks), make([]uint32, 2*blocks), make([]uint32, blocks)
	for b := range blocks {
		l.low[blocks+b], l.high[blocks+b] = l.ranksIn(l.near, b*block, min((b+1)*block, l.count))
	}
	for i := blocks - 1; i > 0; i-- {
		l.low[i], l.high[i] = min(l.low[2*i], l.low[2*i+1]), max(l.high[2*i], l.high[2*i+1])
	}
	next := uint32(blocks)
	for b := blocks - 1; b >= 0; b-- {
		if l.low[blocks+b] != untold {
			next = uint32(b)
		}
		l.telling[b] = next
	}
	l.next = l.tellingFrom(l.near, 0)
	return l
}

// rank finds the ranks of all stacks.
func (l *lookahead) rank() {
	f := l.frames
	paths, above := paths(f)
	l.paths = paths
	size := make([]uint32, len(above)) // of each path: paths that begin with it
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
			l.ranks[i] = untold
		default:
			l.ranks[i] = rank[paths[top]]
		}
		if top != noStack {
			l.tops[rank[paths[top]]] = top
		}
	}
}

// paths numbers the stacks of the nodes from 1 on so that stacks of equal functions share a number. It returns the number of each
// node's stack and, for each stack, the lower number of the stack without its innermost frame; 0 is the stack without frames.
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

// shared returns how many of the outermost frames of two stacks are equal.
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

// stack returns the innermost frame of a sample that tells.
func (l *lookahead) stack(sample int) v8profile.NodeIndex {
	return l.frames.nodes[l.far.At(sample)].top
}

// tellingFrom returns the first sample from the given one on that tells; count if there is none.
func (l *lookahead) tellingFrom(s *v8profile.Samples, i int) int {
	for i < l.count {
		b := i / block
		if first := int(l.telling[b]); first > b {
			i = first * block
			continue
		}
		for end := min((b+1)*block, l.count); i < end; i++ {
			if l.ranks[s.At(i)] != untold {
				return i
			}
		}
	}
	return l.count
}

// pass forgets the samples before the given one.
func (l *lookahead) pass(sample int) {
	if l.next < sample {
		l.next = l.tellingFrom(l.near, sample)
	}
}

// first returns the first of the samples from the given one on that was taken at or after a time.
func (l *lookahead) first(sample int, ts timeline.Nanos) (int, bool) {
	l.pass(sample)
	i := l.tellingFrom(l.far, l.search(ts))
	return i, i < l.count
}

// search returns the first sample that was not passed and was taken at or after a time.
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

// inside returns what is common to the samples from the given one on that were taken before a time.
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

// ranksIn returns the lowest and the highest rank of samples that tell from one up to, but without, another one.
func (l *lookahead) ranksIn(s *v8profile.Samples, from, to int) (low, high uint32) {
	low = untold
	for i := from; i < to; i++ {
		if r := l.ranks[s.At(i)]; r != untold {
			low, high = min(low, r), max(high, r)
		}
	}
	return low, high
}

// ranksUpTo returns the lowest and the highest rank of the samples that tell from next up to, but without, the given one.
func (l *lookahead) ranksUpTo(to int) (low, high uint32) {
	whole, last := l.next/block+1, to/block // blocks in between
	if whole > last {
		return l.ranksIn(l.near, l.next, to)
	}
	low, high = l.ranksIn(l.near, l.next, whole*block)
	if to > last*block {
		a, b := l.ranksIn(l.far, last*block, to)
		low, high = min(low, a), max(high, b)
	}
	blocks := len(l.telling)
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
