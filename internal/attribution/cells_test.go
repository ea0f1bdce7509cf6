package attribution

import (
	"math"
	"testing"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/testkit"
	"github.com/weft-trace/weft/internal/timeline"
)

// Intervals are split at most maxCuts times. If a slice has too many parts, the CPU time of the further parts is unknown. The
// costs still add up.
func TestCostLimits(t *testing.T) {
	most := LimitsFor(Full)
	k := newCosts(newCatalogue(most), newSets(most), emptyTimeline(t), &CostOptions{})
	k.Cells = newCells(1<<20, t.TempDir())
	w := &thread{id: 1}
	*w.slices.Push(1 << 40) = slice{up: -1, cpu: cpuTime{known: true, used: 1 << 30}}
	const n = 3 * maxShares
	for i := range SetID(n) {
		k.charge(w, w.slices.At(0), setShare{i % (maxShares + 10), 10}, math.MinInt64, timeline.Nanos(i)*10)
	}
	k.end(w)
	if k.shares != 0 {
		t.Errorf("%d shares are left of no slice", k.shares)
	}
	if k.limited == 0 {
		t.Error("nothing was counted")
	}
	var wall, cpu, without timeline.Nanos
	if err := k.Cells.Each(func(c *Cell) { wall, cpu, without = wall+c.Wall, cpu+c.Cpu, without+c.WithoutCPU }); err != nil {
		t.Fatal(err)
	}
	if wall != 10*n || without == 0 || without > wall {
		t.Errorf("%d ns, %d without CPU time, want %d", wall, without, 10*n)
	}
	if want := portion(1<<30, wall-without, wall); max(cpu-want, want-cpu) > 1 {
		t.Errorf("%d ns of CPU, want %d", cpu, want)
	}
}

// A slice has the same number of shares no matter when cells are spilled: otherwise the limit would depend on the memory.
func TestSharesOfSpilledCells(t *testing.T) {
	most := LimitsFor(Full)
	k := newCosts(newCatalogue(most), newSets(most), emptyTimeline(t), &CostOptions{})
	w := &thread{id: 1}
	*w.slices.Push(100) = slice{up: -1, cpu: cpuTime{known: true, used: 50}}
	for i := range timeline.Nanos(10) {
		k.charge(w, w.slices.At(0), setShare{7, 10}, math.MinInt64, 10*i)
		k.Cells.spill()
	}
	if n := len(w.slices.At(0).shares); n != 1 {
		t.Errorf("%d shares, want 1", n)
	}
	k.end(w)
	n := 0
	err := k.Cells.Each(func(c *Cell) {
		if n++; c.Wall != 100 || c.Cpu != 50 {
			t.Errorf("%d ns and %d of CPU, want 100 and 50", c.Wall, c.Cpu)
		}
	})
	if err != nil || n != 1 {
		t.Errorf("%d cells, %v; want 1", n, err)
	}
}

// emptyTimeline returns a timeline without events.
func emptyTimeline(t *testing.T) *timeline.Timeline {
	t.Helper()
	b := timeline.NewBuilder(timeline.Options{Problems: new(problem.Log)})
	empty, err := b.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { empty.Close() })
	return empty
}

func TestPortion(t *testing.T) {
	for _, test := range []struct{ whole, part, total, want timeline.Nanos }{
		{10, 1, 3, 3}, {10, 2, 3, 7}, {10, 3, 3, 10}, {1, 1, 2, 1}, {0, 1, 2, 0},
		{1 << 61, 1 << 40, 1 << 41, 1 << 60},
	} {
		if got := portion(test.whole, test.part, test.total); got != test.want {
			t.Errorf("portion(%d, %d, %d) = %d, want %d", test.whole, test.part, test.total, got, test.want)
		}
	}
}

// The keys of data sorted on disk agree with its order.
func TestCostKeys(t *testing.T) {
	t.Run("sets of events", func(t *testing.T) { testkit.CheckKeys(t, eventSetOrder) })
	t.Run("cells", func(t *testing.T) { testkit.CheckKeys(t, cellOrder) })
	t.Run("intervals", func(t *testing.T) { testkit.CheckKeys(t, intervalOrder) })
}
