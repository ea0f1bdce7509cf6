package profilecalls

import (
	"errors"
	"math"

	"github.com/weft-trace/weft/internal/collections"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
)

// AloneCall is a call of a profile without a trace around it.
type AloneCall struct {
	Call
	Depth int            // number of calls around it
	Self  timeline.Nanos // the duration without the calls directly in it
}

// AloneStats counts samples for which there are no calls.
type AloneStats struct {
	TooDeep       int64 // samples whose innermost functions make none, because their stacks have more than MaxStack frames
	LostPositions int64 // samples that say where they were taken, but not in which function
}

// Alone gives the calls of a profile that nothing else is known of, (program), (idle) and (garbage collector) included
// (profile-calls.md 4). Two nodes are two calls, even of one function. It calls emit for each call in the order of
// their starts, outer calls before inner ones, until emit returns an error, which it returns. The AloneCall is valid
// during the call of emit only.
//
// The samples are gone through three times: to count the calls, to find their ends, of which 12 bytes are kept for each
// call (16 if the profile says where samples were taken), and to give them. The times of the samples are held meanwhile.
//
// Of the calls so many bytes of memory may be kept; 0: any. If they need more, that is an error, and no call is given: each
// sample of a profile with deep stacks may begin MaxStack calls.
func Alone(p *v8profile.Profile, memory int64, emit func(*AloneCall) error) (AloneStats, error) {
	a := alone{p: p, samples: p.Samples(), outer: outerParts(p), emit: emit, most: math.MaxInt64}
	a.times = make([]timeline.Nanos, p.Len())
	for i := range a.times {
		a.times[i] = a.samples.Time(i)
	}
	if memory > 0 {
		a.most = memory / bytesPerCall(p)
	}
	if err := a.walk(nil); err != nil {
		profiles := collections.RoomOfProfiles(memory)
		return AloneStats{}, profiles.Full()
	}
	a.ends = make([]uint32, a.order)
	a.selfs = make([]timeline.Nanos, a.order)
	if a.placed = newPlaceLinks(p); a.placed != nil {
		a.lasts = make([]uint32, a.order)
	}
	_ = a.walk(nil)
	err := a.walk(a.give)
	return a.stats, errors.Join(err, a.samples.Err())
}

// bytesPerCall is what is kept of a call.
func bytesPerCall(p *v8profile.Profile) int64 {
	if p.HasPositions() {
		return 16
	}
	return 12
}

// errTooManyCalls means that there are more calls than alone.most.
var errTooManyCalls = errors.New("too many calls")

// alone is the state of Alone.
type alone struct {
	p       *v8profile.Profile
	samples *v8profile.Samples
	times   []timeline.Nanos      // of the samples
	outer   []v8profile.NodeIndex // see outerParts
	emit    func(*AloneCall) error

	open  []aloneCall // of the sample that is looked at
	order int64       // of the next call
	most  int64       // calls that there may be
	stats AloneStats
	path  []v8profile.NodeIndex
	call  AloneCall

	ends  []uint32 // of each call: the sample with which it ends, or the number of samples; empty while they are counted
	selfs []timeline.Nanos

	placed *placeLinks // nil if positions are not known
	lasts  []uint32    // of each call: its last sample with a position, see placeLinks
}

// aloneCall is an open call.
type aloneCall struct {
	node     v8profile.NodeIndex
	sample   int
	order    int64
	children timeline.Nanos // duration of the calls directly in it
}

// give emits a call that begins, whose end is known.
func (a *alone) give(c *aloneCall) error {
	end := int(a.ends[c.order])
	ts := a.times[c.sample]
	a.call = AloneCall{
		Call: Call{
			Node: c.node, TS: ts, Dur: a.time(end) - ts, Sample: c.sample, Samples: int64(end - c.sample), Order: c.order,
		},
		Depth: len(a.open) - 1, Self: a.selfs[c.order],
	}
	if a.placed != nil {
		a.call.Positions = a.placed.positions(a.lasts[c.order])
	}
	return a.emit(&a.call)
}

// time is when a sample was taken, and after the last one the closing time.
func (a *alone) time(sample int) timeline.Nanos {
	if sample == a.p.Len() {
		return a.p.Closing
	}
	return a.times[sample]
}

// walk goes through the samples. It calls begin, if there is one, for each call that opens.
func (a *alone) walk(begin func(*aloneCall) error) error {
	a.open, a.order, a.stats.TooDeep = a.open[:0], 0, 0
	now, below := v8profile.NodeIndex(0), v8profile.NodeIndex(0) // below: the stack on which garbage is collected
	for i := range a.p.Len() {
		n := a.samples.At(i)
		if a.outer != nil && a.outer[n] != n {
			n = a.outer[n]
			a.stats.TooDeep++
		}
		var err error
		switch {
		case n == now:
		case n == a.p.Collector:
			below = now
			err = a.push(n, i, begin)
		case now == a.p.Collector:
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
		if a.order > a.most {
			return errTooManyCalls
		}
		if a.placed != nil && begin == nil && a.placed.known(i) {
			a.place(i)
		}
		now = n
	}
	for len(a.open) > 0 {
		a.pop(a.p.Len())
	}
	return nil
}

// place counts the place of a sample for the innermost open call, which must be one of a function.
func (a *alone) place(sample int) {
	if len(a.open) == 0 || a.p.Meta(a.open[len(a.open)-1].node) {
		a.stats.LostPositions++
		return
	}
	top := a.open[len(a.open)-1].order
	a.lasts[top] = a.placed.add(a.lasts[top], sample)
}

// outerParts returns of each node the innermost one on its path that is within MaxStack frames; nil if all nodes are.
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
