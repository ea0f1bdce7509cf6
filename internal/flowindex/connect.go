package flowindex

import (
	"context"
)

// Link says how one flow leads to another.
type Link string

// The links.
const (
	Shared Link = "shared" // one slice or instant is a member of both
	Inside Link = "inside" // a member of the flow that is reached lies in a member of the other: what happened there went on elsewhere
	Around Link = "around" // a member of the flow that is reached contains a member of the other: in it, that was caused
)

// Connection is one step from a flow to another one.
type Connection struct {
	Flow     Flow
	Distance int // number of steps from one of the flows that the search began with

	From    int    // number of the flow from which the step leads here
	Link    Link   // how
	Through Member // of Flow: where
}

// Connected calls fn for all flows that can be reached from some flows, the nearest first, and each once: by way of slices
// and instants that are members of several flows and, with nested, also by way of those that lie directly in each other
// on one track. The flows to begin with are not among them. An error of fn ends the search and is returned.
//
// What was reached is remembered, which takes some 20 bytes for each flow and each slice.
func (x *Index) Connected(ctx context.Context, from []Flow, nested bool, fn func(Connection) error) error {
	s := search{x: x, nested: nested, flows: map[int]bool{}, slices: map[uint64]visited{}, fn: fn}
	for _, f := range from {
		s.flows[f.Number] = true
		s.queue = append(s.queue, reached{f.Number, 0})
	}
	for len(s.queue) > 0 {
		next := s.queue[0]
		s.queue = s.queue[1:]
		f, err := x.Flow(next.flow)
		if err != nil {
			return err
		}
		s.from, s.distance = f.Number, next.distance+1
		if err := x.Members(ctx, f, s.member); err != nil {
			return err
		}
	}
	return nil
}

// ConnectedMarkers counts the slices and instants of flows and of all flows that are connected with them by shared ones.
type ConnectedMarkers struct {
	group []uint32 // by number of a flow: a flow of the same group, itself for the one that stands for the group
	count []uint32 // by the flow that stands for a group
}

// ConnectedMarkers groups the flows. It holds 8 bytes for each flow.
func (x *Index) ConnectedMarkers(ctx context.Context) (*ConnectedMarkers, error) {
	c := &ConnectedMarkers{group: make([]uint32, x.Len()), count: make([]uint32, x.Len())}
	for i := range c.group {
		c.group[i] = uint32(i)
	}
	var p place
	first, flow := true, uint64(0)
	last := uint64(0)
	for at, i := x.places.From(0), 0; ; i++ {
		if i%(1<<14) == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		ok, err := at.Next(&p)
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if first || p.ordinal != last {
			first, last, flow = false, p.ordinal, p.flow
			c.count[c.find(flow)]++
			continue
		}
		c.join(flow, p.flow)
	}
	return c, nil
}

// find returns the flow that stands for the group of a flow.
func (c *ConnectedMarkers) find(flow uint64) uint32 {
	f := uint32(flow)
	for c.group[f] != f {
		c.group[f] = c.group[c.group[f]]
		f = c.group[f]
	}
	return f
}

// join makes one group of two, in favor of the one with more markers.
func (c *ConnectedMarkers) join(a, b uint64) {
	to, from := c.find(a), c.find(b)
	if to == from {
		return
	}
	if c.count[to] < c.count[from] {
		to, from = from, to
	}
	c.group[from] = to
	c.count[to] += c.count[from]
	c.count[from] = 0
}

// Of returns the number of markers that are connected with a flow, including its own. A marker of several
// flows, or several times in one, counts once.
func (c *ConnectedMarkers) Of(f Flow) int { return int(c.count[c.find(uint64(f.Number))]) }

type reached struct{ flow, distance int }

// search is the state of Connected.
type search struct {
	x        *Index
	nested   bool
	flows    map[int]bool       // reached
	slices   map[uint64]visited // however many flows a slice has, it is looked at once
	queue    []reached
	from     int
	distance int
	fn       func(Connection) error
}

// visited says what was followed from a slice.
type visited uint8

const (
	visitedFlows   visited = 1 << iota // its flows
	visitedNesting                     // the slices around and inside
)

// visit reports whether something of a slice was not followed yet.
func (s *search) visit(ordinal uint64, what visited) bool {
	before := s.slices[ordinal]
	s.slices[ordinal] = before | what
	return before&what == 0
}

// member follows what leads away from one member of a flow.
func (s *search) member(m Member) error {
	if err := s.slice(m.Ordinal, Shared); err != nil || !s.nested || !s.visit(m.Ordinal, visitedNesting) {
		return err
	}
	outer, ok, err := s.x.around(m.Ordinal)
	if err != nil {
		return err
	}
	if ok {
		if err := s.slice(outer, Around); err != nil {
			return err
		}
	}
	inner, err := s.x.inside(m.Ordinal)
	if err != nil {
		return err
	}
	for _, ordinal := range inner {
		if err := s.slice(ordinal, Inside); err != nil {
			return err
		}
	}
	return nil
}

// slice hands out the flows of a slice that were not reached before.
func (s *search) slice(ordinal uint64, link Link) error {
	if !s.visit(ordinal, visitedFlows) {
		return nil
	}
	return s.x.placesOf(ordinal, func(p *place) error {
		number := int(p.flow)
		if s.flows[number] {
			return nil
		}
		s.flows[number] = true
		s.queue = append(s.queue, reached{number, s.distance})
		f, err := s.x.Flow(number)
		if err != nil {
			return err
		}
		through, err := s.x.Member(f, int(p.n))
		if err != nil {
			return err
		}
		return s.fn(Connection{Flow: f, Distance: s.distance, From: s.from, Link: link, Through: through})
	})
}
