package flowindex

import (
	"context"
)

// Link is the kind of connection between flows.
type Link string

const (
	Shared Link = "shared" // a slice or instant is a member of both
	Inside Link = "inside" // a member of the new flow is inside a member of the other flow, whose work continued elsewhere
	Around Link = "around" // a member of the new flow contains a member of the other flow, and so caused it
)

// Connection is one step from one flow to another.
type Connection struct {
	Flow     Flow
	Distance int // number of steps from the nearest flow at which the search started

	From    int    // number of the previous flow
	Link    Link   // kind of the step
	Through Member // the member of Flow that connects the two flows
}

// Connected calls fn once for each flow that can be reached from the given ones, nearest first. It follows slices and instants
// that are members of several flows and, if nested is set, also slices and instants directly inside each other on the same track.
// The given flows are not included. An error from fn stops the search and is returned.
//
// The search needs about 20 bytes of memory for each flow and slice that it reaches.
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

// ConnectedMarkers groups the flows that share slices or instants, directly or through other flows, and counts the slices and
// instants in each group.
type ConnectedMarkers struct {
	group []uint32 // union-find: by flow number, the flow's parent in its group; the representative is its own parent
	count []uint32 // by number of the representative: number of markers
}

// ConnectedMarkers groups the flows. The result needs 8 bytes per flow.
func (x *Index) ConnectedMarkers(ctx context.Context) (*ConnectedMarkers, error) {
	c := &ConnectedMarkers{group: make([]uint32, x.Len()), count: make([]uint32, x.Len())}
	for i := range c.group {
		c.group[i] = uint32(i)
	}
	var p membership
	first, flow := true, uint64(0)
	last := uint64(0)
	for at, i := x.memberships.From(0), 0; ; i++ {
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

// find returns the representative of a flow's group.
func (c *ConnectedMarkers) find(flow uint64) uint32 {
	f := uint32(flow)
	for c.group[f] != f {
		c.group[f] = c.group[c.group[f]]
		f = c.group[f]
	}
	return f
}

// join merges two groups. The representative of the larger group remains.
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

// Of returns the number of markers in a flow's group. A marker that occurs several times counts only once.
func (c *ConnectedMarkers) Of(f Flow) int { return int(c.count[c.find(uint64(f.Number))]) }

type reached struct{ flow, distance int }

// search is the state of Connected.
type search struct {
	x        *Index
	nested   bool
	flows    map[int]bool       // flows already reached
	slices   map[uint64]visited // slices already examined
	queue    []reached
	from     int
	distance int
	fn       func(Connection) error
}

// visited is the set of a slice's connections that have been followed.
type visited uint8

const (
	visitedFlows   visited = 1 << iota // its flows
	visitedNesting                     // the slices around and inside it
)

// visit marks connections of a slice as followed. It reports whether they had not been followed before.
func (s *search) visit(ordinal uint64, what visited) bool {
	before := s.slices[ordinal]
	s.slices[ordinal] = before | what
	return before&what == 0
}

// member follows the connections from a member of a flow.
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

// slice reports the flows at a slice that have not been reached before.
func (s *search) slice(ordinal uint64, link Link) error {
	if !s.visit(ordinal, visitedFlows) {
		return nil
	}
	return s.x.membershipsOf(ordinal, func(p *membership) error {
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
