package profilecalls

import (
	"sort"

	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
)

// lookahead answers what all samples of a time have in common. It knows the samples that tell what was on the stack: those
// of functions, and those of a thread that was idle. Of (program) V8 does not know the stack, and that of a garbage
// collection is only the one before.
type lookahead struct {
	frames  *Frames
	paths   []uint32 // of each node: equal for stacks of equal functions
	samples []uint32
	next    int // in samples: the first that was not passed

	// lowest holds, from len(samples) on, how many outermost frames each of samples shares with the next one; and before
	// that, at i, the lower of the numbers at 2i and 2i+1.
	lowest []uint16
}

// commonStack is what the samples of an event share.
type commonStack struct {
	known  bool                // there are samples
	sample int                 // the first of them
	top    v8profile.NodeIndex // of its stack the outermost frames that are on the stacks of all of them
}

func newLookahead(f *Frames) *lookahead {
	l := &lookahead{frames: f, paths: paths(f)}
	count := 0
	for i := range f.stacks {
		if l.tells(i) {
			count++
		}
	}
	l.samples = make([]uint32, 0, count)
	for i := range f.stacks {
		if l.tells(i) {
			l.samples = append(l.samples, uint32(i))
		}
	}
	l.lowest = make([]uint16, 2*count)
	for i := range max(0, count-1) {
		l.lowest[count+i] = uint16(l.shared(f.stacks[l.samples[i]], f.stacks[l.samples[i+1]]))
	}
	for i := count - 1; i > 0; i-- {
		l.lowest[i] = min(l.lowest[2*i], l.lowest[2*i+1])
	}
	return l
}

// tells reports whether a sample tells what was on the stack.
func (l *lookahead) tells(sample int) bool {
	switch p := l.frames.profile; p.At(sample) {
	case p.Collector:
		return false
	case p.Idle:
		return true
	}
	return l.frames.stacks[sample] != noStack
}

// paths numbers the stacks of the nodes so that those of equal functions have one number.
func paths(f *Frames) []uint32 {
	type key struct{ below, function uint32 }
	known := map[key]uint32{}
	numbers := make([]uint32, len(f.nodes))
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
			number = uint32(len(known) + 1)
			known[k] = number
		}
		numbers[i] = number
	}
	return numbers
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

// pass forgets the samples before the given one.
func (l *lookahead) pass(sample int) {
	for l.next < len(l.samples) && int(l.samples[l.next]) < sample {
		l.next++
	}
}

// first returns the first of the samples from the given one on that was taken at or after a time.
func (l *lookahead) first(sample int, ts timeline.Nanos) (int, bool) {
	l.pass(sample)
	if i := l.search(ts); i < len(l.samples) {
		return int(l.samples[i]), true
	}
	return 0, false
}

// search returns the place in samples of the first that was not passed and was taken at or after a time.
func (l *lookahead) search(ts timeline.Nanos) int {
	p := l.frames.profile
	if l.next == len(l.samples) || p.Time(int(l.samples[l.next])) >= ts {
		return l.next
	}
	return l.next + sort.Search(len(l.samples)-l.next, func(i int) bool { return p.Time(int(l.samples[l.next+i])) >= ts })
}

// inside returns what is common to the samples from the given one on that were taken before a time.
func (l *lookahead) inside(sample int, end timeline.Nanos) commonStack {
	l.pass(sample)
	from, to := l.next, l.search(end)
	if from >= to {
		return commonStack{}
	}
	first := int(l.samples[from])
	stack := l.frames.stacks[first]
	height := l.lowestOf(from, to-1, l.frames.height(stack))
	return commonStack{known: true, sample: first, top: l.frames.outer(stack, height)}
}

// lowestOf returns the lowest of the numbers of samples from one up to, but without, another one, and of height.
func (l *lookahead) lowestOf(from, to, height int) int {
	lowest := uint16(height)
	for from, to = from+len(l.samples), to+len(l.samples); from < to; from, to = from/2, to/2 {
		if from%2 == 1 {
			lowest = min(lowest, l.lowest[from])
			from++
		}
		if to%2 == 1 {
			to--
			lowest = min(lowest, l.lowest[to])
		}
	}
	return int(lowest)
}
