package firefox

import (
	"cmp"
	"slices"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
)

// timerWait is the name of the intervals in which the thread that fires timers is idle. Their type is stack-based. As slices on
// the thread's track, they would make the thread look like the busiest one in the browser.
const timerWait = "TimerThread::Wait"

// placer finds tracks for the markers of one thread (section 5). Stack-based intervals in which the thread works become slices
// on its track if they nest. All other intervals with the same name share a track below the thread, with lanes for overlapping
// ones, as in the front end's marker chart.
type placer struct {
	c    *converter
	th   *threadState
	open []float64          // ends of the open slices on the thread's track, outermost first
	rows map[int32]*laneSet // by marker name
	net  *readers.Lanes[float64]
}

// laneSet holds the tracks for all intervals with the same name, which viewers show as one track. All these tracks are in the
// group of the first interval.
type laneSet struct {
	lanes *readers.Lanes[float64]
	place timeline.Place
}

// place assigns tracks to the markers of a thread, which are sorted by start.
func (c *converter) place(th *threadState) {
	p := &placer{c: c, th: th, rows: map[int32]*laneSet{}}
	order := make([]int32, 0, len(th.markers))
	for i := range th.markers {
		m := &th.markers[i]
		m.track = th.track
		switch {
		case m.isInstant() && c.types[th.types[m.row]].special == specialAllocation:
			m.track = c.b.RoleTrack(th.track, timeline.RoleAllocations)
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

// isInstant reports whether the marker has no end. A zero-length interval is not an instant (section 5).
func (m *marker) isInstant() bool { return m.end != m.end }

// track returns the track of an interval.
func (p *placer) track(m *marker) timeline.TrackID {
	kind := &p.c.types[p.th.types[m.row]]
	switch {
	case m.state&(markerSent|markerReceived) != 0:
		return p.lane(-2-int32(m.state&(markerSent|markerReceived)), p.c.messageName(m), m, timeline.Place{Group: "IPC"})
	case kind.special == specialNetwork:
		if p.net == nil {
			p.net = p.newLanes(p.th.process.track, timeline.RoleNetwork.String(), timeline.RoleNetwork)
		}
		track, _ := p.net.Take(m.start, m.end)
		return track
	case !kind.stackBased && p.c.schemas.stacks, p.isWait(m):
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

// isWait reports whether the thread is idle during an interval.
func (p *placer) isWait(m *marker) bool {
	name, _ := p.th.tables.strings.at(p.th.th.markers.name[m.row])
	return string(name) == timerWait
}

// named returns a lane of the track with the marker's name.
func (p *placer) named(m *marker) timeline.TrackID {
	index := p.th.th.markers.name[m.row]
	text, _ := p.th.tables.strings.at(index)
	return p.lane(index, text, m, p.place(m))
}

// place returns the group of an interval: Timers, or the subgroup of its category in Markers.
func (p *placer) place(m *marker) timeline.Place {
	category := p.th.th.markers.category.at(int(m.row))
	name := ""
	if list := p.c.root.meta.categories; category >= 0 && int(category) < len(list) {
		name = string(list[category].name)
	}
	if name == "Timer" {
		return timeline.Place{Group: "Timers"}
	}
	return timeline.Place{Group: "Markers", Within: name}
}

func (p *placer) lane(key int32, name []byte, m *marker, place timeline.Place) timeline.TrackID {
	r := p.rows[key]
	if r == nil {
		r = &laneSet{p.newLanes(p.th.track, string(name), timeline.NoRole), place}
		p.rows[key] = r
	}
	track, _ := r.lanes.Take(m.start, m.end)
	p.c.b.SetPlace(track, r.place)
	return track
}

// newLanes returns lanes with the given name below another track.
func (p *placer) newLanes(parent timeline.TrackID, name string, role timeline.Role) *readers.Lanes[float64] {
	if name == "" {
		name = "(no name)" // viewers name an unnamed track after its first marker, which has no name
	}
	return readers.NewLanes[float64](p.c.b, parent, timeline.TrackSpec{Name: name, Role: role})
}
