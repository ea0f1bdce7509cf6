package firefox

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/weft-trace/weft/problem"
	"github.com/weft-trace/weft/timeline"
)

// placer finds the tracks of the markers of one thread (spec 11). Stack-based intervals are slices of the thread as far
// as they nest. All other intervals of one name share a track below the thread, with lanes for those that overlap, as in
// the front end's marker chart.
type placer struct {
	c     *converter
	th    *threadState
	open  []float64 // ends of the slices on the thread's track, the outermost first
	lanes map[int32]*lanes
	net   *lanes
}

// place gives all markers of a thread their tracks. They are sorted by start.
func (c *converter) place(th *threadState) {
	p := &placer{c: c, th: th, lanes: map[int32]*lanes{}}
	order := make([]int32, 0, len(th.markers))
	for i := range th.markers {
		m := &th.markers[i]
		m.track = th.track
		switch {
		case m.isInstant() && c.types[th.types[m.row]].special == specialAllocation:
			m.track = c.b.Child(th.track, AllocationsName)
		case !m.isInstant() && m.state&markerSuppressed == 0:
			order = append(order, int32(i))
		}
	}
	slices.SortStableFunc(order, func(i, j int32) int {
		a, b := &th.markers[i], &th.markers[j]
		if a.start != b.start {
			return cmp.Compare(a.start, b.start)
		}
		return cmp.Compare(b.end, a.end)
	})
	for _, i := range order {
		m := &th.markers[i]
		m.track = p.track(m)
	}
}

// isInstant reports whether the marker has no length. An interval whose end is its start is none (spec 5.2).
func (m *marker) isInstant() bool { return m.end != m.end }

// track returns the track of an interval.
func (p *placer) track(m *marker) timeline.TrackID {
	kind := &p.c.types[p.th.types[m.row]]
	switch {
	case m.state&(markerSent|markerReceived) != 0:
		return p.lane(-2-int32(m.state&(markerSent|markerReceived)), p.c.messageName(m), m)
	case kind.special == specialNetwork:
		if p.net == nil {
			p.net = &lanes{parent: p.th.process.track, name: NetworkName}
		}
		return p.net.take(p.c.b, m)
	case !kind.stackBased && p.c.schemas.stacks:
		return p.named(m)
	}
	for n := len(p.open); n > 0 && p.open[n-1] <= m.start; n = len(p.open) {
		p.open = p.open[:n-1]
	}
	if n := len(p.open); n > 0 && p.open[n-1] < m.end {
		p.c.log.Add(problem.MarkerOverlapMoved, p.th.at(m.row), p.th.name(m.row))
		return p.named(m)
	}
	p.open = append(p.open, m.end)
	return p.th.track
}

// named returns a lane of the track that has the marker's name.
func (p *placer) named(m *marker) timeline.TrackID {
	index := p.th.th.markers.name[m.row]
	text, _ := p.th.tables.strings.at(index)
	return p.lane(index, text, m)
}

func (p *placer) lane(key int32, name []byte, m *marker) timeline.TrackID {
	l := p.lanes[key]
	if l == nil {
		l = &lanes{parent: p.th.track, name: string(name)}
		p.lanes[key] = l
	}
	return l.take(p.c.b, m)
}

// lanes are tracks of one name and parent, which viewers show as one. An interval gets the first one that is free at its
// start.
type lanes struct {
	parent timeline.TrackID
	name   string
	tracks []timeline.TrackID
	busy   busyLanes
	free   freeLanes
}

// take returns the track of an interval. Intervals come in the order of their starts.
func (l *lanes) take(b *timeline.Builder, m *marker) timeline.TrackID {
	for len(l.busy) > 0 && l.busy[0].end <= m.start {
		heap.Push(&l.free, heap.Pop(&l.busy).(busyLane).lane)
	}
	lane := len(l.tracks)
	if len(l.free) > 0 {
		lane = heap.Pop(&l.free).(int)
	} else {
		name := l.name
		if name == "" {
			name = "(no name)"
		}
		l.tracks = append(l.tracks, b.NewTrack(l.parent, timeline.TrackSpec{Name: name}))
	}
	heap.Push(&l.busy, busyLane{m.end, lane})
	return l.tracks[lane]
}

// busyLane is a lane and the time from which on it is free.
type busyLane struct {
	end  float64
	lane int
}

// busyLanes is a heap of lanes, the first to become free on top.
type busyLanes []busyLane

func (h busyLanes) Len() int { return len(h) }
func (h busyLanes) Less(i, j int) bool {
	return h[i].end < h[j].end || h[i].end == h[j].end && h[i].lane < h[j].lane
}
func (h busyLanes) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *busyLanes) Push(x any)   { *h = append(*h, x.(busyLane)) }
func (h *busyLanes) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// freeLanes is a heap of the numbers of lanes.
type freeLanes []int

func (h freeLanes) Len() int           { return len(h) }
func (h freeLanes) Less(i, j int) bool { return h[i] < h[j] }
func (h freeLanes) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *freeLanes) Push(x any)        { *h = append(*h, x.(int)) }
func (h *freeLanes) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
