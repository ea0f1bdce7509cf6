package pfwire

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/weft-trace/weft/internal/pfwire/message"
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/timeline"
)

// Clock ids defined by Perfetto (perfetto.md 2). Ids from 64 to 127 belong to one sequence, higher ids to the trace.
const (
	ClockRealtime  = schema.BuiltinClockRealtime
	ClockMonotonic = schema.BuiltinClockMonotonic
	ClockBoottime  = schema.BuiltinClockBoottime

	firstSequenceClock = 64
	lastSequenceClock  = 127
)

// Clock identifies a clock within a trace.
type Clock struct {
	ID       uint32
	Machine  uint32              // the clock's machine, see TracePacket.machine_id
	Sequence message.SequenceKey // set for a clock that belongs to one sequence
}

// Stamp is a time on a clock, in nanoseconds. Clock id 0 is the clock of the trace.
type Stamp struct {
	Clock Clock
	Nanos int64
}

// Errors from Sequence.Stamp and Clocks.TraceTime.
var (
	// ErrNoTimestamp: a packet has no timestamp.
	ErrNoTimestamp = errors.New("no timestamp")
	// ErrUnknownClock: no snapshot so far relates a clock to the clock of the trace.
	ErrUnknownClock = errors.New("no clock snapshot relates the packet's clock to the trace's")
	// ErrTimeRange: a time is negative or at least 2^63-1. Perfetto drops such times.
	ErrTimeRange = errors.New("time out of range")
)

// sequenceClock describes a sequence's own clock, as of the last snapshot.
type sequenceClock struct {
	multiplier  int64
	incremental bool
	current     int64 // time of an incremental clock, in nanoseconds
}

// clock returns the description of a clock that belongs to the sequence, or nil.
func (s *Sequence) clock(id uint32) *sequenceClock {
	if i := int(id) - firstSequenceClock; i < len(s.clocks) {
		return s.clocks[i]
	}
	return nil
}

// IsSequenceClock reports whether a clock belongs to one sequence.
func IsSequenceClock(id uint32) bool { return id >= firstSequenceClock && id <= lastSequenceClock }

// Stamp returns the time of a packet on the sequence. It must be called exactly once, in file order, for every packet with a
// timestamp, regardless of its payload, because any packet can advance an incremental clock. Packets without a sequence id use a
// nil Sequence.
func (s *Sequence) Stamp(f *message.TracePacket) (Stamp, error) {
	if !f.HasTimestamp {
		return Stamp{}, ErrNoTimestamp
	}
	clock, ok := s.Clock(f)
	stamp := Stamp{Clock: clock, Nanos: int64(f.Timestamp)}
	if !ok {
		return stamp, fmt.Errorf("%w: clock %d of its sequence", ErrUnknownClock, clock.ID)
	}
	if clock.Sequence == (message.SequenceKey{}) {
		return stamp, nil
	}
	state := s.clock(clock.ID)
	stamp.Nanos *= state.multiplier
	if state.incremental {
		stamp.Nanos += state.current
		if !f.DescribesClocks() {
			state.current = stamp.Nanos
		}
	}
	return stamp, nil
}

// Clocks converts between the clocks of a trace. With the zero Clocks, all times are trace time.
type Clocks struct {
	trace  uint32                  // primary_trace_clock; 0: unspecified
	first  []timeline.ClockReading // built-in clocks in the first snapshot with the clock of the trace and another clock
	links  map[clockPair]*clockLink
	next   map[Clock][]Clock // by clock: the clocks that a snapshot pairs it with
	routes map[Clock][]*clockLink
	latest struct { // the route found last
		from, to Clock
		known    bool
		route    []*clockLink
	}
}

type clockPair struct{ from, to Clock }

// clockLink is a list of simultaneous readings of two clocks, ordered by the first clock.
type clockLink struct{ points []clockPoint }

type clockPoint struct{ from, to int64 }

// Limits on snapshot data. Drift between two clocks is slow, so a full link drops every other point.
const (
	maxReadings       = 32 // per snapshot
	maxLinkPoints     = 1 << 14
	maxSequencePoints = 16
	maxRouteLinks     = 6
)

// reading is the time of a clock in a snapshot.
type reading struct {
	clock Clock
	nanos int64
}

// Snapshot adds a ClockSnapshot message from a machine. Clocks 64 to 127 in it belong to seq; if seq is nil, they are ignored.
func (c *Clocks) Snapshot(seq *Sequence, machine uint32, msg []byte) error {
	var s message.ClockSnapshot
	err := s.Parse(msg)
	if s.HasPrimary() && s.PrimaryClock() != c.trace && machine == 0 {
		c.trace, c.routes, c.latest.known = s.PrimaryClock(), nil, false
	}
	var readings []reading
	for l := s.Clocks(); l.Next(); {
		if len(readings) == maxReadings {
			return fmt.Errorf("a clock snapshot has more than %d clocks", maxReadings)
		}
		var r message.ClockReading
		if err := r.Parse(l.Bytes()); err != nil {
			return err
		}
		if rd := seq.reading(&r, machine); rd.clock.ID != 0 && !r.IsWorkedOut() {
			readings = append(readings, rd)
		}
	}
	if machine == 0 {
		c.keepFirst(readings)
	}
	c.linkAll(readings)
	return err
}

// linkAll adds simultaneous readings of several clocks.
func (c *Clocks) linkAll(readings []reading) {
	for _, from := range readings {
		for _, to := range readings {
			// No time is ever converted to a sequence's clock.
			if from.clock != to.clock && to.clock.Sequence == (message.SequenceKey{}) {
				c.link(from, to)
			}
		}
	}
}

// keepFirst stores the first snapshot that relates the clock of the trace to other system clocks.
func (c *Clocks) keepFirst(readings []reading) {
	known := timeline.Clocks{Readings: c.first}
	target := timeline.Clock(c.target().ID)
	if _, ok := known.Reading(target); ok {
		return
	}
	snapshot := timeline.Clocks{}
	for _, rd := range readings {
		if rd.clock.ID < firstSequenceClock && rd.nanos >= 0 {
			snapshot.Readings = append(snapshot.Readings, timeline.ClockReading{
				Clock: timeline.Clock(rd.clock.ID), Time: timeline.Nanos(rd.nanos),
			})
		}
	}
	if _, ok := snapshot.Reading(target); ok && len(snapshot.Readings) > 1 {
		c.first = snapshot.Readings
	}
}

// Trace returns the clock of the trace if snapshots name it, and the readings of built-in clocks in the first snapshot that
// contains the clock of the trace.
func (c *Clocks) Trace() timeline.Clocks {
	all := timeline.Clocks{Trace: timeline.Clock(c.target().ID), Readings: c.first}
	if _, ok := all.Reading(all.Trace); !ok {
		all.Readings = nil
	}
	if all.Trace >= firstSequenceClock || c.trace == 0 && all.Readings == nil {
		return timeline.Clocks{}
	}
	return all
}

// reading converts a clock reading in a snapshot. A clock of the sequence restarts at that time.
func (s *Sequence) reading(r *message.ClockReading, machine uint32) reading {
	id := r.ID()
	rd := reading{Clock{ID: id, Machine: machine}, r.Timestamp() * r.Multiplier()}
	switch {
	case !IsSequenceClock(id):
		return rd
	case s == nil:
		return reading{}
	}
	for len(s.clocks) <= int(id-firstSequenceClock) {
		s.clocks = append(s.clocks, nil)
	}
	s.clocks[id-firstSequenceClock] = &sequenceClock{r.Multiplier(), r.IsIncremental(), rd.nanos}
	rd.clock.Machine, rd.clock.Sequence = 0, s.Key
	return rd
}

func (c *Clocks) link(from, to reading) {
	pair := clockPair{from.clock, to.clock}
	l := c.links[pair]
	if l == nil {
		if c.links == nil {
			c.links = make(map[clockPair]*clockLink)
			c.next = make(map[Clock][]Clock)
		}
		l = new(clockLink)
		c.links[pair] = l
		c.next[from.clock] = append(c.next[from.clock], to.clock)
		delete(c.routes, from.clock)
		c.latest.known = false
		if from.clock.Sequence == (message.SequenceKey{}) {
			c.routes = nil // a shorter route may now exist from anywhere
		}
	}
	limit := maxLinkPoints
	if from.clock.Sequence != (message.SequenceKey{}) {
		limit = maxSequencePoints
	}
	l.add(clockPoint{from.nanos, to.nanos}, limit)
}

func (l *clockLink) add(p clockPoint, limit int) {
	if len(l.points) >= limit {
		thinned := l.points[:0]
		for i := 0; i < len(l.points); i += 2 {
			thinned = append(thinned, l.points[i])
		}
		l.points = thinned
	}
	// Insert after points with the same time: the later of two snapshots wins.
	i := sort.Search(len(l.points), func(i int) bool { return l.points[i].from > p.from })
	l.points = slices.Insert(l.points, i, p)
}

// convert converts t. It uses the latest reading at or before t or, if all readings are later, the first reading.
func (l *clockLink) convert(t int64) int64 {
	p := l.points[len(l.points)-1]
	if t < p.from { // most times are after all readings so far
		i := sort.Search(len(l.points), func(i int) bool { return l.points[i].from > t })
		p = l.points[max(i-1, 0)]
	}
	return t - p.from + p.to
}

// TraceTime converts a stamp to trace time, which is BOOTTIME unless a snapshot specifies another clock. The error is
// ErrUnknownClock if no snapshot so far relates the clocks, or ErrTimeRange.
func (c *Clocks) TraceTime(s Stamp) (int64, error) {
	target := c.target()
	t := s.Nanos
	if s.Clock = c.named(s.Clock); s.Clock.ID != 0 && s.Clock != target {
		route := c.route(s.Clock, target)
		if route == nil {
			return 0, fmt.Errorf("%w: clock %d", ErrUnknownClock, s.Clock.ID)
		}
		for _, l := range route {
			t = l.convert(t)
		}
	}
	// math.MaxInt64 is excluded too: readers need times after the last event.
	if t < 0 || t == math.MaxInt64 {
		return 0, ErrTimeRange
	}
	return t, nil
}

// route returns the shortest chain of links from a clock to the clock of the trace, or nil if no chain exists.
func (c *Clocks) route(from, to Clock) []*clockLink {
	l := &c.latest
	if !l.known || l.from != from || l.to != to {
		route := c.findRoute(from, to)
		if machine := cmp.Or(from.Machine, from.Sequence.Machine); route == nil && machine != 0 && c.bridge(machine) {
			route = c.findRoute(from, to)
		}
		l.from, l.to, l.known, l.route = from, to, true, route
	}
	return l.route
}

func (c *Clocks) findRoute(from, to Clock) []*clockLink {
	if route, ok := c.routes[from]; ok {
		return route
	}
	type step struct {
		clock Clock
		links []*clockLink
	}
	queue := []step{{clock: from}}
	seen := map[Clock]bool{from: true}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if at.clock == to {
			c.remember(from, at.links)
			return at.links
		}
		if len(at.links) == maxRouteLinks {
			continue
		}
		for _, next := range c.next[at.clock] {
			if !seen[next] {
				seen[next] = true
				links := append(at.links[:len(at.links):len(at.links)], c.links[clockPair{at.clock, next}])
				queue = append(queue, step{next, links})
			}
		}
	}
	c.remember(from, nil)
	return nil
}

// remember caches a route, or its absence, until link adds a pair of clocks that can change it.
func (c *Clocks) remember(from Clock, route []*clockLink) {
	if c.routes == nil {
		c.routes = make(map[Clock][]*clockLink)
	}
	c.routes[from] = route
}

// Clock returns the clock of a packet's timestamp. ok is false for a sequence clock that no snapshot of the sequence describes.
func (s *Sequence) Clock(f *message.TracePacket) (clock Clock, ok bool) {
	clock.ID = f.ClockID
	if clock.ID == 0 && s != nil {
		clock.ID = s.Defaults.ClockID
	}
	if !IsSequenceClock(clock.ID) {
		clock.Machine = f.Sequence.Machine
		return clock, true
	}
	if s == nil || s.clock(clock.ID) == nil {
		return clock, false
	}
	clock.Sequence = s.Key
	return clock, true
}

// Knows reports whether TraceTime can convert times on a clock.
func (c *Clocks) Knows(clock Clock) bool {
	target := c.target()
	clock = c.named(clock)
	return clock.ID == 0 || clock == target || c.route(clock, target) != nil
}

// target returns the clock of the trace.
func (c *Clocks) target() Clock {
	if c.trace == 0 {
		return Clock{ID: ClockBoottime}
	}
	return Clock{ID: c.trace}
}
