package readers

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

func newSet(there int) *Lanes[timeline.Nanos] {
	b := timeline.NewBuilder(timeline.Options{Problems: new(problem.Log)})
	process := b.Process(timeline.ProcessKey{Num: 1})
	var tracks []timeline.TrackID
	for i := range there {
		tracks = append(tracks, b.Child(process, fmt.Sprint(i)))
	}
	return NewLanes[timeline.Nanos](b, process, timeline.TrackSpec{Name: "x"}, tracks...)
}

// Intervals go to the first free track; a track is free at the end of its interval.
func TestTake(t *testing.T) {
	s := newSet(1)
	first := s.Track(0)
	for i, step := range []struct{ start, end, lane int }{
		{0, 10, 0}, {1, 5, 1}, {2, 3, 2}, {3, 4, 2}, {5, 6, 1}, {10, 11, 0}, {10, 20, 1}, {10, 11, 2}, {11, 12, 0},
	} {
		track, lane := s.Take(timeline.Nanos(step.start), timeline.Nanos(step.end))
		if lane != step.lane || track != s.Track(lane) {
			t.Errorf("step %d: lane %d, want %d", i, lane, step.lane)
		}
	}
	if track, lane := s.Take(30, 40); lane != 0 || track != first {
		t.Errorf("lane %d, track %d", lane, track)
	}
}

// No two intervals on a track overlap, and no track is created while another is free.
func TestNoOverlap(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	s := newSet(0)
	var ends []timeline.Nanos // by lane
	now := timeline.Nanos(0)
	for range 10_000 {
		now += timeline.Nanos(rnd.IntN(3))
		end := now + timeline.Nanos(rnd.IntN(50))
		free := false
		for _, e := range ends {
			free = free || e <= now
		}
		_, lane := s.Take(now, end)
		if lane == len(ends) {
			if free {
				t.Fatalf("a new track at %d, though one is free", now)
			}
			ends = append(ends, 0)
		}
		if ends[lane] > now {
			t.Fatalf("track %d is taken until %d, and taken again at %d", lane, ends[lane], now)
		}
		ends[lane] = end
	}
}
