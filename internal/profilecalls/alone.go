package profilecalls

import (
	"errors"
	"math"

	"github.com/weft-trace/weft/internal/collections"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
)

// AloneCall is a call of a profile without a trace.
type AloneCall struct {
	Call
	Depth int            // number of enclosing calls
	Self  timeline.Nanos // duration without the direct children
}

// AloneStats counts samples without calls of their own.
type AloneStats struct {
	TooDeep       int64 // samples whose innermost functions have no call, because their stacks have more than MaxStack frames
	LostPositions int64 // samples with a position but without a function
}

// Alone builds the calls of a profile without a trace, including (program), (idle) and (garbage collector)
// (profile-calls.md 4). Different nodes are different calls, even of the same function. It calls emit for each call in order
// of start, outer calls before inner ones, until emit returns an error, which Alone returns. The AloneCall is valid only
// during the call to emit.
//
// Alone reads the samples three times: to count the calls, to find their ends, which needs 12 bytes for each call (16 if
// the profile has positions), and to emit them. The times of the samples stay in memory.
//
// The parameter memory limits the bytes of memory for calls; 0: no limit. If the calls need more, Alone returns an error before
// it emits any: each sample of a profile with deep stacks can begin MaxStack calls.
func Alone(p *v8profile.Profile, memory int64, emit func(*AloneCall) error) (AloneStats, error) {
	a := alone{p: p, samples: p.Samples(), outer: outerParts(p), emit: emit, limit: math.MaxInt64}
	a.times = make([]timeline.Nanos, p.Len())
	for i := range a.times {
		a.times[i] = a.samples.Time(i)
	}
	if memory > 0 {
		a.limit = memory / bytesPerCall(p)
	}
	if err := a.walk(nil); err != nil {
		profiles := collections.ProfileMemoryLimit(memory)
		return AloneStats{}, profiles.Full()
	}
	a.ends = make([]uint32, a.order)
	a.selfs = make([]timeline.Nanos, a.order)
	if a.positions = newPositionLinks(p); a.positions != nil {
		a.lasts = make([]uint32, a.order)
	}
	_ = a.walk(nil)
	err := a.walk(a.emitCall)
	return a.stats, errors.Join(err, a.samples.Err())
}

// bytesPerCall returns the memory needed for a call.
func bytesPerCall(p *v8profile.Profile) int64 {
	if p.HasPositions() {
		return 16
	}
	return 12
}

// errTooManyCalls reports that there are more calls than alone.limit.
var errTooManyCalls = errors.New("too many calls")

// alone is the state of Alone.
type alone struct {
	p       *v8profile.Profile
	samples *v8profile.Samples
	times   []timeline.Nanos      // of the samples
	outer   []v8profile.NodeIndex // see outerParts
	emit    func(*AloneCall) error

	open  []aloneCall // calls of the current sample
	order int64       // of the next call
	limit int64       // maximum number of calls
	stats AloneStats
	path  []v8profile.NodeIndex
	call  AloneCall

	ends  []uint32 // by call: the sample that ends it, or the number of samples; empty while calls are counted
	selfs []timeline.Nanos

	positions *positionLinks // nil without positions
	lasts     []uint32       // by call: its last sample with a position, see positionLinks
}

// aloneCall is an open call.
type aloneCall struct {
	node     v8profile.NodeIndex
	sample   int
	order    int64
	children timeline.Nanos // duration of the direct children
}

// emitCall emits a call at its start; its end is known from an earlier walk.
func (a *alone) emitCall(c *aloneCall) error {
	end := int(a.ends[c.order])
	ts := a.times[c.sample]
	a.call = AloneCall{
		Call: Call{
			Node: c.node, TS: ts, Dur: a.time(end) - ts, Sample: c.sample, Samples: int64(end - c.sample), Order: c.order,
		},
		Depth: len(a.open) - 1, Self: a.selfs[c.order],
	}
	if a.positions != nil {
		a.call.Positions = a.positions.positions(a.lasts[c.order])
	}
	return a.emit(&a.call)
}

// time returns the time of a sample, or the closing time for the index after the last sample.
func (a *alone) time(sample int) timeline.Nanos {
	if sample == a.p.Len() {
		return a.p.Closing
	}
	return a.times[sample]
}

// walk processes the samples. It calls begin, if it is not nil, at the start of each call.
func (a *alone) walk(begin func(*aloneCall) error) error {
	a.open, a.order, a.stats.TooDeep = a.open[:0], 0, 0
	current, below := v8profile.NodeIndex(0), v8profile.NodeIndex(0) // below: the stack on which garbage is collected
	for i := range a.p.Len() {
		n := a.samples.At(i)
		if a.outer != nil && a.outer[n] != n {
			n = a.outer[n]
			a.stats.TooDeep++
		}
		var err error
		switch {
		case n == current:
		case n == a.p.Collector:
			below = current
			err = a.push(n, i, begin)
		case current == a.p.Collector:
			a.pop(i)
			if n != below {
				err = a.change(n, i, begin)
			}
		default:
			err = a.change(n, i, begin)
		}
		if err != nil {
			return err
		}
		if a.order > a.limit {
			return errTooManyCalls
		}
		if a.positions != nil && begin == nil && a.positions.known(i) {
			a.addPosition(i)
		}
		current = n
	}
	for len(a.open) > 0 {
		a.pop(a.p.Len())
	}
	return nil
}

// addPosition adds the position of a sample to the innermost open call. If that is not a function call, it counts a lost
// position.
func (a *alone) addPosition(sample int) {
	if len(a.open) == 0 || a.p.Meta(a.open[len(a.open)-1].node) {
		a.stats.LostPositions++
		return
	}
	top := a.open[len(a.open)-1].order
	a.lasts[top] = a.positions.add(a.lasts[top], sample)
}

// outerParts returns, for each node, the innermost node on its path within MaxStack frames. It returns nil if no stack is
// deeper.
func outerParts(p *v8profile.Profile) []v8profile.NodeIndex {
	if p.MaxDepth() <= MaxStack {
		return nil
	}
	outer := make([]v8profile.NodeIndex, p.NodeCount())
	for i := range outer {
		n := v8profile.NodeIndex(i)
		outer[i] = n
		if node := p.Node(n); node.Depth >= MaxStack {
			outer[i] = outer[node.Parent]
		}
	}
	return outer
}

// change closes the calls that are not on the path to a node, and opens the rest of the path.
func (a *alone) change(n v8profile.NodeIndex, sample int, begin func(*aloneCall) error) error {
	for len(a.open) > 0 && !a.p.Contains(a.open[len(a.open)-1].node, n) {
		a.pop(sample)
	}
	top := v8profile.NodeIndex(0)
	if len(a.open) > 0 {
		top = a.open[len(a.open)-1].node
	}
	a.path = a.path[:0]
	for ; n != top; n = a.p.Node(n).Parent {
		a.path = append(a.path, n)
	}
	for i := len(a.path) - 1; i >= 0; i-- {
		if err := a.push(a.path[i], sample, begin); err != nil {
			return err
		}
	}
	return nil
}

func (a *alone) push(n v8profile.NodeIndex, sample int, begin func(*aloneCall) error) error {
	a.open = append(a.open, aloneCall{node: n, sample: sample, order: a.order})
	a.order++
	if begin == nil {
		return nil
	}
	return begin(&a.open[len(a.open)-1])
}

func (a *alone) pop(sample int) {
	last := len(a.open) - 1
	c := &a.open[last]
	dur := a.time(sample) - a.times[c.sample]
	if len(a.ends) > 0 {
		a.ends[c.order], a.selfs[c.order] = uint32(sample), dur-c.children
	}
	if last > 0 {
		a.open[last-1].children += dur
	}
	a.open = a.open[:last]
}
