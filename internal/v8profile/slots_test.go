package v8profile

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestSlots adds ids to a slotTable in several orders: each keeps its slot, and slots are numbered in the order in which ids
// are added.
func TestSlots(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for name, ids := range map[string]func(i int) int64{
		"upwards":     func(i int) int64 { return int64(i) },
		"downwards":   func(i int) int64 { return int64(60_000 - i) },
		"late start":  func(i int) int64 { return int64(50_000 + i) },
		"far apart":   func(i int) int64 { return int64(i) * 100 },
		"at the ends": func(i int) int64 { return []int64{-1, 0, 1 << 62, denseIDs - 1, denseIDs, -1 << 63}[i%6] + int64(i/6) },
		"any":         func(int) int64 { return rnd.Int64N(8*denseIDs) >> rnd.IntN(24) },
	} {
		var table slotTable
		want := map[int64]slot{}
		for i := range 50_000 {
			id := ids(i)
			s, seen := want[id]
			if !seen {
				s = slot(len(want))
				want[id] = s
			}
			if got := table.get(id); got != s {
				t.Fatalf("%s: id %d has slot %d, want %d", name, id, got, s)
			}
		}
		for id, s := range want {
			if got := table.get(id); got != s {
				t.Fatalf("%s: id %d has slot %d at the end, want %d", name, id, got, s)
			}
		}
	}
}

// TestSlotsOfLargeIDs checks that the memory of tables with few ids is proportional to their number, not to the ids.
func TestSlotsOfLargeIDs(t *testing.T) {
	for _, n := range []int{1, 100, 10_000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			var table slotTable
			for i := range n {
				table.get(int64(denseIDs - 1 - i))
			}
			if most := max(2*sparseIDs, 16*n); len(table.dense) > most {
				t.Errorf("%d ids have a list of %d, more than %d", n, len(table.dense), most)
			}
		})
	}
}
