package report

import (
	"cmp"
	"context"
	"slices"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/flowbind"
	"github.com/weft-trace/weft/internal/timeline"
)

// FlowPairs lists the pairs of threads that hand work to each other through flows, with the delays. Times are
// nanoseconds.
type FlowPairs struct {
	Arrows int64 `json:"arrows"` // of all flows
	// Within is the number of arrows within one thread, which are in no pair; Uncounted is the number of arrows of pairs for
	// which there is no room.
	Within    int64      `json:"within_threads"`
	Uncounted int64      `json:"uncounted"`
	Pairs     []FlowPair `json:"pairs"` // longest total delay first
}

// FlowPair summarizes the arrows from one thread to another. The delay of an arrow is the time between its two ends, which lie
// inside slices.
type FlowPair struct {
	From   ThreadID       `json:"from"`
	To     ThreadID       `json:"to"`
	Arrows int64          `json:"arrows"`
	Delay  timeline.Nanos `json:"delay_ns"`  // total of all arrows
	Median timeline.Nanos `json:"median_ns"` // at least half of the delays are this long or shorter; P95 is analogous
	P95    timeline.Nanos `json:"p95_ns"`
	Max    timeline.Nanos `json:"max_ns"`
	MaxAt  timeline.Nanos `json:"max_ts_ns"` // when the arrow with the longest delay leaves
}

// maxFlowPairs bounds the number of pairs of threads.
const maxFlowPairs = 1 << 16

// CollectFlowPairs counts the flow arrows that wanted accepts in a nested timeline; if wanted is nil, it counts all arrows. A
// later attribution need not walk the flows again. It fails only if temporary files cannot be used or ctx is done.
func CollectFlowPairs(ctx context.Context, tl *timeline.Timeline, wanted func(from, to timeline.TrackID, at timeline.Nanos) bool) (*FlowPairs, error) {
	c := flowPairs{
		tl: tl, wanted: wanted, ids: map[[2]timeline.TrackID]int32{}, delays: extsort.NewRanks(tl.Memory()/16, tl.TempDir()),
	}
	defer c.delays.Close()
	c.out.Pairs = []FlowPair{}
	if err := flowbind.VisitAndTrace(ctx, tl, &arrows{tl: tl, arrow: c.arrow}); err != nil {
		return nil, err
	}
	if c.err == nil {
		c.err = c.quantiles(ctx)
	}
	slices.SortStableFunc(c.out.Pairs, func(a, b FlowPair) int { return cmp.Compare(b.Delay, a.Delay) })
	return &c.out, c.err
}

// flowPairs counts arrows by pair.
type flowPairs struct {
	tl     *timeline.Timeline
	wanted func(from, to timeline.TrackID, at timeline.Nanos) bool
	out    FlowPairs
	ids    map[[2]timeline.TrackID]int32 // index in FlowPairs.Pairs
	delays *extsort.Ranks
	err    error
}

// arrows is a flowbind.Visitor that passes each arrow to a function.
type arrows struct {
	tl      *timeline.Timeline
	arrow   func(from, to flowMember)
	members []flowMember // of the current flow
}

// flowMember is a slice or instant that a flow passes.
type flowMember struct {
	ordinal uint64
	thread  timeline.TrackID
	at      timeline.Nanos
}

// maxFlowMembers bounds the members of a flow that are kept because arrows may still leave from them. In Firefox,
// arrows can leave from any member.
const maxFlowMembers = 1 << 10

// Begin implements flowbind.Visitor.
func (c *arrows) Begin(_ flowbind.Key, at timeline.Nanos, s *flowbind.Slice) {
	c.members = c.members[:0]
	c.pass(at, s)
}

// Follow implements flowbind.Visitor.
func (c *arrows) Follow(at timeline.Nanos, s *flowbind.Slice, from uint64) {
	for i := len(c.members) - 1; i >= 0; i-- {
		if c.members[i].ordinal == from {
			c.arrow(c.members[i], flowMember{s.Ordinal, ownerOf(c.tl, s.Track), at})
			break
		}
	}
	c.pass(at, s)
}

// Join implements flowbind.Visitor. No arrow leads to this member.
func (c *arrows) Join(at timeline.Nanos, s *flowbind.Slice) { c.pass(at, s) }

// End implements flowbind.Visitor.
func (c *arrows) End(bool) {}

// pass records that the flow passes a slice.
func (c *arrows) pass(at timeline.Nanos, s *flowbind.Slice) {
	if len(c.members) == maxFlowMembers {
		c.members = append(c.members[:0], c.members[maxFlowMembers/2:]...)
	}
	c.members = append(c.members, flowMember{s.Ordinal, ownerOf(c.tl, s.Track), at})
}

func (c *flowPairs) arrow(from, to flowMember) {
	if c.err != nil || c.wanted != nil && !c.wanted(from.thread, to.thread, from.at) {
		return
	}
	c.out.Arrows++
	if from.thread == to.thread {
		c.out.Within++
		return
	}
	key := [2]timeline.TrackID{from.thread, to.thread}
	i, ok := c.ids[key]
	if !ok {
		if len(c.ids) == maxFlowPairs {
			c.out.Uncounted++
			return
		}
		i = int32(len(c.out.Pairs))
		c.ids[key] = i
		c.out.Pairs = append(c.out.Pairs, FlowPair{From: threadID(c.tl, from.thread), To: threadID(c.tl, to.thread)})
	}
	p, delay := &c.out.Pairs[i], max(to.at-from.at, 0)
	if p.Arrows++; p.Arrows == 1 || delay > p.Max {
		p.Max, p.MaxAt = delay, from.at
	}
	sum(&p.Delay, delay)
	c.err = c.delays.Add(int64(i), int64(delay))
}

// quantiles computes the percentiles of the delays of all pairs.
func (c *flowPairs) quantiles(ctx context.Context) error {
	return c.delays.Each(ctx, func(pair, i, delay int64) error {
		p, p99 := &c.out.Pairs[pair], timeline.Nanos(0)
		atRank(i, p.Arrows, timeline.Nanos(delay), &p.Median, &p.P95, &p99)
		return nil
	})
}
